"""One pass of a model: asked, its calls answered, asked again, until it has said what it has to say or a bound is met.

Nothing a model or a tool says is an instruction to this loop: it ends by its bounds, by an answer without calls, or
by a failure, and tells which.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from patrol.agent.batch import Calls
from patrol.agent.conversation import Conversation
from patrol.agent.failure import Cause, Failure, ModelError
from patrol.agent.leak import LeakGuard
from patrol.agent.metering import BudgetExceededError
from patrol.agent.model import Finish, Prompt, Provider, Reply, ToolChoice, ToolSpec, Usage
from patrol.agent.toolset import Gate, OpenGate, Purpose, Toolset

FAILED_TURNS = 3
"""Turns in a row in which every call failed: after them the model has to answer without tools."""
_NUDGES = (12, 18)
"""Calls after which the model is reminded to come to an end."""
RECOVERY_OUTPUT = 4_096
"""Output allowance of the one request that follows an answer which was cut off by its allowance."""


class Ended(StrEnum):
    """How a pass ended."""

    ANSWERED = "answered"
    TURNS_USED = "turns_used"
    BUDGET = "budget"
    DEADLINE = "deadline"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What Patrol itself says to the model in a pass. All of it is fixed text."""

    system: str
    last_turn: str  # instead of `system` in the last turn, in which only findings can be written
    after_cut: str  # after an answer that its allowance cut off
    use_tools: str  # after a tool call written as text
    come_to_an_end: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a pass may take. `deadline`: instant of the event loop's clock, None for none."""

    turns: int
    output_tokens: int = 2_048
    evidence_calls: int | None = None
    tool_seconds: float = 30.0
    deadline: float | None = None


@dataclass(slots=True)
class PassResult:
    """What came of a pass, whole or not. `text`: what the model said, as it was let through."""

    text: str = ""
    turns: int = 0
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    ended: Ended = Ended.ANSWERED
    failure: Failure | None = None
    refusal: str = ""  # why the budget stopped it

    @property
    def did_something(self) -> bool:
        """Whether anything came of it that is kept."""
        return bool(self.text or self.calls or self.usage.total)


class Pass:
    """One pass under way."""

    def __init__(
        self,
        provider: Provider,
        toolset: Toolset,
        words: Words,
        bounds: Bounds,
        *,
        gate: Gate | None = None,
        on_text: Callable[[str], None] = lambda _text: None,
    ) -> None:
        self._provider = provider
        self._toolset = toolset
        self._words = words
        self._bounds = bounds
        self._on_text = on_text
        self._calls = Calls(toolset, gate or OpenGate(), bounds.tool_seconds, bounds.evidence_calls)
        self._specs = toolset.specs()
        self._names = toolset.names()
        self._text_only = False
        self._asked_for_calls = False
        self._recovering = False
        self._recovered = False
        self._failed_turns = 0
        self._nudges = list(_NUDGES)
        self.result = PassResult()

    async def run(self, opening: str) -> PassResult:
        """Asks until an end is reached. Raises ModelError only for an opening that does not fit the window."""
        conversation = Conversation(opening)
        try:
            async with asyncio.timeout_at(self._bounds.deadline):
                while not await self._turn(conversation):
                    pass
        except TimeoutError:
            self.result.ended = Ended.DEADLINE
            self.result.failure = _PHASE_OVER
        except BudgetExceededError as error:
            self.result.ended = Ended.BUDGET
            self.result.refusal = str(error)
        except ModelError as error:
            if error.failure.cause is Cause.CONTEXT_WINDOW_TOO_SMALL and not self.result.calls:
                raise
            self.result.ended = Ended.FAILED
            self.result.failure = error.failure
        return self.result

    async def _turn(self, conversation: Conversation) -> bool:
        """One request and the calls that it brings. Whether the pass is over."""
        if self.result.turns >= self._bounds.turns and not self._recovering:
            self.result.ended = Ended.TURNS_USED
            return True
        prompt = self._prompt(conversation)
        if prompt is None:
            # Where the answer was cut off, that is what went wrong: the longer one has no room beside what was said.
            self.result.ended, self.result.failure = Ended.FAILED, _CUT_OFF if self._recovering else _NO_ROOM
            return True
        guard = LeakGuard(self._names)
        reply = await self._provider.ask(prompt, on_text=lambda text: self._hear(guard.feed(text)))
        self._hear(guard.flush())
        self._end_paragraph()
        self.result.turns += 1
        self.result.usage = _sum(self.result.usage, reply.usage)
        conversation.hear(reply.message)
        self._recovering = False
        if reply.message.calls and prompt.tools:
            return await self._answer(conversation, reply, frozenset(tool.name for tool in prompt.tools))
        if guard.leaked:
            return self._written_as_text(conversation)
        if reply.finish is Finish.LENGTH:
            return self._cut_off(conversation)
        return True

    def _prompt(self, conversation: Conversation) -> Prompt | None:
        """The next request, made to fit the window; None where it cannot be."""
        last = self.result.turns >= self._bounds.turns - 1
        tools = [] if self._text_only else self._specs
        system = self._words.system
        if last and tools:
            # What was found out must not be lost for want of a turn: the last one is for writing it down.
            tools = [spec for spec in tools if self._toolset.purpose(spec.name) is Purpose.FINDINGS_WRITE]
            system = self._words.last_turn
        fitting = self._fit(conversation, system, tools)
        if fitting is None:
            return None
        return Prompt(
            system=system,
            messages=tuple(conversation.messages),
            tools=tuple(fitting),
            choice=ToolChoice.AUTO if fitting else ToolChoice.NONE,
            max_output_tokens=self._output_tokens,
        )

    @property
    def _output_tokens(self) -> int:
        return RECOVERY_OUTPUT if self._recovering else self._bounds.output_tokens

    def _fit(self, conversation: Conversation, system: str, tools: Sequence[ToolSpec]) -> Sequence[ToolSpec] | None:
        """Makes room, from what costs least to what costs most. The opening alone is the caller's to fit."""
        window = self._provider.window
        if window is None:
            return tools
        room = window - self._output_tokens
        if conversation.tokens(system, tools) <= room or len(conversation.messages) == 1:
            return tools
        conversation.compact()
        while conversation.tokens(system, tools) > room and conversation.compact_unread():
            pass  # what it has just asked for is kept as long as there is anything else to let go
        if conversation.tokens(system, tools) <= room:
            return tools
        while conversation.forget():
            if conversation.tokens(system, tools) <= room:
                return tools
        return None

    async def _answer(self, conversation: Conversation, reply: Reply, offered: frozenset[str]) -> bool:
        outcome = await self._calls.answer(reply.message.calls, offered)
        self.result.calls = self._calls.made
        self._failed_turns = self._failed_turns + 1 if outcome.all_failed else 0
        if outcome.looping or self._failed_turns >= FAILED_TURNS:
            self._text_only = True
        results = list(outcome.results)
        while self._nudges and self._calls.made >= self._nudges[0]:
            self._nudges.pop(0)
            for position in range(len(results) - 1, -1, -1):
                content = results[position].content
                if isinstance(content, dict) and not results[position].is_error:
                    results[position] = replace(
                        results[position], content={**content, "note": self._words.come_to_an_end}
                    )
                    break
        conversation.answer(results)
        return False

    def _written_as_text(self, conversation: Conversation) -> bool:
        """A tool call in prose is no call and no answer: asked once for a real one."""
        if self._asked_for_calls or self._text_only:
            self.result.ended, self.result.failure = Ended.FAILED, _TOOLS_IN_TEXT
            return True
        self._asked_for_calls = True
        conversation.say(self._words.use_tools)
        return False

    def _cut_off(self, conversation: Conversation) -> bool:
        """A half answer is no all clear: asked once to say it shorter, with more room."""
        if self._recovered:
            self.result.ended, self.result.failure = Ended.FAILED, _CUT_OFF
            return True
        self._recovered = self._recovering = True
        conversation.say(self._words.after_cut)
        return False

    def _hear(self, text: str) -> None:
        if text:
            self.result.text += text
            self._on_text(text)

    def _end_paragraph(self) -> None:
        """Separates what was said in one turn from the next, in what is stored as in what is streamed."""
        if self.result.text and not self.result.text.endswith("\n\n"):
            self._hear("\n" if self.result.text.endswith("\n") else "\n\n")


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cached_tokens=one.cached_tokens + other.cached_tokens,
        reasoning_tokens=one.reasoning_tokens + other.reasoning_tokens,
        reported=one.reported and other.reported,
    )


_PHASE_OVER = Failure(
    cause=Cause.PHASE_TIMEOUT,
    summary="The time for the model in a run was over before it was done. What it found by then is kept; "
    "a faster model or a longer [model] phase_timeout lets it finish.",
    temporary=True,
)
_NO_ROOM = Failure(
    cause=Cause.CONTEXT_WINDOW_TOO_SMALL,
    summary="The conversation does not fit the model's context window any more. Choose a model with a larger window, "
    "or set [model] context_window if the real one is larger.",
)
_TOOLS_IN_TEXT = Failure(
    cause=Cause.TOOLS_IN_TEXT,
    summary="The model writes its tool calls as text instead of making them, also when asked again. "
    "Choose a model (or a server template) that supports tool calls.",
)
_CUT_OFF = Failure(
    cause=Cause.OUTPUT_LIMIT,
    summary="The model's answer was cut off by its output allowance, and a longer one was cut off too or had no room. "
    "Choose a model that thinks less at length, or one with a larger window.",
)
