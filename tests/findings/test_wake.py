"""What wakes a quiet finding and what does not, through the life that runs give it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from findings.kinds import Kind
from findings.lifecycle import WAIT, Outcome, advance
from findings.model import (
    DismissedReason,
    FindingState,
    Look,
    ResolveReason,
    Severity,
    TransitionReason,
)
from findings.silence import QuietReason, SilenceKind
from tests.findings.builders import HOST, NOTHING, NOW, ORG, applied, by_key, finding, looked, observation
from tests.findings.test_silence import silence

LATER = NOW + timedelta(hours=1)
DAY = timedelta(days=1)


def step(known, *observations, looks=NOTHING, now=LATER, run_id="run-1", **more):
    return advance(known, observations, looks, now, run_id=run_id, org_id=ORG, **more)


def only(result):
    [change] = result.changes
    return change.after


def outcome(result):
    [one] = result.outcomes.values()
    return one


DISK = {"reallocated_sectors": 5}


def disk(count=5, severity=Severity.WARNING):
    return observation(Kind.SMART_FAILURE, severity, facts={"reallocated_sectors": count})


QUIET = {
    "acknowledged": {"acknowledged_at": NOW, "acknowledged_facts": DISK},
    "snoozed": {"snoozed_until": LATER + DAY},
    "dismissed": {"dismissed_reason": DismissedReason.EXPECTED_BEHAVIOR},
    "later": {"dismissed_reason": DismissedReason.WILL_FIX_LATER, "remind_at": LATER + DAY},
    "suppressed": {"suppressed": True},
    "rule": {},
    "maintenance": {},
    "offline": {},
}
SILENCES = {
    "rule": silence(SilenceKind.SUPPRESSION, resource_id="", finding_kind=Kind.SMART_FAILURE),
    "maintenance": silence(ends_at=LATER + DAY),
    "offline": silence(SilenceKind.OFFLINE),
}
SAME, GROWN, WORSE = disk(), disk(6), disk(5, Severity.CRITICAL)
TABLE = [
    # quiet by, what was seen, outcome, why it changed
    *((by, SAME, Outcome.SILENCED, None) for by in QUIET),
    ("acknowledged", GROWN, Outcome.WOKEN, TransitionReason.GREW),
    *((by, GROWN, Outcome.SILENCED, TransitionReason.GREW) for by in QUIET if by != "acknowledged"),
    *((by, WORSE, Outcome.WOKEN, TransitionReason.WOKEN) for by in ("acknowledged", "snoozed", "dismissed", "later")),
    *(
        (by, WORSE, Outcome.SILENCED, TransitionReason.RAISED)
        for by in ("suppressed", "rule", "maintenance", "offline")
    ),
]


@pytest.mark.parametrize(("by", "seen", "expected", "reason"), TABLE)
def test_the_wake_table(by, seen, expected, reason):
    quiet = finding(Kind.SMART_FAILURE, facts=DISK, **QUIET[by])
    silences = [SILENCES[by]] if by in SILENCES else []
    result = step(by_key(quiet), seen, silences=silences)
    after = only(result)
    assert outcome(result) is expected
    assert [change.reason for change in result.transitions] == ([reason] if reason else [])
    assert after.is_active(LATER, silences) is (expected is Outcome.WOKEN)
    assert (after.facts, after.severity, after.times_raised) == (seen.facts, seen.severity, 2)  # facts are never hidden


def test_the_event_of_a_wake_says_what_held_before():
    [change] = step(by_key(finding(**QUIET["snoozed"])), observation(severity=Severity.CRITICAL)).transitions
    assert (change.old_quiet, change.new_quiet) == (QuietReason.SNOOZED, None)


@pytest.mark.parametrize("by", QUIET)
def test_what_is_quiet_closes_like_anything_else(by):
    quiet = finding(**{**QUIET[by], "acknowledged_facts": {}})
    silences = [SILENCES[by]] if by in SILENCES else []
    closed = only(step(by_key(quiet), looks=looked(Look.CLEAR), silences=silences))
    assert closed.state is FindingState.RESOLVED


@pytest.mark.parametrize("by", ["rule", "maintenance", "offline"])
def test_a_newcomer_under_a_silence_is_kept_and_quiet(by):
    result = step({}, disk(), silences=[SILENCES[by]])
    assert outcome(result) is Outcome.SILENCED
    assert only(result).state is FindingState.OPEN
    assert [change.reason for change in result.transitions] == [TransitionReason.FILED]


def test_a_silence_for_others_changes_nothing():
    elsewhere = silence(resource_id="agent:local:web2", ends_at=LATER + DAY)
    assert outcome(step({}, observation(), silences=[elsewhere])) is Outcome.FILED
    assert outcome(step(by_key(finding()), observation(), silences=[elsewhere])) is Outcome.REFRESHED


# --- windows end by themselves, however long they took


@pytest.mark.parametrize("already_known", [False, True])
def test_after_a_window_a_finding_is_active_by_itself_however_many_runs_saw_it(already_known):
    window = silence(starts_at=NOW, ends_at=NOW + timedelta(days=5))
    known = by_key(finding()) if already_known else {}
    events = 0
    for number in range(100):
        now = NOW + timedelta(hours=number)
        result = step(known, observation(), now=now, run_id=f"r{number}", silences=[window])
        known = applied(known, result)
        events += len(result.transitions)
        assert outcome(result) is Outcome.SILENCED
    [kept] = known.values()
    assert events == (0 if already_known else 1)  # a heartbeat is no event
    assert (kept.dismissed_reason, kept.suppressed, kept.acknowledged_at) == (None, False, None)
    assert not kept.is_active(window.ends_at - timedelta(seconds=1), [window])
    assert kept.is_active(window.ends_at, [window])  # without any run
    by_hand = replace(window, ended_at=NOW + DAY, ended_by="ben")
    assert kept.is_active(NOW + DAY, [by_hand])


def test_what_got_worse_in_a_window_is_not_held_back_by_an_older_snooze_afterwards():
    window = silence(ends_at=LATER + DAY)
    snoozed = finding(snoozed_until=LATER + 9 * DAY)
    result = step(by_key(snoozed), observation(severity=Severity.CRITICAL), silences=[window])
    assert outcome(result) is Outcome.SILENCED
    assert only(result).is_active(LATER + DAY, [window])


def test_what_grew_while_suppressed_grew_once():
    quiet = finding(Kind.SMART_FAILURE, facts=DISK, suppressed=True, **QUIET["acknowledged"])
    known, events = by_key(quiet), []
    for number in range(4):
        result = step(known, disk(6), run_id=f"r{number}")
        known = applied(known, result)
        events += result.transitions
    assert [change.reason for change in events] == [TransitionReason.GREW]


# --- where a resource lives


def test_a_finding_learns_where_its_resource_lives_also_while_it_is_not_seen():
    known = applied({}, step({}, observation(), lives_on={HOST: ("node:lab:pve1",)}))
    assert next(iter(known.values())).lives_on == ("node:lab:pve1",)
    moved = step(known, looks=looked(Look.HELD), lives_on={HOST: ("node:lab:pve2",)}, run_id="run-2")
    assert only(moved).lives_on == ("node:lab:pve2",)
    assert moved.transitions == ()
    unseen = step(applied(known, moved), observation(), run_id="run-3")
    assert only(unseen).lives_on == ("node:lab:pve2",)


# --- reminders

DUE = {"dismissed_reason": DismissedReason.WILL_FIX_LATER, "remind_at": LATER, "silenced_by": "ann"}


@pytest.mark.parametrize("seen", [[observation()], []])
def test_a_reminder_makes_a_finding_active_again_seen_or_not_and_is_counted(seen):
    known = by_key(finding(**DUE))
    assert known[finding().key].is_active(LATER)  # by time alone, before any run
    result = step(known, *seen)
    after = only(result)
    assert [change.reason for change in result.transitions] == [TransitionReason.REMINDED]
    assert (after.remind_count, after.dismissed_reason, after.remind_at, after.silenced_by) == (1, None, None, "")
    assert list(result.outcomes.values()) == ([Outcome.REMINDED] if seen else [])
    assert step(applied(known, result), *seen, run_id="run-2").transitions == ()  # once


@pytest.mark.parametrize(
    "changes",
    [
        {"suppressed": True},
        {"state": FindingState.RESOLVED, "resolved_at": NOW, "resolve_reason": ResolveReason.CLEARED},
        {"dismissed_reason": DismissedReason.EXPECTED_BEHAVIOR, "remind_at": None},
        {"remind_at": LATER + timedelta(microseconds=1)},
    ],
)
def test_nobody_is_reminded_of_what_is_resolved_suppressed_or_not_due(changes):
    result = step(by_key(finding(**{**DUE, **changes})), looks=NOTHING)
    assert result.changes == ()


def test_a_reminder_under_a_window_waits_for_its_end():
    window = silence(ends_at=LATER + DAY)
    result = step(by_key(finding(**DUE)), observation(), silences=[window])
    assert outcome(result) is Outcome.SILENCED
    assert only(result).remind_count == 1
    assert only(result).is_active(LATER + DAY, [window])


def test_a_reminder_of_what_got_worse_tells_both():
    result = step(by_key(finding(**DUE)), observation(severity=Severity.CRITICAL))
    [change] = result.transitions
    assert (change.reason, change.new_severity) == (TransitionReason.REMINDED, Severity.CRITICAL)
    assert outcome(result) is Outcome.REMINDED


def test_what_comes_back_after_its_reminder_was_due_is_heard():
    resolved = {"state": FindingState.RESOLVED, "resolved_at": NOW, "resolve_reason": ResolveReason.CLEARED}
    result = step(by_key(finding(**DUE, **resolved)), observation())
    assert outcome(result) is Outcome.REGRESSED
    assert (only(result).dismissed_reason, only(result).remind_count) == (None, 0)


# --- operators win


def resolved(at, **changes):
    return finding(state=FindingState.RESOLVED, resolved_at=at, resolve_reason=ResolveReason.OPERATOR, **changes)


def test_what_an_operator_resolved_comes_back_and_is_heard_even_if_it_was_dismissed():
    result = step(by_key(resolved(NOW, **QUIET["dismissed"])), observation())
    assert outcome(result) is Outcome.REGRESSED
    assert only(result).regression_count == 1
    suppressed = step(by_key(resolved(NOW, **QUIET["suppressed"])), observation())
    assert outcome(suppressed) is Outcome.SILENCED


@pytest.mark.parametrize("wait", [timedelta(), timedelta(seconds=20), WAIT])
def test_a_look_from_before_an_operator_resolved_does_not_reopen(wait):
    known = by_key(resolved(LATER + wait))
    result = step(known, observation(), recorded_at=LATER)
    assert (result.changes, outcome(result)) == ((), Outcome.OVERRULED)


def test_a_resolution_from_far_in_the_future_is_not_believed():
    known = by_key(resolved(LATER + WAIT + timedelta(seconds=1)))
    assert outcome(step(known, observation())) is Outcome.REGRESSED


def test_a_silence_that_began_while_a_run_was_under_way_holds_for_its_results():
    began = silence(starts_at=LATER + timedelta(seconds=5), ends_at=LATER + DAY)
    assert outcome(step({}, observation(), silences=[began])) is Outcome.FILED
    recorded_at = LATER + timedelta(seconds=10)
    assert outcome(step({}, observation(), silences=[began], recorded_at=recorded_at)) is Outcome.SILENCED
