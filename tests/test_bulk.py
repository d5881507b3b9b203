"""Many rows at once must be the rows that one statement at a time would write."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import bindparam

from findings.rows import Cell
from findings.tables import FINDINGS
from patrol.database import Database, open_database
from patrol.database.bulk import write_rows
from patrol.database.inserts import insert_or_replace, insert_unless_there
from patrol.run.tables import SIGHTS

NOW = datetime(2026, 3, 2, 6, 0, 0, 123456, tzinfo=UTC)


def sights(count: int, at: datetime = NOW) -> list[dict[str, Cell]]:
    return [
        {
            "org_id": "default",
            "source": "lab",
            "topic": "cpu",
            "resource_id": f"vm:lab:{number}",
            "last_read_at": at - timedelta(hours=number % 3),
        }
        for number in range(count)
    ]


def stored(database: Database) -> list[tuple[object, ...]]:
    with database.read() as connection:
        return [tuple(row) for row in connection.execute(SIGHTS.select().order_by(SIGHTS.c.resource_id))]


@pytest.mark.parametrize("count", [0, 1, 7, 600])
def test_rows_are_stored_as_each_by_itself_would_be(count: int) -> None:
    databases = [open_database("sqlite://") for _ in range(2)]
    with databases[0].write() as connection:
        write_rows(connection, SIGHTS.insert(), sights(count))
    with databases[1].write() as connection:
        for row in sights(count):
            connection.execute(SIGHTS.insert(), row)
    assert stored(databases[0]) == stored(databases[1])
    assert len(stored(databases[0])) == count


@pytest.mark.parametrize(("statement", "replaces"), [(insert_unless_there, False), (insert_or_replace, True)])
def test_rows_that_are_there_are_left_or_replaced(statement: object, *, replaces: bool) -> None:
    database = open_database("sqlite://")
    later = NOW + timedelta(days=1)
    columns = (("last_read_at",),) if replaces else ()
    with database.write() as connection:
        write_rows(connection, SIGHTS.insert(), sights(3))
        again = statement("sqlite", SIGHTS, *columns)  # type: ignore[operator]
        write_rows(connection, again, sights(5, later))
    assert [row[-1] == each["last_read_at"] for row, each in zip(stored(database), sights(5, later), strict=True)] == [
        replaces,
        replaces,
        replaces,
        True,
        True,
    ]


def test_an_update_finds_its_rows_by_values_of_its_own() -> None:
    database = open_database("sqlite://")
    update = (
        SIGHTS.update()
        .where(SIGHTS.c.resource_id == bindparam("at_id"), SIGHTS.c.topic == "cpu")
        .values({"last_read_at": bindparam("last_read_at")})
    )
    with database.write() as connection:
        write_rows(connection, SIGHTS.insert(), sights(3))
        write_rows(connection, update, [{"at_id": "vm:lab:1", "last_read_at": NOW + timedelta(days=2)}])
    assert [row[-1] for row in stored(database)] == [NOW, NOW + timedelta(days=2), NOW - timedelta(hours=2)]


def test_nothing_and_booleans_survive() -> None:
    database = open_database("sqlite://")
    columns = [column.name for column in FINDINGS.columns]
    plain: dict[str, Cell] = dict.fromkeys(columns, "x")
    numbers = ("times_raised", "raise_count", "regression_count", "clear_streak", "version", "investigation_attempts")
    plain |= dict.fromkeys(numbers, 1)
    plain |= {column.name: NOW for column in FINDINGS.columns if column.name.endswith("_at")}
    plain |= {"snoozed_until": None, "value": None, "limit": 1.5, "resolved_at": None}
    plain |= {column.name: "{}" for column in FINDINGS.columns if "facts" in column.name or column.name == "lives_on"}
    rows = [plain | {"id": str(each), "key": str(each), "suppressed": each} for each in (True, False)]
    with database.write() as connection:
        write_rows(connection, FINDINGS.insert(), rows)
        found = connection.execute(FINDINGS.select().order_by(FINDINGS.c.id.desc())).all()
    assert [row.suppressed for row in found] == [True, False]
    assert [(row.value, row.limit, row.resolved_at, row.first_seen_at) for row in found] == [(None, 1.5, None, NOW)] * 2
