"""From the library's answer to Patrol's: text without thinking, calls with own ids, tokens, the reason for the end."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pydantic_ai.messages import ModelResponse, ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from patrol.agent.model import (
    AssistantMessage,
    Finish,
    Prompt,
    Reply,
    ToolArguments,
    ToolRequest,
    Usage,
    estimated_tokens,
    message_overhead,
)
from patrol.agent.redact import bounded
from patrol.agent.wire.characters import whole_characters
from patrol.agent.wire.thoughts import without_thoughts

_ECHO_BYTES = 200
_DEEPEST = 20
"""Objects within objects that arguments may hold: what a tool takes has one or two."""
_MOST_TOKENS = 1_000_000_000

_FINISHES = {
    "stop": Finish.STOP,
    "tool_call": Finish.TOOL_CALLS,
    "length": Finish.LENGTH,
    "content_filter": Finish.FILTERED,
}


@dataclass(slots=True)
class CallIds:
    """Ids of calls: nine letters and digits, which every provider takes (Mistral's takes no others). Never the same."""

    minted: int = 0

    def mint(self) -> str:
        """The next id."""
        self.minted += 1
        digits, left = "", self.minted
        for _ in range(5):
            left, digit = divmod(left, 36)
            digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
        return f"call{digits}"


@dataclass(slots=True)
class _Said:
    """What an answer consists of, while it is taken apart."""

    text: str = ""
    thinking: str = ""
    calls: list[ToolRequest] = field(default_factory=list)
    parts: list[ModelResponsePart] = field(default_factory=list)


def reply_of(response: ModelResponse, prompt: Prompt, mint: Callable[[], str]) -> Reply:
    """The answer in Patrol's words. An empty one has neither text nor calls: the caller decides what that means."""
    said = _Said()
    for part in response.parts:
        _take(part, said, mint)
    usage = usage_of(response.usage, prompt, _heard(said))
    message = AssistantMessage(text=said.text, calls=tuple(said.calls), raw=replace(response, parts=said.parts))
    finish = _finish(response, calls=bool(said.calls))
    return Reply(message=message, usage=usage, finish=finish, model=response.model_name or "")


def _take(part: ModelResponsePart, said: _Said, mint: Callable[[], str]) -> None:
    match part:
        case TextPart():
            content = whole_characters(part.content)
            spoken = without_thoughts(content)
            said.thinking += content[: len(content) - len(spoken)]
            said.text += spoken
            if spoken.strip():
                said.parts.append(replace(part, content=spoken))
        case ToolCallPart():
            call = _call(part, mint())
            said.calls.append(call)
            # What goes back must be readable for every server's template: no broken JSON, no odd names.
            name, arguments = _safe_name(part.tool_name), dict(call.arguments or {})
            kept = ToolCallPart(tool_name=name, args=arguments, tool_call_id=call.id)
            kept.id, kept.provider_name, kept.provider_details = part.id, part.provider_name, part.provider_details
            said.parts.append(kept)
        case ThinkingPart():
            said.thinking += part.content
            said.parts.append(replace(part, content=whole_characters(part.content)))
        case _:
            said.parts.append(part)


def _call(part: ToolCallPart, call_id: str) -> ToolRequest:
    arguments, problem = arguments_of(part.args)
    return ToolRequest(id=call_id, name=part.tool_name or "", arguments=arguments, problem=problem)


def _safe_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name or "")[:64] or "unnamed"


def arguments_of(raw: object) -> tuple[ToolArguments | None, str]:
    """The arguments of a call, or None and what is wrong with them. Nothing is mended: a guess is a wrong call."""
    value: object = raw
    if isinstance(raw, str):
        if not raw.strip():
            return {}, ""
        try:
            value = json.loads(raw, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            where = f" ({error.msg} at character {error.pos})" if isinstance(error, json.JSONDecodeError) else ""
            return None, f"the arguments are no JSON{where}; received: {_echo(raw)}"
    if value is None:
        return {}, ""
    if isinstance(value, dict):
        problem = _problem_of(value, raw)
        return (None, problem) if problem else ({str(key): each for key, each in value.items()}, "")
    kinds = {list: "an array", str: "a text", bool: "a truth value", int: "a number", float: "a number"}
    kind = kinds.get(type(value), "something else")
    return None, f"the arguments must be a JSON object, but are {kind}; received: {_echo(raw)}"


def _problem_of(value: object, raw: object) -> str:
    """Why an object that was read is none that a tool could take, "" if it is."""
    if not _is_shallow(value, _DEEPEST):
        return f"the arguments are nested more than {_DEEPEST} deep"
    return "" if _is_whole(value) else f"the arguments hold half of a character; received: {_echo(raw)}"


def _is_shallow(value: object, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_is_shallow(each, levels - 1) for each in inner)


def _is_whole(value: object) -> bool:
    """Whether it can be recorded and sent back: no text of it holds half of a character."""
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        return False
    return True


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _echo(raw: object) -> str:
    return bounded(raw if isinstance(raw, str) else repr(raw), _ECHO_BYTES)


def _finish(response: ModelResponse, *, calls: bool) -> Finish:
    told = (response.provider_details or {}).get("finish_reason")
    finish = _FINISHES.get(
        response.finish_reason or "", Finish.OTHER if told or response.finish_reason else Finish.STOP
    )
    # Many servers say "stop" when they mean that tools are to be called.
    return Finish.TOOL_CALLS if calls and finish is Finish.STOP else finish


def usage_of(reported: RequestUsage, prompt: Prompt, heard: str) -> Usage:
    """The tokens of one request; what was not told, or cannot be, is estimated from what was sent and heard."""
    told_input, told_output = _count(reported.input_tokens), _count(reported.output_tokens)
    if told_input and told_output is not None and (told_output or not heard):
        return Usage(
            input_tokens=told_input,
            output_tokens=told_output,
            cached_tokens=min(_count(reported.cache_read_tokens) or 0, told_input),
            reasoning_tokens=min(_count(reported.details.get("reasoning_tokens")) or 0, told_output),
        )
    return Usage(
        input_tokens=told_input or estimated_prompt(prompt),
        output_tokens=told_output or estimated_tokens(heard),
        reported=False,
    )


def _count(value: object) -> int | None:
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS
    return int(value) if good and isinstance(value, int) else None


def heard_in(response: ModelResponse) -> str:
    """All that the model produced, as one text to count."""
    said = _Said()
    for part in response.parts:
        match part:
            case TextPart() | ThinkingPart():
                said.text += str(part.content or "")  # an answer is not what its types say until it is read
            case ToolCallPart():
                said.text += f"{part.tool_name}{part.args or ''}"
            case _:
                pass
    return said.text


def _heard(said: _Said) -> str:
    return said.text + said.thinking + "".join(f"{call.name}{call.arguments or call.problem}" for call in said.calls)


def estimated_prompt(prompt: Prompt) -> int:
    """About how many tokens a request has."""
    texts = [prompt.system]
    for message in prompt.messages:
        match message:
            case AssistantMessage():
                texts.append(message.text)
                texts += [f"{call.name}{json.dumps(call.arguments, default=str)}" for call in message.calls]
            case _:
                text = getattr(message, "text", None)
                texts.append(
                    text if isinstance(text, str) else json.dumps(getattr(message, "content", ""), default=str)
                )
    texts += [f"{tool.name}{tool.description}{json.dumps(tool.input_schema, default=str)}" for tool in prompt.tools]
    return sum(map(estimated_tokens, texts)) + message_overhead(len(prompt.messages) + 1)
