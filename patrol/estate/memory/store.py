"""The memory of resources in a database. Decides nothing: `recognise` decides, this reads and writes."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Insert, String, Table, Update, bindparam, select, type_coerce

from findings.bulk import execute_many
from findings.model import DEFAULT_ORG
from findings.rows import Cell
from patrol.database.inserts import insert_or_replace, insert_unless_there
from patrol.estate.memory.merge import merge_resource
from patrol.estate.memory.model import Changed, Memory, Presence, Recognition, RemovedBy
from patrol.estate.memory.rows import (
    ALIAS_COLUMNS,
    RESOURCE_COLUMNS,
    alias_of,
    alias_row,
    resource_of,
    resource_row,
)
from patrol.estate.memory.tables import ALIASES, RESOURCES
from signals.garbage import paused_garbage_collection

_AT_ONCE = 5000

_UPDATE = (
    RESOURCES.update()
    .where(
        RESOURCES.c.org_id == bindparam("at_org"),
        RESOURCES.c.id == bindparam("at_id"),
        # Whoever said meanwhile that it is removed is right, not a run that was computed before.
        RESOURCES.c.presence == bindparam("at_presence"),
        RESOURCES.c.absent_runs == bindparam("at_absent_runs"),
    )
    .values({name: bindparam(name) for name in RESOURCE_COLUMNS if name != "id"})
)


class ResourceMemory:
    """The memory of one organisation, on a connection whose transaction the caller owns."""

    def __init__(self, connection: Connection, org_id: str = DEFAULT_ORG) -> None:
        self._connection = connection
        self._org_id = org_id

    def load(self) -> Memory:
        """Everything that is remembered: 100,000 resources in about half a second."""
        with paused_garbage_collection():
            resources = map(resource_of, self._rows(RESOURCES, RESOURCE_COLUMNS))
            return Memory(list(resources), map(alias_of, self._rows(ALIASES, ALIAS_COLUMNS)))

    def keep(self, recognition: Recognition, now: datetime, *, run_id: str) -> None:
        """Writes what a collection changes, merges first: what is written afterwards speaks of the kept ids alone."""
        for merge in recognition.merges:
            merge_resource(self._connection, self._org_id, merge, now, run_id=run_id)
        dialect = self._connection.dialect.name
        new = ({"org_id": self._org_id, **resource_row(each)} for each in recognition.new)
        self._write(insert_unless_there(dialect, RESOURCES), new)
        self._write(_UPDATE, map(self._update_row, recognition.changed))
        aliases = ({"org_id": self._org_id, **alias_row(each)} for each in recognition.aliases)
        self._write(insert_or_replace(dialect, ALIASES, ("strength", "first_seen_at", "last_seen_at")), aliases)
        if recognition.saw_all:
            self._connection.execute(self._update(RESOURCES.c.presence == str(Presence.PRESENT), last_seen_at=now))

    def remove(self, resource_id: str, now: datetime) -> bool:
        """An operator says that a resource does not exist any more. False: it is removed already, or unknown."""
        statement = self._update(
            RESOURCES.c.id == resource_id,
            RESOURCES.c.presence != str(Presence.REMOVED),
            presence=str(Presence.REMOVED),
            removed_at=now,
            removed_by=str(RemovedBy.OPERATOR),
        )
        return self._connection.execute(statement).rowcount == 1

    def _rows(self, table: Table, columns: Sequence[str]) -> Iterable[Sequence[Any]]:
        # Instants as they are stored: `rows.instant` reads them once, the driver would a hundred thousand times.
        instants = [type_coerce(table.c[name], String) if name.endswith("_at") else table.c[name] for name in columns]
        return self._connection.execute(select(*instants).where(table.c.org_id == self._org_id))

    def _update(self, *where: Any, **values: object) -> Update:
        return RESOURCES.update().where(RESOURCES.c.org_id == self._org_id, *where).values(values)

    def _update_row(self, changed: Changed) -> dict[str, Cell]:
        row = resource_row(changed.after)
        row["at_org"], row["at_id"] = self._org_id, row.pop("id")
        row["at_presence"], row["at_absent_runs"] = str(changed.before.presence), changed.before.absent_runs
        return row

    def _write(self, statement: Insert | Update, rows: Iterable[dict[str, Cell]]) -> None:
        remaining = iter(rows)
        while chunk := list(islice(remaining, _AT_ONCE)):
            execute_many(self._connection, statement, chunk)
