"""Reminders: on the day that an operator named a finding is active again, without a run."""

from dataclasses import replace
from datetime import timedelta

import pytest

from findings.lifecycle import Advance, Change
from findings.model import DismissedReason, FindingState, ResolveReason, TransitionReason
from findings.store import FindingStore
from patrol.operators.reminders import remind
from tests.findings.builders import NOW, ORG, finding

DAY = timedelta(days=1)


def later(subject="a", **more):
    said = {"dismissed_reason": DismissedReason.WILL_FIX_LATER, "remind_at": NOW + DAY, "silenced_by": "ann"}
    return replace(finding(subject=subject), **{**said, **more})


@pytest.fixture
def keep(any_database):
    def _keep(*findings):
        changes = tuple(Change(None, each) for each in findings)
        with any_database.write() as connection:
            FindingStore(connection, ORG).apply(Advance(changes=changes, transitions=(), outcomes={}))

    return _keep


def test_a_finding_is_active_again_on_the_day_of_its_reminder(any_database, keep):
    keep(later())
    assert remind(any_database, ORG, NOW + DAY - timedelta(seconds=1)) == []
    [woken] = remind(any_database, ORG, NOW + DAY)
    assert (woken.dismissed_reason, woken.remind_at, woken.remind_count) == (None, None, 1)
    with any_database.read() as connection:
        store = FindingStore(connection, ORG)
        assert store.get(woken.id) == woken
        [event] = store.transitions(woken.id)
    assert (event.reason, event.at) == (TransitionReason.REMINDED, NOW + DAY)
    assert event.new_quiet is None
    assert remind(any_database, ORG, NOW + DAY) == []


def test_what_is_resolved_or_suppressed_stays_quiet(any_database, keep):
    resolved = {"state": FindingState.RESOLVED, "resolved_at": NOW, "resolve_reason": ResolveReason.CLEARED}
    keep(later("a", **resolved), later("b", suppressed=True), finding(subject="c"))
    assert remind(any_database, ORG, NOW + 2 * DAY) == []
