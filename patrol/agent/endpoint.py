"""Which model, and where: the configured name `provider:model`, the address, and whether that is on this network."""

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

from patrol.agent.failure import Cause, Failure, ModelError
from patrol.agent.privacy.choice import is_local


class ProviderKind(StrEnum):
    """The wire formats that Patrol speaks. The word stands before the first colon of a model's name."""

    OLLAMA = "ollama"
    OPENAI = "openai"  # everything that speaks OpenAI's chat completions
    ANTHROPIC = "anthropic"
    GOOGLE = "google"


_OWN_ADDRESSES = {
    ProviderKind.OLLAMA: "http://localhost:11434/v1",
    ProviderKind.OPENAI: "https://api.openai.com/v1",
    ProviderKind.ANTHROPIC: "https://api.anthropic.com",
    ProviderKind.GOOGLE: "https://generativelanguage.googleapis.com",
}

EXAMPLE = '"ollama:qwen3"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A model at an address. `model` is what is sent as its name, whatever slashes and colons are in it.

    `own_address`: the address is the provider's own, not one that the settings name.
    """

    kind: ProviderKind
    model: str
    base_url: str
    own_address: bool

    @property
    def name(self) -> str:
        """As it is configured."""
        return f"{self.kind}:{self.model}"

    @property
    def local(self) -> bool:
        """Whether what is sent stays on this network. Ollama passes its `-cloud` models on to its makers."""
        elsewhere = self.kind is ProviderKind.OLLAMA and self.model.casefold().endswith(("-cloud", ":cloud"))
        return is_local(self.base_url) and not elsewhere


def parse_endpoint(name: str, base_url: str = "") -> Endpoint:
    """What `[model] name` and `base_url` mean.

    The word before the first colon decides alone; nothing is guessed from the rest.
    Raises ModelError with the cause `provider_not_configured`, and says what to write instead.
    """
    kind, colon, model = name.strip().partition(":")
    if not colon or not model.strip() or kind.lower() not in set(ProviderKind):
        raise not_configured(_what_to_write(kind, model))
    provider = ProviderKind(kind.lower())
    if not base_url.strip():
        return Endpoint(kind=provider, model=model.strip(), base_url=_OWN_ADDRESSES[provider], own_address=True)
    address = _address(base_url.strip(), provider)
    return Endpoint(kind=provider, model=model.strip(), base_url=address, own_address=False)


def not_configured(summary: str, detail: str = "") -> ModelError:
    """The error of settings that cannot work: `summary` says what to write instead."""
    return ModelError(Failure(cause=Cause.PROVIDER_NOT_CONFIGURED, summary=summary, detail=detail))


def _what_to_write(kind: str, model: str) -> str:
    known = ", ".join(f"{provider}:" for provider in ProviderKind)
    if model.strip() and kind:
        return f"[model] name begins with an unknown provider: begin it with one of {known} like {EXAMPLE}"
    return f'[model] name is not "provider:model": write one of {known} and the model\'s name, like {EXAMPLE}'


def _address(base_url: str, provider: ProviderKind) -> str:
    wrong = "[model] base_url is not an address: write it like http://ollama.lan:11434/v1"
    try:
        parts = urlsplit(base_url)
        port = parts.port
    except ValueError as error:
        raise not_configured(wrong) from error
    blank = any(character.isspace() or not character.isprintable() for character in base_url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or blank or port == 0:
        raise not_configured(wrong)
    if parts.username is not None or parts.password is not None:
        raise not_configured("[model] base_url holds a user or a password; put the key into [model] api_key_file")
    if parts.query or parts.fragment:
        raise not_configured('[model] base_url has something behind "?" or "#": leave that part off')
    if parts.path.rstrip("/").endswith(("/chat/completions", "/messages", "/responses")):
        raise not_configured("[model] base_url names one call: leave off what stands behind the version, like /v1")
    # Ollama's own settings name the host alone; its chat completions stand under /v1.
    bare = provider is ProviderKind.OLLAMA and parts.path in {"", "/"}
    return base_url.rstrip("/") + ("/v1" if bare else "")
