"""Many rows in one statement, past what SQLAlchemy does for each value of each row: it takes longer than writing it.

The statement stays one of SQLAlchemy, compiled once for each dialect; only its values go straight to the driver. They
are what drivers take as they are (text, numbers, None), and instants.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection, DateTime, Insert, Update
from sqlalchemy.engine import Dialect


def execute_many(connection: Connection, statement: Insert | Update, rows: Sequence[Mapping[str, Any]]) -> int:
    """Executes a statement once for each row, whose names are those of its parameters; returns the rows affected.

    Raises what SQLAlchemy raises (IntegrityError, ...), and ValueError for an instant without its zone.
    """
    if not rows:
        return 0
    compiled = _compiled(statement, connection.dialect, tuple(rows[0]))
    if compiled.order is None:
        for row in rows:
            for name in compiled.instants:
                _check(row[name])
        return connection.exec_driver_sql(compiled.text, list(rows)).rowcount
    return connection.exec_driver_sql(
        compiled.text, list(_positional(rows, compiled.order, compiled.instants))
    ).rowcount


def _positional(
    rows: Sequence[Mapping[str, Any]], order: tuple[str, ...], instants: tuple[str, ...]
) -> Iterator[tuple[Any, ...]]:
    """The values as SQLite takes them: by position, and instants as text, for it has no type for them."""
    pick = itemgetter(*order) if len(order) > 1 else lambda row: (row[order[0]],)
    places = [place for place, name in enumerate(order) if name in instants]
    for row in rows:
        values = list(pick(row))
        for place in places:
            values[place] = _text_of(values[place])
        yield tuple(values)


class _Compiled(NamedTuple):
    """A statement as text. `order`: its parameters, None where they go by name. `instants`: those that are instants."""

    text: str
    order: tuple[str, ...] | None
    instants: tuple[str, ...]


@lru_cache(maxsize=64)
def _compiled(statement: Insert | Update, dialect: Dialect, names: tuple[str, ...]) -> _Compiled:
    keys = list(names) if isinstance(statement, Insert) else None
    compiled = statement.compile(dialect=dialect, column_keys=keys)
    order = getattr(compiled, "positiontup", None)
    binds: Mapping[str, Any] = getattr(compiled, "binds", {})
    instants = tuple(name for name in names if name in binds and isinstance(_plain(binds[name].type), DateTime))
    return _Compiled(str(compiled), tuple(order) if order is not None else None, instants)


def _plain(column_type: Any) -> Any:
    """The type of a column, of one that wraps it as well."""
    return getattr(column_type, "impl", column_type)


@lru_cache(maxsize=4096)  # what one run saw, it saw at one time
def _text_of(instant: datetime | None) -> str | None:
    """As SQLAlchemy stores it."""
    if instant is None:
        return None
    _check(instant)
    return instant.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")


def _check(instant: datetime | None) -> None:
    if instant is not None and instant.tzinfo is None:
        raise ValueError(f"an instant needs its zone: {instant}")
