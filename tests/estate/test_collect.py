"""Many sources' parts become one estate: one resource for each thing, and no reference left behind."""

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.model import Gap, GapReason, Sight, Topic
from patrol.estate.collect import NOTHING_RETURNED, merge_estates
from patrol.estate.merging import has_verdict, merge_disk_rows
from patrol.estate.model import Alert, Estate, Metric, Reading, Resource, ResourceType, SourceState, Status
from signals.backup_evidence import BackupTaskRow
from signals.evidence import BackupStore, DiskRow, ProbeRow, SensorRow, SmartAttributes, UnitRow
from signals.storage_evidence import FilesystemRow, PoolRow, RaidDeviceRow, RaidRow, VdevRow, ZfsRow


def part(*resources: Resource, name: str = "one", **sections: object) -> Estate:
    for each in resources:
        each.source = each.source or name
    return Estate(sources=[SourceState(name=name)], resources=list(resources), **sections)


def disk(resource_id: str, **row: object) -> Resource:
    parent = str(row.pop("parent", ""))
    return Resource(id=resource_id, type=ResourceType.DISK, parent=parent, disk=DiskRow(**row))


def gap(topic: Topic, resource_id: str | None = None) -> Gap:
    return Gap(source="one", topic=topic, reason=GapReason.FAILED, detail="it failed", resource_id=resource_id)


def test_a_real_verdict_wins_over_an_access_error_of_another_source() -> None:
    guest = part(
        disk("disk:nas:sda", serial="SER-1", health="FAILED", reasons=["smartctl could not open device"], parent="nas"),
        name="guest-agent",
        gaps=[gap(Topic.SMART, "disk:nas:sda")],
    )
    host = part(
        disk("disk:serial:SER-1", serial="SER-1", health="PASSED", smart_complete=True, parent="pve-a"), name="pve-a"
    )
    for parts in ([guest, host], [host, guest]):
        whole = merge_estates(msgspec.convert(msgspec.to_builtins(parts), list[Estate]))
        (row,) = whole.resources
        assert (row.id, row.parent, row.disk.health, row.disk.reasons) == ("disk:serial:SER-1", "pve-a", "PASSED", [])
        assert "disk:nas:sda" in row.aliases
        assert whole.gaps == []  # another source read what this one could not


VERDICTS = [
    (DiskRow(health="PASSED"), True),
    (DiskRow(health="FAILED"), True),
    (DiskRow(health="FAILED", reasons=["attribute 5 is below its threshold"]), True),
    (DiskRow(health="FAILED", reasons=["Permission denied"]), False),
    (DiskRow(health="FAILED", reasons=["Permission denied"], attributes=SmartAttributes(pending_sectors=1)), True),
    (DiskRow(health="UNKNOWN"), False),
    (DiskRow(), False),
]


@pytest.mark.parametrize(("row", "real"), VERDICTS)
def test_an_error_on_the_way_is_no_verdict(row: DiskRow, real: bool) -> None:
    assert has_verdict(row) is real


def test_of_two_real_verdicts_the_worse_stays() -> None:
    good = DiskRow(health="PASSED", smart_complete=True)
    bad = DiskRow(health="FAILED", reasons=["says so"])
    for rows in ((good, bad), (bad, good)):
        merged = merge_disk_rows(*rows)
        assert (merged.health, merged.reasons, merged.smart_complete) == ("FAILED", ["says so"], True)


def test_of_each_counter_the_worse_stays() -> None:
    few = DiskRow(health="PASSED", smartAttributes=SmartAttributes(pending_sectors=9, media_errors=1), temperature=30)
    many = DiskRow(
        health="PASSED",
        smart_attributes=SmartAttributes(pending_sectors=0, reallocated_sectors=0, power_on_hours=5),
    )
    for rows in ((few, many), (many, few)):
        merged = merge_disk_rows(*rows)
        assert merged.attributes == SmartAttributes(
            pending_sectors=9, reallocated_sectors=0, power_on_hours=5, media_errors=1
        )
        assert merged.smart_attributes is merged.smartAttributes is None
        assert merged.temperature == 30


def test_of_spare_the_lower_stays_and_of_warnings_all() -> None:
    one = DiskRow(health="PASSED", attributes=SmartAttributes(available_spare=4, critical_warning=1))
    other = DiskRow(health="PASSED", attributes=SmartAttributes(available_spare=90, critical_warning=8))
    for rows in ((one, other), (other, one)):
        assert merge_disk_rows(*rows).attributes == SmartAttributes(available_spare=4, critical_warning=9)


def test_a_reading_of_another_day_says_nothing_of_today() -> None:
    old = DiskRow(
        health="FAILED",
        model="M",
        smart_attributes=SmartAttributes(pending_sectors=9),
        reasons=["says so"],
        last_checked="2026-01-01T00:00:00Z",
    )
    new = DiskRow(health="PASSED", attributes=SmartAttributes(pending_sectors=0), last_checked="2026-01-02T00:00:00Z")
    for rows in ((old, new), (new, old)):
        merged = merge_disk_rows(*rows)
        assert (merged.health, merged.model, merged.reasons) == ("PASSED", "M", [])
        assert (merged.attributes, merged.smart_attributes) == (SmartAttributes(pending_sectors=0), None)
    new.last_checked = "2026-01-01T00:30:00Z"
    assert merge_disk_rows(old, new).health == "FAILED"


@pytest.mark.parametrize("worse_first", [True, False])
def test_where_two_sources_disagree_the_worse_reading_stays(worse_first: bool) -> None:
    def seen(**sections: object) -> Resource:
        return Resource(id="storage:h:tank", type=ResourceType.STORAGE, **sections)

    def merged(worse: Resource, better: Resource) -> Resource:
        parts = [worse, better] if worse_first else [better, worse]
        (row,) = merge_estates([part(row, name=f"s{number}") for number, row in enumerate(parts)]).resources
        return row

    def mount(**values: object) -> list[FilesystemRow]:
        return [FilesystemRow(mountpoint="/", **values)]

    row = merged(
        seen(filesystems=mount(usage_percent=97, free_bytes=3), sensors=[SensorRow(name="cpu", celsius=99)]),
        seen(filesystems=mount(usage_percent=40, inodes_percent=98), sensors=[SensorRow(name="cpu", celsius=40)]),
    )
    assert row.filesystems == mount(usage_percent=97, free_bytes=3, inodes_percent=98)
    assert row.sensors == [SensorRow(name="cpu", celsius=99)]

    whole = [VdevRow(name="sda", state="ONLINE")]
    row = merged(
        seen(pool=PoolRow(usage_percent=97, zfs=ZfsRow(name="tank", state="DEGRADED", vdevs=[]))),
        seen(pool=PoolRow(usage_percent=40, zfs=ZfsRow(name="tank", state="ONLINE", data_errors=0, vdevs=whole))),
    )
    assert (row.pool.usage_percent, row.pool.zfs.state, row.pool.zfs.vdevs) == (97, "DEGRADED", whole)
    row = merged(
        seen(pool=PoolRow(status="faulted", active=False)),
        seen(pool=PoolRow(status="available", active=True, zfs=ZfsRow(name="tank", state="ONLINE"))),
    )
    assert (row.pool.status, row.pool.active) == ("faulted", False)

    row = merged(
        seen(raid=RaidRow(state="clean, degraded", raid_devices=2, active_devices=1)),
        seen(raid=RaidRow(state="clean", raid_devices=2, active_devices=2, devices=[RaidDeviceRow(device="sda")])),
    )
    assert (row.raid.state, row.raid.active_devices) == ("clean, degraded", 1)


def test_a_guest_in_migration_is_one_and_runs() -> None:
    def seen(parent: str, status: Status) -> Resource:
        return Resource(
            id="vm:lab:101", type=ResourceType.VM, vmid=101, instance="lab", parent=parent, status=status, name=parent
        )

    whole = merge_estates([part(seen("a", Status.STOPPED), seen("b", Status.RUNNING), name="lab")])
    (row,) = whole.resources
    assert (row.status, row.parent, row.name, row.aliases) == (Status.RUNNING, "b", "b", ["a"])


def test_two_observations_complete_each_other() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    one = Resource(
        id="agent:x:nas",
        type=ResourceType.AGENT,
        status=Status.ONLINE,
        metrics={Metric.CPU: Reading(value=1), Metric.MEMORY: Reading(value=2, at=at)},
        filesystems=[FilesystemRow(mountpoint="/"), FilesystemRow(mountpoint="/a", usage_percent=1)],
        units=[UnitRow(name="a")],
        probes=[ProbeRow(kind="icmp", ok=False)],
        tags=["t"],
        first_seen=at,
    )
    other = Resource(
        id="agent:x:nas",
        type=ResourceType.AGENT,
        os="Debian",
        cores=4,
        metrics={Metric.CPU: Reading(value=5, window_seconds=300), Metric.MEMORY: Reading(value=9)},
        filesystems=[FilesystemRow(mountpoint="/", usage_percent=7), FilesystemRow(mountpoint="/b", usage_percent=2)],
        units=[UnitRow(name="a"), UnitRow(name="b")],
        probes=[ProbeRow(kind="icmp", ok=True)],
        tags=["u"],
        template=True,
    )
    (row,) = merge_estates([part(one), part(other, name="two")]).resources
    assert (row.status, row.os, row.cores, row.tags, row.template) == (Status.ONLINE, "Debian", 4, ["t", "u"], True)
    assert {metric: reading.value for metric, reading in row.metrics.items()} == {Metric.CPU: 5, Metric.MEMORY: 2}
    assert {each.mountpoint: each.usage_percent for each in row.filesystems} == {"/": 7, "/a": 1, "/b": 2}
    assert [each.name for each in row.units] == ["a", "b"]
    assert [each.ok for each in row.probes] == [False, True]
    assert row.first_seen == at
    assert row.sensors is None


def test_pools_and_arrays_keep_the_more_detailed_row() -> None:
    def pool(row: PoolRow) -> Resource:
        return Resource(id="storage:h:tank", type=ResourceType.STORAGE, pool=row)

    (row,) = merge_estates(
        [part(pool(PoolRow(usage_percent=50))), part(pool(PoolRow(zfs=ZfsRow(name="tank"))), name="two")]
    ).resources
    assert (row.pool.usage_percent, row.pool.zfs.name) == (50, "tank")

    def array(row: RaidRow) -> Resource:
        return Resource(id="raid:h:md0", type=ResourceType.RAID, raid=row)

    (row,) = merge_estates(
        [part(array(RaidRow(state="clean"))), part(array(RaidRow(devices=[RaidDeviceRow()], level="raid1")), name="b")]
    ).resources
    assert (row.raid.state, row.raid.level, len(row.raid.devices)) == ("clean", "raid1", 1)


def test_equal_names_are_never_one_resource() -> None:
    def storage(given: str) -> Resource:
        return Resource(id=given, type=ResourceType.STORAGE, name="local")

    whole = merge_estates([part(storage("first"), storage("second"))])
    assert sorted(row.id for row in whole.resources) == ["storage:one:first", "storage:one:second"]
    whole = merge_estates([part(storage("storage:one:local"), storage("x"))])
    assert sorted(row.id for row in whole.resources) == ["storage:one:local", "storage:one:x"]


def test_disks_of_one_serial_number_that_cannot_be_one_stay_two() -> None:
    parts = [
        part(disk("disk:serial:A1", serial="A1", model="WD Red", device="/dev/sda", parent="node:x:h1")),
        part(disk("disk:serial:A1", serial="A1", model="SSD 860", device="/dev/sda", parent="node:x:h2"), name="two"),
    ]
    assert [row.id for row in merge_estates(parts).resources] == ["disk:h1:sda", "disk:h2:sda"]
    parts = [
        part(disk("disk:serial:QM1", serial="QM1", device="/dev/sda", parent=f"node:x:{host}"), name=host)
        for host in ("h1", "h2")
    ]
    assert [row.id for row in merge_estates(parts).resources] == ["disk:h1:sda", "disk:h2:sda"]


def test_a_disk_under_its_place_and_its_number_takes_the_number() -> None:
    rows = (disk("disk:h:sda", serial="A1"), disk("disk:wwn:5000c500a1b2c3d4", wwn="0x5000c500a1b2c3d4", serial="A1"))
    (row,) = merge_estates([part(*rows)]).resources
    assert row.id == "disk:wwn:5000c500a1b2c3d4"
    assert "disk:serial:A1" in row.aliases


def test_references_follow_the_ids() -> None:
    estate = part(
        Resource(id="n1", type=ResourceType.NODE, name="pve1", instance="lab"),
        Resource(id="n2", type=ResourceType.NODE, name="pve1", instance="far"),
        Resource(id="g", type=ResourceType.VM, vmid=101, instance="lab", parent="n1"),
        Resource(id="h", type=ResourceType.VM, vmid=102, instance="far", parent="pve1"),
        Resource(id="i", type=ResourceType.VM, vmid=103, instance="new", parent="pve1"),
        gaps=[gap(Topic.CPU, "n1"), gap(Topic.CPU), gap(Topic.CPU, "who")],
        alerts=[Alert(id="1", resource_id="lab/101")],
        backup_tasks=[BackupTaskRow(vmid=101, resource_id="g"), BackupTaskRow(vmid=1)],
    )
    whole = merge_estates([estate])
    assert [(row.id, row.parent) for row in whole.resources] == [
        ("node:lab:pve1", ""),
        ("node:far:pve1", ""),
        ("vm:lab:101", "node:lab:pve1"),
        ("vm:far:102", "node:far:pve1"),
        ("vm:new:103", "pve1"),  # two are called so, and nothing decides
    ]
    assert [each.resource_id for each in whole.gaps] == ["node:lab:pve1", None, "who"]
    assert whole.alerts[0].resource_id == "vm:lab:101"
    assert [row.resource_id for row in whole.backup_tasks] == ["vm:lab:101", ""]


def test_one_given_id_of_two_things_refers_to_neither() -> None:
    estate = part(
        Resource(id="101", type=ResourceType.VM, vmid=101, instance="lab", source="a"),
        Resource(id="101", type=ResourceType.NODE, name="n", instance="lab", source="b"),
        gaps=[gap(Topic.CPU, "101")],
    )
    assert merge_estates([estate]).gaps[0].resource_id == "101"


def test_an_id_that_another_source_knows_better_is_followed() -> None:
    weak = part(disk("disk:h:sda", serial="A1"), gaps=[gap(Topic.SMART, "disk:h:sda")])
    strong = part(disk("disk:serial:A1", serial="A1"), name="two")
    assert merge_estates([weak, strong]).gaps[0].resource_id == "disk:serial:A1"


def test_a_source_that_returned_nothing_is_a_gap_and_not_an_empty_world() -> None:
    whole = merge_estates([part(name="empty"), part(Resource(id="n", type=ResourceType.NODE, name="n"))])
    assert [(each.source, each.topic, each.detail, each.sight) for each in whole.gaps] == [
        ("empty", Topic.INVENTORY, NOTHING_RETURNED, Sight.LOST)
    ]
    already = part(gaps=[gap(Topic.INVENTORY)])
    assert merge_estates([already]).gaps == [gap(Topic.INVENTORY)]
    away = Estate(sources=[SourceState(name="x", connected=False)])
    assert merge_estates([away]).gaps == []


def test_sections_of_all_parts_are_kept_and_nothing_twice() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    node = Resource(id="node:lab:n", type=ResourceType.NODE)
    one = part(node, gaps=[gap(Topic.CPU)], backup_stores=[BackupStore(id="s")], zones={"lab": "UTC"}, collected_at=at)
    two = part(
        Resource(id="node:lab:m", type=ResourceType.NODE),
        name="two",
        gaps=[gap(Topic.CPU)],
        backup_stores=[BackupStore(id="s", readable=False)],
    )
    whole = merge_estates([one, two])
    assert len(whole.gaps) == 1
    assert [each.name for each in whole.sources] == ["one", "two"]
    assert [(each.id, each.readable) for each in whole.backup_stores] == [("s", False)]
    assert (whole.collected_at, whole.zones) == (at, {"lab": "UTC"})
    assert merge_estates([]) == Estate()


SOME_DISK = st.builds(
    disk,
    st.sampled_from(["disk:h1:sda", "disk:h2:sda", "disk:serial:A1", "disk:serial:QM1", "x", ""]),
    serial=st.sampled_from([None, "A1", "A2", "QM1"]),
    wwn=st.sampled_from([None, "0x5000c500a1b2c3d4"]),
    model=st.sampled_from([None, "WD Red", "SSD"]),
    device=st.sampled_from([None, "/dev/sda"]),
    health=st.sampled_from([None, "PASSED", "FAILED"]),
)
SOME_GUEST = st.builds(
    Resource,
    id=st.sampled_from(["101", "vm:lab:101", "web", "\n", "日本"]),
    type=st.just(ResourceType.VM),
    name=st.text(max_size=5),
    vmid=st.sampled_from([None, 101, 102]),
    instance=st.sampled_from(["", "lab"]),
    parent=st.sampled_from(["", "101", "node:lab:n"]),
)


@given(st.lists(st.lists(st.one_of(SOME_DISK, SOME_GUEST), max_size=5), max_size=3))
def test_any_parts_become_resources_of_unique_ids_that_merge_into_themselves(rows: list[list[Resource]]) -> None:
    estates = [part(*row, name=f"s{number}") for number, row in enumerate(rows)]
    whole = merge_estates(msgspec.convert(msgspec.to_builtins(estates), list[Estate]))
    ids = [row.id for row in whole.resources]
    assert len(ids) == len(set(ids))
    again = merge_estates([msgspec.convert(msgspec.to_builtins(whole), Estate)])
    assert [row.id for row in again.resources] == ids
