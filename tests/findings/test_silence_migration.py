"""A database from before there were silences keeps its findings, and can go back."""

from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from findings.lifecycle import advance
from findings.rows import finding_row, transition_row
from findings.silence_store import SilenceStore
from findings.store import FindingStore
from patrol.database import upgrade
from patrol.database.place import parse_url
from patrol.database.schema import MIGRATIONS
from patrol.database.transactions import make_engine
from tests.findings.builders import HOST, NOTHING, NOW, ORG, finding, observation

KNOWN = finding(snoozed_until=NOW)


def insert(connection, name, row):
    table = sa.Table(name, sa.MetaData(), autoload_with=connection)
    connection.execute(
        table.insert(), {column.name: row[column.name] for column in table.columns if column.name in row}
    )


@pytest.fixture
def engine(tmp_path: Path):
    made = make_engine(parse_url(f"sqlite:///{tmp_path}/patrol.db"))
    upgrade(made, "0001")
    filed = advance({}, [observation()], NOTHING, NOW, run_id="run-0", org_id=ORG).transitions[0]
    with made.begin() as connection:
        insert(connection, "finding", finding_row(KNOWN))
        insert(connection, "transition", {"org_id": ORG, **transition_row(filed)})
    yield made
    made.dispose()


def test_what_was_known_before_is_there_afterwards(engine):
    upgrade(engine)
    with engine.connect() as connection:
        store = FindingStore(connection, ORG)
        assert store.list_findings() == [KNOWN]
        [filed] = store.transitions(KNOWN.id)
        assert (filed.author, filed.note, filed.old_quiet) == ("", "", None)
        assert store.known_resources() == {HOST: "web1"}
        assert SilenceStore(connection, ORG).list_silences() == []


def test_the_way_back_leaves_the_schema_as_it_was(engine):
    def shape():
        with engine.connect() as connection:
            seen = sa.inspect(connection)
            return {name: [column["name"] for column in seen.get_columns(name)] for name in seen.get_table_names()}

    before = shape()
    upgrade(engine, "0002")
    assert "silence" in shape()
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0001")
    assert shape() == before
