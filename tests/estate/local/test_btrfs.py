"""btrfs: what sysfs tells every user, and what older kernels leave to btrfs-progs."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.model import GapReason, Topic
from patrol.estate.sources.local.btrfs import (
    COUNTERS,
    parse_device_stats,
    parse_error_stats,
    parse_missing_bytes,
    read_btrfs,
)
from patrol.estate.sources.local.host import CommandResult, Part, ProgramMissingError, ProgramTimedOutError
from patrol.estate.sources.local.root_command import run_as_root
from signals.pools import PoolDetector
from signals.storage_evidence import BtrfsDeviceRow, BtrfsRow, PoolRow, PoolsOutput
from tests.estate.local.tree import WHERE, TreeHost, said
from tests.signals.storages import Judged

UUID = "0a1b2c3d-1111-2222-3333-444455556666"
MOUNT = "40 1 0:33 /@ /srv rw - btrfs /dev/sda2 rw,subvolid=256\n"
NO_PROGRAM = {"btrfs device": ProgramMissingError("btrfs"), "btrfs filesystem": ProgramMissingError("btrfs")}


def error_stats(corruption: int = 0) -> str:
    return f"write_errs 0\nread_errs 0\nflush_errs 0\ncorruption_errs {corruption}\ngeneration_errs 0\n"


def stats(path: str, corruption: int = 0) -> str:
    return "".join(f"[{path}].{name:<16} {corruption if 'corr' in name else 0}\n" for name in COUNTERS)


def read(
    root: Path,
    devinfo: dict[int, dict[str, str]],
    programs: dict[str, CommandResult | Exception] | None = None,
    devices: tuple[str, ...] = ("sda2",),
    mounts: str = MOUNT,
) -> Part:
    files = {
        "/proc/self/mountinfo": mounts,
        "/sys/fs/btrfs/features/raid1c34": "0",
        f"/sys/fs/btrfs/{UUID}/label": "\n",
    }
    files |= {f"/sys/fs/btrfs/{UUID}/devices/{name}": "" for name in devices}
    for devid, attributes in devinfo.items():
        files |= {f"/sys/fs/btrfs/{UUID}/devinfo/{devid}/{name}": text for name, text in attributes.items()}
    return read_btrfs(TreeHost(root, files, NO_PROGRAM if programs is None else programs), WHERE)


def btrfs_of(part: Part) -> BtrfsRow:
    [resource] = part.resources
    assert resource.pool is not None
    assert resource.pool.btrfs is not None
    return resource.pool.btrfs


def test_a_host_without_btrfs_has_nothing(tmp_path: Path) -> None:
    part = read(tmp_path, {}, mounts="36 35 8:1 / / rw - ext4 /dev/sda1 rw\n")
    assert (part.resources, part.gaps) == ((), ())


def test_sysfs_alone_is_enough(tmp_path: Path) -> None:
    part = read(tmp_path, {1: {"missing": "0\n", "error_stats": error_stats()}})
    [resource] = part.resources
    assert (resource.id, resource.name, resource.type) == (f"storage:nas:{UUID}", "/srv", "storage")
    assert (resource.aliases, part.complete, list(part.gaps)) == ([UUID], True, [])
    assert resource.pool is not None
    assert (resource.pool.type, resource.pool.status, resource.pool.path, resource.pool.usage_percent) == (
        "btrfs",
        "online",
        "/srv",
        None,
    )
    assert btrfs_of(part) == BtrfsRow(uuid=UUID, missing_devices=0, devices=[BtrfsDeviceRow(path="/dev/sda2", devid=1)])


def test_subvolumes_of_one_file_system_are_one_pool(tmp_path: Path) -> None:
    part = read(
        tmp_path, {1: {"missing": "0", "error_stats": error_stats()}}, mounts=MOUNT + MOUNT.replace("srv", "s2")
    )
    assert len(part.resources) == 1


def test_a_label_is_the_name(tmp_path: Path) -> None:
    read(tmp_path, {1: {"missing": "0", "error_stats": error_stats()}})
    host = TreeHost(tmp_path, {f"/sys/fs/btrfs/{UUID}/label": "media\n"}, NO_PROGRAM)
    assert read_btrfs(host, WHERE).resources[0].name == "media"


def test_a_missing_device_is_counted_and_has_no_counters(tmp_path: Path) -> None:
    devinfo = {1: {"missing": "0", "error_stats": error_stats()}, 2: {"missing": "1", "error_stats": "invalid\n"}}
    part = read(tmp_path, devinfo)
    row = btrfs_of(part)
    assert (row.missing_devices, [device.devid for device in row.devices]) == (1, [1])
    assert part.resources[0].pool is not None
    assert (part.resources[0].pool.status, list(part.gaps)) == ("degraded", [])


def test_of_several_devices_the_program_tells_which_id_is_which_once_one_counts_errors(tmp_path: Path) -> None:
    devinfo = {
        1: {"missing": "0", "error_stats": error_stats()},
        10: {"missing": "0", "error_stats": error_stats(12)},
    }
    programs: dict[str, CommandResult | Exception] = {
        "btrfs device": said(stats("/dev/sdc") + stats("/dev/sdb", 12), returncode=64)
    }
    row = btrfs_of(read(tmp_path, devinfo, programs, devices=("sda2", "sdb")))
    assert [(device.devid, device.path, device.corruption_errs) for device in row.devices] == [
        (1, "/dev/sdc", 0),
        (10, "/dev/sdb", 12),
    ]
    quiet = btrfs_of(read(tmp_path / "without", devinfo, devices=("sda2", "sdb")))
    assert [(device.devid, device.path, device.corruption_errs) for device in quiet.devices] == [
        (1, "", 0),
        (10, "", 12),
    ]


def test_older_kernels_need_the_program(tmp_path: Path) -> None:
    programs: dict[str, CommandResult | Exception] = {
        "btrfs device": said(stats("/dev/sda2", 3)),
        "btrfs filesystem": said("Overall:\n    Device missing:\t\t 1073741824\n"),
    }
    part = read(tmp_path, {}, programs)
    row = btrfs_of(part)
    assert (row.missing_devices, row.devices[0].corruption_errs, list(part.gaps)) == (1, 3, [])


@pytest.mark.parametrize(
    ("answer", "reason", "fix"),
    [
        (ProgramMissingError("btrfs"), GapReason.TOOL_MISSING, "apt install btrfs-progs"),
        (ProgramTimedOutError("btrfs"), GapReason.TIMED_OUT, ""),
        (OSError(8, "Exec format error"), GapReason.FAILED, ""),
        (said("", returncode=1, stderr="ERROR: Operation not permitted"), GapReason.NO_PERMISSION, run_as_root()),
        (said("", returncode=1, stderr="ERROR: odd"), GapReason.FAILED, ""),
    ],
)
def test_an_older_kernel_without_the_program_is_a_gap_with_its_remedy(
    tmp_path: Path, answer: CommandResult | Exception, reason: GapReason, fix: str
) -> None:
    part = read(tmp_path, {}, {"btrfs device": answer, "btrfs filesystem": answer})
    [gap] = part.gaps
    assert (gap.reason, gap.topic, gap.resource_id) == (reason, Topic.BTRFS, f"storage:nas:{UUID}")
    assert fix in gap.fix
    assert (btrfs_of(part).missing_devices, part.complete) == (None, False)


def test_a_mount_that_sysfs_does_not_know_is_a_gap(tmp_path: Path) -> None:
    part = read(tmp_path, {}, devices=("sdz",))
    assert [gap.reason for gap in part.gaps] == [GapReason.NOT_REPORTED]


def test_a_kernel_that_shows_no_file_systems_is_a_gap_too(tmp_path: Path) -> None:
    part = read_btrfs(TreeHost(tmp_path, {"/proc/self/mountinfo": MOUNT}), WHERE)
    assert [gap.reason for gap in part.gaps] == [GapReason.NOT_REPORTED]


# --- parsing ---------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 10**15), min_size=5, max_size=5))
def test_error_stats_are_read_whole_or_not_at_all(counts: list[int]) -> None:
    names = ("write", "read", "flush", "corruption", "generation")
    lines = [f"{name}_errs {count}\n" for name, count in zip(names, counts, strict=True)]
    row = parse_error_stats("".join(lines), 4)
    assert row is not None
    assert [getattr(row, name) for name in COUNTERS] == counts
    assert parse_error_stats("".join(lines[1:]), 4) is None


@given(st.text(max_size=200))
def test_no_text_breaks_the_parsers(text: str) -> None:
    assert all(device.path for device in parse_device_stats(f"[/dev/a].write_io_errs 1\n{text}")[:1])
    parse_error_stats(text, 1)
    parse_missing_bytes(text)


def test_real_captures_are_read_as_they_should_be(shared: Path) -> None:
    lines = (shared / "data" / "expected.jsonl").read_text().splitlines()
    expected = {row["file"]: row["expect"] for row in map(json.loads, lines) if row["file"].startswith("btrfs/")}
    for file, expect in expected.items():
        text = (shared / "data" / file).read_text()
        devices, missing = parse_device_stats(text), parse_missing_bytes(text)
        assert missing == expect.get("device_missing_bytes")
        assert {d.path: {name: getattr(d, name) for name in COUNTERS} for d in devices} == expect.get("errors", {})
        row = BtrfsRow(devices=devices, missing_devices=None if missing is None else int(missing > 0))
        judged = Judged(PoolDetector, PoolsOutput(pools=[PoolRow(id="fs", btrfs=row)]))
        [signal] = judged.signals
        assert str(signal.severity) in {expect["verdict"], *expect.get("accept", ())}
