"""Runs and operators on the same findings: windows, verbs while a run is under way, what counts as all clear."""

from datetime import timedelta

from findings.model import DEFAULT_ORG, FindingState, Severity
from findings.silence import Silence, SilenceKind
from findings.silence_store import SilenceStore
from findings.store import FindingStore
from findings.verbs import Acknowledge, Dismiss, DismissedReason, Resolve, Snooze, Suppress
from patrol.operators.verbs import carry_out
from patrol.run.lineage import lineage
from patrol.run.record_model import RunStatus
from tests.run.builders import HOST, disk, estate, host

FULL = estate(host(97), disk())


def say(house, finding, verb):
    carry_out(house.database, DEFAULT_ORG, [finding.id], verb, now=house.clock.now, author="ann")


def keep(house, **about):
    silence = Silence(
        **{
            "org_id": DEFAULT_ORG, "id": "s1", "kind": SilenceKind.MAINTENANCE, "resource_id": HOST,
            "starts_at": house.clock.now, "ends_at": house.clock.now + timedelta(hours=3), "reason": "new disks",
            "author": "ann", "created_at": house.clock.now, **about,
        }
    )  # fmt: skip
    with house.database.write() as connection:
        SilenceStore(connection, DEFAULT_ORG).add(silence)


def known(house):
    with house.database.read() as connection:
        return FindingStore(connection, DEFAULT_ORG).list_findings()


def test_what_an_operator_keeps_quiet_does_not_stand_against_all_clear(house):
    [full] = house.run(FULL).findings
    say(house, full, Suppress())
    report = house.run(FULL)
    assert (report.run.status, report.findings) == (RunStatus.HEALTHY, [])
    assert "1 silenced" in report.status_text
    assert report.run.existing_findings == 1
    assert known(house)[0].times_raised == 2  # it goes on taking facts


def test_a_window_covers_a_host_and_its_disks_also_what_was_known_before_and_ends_by_itself(house):
    house.run(estate(host(97), disk("FAILED")))
    keep(house)
    report = house.run(estate(host(97), disk("FAILED")))
    assert (report.run.status, report.findings) == (RunStatus.HEALTHY, [])
    house.clock.advance(hours=3)
    after = house.run(estate(host(97), disk("FAILED")))
    assert after.run.status is RunStatus.CRITICAL
    assert len(after.findings) == 2


def test_what_was_first_found_in_a_window_is_active_after_it(house):
    keep(house)
    assert house.run(FULL).findings == []
    house.clock.advance(hours=3)
    [found] = house.run(FULL).findings
    assert found.lives_on == ()
    assert found.times_raised == 2


def test_what_is_quiet_closes_when_it_is_seen_clear(house):
    [full] = house.run(FULL).findings
    say(house, full, Dismiss(reason=DismissedReason.NOT_AN_ISSUE))
    report = house.run(estate(host(20), disk()))
    assert report.run.resolved_findings == 1
    assert known(house)[0].state is FindingState.RESOLVED


def test_a_higher_severity_wakes_what_was_snoozed(house):
    [full] = house.run(estate(host(80), disk())).findings
    assert full.severity is Severity.WARNING
    say(house, full, Snooze(until=house.clock.now + timedelta(days=9)))
    assert house.run(estate(host(81), disk())).findings == []
    report = house.run(estate(host(99), disk()))
    assert report.run.status is RunStatus.CRITICAL
    assert report.run.regressed_findings == 1
    assert "1 back" in report.status_text


def meanwhile(house, finding, verb):
    """Says it when the run has its results and has not yet written them down."""

    def progress(stage, _detail):
        if stage == "record":
            house.clock.advance(seconds=5)
            say(house, finding, verb)

    house.progress = progress


def test_a_dismissal_while_a_run_is_under_way_is_not_lost(house):
    [full] = house.run(FULL).findings
    meanwhile(house, full, Dismiss(reason=DismissedReason.EXPECTED_BEHAVIOR))
    report = house.run(FULL)
    assert report.findings == []
    [kept] = known(house)
    assert kept.dismissed_reason is DismissedReason.EXPECTED_BEHAVIOR
    assert (kept.silenced_by, kept.times_raised) == ("ann", 2)


def test_what_an_operator_resolved_while_a_run_was_under_way_is_not_reopened_by_it(house):
    [full] = house.run(FULL).findings
    meanwhile(house, full, Resolve())
    assert house.run(FULL).findings == []
    assert known(house)[0].state is FindingState.RESOLVED
    house.progress = None
    [back] = house.run(FULL).findings  # the next one looked afterwards
    assert back.regression_count == 1


def test_an_acknowledged_count_is_quiet_until_it_grows(house):
    [failing] = house.run(estate(host(), disk(pending=3))).findings
    say(house, failing, Acknowledge())
    assert house.run(estate(host(), disk(pending=3))).findings == []
    [grown] = house.run(estate(host(), disk(pending=4))).findings
    assert grown.acknowledged_at is None


# --- where things live


def test_everything_above_a_resource_is_known_nearest_first_also_in_a_circle():
    one, two = host(name="a"), host(name="b")
    one.parent, two.parent = two.id, one.id
    guest = disk()
    guest.parent = one.id
    assert lineage(estate(one, two, guest)) == {
        one.id: (two.id,),
        two.id: (one.id,),
        guest.id: (one.id, two.id),
    }
    assert lineage(estate(disk())) == {"disk:serial:S1": (HOST,)}  # also what the estate does not hold itself
