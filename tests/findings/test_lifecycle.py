from datetime import datetime, timedelta

import pytest

from findings.investigation import InvestigationOutcome, InvestigationStatus
from findings.kinds import KINDS, VERDICT_FAILED, Kind
from findings.lifecycle import LimitNow, Outcome, advance
from findings.model import (
    Basis,
    DismissedReason,
    FindingState,
    Look,
    ResolveReason,
    Severity,
    TransitionReason,
)
from tests.findings.builders import HOST, NOTHING, NOW, ORG, applied, by_key, finding, looked, observation

LATER = NOW + timedelta(hours=1)
RESOLVED = {
    "state": FindingState.RESOLVED,
    "resolved_at": NOW,
    "resolve_reason": ResolveReason.CLEARED,
}
QUIET = {
    "snoozed": {"snoozed_until": LATER + timedelta(hours=1)},
    "dismissed": {"dismissed_reason": DismissedReason.NOT_AN_ISSUE},
    "suppressed": {"suppressed": True},
}


def step(known, *observations, looks=NOTHING, now=LATER, run_id="run-1", **more):
    return advance(known, observations, looks, now, run_id=run_id, org_id=ORG, **more)


def only(result):
    [change] = result.changes
    return change.after


# --- what is observed


def test_an_unknown_key_is_filed():
    result = step({}, observation(subject="/var"))
    filed = only(result)
    assert (filed.state, filed.severity, filed.version, filed.times_raised) == (
        FindingState.OPEN,
        Severity.WARNING,
        1,
        1,
    )
    assert (filed.value, filed.limit, filed.limit_source) == (91.0, 90.0, "built-in")
    assert filed.first_seen_at == filed.last_seen_at == LATER
    assert filed.title == "Space is running out: /var"
    assert filed.id == filed.key
    [transition] = result.transitions
    assert (transition.reason, transition.old_state, transition.old_severity) == (TransitionReason.FILED, None, None)
    assert result.outcomes == {filed.key: Outcome.FILED}


@pytest.mark.parametrize("severity", [Severity.INFO, Severity.WATCH])
def test_low_severities_are_filed_too(severity):
    assert only(step({}, observation(severity=severity))).severity is severity


def test_an_open_finding_is_refreshed_without_a_transition():
    known = by_key(finding(clear_streak=1))
    result = step(known, observation(value=93.0, limit=85.0, evidence="new", summary="worse", tool_call_id="call-9"))
    seen = only(result)
    assert (seen.value, seen.limit, seen.evidence, seen.summary, seen.tool_call_id) == (
        93.0,
        85.0,
        "new",
        "worse",
        "call-9",
    )
    assert (seen.first_seen_at, seen.last_seen_at, seen.times_raised, seen.version) == (NOW, LATER, 2, 2)
    assert seen.clear_streak == 0
    assert result.transitions == ()
    assert set(result.outcomes.values()) == {Outcome.REFRESHED}


@pytest.mark.parametrize(
    ("before", "observed", "after", "raised"),
    [
        (Severity.WARNING, Severity.CRITICAL, Severity.CRITICAL, 1),
        (Severity.CRITICAL, Severity.WARNING, Severity.CRITICAL, 0),
        (Severity.WATCH, Severity.WATCH, Severity.WATCH, 0),
    ],
)
def test_the_severity_of_an_open_finding_only_rises(before, observed, after, raised):
    result = step(by_key(finding(severity=before)), observation(severity=observed))
    assert (only(result).severity, only(result).raise_count) == (after, raised)
    assert [each.reason for each in result.transitions] == [TransitionReason.RAISED] * raised


def test_a_resolved_finding_regresses_with_the_severity_of_today():
    known = by_key(
        finding(
            severity=Severity.CRITICAL,
            acknowledged_at=NOW,
            investigation_attempts=3,
            investigation_status=InvestigationStatus.COMPLETED,
            investigation_outcome=InvestigationOutcome.CANNOT_FIX,
            last_investigated_at=NOW,
            **RESOLVED,
        )
    )
    result = step(known, observation(severity=Severity.WARNING))
    back = only(result)
    assert (back.state, back.resolved_at, back.resolve_reason) == (FindingState.OPEN, None, None)
    assert (back.severity, back.regression_count, back.last_regression_at) == (Severity.WARNING, 1, LATER)
    assert (back.first_seen_at, back.acknowledged_at) == (NOW, None)
    assert (back.investigation_attempts, back.investigation_status, back.investigation_outcome) == (0, None, None)
    assert back.last_investigated_at == NOW  # the cool-down outlives the regression: a flapping issue is not free
    [transition] = result.transitions
    assert (transition.reason, transition.old_state) == (TransitionReason.REGRESSED, FindingState.RESOLVED)
    assert set(result.outcomes.values()) == {Outcome.REGRESSED}


def test_a_regression_leaves_a_running_investigation_running():
    known = by_key(finding(investigation_status=InvestigationStatus.RUNNING, **RESOLVED))
    assert only(step(known, observation())).investigation_status is InvestigationStatus.RUNNING


def test_the_worst_of_several_observations_of_one_key_wins_in_any_order():
    mild, bad = observation(severity=Severity.WATCH, value=99.0), observation(severity=Severity.CRITICAL, value=95.5)
    first, second = step({}, mild, bad, mild), step({}, bad, mild, mild)
    assert first == second
    assert (only(first).severity, only(first).value, only(first).times_raised) == (Severity.CRITICAL, 95.5, 1)


def test_the_strongest_basis_of_several_observations_holds_the_finding():
    result = step({}, observation(basis=Basis.MODEL, value=None), observation(severity=Severity.WATCH))
    assert (only(result).basis, only(result).severity) == (Basis.DETECTOR, Severity.WARNING)


# --- silence


@pytest.mark.parametrize("quiet", QUIET)
@pytest.mark.parametrize("state", [{}, RESOLVED])
def test_a_silenced_finding_is_recorded_but_stays_quiet(quiet, state):
    silenced = finding(**QUIET[quiet], **state)
    result = step(by_key(silenced), observation(value=92.0))
    after = only(result)
    assert set(result.outcomes.values()) == {Outcome.SILENCED}
    assert after.is_silenced(LATER)
    assert (after.value, after.last_seen_at, after.times_raised) == (92.0, LATER, 2)


@pytest.mark.parametrize("quiet", ["snoozed", "dismissed"])
@pytest.mark.parametrize(("state", "outcome"), [({}, Outcome.WOKEN), (RESOLVED, Outcome.REGRESSED)])
def test_a_higher_severity_wakes(quiet, state, outcome):
    silenced = finding(acknowledged_at=NOW, **QUIET[quiet], **state)
    result = step(by_key(silenced), observation(severity=Severity.CRITICAL))
    after = only(result)
    assert after.is_active(LATER)
    assert after.acknowledged_at is None
    assert set(result.outcomes.values()) == {outcome}
    expected = TransitionReason.REGRESSED if state else TransitionReason.WOKEN
    assert [each.reason for each in result.transitions] == [expected]


@pytest.mark.parametrize("state", [{}, RESOLVED])
def test_nothing_wakes_a_suppressed_finding(state):
    result = step(by_key(finding(suppressed=True, **state)), observation(severity=Severity.CRITICAL))
    assert only(result).is_silenced(LATER)
    assert only(result).severity is Severity.CRITICAL
    assert set(result.outcomes.values()) == {Outcome.SILENCED}


def test_an_acknowledgement_holds_for_what_was_there_then_whatever_else_keeps_it_quiet():
    quiet = finding(suppressed=True, acknowledged_at=NOW)
    assert only(step(by_key(quiet), observation(severity=Severity.CRITICAL))).acknowledged_at is None


def test_a_snooze_ends_at_its_time():
    snoozed = finding(snoozed_until=LATER)
    assert snoozed.is_silenced(LATER - timedelta(microseconds=1))
    assert set(step(by_key(snoozed), observation()).outcomes.values()) == {Outcome.REFRESHED}


def test_a_silenced_finding_closes_like_any_other():
    closed = only(step(by_key(finding(suppressed=True)), looks=looked(Look.CLEAR)))
    assert closed.state is FindingState.RESOLVED
    assert closed.suppressed


# --- acknowledgement and counters that grow


def smart(pending, reallocated=0, *, failed=0, severity=Severity.CRITICAL, **changes):
    facts = {"pending_sectors": pending, "reallocated_sectors": reallocated, VERDICT_FAILED: failed}
    return observation(Kind.SMART_FAILURE, severity, facts=facts, **changes)


def disk(severity=Severity.WARNING, **changes):
    return finding(Kind.SMART_FAILURE, severity, **changes)


def test_growth_raises_again_and_ends_an_acknowledgement():
    same = {"acknowledged_facts": {"reallocated_sectors": 5}}
    known = by_key(disk(facts={"reallocated_sectors": 5}, acknowledged_at=NOW, **same))
    quiet = step(known, smart(0, 5, severity=Severity.WARNING))
    assert only(quiet).acknowledged_at == NOW
    assert quiet.transitions == ()
    grown = step(known, smart(0, 6, severity=Severity.WARNING))
    assert (only(grown).acknowledged_at, only(grown).raise_count) == (None, 1)
    assert only(grown).acknowledged_facts == {}
    assert [each.reason for each in grown.transitions] == [TransitionReason.GREW]


def test_growth_after_an_acknowledgement_counts_from_what_was_acknowledged():
    known = by_key(disk(facts={"pending_sectors": 3}, acknowledged_at=NOW, acknowledged_facts={"pending_sectors": 5}))
    assert only(step(known, smart(5, severity=Severity.WARNING))).acknowledged_at == NOW
    assert only(step(known, smart(6, severity=Severity.WARNING))).acknowledged_at is None


def test_a_counter_that_appears_is_growth():
    known = by_key(
        disk(facts={"reallocated_sectors": 5}, acknowledged_at=NOW, acknowledged_facts={"reallocated_sectors": 5})
    )
    worse = observation(Kind.SMART_FAILURE, facts={"reallocated_sectors": 5, "udma_crc_errors": 1})
    assert only(step(known, worse)).acknowledged_at is None


def test_a_higher_severity_ends_an_acknowledgement_and_the_same_one_does_not():
    known = by_key(finding(acknowledged_at=NOW))
    assert only(step(known, observation(value=93.0))).acknowledged_at == NOW
    assert only(step(known, observation(severity=Severity.CRITICAL))).acknowledged_at is None


def test_growth_of_what_is_no_counter_is_no_news():
    known = by_key(finding(facts={"used_bytes": 1.0}))
    assert step(known, observation(facts={"used_bytes": 2.0})).transitions == ()


@pytest.mark.parametrize("look", list(Look))
def test_damage_done_is_never_closed_by_a_look(look):
    for fact in KINDS[Kind.SMART_FAILURE].sticky_facts:
        known = by_key(disk(facts={fact: 1}, clear_streak=0))
        assert step(known, looks=looked(look, Kind.SMART_FAILURE)).changes == ()


def test_a_counter_that_was_not_read_keeps_its_last_value():
    known = by_key(disk(facts={"reallocated_sectors": 5}))
    partly = observation(Kind.SMART_FAILURE, facts={"pending_sectors": 2})
    assert only(step(known, partly)).facts == {"reallocated_sectors": 5, "pending_sectors": 2}


@pytest.mark.parametrize(
    ("before", "now", "severity"),
    [
        ({"pending_sectors": 8, "reallocated_sectors": 0}, smart(8), Severity.WARNING),
        ({"pending_sectors": 8, "reallocated_sectors": 0}, smart(3), Severity.WARNING),
        ({"pending_sectors": 8, "reallocated_sectors": 0}, smart(9), Severity.CRITICAL),
        ({"pending_sectors": 8, "reallocated_sectors": 0}, smart(8, 1), Severity.CRITICAL),
        ({"pending_sectors": 8, "reallocated_sectors": 0}, smart(8, failed=1), Severity.CRITICAL),
        ({"pending_sectors": 8}, observation(Kind.SMART_FAILURE, Severity.CRITICAL), Severity.CRITICAL),
        (
            {"pending_sectors": 8},
            observation(Kind.SMART_FAILURE, Severity.CRITICAL, facts={"pending_sectors": 8}),
            Severity.CRITICAL,
        ),
        ({}, smart(0), Severity.CRITICAL),
        ({}, smart(8), Severity.CRITICAL),
    ],
)
def test_a_count_that_came_and_went_by_itself_is_a_warning_when_it_comes_back(before, now, severity):
    known = by_key(disk(Severity.CRITICAL, facts=before, **RESOLVED))
    first = step(known, now)
    assert only(first).severity is severity
    again = step(applied(known, first), now, run_id="run-2")
    assert only(again).severity is severity


def test_a_count_seen_for_the_first_time_is_as_bad_as_its_detector_says():
    known = by_key(disk(Severity.WARNING, facts={"pending_sectors": 8}))
    assert only(step(known, smart(8))).severity is Severity.CRITICAL


# --- what a model says


def test_a_model_alone_holds_at_most_a_warning_until_a_second_run():
    claim = observation("odd_latency", Severity.CRITICAL, basis=Basis.MODEL)
    first = step({}, claim)
    assert (only(first).severity, only(first).basis) == (Severity.WARNING, Basis.MODEL)
    assert only(first).title == "Odd latency"
    second = step(applied({}, first), claim, run_id="run-2")
    assert only(second).severity is Severity.CRITICAL


def test_a_model_does_not_raise_what_a_detector_holds_above_a_warning():
    result = step(by_key(finding()), observation(severity=Severity.CRITICAL, basis=Basis.MODEL))
    assert (only(result).severity, only(result).basis) == (Severity.WARNING, Basis.DETECTOR)


def test_a_detector_takes_over_the_claim_of_a_model():
    known = by_key(finding(basis=Basis.MODEL))
    assert only(step(known, observation(severity=Severity.WATCH))).basis is Basis.DETECTOR


def test_a_model_that_sees_a_closed_issue_again_holds_it_alone():
    result = step(by_key(finding(**RESOLVED)), observation(severity=Severity.CRITICAL, basis=Basis.MODEL))
    assert (only(result).basis, only(result).severity) == (Basis.MODEL, Severity.WARNING)


@pytest.mark.parametrize("look", [*Look, None])
def test_a_kind_that_no_detector_knows_is_never_closed_by_a_look(look):
    known = by_key(finding("odd_latency", basis=Basis.MODEL))
    looks = NOTHING if look is None else looked(look, "odd_latency")
    assert step(known, looks=looks).changes == ()


# --- what is examined


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("look", [Look.PRESENT, Look.HELD, Look.BLIND, None])
def test_only_a_clear_look_closes(kind, look):
    known = by_key(finding(kind))
    looks = NOTHING if look is None else looked(look, kind)
    assert step(known, looks=looks).changes == ()


@pytest.mark.parametrize("kind", Kind)
def test_a_finding_closes_after_as_many_clear_looks_as_its_kind_asks_for(kind):
    known = by_key(finding(kind))
    for run in range(1, KINDS[kind].clears_after + 1):
        result = step(known, looks=looked(Look.CLEAR, kind), run_id=f"run-{run}")
        after = only(result)
        assert after.is_open is (run < KINDS[kind].clears_after)
        assert len(result.transitions) == (not after.is_open)
        known = applied(known, result)
    assert (after.resolve_reason, after.resolved_at, after.clear_streak) == (ResolveReason.CLEARED, LATER, 0)
    assert after.last_seen_at == NOW
    assert result.transitions[0].resolve_reason is ResolveReason.CLEARED


@pytest.mark.parametrize(
    ("look", "streak"), [(Look.HELD, 0), (Look.PRESENT, 0), (Look.BLIND, 1), (None, 1), (Look.CLEAR, None)]
)
def test_a_row_of_clear_looks_is_broken_by_a_look_but_not_by_blindness(look, streak):
    known = by_key(disk(clear_streak=1))
    looks = NOTHING if look is None else looked(look, Kind.SMART_FAILURE)
    [after] = applied(known, step(known, looks=looks)).values()
    assert after.clear_streak == (streak or 0)
    assert after.is_open is (streak is not None)


def test_a_clear_subject_leaves_the_findings_of_the_others():
    known = by_key(finding(subject="/"), finding(subject="/var"))
    result = step(known, looks=looked(Look.CLEAR, subject="/var"))
    assert only(result).subject == "/var"


def test_what_is_observed_is_not_closed_by_a_clear_look_of_the_same_run():
    result = step(by_key(finding()), observation(), looks=looked(Look.CLEAR))
    assert only(result).is_open


@pytest.mark.parametrize("kind", [Kind.HIGH_DISK, "odd_latency"])
def test_findings_of_a_removed_resource_close(kind):
    closed = only(step(by_key(finding(kind)), removed={HOST}))
    assert closed.resolve_reason is ResolveReason.RESOURCE_REMOVED
    assert step(by_key(finding(kind)), removed={"agent:local:other"}).changes == ()


@pytest.mark.parametrize(
    ("look", "before", "today", "reason"),
    [
        (Look.HELD, 90.0, LimitNow(limit=95.0), ResolveReason.LIMIT_CHANGED),
        (Look.HELD, 90.0, LimitNow(limit=90.0), None),
        (Look.HELD, 90.0, LimitNow(), None),
        (Look.HELD, None, LimitNow(limit=95.0), None),
        (Look.PRESENT, 90.0, LimitNow(limit=95.0), None),
        (Look.BLIND, 90.0, LimitNow(limit=95.0), None),
        (Look.CLEAR, 90.0, LimitNow(limit=95.0), ResolveReason.CLEARED),
        (Look.BLIND, 90.0, LimitNow(switched_off=True), ResolveReason.CHECK_OFF),
        (None, 90.0, LimitNow(switched_off=True), ResolveReason.CHECK_OFF),
    ],
)
def test_changed_settings_are_judged_afresh(look, before, today, reason):
    looks = NOTHING if look is None else looked(look)
    [after] = applied(
        known := by_key(finding(limit=before)), step(known, looks=looks, limit_now=lambda _: today)
    ).values()
    assert after.resolve_reason is reason


def test_a_resolved_finding_that_nobody_observes_is_left_alone():
    assert step(by_key(finding(**RESOLVED)), looks=looked(Look.CLEAR), removed={HOST}).changes == ()


# --- once by run id, and the clock


@pytest.mark.parametrize(
    "start", [{}, by_key(finding()), by_key(finding(**RESOLVED)), by_key(finding(suppressed=True))]
)
def test_the_same_run_applied_twice_changes_nothing_the_second_time(start):
    known = applied(start, step(start, observation()))
    again = step(known, observation())
    assert (again.changes, again.transitions) == ((), ())
    assert set(again.outcomes.values()) == {Outcome.REPEATED}


def test_the_same_run_does_not_count_a_clear_look_twice():
    known = by_key(disk())
    known = applied(known, step(known, looks=looked(Look.CLEAR, Kind.SMART_FAILURE)))
    assert step(known, looks=looked(Look.CLEAR, Kind.SMART_FAILURE)).changes == ()


@pytest.mark.parametrize("state", [{}, RESOLVED])
def test_nothing_is_recorded_as_seen_in_the_future_after_the_clock_went_back(state):
    earlier = NOW - timedelta(days=30)
    seen = only(step(by_key(finding(**state)), observation(), now=earlier))
    assert seen.first_seen_at == seen.last_seen_at == earlier
    closed = only(step(by_key(finding()), looks=looked(Look.CLEAR), now=earlier))
    assert closed.first_seen_at == closed.last_seen_at == closed.resolved_at == earlier


@pytest.mark.parametrize(
    ("known", "now", "run_id"),
    [
        ({}, datetime(2026, 3, 1), "run-1"),  # noqa: DTZ001 - the refusal of a naive time is the case
        ({}, NOW, ""),
        ({"another": finding()}, NOW, "run-1"),
        (by_key(finding(org_id="another")), NOW, "run-1"),
    ],
)
def test_what_does_not_belong_together_is_refused(known, now, run_id):
    with pytest.raises(ValueError, match=r"needs an id|does not belong"):
        step(known, now=now, run_id=run_id)
