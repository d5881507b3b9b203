"""From Patrol's own messages to the library's: each call has exactly one answer, right behind it."""

import json
from collections.abc import Mapping, Sequence

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from patrol.agent.model import AssistantMessage, Message, Prompt, ToolRequest, ToolResult, UserMessage

LOST = "The answer to this call was lost; nothing is known of it. Call again if it still matters."


def history_of(prompt: Prompt, *, marks_errors: bool = False) -> list[ModelMessage]:
    """The conversation in the library's form. `marks_errors`: the wire format has a mark for answers that are errors.

    Calls without an answer get an error that says so, second answers and answers to nothing are left out: every
    provider refuses a history in which they do not match. Neighbouring messages of Patrol's become one.
    """
    parts: list[ModelRequestPart] = [SystemPromptPart(prompt.system)] if prompt.system else []
    history: list[ModelMessage] = []
    results = _first_results(prompt.messages)
    for message in prompt.messages:
        match message:
            case UserMessage() if message.text.strip():
                parts.append(UserPromptPart(message.text))
            case AssistantMessage():
                response = _response(message)
                if response is None:
                    continue
                if parts:
                    history.append(ModelRequest(parts=parts))
                history.append(response)
                parts = [_return(call, results.get(call.id), marks_errors=marks_errors) for call in message.calls]
            case _:
                pass  # results stand behind their calls already
    if parts or not history:
        history.append(ModelRequest(parts=parts))
    return history


def _first_results(messages: Sequence[Message]) -> Mapping[str, ToolResult]:
    results: dict[str, ToolResult] = {}
    for message in messages:
        if isinstance(message, ToolResult):
            results.setdefault(message.call_id, message)
    return results


def _return(call: ToolRequest, result: ToolResult | None, *, marks_errors: bool) -> ModelRequestPart:
    failed = result is None or result.is_error
    content: object = LOST if result is None else result.content
    if failed and not marks_errors and not (isinstance(content, Mapping) and "error" in content):
        content = {"error": content}
    return ToolReturnPart(
        tool_name=call.name,
        content=_text(content),
        tool_call_id=call.id,
        # Without a mark of its own the library would wrap the text, and encode what is JSON once more.
        outcome="failed" if failed and marks_errors else "success",
    )


def _text(content: object) -> str:
    """Text stays text, everything else becomes JSON, once."""
    if isinstance(content, str):
        return content
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=str)


def _response(message: AssistantMessage) -> ModelResponse | None:
    if isinstance(message.raw, ModelResponse):
        return message.raw if message.raw.parts else None
    parts: list[ModelResponsePart] = [TextPart(message.text)] if message.text.strip() else []
    parts += [
        ToolCallPart(
            tool_name=call.name,
            args=dict(call.arguments or {}),
            tool_call_id=call.id,
        )
        for call in message.calls
    ]
    return ModelResponse(parts=parts) if parts else None
