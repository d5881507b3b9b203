"""A server that goes away while it is written to."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from patrol.database import Database, DatabaseWriteError
from tests.database.test_writer import add, stored
from tests.databases import POSTGRESQL, fresh_database
from tests.postgresql import Server


@pytest.fixture
def database(tmp_path: Path, postgresql: Callable[[], Server]) -> Iterator[Database]:
    with fresh_database(POSTGRESQL, tmp_path, postgresql) as made:
        yield made


def number_of(connection: Connection) -> int:
    return int(connection.execute(text("SELECT pg_backend_pid()")).scalar_one())


def end(database: Database, number: int) -> None:
    """The server ends this connection."""
    other = Database(database.url)
    with other.read() as connection:
        connection.execute(text("SELECT pg_terminate_backend(:number, 5000)"), {"number": number})
    other.close()


def test_a_connection_that_ends_costs_its_own_transaction_and_no_later_one(database: Database) -> None:
    def work(connection: Connection) -> None:
        add("lost")(connection)
        end(database, number_of(connection))
        add("never")(connection)

    for number in range(2):
        with pytest.raises(DatabaseWriteError, match="the server"):
            database.transact(work)
        database.transact(add(f"kept {number}"))
    assert stored(database) == ["kept 0", "kept 1"]


def test_a_connection_that_ended_while_nobody_used_it_is_made_anew(database: Database) -> None:
    end(database, database.transact(number_of))
    assert database.transact(add("kept")) == "kept"
    assert stored(database) == ["kept"]
