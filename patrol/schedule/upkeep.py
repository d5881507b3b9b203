"""What a daemon's jobs do: enqueue the scheduled run, take back what is not alive, write the records that are owed."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo

import structlog
from sqlalchemy import Connection, func, select

from patrol.alerts.lifecycle import AlertChange
from patrol.alerts.receiving import expire
from patrol.alerts.store import AlertStore
from patrol.database import Database
from patrol.history.downsample import tidy_history
from patrol.operators.reminders import remind
from patrol.run.observer import NoObserver, Observer
from patrol.run.record_model import RunRecord, RunStatus, RunType
from patrol.run.retention import prune_evidence
from patrol.run.rows import run_row
from patrol.run.store import RunStore
from patrol.run.tables import RUNS
from patrol.schedule.gates import gates_of
from patrol.schedule.jobs import REMINDERS_FIRST, Duty, Job, JobName, schedules
from patrol.schedule.model import Occurrence
from patrol.schedule.pauses import find_pause
from patrol.settings.model import Settings, TriggersSection
from patrol.triggers.model import Depth, Occasion, Trigger, TriggerReason, TriggerScope
from patrol.work.model import Work, WorkReason
from patrol.work.queue import Ids, Offered, RunQueue, decode
from patrol.work.store import KEPT, IsGone, WorkStore

NOBODY = NoObserver()

_log = structlog.stdlib.get_logger("patrol.schedule")

_STATUSES = {
    WorkReason.PAUSED: RunStatus.SKIPPED,
    WorkReason.CANCELLED: RunStatus.CANCELLED,
    WorkReason.LEASE_EXPIRED: RunStatus.CRASHED,
    WorkReason.FAILED: RunStatus.ERROR,
}
_SENTENCES = {
    WorkReason.PAUSED: "Patrol was paused: `patrol resume` ends the pause",
    WorkReason.CANCELLED: "it was taken back before it began",
    WorkReason.LEASE_EXPIRED: "the process that was to carry it out ended before it did",
    WorkReason.FAILED: "it could not be carried out",
    WorkReason.EVICTED: "too many runs waited, and something more urgent came",
    WorkReason.QUEUE_FULL: "too many runs waited already",
    WorkReason.UNREADABLE: "what was to be looked at could not be read any more",
}


def full_round(reason: TriggerReason, at: datetime, *, missed: int = 0) -> Trigger:
    """A run over the whole estate. `missed`: how many before it did not happen."""
    occasion = Occasion(reason=reason, at=at, missed=missed)
    return Trigger(scope=TriggerScope(), occasions=(occasion,), depth=Depth.NORMAL)


def offer_run(
    connection: Connection, org_id: str, trigger: Trigger, now: datetime, triggers: TriggersSection, ids: Ids
) -> Offered:
    """Offers a trigger to the queue, through the gates as they stand at this moment."""
    return offer_runs(connection, org_id, [trigger], now, triggers, ids)[0]


def offer_runs(
    connection: Connection, org_id: str, wanted: Sequence[Trigger], now: datetime, triggers: TriggersSection, ids: Ids
) -> list[Offered]:
    """Offers what came at once, likewise; says of each what became of it."""
    gates = gates_of(triggers, find_pause(connection, org_id, now))
    return RunQueue(connection, org_id).offer_all(wanted, now, gates, ids)


@dataclass(slots=True, kw_only=True)
class ScheduledRun:
    """What the job of the scheduled run does. `wake`: told that one may wait."""

    org_id: str
    triggers: TriggersSection
    ids: Ids
    observer: Observer = NOBODY
    wake: Callable[[], object] = lambda: None
    _offered: tuple[Trigger, Offered] | None = field(default=None, init=False)

    def enqueue(self, connection: Connection, occurrence: Occurrence) -> None:
        """The run waits from the moment its time is taken, or it is written down why not."""
        trigger = full_round(TriggerReason.SCHEDULED, occurrence.at, missed=occurrence.missed)
        offered = offer_run(connection, self.org_id, trigger, occurrence.at, self.triggers, self.ids)
        self._offered = trigger, offered

    def tell(self, _occurrence: Occurrence) -> None:
        """What became of it, once that is written."""
        if self._offered is not None:
            trigger, offered = self._offered
            self._offered = None
            self.observer.trigger(trigger, offered.decision)
            self.wake()


_SUCCESSES = (RunStatus.HEALTHY, RunStatus.ISSUES_FOUND, RunStatus.CRITICAL)


def last_success_at(connection: Connection, org_id: str) -> datetime | None:
    """When the newest full run ended that saw all there is to see; None if there was none."""
    statement = select(func.max(RUNS.c.completed_at)).where(
        RUNS.c.org_id == org_id,
        RUNS.c.type == str(RunType.FULL),
        RUNS.c.status.in_([str(status) for status in _SUCCESSES]),
    )
    found: datetime | None = connection.execute(statement).scalar_one_or_none()
    return found


def recover(database: Database, org_id: str, now: datetime, is_gone: IsGone, observer: Observer = NOBODY) -> list[Work]:
    """Closes runs and takes back claims whose process is gone, then writes every record that is owed.

    Returns the claims that were taken back. Raises StorageError.
    """
    closed = RunStore(database, org_id).close_crashed(now, is_gone)

    def work(connection: Connection) -> tuple[list[Work], list[RunRecord]]:
        return WorkStore(connection, org_id).take_back(now, is_gone), record_owed(connection, org_id)

    taken, owed = database.transact(work)
    for run in (*closed, *owed):
        observer.run_ended(run, None)
    return taken


def record_owed(connection: Connection, org_id: str) -> list[RunRecord]:
    """Writes a record under each run id that was given out and that no run began under; returns them."""
    store = WorkStore(connection, org_id)
    written = []
    for work in store.list_owed():
        record = _record(work)
        # A run that began and crashed has its own record, which knows more.
        known = select(RUNS.c.id).where(RUNS.c.org_id == org_id, RUNS.c.id == work.run_id)
        if connection.execute(known).first() is None:
            connection.execute(RUNS.insert(), run_row(record))
            written.append(record)
        store.settle(work)
    return written


def forget_work(database: Database, org_id: str, now: datetime) -> int:
    """Deletes work that ended long ago; returns how many pieces. Raises StorageError."""
    return database.transact(lambda connection: WorkStore(connection, org_id).forget(now - KEPT))


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """What the standing jobs of a daemon need. `sample`: takes one sample; None where no source can be sampled.

    `observer`: is told of triggers, and of runs that are closed here; `wake`, that a run may wait. `still_alive`: says,
    before anybody looks for what is not alive, that what this process does is.
    """

    database: Database
    org_id: str
    settings: Settings
    ids: Ids
    is_gone: IsGone
    sample: Callable[[], object] | None = None
    still_alive: Callable[[datetime], object] = lambda _now: None
    observer: Observer = NOBODY
    wake: Callable[[], object] = lambda: None

    def jobs(self, zone: tzinfo) -> list[Job]:
        """Every job with its schedule and what it does. After a reload of the settings they are made anew."""
        duties: dict[JobName, Duty] = {
            JobName.REMINDERS: lambda occurrence: remind(self.database, self.org_id, occurrence.at),
            JobName.RETENTION: self._tidy,
            JobName.RECOVERY: self._recover,
            JobName.ALERTS: self._end_alerts,
        }
        sample = self.sample
        if sample is not None:
            duties[JobName.SAMPLER] = lambda _occurrence: sample()
        found = schedules(self.settings, zone)
        jobs = [
            Job(
                name=name,
                schedule=found[name],
                duty=duty,
                first_after=REMINDERS_FIRST if name is JobName.REMINDERS else None,
            )
            for name, duty in duties.items()
            if name in found
        ]
        run = ScheduledRun(
            org_id=self.org_id,
            triggers=self.settings.triggers,
            ids=self.ids,
            observer=self.observer,
            wake=self.wake,
        )
        schedule = found[JobName.PATROL]
        return [Job(name=JobName.PATROL, schedule=schedule, enqueue=run.enqueue, duty=run.tell), *jobs]

    def _recover(self, occurrence: Occurrence) -> None:
        self.still_alive(occurrence.at)
        recover(self.database, self.org_id, occurrence.at, self.is_gone, self.observer)

    def _end_alerts(self, occurrence: Occurrence) -> None:
        """One that ended without a word is looked after like one whose end was told."""

        def work(connection: Connection) -> tuple[Counter[AlertChange], list[Trigger], list[Offered]]:
            changes, wanted = expire(connection, self.org_id, occurrence.at)
            triggers = self.settings.triggers
            return changes, wanted, offer_runs(connection, self.org_id, wanted, occurrence.at, triggers, self.ids)

        with self.database.read() as connection:
            if not AlertStore(connection, self.org_id).list_expired(occurrence.at, 1):
                return  # as nearly always: nothing need be written to know
        changes, wanted, offered = self.database.transact(work)
        _log.info("alerts ended without a word", changes=dict(changes))
        for trigger, each in zip(wanted, offered, strict=True):
            self.observer.trigger(trigger, each.decision)
        self.wake()

    def _tidy(self, occurrence: Occurrence) -> None:
        prune_evidence(self.database, self.settings, occurrence.at, org_id=self.org_id)
        tidy_history(self.database, occurrence.at, self.org_id)
        forget_work(self.database, self.org_id, occurrence.at)


def _record(work: Work) -> RunRecord:
    trigger = decode(work.payload)
    reason = WorkReason(work.reason)
    sentence = _SENTENCES.get(reason, str(reason))
    is_full = trigger is None or trigger.scope.is_full
    return RunRecord(
        org_id=work.org_id,
        id=work.run_id,
        type=RunType.FULL if is_full else RunType.SCOPED,
        trigger_reason=str(trigger.reason) if trigger is not None else "",
        status=_STATUSES.get(reason, RunStatus.DROPPED),
        started_at=work.started_at or work.enqueued_at,
        completed_at=work.ended_at,
        error_summary=f"{sentence} ({work.detail})" if work.detail else sentence,
        scope=trigger.scope.resource_ids if trigger is not None else (),
        finding_id=trigger.leading.finding_id if trigger is not None else "",
    )
