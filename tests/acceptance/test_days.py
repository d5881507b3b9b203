"""Whole days of the daemon: what was recorded, what was missed and why; nothing accepted lost, no fault forgotten."""

import asyncio
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Connection
from structlog.testing import capture_logs

from findings.kinds import Kind
from findings.model import DEFAULT_ORG, FindingState, ResolveReason, Severity
from patrol.agent.failure import Cause, Failure, ModelError
from patrol.agent.model import Provider
from patrol.alerts.model import AlertSystem, Naming, ReportedAlert
from patrol.alerts.receiving import Received, receive
from patrol.alerts.store import AlertStore
from patrol.estate.memory.store import ResourceMemory
from patrol.estate.model import Resource
from patrol.overrides.store import OverrideStore
from patrol.run.lease import LEASE
from patrol.run.model_access import ModelAccess
from patrol.run.model_work.store import ModelWorkStore
from patrol.run.record_model import ModelState, RunRecord, RunStatus, RunType
from patrol.run.store import RunStore
from patrol.schedule.jobs import JobName
from patrol.schedule.pauses import pause, resume
from patrol.schedule.upkeep import full_round
from patrol.settings.load import LoadedSettings
from patrol.settings.model import ModelSection, Settings
from patrol.triggers.model import Trigger, TriggerReason
from patrol.triggers.queue import Accepted, Merged, Rejected, Rejection
from patrol.work.model import WorkState
from patrol.work.queue import Claim, RunQueue
from tests.acceptance.days import GONE, HOUR, MINUTE, RESULTS, START, Life, Place, World, thing
from tests.agent.scripted import ScriptedProvider, says
from tests.triggers.builders import OPEN, manual

HOURLY = {"patrol": {"interval": "1h"}, "sampling": {"seconds": 0}}
STANDING = (JobName.PATROL, JobName.REMINDERS, JobName.RETENTION)
FAULTS = {
    (Kind.HIGH_DISK, "agent:cellar:nas", "/"),
    (Kind.UNIT_FAILED, "agent:cellar:nas", "backup.service"),
    (Kind.HIGH_DISK, "agent:attic:cam", "/"),
}


def cellar(_now: datetime) -> list[Resource]:
    return [thing("cellar", "nas", 92, ["backup.service"]), thing("cellar", "web")]


def attic(_now: datetime) -> list[Resource]:
    return [thing("attic", "cam", 97)]


MakeWorld = Callable[..., World]


@pytest.fixture
def lines() -> Iterator[list[MutableMapping[str, Any]]]:
    """What is logged."""
    with capture_logs() as found:
        yield found


@pytest.fixture
def world_of(tmp_path: Path, lines: list[MutableMapping[str, Any]]) -> MakeWorld:
    def make(sections: dict[str, object] | None = None, **more: Any) -> World:
        settings = Settings.model_validate({**HOURLY, **(sections or {})})
        world = World(tmp_path / "patrol.db", settings, **more)
        world.places = [Place("cellar", cellar, world), Place("attic", attic, world)]
        return world

    return make


def every_fault_is_known(world: World) -> None:
    assert set(world.faults()) == FAULTS
    world.check_nothing_is_lost()


# --- ordinary days


def test_a_day_has_a_run_each_hour_and_each_looks_at_everything(world_of: MakeWorld) -> None:
    async def day(world: World) -> None:
        async with world.daemon(jobs=STANDING):
            await world.until(hour=24.1)
            starts = [run.started_at - world.start for run in world.runs()]
            assert [start // HOUR for start in starts] == list(range(1, 25))
            assert all(start % HOUR <= MINUTE for start in starts)
            assert {run.status for run in world.runs()} == {RunStatus.CRITICAL}
            assert {(run.resources_checked, run.complete) for run in world.runs()} == {(3, True)}
            assert [(world.job(name).begun, world.job(name).missed) for name in STANDING] == [(24, 0), (25, 0), (24, 0)]
            assert {each.times_raised for each in world.faults().values()} == {24}
            every_fault_is_known(world)

    world = world_of()
    world.lives(day)
    assert world.told == []


BERLIN = ZoneInfo("Europe/Berlin")
FORWARD, BACK = datetime(2026, 3, 28, 22, tzinfo=UTC), datetime(2026, 10, 24, 21, tzinfo=UTC)


@pytest.mark.parametrize(
    ("start", "cron", "times"),
    [
        (FORWARD, "30 2 * * *", ["29 03:00 CEST"]),
        (BACK, "30 2 * * *", ["25 02:30 CEST"]),
        (FORWARD, "0 1-4 29 3 *", ["29 01:00 CET", "29 03:00 CEST", "29 04:00 CEST"]),
        (BACK, "0 1-3 25 10 *", ["25 01:00 CEST", "25 02:00 CEST", "25 03:00 CET"]),
        (FORWARD, "30 0-4 29 * *", ["29 00:30 CET", "29 01:30 CET", "29 03:00 CEST", "29 03:30 CEST", "29 04:30 CEST"]),
        (FORWARD, "0 */2 * * *", ["29 00:00 CET", "29 04:00 CEST", "29 06:00 CEST"]),
        (BACK, "30 * 25 * *", ["25 00:30 CEST", "25 01:30 CEST", "25 02:30 CEST", "25 02:30 CET", "25 03:30 CET"]),
    ],
)
def test_where_clocks_change_each_time_of_the_clock_has_one_run(
    world_of: MakeWorld, start: datetime, cron: str, times: list[str]
) -> None:
    async def night(world: World) -> None:
        async with world.daemon():
            await world.until(hour=6.2)
            assert [f"{run.started_at.astimezone(BERLIN):%d %H:%M %Z}" for run in world.runs()] == times
            assert (world.job().begun, world.job().missed) == (len(times), 0)
            every_fault_is_known(world)

    sections = {"patrol": {"cron": cron, "time_zone": "Europe/Berlin"}}
    world_of(sections, zone=BERLIN, start=start).lives(night)


def model_of(world: World, found: Provider | ModelError) -> None:
    """From now on every run meets this provider."""

    def opener(_model: ModelSection, _remaining: object) -> Provider:
        if isinstance(found, ModelError):
            raise found
        return found

    world.analysts = ModelAccess(
        settings=world.settings, store=ModelWorkStore(world.database), clock=world.clock, opener=opener
    )


# --- ends and beginnings


def dies_in_mid_run(life: Life, world: World) -> str:
    """What a process leaves behind that was killed while it carried a run out; returns which run."""

    def work(connection: Connection) -> Claim:
        found = RunQueue(connection, DEFAULT_ORG).claim(GONE, world.clock(), OPEN)
        assert isinstance(found, Claim)
        return found

    run_id = life.database.transact(work).work.run_id
    RunStore(life.database).begin(
        RunRecord(
            org_id=DEFAULT_ORG,
            id=run_id,
            trigger_reason="scheduled",
            started_at=world.clock(),
            lease_owner=GONE,
            lease_expires_at=world.clock() + LEASE,
        )
    )
    return run_id


def test_a_process_that_ends_in_mid_run_leaves_a_crashed_run_and_what_waited_is_carried_out(
    world_of: MakeWorld,
) -> None:
    async def day(world: World) -> None:
        async with world.daemon():
            await world.until(hour=2.5)
        async with world.afterwards():
            life = world.life
            assert life is not None
            with life.database.write() as connection:
                life.offer(connection, full_round(TriggerReason.SCHEDULED, world.clock()))
            crashed = dies_in_mid_run(life, world)
            with life.database.write() as connection:
                [asked] = life.offer(connection, manual("agent:attic:cam"))
        async with world.daemon():
            model_of(world, ScriptedProvider(says("all is well")))
            await world.until(hour=6.5)
            by_id = {run.id: run for run in world.runs()}
            assert by_id[crashed].status is RunStatus.CRASHED
            assert by_id[asked.work.run_id].status in RESULTS
            assert by_id[asked.work.run_id].trigger_reason == TriggerReason.MANUAL
            full = [run for run in world.runs_with(RunStatus.CRITICAL) if run.type is RunType.FULL][-4:]
            assert [run.started_at.hour for run in full] == [3, 4, 5, 6]
            assert [run.model_state for run in full] == [ModelState.SKIPPED_AFTER_CRASH, *[ModelState.USED] * 3]
            assert (world.job().begun, world.job().missed) == (6, 0)
            every_fault_is_known(world)

    world_of({"model": {"name": "ollama:test"}}).lives(day)


def test_a_restart_waits_for_the_run_under_way_and_the_schedule_keeps_its_phase(world_of: MakeWorld) -> None:
    async def day(world: World) -> None:
        world.places[0].takes = lambda _now: timedelta(seconds=40)
        async with world.daemon():
            await world.until(hour=3.002)
            while not world.works(WorkState.RUNNING):  # noqa: ASYNC110 - a thread begins it
                await asyncio.sleep(1)
        async with world.daemon():
            await world.until(hour=6.5)
            assert {run.status for run in world.runs()} == {RunStatus.CRITICAL}
            assert [run.started_at.hour for run in world.runs()] == [1, 2, 3, 4, 5, 6]
            every_fault_is_known(world)

    world_of().lives(day)


def test_a_daemon_that_was_down_for_hours_makes_one_run_for_all_that_it_missed(world_of: MakeWorld) -> None:
    async def day(world: World) -> None:
        async with world.daemon():
            await world.until(hour=2.5)
        await world.until(hour=11.5)
        async with world.daemon():
            await world.until(hour=13.5)
            assert [run.started_at.hour for run in world.runs()] == [1, 2, 11, 12, 13]
            assert (world.job().begun, world.job().missed) == (5, 8)
            every_fault_is_known(world)

    world_of().lives(day)


def test_a_pause_holds_over_a_restart_and_each_run_that_it_kept_back_is_on_record(world_of: MakeWorld) -> None:
    async def day(world: World) -> None:
        async with world.daemon():
            await world.until(hour=2.5)
            paused = {"until": None, "reason": "the rack moves", "author": "ops"}
            pause(world.database, DEFAULT_ORG, now=world.clock(), ids=world.ids, **paused)
            await world.until(hour=5.2)
        async with world.daemon() as life:
            await world.until(hour=6.5)
            asked = life.asks(manual("agent:attic:cam"))
            await world.until(hour=8.5)
            assert {run.id: run.status for run in world.runs()}[asked.work.run_id] is RunStatus.CRITICAL
            resume(world.database, DEFAULT_ORG, now=world.clock(), author="ops")
            await world.until(hour=10.5)
        async with world.daemon():
            skipped = world.runs_with(RunStatus.SKIPPED)
            assert [run.started_at.hour for run in skipped] == [3, 4, 5, 6, 7, 8]
            assert {run.trigger_reason for run in skipped} == {TriggerReason.SCHEDULED}
            assert all("paused" in run.error_summary for run in skipped)
            assert [run.started_at.hour for run in world.runs_with(RunStatus.CRITICAL)] == [1, 2, 6, 9, 10]
            assert (world.job().begun, world.job().missed) == (10, 0)
            every_fault_is_known(world)

    world_of().lives(day)


def test_what_an_operator_stored_holds_after_a_restart(world_of: MakeWorld) -> None:
    def in_force(world: World, loaded: LoadedSettings) -> Settings:
        with world.database.read() as connection:
            return OverrideStore(connection, DEFAULT_ORG).in_force(loaded).settings

    async def day(world: World) -> None:
        loaded = LoadedSettings(settings=world.settings, file=None, database_url="", origins={})
        async with world.daemon() as life:
            await world.until(hour=2.5)
            with world.database.write() as connection:
                stored = OverrideStore(connection, DEFAULT_ORG)
                stored.change({"patrol.interval": "30m"}, now=world.clock(), author="ops", ids=world.ids)
            await life.reload(in_force(world, loaded))
            await world.until(hour=3.1)
        async with world.afterwards():
            world.settings = in_force(world, loaded)
        async with world.daemon():
            await world.until(hour=4.1)
            halves = [(run.started_at - world.start) // (MINUTE * 30) for run in world.runs()]
            assert halves == [2, 4, 6, 7, 8]
            assert world.job().missed == 0
            every_fault_is_known(world)

    world_of().lives(day)


# --- sleep


def test_a_machine_that_slept_makes_one_run_that_says_what_it_makes_up_for(world_of: MakeWorld) -> None:
    async def day(world: World) -> None:
        async with world.daemon(jobs=STANDING):
            await world.until(hour=3.5)
            world.slept = HOUR * 6
            await world.until(hour=12.5)
            assert [run.started_at.hour for run in world.runs()] == [1, 2, 3, 9, 10, 11, 12]
            assert (world.job().begun, world.job().missed) == (7, 5)
            assert sum('"missed":5' in work.payload for work in world.works()) == 1
            every_fault_is_known(world)

    world = world_of()
    world.lives(day)
    assert (
        min(world.told) == "patrol: missed 5 times: Patrol did not run, or could not begin it; this one makes up for it"
    )


def test_a_run_that_slept_with_its_machine_is_alive_afterwards(world_of: MakeWorld) -> None:
    """Its leases ran out meanwhile: neither the recovery nor a run beside it takes it for crashed."""

    async def day(world: World) -> None:
        world.places[0].takes = lambda now: MINUTE * 20 if now.hour == 2 else timedelta()
        async with world.daemon(jobs=(JobName.PATROL, JobName.RECOVERY)) as life:
            await world.until(hour=2.1)
            assert len(world.works(WorkState.RUNNING)) == 1
            world.slept = HOUR * 6
            asked = life.asks(manual("agent:attic:cam"))
            await world.until(hour=10.5)
            assert world.runs_with(RunStatus.CRASHED) == []
            assert {run.id: run.status for run in world.runs()}[asked.work.run_id] is RunStatus.CRITICAL
            assert [run.started_at.hour for run in world.runs()] == [1, 2, 8, 8, 9, 10]
            every_fault_is_known(world)

    world_of().lives(day)


@pytest.mark.parametrize("cron", ["", "0 * * * *"])
@pytest.mark.parametrize("hours", [-26, -3])
def test_a_clock_that_is_set_back_in_mid_run_leaves_no_hour_without_a_run(
    world_of: MakeWorld, hours: int, cron: str
) -> None:
    async def day(world: World) -> None:
        world.places[0].takes = lambda _now: MINUTE * 20 if 7_200 <= world.loop.seconds < 8_000 else timedelta()
        async with world.daemon(jobs=(JobName.PATROL, JobName.RECOVERY)) as life:
            await world.until(hour=2.1)
            [under_way] = world.works(WorkState.RUNNING)
            world.slept = HOUR * hours
            await life.reload(world.settings)  # as the timetable does by itself when it sees that
            asked = life.asks(manual("agent:attic:cam"))
            set_at = world.clock()
            await asyncio.sleep(6 * HOUR.seconds)
            runs = {run.id: run for run in world.runs()}
            assert {runs[each].status for each in (under_way.run_id, asked.work.run_id)} == {RunStatus.CRITICAL}
            assert world.runs_with(RunStatus.CRASHED) == []
            after = [
                each.started_at for each in world.works(WorkState.DONE) if set_at < each.started_at <= world.clock()
            ]
            waits = [later - earlier for earlier, later in pairwise(sorted([set_at, *after, world.clock()]))]
            assert max(waits) <= HOUR + 2 * MINUTE
            every_fault_is_known(world)

    sections = {"patrol": {"cron": cron, "time_zone": "UTC"}} if cron else {}
    world_of(sections).lives(day)


# --- a model that is away


def test_a_provider_that_is_away_for_a_night_costs_no_check_and_is_told_until_the_morning(world_of: MakeWorld) -> None:
    away = ModelError(Failure(cause=Cause.PROVIDER_CONNECTION, summary="nobody answers", temporary=True))

    def unavailable() -> list[FindingState]:
        return [each.state for each in world.findings() if each.kind == Kind.MODEL_UNAVAILABLE]

    async def night(world: World) -> None:
        async with world.daemon():
            model_of(world, ScriptedProvider(says("all is well")))
            await world.until(hour=3.5)
            assert unavailable() == []
            model_of(world, away)
            await world.until(hour=11.5)
            assert unavailable() == [FindingState.OPEN]
            model_of(world, ScriptedProvider(says("all is well")))
            await world.until(hour=14.5)
            assert unavailable() == [FindingState.RESOLVED]
            states = [run.model_state for run in world.runs()]
            assert states == [ModelState.USED] * 3 + [ModelState.FAILED] * 8 + [ModelState.USED] * 3
            assert {(run.status, run.complete) for run in world.runs()} == {(RunStatus.CRITICAL, True)}
            causes = {run.model_cause for run in world.runs() if run.model_state is ModelState.FAILED}
            assert causes <= {Cause.PROVIDER_CONNECTION, Cause.CIRCUIT_OPEN}
            every_fault_is_known(world)

    world = world_of({"model": {"name": "ollama:test"}})
    world.lives(night)


# --- a storm


def test_a_storm_of_alerts_is_kept_whole_and_starts_few_runs_and_the_round_comes_on_time(world_of: MakeWorld) -> None:
    count, hosts = 500, 14

    def many(now: datetime) -> list[Resource]:
        return [*cellar(now), *(thing("cellar", f"host{number}") for number in range(hosts))]

    def alert(number: int) -> ReportedAlert:
        name = f"host{number % hosts}"
        return ReportedAlert(
            system=AlertSystem.ALERTMANAGER,
            key=f"fp{number}",
            is_firing=True,
            type=f"Kind{number // hosts}",
            severity=Severity.CRITICAL if number % 2 else Severity.WARNING,
            level="",
            naming=Naming(names=(name,)),
            resource_name=name,
            message="CPU is high",
            starts_at=None,
        )

    def deliver(life: Life, numbers: range) -> Received:
        def work(connection: Connection) -> Received:
            memory = ResourceMemory(connection, DEFAULT_ORG).load()

            def offer(wanted: Sequence[Trigger]) -> list[str]:
                return [type(each.decision).__name__ for each in life.offer(connection, *wanted)]

            return receive(connection, DEFAULT_ORG, map(alert, numbers), memory, world.clock(), offer)

        received = life.database.transact(work)
        life.executor.nudge()
        return received

    async def day(world: World) -> None:
        world.places[0].shows = many
        async with world.daemon() as life:
            await world.until(hour=1.5)
            for first in range(0, count, 100):
                received = deliver(life, range(first, first + 100))
                assert (received.unplaced, received.left_out) == (0, 0)
                await asyncio.sleep(20)
            again = deliver(life, range(count))
            assert again.triggers == {}
            await world.until(hour=2.5)
            with world.database.read() as connection:
                assert AlertStore(connection, DEFAULT_ORG).count() == count
            became = Counter(type(each) for each in world.decisions)
            assert sum(became.values()) == count
            assert all(became[each] for each in (Accepted, Merged, Rejected))
            assert {each.reason for each in world.decisions if isinstance(each, Rejected)} == {Rejection.QUEUE_FULL}
            by_reason = Counter(run.trigger_reason for run in world.runs() if run.status in RESULTS)
            assert by_reason[TriggerReason.SCHEDULED] == 2
            assert 5 <= by_reason[TriggerReason.ALERT_FIRED] <= 40
            dropped = world.runs_with(RunStatus.DROPPED)
            assert by_reason[TriggerReason.ALERT_FIRED] + len(dropped) == became[Accepted]
            refused = [work for work in world.works(WorkState.DROPPED) if work.reason == Rejection.QUEUE_FULL]
            assert sum(work.times for work in refused) == became[Rejected]
            assert world.works(WorkState.WAITING, WorkState.RUNNING) == []
            every_fault_is_known(world)

    world = world_of()
    world.lives(day)


# --- other settings


def test_settings_that_change_at_noon_hold_from_the_next_run_and_only_a_limit_closes_anything(
    world_of: MakeWorld, tmp_path: Path
) -> None:
    limits = tmp_path / "alerts.json"
    limits.write_text('{"agentDefaults": {"disk": {"trigger": 90, "clear": 85}}}')

    async def day(world: World) -> None:
        async with world.daemon() as life:
            await world.until(hour=4.5)
            assert {each.state for each in world.faults().values()} == {FindingState.OPEN}
            limits.write_text('{"agentDefaults": {"disk": {"trigger": 95, "clear": 91}}}')
            await life.reload(Settings.model_validate({**sections, "patrol": {"interval": "20m"}}))
            await world.until(hour=6.1)
            starts = [(run.started_at - world.start) // (MINUTE * 20) for run in world.runs()]
            assert starts == [3, 6, 9, 12, *range(14, 19)]
            assert world.job().missed == 0
            state = {key: (each.state, each.resolve_reason) for key, each in world.faults().items()}
            assert state == {
                (Kind.HIGH_DISK, "agent:cellar:nas", "/"): (FindingState.RESOLVED, ResolveReason.LIMIT_CHANGED),
                (Kind.UNIT_FAILED, "agent:cellar:nas", "backup.service"): (FindingState.OPEN, None),
                (Kind.HIGH_DISK, "agent:attic:cam", "/"): (FindingState.OPEN, None),
            }
            limits.write_text('{"storageDefault": ')
            await world.until(hour=6.5)
            assert {key: (each.state, each.resolve_reason) for key, each in world.faults().items()} == state

    sections = {**HOURLY, "alerts": {"file": str(limits)}}
    world_of(sections, start=START + HOUR * 8).lives(day)


# --- a disk and a database that fail


async def fills_up(world: World, after: int, *, lasting: float) -> None:
    """The disk is full from the write of this number on that comes next: for one write, or for some hours."""
    first = world.writes + after + 1
    if not lasting:
        world.is_full = lambda number: number == first
        await world.until(hour=world.hours + 1)
        return
    world.is_full = lambda number: number >= first
    await world.until(hour=world.hours + lasting)
    world.is_full = lambda _number: False
    await world.until(hour=world.hours + 1)


def test_a_disk_that_is_full_at_any_one_write_costs_one_run_and_loses_none(world_of: MakeWorld) -> None:
    async def day(world: World) -> None:
        async with world.daemon() as life:
            await world.until(hour=1.5)
            for after in (0, 1, 2, 3, 5, 12, 20, 21, 23, 24, 25, 27):
                runs = len(world.runs())
                await fills_up(world, after, lasting=0)
                assert len(world.runs()) == runs + 1
            asked = life.asks(manual("agent:attic:cam"))
            await world.until(hour=14.5)
            assert {run.id: run.status for run in world.runs()}[asked.work.run_id] is RunStatus.CRITICAL
            statuses = Counter(run.status for run in world.runs())
            assert set(statuses) == {RunStatus.CRITICAL, RunStatus.ERROR}
            assert (world.job().begun, world.job().missed) == (14, 0)
            every_fault_is_known(world)

    world_of().lives(day)


@pytest.mark.parametrize(("after", "missed"), [(0, 2), (1, 1), (10, 1)])
def test_a_disk_that_stays_full_for_hours_is_told_and_what_could_not_run_is_made_up_for(
    world_of: MakeWorld, after: int, missed: int
) -> None:
    async def day(world: World) -> None:
        async with world.daemon() as life:
            await world.until(hour=1.5)
            await fills_up(world, after, lasting=3)
            asked = life.asks(manual("agent:attic:cam"))
            await world.until(hour=7.5)
            assert {run.id: run.status for run in world.runs()}[asked.work.run_id] is RunStatus.CRITICAL
            assert world.runs()[-1].status is RunStatus.CRITICAL
            ends = [run.error_summary for run in world.runs_with(RunStatus.ERROR)]
            assert len(world.runs_with(RunStatus.CRITICAL)) == len(world.runs()) - len(ends)
            assert all("the disk is full" in end for end in ends)
            assert len(ends) == (after == 10)
            assert (world.job().begun, world.job().missed) == (7 - missed, missed)
            every_fault_is_known(world)

    world = world_of()
    world.lives(day)
    assert any("the disk is full" in text for text in world.told)
    assert any("this one makes up for it" in text for text in world.told)


def test_a_database_that_another_process_holds_delays_what_is_due_and_loses_nothing(world_of: MakeWorld) -> None:
    async def day(world: World) -> None:
        async with world.daemon():
            await world.until(hour=1.99)
            with closing(sqlite3.connect(world.path)) as other:
                other.execute("BEGIN IMMEDIATE")
                await world.until(hour=2.05)
                other.rollback()
            await world.until(hour=3.5)
            assert [run.started_at.hour for run in world.runs()] == [1, 2, 3]
            assert {run.status for run in world.runs()} == {RunStatus.CRITICAL}
            assert (world.job().begun, world.job().missed) == (3, 0)
            every_fault_is_known(world)

    world = world_of(waits_seconds=0.3)
    world.lives(day)
    assert {text.partition(",")[0] for text in world.told} == {"patrol: could not be begun"}


def test_a_run_that_another_process_keeps_from_writing_says_so_and_the_next_one_is_whole(world_of: MakeWorld) -> None:
    other: list[sqlite3.Connection] = []

    def held(now: datetime) -> list[Resource]:
        if now.hour == 2 and not other:
            other.append(sqlite3.connect(world.path, check_same_thread=False))
            other[0].execute("BEGIN IMMEDIATE")
        return cellar(now)

    async def day(world: World) -> None:
        world.places[0].shows = held
        async with world.daemon():
            await world.until(hour=2.03)
            other[0].rollback()
            other[0].close()
            await world.until(hour=4.5)
            statuses = [run.status for run in world.runs()]
            assert statuses == [RunStatus.CRITICAL, RunStatus.ERROR, RunStatus.CRITICAL, RunStatus.CRITICAL]
            every_fault_is_known(world)

    world = world_of(waits_seconds=0.05)
    world.lives(day)


# --- a source that goes away


def test_a_source_that_goes_away_and_comes_back_is_told_and_its_faults_stay(world_of: MakeWorld) -> None:
    def gone(now: datetime) -> list[Resource]:
        if 6 <= now.hour < 12:
            raise ConnectionError("no route to host")
        return attic(now)

    def blind() -> list[tuple[FindingState, Severity]]:
        return [(each.state, each.severity) for each in world.findings() if each.kind == Kind.SOURCE_BLIND]

    async def day(world: World) -> None:
        world.places[1].shows = gone
        async with world.daemon():
            await world.until(hour=5.5)
            assert blind() == []
            await world.until(hour=11.5)
            assert blind() == [(FindingState.OPEN, Severity.WARNING)]
            every_fault_is_known(world)
            await world.until(hour=14.5)
            assert blind() == [(FindingState.RESOLVED, Severity.WARNING)]
            complete = [run.started_at.hour for run in world.runs() if run.complete]
            assert complete == [1, 2, 3, 4, 5, 12, 13, 14]
            assert {run.status for run in world.runs()} == {RunStatus.CRITICAL}
            assert world.faults()[Kind.HIGH_DISK, "agent:attic:cam", "/"].times_raised == 8
            every_fault_is_known(world)

    world = world_of()
    world.lives(day)


def test_a_source_that_hangs_costs_its_part_of_a_run_and_no_run_after_it(world_of: MakeWorld) -> None:
    goes_on = threading.Event()

    def hangs(now: datetime) -> list[Resource]:
        if now.hour == 2:
            assert goes_on.wait(30)
        return attic(now)

    async def day(world: World) -> None:
        world.places[1].shows = hangs
        patrol = world.settings.patrol.model_copy(update={"run_deadline": timedelta(seconds=0.3)})
        world.settings = world.settings.model_copy(update={"patrol": patrol})
        async with world.daemon():
            await world.until(hour=4.5)
            goes_on.set()
            assert [run.started_at.hour for run in world.runs()] == [1, 2, 3, 4]
            assert [run.complete for run in world.runs()] == [True, False, True, True]
            assert world.runs()[1].status is RunStatus.TIMED_OUT
            assert world.job().missed == 0
            every_fault_is_known(world)

    world_of().lives(day)


def test_a_run_that_was_shown_nothing_is_not_healthy_and_closes_nothing(world_of: MakeWorld) -> None:
    async def day(world: World) -> None:
        async with world.daemon():
            await world.until(hour=1.5)
            for place in world.places:
                place.shows = lambda _now: []
            await world.until(hour=2.5)
            assert world.runs()[-1].status is not RunStatus.HEALTHY
            every_fault_is_known(world)

    async def first_day(world: World) -> None:
        for place in world.places:
            place.shows = lambda _now: []
        async with world.daemon():
            await world.until(hour=2.5)
            assert [run.resources_checked for run in world.runs()] == [0, 0]
            assert RunStatus.HEALTHY not in {run.status for run in world.runs()}

    world_of().lives(day)
    world = world_of()
    world.path = world.path.with_name("other.db")
    world.lives(first_day)
