"""About how many tokens something has, by its bytes: what a window and a budget are held against before it is sent."""

import json
from collections.abc import Iterable

from patrol.agent.model import (
    Message,
    Prompt,
    ToolResult,
    ToolSpec,
    UserMessage,
    estimated_tokens,
    message_overhead,
)


def text_of(message: Message) -> str:
    """The text of a message as it is counted."""
    if isinstance(message, UserMessage):
        return message.text
    if isinstance(message, ToolResult):
        return message.content if isinstance(message.content, str) else _json(message.content)
    return message.text + "".join(text_of_call(call.name, call.arguments) for call in message.calls)


def text_of_call(name: str, arguments: object) -> str:
    """A call as it is counted."""
    return name + _json(arguments)


def tokens_of(system: str, messages: Iterable[Message], tools: Iterable[ToolSpec]) -> int:
    """Tokens of a request: the system's words, the messages, and what is told of tools."""
    counted = [estimated_tokens(text_of(message)) for message in messages]
    told = sum(estimated_tokens(tool.name + tool.description + _json(tool.input_schema)) for tool in tools)
    return estimated_tokens(system) + sum(counted) + message_overhead(len(counted) + 1) + told


def prompt_tokens(prompt: Prompt) -> int:
    """Tokens of a prompt."""
    return tokens_of(prompt.system, prompt.messages, prompt.tools)


def _json(value: object) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)
