"""Runs that wait are carried out, each in its slot, and each ends in a record under its promised id, come what may."""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from patrol.daemon.executor import Executor
from patrol.database import Database, open_database
from patrol.run.record_model import RunRecord, RunStatus, RunType
from patrol.run.store import RunStore
from patrol.triggers.model import TriggerReason
from patrol.work.model import WorkReason, WorkState
from tests.daemon.builders import ExecutorHouse, now
from tests.run.builders import HOST
from tests.triggers.builders import manual, scheduled, trigger

Play = Callable[[Executor], Awaitable[None]]


@pytest.fixture
def house(tmp_path: Path):
    database = open_database(f"sqlite:///{tmp_path / 'patrol.db'}", busy_timeout_seconds=0.2)
    house = ExecutorHouse(database)
    yield house
    house.source.let_go.set()
    database.close()


@pytest.fixture
def any_house(any_database: Database):
    house = ExecutorHouse(any_database)
    yield house
    house.source.let_go.set()


async def until(met: Callable[[], object], seconds: float = 20) -> None:
    ends_at = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < ends_at, "it never came so far"
        await asyncio.sleep(0.01)


def lives(house: ExecutorHouse, play: Play, *, finish: float = 20, cancel: float = 20, **more: object) -> list[str]:
    """An executor works while the play goes on; returns which runs went on beyond its end."""

    async def life() -> list[str]:
        executor = house.executor(**more)
        working = asyncio.create_task(executor.work())
        try:
            await play(executor)
        finally:
            still = await executor.stop(finish_seconds=finish, cancel_seconds=cancel, hurry=asyncio.Event())
            await working
        return still

    return asyncio.run(life())


def test_what_waits_is_carried_out_under_the_id_that_was_promised(any_house):
    offered = any_house.offer(scheduled(missed=3))

    async def play(executor: Executor) -> None:
        await until(lambda: any_house.work_of(offered).state is WorkState.DONE)

    assert lives(any_house, play) == []
    run = any_house.run_of(offered)
    assert (run.status, run.trigger_reason, run.type) == (RunStatus.HEALTHY, "scheduled", RunType.FULL)
    assert [each.id for each in any_house.told.ended] == [offered.work.run_id]


def test_a_run_about_one_thing_goes_on_beside_the_one_over_everything(any_house):
    any_house.source.let_go.clear()
    due, scoped, asked = any_house.offer(scheduled()), any_house.offer(manual(HOST)), any_house.offer(manual())

    async def play(executor: Executor) -> None:
        await until(lambda: len(executor.under_way) == 2)
        going_on = {each.claim.work.run_id for each in executor.under_way}
        assert going_on == {asked.work.run_id, scoped.work.run_id}
        assert len(any_house.works(WorkState.WAITING)) == 1
        any_house.source.let_go.set()
        await until(lambda: len(any_house.works(WorkState.DONE)) == 3)

    lives(any_house, play)
    assert {any_house.run_of(each).type for each in (due, asked)} == {RunType.FULL}
    assert (any_house.run_of(scoped).type, any_house.run_of(scoped).scope) == (RunType.SCOPED, (HOST,))


def test_what_nobody_knows_ends_in_a_record_that_says_so(any_house):
    offered = any_house.offer(manual("vm:lab:999"))

    async def play(executor: Executor) -> None:
        await until(lambda: any_house.work_of(offered).state is WorkState.FAILED)

    lives(any_house, play)
    run = any_house.run_of(offered)
    assert run.status is RunStatus.ERROR
    assert "vm:lab:999" in run.error_summary


def test_what_fails_before_it_begins_ends_in_a_record_too(house):
    def broken() -> None:
        raise ValueError("no such source")

    house.broken = broken
    offered = house.offer(scheduled())

    async def play(executor: Executor) -> None:
        await until(lambda: house.run_of(offered))

    lives(house, play)
    run = house.run_of(offered)
    assert (run.status, "no such source" in run.error_summary) == (RunStatus.ERROR, True)
    assert [each.id for each in house.told.ended] == [offered.work.run_id]


def test_a_run_of_another_process_is_waited_for(house):
    runs = RunStore(house.database)
    other = RunRecord(
        org_id="default", id="other", trigger_reason="manual", started_at=now(),
        lease_owner="else", lease_expires_at=now() + timedelta(hours=1),
    )  # fmt: skip
    runs.begin(other)
    offered = house.offer(scheduled())

    async def play(executor: Executor) -> None:
        await until(lambda: house.work_of(offered).reason == WorkReason.PUT_BACK)
        assert house.run_of(offered) is None
        ended = RunRecord(
            org_id="default", id="other", trigger_reason="manual", started_at=other.started_at,
            completed_at=now(), status=RunStatus.HEALTHY,
        )  # fmt: skip
        runs.end_early(ended)
        await until(lambda: house.work_of(offered).state is WorkState.DONE)

    lives(house, play)
    assert house.run_of(offered).status is RunStatus.HEALTHY
    assert house.work_of(offered).attempts == 1


def test_the_end_waits_for_a_run_that_comes_to_its_own(house):
    house.source.let_go.clear()
    offered = house.offer(scheduled())

    async def play(executor: Executor) -> None:
        await until(house.source.asked.is_set)
        asyncio.get_running_loop().call_later(0.2, house.source.let_go.set)

    assert lives(house, play) == []
    assert house.run_of(offered).status is RunStatus.HEALTHY


def test_the_end_cancels_a_run_that_takes_too_long_and_what_waits_stays(any_house):
    any_house.source.let_go.clear()
    offered = any_house.offer(manual())

    async def play(executor: Executor) -> None:
        await until(any_house.source.asked.is_set)
        any_house.offer(scheduled())

    assert lives(any_house, play, finish=0.1) == []
    run = any_house.run_of(offered)
    assert (run.status, run.error_summary) == (RunStatus.CANCELLED, "Patrol was stopped before the run was done")
    assert [each.state for each in any_house.works(WorkState.WAITING)] == [WorkState.WAITING]


def test_a_database_that_another_process_holds_delays_runs_and_loses_none(house, tmp_path):
    offered = house.offer(scheduled())

    with closing(sqlite3.connect(tmp_path / "patrol.db")) as other:
        other.execute("BEGIN IMMEDIATE")

        async def free(executor: Executor) -> None:
            await until(lambda: executor.is_locked_out)
            other.rollback()
            await until(lambda: house.work_of(offered).state is WorkState.DONE)
            assert not executor.is_locked_out

        lives(house, free)
    assert house.run_of(offered).status is RunStatus.HEALTHY


def test_a_run_that_does_nothing_any_more_is_noticed_and_one_that_waits_for_long_is_not(house):
    house.source.let_go.clear()
    house.offer(scheduled())

    async def play(executor: Executor) -> None:
        await until(house.source.asked.is_set)
        assert executor.is_going_on()
        house.silence = timedelta()
        house.offer(manual(HOST))
        await until(lambda: len(executor.under_way) == 2)
        await asyncio.sleep(0.05)
        assert not executor.is_going_on()
        house.source.let_go.set()

    lives(house, play)


def test_leases_of_what_goes_on_are_renewed_before_others_are_taken_back(any_house):
    any_house.source.let_go.clear()
    offered = any_house.offer(scheduled())

    async def play(executor: Executor) -> None:
        await until(any_house.source.asked.is_set)
        later = now() + timedelta(hours=8)  # the machine slept
        await asyncio.to_thread(executor.renew_all, later)
        assert RunStore(any_house.database).close_crashed(later) == []
        assert any_house.work_of(offered).lease_expires_at > later
        any_house.source.let_go.set()
        await until(lambda: any_house.work_of(offered).state is WorkState.DONE)

    lives(any_house, play)
    assert any_house.run_of(offered).status is RunStatus.HEALTHY


def test_an_alert_reaches_the_run_that_it_starts(house):
    offered = house.offer(trigger(TriggerReason.ALERT_FIRED, HOST, alert_id="a1", alert_type="cpu"))

    async def play(executor: Executor) -> None:
        await until(lambda: house.work_of(offered).state is WorkState.DONE)

    lives(house, play)
    assert (house.run_of(offered).trigger_reason, house.run_of(offered).scope) == ("alert_fired", (HOST,))
