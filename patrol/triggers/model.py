"""Triggers: what happened, what a run about it would be about, and how urgent that is."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from findings.identity import is_canonical
from findings.model import ResourceId, Severity
from findings.rows import storable


class TriggerReason(StrEnum):
    """Why a run should happen."""

    MANUAL = "manual"  # somebody asked for it
    SCHEDULED = "scheduled"  # it is time
    STARTUP = "startup"  # the daemon has just started
    CONFIG_CHANGED = "config_changed"  # settings changed that decide what is looked at
    ALERT_FIRED = "alert_fired"
    ALERT_CLEARED = "alert_cleared"
    ALERT_FLAPPING = "alert_flapping"  # it fires and clears again and again
    ANOMALY = "anomaly"  # a measurement left its usual range
    USER_ACTION = "user_action"  # an operator said or did something about a resource
    VERIFICATION = "verification"  # whether a change did what it should
    ESCALATION = "escalation"  # a run filed a finding that deserves a closer look


ALERT_REASONS = frozenset({TriggerReason.ALERT_FIRED, TriggerReason.ALERT_CLEARED, TriggerReason.ALERT_FLAPPING})
EVENT_REASONS = ALERT_REASONS | {TriggerReason.ANOMALY}
"""What comes by itself and as often as it likes: it can be switched off, waits for its turn, and may overflow."""

MANUAL_PRIORITY = 100
_PRIORITIES = {
    TriggerReason.MANUAL: MANUAL_PRIORITY,
    TriggerReason.ALERT_FIRED: 80,
    TriggerReason.ALERT_FLAPPING: 60,
    TriggerReason.ANOMALY: 60,
    TriggerReason.VERIFICATION: 50,
    TriggerReason.ESCALATION: 50,
    TriggerReason.ALERT_CLEARED: 40,
    TriggerReason.USER_ACTION: 30,
    TriggerReason.SCHEDULED: 20,
    TriggerReason.STARTUP: 20,
    TriggerReason.CONFIG_CHANGED: 20,
}
_ANOMALY_PRIORITIES = {Severity.CRITICAL: 85, Severity.WARNING: 70}


class Slot(StrEnum):
    """Where a run takes place. Of each there is one; a run in one of them does not wait for the other."""

    FULL = "full"  # everything that Patrol does by itself, and every run over the whole estate
    SCOPED = "scoped"  # what somebody asked of a part of it, and waits for


def slot_of(reason: str, *, is_full: bool) -> Slot:
    """The slot of a run with this reason."""
    return Slot.SCOPED if reason == TriggerReason.MANUAL and not is_full else Slot.FULL


class Depth(StrEnum):
    """How closely a run looks."""

    QUICK = "quick"
    NORMAL = "normal"


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerScope:
    """What a run would be about: these resources, or all of these types; nothing named means the whole estate.

    Ids are canonical, each once, sorted: two ways of writing one resource are one scope. An id says all there is to
    say, so that it never goes with a type, which could only be wrong about it. Raises ValueError.
    """

    resource_ids: tuple[ResourceId, ...] = ()
    resource_types: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Sorts, and checks the invariant."""
        foreign = [each for each in self.resource_ids if not is_canonical(each)]
        if foreign:
            raise ValueError(f"not canonical ids: {', '.join(map(repr, foreign))}")
        if self.resource_ids and self.resource_types:
            raise ValueError("a scope names resources or types, never both")
        object.__setattr__(self, "resource_ids", tuple(sorted(set(self.resource_ids))))
        object.__setattr__(self, "resource_types", tuple(sorted(set(self.resource_types))))

    @property
    def is_full(self) -> bool:
        """Whether it is the whole estate."""
        return not self.resource_ids and not self.resource_types

    def touches(self, other: "TriggerScope") -> bool:
        """Whether a run about the other looked at something of this one, as far as their names tell."""
        return (
            other.is_full
            or not set(self.resource_ids).isdisjoint(other.resource_ids)
            or not set(self.resource_types).isdisjoint(other.resource_types)
        )


HINT_CHARACTERS = 240
MESSAGE_CHARACTERS = 1_000
NAME_CHARACTERS = 200
_FOREIGN_TEXTS = {
    "hint": HINT_CHARACTERS,
    "message": MESSAGE_CHARACTERS,
    "alert_id": NAME_CHARACTERS,
    "alert_type": NAME_CHARACTERS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """One thing that happened. Texts come from outside: they are cut here and shown only escaped.

    `severity`: of the alert or the anomaly; None where its level is unknown, which counts as critical. `missed`: how
    many times of the schedule went by without a run and are made up for by this one.
    """

    reason: TriggerReason
    at: datetime
    hint: str = ""
    alert_id: str = ""
    alert_type: str = ""
    severity: Severity | None = None
    value: float | None = None
    limit: float | None = None
    message: str = ""
    finding_id: str = ""
    missed: int = 0

    def __post_init__(self) -> None:
        """Cuts what is too long, and mends what no database takes."""
        for name, longest in _FOREIGN_TEXTS.items():
            object.__setattr__(self, name, storable(getattr(self, name)[:longest]))

    @property
    def subject(self) -> tuple[str, str, str, str]:
        """What it is about. Of two about the same the newer says it all."""
        return (self.reason, self.alert_id, self.alert_type, self.finding_id)

    @property
    def priority(self) -> int:
        """How urgent it is: 0 to 100."""
        if self.reason is TriggerReason.ANOMALY:
            return _ANOMALY_PRIORITIES.get(self.severity or Severity.CRITICAL, _PRIORITIES[self.reason])
        return _PRIORITIES[self.reason]


MOST_OCCASIONS = 50
"""More things to say about one scope than a run can take in. The most urgent ones are kept, the rest is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """A wanted run: its scope, and everything that asks for it. `left_out`: occasions beyond `MOST_OCCASIONS`.

    Invariant: there is at least one occasion, and no two are about the same. An event is about something: one whose
    resource nobody knows never becomes a run over everything. Raises ValueError.
    """

    scope: TriggerScope
    occasions: tuple[Occasion, ...]
    depth: Depth = Depth.QUICK
    left_out: int = 0

    def __post_init__(self) -> None:
        """Checks the invariant."""
        if not self.occasions or len({each.subject for each in self.occasions}) < len(self.occasions):
            raise ValueError("a trigger has occasions, and each of its own")
        if self.scope.is_full and any(each.reason in EVENT_REASONS for each in self.occasions):
            raise ValueError("an event is about something: it starts no run over everything")

    @property
    def leading(self) -> Occasion:
        """The occasion that says why: the most urgent, of several the first."""
        return max(self.occasions, key=lambda each: each.priority)

    @property
    def reason(self) -> TriggerReason:
        """Why, in one word."""
        return self.leading.reason

    @property
    def priority(self) -> int:
        """How urgent it is before it has waited."""
        return self.leading.priority

    @property
    def is_manual(self) -> bool:
        """Whether somebody waits for it: it is never put off, given up for another, or mixed with what is not."""
        return self.reason is TriggerReason.MANUAL

    @property
    def slot(self) -> Slot:
        """Where its run takes place."""
        return slot_of(self.reason, is_full=self.scope.is_full)

    @property
    def is_event(self) -> bool:
        """Whether only events ask for it."""
        return all(each.reason in EVENT_REASONS for each in self.occasions)

    @property
    def is_round(self) -> bool:
        """Whether it is a round through the whole estate that nobody asked for: there is at most one, always let in."""
        return self.scope.is_full and not self.is_manual

    def is_like(self, other: "Trigger") -> bool:
        """Whether one run serves both: the same scope; of manual ones the same question too."""
        if self.scope != other.scope or self.is_manual is not other.is_manual:
            return False
        return not self.is_manual or {each.subject for each in self.occasions} == {
            each.subject for each in other.occasions
        }

    def joined(self, newer: "Trigger") -> "Trigger":
        """One trigger that knows of both: nothing that either says is lost."""
        occasions = {each.subject: each for each in self.occasions}
        for each in newer.occasions:
            before = occasions.get(each.subject)
            occasions[each.subject] = each if before is None else _renewed(before, each)
        kept = _most_urgent(occasions.values())
        return Trigger(
            scope=self.scope,
            occasions=kept,
            depth=Depth.NORMAL if Depth.NORMAL in {self.depth, newer.depth} else Depth.QUICK,
            left_out=self.left_out + newer.left_out + len(occasions) - len(kept),
        )


def _renewed(before: Occasion, newer: Occasion) -> Occasion:
    """The newer of two about the same. Of two times of the schedule in one run, one was missed."""
    scheduled = newer.reason is TriggerReason.SCHEDULED
    return replace(newer, missed=before.missed + newer.missed + scheduled, hint=newer.hint or before.hint)


def _most_urgent(occasions: Iterable[Occasion]) -> tuple[Occasion, ...]:
    """As many as a run takes in, in the order they came."""
    found = list(occasions)
    urgent = sorted(range(len(found)), key=lambda place: (-found[place].priority, place))[:MOST_OCCASIONS]
    return tuple(found[place] for place in sorted(urgent))
