"""What is so at this moment, as gauges. Read anew at each scrape: a gauge that cannot be read is absent, never old."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from prometheus_client.core import GaugeMetricFamily

from findings.census import Standing
from findings.model import Severity, Sight
from patrol.agent.breaker import BreakerState
from patrol.estate.model import ResourceType
from patrol.run.collect import SourceRead
from patrol.run.record_model import RunType

SourceReads = Mapping[str, SourceRead]
"""How each configured source did, by its name."""

BREAKER_VALUES = {BreakerState.CLOSED: 0, BreakerState.HALF_OPEN: 1, BreakerState.OPEN: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What is so now. None, or a missing key: not known.

    `blind_sources`: those that the last full run could not read at all. `budget_used`: by window, 1 is all of it.
    """

    last_run_at: Mapping[RunType, datetime] = field(default_factory=dict)
    last_success_at: Mapping[RunType, datetime] = field(default_factory=dict)
    next_run_at: datetime | None = None
    runs_in_progress: int | None = None
    lease_age_seconds: float | None = None
    findings: Mapping[tuple[Severity, Standing], int] | None = None
    resources: Mapping[str, int] | None = None
    gaps: Mapping[tuple[str, Sight], int] | None = None
    blind_sources: frozenset[str] = frozenset()
    database_bytes: int | None = None
    sample_lag_seconds: float | None = None
    alert_settings_ok: bool | None = None
    breaker: BreakerState | None = None
    budget_used: Mapping[str, float] = field(default_factory=dict)
    stream_subscribers: int | None = None


@dataclass(frozen=True, slots=True)
class Gauge:
    """One gauge: its name, its help, its labels, and how its values follow from the state."""

    name: str
    documentation: str
    labels: tuple[str, ...]
    values: Callable[[State], Iterable[tuple[tuple[str, ...], float]]]

    def family(self, state: State) -> GaugeMetricFamily:
        """As it is exposed."""
        family = GaugeMetricFamily(self.name, self.documentation, labels=self.labels)
        for labels, value in self.values(state):
            family.add_metric(labels, value)
        return family


def _one(value: float | None) -> list[tuple[tuple[str, ...], float]]:
    return [] if value is None else [((), float(value))]


def _times(times: Mapping[RunType, datetime]) -> list[tuple[tuple[str, ...], float]]:
    return [((str(kind),), at.timestamp()) for kind, at in times.items()]


def _findings(state: State) -> Iterator[tuple[tuple[str, ...], float]]:
    if state.findings is not None:
        for severity in Severity:
            for standing in Standing:
                yield (str(severity), str(standing)), state.findings.get((severity, standing), 0)


def _resources(state: State) -> Iterator[tuple[tuple[str, ...], float]]:
    if state.resources is not None:
        for kind in ResourceType:
            yield (str(kind),), state.resources.get(str(kind), 0)


def _gaps(state: State) -> Iterator[tuple[tuple[str, ...], float]]:
    if state.gaps is not None:
        for source in sorted({source for source, _ in state.gaps}):
            for sight in Sight:
                yield (source, str(sight)), state.gaps.get((source, sight), 0)


GAUGES = (
    Gauge(
        "patrol_last_run_timestamp_seconds",
        "When the newest run ended, whatever became of it.",
        ("type",),
        lambda state: _times(state.last_run_at),
    ),
    Gauge(
        "patrol_last_success_timestamp_seconds",
        "When the newest run ended that saw all there is to see.",
        ("type",),
        lambda state: _times(state.last_success_at),
    ),
    Gauge(
        "patrol_next_run_timestamp_seconds",
        "When the next full run is due; a time that is over: since when one waits.",
        (),
        lambda state: _one(state.next_run_at.timestamp() if state.next_run_at is not None else None),
    ),
    Gauge(
        "patrol_run_in_progress",
        "How many runs are under way.",
        (),
        lambda state: _one(state.runs_in_progress),
    ),
    Gauge(
        "patrol_lease_age_seconds",
        "For how long the run under way has not said that it is alive; 0 while there is none.",
        (),
        lambda state: _one(state.lease_age_seconds),
    ),
    Gauge("patrol_findings", "Open findings.", ("severity", "state"), _findings),
    Gauge("patrol_resources", "Resources that the last full run saw.", ("type",), _resources),
    Gauge("patrol_gaps", "What the last full run could not read.", ("source", "kind"), _gaps),
    Gauge(
        "patrol_database_bytes",
        "How large the database is: of a file what is in use.",
        (),
        lambda state: _one(state.database_bytes),
    ),
    Gauge(
        "patrol_sample_lag_seconds",
        "How old the newest sample is; absent where nothing is sampled between runs.",
        (),
        lambda state: _one(state.sample_lag_seconds),
    ),
    Gauge(
        "patrol_alert_settings_ok",
        "1 while the alert settings can be read, or none are configured; 0: the last good ones are in force.",
        (),
        lambda state: _one(state.alert_settings_ok),
    ),
    Gauge(
        "patrol_circuit_breaker_state",
        "Whether the model may be asked: 0 yes, 1 one run is trying, 2 it is left alone.",
        (),
        lambda state: _one(BREAKER_VALUES[state.breaker] if state.breaker is not None else None),
    ),
    Gauge(
        "patrol_budget_used_ratio",
        "How much of the model's budget is used up; of tokens and money the fuller.",
        ("window",),
        lambda state: [((window,), ratio) for window, ratio in state.budget_used.items()],
    ),
    Gauge(
        "patrol_stream_subscribers",
        "How many follow the stream of events.",
        (),
        lambda state: _one(state.stream_subscribers),
    ),
)


class StateGauges:
    """The gauges as a collector of prometheus_client. `source_reads`: see `patrol.metrics.declared.Metrics`."""

    def __init__(self, read_state: Callable[[], State], source_reads: Callable[[], SourceReads]) -> None:
        self._read_state = read_state
        self._source_reads = source_reads

    def describe(self) -> list[GaugeMetricFamily]:
        """All families without values: their names are taken, and nothing is read for that."""
        return list(_families(State(), {}))

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """All families as they are now."""
        return _families(self._read_state(), self._source_reads())


def _families(state: State, reads: SourceReads) -> Iterator[GaugeMetricFamily]:
    for gauge in GAUGES:
        yield gauge.family(state)
    up = GaugeMetricFamily("patrol_source_up", "Whether a source answered in the last run.", labels=("source",))
    seconds = GaugeMetricFamily(
        "patrol_source_collect_duration_seconds", "How long a source took in the last run.", labels=("source",)
    )
    # Before the first run of this process only those are known that the last one left blind.
    for name in sorted(reads or state.blind_sources):
        read = reads.get(name)
        up.add_metric((name,), float(read is not None and read.is_up))
        if read is not None:
            seconds.add_metric((name,), read.seconds)
    yield up
    yield seconds
