"""What only a model says: it stands for a while, and holds against nobody who looked."""

from datetime import timedelta

import pytest

from findings.claims import LONGEST, MOST_RUNS, VerdictRefusal, verdict_refusal, verdict_stands, what_ends_it
from findings.kinds import KINDS, Kind
from findings.lifecycle import Outcome, advance
from findings.model import Basis, Finding, FindingState, Look, ResolveReason, Severity, TransitionReason, Verdict
from findings.weighing import CLAIM_PREFIX, title_of
from tests.findings.builders import HOST, NOTHING, NOW, ORG, applied, by_key, finding, looked, observation

HOUR = timedelta(hours=1)
ODD = "claim_odd_latency"
HERE = frozenset({HOST})


def claim(kind: str = ODD, **changes) -> Finding:
    return finding(kind, basis=Basis.MODEL, **changes)


def said(kind: str = ODD, severity: Severity = Severity.WARNING, **changes):
    return observation(kind, severity, basis=Basis.MODEL, value=None, limit=None, **changes)


class Runs:
    """One claim through several runs."""

    def __init__(self, *known: Finding) -> None:
        self.known = by_key(*known)
        self.now = NOW
        self.count = 0

    def run(self, *observations, looks=NOTHING, looked_at=HERE, gone=frozenset(), after=HOUR):
        self.count += 1
        self.now += after
        step = advance(
            self.known,
            observations,
            looks,
            self.now,
            run_id=f"run-{self.count}",
            org_id=ORG,
            model_looked=looked_at,
            resolved_claims=gone,
        )
        self.known = applied(self.known, step)
        return step

    @property
    def one(self) -> Finding:
        (only,) = self.known.values()
        return only


def test_no_kind_of_a_detector_looks_like_a_claim():
    assert not any(kind.startswith(CLAIM_PREFIX) for kind in Kind)


def test_a_claim_is_called_by_what_it_claims():
    assert title_of(ODD, "") == "Odd latency"


# --- how it is confirmed


def test_what_one_run_says_is_unconfirmed_and_a_warning_at_most():
    runs = Runs()
    runs.run(said(severity=Severity.CRITICAL))
    assert (runs.one.is_unconfirmed, runs.one.severity, runs.one.confirmed_at) == (True, Severity.WARNING, None)


def test_a_second_run_confirms_it_and_its_severity():
    runs = Runs()
    runs.run(said(severity=Severity.CRITICAL))
    runs.run(said(severity=Severity.CRITICAL))
    assert (runs.one.is_unconfirmed, runs.one.severity) == (False, Severity.CRITICAL)
    assert runs.one.confirmed_at == runs.now


def test_the_first_confirmation_is_the_one_that_is_kept():
    runs = Runs()
    for _ in range(4):
        runs.run(said())
    assert runs.one.confirmed_at == NOW + 2 * HOUR


def test_an_operator_who_acknowledges_it_confirms_it():
    assert not claim(acknowledged_at=NOW).is_unconfirmed


def test_a_detector_that_sees_it_takes_it_over():
    runs = Runs(claim(Kind.HIGH_DISK))
    runs.run(observation(severity=Severity.CRITICAL))
    assert (runs.one.basis, runs.one.is_unconfirmed, runs.one.severity) == (Basis.DETECTOR, False, Severity.CRITICAL)


def test_what_comes_back_has_to_be_confirmed_again():
    runs = Runs(
        claim(
            state=FindingState.RESOLVED,
            resolved_at=NOW,
            resolve_reason=ResolveReason.CLEARED,
            confirmed_at=NOW,
            unconfirmed_runs=2,
        )
    )
    runs.run(said(severity=Severity.CRITICAL))
    assert (runs.one.is_unconfirmed, runs.one.unconfirmed_runs, runs.one.severity) == (True, 0, Severity.WARNING)


# --- how it ends


@pytest.mark.parametrize("kind", [ODD, Kind.HIGH_DISK])
def test_unconfirmed_it_expires_with_the_third_run_that_could_have_said_so(kind):
    runs = Runs(claim(kind))
    for _ in range(MOST_RUNS - 1):
        runs.run()
    assert runs.one.is_open
    step = runs.run()
    assert (runs.one.state, runs.one.resolve_reason) == (FindingState.RESOLVED, ResolveReason.EXPIRED_CLAIM)
    assert [each.reason for each in step.transitions] == [TransitionReason.RESOLVED]


def test_runs_without_a_model_and_runs_about_something_else_do_not_count():
    runs = Runs(claim())
    for scope in (frozenset(), frozenset({"agent:local:other"})) * 5:
        assert runs.run(looked_at=scope).changes == ()


def test_unconfirmed_it_expires_after_its_time_however_few_runs_there_are():
    runs = Runs(claim())
    runs.run(after=LONGEST - HOUR, looked_at=frozenset())
    assert runs.one.is_open
    runs.run(after=HOUR, looked_at=frozenset())
    assert runs.one.resolve_reason is ResolveReason.EXPIRED_CLAIM


@pytest.mark.parametrize("changes", [{"confirmed_at": NOW}, {"acknowledged_at": NOW}])
def test_confirmed_it_never_expires(changes):
    runs = Runs(claim(**changes))
    for _ in range(5):
        runs.run(after=LONGEST)
    assert runs.one.is_open


@pytest.mark.parametrize("changes", [{}, {"confirmed_at": NOW}])
def test_a_model_that_shows_it_to_be_gone_closes_it(changes):
    runs = Runs(claim(**changes))
    runs.run(gone=frozenset({runs.one.key}))
    assert runs.one.resolve_reason is ResolveReason.CLEARED


@pytest.mark.parametrize(
    "held",
    [claim(Kind.HIGH_DISK), finding(Kind.HIGH_DISK), finding(ODD, basis=Basis.OPERATOR)],
    ids=["a detector's kind", "a detector's finding", "an operator's finding"],
)
def test_a_model_closes_nothing_else(held):
    runs = Runs(held)
    runs.run(gone=frozenset({held.key}))
    assert runs.one.is_open


def test_what_was_said_again_in_the_same_run_is_not_gone():
    runs = Runs(claim())
    runs.run(said(), gone=frozenset({runs.one.key}))
    assert runs.one.is_open


def test_a_resource_that_is_gone_takes_its_claims_along():
    held = claim(confirmed_at=NOW)
    step = advance(by_key(held), [], NOTHING, NOW + HOUR, run_id="run-1", org_id=ORG, removed=HERE)
    (change,) = step.changes
    assert change.after.resolve_reason is ResolveReason.RESOURCE_REMOVED


@pytest.mark.parametrize("kind", [each for each in Kind if KINDS[each].clears_after == 1])
def test_a_detector_that_sees_it_clear_closes_the_claim(kind):
    runs = Runs(claim(kind, confirmed_at=NOW))
    runs.run(looks=looked(Look.CLEAR, kind))
    assert runs.one.resolve_reason is ResolveReason.CLEARED


# --- what it does not do


@pytest.mark.parametrize("kind", Kind)
def test_what_a_detector_saw_clear_is_not_filed_because_a_model_says_so(kind):
    runs = Runs()
    step = runs.run(said(kind), looks=looked(Look.CLEAR, kind))
    assert step.changes == ()
    assert list(step.outcomes.values()) == [Outcome.CONTRADICTED]


@pytest.mark.parametrize("look", [Look.PRESENT, Look.HELD, Look.BLIND, None])
def test_any_other_look_leaves_it_to_the_model(look):
    runs = Runs()
    runs.run(said(Kind.HIGH_DISK), looks=NOTHING if look is None else looked(look))
    assert runs.one.is_unconfirmed


def test_a_model_that_insists_cannot_keep_open_what_a_detector_sees_clear():
    runs = Runs(finding(Kind.SMART_FAILURE))
    for _ in range(2):
        step = runs.run(said(Kind.SMART_FAILURE), looks=looked(Look.CLEAR, Kind.SMART_FAILURE))
        assert list(step.outcomes.values()) == [Outcome.CONTRADICTED]
    assert runs.one.resolve_reason is ResolveReason.CLEARED


def test_a_model_and_a_detector_at_once_are_a_detector():
    runs = Runs()
    step = runs.run(said(Kind.HIGH_DISK, severity=Severity.CRITICAL), observation(Kind.HIGH_DISK))
    assert (runs.one.basis, list(step.outcomes.values())) == (Basis.DETECTOR, [Outcome.FILED])


@pytest.mark.parametrize("basis", [Basis.DETECTOR, Basis.OPERATOR])
def test_what_a_model_says_replaces_nothing_that_was_measured(basis):
    held = finding(basis=basis, evidence="row", limit_source="alerts.json", clear_streak=1, tool_call_id="call-0")
    runs = Runs(held)
    runs.run(said(Kind.HIGH_DISK, evidence="another row", summary="worse", tool_call_id="call-9"))
    after = runs.one
    assert (after.evidence, after.value, after.limit, after.limit_source) == ("row", 91.0, 90.0, "alerts.json")
    assert (after.summary, after.tool_call_id, after.clear_streak) == ("it is bad", "call-0", 1)
    assert (after.times_raised, after.last_seen_at, after.basis) == (2, runs.now, basis)
    assert (after.confirmed_at, after.is_unconfirmed) == (None, False)


# --- the gate


SEEN = {
    Look.CLEAR: (None, VerdictRefusal.FOUND_CLEAR),
    Look.PRESENT: (VerdictRefusal.STILL_PRESENT, None),
    Look.HELD: (VerdictRefusal.STILL_PRESENT, None),
    Look.BLIND: (VerdictRefusal.NO_DATA, None),
    None: (VerdictRefusal.NO_DATA, None),
}


@pytest.mark.parametrize("basis", Basis)
@pytest.mark.parametrize("has_evidence", [True, False])
@pytest.mark.parametrize("look", SEEN)
def test_where_a_detector_knows_the_kind_it_decides(look, has_evidence, basis):
    held = finding(Kind.HIGH_DISK, basis=basis)
    resolved, present = SEEN[look]
    assert verdict_refusal(held, Verdict.RESOLVED, look, has_evidence=has_evidence) is resolved
    assert verdict_refusal(held, Verdict.PRESENT, look, has_evidence=has_evidence) is present
    assert verdict_refusal(held, Verdict.UNCERTAIN, look, has_evidence=has_evidence) is None


@pytest.mark.parametrize("look", SEEN)
def test_where_none_knows_the_kind_evidence_decides(look):
    assert verdict_stands(claim(), Verdict.RESOLVED, look, has_evidence=True)
    refusal = verdict_refusal(claim(), Verdict.RESOLVED, look, has_evidence=False)
    assert refusal is VerdictRefusal.NO_EVIDENCE
    held = finding(ODD, basis=Basis.OPERATOR)
    assert verdict_refusal(held, Verdict.RESOLVED, look, has_evidence=True) is VerdictRefusal.NOT_ITS_OWN
    for verdict in (Verdict.PRESENT, Verdict.UNCERTAIN):
        assert verdict_stands(claim(), verdict, look, has_evidence=False)


def test_people_are_told_what_ends_it():
    assert what_ends_it(claim()).startswith("3 runs or 72 h without a confirmation; a model that shows")
    assert what_ends_it(claim(confirmed_at=NOW)).startswith("a model that shows")
