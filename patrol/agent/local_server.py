"""What a server on this network tells of its models without making one say anything."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from patrol.agent.endpoint import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServer:
    """`installed` None: it does not tell. `window`: tokens that the model reads at once, while it is loaded."""

    installed: Sequence[str] | None
    window: int | None = None

    def lacks(self, model: str) -> bool:
        """Whether it tells its models, and this is none of them."""
        return self.installed is not None and not names_model(model, self.installed)


Look = Callable[[Endpoint, str], Awaitable[LocalServer]]
"""Asks a server, with a key. Raises ModelError where nobody answers."""


def names_model(model: str, names: Sequence[str]) -> bool:
    """Whether a model is in a list of Ollama's. A name without a tag means the tag `latest`."""
    return model in names or (":" not in model.rsplit("/", 1)[-1] and f"{model}:latest" in names)
