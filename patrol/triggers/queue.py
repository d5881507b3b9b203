"""The queue of runs as decisions: what becomes of a trigger that is offered, and which one is next. Pure.

What waits and what ran before is handed in; whoever asks writes the answer down (`patrol.work.queue`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from findings.model import Severity
from patrol.triggers.model import ALERT_REASONS, EVENT_REASONS, Occasion, Trigger, TriggerReason
from patrol.triggers.pacing import LIMITS, Limits, Past, free_at, pace


class Rejection(StrEnum):
    """Why a trigger was not let in."""

    PAUSED = "paused"  # an operator paused Patrol; only what somebody asks for runs
    EVENTS_OFF = "events_off"  # runs that nobody asked for are not allowed now
    ALERTS_OFF = "alerts_off"  # [triggers] alerts = false
    ANOMALIES_OFF = "anomalies_off"  # [triggers] anomalies = false
    BELOW_MIN_SEVERITY = "below_min_severity"  # [triggers] min_severity
    TYPE_LEFT_OUT = "type_left_out"  # [triggers] alert_types
    QUEUE_FULL = "queue_full"  # as many wait as may, all as urgent or more


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """What may start a run now. `events_off`: a sentence why events may not; "" where they may.

    `alert_types`: of alerts that may; empty for all, letters of any case.
    """

    is_paused: bool = False
    events_off: str = ""
    alerts: bool = True
    anomalies: bool = True
    min_severity: Severity = Severity.WARNING
    alert_types: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A trigger that waits. `not_before`: it was tried and put back until then."""

    id: str
    trigger: Trigger
    enqueued_at: datetime
    not_before: datetime | None = None

    def urgency(self, now: datetime, limits: Limits = LIMITS) -> float:
        """Its priority, and a point for each time that it has waited: nothing waits for ever."""
        return self.trigger.priority + max(0.0, (now - self.enqueued_at) / limits.ages_every)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """It waits now. `evicted`: the one that had to go for it."""

    evicted: Pending | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """One that waits already serves it: that one is `trigger` from now on."""

    into: str
    trigger: Trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderWay:
    """Somebody asked for the very run that is under way."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """It was not let in."""

    reason: Rejection


Decision: TypeAlias = Accepted | Merged | UnderWay | Rejected


def offer(
    trigger: Trigger,
    pending: Sequence[Pending],
    running: Sequence[Pending],
    now: datetime,
    gates: Gates,
    limits: Limits = LIMITS,
) -> Decision:
    """What becomes of a new trigger.

    First whether it may, then whether one that waits serves it, and only then whether there is room: what merges
    needs none. A run under way serves only the manual trigger that asks the same; it has looked at its evidence
    already, and what happens now is news to it.
    """
    refusal = refused(trigger, gates)
    if refusal is not None:
        return Rejected(reason=refusal)
    if trigger.is_manual:
        for one in running:
            if trigger.is_like(one.trigger):
                return UnderWay(id=one.id)
    for one in pending:
        if trigger.is_like(one.trigger):
            return Merged(into=one.id, trigger=one.trigger.joined(trigger))
    counted = [one for one in pending if not one.trigger.is_round]
    if trigger.is_round or len(counted) < limits.most_pending:
        return Accepted()
    victim = _victim(counted, now, limits)
    if victim is None or not (trigger.is_manual or victim.urgency(now, limits) < trigger.priority):
        return Rejected(reason=Rejection.QUEUE_FULL)
    return Accepted(evicted=victim)


def _victim(counted: Sequence[Pending], now: datetime, limits: Limits) -> Pending | None:
    """The least urgent one, of several the youngest. Never one that somebody waits for."""
    waiting = [one for one in counted if not one.trigger.is_manual]
    return max(waiting, key=lambda one: (-one.urgency(now, limits), one.enqueued_at, one.id), default=None)


def refused(trigger: Trigger, gates: Gates) -> Rejection | None:
    """Why the settings or an operator do not let it in, or None. One occasion that may is enough."""
    refusals = [_refused(each, gates) for each in trigger.occasions]
    return None if None in refusals else refusals[0]


def _refused(occasion: Occasion, gates: Gates) -> Rejection | None:
    if occasion.reason is TriggerReason.MANUAL:
        return None
    if gates.is_paused:
        return Rejection.PAUSED
    if occasion.reason not in EVENT_REASONS:
        return None
    # Severity also for an alert that cleared: who does not want to hear of it does not want to hear that it is over.
    closed = {
        Rejection.EVENTS_OFF: bool(gates.events_off),
        Rejection.ALERTS_OFF: occasion.reason in ALERT_REASONS and not gates.alerts,
        Rejection.ANOMALIES_OFF: occasion.reason is TriggerReason.ANOMALY and not gates.anomalies,
        Rejection.BELOW_MIN_SEVERITY: (occasion.severity or Severity.CRITICAL).rank < gates.min_severity.rank,
        Rejection.TYPE_LEFT_OUT: occasion.reason in ALERT_REASONS and _is_left_out(occasion.alert_type, gates),
    }
    return next((reason for reason, is_closed in closed.items() if is_closed), None)


def _is_left_out(alert_type: str, gates: Gates) -> bool:
    allowed = {each.casefold() for each in gates.alert_types}
    return bool(allowed) and alert_type.casefold() not in allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """Which trigger becomes a run now; where none does, when to ask again. Both None: when something has changed."""

    due: Pending | None = None
    ask_at: datetime | None = None


def next_due(pending: Sequence[Pending], past: Past, now: datetime, gates: Gates, limits: Limits = LIMITS) -> Next:
    """The most urgent trigger whose time has come; of equally urgent ones the one that waits longest.

    A slot in which a run is under way takes no second one.
    """
    taken = past.taken
    due: list[Pending] = []
    later: list[datetime] = []
    for one in pending:
        if one.trigger.slot in taken or (gates.is_paused and not one.trigger.is_manual):
            continue  # it waits until that run, or the pause, is over
        at = due_at(one, past, now, limits)
        if at <= now:
            due.append(one)
        else:
            later.append(at)
    if not due:
        return Next(ask_at=min(later, default=None))
    return Next(due=min(due, key=lambda one: (-one.urgency(now, limits), one.enqueued_at, one.id)))


def due_at(one: Pending, past: Past, now: datetime, limits: Limits = LIMITS) -> datetime:
    """From when a pending trigger may become a run. Only events keep their distance to the runs before them."""
    free = free_at(one.trigger.scope, past, now, limits) if one.trigger.is_event else now
    if one.not_before is None or one.not_before - now > limits.longest_put_back:
        return free
    return max(free, one.not_before)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStatus:
    """The queue as others are told of it."""

    running: bool
    pending_triggers: int
    current_interval_ms: int
    recent_events: int
    is_busy_mode: bool
    alert_triggers_enabled: bool
    anomaly_triggers_enabled: bool
    event_triggers_blocked: bool
    event_triggers_blocked_reason: str
    event_triggers_blocked_message: str


def status(pending: Sequence[Pending], past: Past, now: datetime, gates: Gates, limits: Limits = LIMITS) -> QueueStatus:
    """How the queue stands. Asking changes nothing."""
    current = pace(past.events, now, limits)
    paused = "Patrol is paused: only runs that somebody asks for are started." if gates.is_paused else ""
    message = paused or gates.events_off
    return QueueStatus(
        running=past.is_running,
        pending_triggers=len(pending),
        current_interval_ms=int(current.interval.total_seconds() * 1000),
        recent_events=current.recent_events,
        is_busy_mode=current.is_busy,
        alert_triggers_enabled=gates.alerts,
        anomaly_triggers_enabled=gates.anomalies,
        event_triggers_blocked=bool(message),
        event_triggers_blocked_reason=_blocked_by(gates),
        event_triggers_blocked_message=message,
    )


def _blocked_by(gates: Gates) -> str:
    if gates.is_paused:
        return str(Rejection.PAUSED)
    return "background_automation_disabled" if gates.events_off else ""
