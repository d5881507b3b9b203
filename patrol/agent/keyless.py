"""A provider that never says its own key: gateways echo what they were sent, also as the words of a model.

What a model says is streamed, stored and shown, and what it calls is recorded: the key goes before anything reads it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from patrol.agent.model import Prompt, Provider, Reply, ToolRequest
from patrol.agent.redact import MARK, SHORTEST_SECRET


class KeyGuard:
    """Takes text in pieces and gives it on without the key, wherever the pieces cut it."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._held = ""

    def feed(self, piece: str) -> str:
        """What of this piece, and of what was held back, can be given on: an end that may become the key waits."""
        *before, rest = (self._held + piece).split(self._key)
        longest = min(len(rest), len(self._key) - 1)
        keep = next((length for length in range(longest, 0, -1) if rest.endswith(self._key[:length])), 0)
        said, self._held = rest[: len(rest) - keep], rest[len(rest) - keep :]
        return MARK.join([*before, said])

    def finish(self) -> str:
        """What was held back and did not become the key."""
        said, self._held = self._held, ""
        return said


@dataclass(frozen=True, slots=True)
class KeylessProvider:
    """A provider whose answers hold its key nowhere."""

    provider: Provider
    key: str

    @property
    def name(self) -> str:
        """That of the provider."""
        return self.provider.name

    @property
    def window(self) -> int | None:
        """That of the provider."""
        return self.provider.window

    async def ask(self, prompt: Prompt, *, on_text: Callable[[str], None] = lambda _text: None) -> Reply:
        """One answer. Raises what the provider raises, whose errors are cleaned where they are read."""
        guard = KeyGuard(self.key)

        def tell(text: str) -> None:
            if text:
                on_text(text)

        reply = await self.provider.ask(prompt, on_text=lambda text: tell(guard.feed(text)))
        tell(guard.finish())
        message = reply.message
        calls = tuple(map(self._call, message.calls))
        return replace(reply, message=replace(message, text=self._plain(message.text), calls=calls))

    async def close(self) -> None:
        """Closes the provider."""
        await self.provider.close()

    def _call(self, call: ToolRequest) -> ToolRequest:
        arguments = call.arguments and {self._plain(name): self._without(each) for name, each in call.arguments.items()}
        return replace(call, name=self._plain(call.name), arguments=arguments, problem=self._plain(call.problem))

    def _without(self, value: object) -> object:
        match value:
            case str():
                return self._plain(value)
            case dict():
                return {self._plain(str(name)): self._without(each) for name, each in value.items()}
            case list():
                return [self._without(each) for each in value]
            case _:
                return value

    def _plain(self, text: str) -> str:
        return text.replace(self.key, MARK)


def keyless(provider: Provider, key: str) -> Provider:
    """The provider behind the guard, where it has a key that is worth guarding."""
    return KeylessProvider(provider, key) if len(key) >= SHORTEST_SECRET else provider
