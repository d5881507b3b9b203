"""`snapshots`, `replication`, `ceph`, `ceph_details` of pulse_storage: the documented shapes, from the estate."""

import msgspec
import pytest

from findings.model import Topic
from patrol.estate.model import Estate, ResourceType
from patrol.tools.model import ErrorCode, ToolError
from signals.ceph_evidence import (
    CephHealthRow,
    CephMessageRow,
    CephMgrMap,
    CephMonMap,
    CephOsdMap,
    CephPgMap,
    CephPoolRow,
)
from signals.protection_evidence import ReplicationRow, SnapshotRow
from tests.tools.estates import cluster, gap, guest, node, source, toolbox


def answer(estate: Estate, selector: str, **arguments: object) -> dict[str, object]:
    page = toolbox(estate).call("pulse_storage", {"type": selector, **arguments})
    return msgspec.json.decode(msgspec.json.encode(page))


def snapshot(name: str, **row: object) -> SnapshotRow:
    return SnapshotRow(**{"snapshot_name": name, "time": "2026-02-20 20:15:00", **row})


def guests(**sections: object) -> Estate:
    return Estate(
        sources=[source()],
        zones={"a": "Europe/Berlin"},
        resources=[
            node("a", "pve1"),
            guest("a", 101, "pve1", snapshots=[snapshot("before", description="x"), snapshot("current", time=None)]),
            guest("a", 102, "pve1", snapshots=[], type=ResourceType.SYSTEM_CONTAINER),
            guest("a", 103, "pve1"),
            guest("b", 101, "pve9", snapshots=[snapshot("other", time=1_772_000_000, size_bytes=5, vm_state=True)]),
        ],
        **sections,
    )


# --- snapshots


def test_a_snapshot_names_its_guest_and_its_time_has_a_zone() -> None:
    page = answer(guests(), "snapshots", node="pve1")
    assert page["snapshots"] == [
        {
            "id": "vm:a:101@before",
            "vmid": 101,
            "vm_name": "guest-101",
            "type": "vm",
            "node": "pve1",
            "instance": "a",
            "snapshot_name": "before",
            "description": "x",
            "time": "2026-02-20T19:15:00+00:00",
            "resource_id": "vm:a:101",
        }
    ]
    assert (page["total"], page["filtered"]) == (1, 1)


def test_guests_whose_snapshots_were_read_are_listed_and_no_others() -> None:
    assert answer(guests(), "snapshots")["guests"] == ["system-container:a:102", "vm:a:101", "vm:b:101"]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({}, ["before", "other"]),
        ({"guest_id": "101"}, ["before", "other"]),
        ({"vm_id": "vm:b:101"}, ["other"]),
        ({"cluster": "a"}, ["before"]),
        ({"guest_id": "102"}, []),
        ({"resource_type": "vm", "instance": "b"}, ["other"]),
    ],
)
def test_filters_of_snapshots(arguments: dict[str, object], names: list[str]) -> None:
    page = answer(guests(), "snapshots", **arguments)
    assert [row["snapshot_name"] for row in page.get("snapshots", [])] == names
    assert page["total"] == len(names)


def test_a_guest_that_does_not_exist_is_an_error_that_names_those_that_do() -> None:
    for selector in ("snapshots", "replication"):
        with pytest.raises(ToolError) as caught:
            answer(guests(), selector, guest_id="999")
        assert caught.value.code is ErrorCode.NOT_FOUND
        assert "vm:b:101" in caught.value.allowed


def test_a_source_that_could_not_read_snapshots_says_so() -> None:
    page = answer(guests(gaps=[gap(Topic.SNAPSHOTS)]), "snapshots")
    assert [each["detail"] for each in page["gaps"]] == ["it failed"]


# --- replication


def jobs() -> list[ReplicationRow]:
    return [
        ReplicationRow(
            id="101-1", guest_id=101, instance="a", target_node="pve2", status="ok", next_sync="2026-03-02 07:00:00"
        ),
        ReplicationRow(id="101-0", guest_id="101", instance="b", target_node="pve8", status="error", error="no route"),
        ReplicationRow(id="999-0", guest_id=999, instance="a", target_node="pve2", status="ok"),
    ]


def test_a_job_names_its_guest_by_cluster_and_vmid() -> None:
    page = answer(guests(replication_jobs=jobs()), "replication")
    assert [(row["id"], row.get("resource_id")) for row in page["jobs"]] == [
        ("101-1", "vm:a:101"),
        ("999-0", None),
        ("101-0", "vm:b:101"),
    ]
    first = page["jobs"][0]
    assert (first["guest_name"], first["guest_type"], first["source_node"]) == ("guest-101", "vm", "pve1")
    assert first["next_sync"] == "2026-03-02T06:00:00+00:00"
    assert (page["total"], page["sources"]) == (3, ["lab"])


@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        ({"guest_id": "101"}, ["101-1", "101-0"]),
        ({"instance": "b"}, ["101-0"]),
        ({"status": "ERROR"}, ["101-0"]),
        ({"resource_id": "vm:a:101", "status": "error"}, []),
    ],
)
def test_filters_of_replication(arguments: dict[str, object], ids: list[str]) -> None:
    page = answer(guests(replication_jobs=jobs()), "replication", **arguments)
    assert [row["id"] for row in page.get("jobs", [])] == ids


def test_jobs_of_a_source_that_failed_are_not_all_jobs() -> None:
    page = answer(guests(replication_jobs=jobs(), gaps=[gap(Topic.REPLICATION)]), "replication")
    assert "sources" not in page
    assert not page.get("complete")


# --- ceph


def ceph() -> Estate:
    row = {
        "health": CephHealthRow(
            status="HEALTH_WARN", messages=[CephMessageRow(severity="HEALTH_WARN", message="1 osds down")]
        ),
        "mon_map": CephMonMap(num_mons=3),
        "mgr_map": CephMgrMap(available=True, num_mgrs=2),
        "osd_map": CephOsdMap(num_osds=3, num_up=2, num_in=3),
        "pg_map": CephPgMap(num_pgs=64, bytes_total=4 << 40, bytes_used=1 << 40, usage_percent=25.0),
        "pools": [CephPoolRow(name="vms", percent_used=31.0)],
    }
    resource = cluster("f1", **row)
    resource.parent = "node:a:pve1"
    return Estate(sources=[source()], resources=[node("a", "pve1"), resource])


def test_a_cluster_in_short() -> None:
    page = answer(ceph(), "ceph")
    assert page["clusters"] == [
        {
            "id": "storage:ceph:f1",
            "name": "ceph",
            "health": "HEALTH_WARN",
            "details": {
                "health_message": "1 osds down",
                "osd_count": 3,
                "osds_up": 2,
                "osds_in": 3,
                "osds_down": 1,
                "monitors": 3,
                "total_bytes": 4 << 40,
                "used_bytes": 1 << 40,
                "usage_percent": 25.0,
                "pools": 1,
            },
        }
    ]
    assert page["total"] == 1


def test_a_cluster_in_full() -> None:
    (row,) = answer(ceph(), "ceph_details", node="pve1")["hosts"]
    assert (row["hostname"], row["target_id"], row["fsid"], row["name"]) == ("pve1", "storage:ceph:f1", "f1", "ceph")
    assert row["health"]["messages"] == [{"severity": "HEALTH_WARN", "message": "1 osds down"}]
    assert row["pools"] == [{"name": "vms", "percent_used": 31.0}]


def test_the_page_of_pools_shows_clusters_beside_them_and_only_where_no_pool_is_asked_for() -> None:
    (row,) = answer(ceph(), "pools")["ceph_clusters"]
    assert (row["id"], row["health"], row["health_message"]) == ("storage:ceph:f1", "HEALTH_WARN", "1 osds down")
    assert (row["used_tb"], row["total_tb"], row["num_osds_up"], row["num_mgrs"]) == (1.0, 4.0, 2, 2)
    assert answer(ceph(), "pools", min_usage=1)["ceph_clusters"] == []
    assert answer(ceph(), "pools", offset=1)["ceph_clusters"] == []
