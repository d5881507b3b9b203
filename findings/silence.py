"""Reasons to stay quiet about a finding, each with its end, its author and its words. Pure.

Two sorts: what an operator said of one finding (kept on the finding itself: snoozed, dismissed, suppressed, its
damage acknowledged), and a `Silence` about a resource or a kind, which covers whatever it is about for as long as
it is in force. Nothing is ever dismissed because of a silence: whether a finding is quiet is asked anew each time,
so that it is active again by itself when the reason ends, by time or by hand.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

PATROLS_OWN = frozenset({"source_blind", "model_unavailable"})
"""Kinds of findings about Patrol itself. Never quiet without an end: a watch that is blind must say so again."""


class QuietReason(StrEnum):
    """Why nobody is told of an open finding. Of several that last equally long the first in this order is given."""

    SUPPRESSED = "suppressed"  # this finding, until it is undone
    RULE = "rule"  # a suppression rule covers it
    OFFLINE = "offline"  # what it is about is switched off on purpose
    MAINTENANCE = "maintenance"  # what it is about is being worked on
    DISMISSED = "dismissed"  # until it gets more severe, or until its reminder
    SNOOZED = "snoozed"  # until a time, or until it gets more severe
    ACKNOWLEDGED = "acknowledged"  # counted damage that is known, until it grows


class SilenceKind(StrEnum):
    """What sort of silence it is."""

    SUPPRESSION = "suppression"  # a rule for a resource, a kind, or a kind on a resource
    MAINTENANCE = "maintenance"  # a window for a resource and everything that lives on it
    OFFLINE = "offline"  # a resource that is off on purpose, with everything that lives on it


class SilenceState(StrEnum):
    """Where a silence stands at a time."""

    SCHEDULED = "scheduled"
    IN_FORCE = "in_force"
    ENDED = "ended"


_QUIET_BY_KIND = {
    SilenceKind.SUPPRESSION: QuietReason.RULE,
    SilenceKind.MAINTENANCE: QuietReason.MAINTENANCE,
    SilenceKind.OFFLINE: QuietReason.OFFLINE,
}


class SilenceError(ValueError):
    """A silence that cannot be. `field`: which part of it is wrong; the message says how to put it right."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class Silenceable(Protocol):
    """What is asked of a finding."""

    @property
    def resource_id(self) -> str: ...

    @property
    def lives_on(self) -> Sequence[str]:
        """What its resource lives on or in, nearest first."""
        ...

    @property
    def kind(self) -> str: ...

    @property
    def suppressed(self) -> bool: ...

    @property
    def is_dismissed(self) -> bool: ...

    @property
    def remind_at(self) -> datetime | None:
        """When a dismissal ends by itself; None: it does not."""
        ...

    @property
    def snoozed_until(self) -> datetime | None: ...

    @property
    def damage_acknowledged(self) -> bool:
        """Whether all that is wrong is damage that was counted, known and acknowledged."""
        ...

    @property
    def acknowledged_by(self) -> str: ...

    @property
    def silenced_by(self) -> str: ...

    @property
    def silence_note(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """One silence about a resource or a kind ("": any). It stays in the record when it has ended.

    `ends_at` None: until an operator ends it. `ended_at`: when one did, which may be before `ends_at`.

    Invariants, kept here: never about everything, never over before it begins, always with words and an author; a
    maintenance window has an end and, like an offline resource, is about one resource; no rule suppresses what
    Patrol has to say about itself. Raises SilenceError.
    """

    org_id: str
    id: str
    kind: SilenceKind
    resource_id: str = ""
    resource_name: str = ""
    finding_kind: str = ""
    starts_at: datetime
    ends_at: datetime | None = None
    reason: str
    author: str
    created_at: datetime
    ended_at: datetime | None = None
    ended_by: str = ""

    def __post_init__(self) -> None:
        """Refuses what cannot be."""
        self._check_what_it_is_about()
        for name in ("starts_at", "ends_at", "created_at", "ended_at"):
            at = getattr(self, name)
            if at is not None and at.tzinfo is None:
                raise SilenceError(name, f"{name} needs its zone")
        if self.ends_at is not None and self.ends_at <= self.starts_at:
            raise SilenceError("until", "it would be over before it begins: give an end after its start")
        if self.kind is SilenceKind.MAINTENANCE and self.ends_at is None:
            raise SilenceError("until", "a maintenance window needs its end")
        if not self.reason.strip():
            raise SilenceError("reason", "say why, for whoever finds the silence later")
        if not self.author:
            raise SilenceError("author", "a silence needs its author")
        if (self.ended_at is None) is not (self.ended_by == ""):
            raise SilenceError("ended_by", "an end by hand has a time and an author, or neither")

    def _check_what_it_is_about(self) -> None:
        if self.kind is SilenceKind.SUPPRESSION:
            if not (self.resource_id or self.finding_kind):
                raise SilenceError("resource", "a rule for everything would hide everything: name a resource or a kind")
            if self.finding_kind in PATROLS_OWN:
                raise SilenceError(
                    "kind", f"{self.finding_kind} is how Patrol says that it cannot see: snooze it instead"
                )
            return
        if not self.resource_id:
            raise SilenceError("resource", f"{self.kind} is about one resource: name it")
        if self.finding_kind:
            raise SilenceError("kind", f"{self.kind} covers all kinds of findings: leave the kind out, or suppress it")

    def state(self, now: datetime) -> SilenceState:
        """Where it stands."""
        ends_at = self.end
        if ends_at is not None and ends_at <= now:
            return SilenceState.ENDED
        return SilenceState.IN_FORCE if self.starts_at <= now else SilenceState.SCHEDULED

    @property
    def end(self) -> datetime | None:
        """When it ends or ended, by time or by hand, whichever comes first; None: not yet known."""
        ends = [at for at in (self.ends_at, self.ended_at) if at is not None]
        return min(ends, default=None)

    def covers(self, finding: Silenceable) -> bool:
        """Whether it is about this finding."""
        if self.finding_kind and finding.kind != self.finding_kind:
            return False
        if self.kind is SilenceKind.SUPPRESSION:
            here = not self.resource_id or finding.resource_id == self.resource_id
            return here and finding.kind not in PATROLS_OWN
        if self.ends_at is None and finding.kind in PATROLS_OWN:
            return False
        return finding.resource_id == self.resource_id or self.resource_id in finding.lives_on


class Quiet(NamedTuple):
    """Why a finding is quiet. `until` None: no time is set. `by` its author, `note` the author's words.

    `silence_id`: the silence that covers it; "" where the operator spoke of this very finding.
    """

    reason: QuietReason
    until: datetime | None
    by: str
    note: str = ""
    silence_id: str = ""


def quiet(finding: Silenceable, silences: Iterable[Silence], now: datetime) -> Quiet | None:
    """Why nobody is told of an open finding, or None. Of several reasons the one that lasts longest.

    The answer depends on nothing but the arguments: at another time, or with a silence ended, it is another one.
    """
    reasons = [own for own in (own_quiet(finding, now),) if own is not None]
    reasons.extend(
        Quiet(_QUIET_BY_KIND[each.kind], each.end, each.author, each.reason, each.id)
        for each in silences
        if each.covers(finding) and each.state(now) is SilenceState.IN_FORCE
    )
    return max(reasons, key=_how_long, default=None)


def own_quiet(finding: Silenceable, now: datetime) -> Quiet | None:
    """What an operator said of this very finding, or None: the last word of those that exclude each other."""
    author, note = finding.silenced_by, finding.silence_note
    if finding.suppressed:
        return Quiet(QuietReason.SUPPRESSED, None, author, note)
    if finding.is_dismissed and not (finding.remind_at is not None and finding.remind_at <= now):
        return Quiet(QuietReason.DISMISSED, finding.remind_at, author, note)
    if finding.snoozed_until is not None and finding.snoozed_until > now:
        return Quiet(QuietReason.SNOOZED, finding.snoozed_until, author, note)
    if finding.damage_acknowledged:
        return Quiet(QuietReason.ACKNOWLEDGED, None, finding.acknowledged_by)
    return None


_ORDER = {reason: -position for position, reason in enumerate(QuietReason)}


def _how_long(each: Quiet) -> tuple[bool, float, int, str]:
    until = each.until
    return until is None, until.timestamp() if until is not None else 0, _ORDER[each.reason], each.silence_id
