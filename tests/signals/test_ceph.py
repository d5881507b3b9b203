"""Ceph: what a cluster says of itself, what it measures, how full it and its pools are, and what was not read."""

import pytest

from findings.kinds import Kind
from findings.model import Look
from signals.ceph import CephDetector
from signals.ceph_evidence import (
    CephDetailsOutput,
    CephHealthRow,
    CephMessageRow,
    CephMgrMap,
    CephOsdMap,
    CephOutput,
    CephPgMap,
    CephPoolRow,
    CephRow,
    CephSummaryDetails,
    CephSummaryRow,
)
from signals.evidence import InventoryRow
from signals.pages import Page
from signals.storage_evidence import CephClusterRow, PoolsOutput
from signals.thresholds import Limit, Limited
from tests.signals.metered import Judged

CLUSTER = "storage:ceph:f1"
LIMITS = {Limited.STORAGE: Limit(trigger=85, clear=80, critical=90, provenance="test")}


def details(status: str = "HEALTH_OK", *messages: str, **fields: object) -> CephDetailsOutput:
    row = CephRow(
        **{
            "target_id": CLUSTER,
            "name": "ceph",
            "health": CephHealthRow(status=status, messages=[CephMessageRow(message=each) for each in messages]),
            "osd_map": CephOsdMap(num_osds=3, num_up=3, num_in=3),
            "pg_map": CephPgMap(usage_percent=40, degraded_ratio=0),
            "mgr_map": CephMgrMap(available=True),
            "pools": [CephPoolRow(name="vms", percent_used=40)],
            **fields,
        }
    )
    return CephDetailsOutput(hosts=[row])


def judged(*outputs: Page, limits: dict[Limited, Limit] | None = None, **options: object) -> Judged:
    return Judged(CephDetector, *outputs, limits=LIMITS if limits is None else limits, **options)


@pytest.mark.parametrize(
    ("status", "look", "severity"),
    [
        ("HEALTH_OK", Look.CLEAR, None),
        ("HEALTH_WARN", Look.PRESENT, "warning"),
        (" health_err ", Look.PRESENT, "critical"),
        ("", Look.BLIND, None),
        ("HEALTH_ODD", Look.BLIND, None),
    ],
)
def test_what_a_cluster_says_of_itself_is_judged(status: str, look: Look, severity: str | None) -> None:
    seen = judged(details(status, "1 osds down"))
    assert seen.look(Kind.CEPH_UNHEALTHY, CLUSTER) is look
    assert seen.told() == ({("ceph_unhealthy", severity, CLUSTER, "")} if severity else set())


def test_the_signal_repeats_the_first_messages() -> None:
    (signal,) = judged(details("HEALTH_WARN", "1 osds\ndown", *(f"m{number}" for number in range(5)))).signals
    assert signal.summary == "Ceph cluster ceph is HEALTH_WARN: 1 osds down; m0; m1; m2 and 2 more"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"osd_map": CephOsdMap(num_osds=4, num_up=2, num_in=3)}, "1 of 3 OSDs that should hold data is down"),
        ({"pg_map": CephPgMap(usage_percent=40, degraded_ratio=0.021)}, "2.1 % of its objects have fewer copies"),
        ({"mgr_map": CephMgrMap(available=False)}, "no manager is active"),
    ],
)
def test_what_a_cluster_measures_counts_whatever_it_calls_itself(fields: dict[str, object], told: str) -> None:
    (signal,) = judged(details(**fields)).signals
    assert (signal.signal_type, signal.severity) == (Kind.CEPH_UNHEALTHY, "warning")
    assert told in signal.summary


@pytest.mark.parametrize(
    "fields",
    [
        {"osd_map": CephOsdMap(num_osds=3, num_up=-1, num_in=3)},
        {"osd_map": CephOsdMap(num_osds=3, num_up=3, num_in=-1)},
        {"pg_map": CephPgMap(usage_percent=40, degraded_ratio=-1)},
    ],
)
def test_a_count_below_0_is_no_reading_and_hides_no_shortage(fields: dict[str, object]) -> None:
    seen = judged(details(**fields))
    assert seen.signals == []
    assert seen.look(Kind.CEPH_UNHEALTHY, CLUSTER) is Look.BLIND
    (signal,) = judged(details(**{**fields, "mgr_map": CephMgrMap(available=False)})).signals
    assert "no manager is active" in signal.summary


@pytest.mark.parametrize(
    "fields",
    [
        {"osd_map": CephOsdMap(num_osds=4, num_up=3, num_in=3)},  # one is out and down: it holds nothing
        {"osd_map": None, "mgr_map": None},
        {"pg_map": CephPgMap(usage_percent=40, misplaced_ratio=0.5)},  # moving is work, no fault
    ],
)
def test_what_is_out_not_told_or_only_moving_is_no_fault(fields: dict[str, object]) -> None:
    assert judged(details(**fields)).look(Kind.CEPH_UNHEALTHY, CLUSTER) is Look.CLEAR


@pytest.mark.parametrize(
    ("percent", "look"),
    [
        (79.9, Look.CLEAR),
        (80, Look.HELD),
        (85, Look.HELD),
        (85.1, Look.PRESENT),
        (None, Look.BLIND),
        (0, Look.BLIND),
        (101, Look.BLIND),
    ],
)
def test_a_cluster_is_judged_by_the_limit_of_storages(percent: float | None, look: Look) -> None:
    assert judged(details(pg_map=CephPgMap(usage_percent=percent))).look(Kind.HIGH_DISK, CLUSTER) is look


@pytest.mark.parametrize(
    ("percent", "look"), [(0, Look.CLEAR), (80, Look.HELD), (91, Look.PRESENT), (None, Look.BLIND)]
)
def test_each_pool_is_judged_by_itself(percent: float | None, look: Look) -> None:
    seen = judged(details(pools=[CephPoolRow(name="vms", percent_used=percent), CephPoolRow(id=2, percent_used=1)]))
    assert seen.look(Kind.HIGH_DISK, CLUSTER, "pool vms") is look
    assert seen.look(Kind.HIGH_DISK, CLUSTER, "pool 2") is Look.CLEAR
    assert seen.look(Kind.HIGH_DISK, CLUSTER) is Look.CLEAR


def test_a_full_pool_is_a_signal_of_its_own() -> None:
    (signal,) = judged(details(pools=[CephPoolRow(name="vms", percent_used=92)])).signals
    assert (signal.subject, signal.severity, signal.value) == ("pool vms", "critical", 92)
    assert signal.summary == "Ceph pool vms of ceph is 92.0 % full (limit 85 %)"


def test_pools_that_were_not_read_keep_the_cluster_from_being_clear() -> None:
    assert judged(details(pools=None)).look(Kind.HIGH_DISK, CLUSTER) is None


def test_what_is_switched_off_is_not_looked_at() -> None:
    seen = judged(details(pg_map=CephPgMap(usage_percent=99)), limits={})
    assert seen.signals == []
    assert seen.look(Kind.HIGH_DISK, CLUSTER) is None


def short(health: str, percent: float | None) -> list[Page]:
    summary = CephSummaryRow(
        id=CLUSTER, name="ceph", health=health, details=CephSummaryDetails(usage_percent=percent, health_message="why")
    )
    beside = CephClusterRow(id=CLUSTER, name="ceph", health=health, usage_percent=percent, health_message="why")
    return [CephOutput(clusters=[summary]), PoolsOutput(ceph_clusters=[beside])]


@pytest.mark.parametrize("number", [0, 1])
def test_the_short_forms_show_faults_and_clear_nothing(number: int) -> None:
    seen = judged(short("HEALTH_ERR", 91)[number])
    assert seen.told() == {
        ("ceph_unhealthy", "critical", CLUSTER, ""),
        ("high_disk", "critical", CLUSTER, ""),
    }
    assert all("why" in each.summary for each in seen.signals if each.signal_type is Kind.CEPH_UNHEALTHY)
    seen = judged(short("HEALTH_OK", 40)[number])
    assert seen.look(Kind.CEPH_UNHEALTHY, CLUSTER) is None
    assert seen.look(Kind.HIGH_DISK, CLUSTER) is None


def test_a_short_form_without_details_is_blind_about_use() -> None:
    seen = judged(CephOutput(clusters=[CephSummaryRow(name="lab", health="HEALTH_OK")]))
    assert seen.look(Kind.HIGH_DISK, "storage:ceph:lab") is Look.BLIND


def test_a_cluster_is_not_the_storage_that_is_called_like_it() -> None:
    storage = InventoryRow(id="storage:lab:ceph", type="storage", name="ceph")
    seen = judged(details("HEALTH_ERR", target_id=None, fsid=""), known=(storage,))
    assert [each.resource_id for each in seen.signals] == ["storage:ceph:ceph"]
