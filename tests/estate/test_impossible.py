"""Numbers of a document that cannot be readings are gaps: nobody may take them for fine, or for a fault."""

from pathlib import Path

import pytest

from findings.model import GapReason, Topic
from patrol.estate.model import Metric
from tests.estate.test_snapshot import collected, decoded, vm, written


@pytest.mark.parametrize(
    ("fields", "topic", "subject"),
    [
        ({"metrics": {"memory": {"value": 150}, "swap": {"value": 3}}}, Topic.MEMORY, ""),
        ({"metrics": {"cpu": {"value": 350, "window_seconds": 300}, "swap": {"value": 3}}}, Topic.CPU, ""),
        ({"metrics": {"pressure_io": {"value": -1}, "swap": {"value": 3}}}, Topic.PRESSURE, ""),
        ({"metrics": {"disk": {"value": 1e300}, "swap": {"value": 3}}}, Topic.FILESYSTEMS, "main disk"),
        ({"filesystems": [{"mountpoint": "/srv", "usage_percent": 100.6}]}, Topic.FILESYSTEMS, "/srv"),
        ({"type": "storage", "pool": {"id": "p", "usage_percent": -0.1}}, Topic.POOLS, ""),
    ],
)
def test_a_percentage_that_cannot_be_is_taken_out_and_is_a_gap(
    tmp_path: Path, fields: dict[str, object], topic: Topic, subject: str
) -> None:
    estate = collected(written(tmp_path, {"resources": [{"id": "x", "name": "web", "type": "vm", **fields}]}))
    (found,), (gap,) = estate.resources, estate.gaps
    assert (gap.source, gap.topic, gap.reason, gap.resource_id, gap.subject) == (
        "snap",
        topic,
        GapReason.UNREADABLE,
        found.id,
        subject,
    )
    assert "is no percentage" in gap.detail
    assert list(found.metrics) == (["swap"] if found.metrics else [])
    assert [row.usage_percent for row in found.filesystems or ()] == [None] * len(found.filesystems or ())
    assert found.pool is None or found.pool.usage_percent is None


@pytest.mark.parametrize("percent", [0, 100, 100.5])
def test_a_percentage_that_rounding_explains_is_kept(percent: float) -> None:
    (found,) = decoded({"resources": [vm(metrics={"memory": {"value": percent}})]}).resources
    assert found.metrics[Metric.MEMORY].value == percent


ZFS = {"name": "tank", "state": "ONLINE", "data_errors": 0}


@pytest.mark.parametrize(
    ("fields", "topic", "said"),
    [
        ({"type": "storage", "pool": {"zfs": ZFS | {"data_errors": -1}}}, Topic.POOLS, "data_errors: -1 is no count"),
        (
            {"type": "storage", "pool": {"zfs": ZFS | {"vdevs": [{"name": "sda", "read_errors": -3}]}}},
            Topic.POOLS,
            "sda read_errors: -3 is no count",
        ),
        (
            {"type": "storage", "pool": {"btrfs": {"missing_devices": -1}}},
            Topic.BTRFS,
            "missing_devices: -1 is no count",
        ),
        (
            {"type": "raid", "raid": {"device": "md0", "active_devices": -1}},
            Topic.RAID,
            "active_devices: -1 is no count",
        ),
        (
            {"type": "disk", "disk": {"attributes": {"pendingSectors": -1}}},
            Topic.SMART,
            "pending_sectors: -1 is no count",
        ),
        ({"type": "storage", "ceph": {"osd_map": {"num_up": -1}}}, Topic.CEPH, "num_up: -1 is no count"),
        ({"type": "storage", "ceph": {"pg_map": {"usage_percent": 900}}}, Topic.CEPH, "use: 900 is no percentage"),
        (
            {"type": "storage", "ceph": {"pools": [{"name": "rbd", "percent_used": -1}]}},
            Topic.CEPH,
            "use of pool rbd: -1 is no percentage",
        ),
        (
            {"filesystems": [{"mountpoint": "/srv", "inodes_percent": 350}]},
            Topic.FILESYSTEMS,
            "inodes of /srv: 350 is no percentage",
        ),
        (
            {"filesystems": [{"mountpoint": "/srv", "error_count": -1}]},
            Topic.FILESYSTEMS,
            "/srv error_count: -1 is no count",
        ),
    ],
)
def test_each_number_that_is_no_reading_is_a_gap_of_its_resource(fields, topic: Topic, said: str) -> None:
    estate = decoded({"resources": [vm(**fields)]})
    (gap,) = estate.gaps
    assert (gap.topic, gap.reason, gap.resource_id) == (topic, GapReason.UNREADABLE, estate.resources[0].id)
    assert gap.detail.endswith(said)
    assert "leave out what is not known" in gap.fix


def test_a_datastore_that_is_fuller_than_full_is_a_gap() -> None:
    store = {"name": "main", "usage_percent": 900}
    estate = decoded({"resources": [vm()], "pbs_servers": [{"name": "pbs", "datastores": [store]}]})
    assert [(gap.topic, gap.resource_id) for gap in estate.gaps] == [(Topic.POOLS, "storage:pbs:main")]
    assert estate.pbs_servers[0].datastores[0].usage_percent is None


def test_numbers_below_0_that_count_nothing_are_left_alone() -> None:
    array = {"device": "md0", "state": "clean", "rebuild_percent": -1, "devices": [{"device": "sda", "slot": -1}]}
    assert decoded({"resources": [vm(type="raid", raid=array)]}).gaps == []
