"""Whole days of a daemon in a moment: its real parts on a clock that goes on where nothing is left but to wait."""

import asyncio
import itertools
import selectors
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, event
from sqlalchemy.exc import OperationalError

from findings.model import DEFAULT_ORG, Finding, FindingState, Topic, TransitionReason
from findings.silence import PATROLS_OWN
from findings.store import FindingStore
from patrol.daemon.executor import Executor
from patrol.daemon.pulse import Pulse, longest_silence
from patrol.database import Database, open_database
from patrol.database.transactions import READS
from patrol.estate.model import Estate, Resource, SourceState
from patrol.estate.sources.model import Collected, CollectRequest
from patrol.run import Patrol
from patrol.run.analyst import Analysts, NoModel
from patrol.run.cancel import Cancel
from patrol.run.collect import BoundedSource
from patrol.run.observer import NoObserver
from patrol.run.record_model import RunRecord, RunStatus
from patrol.run.store import RunStore
from patrol.schedule.jobs import Job, JobName
from patrol.schedule.model import JobState
from patrol.schedule.timetable import Timetable
from patrol.schedule.upkeep import Upkeep, offer_runs, recover
from patrol.settings.model import Settings, TriggersSection
from patrol.triggers.model import Trigger
from patrol.triggers.queue import Decision, Rejected
from patrol.work.model import Work, WorkKind, WorkState
from patrol.work.queue import Offered
from patrol.work.store import WorkStore
from tests.run.builders import host

START = datetime(2026, 3, 1, 0, 0, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
RETRY = 5 * MINUTE
"""Longer than it is, so that hours without a disk are soon over."""
LOOKED_AFTER = MINUTE.total_seconds()
RESULTS = frozenset(
    {RunStatus.HEALTHY, RunStatus.ISSUES_FOUND, RunStatus.CRITICAL, RunStatus.INCOMPLETE, RunStatus.TIMED_OUT}
)
GONE = "a process that is gone"
Result = TypeVar("Result")


class DayLoop(asyncio.SelectorEventLoop):
    """An event loop whose time stands still while threads work, and leaps to the next timer when they are done.

    `others`: how many threads work that the loop did not begin.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.others: Callable[[], int] = lambda: 0
        self._threads = 0
        super().__init__(_Leaping(self))

    def time(self) -> float:
        return self.seconds

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        found = super().run_in_executor(executor, func, *args)
        self._threads += 1
        found.add_done_callback(self._came_back)
        return found

    @property
    def is_busy(self) -> bool:
        return self._threads + self.others() > 0

    def _came_back(self, _future: object) -> None:
        self._threads -= 1


class _Leaping(selectors.DefaultSelector):
    """Waits for threads as any selector does, and for nobody else."""

    def __init__(self, loop: DayLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is not None and timeout <= 0:
            return super().select(0)
        if self._loop.is_busy or timeout is None:
            return super().select(0.05)
        ready = super().select(0)
        if not ready:
            self._loop.seconds += timeout
        return ready


@dataclass(slots=True)
class Place:
    """A source: what lies there by the time, or why it cannot be read. `takes`: how long a look lasts, by the time."""

    name: str
    shows: Callable[[datetime], list[Resource]]
    world: "World"
    takes: Callable[[datetime], timedelta] = lambda _now: timedelta()
    type: str = "given"

    def collect(self, request: CollectRequest) -> Collected:
        now = self.world.clock()
        self.world.wait_for(self.takes(now))
        state = SourceState(name=self.name, type=self.type, connected=True, read=list(Topic))
        return Collected(estate=Estate(collected_at=now, resources=self.shows(now), sources=[state]))


def thing(source: str, name: str, usage: float = 40, units: Iterable[str] = ()) -> Resource:
    """A host as a source sees it."""
    found = host(usage, name=name, units=tuple(units))
    found.id, found.source = f"agent:{source}:{name}", source
    return found


@dataclass(slots=True, eq=False)
class World:
    """One machine over days: its clock, its disk, what lies around it, and everything that was told there.

    `waits_seconds`: how long it waits each time for a database that another process holds. `is_full`: whether the
    write of this number finds a full disk. `life`: the daemon that runs now.
    """

    path: Path
    settings: Settings
    zone: tzinfo = UTC
    start: datetime = START
    loop: DayLoop = field(default_factory=DayLoop)
    places: list[Place] = field(default_factory=list)
    slept: timedelta = timedelta()
    waits_seconds: float = 5.0
    analysts: Analysts = field(default_factory=NoModel)
    told: list[str] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    promised: list[str] = field(default_factory=list)
    ended: list[RunRecord] = field(default_factory=list)
    writes: int = 0
    is_full: Callable[[int], bool] = lambda _number: False
    life: "Life | None" = None
    _parked: int = 0
    _ids: Callable[[], str] = field(default_factory=lambda: map("id{}".format, itertools.count(1)).__next__)

    def clock(self) -> datetime:
        return self.start + timedelta(seconds=self.loop.seconds) + self.slept

    @property
    def hours(self) -> float:
        """How many hours this has gone on."""
        return (self.clock() - self.start) / HOUR

    def ids(self) -> str:
        return self._ids()

    def lives(self, story: Callable[["World"], Awaitable[None]]) -> None:
        """The story, from its beginning to its end."""
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
            self.loop.others = self._runs_at_work

            async def told() -> None:
                await story(self)

            runner.run(told())

    async def until(self, *, hour: float) -> None:
        """Time goes by until this many hours after the start; a machine that sleeps gets there sooner."""
        while (left := (self.start + HOUR * hour - self.clock()).total_seconds()) > 0:  # noqa: ASYNC110 - it may leap
            await asyncio.sleep(min(left, LOOKED_AFTER))

    def wait_for(self, time: timedelta) -> None:
        """For a thread: time goes by meanwhile."""
        if not time:
            return
        over = threading.Event()

        def park() -> None:
            self._parked += 1
            self.loop.call_later(time.total_seconds(), wake)

        def wake() -> None:
            self._parked -= 1
            over.set()

        self.loop.call_soon_threadsafe(park)
        assert over.wait(30)

    def _runs_at_work(self) -> int:
        under_way = self.life.executor.under_way if self.life is not None else []
        return max(0, sum(not each.result.done() for each in under_way) - self._parked)

    # --- what the world is asked afterwards

    @property
    def database(self) -> Database:
        assert self.life is not None
        return self.life.database

    def runs(self) -> list[RunRecord]:
        """All of them, the first one first."""
        found = RunStore(self.database).list_runs(limit=5_000)
        return sorted(found, key=lambda run: (run.started_at, run.id))

    def runs_with(self, *statuses: RunStatus) -> list[RunRecord]:
        return [run for run in self.runs() if run.status in statuses]

    def works(self, *states: WorkState) -> list[Work]:
        with self.database.read() as connection:
            return WorkStore(connection, DEFAULT_ORG).list_work(WorkKind.RUN, states or tuple(WorkState))

    def findings(self) -> list[Finding]:
        with self.database.read() as connection:
            return FindingStore(connection, DEFAULT_ORG).list_findings()

    def faults(self) -> dict[tuple[str, str, str], Finding]:
        """What is held of the things around, by what it is. No two are about the same."""
        found = [each for each in self.findings() if each.kind not in PATROLS_OWN]
        by_key = {(each.kind, each.resource_id, each.subject): each for each in found}
        assert len(by_key) == len(found)
        return by_key

    def job(self, name: JobName = JobName.PATROL) -> JobState:
        assert self.life is not None
        return self.life.timetable.states[name]

    def check_nothing_is_lost(self) -> None:
        """Every run that was promised has its record or waits, none goes on, and no fault is taken for mended."""
        recorded = {run.id: run for run in self.runs()}
        waiting = {work.run_id for work in self.works(WorkState.WAITING)}
        owed = {work.run_id for work in self.works() if work.run_id and work.state is not WorkState.WAITING}
        assert {*self.promised, *owed} <= {*recorded, *waiting}
        assert self.works(WorkState.RUNNING) == []
        assert all(run.completed_at is not None and run.status is not RunStatus.RUNNING for run in recorded.values())
        assert all(run.error_summary for run in recorded.values() if run.status not in RESULTS)
        assert {each.state for each in self.faults().values()} <= {FindingState.OPEN}
        with self.database.read() as connection:
            store = FindingStore(connection, DEFAULT_ORG)
            changes = [each.reason for one in self.faults().values() for each in store.transitions(one.id)]
        assert not {TransitionReason.RESOLVED, TransitionReason.REGRESSED} & set(changes)

    # --- the disk

    def opened(self) -> Database:
        database = open_database(f"sqlite:///{self.path}", busy_timeout_seconds=self.waits_seconds)
        event.listen(database.engine, "connect", lambda made, _: made.execute("PRAGMA synchronous = OFF"))
        event.listen(database.engine, "commit", self._written)
        database.engine.dispose()  # those that were opened before know nothing of it
        return database

    def _written(self, connection: Connection) -> None:
        if connection.get_execution_options().get(READS):
            return
        self.writes += 1
        if self.is_full(self.writes):
            cause = sqlite3.OperationalError("database or disk is full")
            cause.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise OperationalError("COMMIT", {}, cause)

    # --- the life of one process

    @asynccontextmanager
    async def daemon(self, *, jobs: Iterable[JobName] = (JobName.PATROL,)) -> AsyncIterator["Life"]:
        """A daemon from its start to its end. `jobs`: those of the standing jobs that are followed."""
        life = Life(self, frozenset(jobs), self.opened())
        self.life = life
        try:
            async with life.goes_on():
                yield life
        finally:
            life.database.close()

    @asynccontextmanager
    async def afterwards(self) -> AsyncIterator[None]:
        """The database, once no daemon works on it."""
        self.life = Life(self, frozenset(), self.opened())
        try:
            await self.life.timetable.plan()
            yield
        finally:
            self.life.database.close()


class Life(NoObserver):
    """The parts of a daemon, as `patrol.daemon.life` puts them together. Its jobs are woken here, by this clock."""

    def __init__(self, world: World, jobs: frozenset[JobName], database: Database) -> None:
        self.world = world
        self.database = database
        self._followed = jobs
        self.executor = Executor(
            self,
            database=database,
            org_id=DEFAULT_ORG,
            owner="this process",
            clock=world.clock,
            polled_every=MINUTE * 10,
            retry=RETRY,
        )
        self.timetable = Timetable(
            self._jobs(), database=database, org_id=DEFAULT_ORG, clock=world.clock, seed="here", told=self._said
        )

    def _jobs(self) -> list[Job]:
        upkeep = Upkeep(
            database=self.database,
            org_id=DEFAULT_ORG,
            settings=self.settings,
            ids=self.ids,
            is_gone=lambda owner: owner == GONE,
            still_alive=self.executor.renew_all,
            observer=self,
            wake=self.executor.nudge,
        )
        return [job for job in upkeep.jobs(self.world.zone) if job.name in self._followed]

    def _said(self, job: str, text: str, *, is_harmless: bool = False) -> None:
        self.world.told.append(f"{job}: {text}")

    @asynccontextmanager
    async def goes_on(self) -> AsyncIterator[None]:
        recover(self.database, DEFAULT_ORG, self.world.clock(), lambda owner: owner == GONE, self)
        await self.timetable.plan()
        tasks = [asyncio.create_task(self._follow(name)) for name in sorted(self._followed)]
        working = asyncio.create_task(self.executor.work())
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await self.timetable.stop(5)
            await self.executor.stop(finish_seconds=45, cancel_seconds=15, hurry=asyncio.Event())
            await working

    async def _follow(self, name: JobName) -> None:
        await asyncio.sleep(self.settings.patrol.startup_delay.total_seconds())
        while True:
            while (left := self._due_in(name)) > 0:  # noqa: ASYNC110 - it may leap
                await asyncio.sleep(min(left, LOOKED_AFTER))
            if await self.timetable.begin(name) is None:
                await asyncio.sleep(RETRY.total_seconds())

    def _due_in(self, name: JobName) -> float:
        at = self.timetable.next_at(name)
        assert at is not None
        return (at - self.world.clock()).total_seconds()

    async def reload(self, settings: Settings) -> None:
        """Other settings, from the next run on."""
        self.world.settings = settings
        await self.timetable.reload(self._jobs())

    def asks(self, trigger: Trigger) -> Offered:
        """Somebody or something asks for a run."""
        [found] = self.database.transact(lambda connection: self.offer(connection, trigger))
        self.executor.nudge()
        return found

    def offer(self, connection: Connection, *triggers: Trigger) -> list[Offered]:
        found = offer_runs(connection, DEFAULT_ORG, triggers, self.world.clock(), self.triggers, self.ids)
        self.world.decisions.extend(each.decision for each in found)
        self.world.promised.extend(each.work.run_id for each in found if not isinstance(each.decision, Rejected))
        return found

    # --- what runs need of it

    @property
    def settings(self) -> Settings:
        return self.world.settings

    @property
    def triggers(self) -> TriggersSection:
        return self.world.settings.triggers

    @property
    def observer(self) -> "Life":
        return self

    def ids(self) -> str:
        return self.world.ids()

    def pulse(self) -> Pulse:
        return Pulse(longest_silence(self.settings))

    def patrol(self, run_id: str, cancel: Cancel, pulse: Pulse) -> Patrol:
        return Patrol(
            database=self.database,
            settings=self.settings,
            sources=[BoundedSource(source=place, timeout_seconds=60) for place in self.world.places],
            clock=self.world.clock,
            ids=self.ids,
            progress=pulse.progress,
            analysts=self.world.analysts,
            cancel=cancel,
            beat=pulse.beat,
            observer=self,
        )

    def run_ended(self, run: RunRecord, report: object) -> None:
        self.world.ended.append(run)
