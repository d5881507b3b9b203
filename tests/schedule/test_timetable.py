"""The timetable: jobs are begun late rather than never, once rather than often, and never cancelled by its end."""

import asyncio
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection

from patrol.database import Database, open_database
from patrol.schedule.jobs import Job, JobName, schedules
from patrol.schedule.model import Occurrence
from patrol.schedule.times import At, Every
from patrol.schedule.timetable import Timetable
from patrol.settings.model import PatrolSection, SamplingSection, Settings
from patrol.work.queue import Claim, RunQueue
from tests.triggers.builders import OPEN, scheduled

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)


class House:
    """A database, a clock set by hand, and what was done and told."""

    def __init__(self, database: Database, *, now: datetime = NOW) -> None:
        self.database = database
        self.now = now
        self.done: list[Occurrence] = []
        self.told: list[str] = []
        self.harmless: list[str] = []

    def timetable(self, *jobs: Job, clock: Callable[[], datetime] | None = None, looks: float = 30) -> Timetable:
        return Timetable(
            jobs or (self.job(),),
            database=self.database,
            org_id="default",
            clock=clock or (lambda: self.now),
            seed="here",
            told=self.hear,
            looked_after_seconds=looks,
        )

    def hear(self, job: str, text: str, *, is_harmless: bool = False) -> None:
        self.told.append(f"{job}: {text}")
        self.harmless += [job] if is_harmless else []

    def job(self, name: JobName = JobName.PATROL, every: timedelta = HOUR, **more: object) -> Job:
        return Job(name=name, schedule=Every(every), **{"duty": self.done.append, **more})


@pytest.fixture
def house():
    database = open_database("sqlite://")
    yield House(database)
    database.close()


def test_a_job_is_begun_when_it_is_due_and_not_before(house):
    async def life() -> None:
        table = house.timetable()
        await table.plan()
        assert await table.begin(JobName.PATROL) is None
        house.now += HOUR
        assert await table.begin(JobName.PATROL) is not None
        assert await table.begin(JobName.PATROL) is None

    asyncio.run(life())
    assert [each.due_at for each in house.done] == [NOW + HOUR]


def test_after_a_long_sleep_a_job_is_begun_once_and_says_what_it_makes_up_for(house):
    async def life() -> None:
        table = house.timetable()
        await table.plan()
        house.now += timedelta(hours=10, minutes=5)
        await table.begin(JobName.PATROL)
        assert await table.begin(JobName.PATROL) is None
        assert table.next_at(JobName.PATROL) == NOW + 11 * HOUR

    asyncio.run(life())
    assert [each.missed for each in house.done] == [9]
    assert house.told == ["patrol: missed 9 times: Patrol did not run, or could not begin it; this one makes up for it"]


@pytest.mark.parametrize("name", JobName)
def test_only_jobs_that_a_restart_makes_late_without_harm_are_told_as_such(house, name):
    async def life() -> None:
        table = house.timetable(house.job(name))
        await table.plan()
        house.now += 2 * HOUR
        await table.begin(name)

    asyncio.run(life())
    assert house.told == [f"{name}: missed once: Patrol did not run, or could not begin it; this one makes up for it"]
    assert bool(house.harmless) is (name in {JobName.SAMPLER, JobName.ALERTS, JobName.RECOVERY})


def test_a_restart_each_day_does_not_keep_a_daily_job_from_running(house):
    async def life() -> None:
        for hours in (0, 23, 25):
            house.now = NOW + hours * HOUR
            table = house.timetable(house.job(every=24 * HOUR))
            await table.plan()
            await table.begin(JobName.PATROL)

    asyncio.run(life())
    assert [each.late for each in house.done] == [HOUR]


def test_a_reload_keeps_the_phase_and_takes_other_jobs(house):
    async def life() -> None:
        table = house.timetable(house.job(), house.job(JobName.SAMPLER, every=timedelta(minutes=1)))
        await table.plan()
        house.now += timedelta(minutes=20)
        await table.reload([house.job(), house.job(JobName.RETENTION, every=2 * HOUR)])
        assert table.next_at(JobName.PATROL) == NOW + HOUR
        assert table.next_at(JobName.SAMPLER) is None
        assert table.next_at(JobName.RETENTION) == house.now + 2 * HOUR
        await table.reload([house.job(every=24 * HOUR)])
        assert table.next_at(JobName.PATROL) == NOW + 24 * HOUR

    asyncio.run(life())


def test_a_schedule_that_changes_while_its_job_is_under_way_is_followed_afterwards(house):
    begun, goes_on = threading.Event(), threading.Event()

    def duty(_: Occurrence) -> None:
        begun.set()
        goes_on.wait(10)

    async def life() -> None:
        table = house.timetable(house.job(every=24 * HOUR, duty=duty), house.job(JobName.SAMPLER, duty=duty))
        await table.plan()
        house.now += 24 * HOUR
        under_way = [asyncio.create_task(table.begin(name)) for name in (JobName.PATROL, JobName.SAMPLER)]
        await until(begun.is_set)
        await table.reload([house.job()])
        goes_on.set()
        await asyncio.gather(*under_way)
        assert table.next_at(JobName.PATROL) == NOW + 25 * HOUR
        assert set(table.states) == {JobName.PATROL}

    asyncio.run(life())


def test_a_job_that_fails_is_counted_told_and_begun_again_at_its_next_time(house):
    outcomes = iter([ValueError("no"), None])

    def duty(occurrence: Occurrence) -> None:
        outcome = next(outcomes)
        if outcome is not None:
            raise outcome
        house.done.append(occurrence)

    async def life() -> None:
        table = house.timetable(house.job(duty=duty))
        await table.plan()
        for errors in (["ValueError: no"], [""]):
            house.now += HOUR
            await table.begin(JobName.PATROL)
            assert [state.last_error for state in table.states.values()] == errors
        assert table.states[JobName.PATROL].failures == 1

    asyncio.run(life())
    assert house.told == ["patrol: failed: ValueError: no"]
    assert len(house.done) == 1


def test_a_run_is_enqueued_in_the_transaction_that_takes_its_time(house):
    fails = [True]

    def enqueue(connection: Connection, occurrence: Occurrence) -> None:
        numbers = iter("ab")
        RunQueue(connection, "default").offer(scheduled(occurrence.missed), occurrence.at, OPEN, lambda: next(numbers))
        if fails.pop():
            raise OSError("the machine stopped here")

    async def life() -> None:
        table = house.timetable(house.job(enqueue=enqueue, duty=None))
        await table.plan()
        house.now += HOUR
        assert await table.begin(JobName.PATROL) is None  # nothing is enqueued, and the time is not taken
        fails.append(False)
        assert await table.begin(JobName.PATROL) is not None

    asyncio.run(life())
    claimed = house.database.transact(lambda connection: RunQueue(connection, "default").claim("me", house.now, OPEN))
    assert isinstance(claimed, Claim)
    assert house.told == [
        "patrol: could not be begun, and is tried again in a minute: OSError: the machine stopped here"
    ]


def real_clock() -> datetime:
    return datetime.now(UTC)


async def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


def test_what_is_overdue_at_the_start_is_begun_once_after_the_delay(house):
    async def life() -> None:
        house.now = real_clock() - timedelta(hours=3, minutes=30)
        await house.timetable().plan()
        table = house.timetable(clock=real_clock)
        await table.start(delay=SECOND / 10)
        assert house.done == []
        await until(lambda: house.done)
        assert table.next_at(JobName.PATROL) > real_clock()
        assert await table.stop(5) == []
        assert await table.stop(5) == []

    asyncio.run(life())
    assert [each.missed for each in house.done] == [2]


def test_a_job_that_is_late_by_far_is_begun_all_the_same_and_again_at_each_time(house):
    async def life() -> None:
        table = house.timetable(house.job(every=SECOND), clock=real_clock)
        await table.start(delay=timedelta())
        time.sleep(2.5)  # noqa: ASYNC251 - the loop stands still, as on a machine that sleeps
        await until(lambda: len(house.done) >= 2)
        await table.stop(5)

    asyncio.run(life())
    assert house.done[0].missed in {1, 2}


def test_the_end_waits_for_what_is_under_way_and_cancels_nothing(house):
    begun, goes_on = threading.Event(), threading.Event()
    ends: list[str] = []

    def duty(_: Occurrence) -> None:
        begun.set()
        goes_on.wait(10)
        ends.append("done")

    async def life() -> None:
        table = house.timetable(house.job(every=SECOND / 5, duty=duty), clock=real_clock)
        await table.start(delay=timedelta())
        await until(begun.is_set)
        assert await table.stop(0.05) == [JobName.PATROL]
        goes_on.set()
        assert await table.stop(5) == []

    asyncio.run(life())
    assert ends == ["done"]


def test_a_clock_that_was_set_back_leaves_no_job_waiting_for_the_old_time(house):
    async def life() -> None:
        house.now = real_clock() + 300 * HOUR
        table = house.timetable(looks=0.02)
        await table.start(delay=timedelta())
        house.now = real_clock()
        await until(lambda: table.next_at(JobName.PATROL) <= house.now + HOUR)
        await table.stop(5)

    asyncio.run(life())


def test_the_settings_say_when_jobs_are_due():
    found = schedules(Settings(), UTC)
    assert {str(name): str(schedule) for name, schedule in found.items()} == {
        "patrol": "every 1h",
        "sampler": "every 1m",
        "reminders": "every 1h",
        "retention": "every 1h",
        "alerts": "every 1m",
        "recovery": "every 1m",
    }
    assert found[JobName.PATROL].jitter == timedelta(minutes=1)
    other = Settings(patrol=PatrolSection(cron="0 6 * * *"), sampling=SamplingSection(seconds=0))
    assert schedules(other, UTC)[JobName.PATROL] == At("0 6 * * *", UTC)
    assert JobName.SAMPLER not in schedules(other, UTC)
