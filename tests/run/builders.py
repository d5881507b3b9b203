"""What the tests of runs are made of: estates, sources that hand them out, a clock that is set."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from findings.model import Gap, GapReason, Sight, Topic
from patrol.database import Database
from patrol.estate.model import Estate, Metric, Reading, Resource, ResourceType, SourceState, Status
from patrol.estate.sources.model import Collected, CollectRequest
from patrol.run import Patrol, RunReport, RunRequest
from patrol.run.analyst import Analyst
from patrol.run.collect import BoundedSource
from patrol.run.record_model import RunRecord
from patrol.run.request import Progress
from patrol.settings.model import Settings
from signals.evidence import DiskRow, SmartAttributes, UnitRow
from signals.storage_evidence import FilesystemRow

NOW = datetime(2026, 11, 29, 21, 0, tzinfo=UTC)
HOST = "agent:local:hosta"


@dataclass(slots=True)
class Clock:
    """A clock that stands still until it is told to go on."""

    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **by: float) -> None:
        self.now += timedelta(**by)


@dataclass(slots=True)
class GivenSource:
    """Hands out the estates it was given, one a collection; the last one stays. An exception among them is raised."""

    estates: list[Estate | Exception]
    name: str = "local"
    type: str = "given"

    def collect(self, request: CollectRequest) -> Collected:
        estate = self.estates.pop(0) if len(self.estates) > 1 else self.estates[0]
        if isinstance(estate, Exception):
            raise estate
        return Collected(estate=estate)


def host(  # one agent with everything that can be read of it
    usage: float | None = 40,
    *,
    units: Sequence[str] | None = (),
    memory: float | None = 30,
    name: str = "hosta",
) -> Resource:
    """A host. None for a section: it was not read."""
    metrics = {Metric.MEMORY: Reading(value=memory)} if memory is not None else {}
    return Resource(
        id=f"agent:local:{name}",
        type=ResourceType.AGENT,
        name=name,
        status=Status.ONLINE,
        source="local",
        metrics=metrics,
        filesystems=None
        if usage is None
        else [FilesystemRow(device="/dev/sda1", mountpoint="/", type="ext4", usage_percent=usage)],
        units=None if units is None else [UnitRow(name=unit, state="failed", result="exit-code") for unit in units],
        sensors=[],
    )


def disk(
    health: str | None = "PASSED", *, pending: float | None = None, serial: str = "S1", read: bool = True
) -> Resource:
    """A disk of the host."""
    return Resource(
        id=f"disk:serial:{serial}",
        type=ResourceType.DISK,
        name="sda",
        source="local",
        parent=HOST,
        disk=DiskRow(
            dev_path="/dev/sda",
            serial=serial,
            health=health,
            type="sata",
            smart_attributes=SmartAttributes(pending_sectors=pending) if pending else None,
            smart_complete=read,
        ),
    )


def estate(*resources: Resource, gaps: Sequence[Gap] = (), connected: bool = True) -> Estate:
    """What the source `local` read."""
    read = [topic for topic in Topic if topic not in {gap.topic for gap in gaps if gap.resource_id is None}]
    return Estate(
        collected_at=NOW,
        resources=list(resources),
        gaps=list(gaps),
        sources=[SourceState(name="local", type="given", connected=connected, read=read)],
    )


def gap(topic: Topic, resource_id: str | None = None, reason: GapReason = GapReason.FAILED) -> Gap:
    """Something that could not be read."""
    return Gap(
        source="local", topic=topic, reason=reason, detail="it failed", resource_id=resource_id, sight=Sight.STANDING
    )


@dataclass(frozen=True, slots=True)
class Joins:
    """Every run gets this analyst."""

    analyst: Analyst

    def join(self, run: RunRecord, *, after_crash: bool) -> Analyst:
        return self.analyst


@dataclass(slots=True)
class House:
    """A database, a clock and a source: what a series of runs happens in."""

    database: Database
    clock: Clock = field(default_factory=Clock)
    settings: Settings = field(default_factory=Settings)
    said: list[tuple[str, str]] = field(default_factory=list)
    progress: Progress | None = None
    _ids: Callable[[], str] = field(default_factory=lambda: map("run-{}".format, itertools.count(1)).__next__)

    def run(self, *estates: Estate | Exception, request: RunRequest | None = None, name: str = "local") -> RunReport:
        """One run over what the source hands out, a minute after the one before."""
        self.clock.advance(minutes=1)
        return self.patrol(GivenSource(list(estates), name=name)).run(request or RunRequest())

    def patrol(self, *sources: GivenSource) -> Patrol:
        return Patrol(
            database=self.database,
            settings=self.settings,
            sources=[BoundedSource(source=source, timeout_seconds=5) for source in sources],
            clock=self.clock,
            ids=self._ids,
            progress=self.progress or (lambda stage, detail: self.said.append((stage, detail))),
        )
