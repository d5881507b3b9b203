"""What an operator's word changes of a finding. Pure.

A verb is decided on the finding as it is now; storing it is compare-and-swap, and whoever loses decides again. Of
snoozed, dismissed and suppressed at most one holds: the last word replaces the one before. A verb that changes
nothing is no event.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from findings.lifecycle import Advance, Change
from findings.model import DismissedReason, Finding, FindingState, ResolveReason, Transition, TransitionReason
from findings.silence import PATROLS_OWN, QuietReason, own_quiet
from findings.verbs import REMINDER, Acknowledge, Dismiss, Note, Resolve, Snooze, Suppress, Undo, Undoable, Verb
from findings.weighing import find_record


class VerbRefusedError(ValueError):
    """A verb that cannot be. `field`: which part of it is wrong; the message says how to put it right."""

    def __init__(self, finding_id: str, field: str, message: str) -> None:
        super().__init__(message)
        self.finding_id = finding_id
        self.field = field


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A finding before and after a verb, and the event that tells of it."""

    change: Change
    transition: Transition

    def as_advance(self) -> Advance:
        """As the store takes changes."""
        return Advance(changes=(self.change,), transitions=(self.transition,), outcomes={})


class _Said(NamedTuple):
    """The finding after a verb, and what the event says of it."""

    after: Finding
    reason: TransitionReason
    note: str = ""
    until: datetime | None = None
    dismissed_reason: DismissedReason | None = None


def decide(
    finding: Finding, verb: Verb, now: datetime, *, author: str, history: Sequence[Transition] = ()
) -> Decision | None:
    """What a verb changes, or None where everything is so already.

    `history`: all transitions of the finding, oldest first; only taking back looks at it. Raises VerbRefusedError,
    and ValueError for a naive `now` or no author.
    """
    if now.tzinfo is None or not author:
        raise ValueError("a verb needs an author, and a time with its zone")
    said = _say(finding, verb, now, author, history)
    if said is None:
        return None
    after = replace(said.after, version=finding.version + 1)
    transition = Transition(
        finding_id=finding.id,
        version=after.version,
        run_id="",
        old_state=finding.state,
        new_state=after.state,
        reason=said.reason,
        resolve_reason=after.resolve_reason,
        old_severity=finding.severity,
        new_severity=after.severity,
        at=now,
        old_quiet=_quiet_word(finding, now),
        new_quiet=_quiet_word(after, now),
        author=author,
        note=said.note,
        until=said.until,
        dismissed_reason=said.dismissed_reason,
    )
    return Decision(change=Change(finding, after), transition=transition)


def _quiet_word(finding: Finding, now: datetime) -> QuietReason | None:
    said = own_quiet(finding, now)
    return said.reason if said is not None else None


def _say(finding: Finding, verb: Verb, now: datetime, author: str, history: Sequence[Transition]) -> _Said | None:
    match verb:
        case Acknowledge():
            said = _acknowledge(finding, verb, now, author)
        case Snooze():
            said = _snooze(finding, verb, now, author)
        case Dismiss():
            said = _dismiss(finding, verb, now, author)
        case Suppress():
            said = _suppress(finding, verb, now, author)
        case Resolve():
            said = _resolve(finding, verb, now)
        case Note():
            said = _note(finding, verb)
        case _:
            said = _undo(finding, verb, now, history)
    return said


def _acknowledge(finding: Finding, verb: Acknowledge, now: datetime, author: str) -> _Said | None:
    _refuse_resolved(finding, "acknowledge")
    record = find_record(finding.kind)
    counted = dict(finding.facts) if record is not None and record.grows else {}
    if finding.acknowledged_at is not None and finding.acknowledged_facts == counted:
        return None
    after = replace(finding, acknowledged_at=now, acknowledged_by=author, acknowledged_facts=counted)
    return _Said(after, TransitionReason.ACKNOWLEDGED, verb.note)


def _snooze(finding: Finding, verb: Snooze, now: datetime, author: str) -> _Said | None:
    _refuse_resolved(finding, "snooze")
    if verb.until.tzinfo is None:
        raise VerbRefusedError(finding.id, "until", "the end of a snooze needs its zone")
    if verb.until <= now:
        raise VerbRefusedError(finding.id, "until", "a snooze that is over already: give a time to come")
    if (finding.snoozed_until, finding.silence_note) == (verb.until, verb.note):
        return None
    after = replace(_signed(finding, now, author, verb.note), snoozed_until=verb.until)
    return _Said(after, TransitionReason.SNOOZED, verb.note, verb.until)


def _dismiss(finding: Finding, verb: Dismiss, now: datetime, author: str) -> _Said | None:
    _refuse_patrols_own(finding)
    _refuse_resolved(finding, "dismiss")
    remind_at = verb.remind_at
    if verb.reason is DismissedReason.WILL_FIX_LATER:
        remind_at = remind_at if remind_at is not None else now + REMINDER
        if remind_at.tzinfo is None:
            raise VerbRefusedError(finding.id, "until", "the day of a reminder needs its zone")
        if remind_at <= now:
            raise VerbRefusedError(finding.id, "until", "a reminder in the past: give a time to come")
    elif remind_at is not None:
        raise VerbRefusedError(finding.id, "until", f"{verb.reason} has no end: use will_fix_later, or snooze it")
    wanted = (verb.reason, remind_at, verb.note)
    if (finding.dismissed_reason, finding.remind_at, finding.silence_note) == wanted:
        return None
    after = replace(_signed(finding, now, author, verb.note), dismissed_reason=verb.reason, remind_at=remind_at)
    return _Said(after, TransitionReason.DISMISSED, verb.note, remind_at, verb.reason)


def _suppress(finding: Finding, verb: Suppress, now: datetime, author: str) -> _Said | None:
    _refuse_patrols_own(finding)
    if finding.suppressed and finding.silence_note == verb.note:
        return None
    after = replace(_signed(finding, now, author, verb.note), suppressed=True)
    return _Said(after, TransitionReason.SUPPRESSED, verb.note)


def _resolve(finding: Finding, verb: Resolve, now: datetime) -> _Said | None:
    if not finding.is_open:
        return None
    after = replace(
        finding,
        state=FindingState.RESOLVED,
        resolved_at=now,
        resolve_reason=ResolveReason.OPERATOR,
        clear_streak=0,
    )
    return _Said(after, TransitionReason.RESOLVED, verb.note)


def _note(finding: Finding, verb: Note) -> _Said | None:
    if verb.text == finding.user_note:
        return None
    return _Said(replace(finding, user_note=verb.text), TransitionReason.NOTED, verb.text)


def _refuse_resolved(finding: Finding, verb: str) -> None:
    if not finding.is_open:
        raise VerbRefusedError(finding.id, "id", f"it is resolved: there is nothing to {verb}")


def _refuse_patrols_own(finding: Finding) -> None:
    if finding.kind in PATROLS_OWN:
        message = f"{finding.kind} is how Patrol says that it cannot see: mend the source, or snooze it"
        raise VerbRefusedError(finding.id, "id", message)


def _signed(finding: Finding, now: datetime, author: str, note: str) -> Finding:
    """With a new word to come, and no old one beside it."""
    return replace(_spoken_for(finding), silenced_at=now, silenced_by=author, silence_note=note)


def _spoken_for(finding: Finding) -> Finding:
    """With no word about its quiet at all."""
    return replace(
        finding,
        snoozed_until=None,
        dismissed_reason=None,
        remind_at=None,
        suppressed=False,
        silenced_at=None,
        silenced_by="",
        silence_note="",
    )


_SAID_BY = {
    Undoable.ACK: TransitionReason.ACKNOWLEDGED,
    Undoable.SNOOZE: TransitionReason.SNOOZED,
    Undoable.DISMISS: TransitionReason.DISMISSED,
    Undoable.SUPPRESS: TransitionReason.SUPPRESSED,
    Undoable.RESOLVE: TransitionReason.RESOLVED,
    Undoable.NOTE: TransitionReason.NOTED,
}
_QUIET_ENDS = {
    Undoable.SNOOZE: TransitionReason.UNSNOOZED,
    Undoable.DISMISS: TransitionReason.UNDISMISSED,
    Undoable.SUPPRESS: TransitionReason.UNSUPPRESSED,
}


def undoable(finding: Finding, now: datetime, history: Sequence[Transition] = ()) -> list[Undoable]:
    """What of an operator's words is in force and can be taken back, the last one first."""
    in_force = {
        Undoable.RESOLVE: finding.resolve_reason is ResolveReason.OPERATOR,
        Undoable.SUPPRESS: finding.suppressed,
        Undoable.DISMISS: finding.is_dismissed,
        Undoable.SNOOZE: finding.snoozed_until is not None and finding.snoozed_until > now,
        Undoable.ACK: finding.acknowledged_at is not None,
        Undoable.NOTE: bool(finding.user_note or _notes(history)),
    }
    said_at = {change.reason: change.version for change in history}
    found = [what for what, holds in in_force.items() if holds]
    return sorted(found, key=lambda what: said_at.get(_SAID_BY[what], 0), reverse=True)


def _undo(finding: Finding, verb: Undo, now: datetime, history: Sequence[Transition]) -> _Said:
    found = undoable(finding, now, history)
    if not found or (verb.what is not None and verb.what not in found):
        what = "nothing" if verb.what is None else f"no {verb.what}"
        known = f"; what can be taken back: {', '.join(found)}" if found else ""
        raise VerbRefusedError(finding.id, "what", f"{what} in force that could be taken back{known}")
    what = verb.what if verb.what is not None else found[0]
    if what in _QUIET_ENDS:
        return _Said(_spoken_for(finding), _QUIET_ENDS[what])
    if what is Undoable.ACK:
        after = replace(finding, acknowledged_at=None, acknowledged_by="", acknowledged_facts={})
        return _Said(after, TransitionReason.UNACKNOWLEDGED)
    if what is Undoable.RESOLVE:
        after = replace(finding, state=FindingState.OPEN, resolved_at=None, resolve_reason=None)
        return _Said(after, TransitionReason.REOPENED)
    under = _notes(history)[-2:-1]
    before = under[0] if under else ""
    return _Said(replace(finding, user_note=before), TransitionReason.UNNOTED, before)


def _notes(history: Iterable[Transition]) -> list[str]:
    """The notes that lie on each other, the present one on top: each taking back uncovers the one before it."""
    notes: list[str] = []
    for change in history:
        if change.reason is TransitionReason.NOTED:
            notes.append(change.note)
        elif change.reason is TransitionReason.UNNOTED:
            notes = notes[:-1]
    return notes
