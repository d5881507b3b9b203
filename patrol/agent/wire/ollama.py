"""What Ollama's own interface tells of a model, without making it say anything: is it there, how much does it read."""

from collections.abc import Mapping, Sequence
from contextlib import aclosing

import httpx2

from patrol.agent.classify import Heard, Stage, classify
from patrol.agent.endpoint import Endpoint
from patrol.agent.failure import ModelError
from patrol.agent.local_server import LocalServer, names_model
from patrol.agent.model import Usage
from patrol.agent.wire.watch import place_of

_SECONDS = 10.0


async def look(endpoint: Endpoint, api_key: str) -> LocalServer:
    """Asks for the lists of models that it has, and has loaded. Raises ModelError where nobody answers."""
    root = endpoint.base_url.removesuffix("/v1")
    headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
    client = httpx2.AsyncClient(timeout=_SECONDS, headers=headers)
    async with aclosing(client):
        installed = _names(await _page(client, f"{root}/api/tags"))
        loaded = await _page(client, f"{root}/api/ps")
    return LocalServer(installed=installed, window=_window(loaded, endpoint.model))


async def _page(client: httpx2.AsyncClient, address: str) -> object:
    try:
        response = await client.get(address)
        return response.json() if response.status_code == 200 else None
    except httpx2.TransportError as error:
        said = f"{place_of(httpx2.URL(address))}: {str(error) or type(error).__name__}"
        heard = Heard(stage=Stage.NOT_SENT, detail=said)
        raise ModelError(classify(heard), Usage()) from error
    except ValueError:
        return None


def _models(page: object) -> Sequence[Mapping[str, object]] | None:
    models = page.get("models") if isinstance(page, Mapping) else None
    return [model for model in models if isinstance(model, Mapping)] if isinstance(models, list) else None


def _names(page: object) -> Sequence[str] | None:
    models = _models(page)
    return None if models is None else [str(model.get("name") or model.get("model")) for model in models]


def _window(page: object, wanted: str) -> int | None:
    for model in _models(page) or ():
        length = model.get("context_length")
        if names_model(wanted, [str(model.get("name")), str(model.get("model"))]) and isinstance(length, int):
            return length if length > 0 else None
    return None
