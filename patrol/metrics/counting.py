"""What runs did, counted as they end: from their report, their record, and what they asked of tools and of a model."""

from collections import Counter as Count
from collections import deque
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from sqlalchemy import Connection, func, select

from findings.model import DEFAULT_ORG
from patrol.agent.metering import CallOutcome
from patrol.database import StorageError
from patrol.metrics.declared import CallResult, Direction, Metrics, TriggerOutcome
from patrol.run.model_work.tables import MODEL_CALLS
from patrol.run.model_work.totals import CHARGED
from patrol.run.observer import Stage
from patrol.run.record_model import RunRecord, RunStatus
from patrol.run.request import RunReport
from patrol.run.tables import TOOL_CALLS
from patrol.triggers.model import Trigger
from patrol.triggers.queue import Accepted, Decision, Merged, Rejected

_NEVER_BEGAN = frozenset({RunStatus.DROPPED, RunStatus.SKIPPED})
_MOST_OWED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWork:
    """What a run asked of tools and of a model. `requests`: how many had each outcome."""

    tool_calls: Count[tuple[str, bool]] = field(default_factory=Count)
    requests: Count[CallOutcome] = field(default_factory=Count)
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0


def observe_run(metrics: Metrics, report: RunReport) -> None:
    """Counts what a run with results saw and refused."""
    for (signal_type, outcome), count in report.outcomes.items():
        metrics.signals.inc(signal_type, outcome, by=count)
    for reason, count in Count(report.refusals).items():
        metrics.findings_rejected.inc(reason, by=count)
    metrics.source_reads = {each.name: each for each in report.reads}


def observe_record(metrics: Metrics, run: RunRecord) -> None:
    """Counts a run that ended, with or without results."""
    metrics.runs.inc(run.trigger_reason, run.type, run.status)
    if run.completed_at is not None and run.status not in _NEVER_BEGAN:
        metrics.run_duration.observe(max(0.0, (run.completed_at - run.started_at).total_seconds()))


def observe_work(metrics: Metrics, work: RunWork) -> None:
    """Counts what a run asked of tools and of a model."""
    for (tool, success), count in work.tool_calls.items():
        metrics.tool_calls.inc(tool, CallResult.ANSWERED if success else CallResult.FAILED, by=count)
    for outcome, count in work.requests.items():
        metrics.model_requests.inc(outcome, by=count)
    metrics.model_tokens.inc(Direction.INPUT, by=work.input_tokens)
    metrics.model_tokens.inc(Direction.OUTPUT, by=work.output_tokens)
    metrics.model_cost.inc(by=work.cost_usd)


def work_of(connection: Connection, run_id: str, org_id: str = DEFAULT_ORG) -> RunWork:
    """What a run asked, as it was recorded while it went on: also of one that crashed."""
    calls = (
        select(TOOL_CALLS.c.tool_name, TOOL_CALLS.c.success, func.count())
        .where(TOOL_CALLS.c.org_id == org_id, TOOL_CALLS.c.run_id == run_id)
        .group_by(TOOL_CALLS.c.tool_name, TOOL_CALLS.c.success)
    )
    tokens = func.sum(MODEL_CALLS.c.input_tokens), func.sum(MODEL_CALLS.c.output_tokens)
    asked = (
        select(MODEL_CALLS.c.outcome, func.count(), *tokens, func.sum(CHARGED))
        .where(MODEL_CALLS.c.org_id == org_id, MODEL_CALLS.c.run_id == run_id)
        .group_by(MODEL_CALLS.c.outcome)
    )
    tool_calls = Count({(tool, bool(success)): count for tool, success, count in connection.execute(calls)})
    rows = connection.execute(asked).all()
    return RunWork(
        tool_calls=tool_calls,
        requests=Count({CallOutcome(outcome): count for outcome, count, *_ in rows}),
        input_tokens=sum(int(sent) for _, _, sent, _, _ in rows),
        output_tokens=sum(int(got) for _, _, _, got, _ in rows),
        cost_usd=sum(float(usd) for *_, usd in rows),
    )


class Readable(Protocol):
    """A database, as far as it is read."""

    def read(self) -> AbstractContextManager[Connection]:
        """A transaction that reads. Raises StorageError."""
        ...


class RunCounts:
    """Counts runs as they are observed. Is a `patrol.run.observer.Observer`; may be told from several threads."""

    def __init__(self, metrics: Metrics, database: Readable, org_id: str = DEFAULT_ORG) -> None:
        self._metrics = metrics
        self._database = database
        self._org_id = org_id
        self._owed: deque[str] = deque(maxlen=_MOST_OWED)

    def run_began(self, run: RunRecord) -> None:
        """Nothing: what is under way is read at each scrape."""

    def stage(self, run: RunRecord, stage: Stage, seconds: float) -> None:  # noqa: ARG002 - the protocol's
        """How long it took."""
        self._metrics.stage_duration[stage].observe(seconds)

    def run_ended(self, run: RunRecord, report: RunReport | None) -> None:
        """The run, what it saw, and what it asked; of one whose figures cannot be read now, when the next one ends."""
        observe_record(self._metrics, run)
        if report is not None:
            observe_run(self._metrics, report)
        self._owed.append(run.id)
        self._settle()

    def trigger(self, trigger: Trigger, decision: Decision) -> None:
        """What became of a trigger, and of the one that had to go for it."""
        self._metrics.triggers.inc(trigger.reason, _word(decision))
        if isinstance(decision, Accepted) and decision.evicted is not None:
            self._metrics.triggers.inc(decision.evicted.trigger.reason, TriggerOutcome.EVICTED)

    def _settle(self) -> None:
        for _ in range(len(self._owed)):
            try:
                run_id = self._owed.popleft()
            except IndexError:  # another thread was faster
                return
            try:
                with self._database.read() as connection:
                    work = work_of(connection, run_id, self._org_id)
            except StorageError:
                self._owed.append(run_id)
                return
            observe_work(self._metrics, work)


def _word(decision: Decision) -> str:
    if isinstance(decision, Rejected):
        return decision.reason
    if isinstance(decision, Accepted):
        return TriggerOutcome.ACCEPTED
    return TriggerOutcome.MERGED if isinstance(decision, Merged) else TriggerOutcome.UNDER_WAY
