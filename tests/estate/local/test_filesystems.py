"""Which mounts are file systems that can fill up, how full they are, and that none of them holds up the others."""

import errno
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.model import GapReason
from patrol.estate.sources.local.filesystems import read_filesystems, stat_all
from patrol.estate.sources.local.host import Part
from patrol.estate.sources.local.mounts import parse_mountinfo, select, shown
from patrol.estate.sources.local.root_command import run_as_root
from signals.storage_evidence import FilesystemRow
from tests.estate.local.test_zfs import ZfsHost
from tests.estate.local.tree import WHERE, TreeHost, said


def line(
    point: str,
    kind: str = "ext4",
    device: str = "/dev/sda1",
    number: str = "8:1",
    root: str = "/",
    options: str = "rw,relatime",
    super_options: str = "rw",
) -> str:
    return f"36 35 {number} {root} {point} {options} shared:1 - {kind} {device} {super_options}"


def chosen(*lines: str) -> list[str]:
    return [mount.name for mount in select(parse_mountinfo("\n".join(lines).encode()))]


# --- which mounts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "skipped",
    [
        line("/proc", "proc", "proc", "0:22"),
        line("/tmp", "tmpfs", "tmpfs", "0:23"),
        line("/dev", "devtmpfs", "udev", "0:6"),
        line("/net", "autofs", "auto.net", "0:40"),
        line("/snap/core20/1587", "squashfs", "/dev/loop3", "7:3", options="ro"),
        line("/media/cdrom", "iso9660", "/dev/sr0", "11:0", options="ro"),
        line("/usr/share/image", "erofs", "/dev/loop1", "7:1", options="ro"),
        line("/var/lib/docker/overlay2/ab/merged", "overlay", "overlay", "0:60"),
        line("/var/lib/docker/devicemapper/mnt/ab", "ext4", "/dev/dm-9", "253:9"),
        line("/var/lib/containers/storage/overlay", "xfs", "/dev/sdz", "65:1"),
        line("/var/lib/kubelet/pods/x/volumes/pv", "ext4", "/dev/sdz", "65:1"),
        line("/run/user/1000/doc", "fuse.portal", "portal", "0:61"),
        line("/run/user/1000/gvfs", "fuse.gvfsd-fuse", "gvfsd-fuse", "0:62"),
        line("/var/lib/lxcfs", "fuse.lxcfs", "lxcfs", "0:63"),
        line("/etc/hosts", "ext4", "/dev/vdb", "254:16", root="/containers/1/hosts"),
        line("/tank/.zfs/snapshot/a", "zfs", "tank@a", "0:70"),
        line("/mnt/pool", "fuse.mergerfs", "a:b", "0:64"),
    ],
)
def test_what_has_no_storage_of_its_own_is_not_looked_at(skipped: str) -> None:
    assert chosen(line("/"), skipped) == ["/"]


@pytest.mark.parametrize(
    "kept",
    [
        line("/var/lib/docker", "ext4", "/dev/sdb1", "8:17"),
        line("/run/media/me/stick", "vfat", "/dev/sdc1", "8:33"),
        line("/mnt/nas", "nfs4", "nas:/export", "0:50"),
        line("/boot/efi", "vfat", "/dev/sda15", "8:15"),
        line("/mnt/remote", "fuse.sshfs", "me@there:", "0:51"),
    ],
)
def test_what_can_fill_up_by_itself_is(kept: str) -> None:
    assert len(chosen(line("/"), kept)) == 2


def test_one_file_system_is_looked_at_once_at_its_top_else_at_its_shortest_path() -> None:
    assert chosen(line("/b", root="/sub"), line("/srv/data"), line("/srv/da")) == ["/srv/da"]
    assert chosen(line("/volumes/data", root="/d"), line("/v", root="/v")) == ["/v"]


def test_subvolumes_of_a_btrfs_are_one_file_system() -> None:
    subvolumes = [
        line("/mnt/all", "btrfs", "/dev/sda2", "0:31", root="/"),
        line("/home", "btrfs", "/dev/sda2", "0:32", root="/@home"),
        line("/", "btrfs", "/dev/sda2", "0:33", root="/@"),
    ]
    assert chosen(*subvolumes) == ["/"]


def test_the_root_of_a_container_is_an_overlay_and_its_one_file_system() -> None:
    root = line("/", "overlay", "overlay", "0:80")
    assert chosen(root, line("/etc/hosts", root="/docker/hosts"), line("/data", root="/volumes/data")) == ["/", "/data"]


def test_a_mount_hides_the_one_below_it() -> None:
    assert select(parse_mountinfo("\n".join([line("/a", "autofs"), line("/a", "nfs")]).encode()))[0].type == "nfs"


@pytest.mark.parametrize(
    ("escaped", "name"),
    [
        (rb"/mnt/my\040disk", "/mnt/my disk"),
        (rb"/mnt/a\012b", r"/mnt/a\x0ab"),
        (rb"/mnt/a\134b", r"/mnt/a\x5cb"),
        (b"/mnt/\xff\xfe", r"/mnt/\xff\xfe"),
        ("/mnt/größe".encode(), "/mnt/größe"),
        ("/mnt/\u202e".encode(), r"/mnt/\xe2\x80\xae"),
    ],
)
def test_any_name_can_be_shown_and_still_be_asked_about(escaped: bytes, name: str) -> None:
    [mount] = parse_mountinfo(line("@").encode().replace(b"@", escaped))
    assert mount.name == name
    assert os.fsencode(mount.point) == escaped.replace(rb"\040", b" ").replace(rb"\012", b"\n").replace(rb"\134", b"\\")


@pytest.mark.parametrize("broken", [b"", b"36 35 8:1 / /", b"1 2 3 4 5 6 7 8 9 10 11", b"1 2 8:1 / /a rw - ext4"])
def test_a_line_that_is_cut_is_passed_over(broken: bytes) -> None:
    assert parse_mountinfo(broken) == []


def test_optional_fields_and_empty_options_are_no_trouble() -> None:
    [plain] = parse_mountinfo(b"1 1 0:4 / /a rw - ext4 /dev/a")
    [many] = parse_mountinfo(b"1 1 0:4 / /a rw shared:1 master:2 - ext4 /dev/a ")
    assert plain == many


@given(st.binary(max_size=200))
def test_no_bytes_break_the_parser(content: bytes) -> None:
    for mount in select(parse_mountinfo(b"1 1 8:1 / " + content + b"\n" + content)):
        mount.name.encode()


@given(st.binary(min_size=1, max_size=20), st.binary(min_size=1, max_size=20))
def test_different_paths_are_shown_differently(first: bytes, second: bytes) -> None:
    same = shown(os.fsdecode(first)) == shown(os.fsdecode(second))
    assert same is (first == second)
    assert shown(os.fsdecode(first)).isprintable()


# --- how full --------------------------------------------------------------------------------------------------------


def sizes(
    blocks: int = 1000, free: int = 400, available: int = 300, files: int = 100, free_files: int = 90
) -> os.statvfs_result:
    return os.statvfs_result((4096, 4096, blocks, free, available, files, free_files, free_files, 0, 255))


Answer = os.statvfs_result | OSError


def answering(root: Path, answers: Mapping[str, Answer]) -> Callable[[str], os.statvfs_result]:
    def statvfs(path: str) -> os.statvfs_result:
        answer = answers["/" + os.path.relpath(path, root).removeprefix(".")]
        if isinstance(answer, OSError):
            raise answer
        return answer

    return statvfs


def read(host: TreeHost | ZfsHost, lines: list[str], answers: Mapping[str, Answer]) -> Part:
    file = host.path("/proc/self/mountinfo")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines))
    return read_filesystems(host, WHERE, statvfs=answering(host.root, answers))


def rows(part: Part) -> dict[str | None, FilesystemRow]:
    assert part.filesystems is not None
    return {row.mountpoint: row for row in part.filesystems}


def test_use_is_dfs_use_which_leaves_out_what_is_kept_for_root(tmp_path: Path) -> None:
    part = read(TreeHost(tmp_path, {}), [line("/")], {"/": sizes()})
    row = rows(part)["/"]
    assert row.usage_percent == pytest.approx(100 * 600 / 900)
    assert (row.total_bytes, row.used_bytes, row.free_bytes) == (4096000, 2457600, 1228800)
    assert (row.inodes_percent, row.device, row.type, row.error_count) == (10, "/dev/sda1", "ext4", None)
    assert (list(part.gaps), part.complete) == ([], True)


@pytest.mark.parametrize(
    ("kind", "files", "percent"),
    [("ext4", 100, 10), ("xfs", 100, 10), ("vfat", 0, None), ("btrfs", 100, None)],
)
def test_inodes_are_judged_where_their_number_is_bounded(
    tmp_path: Path, kind: str, files: int, percent: float | None
) -> None:
    part = read(TreeHost(tmp_path, {}), [line("/", kind)], {"/": sizes(files=files)})
    assert rows(part)["/"].inodes_percent == percent


def test_a_file_system_without_size_is_nothing_and_one_that_is_all_reserve_has_no_percentage(tmp_path: Path) -> None:
    answers = {"/": sizes(), "/none": sizes(blocks=0), "/odd": sizes(free=1000, available=0)}
    lines = [line("/"), line("/none", "fuse.odd", "x", "0:71"), line("/odd", "fuse.odd", "y", "0:72")]
    part = read(TreeHost(tmp_path, {}), lines, answers)
    assert {name: row.usage_percent is None for name, row in rows(part).items()} == {"/": False, "/odd": True}


def test_what_is_mounted_read_only_cannot_fill_up(tmp_path: Path) -> None:
    archive = line("/archive", number="8:2", options="ro", super_options="ro")
    part = read(TreeHost(tmp_path, {}), [line("/"), archive], {"/": sizes(), "/archive": sizes()})
    assert list(rows(part)) == ["/"]


def test_a_file_system_that_made_itself_read_only_says_so(tmp_path: Path) -> None:
    lines = [line("/", super_options="ro,errors=remount-ro"), line("/nas", "nfs", "n:/", "0:9", super_options="ro")]
    part = read(TreeHost(tmp_path, {}), lines, {"/": sizes(), "/nas": sizes()})
    assert {name: row.forced_read_only for name, row in rows(part).items()} == {"/": True, "/nas": False}


@pytest.mark.parametrize(("text", "count"), [("0\n", 0), ("7\n", 7), ("odd\n", None)])
def test_errors_that_an_ext_file_system_notes_are_read(tmp_path: Path, text: str, count: int | None) -> None:
    host = TreeHost(tmp_path, {"/sys/fs/ext4/sda1/errors_count": text, "/sys/devices/sda/sda1/partition": "1"})
    host.path("/sys/dev/block").mkdir(parents=True)
    host.path("/sys/dev/block/8:1").symlink_to("../../devices/sda/sda1")
    archive = line("/srv", options="ro", super_options="ro")
    part = read(host, [archive], {"/srv": sizes()})
    assert {name: row.error_count for name, row in rows(part).items()} == ({"/srv": count} if count else {})


@pytest.mark.parametrize(
    ("error", "reason", "fix"),
    [
        (PermissionError(errno.EACCES, "Permission denied"), GapReason.NO_PERMISSION, run_as_root()),
        (OSError(errno.ESTALE, "Stale file handle"), GapReason.FAILED, "umount -l '/nas'"),
        (OSError(errno.EIO, "Input/output error"), GapReason.FAILED, ""),
    ],
)
def test_a_mount_that_cannot_be_measured_keeps_its_row_and_is_a_gap(
    tmp_path: Path, error: OSError, reason: GapReason, fix: str
) -> None:
    lines = [line("/"), line("/nas", "nfs4", "nas:/x", "0:50")]
    part = read(TreeHost(tmp_path, {}), lines, {"/": sizes(), "/nas": error})
    assert (rows(part)["/nas"].usage_percent, part.complete) == (None, True)
    [gap] = part.gaps
    assert (gap.reason, gap.resource_id, gap.subject) == (reason, "agent:local:nas", "/nas")
    assert fix in gap.fix


def test_a_mount_that_is_gone_since_is_nothing(tmp_path: Path) -> None:
    lines = [line("/"), line("/usb", number="8:3")]
    part = read(TreeHost(tmp_path, {}), lines, {"/": sizes(), "/usb": OSError(errno.ENOENT, "gone")})
    assert (list(rows(part)), list(part.gaps)) == (["/"], [])


def test_without_the_list_of_mounts_nothing_is_known(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="mountinfo"):
        read_filesystems(TreeHost(tmp_path, {}), WHERE)


# --- never waiting ---------------------------------------------------------------------------------------------------


def test_a_dead_server_costs_its_own_mount_only_and_is_not_asked_twice(tmp_path: Path) -> None:
    release, asked = threading.Event(), []

    def statvfs(path: str) -> os.statvfs_result:
        if path.endswith(("/nas", "/disk")):
            asked.append(path)
            release.wait(20)
        return sizes()

    host = TreeHost(tmp_path, {})
    lines = [line("/"), line("/nas", "nfs4", "nas:/x", "0:50"), line("/disk", number="8:9")]
    host.write("/proc/self/mountinfo", "\n".join(lines))
    try:
        for _ in range(2):
            part = read_filesystems(host, WHERE, statvfs=statvfs, bound_seconds=0.05)
            assert {name: row.usage_percent is None for name, row in rows(part).items()} == {
                "/": False,
                "/nas": True,
                "/disk": True,
            }
            assert {gap.subject: gap.reason for gap in part.gaps} == dict.fromkeys(
                ("/nas", "/disk"), GapReason.TIMED_OUT
            )
            assert {gap.fix for gap in part.gaps} == {"see whether what serves nas:/x is up", "look at `dmesg`"}
        assert len(asked) == 2
    finally:
        release.set()


def test_a_mount_that_answers_again_is_asked_again() -> None:
    release = threading.Event()

    def statvfs(path: str) -> os.statvfs_result:
        release.wait(20)
        return sizes()

    before = set(threading.enumerate())
    assert stat_all(["/once-dead"], statvfs, 0.01) == {"/once-dead": None}
    asking = set(threading.enumerate()) - before
    release.set()
    for thread in asking:
        thread.join(5)
    assert stat_all(["/once-dead"], statvfs, 5) == {"/once-dead": sizes()}


# --- ZFS -------------------------------------------------------------------------------------------------------------


def dataset(point: str, name: str, number: int) -> str:
    return line(point, "zfs", name, f"0:{number}")


DATASETS = [dataset("/tank", "tank", 91), dataset("/tank/home", "tank/home", 92), dataset("/tank/small", "tank/s", 93)]
SIZES = {"/tank": sizes(available=300), "/tank/home": sizes(available=299), "/tank/small": sizes(available=20)}


def test_of_datasets_only_those_with_a_limit_of_their_own_are_looked_at(tmp_path: Path) -> None:
    host = ZfsHost(tmp_path, {"tank": "ONLINE"}, {"zfs list": said(f"tank\t1\t{300 * 4096}\n")})
    assert list(rows(read(host, DATASETS, SIZES))) == ["/tank/small"]


def test_where_the_pool_cannot_be_seen_the_dataset_with_most_space_stands_for_it(tmp_path: Path) -> None:
    part = read(TreeHost(tmp_path, {}), DATASETS, SIZES)
    assert list(rows(part)) == ["/tank", "/tank/small"]


def test_datasets_of_a_suspended_pool_are_gaps_and_its_programs_are_left_alone(tmp_path: Path) -> None:
    host = ZfsHost(tmp_path, {"tank": "SUSPENDED"})
    part = read(host, DATASETS[:2], {"/tank": sizes(), "/tank/home": OSError(errno.EIO, "Input/output error")})
    assert host.calls == []
    assert [gap.subject for gap in part.gaps] == ["/tank/home"]


# --- real captures ---------------------------------------------------------------------------------------------------


def test_real_lists_of_mounts_come_down_to_the_real_file_systems(shared: Path) -> None:
    for name in ("jc_pid_mountinfo.txt", "ne_1_mountinfo.txt"):
        content = (shared / "data" / "proc" / name).read_bytes()
        assert len(parse_mountinfo(content)) == content.count(b"\n") + (not content.endswith(b"\n"))
        assert [mount.point for mount in select(parse_mountinfo(content))] == ["/", "/boot"]
