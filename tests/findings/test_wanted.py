"""Which findings a list shows: by the words that the command line and the interface share."""

from dataclasses import replace
from datetime import timedelta

import pytest

from findings.model import FindingState, ResolveReason
from findings.silence import Silence, SilenceKind
from findings.wanted import Wanted
from tests.findings.builders import HOST, NOW, ORG, finding

ACTIVE = finding()
SNOOZED = replace(ACTIVE, snoozed_until=NOW + timedelta(hours=1))
RESOLVED = replace(
    ACTIVE, state=FindingState.RESOLVED, resolved_at=NOW, resolve_reason=ResolveReason.CLEARED, snoozed_until=None
)
MAINTENANCE = Silence(
    org_id=ORG,
    id="s1",
    kind=SilenceKind.MAINTENANCE,
    resource_id=HOST,
    starts_at=NOW,
    ends_at=NOW + timedelta(hours=1),
    reason="new disks",
    author="ann",
    created_at=NOW,
)


@pytest.mark.parametrize(
    ("wanted", "active", "snoozed", "in_maintenance", "resolved"),
    [
        (Wanted.OPEN, True, True, True, False),
        (Wanted.ACTIVE, True, False, False, False),
        (Wanted.SILENCED, False, True, True, False),
        (Wanted.RESOLVED, False, False, False, True),
        (Wanted.ALL, True, True, True, True),
    ],
)
def test_each_word_means_the_same_findings(wanted, active, snoozed, in_maintenance, resolved):
    assert wanted.fits(ACTIVE, [], NOW) is active
    assert wanted.fits(SNOOZED, [], NOW) is snoozed
    assert wanted.fits(ACTIVE, [MAINTENANCE], NOW) is in_maintenance
    assert wanted.fits(RESOLVED, [MAINTENANCE], NOW) is resolved


def test_a_snooze_or_a_window_that_is_over_hides_nothing():
    after = NOW + timedelta(hours=1)
    assert Wanted.ACTIVE.fits(SNOOZED, [MAINTENANCE], after)
    assert not Wanted.SILENCED.fits(SNOOZED, [MAINTENANCE], after)


@pytest.mark.parametrize("wanted", Wanted)
def test_no_finding_that_fits_is_left_out_by_the_state_that_is_asked_of_the_database(wanted):
    for each in (ACTIVE, SNOOZED, RESOLVED):
        for silences in ([], [MAINTENANCE]):
            assert not wanted.fits(each, silences, NOW) or wanted.state in {None, each.state}
