"""When the next full run is due: that of a start, the one that waits, or the next time of the schedule."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from patrol.schedule.jobs import JobName
from patrol.schedule.model import FirstRun, first_run
from patrol.schedule.pauses import find_pause
from patrol.schedule.store import JobStore
from patrol.schedule.upkeep import last_success_at
from patrol.work.model import WorkKind, WorkState
from patrol.work.queue import decode
from patrol.work.store import WorkStore


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRound:
    """The run of a daemon that has just started, until it is decided.

    `at`: when that is done, and when the schedule begins what is overdue. `due_at`: of the scheduled run, as the start
    found it. `follows_crash`: the newest run crashed, so that another one has to look again, whatever came before it.
    """

    at: datetime
    due_at: datetime
    follows_crash: bool

    def wanted(self, last_success_at: datetime | None, now: datetime) -> FirstRun:
        """What is to be done about it, by what is known now."""
        found = first_run(self.due_at, last_success_at, now)
        return FirstRun.STARTUP if found is FirstRun.NOT_NEEDED and self.follows_crash else found


def next_run_at(connection: Connection, org_id: str, first: FirstRound | None, now: datetime) -> datetime | None:
    """When the next full run is due; None if none is planned. `first`: while it is not decided.

    A time that is over is one that was missed: as long as a run waits for its turn, or nobody could take its time, it
    is the time since when. What a pause holds back misses nothing.
    """
    waiting = _waits_since(connection, org_id, now)
    if waiting is not None:
        return waiting
    job = JobStore(connection, org_id).find(JobName.PATROL)
    if job is None or first is None:
        return job.due_at if job is not None else None
    match first.wanted(last_success_at(connection, org_id), max(first.at, now)):
        case FirstRun.STARTUP:
            return first.at
        case FirstRun.CATCH_UP:
            return max(first.at, job.due_at)
        case FirstRun.NOT_NEEDED:
            return job.due_at


def _waits_since(connection: Connection, org_id: str, now: datetime) -> datetime | None:
    """Since when the full run that waits longest does."""
    is_paused = find_pause(connection, org_id, now) is not None
    for work in WorkStore(connection, org_id).list_work(WorkKind.RUN, (WorkState.WAITING,)):
        trigger = decode(work.payload)
        if trigger is not None and trigger.scope.is_full and (trigger.is_manual or not is_paused):
            return work.enqueued_at
    return None
