"""Opening a provider from the settings. Costs nothing until a model is opened.

The modules that speak to a provider are loaded here, on demand: pydantic_ai and an SDK take one to two seconds and
30 to 80 MiB, and a run without a model needs none of them; Anthropic's and Google's are extras that may be missing.
"""

import asyncio
import warnings
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

from patrol.agent.endpoint import Endpoint, ProviderKind, not_configured, parse_endpoint
from patrol.agent.failure import Failure, ModelError
from patrol.agent.keyless import keyless
from patrol.agent.model import Provider
from patrol.agent.price import window_of
from patrol.settings.model import ModelSection

_MODULES = {
    ProviderKind.OLLAMA: "patrol.agent.wire.openai_models",
    ProviderKind.OPENAI: "patrol.agent.wire.openai_models",
    ProviderKind.ANTHROPIC: "patrol.agent.wire.anthropic_models",
    ProviderKind.GOOGLE: "patrol.agent.wire.google_models",
}
_EXTRAS = {ProviderKind.ANTHROPIC: "anthropic", ProviderKind.GOOGLE: "google"}

CONNECT_SECONDS = 5.0


def open_provider(
    settings: ModelSection,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    jitter: Callable[[], float] = lambda: 0.5,
    remaining: Callable[[], float] | None = None,
    on_retry: Callable[[Failure, float], None] | None = None,
) -> Provider:
    """The provider that `[model]` names. Close it in the event loop that it was used in.

    `jitter` gives 0 to 1 for the pauses between tries, `remaining` the seconds that are left for the model,
    `on_retry` is told of each pause in seconds. Raises ModelError with the cause `provider_not_configured`.
    """
    endpoint = parse_endpoint(settings.name, settings.base_url)
    key = settings.api_key.get_secret_value().strip() if settings.api_key is not None else ""
    _need_key(endpoint, key)
    silence = settings.request_timeout.total_seconds()
    build = _loaded(_MODULES[endpoint.kind], endpoint).build
    wire: Any = import_module("patrol.agent.wire.provider")
    watch: Any = import_module("patrol.agent.wire.watch")
    retrying: Any = import_module("patrol.agent.wire.retrying")
    _count_without_warnings()
    client = watch.watched_client(connect_seconds=CONNECT_SECONDS, silence_seconds=silence)
    told = {"remaining": remaining, "on_retry": on_retry}
    patience = retrying.Patience(sleep=sleep, jitter=jitter, **{k: v for k, v in told.items() if v is not None})
    provider: Provider = wire.WireProvider(
        wire.Wire(
            model=build(endpoint, key, client),
            name=endpoint.name,
            window=window_of(settings),
            streaming=settings.streaming,
            watched=True,
            marks_errors=endpoint.kind is ProviderKind.ANTHROPIC,
            offers_no_tools_on_none=endpoint.kind is ProviderKind.OLLAMA,
            secrets=(key,) if key else (),
            close=client.aclose,
        ),
        patience,
    )
    return keyless(provider, key)


def _count_without_warnings() -> None:
    """A count of tokens that the library cannot read is estimated and marked so; its warning would only be noise."""
    library: Any = import_module("pydantic_ai")
    warnings.filterwarnings("ignore", category=library.UsageExtractionFailedWarning)


def _need_key(endpoint: Endpoint, key: str) -> None:
    hosted = endpoint.own_address and endpoint.kind is not ProviderKind.OLLAMA
    if key or not (hosted or endpoint.kind in _EXTRAS):
        return
    raise not_configured(
        f"{endpoint.kind} needs a key; put it into a file and name that in [model] api_key_file "
        "(systemd: LoadCredential=model_api_key:FILE)"
    )


def _loaded(module: str, endpoint: Endpoint) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise _missing(endpoint, error) from error


def _missing(endpoint: Endpoint, error: ImportError) -> ModelError:
    extra = _EXTRAS.get(endpoint.kind)
    what = f"pip install 'patrold[{extra}]'" if extra else "install Patrol anew: a library that it needs is missing"
    return not_configured(f"{endpoint.kind} models need a library that is not installed: {what}", detail=str(error))
