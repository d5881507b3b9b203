"""What is looked into: the worst first, one of each cause, five in a run and twenty in a day; the rest waits."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from findings.investigation import Autonomy, InvestigationOutcome, InvestigationStatus, Refusal
from findings.model import Finding, Severity
from patrol.run.escalation import MOST_IN_A_DAY, MOST_IN_A_RUN, Candidate, Deferral, escalations
from patrol.run.model_work.model import EscalationRecord, EscalationState
from tests.findings.builders import NOW, finding

LATER = NOW + timedelta(hours=1)


def candidate(number: int = 1, *, group: str = "", dissent: str = "", **changes: object) -> Candidate:
    made = replace(finding(), id=f"f{number:02}", **changes)
    return Candidate(finding=made, group=group or f"node:x:{number:02}", dissent=dissent)


def decide(
    *candidates: Candidate,
    autonomy: Autonomy = Autonomy.APPROVAL,
    has_model: bool = True,
    queued_today: int = 0,
    before: Sequence[EscalationRecord] = (),
) -> list[EscalationRecord]:
    return escalations(
        candidates,
        run_id="run-2",
        now=LATER,
        autonomy=autonomy,
        has_model=has_model,
        queued_today=queued_today,
        newest={each.finding_id: each for each in before},
    )


def told(decided: Sequence[EscalationRecord]) -> list[tuple[str, str, str]]:
    return [(each.finding_id, each.state, each.reason) for each in decided]


def test_what_deserves_it_is_queued_with_the_words_of_a_model_that_sees_it_otherwise():
    [queued] = decide(candidate(dissent="it is a scheduled job"))
    assert queued == EscalationRecord(
        id="run-2.1",
        run_id="run-2",
        finding_id="f01",
        group="node:x:01",
        state=EscalationState.QUEUED,
        dissent="it is a scheduled job",
        at=LATER,
    )


def test_the_worst_come_first_then_the_oldest_and_a_run_queues_no_more_than_five():
    given = [candidate(number) for number in range(MOST_IN_A_RUN + 1)]
    given.append(candidate(90, severity=Severity.CRITICAL))
    given.append(candidate(91, first_seen_at=NOW - timedelta(days=1)))
    decided = decide(*given)
    assert [each.finding_id for each in decided[:3]] == ["f90", "f91", "f00"]
    assert [each.state for each in decided].count(EscalationState.QUEUED) == MOST_IN_A_RUN
    assert {each.reason for each in decided[MOST_IN_A_RUN:]} == {Deferral.RUN_IS_FULL}


def test_a_day_queues_no_more_than_twenty():
    decided = decide(candidate(1), candidate(2), queued_today=MOST_IN_A_DAY - 1)
    assert told(decided) == [("f01", "queued", ""), ("f02", "deferred", "day_is_full")]


def test_of_each_cause_one_is_looked_into():
    decided = decide(candidate(1, group="node:x:a"), candidate(2, group="node:x:a"), candidate(3, group="node:x:b"))
    assert told(decided) == [("f01", "queued", ""), ("f02", "deferred", "group_has_one"), ("f03", "queued", "")]


@pytest.mark.parametrize(
    ("changes", "autonomy", "has_model", "reason"),
    [
        ({}, Autonomy.MONITOR, True, Refusal.MONITOR_ONLY),
        ({}, Autonomy.MONITOR, False, Refusal.MONITOR_ONLY),
        ({}, Autonomy.FULL, False, Refusal.NO_MODEL),
        ({"severity": Severity.WATCH}, Autonomy.FULL, True, Refusal.LOW_SEVERITY),
        ({"suppressed": True}, Autonomy.FULL, True, Refusal.SILENCED),
        ({"investigation_status": InvestigationStatus.RUNNING}, Autonomy.FULL, True, Refusal.RUNNING),
        ({"investigation_attempts": 3}, Autonomy.FULL, True, Refusal.ATTEMPTS_USED),
        ({"investigation_outcome": InvestigationOutcome.CANNOT_FIX}, Autonomy.FULL, True, Refusal.OUTCOME_FINAL),
        ({"last_investigated_at": LATER - timedelta(minutes=5)}, Autonomy.FULL, True, Refusal.COOLING_DOWN),
    ],
)
def test_a_finding_that_does_not_deserve_it_says_the_first_reason_and_takes_no_room(
    changes, autonomy, has_model, reason
):
    group = "node:x:a"
    decided = decide(candidate(1, group=group, **changes), autonomy=autonomy, has_model=has_model)
    assert told(decided) == [("f01", "refused", str(reason))]
    if autonomy is Autonomy.FULL and has_model:
        other = candidate(2, group=group)
        assert ("f02", "queued", "") in told(decide(candidate(1, group=group, **changes), other, autonomy=autonomy))


# --- over several runs


def recorded(state: EscalationState, reason: str = "", finding_id: str = "f01") -> EscalationRecord:
    return EscalationRecord(
        id="run-1.1", run_id="run-1", finding_id=finding_id, group="node:x:01", state=state, reason=reason, at=NOW
    )


def test_what_is_queued_already_is_not_queued_again_and_stands_for_its_cause():
    waiting = recorded(EscalationState.QUEUED)
    decided = decide(candidate(1), candidate(2, group="node:x:01"), before=[waiting])
    assert told(decided) == [("f02", "deferred", "group_has_one")]


@pytest.mark.parametrize(
    "changes", [{"last_regression_at": LATER}, {"last_investigated_at": NOW + timedelta(seconds=1)}]
)
def test_what_came_back_or_was_looked_into_since_is_asked_anew(changes):
    made = candidate(1, **changes)
    again = escalations(
        [made],
        run_id="run-3",
        now=NOW + timedelta(hours=3),
        autonomy=Autonomy.FULL,
        has_model=True,
        queued_today=0,
        newest={"f01": recorded(EscalationState.QUEUED)},
    )
    assert told(again) == [("f01", "queued", "")]


def test_what_waited_is_queued_as_soon_as_there_is_room():
    waited = recorded(EscalationState.DEFERRED, Deferral.RUN_IS_FULL)
    assert told(decide(candidate(1), before=[waited])) == [("f01", "queued", "")]


def test_the_same_decision_is_recorded_once_and_another_reason_is_news():
    refused = recorded(EscalationState.REFUSED, Refusal.MONITOR_ONLY)
    assert decide(candidate(1), autonomy=Autonomy.MONITOR, before=[refused]) == []
    assert told(decide(candidate(1), has_model=False, before=[refused])) == [("f01", "refused", "no_model")]


def test_findings_are_left_as_they_are():
    given = candidate(1)
    kept: Finding = given.finding
    decide(given)
    assert kept == replace(finding(), id="f01")
