"""Where a finding stands is always what the rest of it says; every step that anything can cause is in the table."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import product
from typing import Any, TypeAlias

import pytest

from findings.investigation import Autonomy, InvestigationOutcome, InvestigationStatus
from findings.kinds import Kind
from findings.lifecycle import advance
from findings.loop import AFTER_OUTCOME, MOVES, QUIET_STATES, LoopState, last_fix, loop_state, may_follow
from findings.model import (
    DismissedReason,
    Finding,
    FindingState,
    Look,
    Observation,
    ResolveReason,
    Severity,
    Transition,
    TransitionReason,
)
from findings.silence import Quiet, QuietReason, Silence, SilenceKind, quiet
from tests.findings.builders import HOST, NOTHING, NOW, ORG, applied, by_key, finding, looked, observation

Facts: TypeAlias = dict[str, Any]
"""Fields of a finding."""

LATER = NOW + timedelta(hours=1)
STATUSES = (None, *InvestigationStatus)
OUTCOMES = (None, *InvestigationOutcome)
OPEN_AND_RESOLVED: tuple[Facts, ...] = (
    {},
    {"state": FindingState.RESOLVED, "resolved_at": NOW, "resolve_reason": ResolveReason.OPERATOR},
    {"state": FindingState.RESOLVED, "resolved_at": NOW, "resolve_reason": ResolveReason.CLEARED},
)
WORDS: tuple[Facts, ...] = (
    {},
    {"suppressed": True},
    {"snoozed_until": NOW + timedelta(days=1)},
    {"dismissed_reason": DismissedReason.NOT_AN_ISSUE},
    {"dismissed_reason": DismissedReason.WILL_FIX_LATER, "remind_at": LATER},
    {"acknowledged_at": NOW, "acknowledged_facts": {"pending_sectors": 1}, "facts": {"pending_sectors": 1}},
)


def silence(kind: SilenceKind) -> Silence:
    ends_at = NOW + timedelta(days=1) if kind is SilenceKind.MAINTENANCE else None
    return Silence(
        org_id=ORG,
        id="s-1",
        kind=kind,
        resource_id=HOST,
        starts_at=NOW - timedelta(hours=1),
        ends_at=ends_at,
        reason="said so",
        author="ada",
        created_at=NOW,
    )


SILENCES: tuple[tuple[Silence, ...], ...] = ((), *((silence(kind),) for kind in SilenceKind))


def stands(one: Finding, silences: tuple[Silence, ...] = (), now: datetime = NOW) -> LoopState:
    return loop_state(one, quiet(one, silences, now), now)


SOME = (SILENCES[0], SILENCES[2])
"""None, and a maintenance window: what the others do a word about the finding does as well."""


def every_finding() -> Iterator[Finding]:
    for status, outcome, state, words in product(STATUSES, OUTCOMES, OPEN_AND_RESOLVED, WORDS):
        yield finding(
            Kind.SMART_FAILURE, investigation_status=status, investigation_outcome=outcome, **{**state, **words}
        )


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, LoopState.DETECTED),
        ({"investigation_status": InvestigationStatus.PENDING}, LoopState.DETECTED),
        ({"investigation_status": InvestigationStatus.RUNNING}, LoopState.INVESTIGATING),
        ({"investigation_status": InvestigationStatus.FAILED}, LoopState.DETECTED),
        ({"investigation_status": InvestigationStatus.NEEDS_ATTENTION}, LoopState.NEEDS_ATTENTION),
        ({"investigation_outcome": InvestigationOutcome.FIX_QUEUED}, LoopState.REMEDIATION_PLANNED),
        ({"investigation_outcome": InvestigationOutcome.FIX_EXECUTED}, LoopState.REMEDIATING),
        ({"investigation_outcome": InvestigationOutcome.FIX_FAILED}, LoopState.REMEDIATION_FAILED),
        ({"investigation_outcome": InvestigationOutcome.FIX_VERIFICATION_FAILED}, LoopState.REMEDIATION_FAILED),
        ({"investigation_outcome": InvestigationOutcome.FIX_REJECTED}, LoopState.NEEDS_ATTENTION),
        ({"investigation_outcome": InvestigationOutcome.FIX_VERIFICATION_UNKNOWN}, LoopState.NEEDS_ATTENTION),
        ({"investigation_outcome": InvestigationOutcome.NEEDS_ATTENTION}, LoopState.NEEDS_ATTENTION),
        ({"investigation_outcome": InvestigationOutcome.CANNOT_FIX}, LoopState.NEEDS_ATTENTION),
        ({"investigation_outcome": InvestigationOutcome.UNKNOWN}, LoopState.NEEDS_ATTENTION),
        ({"investigation_outcome": InvestigationOutcome.TIMED_OUT}, LoopState.TIMED_OUT),
    ],
)
def test_an_open_finding_nobody_wants_quiet_about_stands_where_its_investigation_does(
    facts: Facts, expected: LoopState
) -> None:
    assert stands(finding(**facts)) is expected


@pytest.mark.parametrize(
    ("words", "expected"),
    list(
        zip(
            WORDS,
            ("planned", LoopState.SUPPRESSED, LoopState.SNOOZED, LoopState.DISMISSED, LoopState.DISMISSED, "planned"),
            strict=True,
        )
    ),
)
def test_what_an_operator_said_comes_before_what_an_investigation_came_to(words: Facts, expected: object) -> None:
    one = finding(Kind.SMART_FAILURE, investigation_outcome=InvestigationOutcome.FIX_QUEUED, **words)
    assert stands(one) is (LoopState.REMEDIATION_PLANNED if expected == "planned" else expected)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (SilenceKind.SUPPRESSION, LoopState.SUPPRESSED),
        (SilenceKind.OFFLINE, LoopState.SUPPRESSED),
        (SilenceKind.MAINTENANCE, LoopState.SNOOZED),
    ],
)
def test_a_silence_about_the_resource_counts_like_a_word_about_the_finding(
    kind: SilenceKind, expected: LoopState
) -> None:
    assert stands(finding(), (silence(kind),)) is expected


def test_a_quiet_that_is_over_is_none() -> None:
    over = Quiet(QuietReason.SNOOZED, NOW, "ada")
    assert loop_state(finding(), over, NOW) is LoopState.DETECTED
    assert loop_state(finding(), over, NOW - timedelta(seconds=1)) is LoopState.SNOOZED


@pytest.mark.parametrize("word", [WORDS[2], WORDS[3]], ids=["snoozed", "dismissed"])
def test_a_planned_fix_shows_again_when_the_snooze_or_dismissal_is_taken_back(word: Facts) -> None:
    hidden = finding(investigation_outcome=InvestigationOutcome.FIX_QUEUED, **word)
    shown = replace(hidden, snoozed_until=None, dismissed_reason=None)
    assert stands(hidden) in QUIET_STATES
    assert stands(shown) is LoopState.REMEDIATION_PLANNED
    assert may_follow(stands(hidden), stands(shown))


def test_a_verified_fix_does_not_resolve_a_finding_that_is_open() -> None:
    open_still = finding(investigation_outcome=InvestigationOutcome.FIX_VERIFIED)
    assert stands(open_still) is LoopState.REMEDIATING


def test_a_finding_stands_as_resolved_exactly_while_it_is_resolved() -> None:
    for each in every_finding():
        for silences in SILENCES:
            assert (stands(each, silences) is LoopState.RESOLVED) is not each.is_open


def test_every_state_can_be_reached() -> None:
    assert {stands(each) for each in every_finding()} == set(LoopState)


def caused_by_runs(before: Finding) -> Iterator[Finding]:
    grown = observation(before.kind, before.severity, facts={"pending_sectors": 9})
    observed: list[tuple[Observation, ...]] = [
        (),
        (grown,),
        *((observation(before.kind, each),) for each in (Severity.WARNING, Severity.CRITICAL)),
    ]
    looks = [NOTHING, *(looked(look, before.kind) for look in Look)]
    for observations, examined, removed in product(observed, looks, [(), (before.resource_id,)]):
        if observations and (examined is not NOTHING or removed):
            continue  # what was observed is not reconciled
        step = advance(
            by_key(before),
            observations,
            examined,
            LATER,
            run_id="run-1",
            org_id=ORG,
            removed=removed,
        )
        yield from applied(by_key(before), step).values()


def caused_by_operators(before: Finding) -> Iterator[Finding]:
    """An operator sets and takes back what he says of a finding, resolves it, and takes that back."""
    quiet_again: Facts = {"suppressed": False, "snoozed_until": None, "dismissed_reason": None, "remind_at": None}
    known_no_more: Facts = {"acknowledged_at": None, "acknowledged_facts": {}}
    state_again: Facts = {"state": FindingState.OPEN, "resolved_at": None, "resolve_reason": None}
    for state, words in product(OPEN_AND_RESOLVED[:2], WORDS):
        yield replace(before, **{**quiet_again, **known_no_more, **state_again, **state, **words})


def caused_by_investigations(before: Finding) -> Iterator[Finding]:
    if before.investigation_refusal(Autonomy.FULL, NOW, operator_request=True) is None:
        yield replace(before, investigation_status=InvestigationStatus.PENDING)
        yield replace(before, investigation_status=InvestigationStatus.RUNNING, investigation_outcome=None)
    if before.investigation_status is InvestigationStatus.RUNNING:
        ends = (InvestigationStatus.COMPLETED, InvestigationStatus.FAILED, InvestigationStatus.NEEDS_ATTENTION)
        for status, outcome in product(ends, OUTCOMES):
            yield replace(before, investigation_status=status, investigation_outcome=outcome)
    elif before.investigation_outcome is not None:
        for outcome in AFTER_OUTCOME.get(before.investigation_outcome, ()):
            yield replace(before, investigation_outcome=outcome)
            yield replace(before, investigation_outcome=outcome, investigation_status=InvestigationStatus.COMPLETED)


def all_steps() -> set[tuple[LoopState, LoopState]]:
    """What stands next to what, by anything that can happen. At each step silences may begin or end."""
    found: set[tuple[LoopState, LoopState]] = set()
    for before in every_finding():
        afters = {
            stands(after, silences, LATER)
            for after in (*caused_by_runs(before), *caused_by_operators(before), *caused_by_investigations(before))
            for silences in SOME
        }
        found.update((stands(before, silences), after) for silences in SOME for after in afters)
    return found


def test_every_step_that_anything_can_cause_is_legal_and_every_legal_step_can_happen() -> None:
    legal = {(before, after) for before, afters in MOVES.items() for after in afters}
    happens = all_steps()
    assert happens - legal == set()
    assert legal - happens == set()


def test_every_state_has_its_line_in_the_table_and_may_stay() -> None:
    assert set(MOVES) == set(LoopState)
    assert all(may_follow(state, state) for state in LoopState)


def closed(version: int, reason: ResolveReason, note: str = "") -> Transition:
    return change(version, TransitionReason.RESOLVED, FindingState.RESOLVED, resolve_reason=reason, note=note)


def change(version: int, reason: TransitionReason, state: FindingState, **more: Any) -> Transition:
    base = Transition(
        finding_id="f",
        version=version,
        run_id="run-1",
        old_state=FindingState.OPEN,
        new_state=state,
        reason=reason,
        old_severity=Severity.WARNING,
        new_severity=Severity.WARNING,
        at=NOW,
    )
    return replace(base, **more)


def test_what_was_never_closed_has_no_last_fix() -> None:
    assert last_fix([]) == ""
    assert last_fix([change(1, TransitionReason.FILED, FindingState.OPEN)]) == ""


def test_the_last_fix_is_the_last_resolution_with_the_words_of_whoever_made_it() -> None:
    changes = [
        closed(2, ResolveReason.CLEARED),
        change(3, TransitionReason.REGRESSED, FindingState.OPEN),
        closed(4, ResolveReason.OPERATOR, "replaced the cable"),
        change(5, TransitionReason.REGRESSED, FindingState.OPEN),
    ]
    assert last_fix(reversed(changes)) == "an operator resolved it: replaced the cable"


def test_what_is_said_of_a_resolved_finding_is_not_what_ended_it() -> None:
    quiet_too = change(3, TransitionReason.SUPPRESSED, FindingState.RESOLVED, resolve_reason=ResolveReason.OPERATOR)
    assert last_fix([closed(2, ResolveReason.OPERATOR, "new disk"), quiet_too]) == "an operator resolved it: new disk"


@pytest.mark.parametrize("reason", ResolveReason)
def test_every_reason_to_close_reads_as_what_ended_the_trouble(reason: ResolveReason) -> None:
    assert len(last_fix([closed(2, reason)])) > 10
