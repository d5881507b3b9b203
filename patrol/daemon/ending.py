"""How the work of a run ends: done, failed, or put back for another time; a record is written in every case."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import Connection, select

from patrol.daemon.escalations import note_looked_into
from patrol.run import RunReport
from patrol.run.cancel import RunCancelledError
from patrol.run.record_model import RunRecord, RunStatus
from patrol.run.rows import RUN_COLUMNS, run_of
from patrol.run.store import RunInProgressError, RunStore
from patrol.run.tables import RUNS
from patrol.schedule.upkeep import record_owed
from patrol.work.model import Work
from patrol.work.queue import decode
from patrol.work.store import WorkStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What becomes of a claim. `error` "": it is done. `not_before`: it was not begun, and waits until then.

    `status`: of a run that began and could not write its own end.
    """

    at: datetime
    error: str = ""
    not_before: datetime | None = None
    status: RunStatus = RunStatus.ERROR

    @classmethod
    def of(cls, result: "RunReport | BaseException", now: datetime, retry: timedelta) -> "Ending":
        """The ending that a result means. Who finds its slot taken by another process waits for it."""
        if isinstance(result, RunInProgressError):
            return cls(at=now, error=str(result), not_before=now + retry)
        if isinstance(result, RunCancelledError):
            return cls(at=now, error=str(result), status=RunStatus.CANCELLED)
        if isinstance(result, BaseException):
            return cls(at=now, error=f"{type(result).__name__}: {result}")
        return cls(at=now)


def put_back(now: datetime, why: str) -> Ending:
    """It was claimed, and is not begun."""
    return Ending(at=now, error=why, not_before=now)


def close_work(connection: Connection, runs: RunStore, org_id: str, work: Work, ending: Ending) -> list[RunRecord]:
    """Writes it down, and returns the records of runs whose end was not recorded by now. Raises WorkLostError."""
    store = WorkStore(connection, org_id)
    if ending.not_before is not None:
        store.put_back(work, ending.at, ending.not_before, ending.error)
    elif ending.error:
        store.fail(work, ending.at, ending.error)
        return [*_ended(connection, runs, org_id, work.run_id, ending), *record_owed(connection, org_id)]
    else:
        store.finish(work, ending.at)
        trigger = decode(work.payload)
        if trigger is not None and work.started_at is not None:
            note_looked_into(connection, org_id, trigger, work.started_at)
    return []


def _ended(connection: Connection, runs: RunStore, org_id: str, run_id: str, ending: Ending) -> list[RunRecord]:
    """Ends a run that could not write its own end, the disk being full: its process lives, so that it never crashed."""
    statement = select(*(RUNS.c[name] for name in RUN_COLUMNS)).where(
        RUNS.c.org_id == org_id, RUNS.c.id == run_id, RUNS.c.status == str(RunStatus.RUNNING)
    )
    row = connection.execute(statement).first()
    if row is None:
        return []
    run = run_of(row)
    ended = replace(
        run,
        status=ending.status,
        completed_at=max(ending.at, run.started_at),
        complete=False,
        error_summary=ending.error,
    )
    runs.finish(connection, ended)
    return [ended]
