import itertools
from dataclasses import replace
from datetime import timedelta

import pytest

from findings.investigation import (
    Autonomy,
    InvestigationOutcome,
    InvestigationPolicy,
    InvestigationStatus,
    Refusal,
)
from findings.model import DismissedReason, FindingState, Severity
from tests.findings.builders import NOW, finding

O = InvestigationOutcome  # noqa: E741 - a table reads better with short words
STATES = {
    "open": {},
    "resolved": {"state": FindingState.RESOLVED},
    "snoozed": {"snoozed_until": NOW + timedelta(seconds=1)},
    "snooze over": {"snoozed_until": NOW},
    "dismissed": {"dismissed_reason": DismissedReason.WILL_FIX_LATER},
    "suppressed": {"suppressed": True},
    "acknowledged": {"acknowledged_at": NOW},
}
QUIET = {"snoozed", "dismissed", "suppressed"}
COOL_DOWN_MINUTES = {
    None: 60,
    O.FIX_EXECUTED: 60,
    O.TIMED_OUT: 10,
    O.FIX_FAILED: 20,
    O.FIX_VERIFICATION_FAILED: 20,
}
FINAL = [outcome for outcome in O if outcome not in COOL_DOWN_MINUTES]
LAST = [None, -9.99, 9.99, 10, 20, 59.99, 60]  # minutes since the last investigation


def expected(autonomy, state, severity, status, outcome, attempts, minutes, operator):  # noqa: PLR0911 - one row each
    """The table of the rules, read in its order."""
    if not operator and autonomy is Autonomy.MONITOR:
        return Refusal.MONITOR_ONLY
    if state == "resolved":
        return Refusal.RESOLVED
    if state in QUIET:
        return Refusal.SILENCED
    if outcome in FINAL:
        return Refusal.OUTCOME_FINAL
    if not operator and severity in (Severity.INFO, Severity.WATCH):
        return Refusal.LOW_SEVERITY
    if status is InvestigationStatus.RUNNING:
        return Refusal.RUNNING
    if attempts >= 3:
        return Refusal.ATTEMPTS_USED
    if not operator and minutes is not None and abs(minutes) < COOL_DOWN_MINUTES[outcome]:
        return Refusal.COOLING_DOWN
    return None


@pytest.mark.parametrize("state", STATES)
def test_the_whole_table_of_refusals(state):
    start = finding(**STATES[state])
    for severity, status, outcome, attempts, minutes in itertools.product(
        Severity, [None, *InvestigationStatus], [None, *O], [0, 2, 3, 4], LAST
    ):
        subject = replace(
            start,
            severity=severity,
            investigation_status=status,
            investigation_outcome=outcome,
            investigation_attempts=attempts,
            last_investigated_at=None if minutes is None else NOW - timedelta(minutes=minutes),
        )
        for autonomy, operator in itertools.product(Autonomy, [False, True]):
            refusal = subject.investigation_refusal(autonomy, NOW, operator_request=operator)
            case = (autonomy, state, severity, status, outcome, attempts, minutes, operator)
            assert refusal is expected(*case), case
        for autonomy in Autonomy:
            case = (autonomy, state, severity, status, outcome, attempts, minutes, False)
            assert subject.should_investigate(autonomy, NOW) is (expected(*case) is None), case


def test_a_running_investigation_is_never_joined_by_a_second_one_not_even_for_an_operator():
    running = finding(investigation_status=InvestigationStatus.RUNNING)
    for autonomy in Autonomy:
        assert running.investigation_refusal(autonomy, NOW, operator_request=True) is Refusal.RUNNING


def test_an_operator_bypasses_autonomy_severity_and_cool_down_together():
    calm = finding(severity=Severity.INFO, last_investigated_at=NOW)
    assert calm.investigation_refusal(Autonomy.MONITOR, NOW) is Refusal.MONITOR_ONLY
    assert calm.investigation_refusal(Autonomy.FULL, NOW) is Refusal.LOW_SEVERITY
    assert calm.investigation_refusal(Autonomy.MONITOR, NOW, operator_request=True) is None


def test_the_policy_sets_attempts_and_cool_downs():
    policy = InvestigationPolicy(max_attempts=1, cool_down=timedelta(minutes=1), cool_down_after={})
    earlier = finding(investigation_outcome=O.TIMED_OUT, last_investigated_at=NOW - timedelta(seconds=60))
    assert earlier.should_investigate(Autonomy.FULL, NOW, policy)
    assert not earlier.should_investigate(Autonomy.FULL, NOW)
    tried = finding(investigation_attempts=1)
    assert tried.investigation_refusal(Autonomy.FULL, NOW, policy) is Refusal.ATTEMPTS_USED


def test_a_clock_that_was_set_back_blocks_for_no_longer_than_the_cool_down():
    future = finding(last_investigated_at=NOW + timedelta(days=3650))
    assert future.should_investigate(Autonomy.FULL, NOW)


@pytest.mark.parametrize("word", ["", "autonomous", "MONITOR"])
def test_a_word_that_is_no_autonomy_escalates_nothing(word):
    assert finding().investigation_refusal(word, NOW) is Refusal.MONITOR_ONLY
