"""A piece of work: what it is, where it stands, who has it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class WorkKind(StrEnum):
    """What there is to do."""

    RUN = "run"
    INVESTIGATION = "investigation"  # one finding looked into
    ESCALATION = "escalation"  # a finding to be handed on


class WorkState(StrEnum):
    """Where a piece of work stands."""

    WAITING = "waiting"
    RUNNING = "running"  # claimed, with a lease
    DONE = "done"
    FAILED = "failed"  # it was tried as often as it may be
    DROPPED = "dropped"  # never begun, and it will not be


OPEN = (WorkState.WAITING, WorkState.RUNNING)


class WorkReason(StrEnum):
    """Why a piece of work changed its state. Those of refused triggers are `patrol.triggers.queue.Rejection`."""

    ENQUEUED = "enqueued"
    MERGED = "merged"  # another one like it came and is served by this one
    CLAIMED = "claimed"
    PUT_BACK = "put_back"  # it could not begin: something else is under way
    LEASE_EXPIRED = "lease_expired"  # whoever had it is gone, or did not say for too long that it still has it
    DONE = "done"
    FAILED = "failed"
    EVICTED = "evicted"  # the queue was full and something more urgent came
    CANCELLED = "cancelled"  # an operator took it back
    UNREADABLE = "unreadable"  # what is stored of it is nothing that this version knows
    PAUSED = "paused"
    EVENTS_OFF = "events_off"
    ALERTS_OFF = "alerts_off"
    ANOMALIES_OFF = "anomalies_off"
    BELOW_MIN_SEVERITY = "below_min_severity"
    TYPE_LEFT_OUT = "type_left_out"
    QUEUE_FULL = "queue_full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One piece of work.

    `key`: two of a kind with one key are about the same. `payload`: JSON, of the kind's own shape. `run_id`: reserved
    for the run that will come of it, "" for other kinds. `not_before`: when it may be claimed, None for at once.
    `attempts`: how often it was begun, of `most_attempts`. `started_at`: of the last attempt. `reason`: of the last
    change. `times`: how many it stands for, itself and those that merged into it. `record_owed`: it ended without a
    run, and no run record says so yet. `version`: counts changes; with the id it is proof of a claim.
    """

    org_id: str
    id: str
    kind: WorkKind
    key: str
    state: WorkState = WorkState.WAITING
    priority: int = 0
    payload: str = "{}"
    run_id: str = ""
    enqueued_at: datetime
    not_before: datetime | None = None
    attempts: int = 0
    most_attempts: int = 1
    lease_owner: str = ""
    lease_expires_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    reason: str = WorkReason.ENQUEUED
    detail: str = ""
    times: int = 1
    record_owed: bool = False
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkChange:
    """One change of a piece of work, as it is kept."""

    work_id: str
    version: int
    old_state: str | None
    new_state: str
    reason: str
    at: datetime
    detail: str = ""
