"""Days and nights of a daemon, by a clock that is set: what ran, what was missed and why; nothing is lost."""

import asyncio
import itertools
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from findings.kinds import Kind
from findings.model import FindingState
from findings.store import FindingStore
from patrol.agent.failure import Cause, Failure, ModelError
from patrol.agent.model import Provider
from patrol.daemon.executor import Executor
from patrol.database import Database, open_database
from patrol.run.lease import LEASE
from patrol.run.model_access import ModelAccess
from patrol.run.model_work.store import ModelWorkStore
from patrol.run.record_model import ModelState, RunRecord, RunStatus
from patrol.run.store import RunStore
from patrol.schedule.jobs import JobName
from patrol.schedule.pauses import pause, resume
from patrol.schedule.timetable import Timetable
from patrol.schedule.upkeep import Upkeep, recover
from patrol.settings.model import ModelSection, Settings
from patrol.work.model import WorkState
from patrol.work.store import WorkStore
from tests.agent.scripted import ScriptedProvider, says
from tests.daemon.builders import ORG, ExecutorHouse
from tests.daemon.test_executor import until
from tests.run.builders import HOST
from tests.triggers.builders import alert

START = datetime(2026, 3, 1, 0, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOURLY = Settings.model_validate({"patrol": {"interval": "1h"}, "sampling": {"seconds": 0}})
SUCCESSES = {RunStatus.HEALTHY, RunStatus.ISSUES_FOUND, RunStatus.CRITICAL}


class Daily:
    """A daemon's schedule and executor, on a clock that the test sets."""

    def __init__(self, database: Database, settings: Settings = HOURLY, now: datetime = START, zone: tzinfo = UTC):
        self.database = database
        self.now = now
        self.zone = zone
        self.told: list[str] = []
        self.house = ExecutorHouse(database)
        self.house.clock = lambda: self.now
        self.house.settings = settings

    @asynccontextmanager
    async def alive(self) -> AsyncIterator["Daily"]:
        """The life of one process, which recovers what the one before it left."""
        upkeep = Upkeep(
            database=self.database,
            org_id=ORG,
            settings=self.house.settings,
            ids=self.house.ids,
            is_gone=lambda owner: owner == "gone",
        )
        recover(self.database, ORG, self.now, upkeep.is_gone)
        jobs = [job for job in upkeep.jobs(self.zone) if job.name is JobName.PATROL]
        self.timetable = Timetable(
            jobs,
            database=self.database,
            org_id=ORG,
            clock=lambda: self.now,
            seed="here",
            told=lambda job, text: self.told.append(f"{job}: {text}"),
        )
        await self.timetable.plan()
        self.executor: Executor = self.house.executor()
        working = asyncio.create_task(self.executor.work())
        try:
            yield self
        finally:
            await self.executor.stop(finish_seconds=20, cancel_seconds=20, hurry=asyncio.Event())
            await working

    async def passes(self, time: timedelta) -> None:
        """Time goes by, and what is due in it is begun when it is."""
        end = self.now + time
        while (at := self.timetable.next_at(JobName.PATROL)) is not None and at <= end:
            self.now = max(at, self.now)
            await self.wakes()
        self.now = end

    async def wakes(self) -> None:
        """What is due now is begun, and carried out."""
        await self.timetable.begin(JobName.PATROL)
        self.executor.nudge()
        await until(lambda: not self.house.works(WorkState.WAITING, WorkState.RUNNING))

    def runs(self) -> list[RunRecord]:
        """All of them, the first one first."""
        return RunStore(self.database).list_runs(limit=1000)[::-1]


@pytest.fixture
def database(tmp_path: Path):
    database = open_database(f"sqlite:///{tmp_path / 'patrol.db'}", busy_timeout_seconds=0.1)
    yield database
    database.close()


def test_a_day_has_a_run_each_hour_over_a_restart_and_nothing_is_missed(database):
    async def day() -> None:
        daily = Daily(database)
        async with daily.alive():
            await daily.passes(timedelta(hours=9, minutes=20))
        async with daily.alive():
            await daily.passes(timedelta(hours=14, minutes=50))
        starts = [run.started_at for run in daily.runs()]
        assert len(starts) == 24
        assert all(timedelta(minutes=58) < later - earlier < timedelta(minutes=62) for earlier, later in
                   itertools.pairwise(starts))  # fmt: skip
        assert {run.status for run in daily.runs()} <= SUCCESSES

    asyncio.run(day())


def test_a_machine_that_slept_all_night_makes_one_run_and_says_what_it_makes_up_for(database):
    async def night() -> None:
        daily = Daily(database)
        async with daily.alive():
            await daily.passes(HOUR * 3.5)
            daily.now += HOUR * 8
            await daily.wakes()
            await daily.passes(HOUR * 2)
        assert len(daily.runs()) == 3 + 1 + 2
        payloads = [work.payload for work in daily.house.works(WorkState.DONE)]
        assert ['"missed":7' in payload for payload in payloads].count(True) == 1
        assert any("went by" in text for text in daily.told)

    asyncio.run(night())


@pytest.mark.parametrize(
    ("before", "hours"),
    [(datetime(2026, 3, 27, 12, tzinfo=UTC), "clocks go forward"), (datetime(2026, 10, 23, 12, tzinfo=UTC), "back")],
)
def test_each_day_has_its_run_also_where_clocks_change(database, before, hours):
    berlin = ZoneInfo("Europe/Berlin")
    settings = Settings.model_validate(
        {"patrol": {"cron": "30 2 * * *", "time_zone": "Europe/Berlin"}, "sampling": {"seconds": 0}}
    )

    async def days() -> None:
        daily = Daily(database, settings, before, berlin)
        async with daily.alive():
            await daily.passes(timedelta(days=4))
        local = [run.started_at.astimezone(berlin) for run in daily.runs()]
        assert len({each.date() for each in local}) == len(local) == 4
        assert sum((each.hour, each.minute) != (2, 30) for each in local) <= 1

    asyncio.run(days())


def test_a_process_that_died_in_mid_run_leaves_a_crashed_run_and_the_next_one_looks_without_a_model(database):
    async def night() -> None:
        daily = Daily(database)
        dying = RunRecord(
            org_id=ORG, id="dying", trigger_reason="scheduled", started_at=daily.now, lease_owner="gone",
            lease_expires_at=daily.now + LEASE,
        )  # fmt: skip
        RunStore(database).begin(dying)
        settings = Settings.model_validate({"model": {"name": "ollama:test"}, "sampling": {"seconds": 0}})
        daily.house.settings = settings
        with_provider(daily, settings, [ScriptedProvider(says("all is well"))])
        daily.now += timedelta(seconds=5)
        async with daily.alive():
            assert RunStore(database).get("dying").status is RunStatus.CRASHED
            await daily.passes(HOUR * 2.5)
        first, second = daily.runs()[1:]
        assert first.model_state is ModelState.SKIPPED_AFTER_CRASH
        assert second.model_state is ModelState.USED

    asyncio.run(night())


def with_provider(daily: Daily, settings: Settings, providers: list[Provider | ModelError]) -> None:
    """Each run's model is the next of these; the last one stays. One that is an error cannot be opened."""

    def opener(_model: ModelSection, _remaining: object) -> Provider:
        found = providers.pop(0) if len(providers) > 1 else providers[0]
        if isinstance(found, ModelError):
            raise found
        return found

    daily.house.analysts = ModelAccess(
        settings=settings, store=ModelWorkStore(daily.database), clock=lambda: daily.now, opener=opener
    )


def test_a_provider_that_is_away_all_night_costs_no_run_and_is_told_and_is_over_in_the_morning(database):
    settings = Settings.model_validate({"model": {"name": "ollama:test"}, "sampling": {"seconds": 0}})
    away = ModelError(Failure(cause=Cause.PROVIDER_CONNECTION, summary="nobody answers", temporary=True))

    async def night() -> None:
        daily = Daily(database, settings)
        with_provider(daily, settings, [away])
        async with daily.alive():
            await daily.passes(HOUR * 10.5)
            dark = daily.runs()
            assert {run.model_state for run in dark} == {ModelState.FAILED}
            assert unavailable(database) is FindingState.OPEN
            with_provider(daily, settings, [ScriptedProvider(says("all is well"))])
            await daily.passes(HOUR * 3)
        assert len(dark) == 10
        assert {run.complete for run in daily.runs()} == {True}
        assert daily.runs()[-1].model_state is ModelState.USED
        assert unavailable(database) is FindingState.RESOLVED

    asyncio.run(night())


def unavailable(database: Database) -> FindingState:
    with database.read() as connection:
        found = FindingStore(connection, ORG).list_findings()
    return next(each.state for each in found if each.kind == Kind.MODEL_UNAVAILABLE)


def test_a_database_that_is_locked_when_a_run_is_due_delays_it_and_loses_it_not(database, tmp_path):
    async def morning() -> None:
        daily = Daily(database)
        async with daily.alive():
            daily.now = daily.timetable.next_at(JobName.PATROL)
            with closing(sqlite3.connect(tmp_path / "patrol.db")) as other:
                other.execute("BEGIN IMMEDIATE")
                assert await daily.timetable.begin(JobName.PATROL) is None
                other.rollback()
            daily.now += timedelta(minutes=1)
            await daily.wakes()
        [run] = daily.runs()
        assert run.status in SUCCESSES
        assert any("tried again" in text for text in daily.told)

    asyncio.run(morning())


def test_a_storm_of_alerts_is_run_through_and_each_of_them_is_accounted_for(database):
    async def storm() -> None:
        daily = Daily(database)
        async with daily.alive():
            for number in range(500):
                about = HOST if number % 3 else f"vm:lab:{number % 40}"
                daily.house.offer(alert(about, f"type{number % 7}", at=daily.now))
            for _ in range(60):
                daily.now += timedelta(minutes=1)
                daily.executor.nudge()
                await until(lambda: not daily.house.works(WorkState.RUNNING))
                await asyncio.sleep(0.02)
                if not daily.house.works(WorkState.WAITING, WorkState.RUNNING):
                    break
        with database.read() as connection:
            counts = WorkStore(connection, ORG).counts()
        assert sum(counts.values()) == 500
        assert {state for state, _ in counts} <= {"done", "failed", "dropped"}
        ran = daily.house.works(WorkState.DONE, WorkState.FAILED)
        assert 1 <= len(ran) <= 12
        assert {work.run_id for work in ran} <= {run.id for run in daily.runs()}

    asyncio.run(storm())


def test_a_paused_day_records_what_it_skipped_and_goes_on_when_it_is_over(database):
    async def day() -> None:
        daily = Daily(database)
        async with daily.alive():
            await daily.passes(HOUR * 2.5)
            pause(database, ORG, now=daily.now, until=None, reason="move", author="ops", ids=daily.house.ids)
            await daily.passes(HOUR * 3)
            resume(database, ORG, now=daily.now, author="ops")
            await daily.passes(HOUR * 2)
        recover(database, ORG, daily.now, lambda _owner: False)
        ran = [run for run in daily.runs() if run.status in SUCCESSES]
        skipped = [run for run in daily.runs() if run.status is RunStatus.SKIPPED]
        assert len(ran) == 2 + 2
        assert skipped
        assert all("paused" in run.error_summary for run in skipped)

    asyncio.run(day())
