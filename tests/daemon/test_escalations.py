"""What runs want to have looked into becomes runs about it: once, asked again when its turn comes, and noted after."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from findings.model import Finding
from findings.store import FindingStore
from patrol.daemon.escalations import ASKED_AGAIN_AFTER
from patrol.database import open_database
from patrol.estate.model import Estate
from patrol.run import RunRequest
from patrol.run.handing_on import enqueue_escalations
from patrol.run.model_work.model import EscalationRecord, EscalationState
from patrol.run.record_model import RunStatus
from patrol.run.store import RunStore
from patrol.schedule.pauses import pause, resume
from patrol.settings.model import Settings
from patrol.work.model import Work, WorkKind, WorkState
from patrol.work.store import WorkStore
from tests.daemon.builders import ORG, ExecutorHouse, Gated, now
from tests.daemon.test_executor import lives, until
from tests.run.builders import HOST, GivenSource, estate, host
from tests.run.builders import House as RunHouse

ASSISTED = {"patrol": {"autonomy": "assisted"}, "model": {"name": "ollama:test"}}


class Full(Gated):
    """A host whose disk is nearly full."""

    def estate(self) -> Estate:
        return estate(host(usage=97))


@pytest.fixture
def house(tmp_path: Path):
    database = open_database(f"sqlite:///{tmp_path / 'patrol.db'}")
    house = ExecutorHouse(database)
    house.source = Full()
    house.source.let_go.set()
    house.settings = Settings.model_validate(ASSISTED)
    RunHouse(database).patrol(GivenSource([estate(host(usage=97))])).run(RunRequest())
    yield house
    database.close()


def finding(house: ExecutorHouse) -> Finding:
    with house.database.read() as connection:
        [found] = FindingStore(connection, ORG).list_findings()
    return found


def escalate(house: ExecutorHouse, name: str = "e1", state: EscalationState = EscalationState.QUEUED) -> None:
    decided = EscalationRecord(id=name, run_id="run-1", finding_id=finding(house).id, group=HOST, state=state, at=now())
    house.database.transact(lambda connection: enqueue_escalations(connection, ORG, [decided]))


def handed_on(house: ExecutorHouse, *states: WorkState) -> list[Work]:
    with house.database.read() as connection:
        return WorkStore(connection, ORG).list_work(WorkKind.ESCALATION, states)


def plays_until(house: ExecutorHouse, state: WorkState) -> list[Work]:
    async def play(executor: object) -> None:
        await until(lambda: handed_on(house, state))
        await until(lambda: not house.works(WorkState.WAITING, WorkState.RUNNING))
        await asyncio.sleep(0)

    lives(house, play)
    return handed_on(house, state)


def test_it_becomes_a_run_about_the_resource_that_names_the_finding_and_the_finding_knows(house):
    escalate(house)
    plays_until(house, WorkState.DONE)
    [run] = [each for each in RunStore(house.database).list_runs() if each.trigger_reason == "escalation"]
    assert (run.scope, run.status) == ((HOST,), RunStatus.CRITICAL)
    [work] = house.works(WorkState.DONE)
    assert f'"finding_id":"{finding(house).id}"' in work.payload
    assert (finding(house).investigation_attempts, finding(house).last_investigated_at) == (1, work.started_at)


def test_two_wishes_about_one_finding_are_one_run(house):
    escalate(house, "e1")
    escalate(house, "e2")
    assert len(handed_on(house, WorkState.WAITING)) == 1


def test_what_was_put_off_or_refused_is_no_work(house):
    escalate(house, state=EscalationState.DEFERRED)
    escalate(house, state=EscalationState.REFUSED)
    assert handed_on(house, *WorkState) == []


@pytest.mark.parametrize(
    ("sections", "why"),
    [({"patrol": {"autonomy": "monitor"}}, "monitor_only"), ({"model": {"name": ""}}, "no_model")],
)
def test_it_is_asked_again_when_its_turn_comes(house, sections, why):
    house.settings = Settings.model_validate({**ASSISTED, **sections})
    escalate(house)
    [work] = plays_until(house, WorkState.FAILED)
    assert work.detail == why
    assert house.works(*WorkState) == []


def test_while_patrol_is_paused_it_waits(house):
    pause(house.database, ORG, now=now(), until=None, reason="", author="me", ids=house.ids)
    escalate(house)

    async def play(executor: object) -> None:
        await until(lambda: [each for each in handed_on(house, WorkState.WAITING) if each.not_before])

    lives(house, play)
    [work] = handed_on(house, WorkState.WAITING)
    assert timedelta() < work.not_before - now() <= ASKED_AGAIN_AFTER
    assert work.detail == "paused"
    resume(house.database, ORG, now=now(), author="me")
    assert house.works(WorkState.WAITING, WorkState.RUNNING, WorkState.DONE) == []
