"""File systems: each mount by itself, and what was not measured."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.kinds import Kind
from findings.model import Look
from signals.evidence import InventoryRow, PerformanceOutput
from signals.filesystems import FilesystemDetector
from signals.storage_evidence import FilesystemRow, ResourceDisks, ResourceDisksOutput
from signals.thresholds import Limit, Limited
from tests.signals.storages import Judged, SameLimits


def mount(point: str, percent: float | None, inodes: float | None = None, **fields: object) -> FilesystemRow:
    row = FilesystemRow(mountpoint=point, type="ext4", usage_percent=percent, inodes_percent=inodes, free_bytes=1)
    for field, value in fields.items():
        setattr(row, field, value)
    return row


def judge(*rows: FilesystemRow, thresholds: SameLimits | None = None) -> Judged:
    owner = ResourceDisks(id="agent:local:nas", type="agent", name="nas", disks=list(rows))
    return Judged(FilesystemDetector, ResourceDisksOutput(resources=[owner]), thresholds=thresholds)


@pytest.mark.parametrize(
    ("percent", "look", "severity"),
    [
        pytest.param(95.0, Look.PRESENT, "critical", id="critical"),
        pytest.param(90.0, Look.PRESENT, "warning", id="exactly on the critical tier"),
        pytest.param(85.0, Look.HELD, None, id="exactly on the trigger"),
        pytest.param(79.0, Look.CLEAR, None, id="below clear"),
        pytest.param(0.0, Look.CLEAR, None, id="an empty file system"),
        pytest.param(250.0, Look.BLIND, None, id="another unit"),
    ],
)
@pytest.mark.parametrize("kind", [Kind.HIGH_DISK, Kind.HIGH_INODES])
def test_space_and_inodes_are_judged_by_their_limits(
    kind: Kind, percent: float | None, look: Look, severity: str | None
) -> None:
    rows = [mount("/", 10, 10), mount("/srv", percent, 10) if kind is Kind.HIGH_DISK else mount("/srv", 10, percent)]
    judged = judge(*rows)
    assert judged.look(kind, "agent:local:nas", "/srv") is look
    assert judged.look(kind, "agent:local:nas", "/") is Look.CLEAR
    assert judged.told() == ({(str(kind), severity, "agent:local:nas", "/srv")} if severity else set())


@pytest.mark.parametrize("percent", [None, -1.0])
def test_a_mount_that_was_not_measured_is_blind_in_space_and_inodes(percent: float | None) -> None:
    judged = judge(mount("/", 10, 10), mount("/srv", percent, 10))
    assert judged.look(Kind.HIGH_DISK, "agent:local:nas", "/srv") is Look.BLIND
    assert judged.look(Kind.HIGH_INODES, "agent:local:nas", "/srv") is Look.BLIND
    assert judged.look(Kind.HIGH_DISK, "agent:local:nas", "/") is Look.CLEAR


def test_two_full_mounts_of_a_host_are_two_findings() -> None:
    judged = judge(mount("/", 95), mount("/srv", 86))
    assert judged.told() == {
        ("high_disk", "critical", "agent:local:nas", "/"),
        ("high_disk", "warning", "agent:local:nas", "/srv"),
    }
    assert judged.signals[1].summary == "/srv is 86.0 % full (limit 85 %)"


def test_a_mount_that_is_gone_is_clear_once_the_list_was_read() -> None:
    assert judge(mount("/", 10)).look(Kind.HIGH_DISK, "agent:local:nas", "/usb") is Look.CLEAR


@pytest.mark.parametrize("rows", [(), (mount("/", None),)])
def test_nothing_is_clear_where_nothing_was_measured(rows: tuple[FilesystemRow, ...]) -> None:
    assert judge(*rows).look(Kind.HIGH_DISK, "agent:local:nas", "/usb") is None


def test_a_file_system_that_makes_inodes_as_it_needs_them_has_no_look_at_them() -> None:
    judged = judge(mount("/", 10, None))
    assert judged.look(Kind.HIGH_INODES, "agent:local:nas", "/") is None


def test_a_guest_whose_extra_mount_cannot_be_measured_is_not_healthy_there() -> None:
    judged = judge(mount("/", 30), mount("/data", None))
    assert judged.look(Kind.HIGH_DISK, "agent:local:nas", "/") is Look.CLEAR
    assert judged.look(Kind.HIGH_DISK, "agent:local:nas", "/data") is Look.BLIND
    assert judge(mount("/", 30), mount("/data", 97)).told() == {
        ("high_disk", "critical", "agent:local:nas", "/data"),
    }


@pytest.mark.parametrize("percent", [0, -1])
def test_a_hypervisor_that_cannot_look_inside_reports_no_reading(percent: float) -> None:
    row = FilesystemRow(total_bytes=1 << 35, used_bytes=0, free_bytes=1 << 35, usage_percent=percent)
    owner = ResourceDisks(id="vm:lab:101", type="vm", disks=[row])
    judged = Judged(FilesystemDetector, ResourceDisksOutput(resources=[owner]))
    assert judged.look(Kind.HIGH_DISK, "vm:lab:101") is Look.BLIND
    assert "agent" in judged.notes.examined.blind_reason(Kind.HIGH_DISK, "vm:lab:101")
    assert not judged.signals


def test_each_kind_of_disk_has_its_limit_and_a_switched_off_check_says_nothing() -> None:
    limits = SameLimits(
        off=frozenset({("agent:local:nas", Limited.INODES)}),
        by_disk_type={"nvme": Limit(trigger=92, clear=87, provenance="by type")},
    )
    judged = judge(mount("/", 88, 99, disk_type="nvme"), mount("/srv", 88, 99, disk_type="hdd"), thresholds=limits)
    assert judged.told() == {("high_disk", "warning", "agent:local:nas", "/srv")}
    assert judged.look(Kind.HIGH_INODES, "agent:local:nas", "/") is None


@pytest.mark.parametrize(
    ("row", "severity", "words"),
    [
        (mount("/", 10, error_count=0), None, ""),
        (mount("/", 10, error_count=3), "warning", "/ (ext4) has noted 3 errors in itself: check it with fsck"),
        (mount("/", 10, forced_read_only=True), "critical", "/ (ext4) has made itself read-only"),
        (
            mount("/", 10, error_count=3, forced_read_only=True),
            "critical",
            "/ (ext4) has made itself read-only after 3 errors",
        ),
        (mount("", 10, error_count=1, type=None), "warning", "A file system (unknown type) has noted"),
    ],
)
def test_errors_that_a_file_system_notes_in_itself(row: FilesystemRow, severity: str | None, words: str) -> None:
    judged = judge(row)
    assert {signal.severity for signal in judged.signals} == ({severity} if severity else set())
    if severity:
        assert judged.one(Kind.FILESYSTEM_ERRORS).summary.startswith(words)
    else:
        assert judged.look(Kind.FILESYSTEM_ERRORS, "agent:local:nas", "/") is Look.CLEAR


def test_less_than_no_errors_is_no_reading() -> None:
    judged = judge(mount("/", 10, error_count=0), mount("/srv", 10, error_count=-1))
    assert judged.signals == []
    looks = [judged.look(Kind.FILESYSTEM_ERRORS, "agent:local:nas", where) for where in ("/", "/srv")]
    assert looks == [Look.CLEAR, Look.BLIND]
    (signal,) = judge(mount("/", 10, error_count=-1, forced_read_only=True)).signals
    assert (signal.severity, signal.value) == ("critical", None)


@pytest.mark.parametrize(
    ("owner", "resource_id"),
    [
        (ResourceDisks(id="agent:local:nas"), "agent:local:nas"),
        (ResourceDisks(vmid=101, type="vm", instance="lab"), "vm:lab:101"),
        (ResourceDisks(vmid="102", type="lxc", instance="lab"), "system-container:lab:102"),
        (ResourceDisks(vmid=103), "103"),
        (ResourceDisks(name="web"), "web"),
        (ResourceDisks(id="lab-101"), "vm:lab:101"),
        (ResourceDisks(vmid=104, type="vm", node="pve1"), "vm:lab:104"),
        (ResourceDisks(vmid="104", type="lxc", instance="lab"), "system-container:lab:104"),  # another guest
    ],
)
def test_a_guest_goes_by_its_id_else_by_its_number_in_its_instance(owner: ResourceDisks, resource_id: str) -> None:
    owner.disks = [mount("/", 99)]
    known = (
        InventoryRow(id="vm:lab:101", type="vm", name="db", aliases=["lab-101"]),
        InventoryRow(id="vm:lab:104", type="vm", name="mail", instance="lab", vmid=104),
    )
    judged = Judged(FilesystemDetector, ResourceDisksOutput(resources=[owner]), known=known)
    assert [signal.resource_id for signal in judged.signals] == [resource_id]


def test_nobody_and_other_pages_say_nothing() -> None:
    nobody = ResourceDisksOutput(resources=[ResourceDisks(disks=[mount("/", 99)])])
    assert not Judged(FilesystemDetector, nobody, PerformanceOutput()).signals


@given(st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.floats(allow_nan=False)), max_size=6))
def test_every_measured_mount_has_exactly_the_look_of_its_value(rows: list[tuple[str, float | None]]) -> None:
    unique = {f"/{name}": percent for name, percent in rows}
    judged = judge(*(mount(point, percent) for point, percent in unique.items()))
    for point, percent in unique.items():
        look = judged.look(Kind.HIGH_DISK, "agent:local:nas", point)
        measured = percent is not None and 0 <= percent <= 100.5
        assert (look is Look.BLIND) is not measured
        assert (look is Look.PRESENT) is (measured and percent is not None and percent > 85)


@pytest.mark.parametrize("type_", ["iso9660", "squashfs", "erofs", "CDFS", "udf"])
def test_images_are_full_by_nature(type_: str) -> None:
    judged = judge(mount("/", 10, 10), mount("/snap/core", 100, 100, type=type_, free_bytes=0))
    assert not judged.told()
    assert judged.look(Kind.HIGH_DISK, "agent:local:nas", "/snap/core") is Look.CLEAR


def test_use_that_is_told_in_bytes_alone_is_judged_by_the_rule_of_df() -> None:
    judged = judge(mount("/srv", None, used_bytes=980, total_bytes=1100, free_bytes=20))
    assert judged.one(Kind.HIGH_DISK).value == 98
    judged = judge(mount("/srv", None, used_bytes=0, free_bytes=0))
    assert judged.look(Kind.HIGH_DISK, "agent:local:nas", "/srv") is Look.BLIND
