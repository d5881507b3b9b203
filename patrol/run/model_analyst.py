"""The analyst with a model: three passes over one run, each within its bounds, none of which can cost the run.

What fails here fails the model's part and nothing else: it is told in `part`, what was done by then is kept, and the
detectors judge as if no model had been there.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from findings.investigation import Autonomy
from findings.model import Finding
from patrol.agent.failure import Cause, Failure, ModelError
from patrol.agent.loop import Bounds, Ended, Pass, PassResult, Words
from patrol.agent.metering import Meter, MeteredProvider, Phase
from patrol.agent.model import Provider
from patrol.agent.prompts import ASSESS, DETECT, EVALUATE
from patrol.database import StorageError
from patrol.run.analyst import ModelPart, ModelWork, Situation
from patrol.run.cancel import Cancel, RunCancelledError
from patrol.run.causes import SignalGroup
from patrol.run.follower import Follower, OnlyRefusals
from patrol.run.model_questions import assessment_question, evaluation_question, shown_signals
from patrol.run.model_tools import CallBook, RunTools
from patrol.run.record_model import ModelState
from patrol.run.request import RunRequest
from patrol.run.seam import Judged, contradiction
from patrol.run.unchanged import Fingerprint
from patrol.tools.finding_desk import FindingDesk
from signals.detector import cut
from signals.garbage import resumed_garbage_collection
from signals.model import Origin, ToolCall

EVALUATION_TURNS = 5
MOST_ASSESSMENT_TURNS = 12
QUICK_TURNS = 4
_LEAST_SECONDS = 5.0
"""A pass that has less time than this is not begun: it could only be cut off."""
_LONGEST_ANALYSIS = 64_000
_LONGEST_HEARD = 300
BUDGET = "budget"
"""The cause of a model's part that the budget ended or did not let begin."""
_EVALUATION_TOOLS = frozenset({"patrol_report_finding", "patrol_assess_finding"})
_ASSESSMENT_TOOLS = frozenset({"patrol_assess_finding"})


class Opening(Protocol):
    """The text that opens the first pass, at any length."""

    def text(self, tokens: int | None = None) -> str:
        """The text, fitted to so many tokens; None: to the window of the model."""
        ...

    def shorter(self, window: int | None) -> Sequence[int]:
        """Tokens to try instead where it did not fit. `window`: of the model, where its provider named it."""
        ...


def turns_for(flags: int, request: RunRequest) -> int:
    """Turns of the first pass: few for a look at one thing, else more with more to look at."""
    return QUICK_TURNS if not request.is_full else min(40, max(8, 5 + 3 * flags))


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """An estate held against the one that a model saw last. `same_since`: why it need not look again, "" if it must.

    `seen`: the estate as it is, to be remembered once a model has looked; None where nobody compares.
    """

    same_since: str = ""
    seen: Fingerprint | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """What the analyst of one run works with.

    `open_provider` may take seconds and raises ModelError; it is told how many are left. `seconds`: the longest time
    of all passes together. `opening` is given the window of the model. `closed`: told at the end how it went.
    `follower`: told what is said and done, while it is.
    """

    meter: Meter
    autonomy: Autonomy
    seconds: float
    open_provider: Callable[[Situation, Callable[[], float]], Provider]
    opening: Callable[[Situation, int | None], Opening]
    compared: Callable[[Situation], Compared]
    closed: Callable[["ModelAnalyst"], None]
    follower: Follower
    cancel: Cancel


class ModelAnalyst:
    """A model at work in one run. `failure`: why it failed, where it did. `seen`: the estate that it looked at."""

    def __init__(self, part: ModelPart, equipment: Equipment) -> None:
        self._part = part
        self._with = equipment
        self._runner = asyncio.Runner()
        self._provider: Provider | None = None
        self._book = CallBook()
        self._ends_at = time.monotonic() + equipment.seconds
        self._situation: Situation | None = None
        self.failure: Failure | None = None
        self.seen: Fingerprint | None = None

    @property
    def has_asked(self) -> bool:
        """Whether anything was sent."""
        return bool(self._with.meter.calls)

    @property
    def part(self) -> ModelPart:
        """How it goes."""
        return self._part

    def analyse(self, situation: Situation) -> ModelWork:
        """The first pass: looks around freely."""
        self._situation = situation
        compared = self._with.compared(situation)
        if compared.same_since:
            self._part.state, self._part.said = ModelState.SKIPPED_UNCHANGED, compared.same_since
            return ModelWork()
        self.seen = compared.seen
        desk = self._desk(situation, situation.known)
        tools = RunTools(situation.toolbox, desk, self._book, situation.record, follower=self._with.follower)
        self._work(self._look(situation, tools))
        return _work_of(desk, self._book.all())

    def evaluate(self, groups: Sequence[SignalGroup], findings: Mapping[str, Finding]) -> ModelWork:
        """The second pass: about signals that nobody told of, and nothing else. `findings`: what they are, by key."""
        situation = self._situation
        if not groups or situation is None or not self._can_go_on():
            return ModelWork()
        signals = [signal for group in groups for signal in group.signals]
        shown = shown_signals(signals)
        desk = FindingDesk(
            situation.toolbox.view,
            known=[*findings.values()],
            scope=situation.scope,
            thresholds=situation.thresholds,
            outputs=lambda call_id: shown.get(call_id) or self._book.find(call_id),
            snapshot_read=True,
            report_limit=len(signals),
        )
        question = evaluation_question(groups, findings)
        self._ask(Phase.EVALUATE, EVALUATE, question, desk, _EVALUATION_TOOLS, EVALUATION_TURNS)
        return _work_of(desk)

    def assess(self, findings: Sequence[Finding]) -> ModelWork:
        """The third pass: a verdict on each of these findings, with what was read, or read for it now."""
        situation = self._situation
        if not findings or situation is None or not self._can_go_on():
            return ModelWork()
        desk = self._desk(situation, findings)
        only = _ASSESSMENT_TOOLS | {spec.name for spec in situation.toolbox.specs()}
        turns = min(len(findings) + 2, MOST_ASSESSMENT_TURNS)
        self._ask(Phase.ASSESS, ASSESS, assessment_question(findings), desk, only, turns)
        return _work_of(desk)

    def contradicted(self, refused: Sequence[Judged]) -> None:
        """Tells whoever follows."""
        for each in refused:
            self._with.follower.finding_rejected(contradiction(each))

    def close(self) -> None:
        """Closes connections, and tells how it went."""
        try:
            if self._provider is not None:
                self._runner.run(self._provider.close())
        finally:
            self._runner.close()
            self._with.closed(self)

    # --- one pass ---

    def _desk(self, situation: Situation, known: Sequence[Finding]) -> FindingDesk:
        return FindingDesk(
            situation.toolbox.view,
            known=known,
            scope=situation.scope,
            thresholds=situation.thresholds,
            outputs=self._book.find,
            snapshot_read=True,  # the opening shows all that is known
        )

    async def _look(self, situation: Situation, tools: RunTools) -> PassResult:
        provider = self._with.open_provider(situation, self._seconds_left)
        self._provider = MeteredProvider(provider, self._with.meter)
        opening = self._with.opening(situation, provider.window)
        turns = turns_for(len(situation.flags), situation.request)
        sizes: list[int | None] = [None]
        text = ""
        while True:
            fitted = opening.text(sizes.pop(0))
            if not text or len(fitted) < len(text):
                text = fitted
                try:
                    return await self._pass(Phase.MAIN, DETECT[self._with.autonomy], tools, turns).run(text)
                except ModelError as error:
                    too_long = error
                    sizes = sizes or [*opening.shorter(error.failure.window)]
            if not sizes:
                raise too_long

    def _ask(
        self, phase: Phase, words: Words, question: str, desk: FindingDesk, only: frozenset[str], turns: int
    ) -> None:
        """One of the later passes. Its calls are recorded, and read by nobody but itself: the detectors have judged."""
        situation = self._situation
        if situation is None:
            return

        def record(call: ToolCall, seconds: float) -> ToolCall:
            call.origin = Origin.LATER
            return situation.record(call, seconds)

        follower = OnlyRefusals(self._with.follower)
        tools = RunTools(situation.toolbox, desk, self._book, record, follower=follower, only=only)

        async def work() -> PassResult:
            return await self._pass(phase, words, tools, turns).run(question)

        self._work(work())

    def _pass(self, phase: Phase, words: Words, tools: RunTools, turns: int) -> Pass:
        if self._provider is None:
            raise RuntimeError("the first pass opens the provider")
        self._with.meter.phase = phase
        deadline = asyncio.get_running_loop().time() + max(self._seconds_left(), 0.0)
        bounds = Bounds(turns=turns, deadline=deadline)
        return Pass(self._provider, tools, words, bounds, on_text=self._with.follower.text)

    def _work(self, work: Coroutine[None, None, PassResult]) -> None:
        """Carries a pass out, and notes how it went. What goes wrong in it ends the model's part, never the run.

        Raises RunCancelledError.
        """
        try:
            with resumed_garbage_collection():
                result = self._runner.run(self._unless_cancelled(work))
        except StorageError:
            raise  # what cannot be written down must not go on
        except asyncio.CancelledError as error:
            if self._with.cancel.reason:
                raise RunCancelledError(self._with.cancel.reason) from error
            raise
        except ModelError as error:
            result = PassResult(ended=Ended.FAILED, failure=error.failure)
        except Exception as error:  # noqa: BLE001 - whatever it is: the detectors still have to judge; it is recorded
            result = PassResult(ended=Ended.FAILED, failure=_internal(error))
        self._note(result)

    async def _unless_cancelled(self, work: Coroutine[None, None, PassResult]) -> PassResult:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def stop() -> None:
            if task is not None:
                loop.call_soon_threadsafe(task.cancel)

        with self._with.cancel.telling(stop):
            return await work

    def _note(self, result: PassResult) -> None:
        part, meter = self._part, self._with.meter
        part.analysis = (part.analysis + result.text)[:_LONGEST_ANALYSIS]
        part.input_tokens, part.output_tokens = meter.input_tokens, meter.output_tokens
        part.cost_usd, part.cost_assumed = meter.cost_usd, meter.is_assumed
        part.state = ModelState.USED
        if result.ended is Ended.BUDGET:
            part.state = ModelState.USED if meter.calls else ModelState.SKIPPED_BUDGET
            part.cause, part.said = BUDGET, result.refusal
        elif result.failure is not None:
            self._fail(result.failure)
        if meter.truncated is not None:
            part.saw_all = False
            self._fail(Failure(cause=meter.truncated.cause, summary=meter.truncated.sentence))

    def _fail(self, failure: Failure) -> None:
        self.failure = self.failure or failure
        self._part.state = ModelState.FAILED
        self._part.cause, self._part.said = str(self.failure.cause), said_of(self.failure)

    def _can_go_on(self) -> bool:
        return self._part.worked and self._provider is not None and self._seconds_left() > _LEAST_SECONDS

    def _seconds_left(self) -> float:
        return self._ends_at - time.monotonic()


def said_of(failure: Failure) -> str:
    """The sentence for the operator, with what was heard where that says more."""
    heard = " ".join(failure.detail.split())
    if not heard or heard in failure.summary:
        return failure.summary
    return f"{failure.summary} It said: {cut(heard, _LONGEST_HEARD)}"


def _work_of(desk: FindingDesk, calls: Sequence[ToolCall] = ()) -> ModelWork:
    refused = [str(each.code) for each in desk.refused]
    return ModelWork(tool_calls=calls, reports=desk.reports, verdicts=desk.verdicts, refused=refused)


def _internal(error: Exception) -> Failure:
    return Failure(
        cause=Cause.INTERNAL_ERROR,
        summary=f"A fault of Patrol's own ended the model's part: {type(error).__name__}. The checks are not "
        "touched by it; please report it with the run's record.",
        detail=f"{type(error).__name__}: {error}"[:500],
    )
