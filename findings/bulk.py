"""Many rows in one statement, past what SQLAlchemy does for each value of each row: it takes longer than writing it.

The statement stays one of SQLAlchemy, compiled once for each dialect; only its values go straight to the driver. They
are what drivers take as they are (text, numbers, None), and instants.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Insert, Update
from sqlalchemy.engine import Dialect


def execute_many(connection: Connection, statement: Insert | Update, rows: Sequence[Mapping[str, Any]]) -> int:
    """Executes a statement once for each row, whose names are those of its parameters; returns the rows affected.

    Raises what SQLAlchemy raises (IntegrityError, ...), and ValueError for an instant without its zone.
    """
    if not rows:
        return 0
    text, order = _compiled(statement, connection.dialect, tuple(rows[0]))
    if order is None:
        for row in rows:
            for cell in row.values():
                if isinstance(cell, datetime) and cell.tzinfo is None:
                    raise _naive(cell)
        return connection.exec_driver_sql(text, list(rows)).rowcount
    # SQLite takes its values by position, and has no type for instants.
    pick = itemgetter(*order)
    values = [tuple([_text_of(cell) if isinstance(cell, datetime) else cell for cell in pick(row)]) for row in rows]
    return connection.exec_driver_sql(text, values).rowcount


@lru_cache(maxsize=64)
def _compiled(
    statement: Insert | Update, dialect: Dialect, names: tuple[str, ...]
) -> tuple[str, tuple[str, ...] | None]:
    keys = list(names) if isinstance(statement, Insert) else None
    compiled = statement.compile(dialect=dialect, column_keys=keys)
    order = getattr(compiled, "positiontup", None)
    return str(compiled), tuple(order) if order is not None else None


@lru_cache(maxsize=4096)  # what one run saw, it saw at one time
def _text_of(instant: datetime) -> str:
    """As SQLAlchemy stores it."""
    if instant.tzinfo is None:
        raise _naive(instant)
    return instant.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")


def _naive(instant: datetime) -> ValueError:
    return ValueError(f"an instant needs its zone: {instant}")
