"""What each verb changes, what it refuses, and how it is taken back."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from findings.decision import VerbRefusedError, decide, undoable
from findings.kinds import Kind
from findings.model import DismissedReason, FindingState, ResolveReason, TransitionReason
from findings.silence import QuietReason
from findings.verbs import REMINDER, Acknowledge, Dismiss, Note, Resolve, Snooze, Suppress, Undo, Undoable
from tests.findings.builders import NOW, finding

LATER = NOW + timedelta(hours=2)
DISK = finding(Kind.SMART_FAILURE, facts={"reallocated_sectors": 5})
BLIND = finding(Kind.SOURCE_BLIND)
GONE = finding(state=FindingState.RESOLVED, resolved_at=NOW, resolve_reason=ResolveReason.CLEARED)
WILL_FIX = Dismiss(reason=DismissedReason.WILL_FIX_LATER)
NOT_ONE = Dismiss(reason=DismissedReason.NOT_AN_ISSUE, note="test host")


def said(one, *verbs, now=NOW, author="ann"):
    """The finding after these verbs, and the events."""
    events = []
    for verb in verbs:
        decision = decide(one, verb, now, author=author, history=events)
        if decision is not None:
            assert decision.change.before == one
            assert decision.change.after.version == decision.transition.version == one.version + 1
            one = decision.change.after
            events.append(decision.transition)
    return one, events


def test_acknowledging_stores_the_counts_of_what_can_only_be_counted():
    after, [event] = said(DISK, Acknowledge(note="old"))
    assert (after.acknowledged_at, after.acknowledged_by) == (NOW, "ann")
    assert after.acknowledged_facts == {"reallocated_sectors": 5}
    assert after.is_silenced(LATER)
    assert (event.reason, event.note) == (TransitionReason.ACKNOWLEDGED, "old")
    assert (event.old_quiet, event.new_quiet) == (None, QuietReason.ACKNOWLEDGED)


def test_acknowledging_what_can_be_seen_to_end_leaves_it_active():
    after, _ = said(finding(facts={"used_bytes": 7.0}), Acknowledge())
    assert (after.acknowledged_at, after.acknowledged_facts) == (NOW, {})
    assert after.is_active(LATER)


def test_acknowledging_again_counts_from_the_new_value():
    known, _ = said(DISK, Acknowledge())
    grown = replace(known, facts={"reallocated_sectors": 9})
    assert decide(known, Acknowledge(), LATER, author="ben") is None
    assert said(grown, Acknowledge())[0].acknowledged_facts == {"reallocated_sectors": 9}


def test_a_snooze_ends_at_its_time():
    after, [event] = said(finding(), Snooze(until=LATER, note="asleep"))
    assert (after.snoozed_until, after.silenced_by, after.silenced_at, after.silence_note) == (
        LATER,
        "ann",
        NOW,
        "asleep",
    )
    assert (after.is_silenced(NOW), after.is_silenced(LATER)) == (True, False)
    assert (event.reason, event.until, event.author, event.run_id) == (TransitionReason.SNOOZED, LATER, "ann", "")


def test_will_fix_later_is_reminded_of_after_seven_days_or_when_the_operator_says():
    assert said(finding(), WILL_FIX)[0].remind_at == NOW + REMINDER == NOW + timedelta(days=7)
    after, [event] = said(finding(), replace(WILL_FIX, remind_at=LATER))
    assert (after.remind_at, event.until, event.dismissed_reason) == (LATER, LATER, DismissedReason.WILL_FIX_LATER)
    assert (after.is_silenced(NOW), after.is_silenced(LATER)) == (True, False)


def test_the_last_word_replaces_the_one_before():
    after, events = said(finding(), Snooze(until=LATER), WILL_FIX, Suppress(), Snooze(until=LATER), NOT_ONE)
    assert (after.snoozed_until, after.suppressed, after.remind_at) == (None, False, None)
    assert after.dismissed_reason is DismissedReason.NOT_AN_ISSUE
    assert [event.new_quiet for event in events] == [
        QuietReason.SNOOZED,
        QuietReason.DISMISSED,
        QuietReason.SUPPRESSED,
        QuietReason.SNOOZED,
        QuietReason.DISMISSED,
    ]


def test_resolving_closes_by_an_operator_s_word():
    after, [event] = said(finding(clear_streak=1), Resolve(note="disk swapped"))
    assert (after.state, after.resolved_at, after.resolve_reason) == (
        FindingState.RESOLVED,
        NOW,
        ResolveReason.OPERATOR,
    )
    assert (event.old_state, event.new_state, event.note) == (FindingState.OPEN, FindingState.RESOLVED, "disk swapped")
    assert event.resolve_reason is ResolveReason.OPERATOR


@pytest.mark.parametrize(
    ("one", "verb"),
    [
        (finding(), Snooze(until=LATER, note="x")),
        (finding(), replace(WILL_FIX, remind_at=LATER)),
        (finding(), NOT_ONE),
        (finding(), Suppress()),
        (finding(), Resolve()),
        (finding(), Note(text="x")),
        (finding(), Acknowledge()),
        (DISK, Acknowledge()),
    ],
)
def test_saying_the_same_again_is_no_event(one, verb):
    after, events = said(one, verb, verb)
    assert len(events) == 1
    assert decide(after, verb, LATER - timedelta(minutes=1), author="ben") is None


@pytest.mark.parametrize(
    ("one", "verb", "field"),
    [
        (GONE, Acknowledge(), "id"),
        (GONE, Snooze(until=LATER), "id"),
        (GONE, NOT_ONE, "id"),
        (finding(), Snooze(until=NOW), "until"),
        (finding(), Snooze(until=datetime(2030, 1, 1)), "until"),  # noqa: DTZ001 - the case itself
        (finding(), replace(WILL_FIX, remind_at=NOW), "until"),
        (finding(), replace(WILL_FIX, remind_at=datetime(2030, 1, 1)), "until"),  # noqa: DTZ001 - the case itself
        (finding(), replace(NOT_ONE, remind_at=LATER), "until"),
        (BLIND, NOT_ONE, "id"),
        (BLIND, WILL_FIX, "id"),
        (BLIND, Suppress(), "id"),
        (finding(), Undo(), "what"),
        (finding(suppressed=True), Undo(what=Undoable.SNOOZE), "what"),
        (finding(snoozed_until=NOW), Undo(), "what"),  # over: nothing to take back
        (GONE, Undo(what=Undoable.RESOLVE), "what"),  # nobody said that it is resolved, it was seen
    ],
)
def test_what_cannot_be_is_refused_with_the_field_that_is_wrong(one, verb, field):
    with pytest.raises(VerbRefusedError) as caught:
        decide(one, verb, NOW, author="ann")
    assert (caught.value.finding_id, caught.value.field) == (one.id, field)


@pytest.mark.parametrize("verb", [Snooze(until=LATER), Acknowledge(), Resolve(), Note(text="x")])
def test_patrol_s_own_findings_take_what_ends_by_itself(verb):
    assert said(BLIND, verb)[1]


def test_a_resolved_finding_may_be_suppressed_so_that_its_return_is_quiet():
    assert said(GONE, Suppress())[0].suppressed


def test_a_verb_needs_an_author_and_a_time_with_its_zone():
    with pytest.raises(ValueError, match="author"):
        decide(finding(), Suppress(), NOW, author="")
    with pytest.raises(ValueError, match="zone"):
        decide(finding(), Suppress(), datetime(2026, 1, 1), author="ann")  # noqa: DTZ001 - the case itself


# --- taking back


@pytest.mark.parametrize(
    ("one", "verb", "what", "reason"),
    [
        (DISK, Acknowledge(), Undoable.ACK, TransitionReason.UNACKNOWLEDGED),
        (finding(), Snooze(until=LATER), Undoable.SNOOZE, TransitionReason.UNSNOOZED),
        (finding(), NOT_ONE, Undoable.DISMISS, TransitionReason.UNDISMISSED),
        (finding(), WILL_FIX, Undoable.DISMISS, TransitionReason.UNDISMISSED),
        (finding(), Suppress(note="x"), Undoable.SUPPRESS, TransitionReason.UNSUPPRESSED),
        (finding(), Resolve(), Undoable.RESOLVE, TransitionReason.REOPENED),
        (finding(), Note(text="x"), Undoable.NOTE, TransitionReason.UNNOTED),
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_taking_back_leaves_nothing_behind(one, verb, what, reason, named):
    after, events = said(one, verb, Undo(what=what if named else None))
    assert replace(after, version=one.version) == one
    assert events[-1].reason is reason
    assert undoable(after, NOW, events) == ([Undoable.NOTE] if what is Undoable.NOTE and after.user_note else [])


def test_what_was_said_last_is_taken_back_first():
    one, events = said(DISK, Note(text="x"), Suppress(), Acknowledge(), Resolve())
    assert undoable(one, NOW, events) == [Undoable.RESOLVE, Undoable.ACK, Undoable.SUPPRESS, Undoable.NOTE]
    for _ in range(4):
        decision = decide(one, Undo(), NOW, author="ben", history=events)
        one, events = decision.change.after, [*events, decision.transition]
    assert replace(one, version=1) == DISK


def test_what_was_said_without_a_record_can_be_taken_back_too():
    after, _ = said(finding(suppressed=True), Undo())
    assert not after.suppressed


def test_notes_lie_on_each_other():
    one, events = said(finding(), Note(text="a"), Note(text="b"), Note(text=""))
    texts = []
    while Undoable.NOTE in undoable(one, NOW, events):
        decision = decide(one, Undo(what=Undoable.NOTE), NOW, author="ben", history=events)
        if decision is None:
            break
        one, events = decision.change.after, [*events, decision.transition]
        texts.append(one.user_note)
    assert texts == ["b", "a", ""]
