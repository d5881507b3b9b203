"""Silences in a database. Decides nothing: `findings.silence` knows what one means, this reads and writes."""

from datetime import datetime

from sqlalchemy import Connection, Select, or_, select

from findings.rows import SILENCE_COLUMNS, Cell, silence_of, silence_row
from findings.silence import Silence
from findings.tables import SILENCES

_SILENCE = [SILENCES.c[name] for name in SILENCE_COLUMNS]


class SilenceNotFoundError(LookupError):
    """There is no such silence in this organisation."""


class SilenceEndedError(Exception):
    """The silence is over already: there is nothing to end."""


class SilenceStore:
    """The silences of one organisation, on a connection whose transaction the caller owns."""

    def __init__(self, connection: Connection, org_id: str) -> None:
        self._connection = connection
        self._org_id = org_id

    def add(self, silence: Silence) -> None:
        """Writes a new one. Raises ValueError for one of another organisation."""
        if silence.org_id != self._org_id:
            raise ValueError(f"the silence does not belong to {self._org_id}")
        self._connection.execute(SILENCES.insert(), silence_row(silence))

    def find(self, silence_id: str) -> Silence | None:
        """The silence of this id, or None."""
        row = self._connection.execute(self._select().where(SILENCES.c.id == silence_id)).first()
        return silence_of(row) if row is not None else None

    def list_silences(self, *, not_over_at: datetime | None = None) -> list[Silence]:
        """All silences, oldest first; with a time only those that are in force or to come then."""
        statement = self._select().order_by(SILENCES.c.created_at, SILENCES.c.id)
        if not_over_at is not None:
            for end in (SILENCES.c.ends_at, SILENCES.c.ended_at):
                statement = statement.where(or_(end.is_(None), end > not_over_at))
        return [silence_of(row) for row in self._connection.execute(statement)]

    def end(self, silence_id: str, at: datetime, author: str) -> Silence:
        """Ends one by hand; it stays in the record.

        Raises SilenceNotFoundError, and SilenceEndedError where it is over, by time or because somebody was faster.
        """
        statement = (
            SILENCES.update()
            .where(SILENCES.c.org_id == self._org_id, SILENCES.c.id == silence_id, SILENCES.c.ended_at.is_(None))
            .where(or_(SILENCES.c.ends_at.is_(None), SILENCES.c.ends_at > at))
            .values(ended_at=at, ended_by=author)
        )
        changed = self._connection.execute(statement).rowcount
        silence = self.find(silence_id)
        if silence is None:
            raise SilenceNotFoundError(silence_id)
        if not changed:
            raise SilenceEndedError(silence_id)
        return silence

    def _select(self) -> Select[*tuple[Cell, ...]]:
        return select(*_SILENCE).where(SILENCES.c.org_id == self._org_id)
