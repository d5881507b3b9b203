"""Software RAID: missing members, failed ones, and work that is no trouble."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.kinds import Kind
from findings.model import Look
from signals.evidence import InventoryRow, PerformanceOutput
from signals.raid import RaidDetector
from signals.storage_evidence import DiskHealthOutput, HostDisks, RaidDeviceRow, RaidOutput, RaidRow
from tests.signals.storages import Judged


def array(level: str, state: str, made_for: int | None = None, active: int | None = None, **fields: object) -> RaidRow:
    row = RaidRow(device="/dev/md0", level=level, state=state, raid_devices=made_for, active_devices=active)
    for field, value in fields.items():
        setattr(row, field, value)
    return row


FAULTY = RaidDeviceRow(device="/dev/sda1", state="Faulty")
IN_SYNC = RaidDeviceRow(device="/dev/sdb1", state="active sync")
EMPTY_SLOT = RaidDeviceRow(state="removed")


def judge(row: RaidRow) -> Judged:
    return Judged(RaidDetector, RaidOutput(hosts=[HostDisks(hostname="nas", arrays=[row])]))


@pytest.mark.parametrize(
    ("row", "look", "severity"),
    [
        pytest.param(array("raid1", "active", 2, 2), Look.CLEAR, None, id="complete"),
        pytest.param(array("raid1", "clean"), Look.CLEAR, None, id="clean without counts"),
        pytest.param(array("raid1", "active"), Look.BLIND, None, id="active says nothing about members"),
        pytest.param(array("raid1", "active, degraded", 2, 1), Look.PRESENT, "critical", id="mirror on one leg"),
        pytest.param(array("raid1", "active, degraded", 3, 2), Look.PRESENT, "warning", id="mirror with two of three"),
        pytest.param(array("raid1", "active, degraded", 24, 2), Look.PRESENT, "warning", id="two of many"),
        pytest.param(array("raid5", "active", 4, 3), Look.PRESENT, "critical", id="raid5 without one, by its counts"),
        pytest.param(array("raid6", "active, degraded", 4, 3), Look.PRESENT, "warning", id="raid6 without one"),
        pytest.param(array("raid6", "active, degraded", 4, 2), Look.PRESENT, "critical", id="raid6 without two"),
        pytest.param(array("raid10", "active, degraded", 4, 3), Look.PRESENT, "critical", id="half a pair of raid10"),
        pytest.param(array("raid5", "clean, degraded"), Look.PRESENT, "critical", id="degraded by its word alone"),
        pytest.param(array("", "degraded"), Look.PRESENT, "critical", id="degraded at no known level"),
        pytest.param(array("raid1", "clean, degraded, recovering", 2, 1), Look.PRESENT, "critical", id="rebuilding"),
        pytest.param(array("raid1", "clean, recovering", 2, 2), Look.CLEAR, None, id="replacing a member that works"),
        pytest.param(array("raid1", "active, resyncing", 2, 2), Look.CLEAR, None, id="resync after a crash"),
        pytest.param(array("raid1", "active, checking", 2, 2), Look.CLEAR, None, id="monthly check"),
        pytest.param(array("raid1", "active, auto-read-only", 2, 2), Look.CLEAR, None, id="not yet written to"),
        pytest.param(
            array("raid1", "active", 2, 2, failed_devices=1), Look.PRESENT, "warning", id="failed but replaced"
        ),
        pytest.param(array("raid0", "active", total_devices=2), Look.CLEAR, None, id="stripes"),
        pytest.param(array("raid0", "active", failed_devices=1), Look.PRESENT, "critical", id="stripes with a loss"),
        pytest.param(array("linear", "active, broken"), Look.PRESENT, "critical", id="linear, broken"),
        pytest.param(array("raid5", "active, FAILED, Not Started", 3, 1), Look.PRESENT, "critical", id="failed"),
        pytest.param(array("raid1", "inactive"), Look.PRESENT, "critical", id="inactive"),
        pytest.param(
            array("raid5", "clean", devices=[FAULTY, IN_SYNC, IN_SYNC]),
            Look.PRESENT,
            "critical",
            id="failed by its list of members alone",
        ),
        pytest.param(
            array("raid1", "clean", None, 2, devices=[FAULTY, IN_SYNC, IN_SYNC]),
            Look.PRESENT,
            "warning",
            id="failed and replaced by its list of members",
        ),
        pytest.param(
            array("raid1", "clean", None, 1, total_devices=1, working_devices=1, devices=[EMPTY_SLOT, IN_SYNC]),
            Look.PRESENT,
            "critical",
            id="an empty slot",
        ),
        pytest.param(array("raid0", "active", devices=[FAULTY]), Look.PRESENT, "critical", id="stripes, one failed"),
        pytest.param(array("RAID6", "active", 4, 3), Look.PRESENT, "warning", id="level in capitals"),
        pytest.param(array("container", "container"), Look.CLEAR, None, id="container of firmware RAID"),
        pytest.param(array("", "container"), Look.CLEAR, None, id="container by its state"),
        pytest.param(
            array("raid1", "active", None, 1, total_devices=2, working_devices=1, failed_devices=0),
            Look.PRESENT,
            "critical",
            id="older pages: fewer work than there are",
        ),
        pytest.param(
            array("raid1", "clean", None, 2, total_devices=3, working_devices=3, spare_devices=1),
            Look.CLEAR,
            None,
            id="older pages: with a spare",
        ),
    ],
)
def test_members_and_level_decide(row: RaidRow, look: Look, severity: str | None) -> None:
    judged = judge(row)
    assert judged.told() == ({("raid_degraded", severity, "raid:nas:md0", "")} if severity else set())
    assert judged.look(Kind.RAID_DEGRADED, "raid:nas:md0") is look


@pytest.mark.parametrize(
    "row",
    [
        array("raid1", "clean", 2, -1),
        array("raid1", "clean", -1, 2),
        array("raid1", "clean", 2, 2, failed_devices=-1),
        array("raid1", "clean", total_devices=2, working_devices=2, failed_devices=-1),
        array("raid1", "clean", total_devices=2, working_devices=-1),
    ],
)
def test_a_count_below_0_is_no_reading(row: RaidRow) -> None:
    judged = judge(row)
    assert judged.signals == []
    assert judged.look(Kind.RAID_DEGRADED, "raid:nas:md0") is Look.BLIND


def test_a_count_that_is_no_reading_hides_no_member_that_failed() -> None:
    assert judge(array("raid1", "clean, degraded", 2, 1, failed_devices=-1)).signals[0].value == 1
    assert judge(array("raid1", "clean", active=-1, devices=[IN_SYNC, EMPTY_SLOT])).signals[0].value == 1


def test_the_summary_says_what_is_missing_what_is_left_and_what_goes_on() -> None:
    row = array("raid6", "active, degraded", 6, 5, operation="recovery", rebuild_percent=8.5)
    signal = judge(row).one(Kind.RAID_DEGRADED)
    assert signal.summary == "Array md0 (raid6) misses 1 member, some redundancy left; recovery 8.5 %"
    assert (signal.value, signal.resource_type) == (1, "raid")
    row = array("raid6", "active, degraded", 6, 4, operation="recovery delayed")
    assert judge(row).one(Kind.RAID_DEGRADED).summary == (
        "Array md0 (raid6) misses 2 members, no redundancy left; recovery delayed"
    )
    row = array("", "active", 2, 2, failed_devices=2)
    assert judge(row).one(Kind.RAID_DEGRADED).summary == "Array md0 has 2 failed devices beside those in use"


def test_both_pages_and_both_names_of_the_list_are_read() -> None:
    bad = array("raid5", "degraded")
    pages = [
        RaidOutput(hosts=[HostDisks(hostname="a", arrays=[bad])]),
        DiskHealthOutput(hosts=[HostDisks(hostname="b", raid=[bad]), HostDisks(raid=[bad])]),
    ]
    judged = Judged(RaidDetector, *pages)
    assert {signal.resource_id for signal in judged.signals} == {"raid:a:md0", "raid:b:md0", "md0"}


def test_a_known_array_goes_by_its_canonical_id() -> None:
    known = InventoryRow(id="raid:nas:md127", type="raid", name="home", aliases=["/dev/md/home"])
    row = array("raid1", "degraded", id="/dev/md/home")
    judged = Judged(RaidDetector, RaidOutput(hosts=[HostDisks(arrays=[row])]), known=(known,))
    assert (judged.signals[0].resource_id, judged.signals[0].resource_name) == ("raid:nas:md127", "home")


def test_what_has_no_name_or_is_no_array_says_nothing() -> None:
    nameless = RaidRow(level="raid1", state="degraded")
    assert not Judged(RaidDetector, RaidOutput(hosts=[HostDisks(arrays=[nameless])]), PerformanceOutput()).signals


@given(
    st.sampled_from(["raid0", "raid1", "raid5", "raid6", "raid10", "linear", "container", "odd", ""]),
    st.lists(st.sampled_from(["clean", "active", "degraded", "inactive", "FAILED", "resyncing"]), max_size=3),
    st.none() | st.integers(-1, 9),
    st.none() | st.integers(-1, 9),
)
def test_whatever_misses_members_is_never_clear(
    level: str, words: list[str], made_for: int | None, active: int | None
) -> None:
    look = judge(array(level, ", ".join(words), made_for, active)).look(Kind.RAID_DEGRADED, "raid:nas:md0")
    if level != "container" and made_for is not None and active is not None and active < made_for:
        assert look is Look.PRESENT
