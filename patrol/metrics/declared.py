"""Every metric of Patrol, declared together: its name, its help, and the closed sets of its labels.

Names and labels are a contract with whoever wrote a query (docs/metrics.md). No label holds anything that an estate
grows by: no resource, no finding, no run.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter, Histogram, Info

from findings.investigation import InvestigationOutcome
from findings.kinds import Kind
from patrol.agent.metering import CallOutcome
from patrol.metrics.state import SourceReads, State, StateGauges
from patrol.run.observer import Stage
from patrol.run.record_model import RunStatus, RunType
from patrol.run.seam import Contradiction
from patrol.run.signal_outcomes import SignalOutcome
from patrol.tools.finding_desk.arguments import FINDING_TOOLS
from patrol.tools.model import ErrorCode
from patrol.tools.registry import TOOLS
from patrol.triggers.model import TriggerReason
from patrol.triggers.queue import Rejection

OTHER = "other"
"""What a word counts as that is in no set: of an older or newer version, or a model's own invention."""


class CallResult(StrEnum):
    """How a tool call ended."""

    ANSWERED = "answered"
    FAILED = "failed"  # it was told why, and what would be right


class TriggerOutcome(StrEnum):
    """What became of a trigger that was let in; one that was not has the word of its `Rejection`."""

    ACCEPTED = "accepted"
    MERGED = "merged"  # one that waits already serves it
    UNDER_WAY = "under_way"  # the run that somebody asked for goes on already
    EVICTED = "evicted"  # accepted earlier, and given up for a more urgent one


class ActionOutcome(StrEnum):
    """How a governed change ended."""

    VERIFIED = "verified"
    VERIFICATION_FAILED = "verification_failed"
    VERIFICATION_UNKNOWN = "verification_unknown"
    FAILED = "failed"
    REJECTED = "rejected"


class Direction(StrEnum):
    """Whether tokens went to the model or came from it."""

    INPUT = "input"
    OUTPUT = "output"


class ClosedCounter:
    """A counter whose labels have closed sets: every series is there from the start, and no other ever is."""

    def __init__(self, registry: CollectorRegistry, name: str, documentation: str, **labels: Iterable[str]) -> None:
        self._sets: Sequence[tuple[str, ...]] = [tuple(map(str, values)) for values in labels.values()]
        self._counter = Counter(name, documentation, tuple(labels), registry=registry)
        self._series = {
            values: self._counter.labels(*values) if values else self._counter
            for values in itertools.product(*self._sets)
        }

    def inc(self, *values: str, by: float = 1) -> None:
        """Counts. A word that its set lacks counts as `OTHER`, where the set has that. Raises KeyError else."""
        known = (
            str(value) if value in allowed or OTHER not in allowed else OTHER
            for value, allowed in zip(values, self._sets, strict=True)
        )
        self._series[tuple(known)].inc(by)


_ENDED = tuple(status for status in RunStatus if status is not RunStatus.RUNNING)
_RUN_SECONDS = (1, 2, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600)
_STAGE_SECONDS = (0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 900, 1800)


class Metrics:
    """All metrics on one registry. Counters start at zero with the process; `read_state` is asked at each scrape.

    Of a registry there is one: another on the same raises ValueError.
    """

    def __init__(self, registry: CollectorRegistry, *, version: str, read_state: Callable[[], State] = State) -> None:
        self.registry = registry
        self.source_reads: SourceReads = {}
        """How each source did in the last run of this process that had results; put in place whole."""
        registry.register(StateGauges(read_state, lambda: self.source_reads))
        Info("patrol_build", "The version that runs.", registry=registry).info({"version": version})
        self._declare_runs(registry)
        self._declare_model(registry)
        self._declare_deeds(registry)

    def _declare_runs(self, registry: CollectorRegistry) -> None:
        self.runs = ClosedCounter(
            registry,
            "patrol_runs_total",
            "Runs that ended, also those that were given up before they began.",
            trigger=(*TriggerReason, OTHER),
            type=RunType,
            status=_ENDED,
        )
        self.run_duration = Histogram(
            "patrol_run_duration_seconds",
            "How long runs took that began.",
            buckets=_RUN_SECONDS,
            registry=registry,
        )
        durations = Histogram(
            "patrol_run_stage_duration_seconds",
            "How long the stages of runs took.",
            ("stage",),
            buckets=_STAGE_SECONDS,
            registry=registry,
        )
        self.stage_duration = {stage: durations.labels(str(stage)) for stage in Stage}
        self.triggers = ClosedCounter(
            registry,
            "patrol_triggers_total",
            "What became of triggers, the wishes for a run.",
            reason=TriggerReason,
            outcome=(*TriggerOutcome, *Rejection),
        )
        self.tool_calls = ClosedCounter(
            registry,
            "patrol_tool_calls_total",
            "Tool calls of runs: of a model, and of Patrol's own sweep.",
            tool=(*TOOLS, *FINDING_TOOLS, OTHER),
            outcome=CallResult,
        )
        self.signals = ClosedCounter(
            registry,
            "patrol_signals_total",
            "Signals of the detectors: matched, filed or silenced; escalated and deferred are counted beside.",
            signal_type=Kind,
            outcome=SignalOutcome,
        )

    def _declare_model(self, registry: CollectorRegistry) -> None:
        self.findings_rejected = ClosedCounter(
            registry,
            "patrol_findings_rejected_total",
            "Reports and verdicts of a model that were not taken.",
            reason=(*ErrorCode, *Contradiction, OTHER),
        )
        self.model_requests = ClosedCounter(
            registry,
            "patrol_model_requests_total",
            "Requests to the model; `sent` are those that nothing was heard of.",
            outcome=CallOutcome,
        )
        self.model_tokens = ClosedCounter(
            registry,
            "patrol_model_tokens_total",
            "Tokens sent to the model and received from it, as they count against the budget.",
            direction=Direction,
        )
        self.model_cost = ClosedCounter(
            registry, "patrol_model_cost_usd_total", "What requests to the model cost, by a known or an assumed price."
        )

    def _declare_deeds(self, registry: CollectorRegistry) -> None:
        self.investigations = ClosedCounter(
            registry,
            "patrol_investigations_total",
            "Investigations that ended.",
            outcome=InvestigationOutcome,
        )
        self.actions = ClosedCounter(
            registry, "patrol_actions_total", "Governed changes that ended.", outcome=ActionOutcome
        )
        self.notifications = ClosedCounter(
            registry,
            "patrol_notifications_total",
            "Notifications by where they went. There is no channel yet.",
            channel_type=(),
            outcome=("sent", "failed", "dropped"),
        )
