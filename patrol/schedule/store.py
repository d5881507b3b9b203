"""Where jobs stand, in a database: a restart goes on where the process before it was."""

from dataclasses import fields, replace
from datetime import datetime, timedelta
from operator import attrgetter

from sqlalchemy import Connection, select

from findings.rows import storable
from patrol.database.inserts import insert_unless_there
from patrol.schedule.model import JobState, Occurrence, first_state, planned, taken
from patrol.schedule.tables import JOBS
from patrol.schedule.times import Schedule

ERROR_CHARACTERS = 500
_COLUMNS = tuple(field.name for field in fields(JobState))
_cells = attrgetter(*_COLUMNS)


class JobStore:
    """The jobs of one organisation, on a connection whose transaction the caller owns."""

    def __init__(self, connection: Connection, org_id: str) -> None:
        self._connection = connection
        self._org_id = org_id

    def find(self, name: str) -> JobState | None:
        """Where a job stands; None for one that was never planned."""
        columns = [JOBS.c[name] for name in _COLUMNS]
        statement = select(*columns).where(JOBS.c.org_id == self._org_id, JOBS.c.name == name)
        row = self._connection.execute(statement).first()
        return JobState(**row._asdict()) if row is not None else None

    def plan(self, name: str, schedule: Schedule, now: datetime, *, after: timedelta | None = None) -> JobState:
        """Where the job stands under this schedule, and from now on; `after`: its first time if it is new."""
        state = self.find(name)
        if state is None:
            state = first_state(self._org_id, name, schedule, now, after=after)
            row = dict(zip(_COLUMNS, _cells(state), strict=True))
            self._connection.execute(insert_unless_there(self._connection.dialect.name, JOBS), row)
            return self.find(name) or state
        return self._swap(state, planned(state, schedule, now))

    def take(self, name: str, schedule: Schedule, now: datetime) -> tuple[JobState, Occurrence | None]:
        """What is due of the job, which nobody else gets then; and where it stands afterwards."""
        state = self.plan(name, schedule, now)
        found = taken(state, schedule, now)
        if found is None:
            return state, None
        after, occurrence = found
        swapped = self._swap(state, after)
        return swapped, occurrence if swapped.version == state.version + 1 else None

    def note_end(self, name: str, error: str) -> JobState:
        """How the job went: "" for well. Raises LookupError for a job that was never planned."""
        state = self.find(name)
        if state is None:
            raise LookupError(name)
        said = storable(error)[:ERROR_CHARACTERS]
        return self._swap(state, replace(state, last_error=said, failures=state.failures + bool(error)))

    def _swap(self, old: JobState, new: JobState) -> JobState:
        """Puts `new` in the place of `old`; what is there, where somebody else was faster."""
        if new == old:
            return old
        changed = replace(new, version=old.version + 1)
        row = dict(zip(_COLUMNS, _cells(changed), strict=True))
        statement = JOBS.update().where(
            JOBS.c.org_id == self._org_id, JOBS.c.name == old.name, JOBS.c.version == old.version
        )
        if self._connection.execute(statement.values(**row)).rowcount == 0:
            return self.find(old.name) or old
        return changed
