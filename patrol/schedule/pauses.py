"""Pauses: an operator's word that Patrol starts no run by itself. What somebody asks for still runs."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import datetime
from operator import attrgetter

from sqlalchemy import Connection, or_, select

from findings.rows import storable
from patrol.database import Database
from patrol.schedule.tables import PAUSES


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """One pause. `since`: when it began, also where its end or reason was changed later (`set_at`).

    `until` None: until somebody resumes. `ended_at` and `ended_by`: when and by whom that was done.
    """

    org_id: str
    id: str
    since: datetime
    set_at: datetime
    until: datetime | None
    reason: str
    author: str
    ended_at: datetime | None = None
    ended_by: str = ""


_COLUMNS = tuple(field.name for field in fields(Pause))
_cells = attrgetter(*_COLUMNS)


def find_pause(connection: Connection, org_id: str, now: datetime) -> Pause | None:
    """The pause that is in force, or None. It is kept in the database: a restart ends none."""
    statement = (
        select(*(PAUSES.c[name] for name in _COLUMNS))
        .where(PAUSES.c.org_id == org_id, PAUSES.c.ended_at.is_(None))
        .where(or_(PAUSES.c.until.is_(None), PAUSES.c.until > now))
        .order_by(PAUSES.c.set_at.desc(), PAUSES.c.id)
        .limit(1)
    )
    row = connection.execute(statement).first()
    return Pause(**row._asdict()) if row is not None else None


def pause(
    database: Database,
    org_id: str,
    *,
    now: datetime,
    until: datetime | None,
    reason: str,
    author: str,
    ids: Callable[[], str],
) -> Pause:
    """Pauses. Where it is paused already this word takes the place of the one before; it is still paused since then.

    Raises ValueError for an end that is over already, StorageError.
    """
    if until is not None and until <= now:
        raise ValueError("it would be over already: give a time to come")

    def work(connection: Connection) -> Pause:
        before = find_pause(connection, org_id, now)
        if before is not None:
            _end(connection, before, now, author)
        made = Pause(
            org_id=org_id,
            id=ids(),
            since=before.since if before is not None else now,
            set_at=now,
            until=until,
            reason=storable(reason),
            author=author,
        )
        connection.execute(PAUSES.insert(), dict(zip(_COLUMNS, _cells(made), strict=True)))
        return made

    return database.transact(work)


def resume(database: Database, org_id: str, *, now: datetime, author: str) -> Pause | None:
    """Ends the pause, and returns it; None where Patrol is not paused. Raises StorageError."""

    def work(connection: Connection) -> Pause | None:
        before = find_pause(connection, org_id, now)
        if before is None:
            return None
        _end(connection, before, now, author)
        return replace(before, ended_at=now, ended_by=author)

    return database.transact(work)


def _end(connection: Connection, before: Pause, now: datetime, author: str) -> None:
    statement = PAUSES.update().where(PAUSES.c.org_id == before.org_id, PAUSES.c.id == before.id)
    connection.execute(statement.values(ended_at=now, ended_by=author))
