"""Two resources turn out to be one: no word of their findings is lost."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.identity import finding_key
from findings.investigation import InvestigationOutcome, InvestigationStatus
from findings.kinds import Kind
from findings.model import Basis, DismissedReason, Finding, FindingState, ResolveReason, Severity, TransitionReason
from findings.silence import QuietReason
from findings.union import Union, unite_findings
from tests.findings.builders import NOW, finding

KEPT, RETIRED = "disk:serial:S1X", "disk:hosta:sda"
LATER = NOW + timedelta(days=1)


def on(resource_id: str, **changes) -> Finding:
    return finding(changes.pop("kind", Kind.SMART_FAILURE), resource_id=resource_id, **changes)


def resolved(resource_id: str, **changes) -> Finding:
    return on(
        resource_id,
        state=FindingState.RESOLVED,
        resolved_at=NOW,
        resolve_reason=ResolveReason.CLEARED,
        **changes,
    )


def unite(kept: list[Finding], retired: list[Finding]) -> Union:
    return unite_findings(kept, retired, KEPT, LATER, run_id="run-9")


def united(one: Finding, other: Finding) -> Finding:
    (change,) = unite([one], [other]).changes
    return change.after


def test_a_finding_without_a_twin_moves_with_its_id_and_history():
    moved = on(RETIRED, version=4)
    union = unite([on(KEPT, kind=Kind.DISK_WEAR)], [moved])
    (change,), (transition,) = union.changes, union.transitions
    key = finding_key(KEPT, Kind.SMART_FAILURE)
    assert change.after == replace(moved, resource_id=KEPT, key=key, version=5)
    assert (transition.reason, transition.finding_id, transition.version) == (TransitionReason.UNITED, moved.id, 5)
    assert (transition.run_id, transition.at) == ("run-9", LATER)
    assert union.absorbed == ()


@pytest.mark.parametrize("kept_is_older", [True, False])
def test_of_twins_the_older_one_takes_in_the_other(kept_is_older):
    old, young = NOW - timedelta(days=9), NOW
    kept = on(KEPT, first_seen_at=old if kept_is_older else young, version=3)
    retired = on(RETIRED, first_seen_at=young if kept_is_older else old, version=5)
    union = unite([kept], [retired])
    older, younger = (kept, retired) if kept_is_older else (retired, kept)
    assert union.absorbed == ((younger.id, older.id, older.version),)
    (change,) = union.changes
    assert change.before == older
    assert (change.after.id, change.after.resource_id) == (older.id, KEPT)
    assert change.after.key == finding_key(KEPT, Kind.SMART_FAILURE)
    assert change.after.first_seen_at == old
    assert change.after.version == 9, "beyond every version of either"


def test_the_worse_severity_of_two_open_ones_holds():
    after = united(on(KEPT, severity=Severity.WARNING), on(RETIRED, severity=Severity.CRITICAL))
    assert after.severity is Severity.CRITICAL


def test_an_open_one_wins_with_its_own_severity():
    after = united(resolved(KEPT, severity=Severity.CRITICAL, last_seen_at=LATER), on(RETIRED))
    assert (after.state, after.resolved_at, after.resolve_reason) == (FindingState.OPEN, None, None)
    assert after.severity is Severity.WARNING, "what was settled says nothing of today"


def test_two_resolved_ones_stay_resolved():
    after = united(resolved(KEPT), resolved(RETIRED, severity=Severity.CRITICAL))
    assert (after.state, after.severity) == (FindingState.RESOLVED, Severity.CRITICAL)


def test_numbers_are_those_last_seen_and_counts_are_added_up():
    before = on(
        KEPT,
        value=1.0,
        facts={"pending_sectors": 1, "media_errors": 3},
        times_raised=4,
        raise_count=1,
        regression_count=1,
        last_regression_at=NOW,
        clear_streak=1,
        basis=Basis.DETECTOR,
        user_note="look at it",
    )
    after = united(
        before,
        on(RETIRED, value=2.0, facts={"pending_sectors": 2}, times_raised=3, last_seen_at=LATER, basis=Basis.MODEL),
    )
    assert (after.value, after.facts) == (2.0, {"pending_sectors": 2, "media_errors": 3})
    assert (after.times_raised, after.raise_count, after.regression_count) == (7, 1, 1)
    assert (after.last_regression_at, after.last_seen_at, after.clear_streak) == (NOW, LATER, 0)
    assert (after.basis, after.user_note) == (Basis.DETECTOR, "look at it")


def test_two_halves_of_a_claim_are_as_well_confirmed_as_the_better_one():
    before = on(KEPT, basis=Basis.MODEL, unconfirmed_runs=2)
    after = united(before, on(RETIRED, basis=Basis.MODEL, confirmed_at=NOW))
    assert (after.confirmed_at, after.unconfirmed_runs, after.is_unconfirmed) == (NOW, 0, False)


SUPPRESSED = {"suppressed": True, "silenced_at": NOW, "silenced_by": "anna"}
SNOOZED = {"snoozed_until": LATER + timedelta(days=9), "silenced_at": NOW, "silenced_by": "anna"}
DISMISSED = {"dismissed_reason": DismissedReason.NOT_AN_ISSUE, "silenced_at": LATER, "silenced_by": "bert"}


@pytest.mark.parametrize(
    ("one", "other", "quiet"),
    [
        pytest.param(SUPPRESSED, {"severity": Severity.CRITICAL}, QuietReason.SUPPRESSED, id="a suppression holds"),
        pytest.param(SNOOZED, {}, QuietReason.SNOOZED, id="a snooze holds"),
        pytest.param({}, SNOOZED, QuietReason.SNOOZED, id="whichever of them had it"),
        pytest.param(SNOOZED, {"severity": Severity.CRITICAL}, None, id="unless the other one is more severe"),
        pytest.param(SNOOZED, DISMISSED, QuietReason.DISMISSED, id="the last word holds"),
        pytest.param(SUPPRESSED, DISMISSED, QuietReason.SUPPRESSED, id="but nothing outdoes a suppression"),
        pytest.param({}, {}, None, id="no word"),
    ],
)
def test_what_an_operator_said_of_either_holds(one, other, quiet):
    union = unite([on(KEPT, **one)], [on(RETIRED, **other)])
    assert union.transitions[0].new_quiet is quiet
    after = union.changes[0].after
    assert sum((after.suppressed, after.is_dismissed, after.snoozed_until is not None)) == (quiet is not None)
    assert (after.silenced_at is None) == (quiet is None)


def test_an_acknowledgement_holds_until_there_is_more():
    said = {"acknowledged_at": NOW, "acknowledged_by": "anna", "acknowledged_facts": {"media_errors": 3}}
    after = united(on(KEPT), on(RETIRED, **said))
    assert (after.acknowledged_at, after.acknowledged_by) == (NOW, "anna")
    assert after.acknowledged_facts == {"media_errors": 3}


def test_an_investigation_under_way_goes_on():
    running = {"investigation_status": InvestigationStatus.RUNNING, "last_investigated_at": NOW}
    done = {
        "investigation_status": InvestigationStatus.COMPLETED,
        "investigation_outcome": InvestigationOutcome.UNKNOWN,
        "last_investigated_at": LATER,
        "investigation_attempts": 2,
    }
    after = united(on(KEPT, **running), on(RETIRED, **done))
    assert (after.investigation_status, after.investigation_attempts) == (InvestigationStatus.RUNNING, 2)
    assert after.last_investigated_at == NOW


def test_none_is_explained_by_itself_or_by_one_that_is_gone():
    wear = on(RETIRED, kind=Kind.DISK_WEAR, parent_finding=on(RETIRED).id)
    union = unite([on(KEPT, parent_finding=on(RETIRED).id)], [on(RETIRED, last_seen_at=LATER), wear])
    parents = {change.after.kind: change.after.parent_finding for change in union.changes}
    assert parents == {Kind.SMART_FAILURE: "", Kind.DISK_WEAR: on(KEPT).id}


drawn = st.builds(
    lambda kind, state, severity, first, length, raised, version: (on if state else resolved)(
        "",
        kind=kind,
        severity=severity,
        first_seen_at=NOW + timedelta(hours=first),
        last_seen_at=NOW + timedelta(hours=first + length),
        times_raised=raised,
        version=version,
    ),
    kind=st.sampled_from([Kind.SMART_FAILURE, Kind.DISK_WEAR, Kind.HIGH_TEMPERATURE]),
    state=st.booleans(),
    severity=st.sampled_from(Severity),
    first=st.integers(0, 9),
    length=st.integers(0, 9),
    raised=st.integers(1, 9),
    version=st.integers(1, 9),
)
several = st.lists(drawn, max_size=3, unique_by=lambda each: each.kind)


def placed(findings: list[Finding], resource_id: str) -> list[Finding]:
    keys = [finding_key(resource_id, each.kind) for each in findings]
    return [replace(each, resource_id=resource_id, key=key, id=key) for each, key in zip(findings, keys, strict=True)]


@given(several, several)
def test_the_union_holds_every_finding_once_and_loses_no_count(kept, retired):
    kept, retired = placed(kept, KEPT), placed(retired, RETIRED)
    union = unite(kept, retired)
    changed = {change.after.id: change.after for change in union.changes}
    gone = {each.finding_id for each in union.absorbed}
    left = [changed.get(each.id, each) for each in (*kept, *retired) if each.id not in gone]
    assert {each.kind for each in left} == {each.kind for each in (*kept, *retired)}
    assert len({each.key for each in left}) == len(left)
    assert all(each.key == finding_key(KEPT, each.kind) and each.resource_id == KEPT for each in left)
    assert sum(each.times_raised for each in left) == sum(each.times_raised for each in (*kept, *retired))
    for each in left:
        before = [other for other in (*kept, *retired) if other.kind == each.kind]
        assert each.first_seen_at == min(other.first_seen_at for other in before)
        assert each.last_seen_at == max(other.last_seen_at for other in before)
        assert each.is_open == any(other.is_open for other in before)
        assert each.severity.rank >= max((other.severity.rank for other in before if other.is_open), default=0)
        assert (each.resolved_at is None) == each.is_open
    for each in union.absorbed:
        assert changed[each.into].version > each.offset + next(
            r.version for r in (*kept, *retired) if r.id == each.finding_id
        )
