"""Models that say what a test wrote down, behind the same translation as a real one, streamed or whole."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from pydantic_ai.messages import (
    FinishReason,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.usage import RequestUsage

from patrol.agent.metering import Phase
from patrol.agent.model import Provider, estimated_tokens
from patrol.agent.wire.provider import provider_of
from patrol.agent.wire.retrying import Patience

PIECE = 23
"""Characters of a piece of a streamed text, unless it is very long."""


class Call(NamedTuple):
    """A call as a model makes it. `arguments`: an object, or whatever else it sends in its place."""

    tool: str
    arguments: object
    id: str = "x"


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """One answer. `fault` is raised: before anything was said, or (`midway`) after all of it was.

    `read`: the tokens that its server says it read, None for as many as were sent. `seconds`: it takes so long.
    """

    text: str = ""
    calls: Sequence[Call] = ()
    thinking: str = ""
    finish: FinishReason | None = None
    fault: Exception | None = None
    midway: bool = False
    read: int | None = None
    seconds: float = 0.0


class Row(NamedTuple):
    """A row of a tool's answer about one resource. `call_id`: of the call that was answered with it."""

    call_id: str
    resource_id: str
    values: Mapping[str, object]

    def quotes(self) -> list[str]:
        """Fields with their values, as they stand in the row; none of those that say which thing it is about."""
        return [
            json.dumps({name: value}, separators=(",", ":"), ensure_ascii=False)[1:-1]
            for name, value in self.values.items()
            if name in _TOLD and isinstance(value, (int, float, str)) and len(str(value)) >= 2
        ]


_TOLD = frozenset({"avg_cpu", "avg_memory", "avg_disk", "cpu_window_seconds", "usage_percent", "status", "temperature"})
_OPENINGS = {
    "Signals without a finding": Phase.EVALUATE,
    "Findings without a verdict": Phase.ASSESS,
}


class Heard:
    """One request, as a model hears it."""

    def __init__(self, messages: Sequence[ModelMessage], info: AgentInfo) -> None:
        self.messages = messages
        self.tools = [tool.name for tool in info.function_tools]
        self.room = (info.model_settings or {}).get("max_tokens")
        self._told = sum(estimated_tokens(json.dumps(tool.parameters_json_schema)) for tool in info.function_tools)

    @cached_property
    def _parts(self) -> list[Any]:
        return [part for message in self.messages if isinstance(message, ModelRequest) for part in message.parts]

    @property
    def system(self) -> str:
        """What Patrol says itself."""
        return "\n".join(part.content for part in self._parts if isinstance(part, SystemPromptPart))

    @property
    def opening(self) -> str:
        """What the pass began with."""
        return next(str(part.content) for part in self._parts if isinstance(part, UserPromptPart))

    @property
    def phase(self) -> Phase:
        """Which pass it is."""
        return next((phase for words, phase in _OPENINGS.items() if self.opening.startswith(words)), Phase.MAIN)

    @property
    def turn(self) -> int:
        """How often it answered in this pass already."""
        return sum(isinstance(message, ModelResponse) for message in self.messages)

    @cached_property
    def results(self) -> dict[str, Any]:
        """What its calls were answered, by their ids."""
        return {part.tool_call_id: _decoded(part.content) for part in self._parts if isinstance(part, ToolReturnPart)}

    @property
    def calls(self) -> list[ToolCallPart]:
        """What it called so far in this pass."""
        answers = [message for message in self.messages if isinstance(message, ModelResponse)]
        return [part for answer in answers for part in answer.parts if isinstance(part, ToolCallPart)]

    @cached_property
    def rows(self) -> list[Row]:
        """All that it was shown of resources."""
        return [Row(call_id, *row) for call_id, answer in self.results.items() for row in _rows(answer)]

    @cached_property
    def finding_ids(self) -> list[str]:
        """The findings that it was shown, wherever."""
        lists = [answer.get("findings", []) for answer in self.results.values() if isinstance(answer, dict)]
        shown = [row["id"] for rows in lists for row in rows if isinstance(row, dict) and "id" in row]
        told = [_decoded(line) for line in self.opening.splitlines() if line.startswith("{")]
        asked = [row["finding_id"] for row in told if isinstance(row, dict) and "finding_id" in row]
        return list(dict.fromkeys([*shown, *asked]))

    @property
    def tokens(self) -> int:
        """About how many tokens it read."""
        said = sum(estimated_tokens(str(getattr(part, "content", ""))) for part in self._parts)
        own = sum(estimated_tokens(str(call.args)) for call in self.calls)
        return said + own + self._told

    def check(self) -> None:
        """What every request keeps, whatever was said before: each call has one answer, right behind it."""
        for message, following in zip(self.messages, self.messages[1:], strict=False):
            if isinstance(message, ModelResponse):
                wanted = [part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)]
                parts = following.parts
                assert [part.tool_call_id for part in parts if isinstance(part, ToolReturnPart)] == wanted
        ids = [call.tool_call_id for call in self.calls]
        assert len(ids) == len(set(ids))


def _decoded(content: object) -> Any:
    try:
        return json.loads(content) if isinstance(content, str) else content
    except ValueError:
        return content


def _rows(value: object) -> Iterator[tuple[str, Mapping[str, object]]]:
    if isinstance(value, dict):
        own = value.get("resource_id", value.get("id"))
        if isinstance(own, str) and ":" in own and "kind" not in value:
            yield own, value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _rows(each)


Act = Callable[[Heard], Say]


class Puppet(FunctionModel):
    """A model that acts. `heard`: every request that reached it. `wrong`: what the test itself failed on meanwhile."""

    def __init__(self, act: Act) -> None:
        super().__init__(self._whole, stream_function=self._pieces, model_name="puppet")
        self.act = act
        self.heard: list[Heard] = []
        self.wrong: list[Exception] = []
        self._last = Say()

    def opened(self, *, streaming: bool = True, window: int | None = None) -> Provider:
        """As a run asks it. Asked again at once, where it may be."""

        async def at_once(_seconds: float) -> None:
            """No pause."""

        patience = Patience(sleep=at_once, jitter=lambda: 0.0)
        return provider_of(self, name="ollama:puppet", window=window, streaming=streaming, patience=patience)

    async def _say(self, messages: list[ModelMessage], info: AgentInfo) -> Say:
        heard = Heard(messages, info)
        self.heard.append(heard)
        try:
            heard.check()
            self._last = say = self.act(heard)
        except Exception as error:  # a run takes it for a failure of the model, and goes on
            self.wrong.append(error)
            raise
        if say.seconds:
            await asyncio.sleep(say.seconds)
        if say.fault is not None and not say.midway:
            raise say.fault
        return say

    def _read(self) -> int:
        return self.heard[-1].tokens if self._last.read is None else self._last.read

    async def _whole(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        say = await self._say(messages, info)
        if say.fault is not None:
            raise say.fault
        parts: list[ModelResponsePart] = [ThinkingPart(say.thinking)] if say.thinking else []
        if say.text:
            parts.append(TextPart(say.text))
        # Whatever a model sends in place of an object is what these tests are about.
        parts += [ToolCallPart(call.tool, call.arguments, tool_call_id=call.id) for call in say.calls]  # type: ignore[arg-type]
        usage = RequestUsage(input_tokens=self._read(), output_tokens=estimated_tokens(say.text + say.thinking))
        return ModelResponse(parts=parts, usage=usage, finish_reason=say.finish)

    async def _pieces(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        say = await self._say(messages, info)
        yield ""  # a stream that holds nothing at all is a fault of its own, of the library
        if say.thinking:
            yield {0: DeltaThinkingPart(content=say.thinking)}
        size = max(PIECE, len(say.text) // 400)
        for start in range(0, len(say.text), size):
            yield say.text[start : start + size]
        for number, call in enumerate(say.calls, start=1):
            written = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
            for start in range(0, max(1, len(written)), 4_000):
                name = call.tool if not start else None
                piece = written[start : start + 4_000]
                yield {number: DeltaToolCall(name=name, json_args=piece, tool_call_id=call.id if name else None)}
        if say.fault is not None:
            raise say.fault

    @asynccontextmanager
    async def request_stream(self, *given: Any, **named: Any) -> Any:
        async with super().request_stream(*given, **named) as stream:
            stream._usage = RequestUsage(input_tokens=self._read())  # type: ignore[attr-defined]
            stream.finish_reason = self._last.finish
            yield stream
