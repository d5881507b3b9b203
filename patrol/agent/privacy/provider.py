"""A model behind the shroud: whoever asks it speaks the words of the house, and it hears pseudonyms."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from patrol.agent.model import (
    AssistantMessage,
    Message,
    Prompt,
    Provider,
    Reply,
    ToolRequest,
    ToolResult,
    UserMessage,
)
from patrol.agent.privacy.shroud import Shroud

_LONGEST_PSEUDONYM = 256
_UNFINISHED = re.compile(r"[A-Za-z0-9_.:~-]*\Z", re.ASCII)


class ShroudedProvider:
    """Asks another provider in pseudonyms. The system prompt is Patrol's own, names nothing, and goes as it is."""

    def __init__(self, provider: Provider, shroud: Shroud) -> None:
        self._provider = provider
        self._shroud = shroud

    @property
    def name(self) -> str:
        """As it is configured."""
        return self._provider.name

    @property
    def window(self) -> int | None:
        """Tokens that it reads at once."""
        return self._provider.window

    async def ask(self, prompt: Prompt, *, on_text: Callable[[str], None] = lambda _text: None) -> Reply:
        """One answer, in the words of the house. Raises what the provider raises."""
        stream = TextStream(self._shroud, on_text)
        reply = await self._provider.ask(shrouded(prompt, self._shroud), on_text=stream.feed)
        stream.close()
        return replace(reply, message=self._unshrouded(reply.message))

    async def close(self) -> None:
        """Gives back connections."""
        await self._provider.close()

    def _unshrouded(self, message: AssistantMessage) -> AssistantMessage:
        calls = tuple(
            replace(call, arguments=self._arguments_in(call), problem=self._shroud.text_in(call.problem))
            for call in message.calls
        )
        return replace(message, text=self._shroud.text_in(message.text), calls=calls)

    def _arguments_in(self, call: ToolRequest) -> Mapping[str, object] | None:
        if call.arguments is None:
            return None
        return {name: self._shroud.value_in(each) for name, each in call.arguments.items()}


def shrouded(prompt: Prompt, shroud: Shroud) -> Prompt:
    """What of a prompt leaves the house."""
    return replace(prompt, messages=[_message_out(message, shroud) for message in prompt.messages])


def _message_out(message: Message, shroud: Shroud) -> Message:
    if isinstance(message, UserMessage):
        return replace(message, text=_text_out(message.text, shroud))
    if isinstance(message, ToolResult):
        return replace(message, content=_content_out(message.content, shroud))
    # `raw` is what the model said itself, in its own language already.
    calls = tuple(
        replace(
            call,
            arguments=None
            if call.arguments is None
            else {name: shroud.value_out(each) for name, each in call.arguments.items()},
            problem=shroud.text_out(call.problem),
        )
        for call in message.calls
    )
    return replace(message, text=shroud.text_out(message.text), calls=calls)


def _content_out(content: object, shroud: Shroud) -> object:
    """The answer of a tool."""
    return _text_out(content, shroud) if isinstance(content, str) else shroud.value_out(content)


def _text_out(text: str, shroud: Shroud) -> str:
    """Prose, or JSON as text, whole or a document a line. JSON is read first, for its escapes would split names."""
    whole = _document_out(text, shroud)
    if whole is not None:
        return whole
    parts: list[str] = []
    prose: list[str] = []
    for line in text.split("\n"):
        document = _document_out(line, shroud)
        if document is None:
            prose.append(line)
            continue
        if prose:
            parts.append(shroud.text_out("\n".join(prose)))
            prose = []
        parts.append(document)
    if prose:
        parts.append(shroud.text_out("\n".join(prose)))
    return "\n".join(parts)


def _document_out(text: str, shroud: Shroud) -> str | None:
    """A JSON object or list in text, shrouded; None for what is none."""
    if text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return json.dumps(shroud.value_out(document), ensure_ascii=False, separators=(",", ":"))


class TextStream:
    """Text as it comes, in the words of the house. What may be the beginning of a pseudonym waits for its end."""

    def __init__(self, shroud: Shroud, tell: Callable[[str], None]) -> None:
        self._shroud = shroud
        self._tell = tell
        self._waiting = ""
        self._before = ""  # the character before what waits: within a word nothing begins

    def feed(self, text: str) -> None:
        """The next piece."""
        ready = self._waiting + text
        found = _UNFINISHED.search(ready)
        cut = found.start() if found is not None else len(ready)
        cut = max(cut, len(ready) - _LONGEST_PSEUDONYM)
        self._waiting = ready[cut:]
        self._pass_on(ready[:cut])

    def close(self) -> None:
        """There is no more."""
        rest, self._waiting = self._waiting, ""
        self._pass_on(rest)

    def _pass_on(self, text: str) -> None:
        if not text:
            return
        # A pseudonym cannot hold the character before it, so that reading both together changes nothing of it.
        meant = self._shroud.text_in(self._before + text)[len(self._before) :]
        self._before = text[-1]
        self._tell(meant)
