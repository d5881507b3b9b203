"""Sections beside the usual ones go the way of everything else: one thing is one, references hold."""

from datetime import UTC, datetime

import msgspec
import pytest

from findings.model import Topic
from patrol.estate.collect import merge_estates
from patrol.estate.document import decode_estate
from patrol.estate.memory.keys import strong_keys
from patrol.estate.model import Estate, GuestConfig, ResolvedAlert, Resource, ResourceType, SourceState
from patrol.estate.sources.snapshot import topics_of
from signals.ceph_evidence import CephHealthRow, CephOsdMap, CephPgMap, CephRow
from signals.protection_evidence import ReplicationRow, SnapshotRow
from signals.traffic_evidence import BlockDeviceRow, InterfaceRow


def cluster(given: str, name: str = "ceph", source: str = "lab", **row: object) -> Resource:
    return Resource(id=given, type=ResourceType.STORAGE, name=name, source=source, ceph=CephRow(**row))


def guest(**fields: object) -> Resource:
    return Resource(**{"id": "web", "type": ResourceType.VM, "vmid": 101, "instance": "lab", "name": "web", **fields})


def merged(*resources: Resource, **lists: object) -> Estate:
    return merge_estates([Estate(sources=[SourceState(name="lab")], resources=list(resources), **lists)])


def test_a_cluster_is_called_by_its_fsid_else_by_its_name() -> None:
    estate = merged(cluster("x", fsid="F-1"), cluster("y", name="lab"))
    assert [each.id for each in estate.resources] == ["storage:ceph:F-1", "storage:ceph:lab"]
    assert strong_keys(estate.resources[0]) == ["storage:uuid:F-1"]


def test_members_that_tell_of_one_cluster_tell_of_one_resource_and_the_worse_word_counts() -> None:
    well = CephHealthRow(status="HEALTH_OK")
    ill = CephHealthRow(status="HEALTH_WARN")
    estate = merge_estates(
        [
            Estate(sources=[SourceState(name=name)], resources=[cluster(name, source=name, fsid="f1", **row)])
            for name, row in (
                ("pve1", {"health": well, "pg_map": CephPgMap(usage_percent=40)}),
                ("pve2", {"health": ill, "osd_map": CephOsdMap(num_in=3, num_up=2)}),
            )
        ]
    )
    (one,) = estate.resources
    assert one.ceph is not None
    assert one.ceph.health.status == "HEALTH_WARN"
    assert one.ceph.pg_map is not None
    assert one.ceph.osd_map is not None


def test_two_clusters_of_one_name_stay_two() -> None:
    assert len(merged(cluster("a", fsid="f1"), cluster("b", fsid="f2")).resources) == 2


def test_a_guest_that_two_sources_saw_has_the_snapshots_and_interfaces_of_both() -> None:
    one = guest(source="lab", snapshots=[SnapshotRow(snapshot_name="a")], interfaces=[InterfaceRow(name="net0")])
    other = guest(
        source="agent",
        snapshots=[SnapshotRow(snapshot_name="a"), SnapshotRow(snapshot_name="b")],
        block_devices=[BlockDeviceRow(device="sda")],
        config=GuestConfig(os_type="l26"),
    )
    (both,) = merged(one, other).resources
    assert [row.snapshot_name for row in both.snapshots or ()] == ["a", "b"]
    assert [row.name for row in both.interfaces or ()] == ["net0"]
    assert [row.device for row in both.block_devices or ()] == ["sda"]
    assert both.config == GuestConfig(os_type="l26")


def test_jobs_and_alerts_refer_to_the_id_that_their_resource_has_now() -> None:
    estate = merged(
        guest(),
        replication_jobs=[ReplicationRow(id="101-0", resource_id="web")],
        resolved_alerts=[ResolvedAlert(id="a", resource_id="web")],
    )
    assert [row.resource_id for row in (*estate.replication_jobs, *estate.resolved_alerts)] == ["vm:lab:101"] * 2


def test_the_end_of_an_alert_has_a_zone() -> None:
    document = {"resolved_alerts": [{"id": "a", "resource_id": "x", "resolved_time": "2026-03-02T03:00:00"}]}
    (alert,) = decode_estate(msgspec.json.encode(document)).resolved_alerts
    assert alert.resolved_time == datetime(2026, 3, 2, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    ("estate", "topic"),
    [
        (Estate(resources=[guest(snapshots=[])]), Topic.SNAPSHOTS),
        (Estate(resources=[guest(interfaces=[])]), Topic.NETWORK),
        (Estate(resources=[guest(block_devices=[])]), Topic.DISK_IO),
        (Estate(resources=[guest(config=GuestConfig())]), Topic.CONFIG),
        (Estate(resources=[cluster("x")]), Topic.CEPH),
        (Estate(replication_jobs=[ReplicationRow()]), Topic.REPLICATION),
        (Estate(resolved_alerts=[ResolvedAlert(id="a", resource_id="x")]), Topic.ALERTS),
    ],
)
def test_what_a_document_carries_counts_as_read(estate: Estate, topic: Topic) -> None:
    assert topic in topics_of(estate)
