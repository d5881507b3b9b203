"""The messages of one pass, kept inside the window of the model."""

from collections.abc import Sequence
from dataclasses import replace

from patrol.agent.model import AssistantMessage, Message, ToolRequest, ToolResult, ToolSpec, UserMessage
from patrol.agent.tokens import text_of, tokens_of

_COMPACTED = 100
"""Shortest result, in characters, that is worth replacing by a line."""
_NAMED = ("type", "action", "resource_id", "host", "node", "instance", "query", "period")
_LEAST_MESSAGES = 4


class Conversation:
    """What was said in one pass. Each call of the model is followed by exactly one result."""

    def __init__(self, opening: str) -> None:
        self.messages: list[Message] = [UserMessage(text=opening)]

    def say(self, text: str) -> None:
        """Patrol's own word."""
        self.messages.append(UserMessage(text=text))

    def hear(self, message: AssistantMessage) -> None:
        """What the model said."""
        self.messages.append(message)

    def answer(self, results: Sequence[ToolResult]) -> None:
        """The results of the calls of the last message."""
        self.messages.extend(results)

    def tokens(self, system: str, tools: Sequence[ToolSpec]) -> int:
        """About how many tokens a request has now."""
        return tokens_of(system, self.messages, tools)

    def compact(self) -> None:
        """Replaces each result that the model has read by one line that says what was asked: it may ask again."""
        for position in range(self._unread_from()):
            self._compact_at(position)

    def compact_unread(self) -> bool:
        """The same for the first result that it has not read. Whether there was one that is worth it."""
        return any(self._compact_at(position) for position in range(self._unread_from(), len(self.messages)))

    def _unread_from(self) -> int:
        """Where the results begin that came after the last word of the model."""
        spoken = [place for place, each in enumerate(self.messages) if isinstance(each, AssistantMessage)]
        return spoken[-1] + 1 if spoken else len(self.messages)

    def _compact_at(self, position: int) -> bool:
        result = self.messages[position]
        if not isinstance(result, ToolResult):
            return False
        shorter = _compacted(result, self._requests().get(result.call_id))
        self.messages[position] = shorter
        return shorter is not result

    def _requests(self) -> dict[str, ToolRequest]:
        return {call.id: call for each in self.messages if isinstance(each, AssistantMessage) for call in each.calls}

    def forget(self) -> bool:
        """Drops the older half after the opening. Whether there was something to drop.

        What is kept begins with a word of the model: a result never stands without its call. The last one stays, with
        what it called.
        """
        if len(self.messages) <= _LEAST_MESSAGES:
            return False
        start = len(self.messages) - max(2, (len(self.messages) - 1) // 2)
        while start < len(self.messages) and isinstance(self.messages[start], ToolResult):
            start += 1
        start = min(start, max(self._unread_from() - 1, 1))
        if start <= 1:
            return False
        self.messages = [self.messages[0], *self.messages[start:]]
        return True


def _compacted(result: ToolResult, request: ToolRequest | None) -> ToolResult:
    size = len(text_of(result))
    if result.is_error or size < _COMPACTED or _is_compacted(result):
        return result
    arguments = request.arguments if request is not None and request.arguments is not None else {}
    named = [f"{name}={arguments[name]}" for name in _NAMED if isinstance(arguments.get(name), str) and arguments[name]]
    said = f"{result.name} {' '.join(named)}".strip()[:_COMPACTED]
    content = {
        "tool_call_id": result.call_id,
        "compacted": f"{said}: its answer of {size} characters was removed to make room; call again to see it, "
        "for less at once",
    }
    shorter = replace(result, content=content)
    return shorter if len(text_of(shorter)) < size else result


def _is_compacted(result: ToolResult) -> bool:
    return isinstance(result.content, dict) and "compacted" in result.content
