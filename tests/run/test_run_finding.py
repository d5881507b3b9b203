"""The finding that a run looks into is known as long as the run is, and not as long as the work that asked for it."""

from datetime import timedelta

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from patrol.api.documents.runs import Beside, run_document, waiting_document
from patrol.cli.run_document import run_view
from patrol.database import Database, upgrade
from patrol.database.place import parse_url
from patrol.database.schema import MIGRATIONS
from patrol.run.record_model import RunRecord, RunStatus, RunType
from patrol.run.request import RunRequest
from patrol.run.rows import run_row
from patrol.run.store import RunStore
from patrol.schedule.upkeep import forget_work, recover
from patrol.triggers.model import Occasion, Trigger, TriggerReason, TriggerScope
from patrol.work.store import KEPT
from tests.run.builders import HOST, NOW, House, estate, host
from tests.work.builders import ORG, Line

ABOUT = RunRecord(
    org_id=ORG,
    id="r1",
    type=RunType.SCOPED,
    status=RunStatus.HEALTHY,
    trigger_reason="escalation",
    started_at=NOW,
    completed_at=NOW,
    finding_id="f1",
)


def escalation() -> Trigger:
    occasion = Occasion(reason=TriggerReason.ESCALATION, at=NOW, finding_id="f1")
    return Trigger(scope=TriggerScope(resource_ids=(HOST,)), occasions=(occasion,))


@pytest.fixture
def older(any_url):
    """A database of the schema before, with a run in it."""
    database = Database(parse_url(any_url))
    upgrade(database.engine, "0012")
    with database.engine.begin() as connection:
        runs = sa.Table("run", sa.MetaData(), autoload_with=connection)
        assert "finding_id" not in runs.c
        row = run_row(ABOUT)
        connection.execute(runs.insert(), {name: row[name] for name in (column.name for column in runs.c)})
    yield database
    database.close()


def test_runs_of_before_are_kept_and_look_into_nothing_that_is_known(older):
    upgrade(older.engine)
    [kept] = RunStore(older).list_runs()
    assert (kept.id, kept.trigger_reason, kept.started_at, kept.finding_id) == ("r1", "escalation", NOW, "")


def test_the_way_back_keeps_the_runs_as_well(older):
    upgrade(older.engine)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with older.engine.begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0012")
    with older.engine.connect() as connection:
        runs = sa.Table("run", sa.MetaData(), autoload_with=connection)
        assert "finding_id" not in runs.c
        assert connection.execute(sa.select(runs.c.id)).scalars().all() == ["r1"]


def test_a_run_keeps_the_finding_that_it_was_asked_for(house: House) -> None:
    house.run(estate(host()))
    looked = house.run(estate(host()), request=RunRequest(reason="escalation", scope=(HOST,), finding_id="f1"))
    assert looked.run.finding_id == "f1"
    assert [each.finding_id for each in RunStore(house.database).list_runs()] == ["f1", ""]


def test_one_that_never_began_says_it_too_also_when_its_work_is_forgotten(any_database):
    line = Line(any_database)
    offered = line.offer(escalation())
    assert waiting_document(offered.work, escalation())["finding_id"] == "f1"
    claimed = line.claimed()
    line.store(lambda store: store.fail(claimed.work, line.now, "the disk is full"))
    recover(any_database, ORG, line.now, lambda owner: False)
    line.now += KEPT + timedelta(days=1)
    assert forget_work(any_database, ORG, line.now) == 1
    record = RunStore(any_database, ORG).get(offered.work.run_id)
    assert run_document(record, Beside())["finding_id"] == "f1"
    assert run_view(record).finding_id == "f1"
