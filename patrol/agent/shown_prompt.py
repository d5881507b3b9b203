"""A prompt as a person reads it: everything that would leave the house, and nothing else. Pure."""

import json

from patrol.agent.model import AssistantMessage, Message, Prompt, ToolResult, ToolSpec, UserMessage, estimated_tokens
from patrol.agent.privacy import Shroud, shrouded


def shown_prompt(prompt: Prompt, shroud: Shroud | None = None) -> str:
    """The system prompt, the messages and the tools with their schemas. `shroud`: what it is sent through."""
    sent = prompt if shroud is None else shrouded(prompt, shroud)
    parts = [_part("system", sent.system)]
    parts.extend(_message(message) for message in sent.messages)
    parts.extend(_tool(tool) for tool in sent.tools)
    tokens = sum(map(estimated_tokens, parts))
    parts.append(
        f"About {tokens} tokens are sent; the answer may have {sent.max_output_tokens}. Tool choice: {sent.choice}."
    )
    return "\n\n".join(parts) + "\n"


def _part(title: str, text: str) -> str:
    return f"=== {title} ===\n{text}"


def _message(message: Message) -> str:
    if isinstance(message, UserMessage):
        return _part("user", message.text)
    if isinstance(message, ToolResult):
        title = f"result of {message.name}, {message.call_id}{', an error' if message.is_error else ''}"
        return _part(title, message.content if isinstance(message.content, str) else _json(message.content))
    return _part("assistant", _said(message))


def _said(message: AssistantMessage) -> str:
    calls = [
        f"call {each.id}: {each.name} {each.problem if each.arguments is None else _json(each.arguments)}"
        for each in message.calls
    ]
    return "\n".join(part for part in (message.text, *calls) if part)


def _tool(tool: ToolSpec) -> str:
    return _part(f"tool {tool.name}", f"{tool.description}\n{_json(tool.input_schema)}")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)
