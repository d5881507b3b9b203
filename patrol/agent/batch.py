"""The calls of one turn, in three phases: checked one by one, made side by side, followed up one by one."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from patrol.agent.model import ToolRequest, ToolResult
from patrol.agent.toolset import Answer, Gate, Purpose, Toolset

AT_ONCE = 4
"""Calls that are made side by side."""
MOST_AT_A_TURN = 50
"""Calls of one turn that are answered by a tool; the others are told to wait for the next turn."""
SAME_CALL = 3
"""How often the same call is answered in one pass."""
_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOutcome:
    """What came of one turn: a result for each call, in the order of the calls."""

    results: Sequence[ToolResult]
    all_failed: bool
    looping: bool


@dataclass(slots=True)
class Calls:
    """The calls of one pass, and what may still be called. `evidence_left` None: no bound."""

    toolset: Toolset
    gate: Gate
    seconds: float
    evidence_left: int | None = None
    made: int = 0
    _seen: Counter[str] = field(default_factory=Counter)

    async def answer(self, requests: Sequence[ToolRequest], offered: frozenset[str]) -> BatchOutcome:
        """Answers all calls of one turn. `offered`: names of the tools that this turn offered."""
        for request in requests:
            self.toolset.began(request)
        answers, first_of, looping = self._check(requests, offered)
        queued = [position for position in range(len(requests)) if position not in answers]
        taken = await self._make([requests[position] for position in queued])
        seconds: dict[int, float] = {}
        for position, (answer, took) in zip(queued, taken, strict=True):
            answers[position], seconds[position] = answer, took
        results = []
        for position, request in enumerate(requests):
            if position in first_of:
                answers[position] = answers[first_of[position]]
            answer = answers[position]
            self.made += 1
            self.gate.answered(request, answer)
            self.toolset.finished(request, answer, seconds.get(position, 0.0))
            results.append(_result(request, answer))
        failed = bool(requests) and all(result.is_error for result in results)
        return BatchOutcome(results=results, all_failed=failed, looping=looping)

    def _check(
        self, requests: Sequence[ToolRequest], offered: frozenset[str]
    ) -> tuple[dict[int, Answer], dict[int, int], bool]:
        """Phase 1: what is refused, which call repeats an earlier one of this turn, and whether the model loops."""
        answers: dict[int, Answer] = {}
        first_of: dict[int, int] = {}
        positions: dict[str, int] = {}
        looping = False
        for position, request in enumerate(requests):
            refusal = _TOO_MANY if position >= MOST_AT_A_TURN else self._refusal(request, offered)
            if refusal is not None:
                answers[position] = refusal
                continue
            identity = _identity(request)
            if identity in positions:
                first_of[position] = positions[identity]
                answers[position] = Answer(content=None)  # replaced by the answer of the first
                continue
            self._seen[identity] += 1
            if self._seen[identity] > SAME_CALL:
                looping = True
                answers[position] = refused(
                    "loop_detected",
                    f"this call was made {SAME_CALL} times already with the same arguments; the answer "
                    "does not change within a run",
                )
                continue
            stopped = self.gate.refuses(request) or self._spend(request)
            if stopped is not None:
                answers[position] = stopped
                continue
            positions[identity] = position
        return answers, first_of, looping

    def _refusal(self, request: ToolRequest, offered: frozenset[str]) -> Answer | None:
        if request.name not in offered:
            return refused(
                "tool_not_offered", f"there is no tool {request.name[:_SHOWN]!r} in this turn", allowed=sorted(offered)
            )
        if request.arguments is None:
            return refused("invalid_arguments", request.problem or "the arguments are no JSON object")
        return None

    def _spend(self, request: ToolRequest) -> Answer | None:
        if self.evidence_left is None or self.toolset.purpose(request.name) is not Purpose.EVIDENCE:
            return None
        if self.evidence_left <= 0:
            return refused("evidence_budget_exhausted", "no reads are left in this pass: decide on what was read")
        self.evidence_left -= 1
        return None

    async def _make(self, requests: Sequence[ToolRequest]) -> list[tuple[Answer, float]]:
        """Phase 2. A read of the findings beside a write on them keeps the order of the model: read before write."""
        purposes = {self.toolset.purpose(request.name) for request in requests}
        ordered = {Purpose.FINDINGS_READ, Purpose.FINDINGS_WRITE} <= purposes
        free = asyncio.Semaphore(1 if ordered else AT_ONCE)

        async def one(request: ToolRequest) -> tuple[Answer, float]:
            async with free:
                return await self._call(request)

        # A semaphore serves in the order of asking, and tasks start in the order of their making.
        return list(await asyncio.gather(*map(one, requests)))

    async def _call(self, request: ToolRequest) -> tuple[Answer, float]:
        started = time.monotonic()
        try:
            answer = await asyncio.wait_for(asyncio.to_thread(self.toolset.call, request), self.seconds)
        except TimeoutError:
            answer = refused("tool_timeout", f"no answer within {self.seconds:.0f} s; ask for less")
        except Exception as error:  # noqa: BLE001 - a tool that breaks costs its call, not the pass; it is recorded
            answer = refused("tool_failed", f"{type(error).__name__}: {error}"[:_SHOWN])
        return answer, time.monotonic() - started


def refused(code: str, message: str, *, allowed: Sequence[str] = ()) -> Answer:
    """An answer that says why there is none, and what would be right."""
    content: dict[str, object] = {"error": code, "message": message}
    if allowed:
        content["allowed"] = list(allowed)
    return Answer(content=content, is_error=True, code=code)


_TOO_MANY = refused(
    "too_many_calls",
    f"at most {MOST_AT_A_TURN} calls of one turn are answered: make the ones that matter, a few at a time",
)


def _identity(request: ToolRequest) -> str:
    return f"{request.name}:{json.dumps(request.arguments, sort_keys=True, default=str)}"


def _result(request: ToolRequest, answer: Answer) -> ToolResult:
    """The result as the model sees it. An object carries the id of its call, so that it can be cited."""
    content = answer.content
    if isinstance(content, dict) and not answer.is_error:
        content = {"tool_call_id": request.id, **content}
    return ToolResult(call_id=request.id, name=request.name, content=content, is_error=answer.is_error)
