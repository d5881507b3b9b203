"""How full the mounted file systems of this host are. No look at one of them can hold up the others."""

import errno
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from findings.model import Gap, GapReason, Topic
from patrol.estate.sources.local.block import find_disk_type
from patrol.estate.sources.local.host import Host, Part, Where, find_text
from patrol.estate.sources.local.mounts import Mount, parse_mountinfo, select, shown, zfs_pool
from patrol.estate.sources.local.root_command import run_as_root
from patrol.estate.sources.local.zfs import SUSPENDED, read_space, read_states
from signals.storage_evidence import FilesystemRow

MOUNTINFO = "/proc/self/mountinfo"

StatVfs = Callable[[str], os.statvfs_result]

_BOUND_SECONDS = 5.0
_OWN_LIMIT_RATIO = 0.9
"""A ZFS dataset has a limit of its own where it has clearly less space left than its pool."""

_DYNAMIC_INODES = frozenset({"btrfs", "zfs", "bcachefs"})
"""They make inodes as long as there is space. XFS does too, up to a share of its size that statvfs accounts for."""

_TURNS_READ_ONLY = frozenset({"ext2", "ext3", "ext4", "btrfs", "f2fs", "vfat", "exfat", "ntfs3", "jfs"})
"""Make themselves read-only after an error that could destroy data."""

_GONE = frozenset({errno.ENOENT, errno.ENOTDIR})


def read_filesystems(
    host: Host, where: Where, *, statvfs: StatVfs = os.statvfs, bound_seconds: float = _BOUND_SECONDS
) -> Part:
    """One row for each file system with storage of its own (see `mounts.select`).

    One that could not be measured keeps its row, without values, and is a gap with the mount as subject: the list
    of mounts is complete all the same. Raises OSError where the list of mounts itself cannot be read.
    """
    mounts = [
        mount
        for mount in select(parse_mountinfo(host.path(MOUNTINFO).read_bytes()))
        if mount.writable or mount.filesystem_writable or mount.point == "/" or _error_count(host, mount)
    ]  # what is mounted read-only cannot fill up
    paths = {mount.point: str(host.path(mount.point)) for mount in mounts}
    answers = stat_all(paths.values(), statvfs, bound_seconds)
    measured = {mount.point: answers[paths[mount.point]] for mount in mounts}
    kept = _without_pool_views(host, mounts, measured)
    rows, gaps = [], []
    for mount in kept:
        answer = measured[mount.point]
        if isinstance(answer, os.statvfs_result):
            if answer.f_blocks > 0:  # without size there is nothing that could fill up
                rows.append(_row(host, mount, answer))
        elif answer is None or answer.errno not in _GONE:  # unmounted since the list was read
            rows.append(_unmeasured(mount))
            gaps.append(_gap(where, mount, answer))
    return Part(filesystems=rows, gaps=gaps)


_hanging: dict[str, threading.Thread] = {}
"""Looks that have not come back, by path: a thread that waits for a dead server cannot be ended, only left alone."""


def stat_all(
    paths: Iterable[str], statvfs: StatVfs, bound_seconds: float
) -> Mapping[str, os.statvfs_result | OSError | None]:
    """What statvfs says of each path, or its error; None for those that did not answer in time.

    A path whose earlier look still hangs is not looked at again.
    """
    answers: dict[str, os.statvfs_result | OSError | None] = dict.fromkeys(paths)

    def look(path: str) -> None:
        try:
            answers[path] = statvfs(path)
        except OSError as error:
            answers[path] = error

    threads = {path: threading.Thread(target=look, args=(path,), daemon=True) for path in answers}
    begun = {path: thread for path, thread in threads.items() if not _hangs(path)}
    for thread in begun.values():
        thread.start()
    until = time.monotonic() + bound_seconds
    for path, thread in begun.items():
        thread.join(max(0.0, until - time.monotonic()))
        if thread.is_alive():
            _hanging[path] = thread
    return dict(answers)


def _hangs(path: str) -> bool:
    thread = _hanging.get(path)
    if thread is not None and not thread.is_alive():
        del _hanging[path]
        return False
    return thread is not None


def _without_pool_views(
    host: Host, mounts: Sequence[Mount], measured: Mapping[str, os.statvfs_result | OSError | None]
) -> list[Mount]:
    """Drops ZFS datasets that only show how full their pool is.

    The pool is a resource of its own. Where it cannot be seen (in a container) the dataset with most space
    left stands for it.
    """
    sizes = {
        mount: answer.f_bavail * answer.f_frsize
        for mount in mounts
        if mount.type == "zfs" and isinstance(answer := measured[mount.point], os.statvfs_result)
    }
    pools = {zfs_pool(mount) for mount in sizes}
    states = read_states(host) or {} if pools else {}
    seen = sorted(pool for pool in pools if pool in states and states[pool] != SUSPENDED)
    space = read_space(host, seen) if seen else {}
    dropped = set()
    for pool in pools:
        views = sorted((mount for mount in sizes if zfs_pool(mount) == pool), key=lambda mount: len(mount.point))
        widest = max(views, key=sizes.__getitem__)
        left = space[pool].available if pool in space else sizes[widest]
        dropped |= {
            mount
            for mount in views
            if sizes[mount] >= _OWN_LIMIT_RATIO * left and (pool in space or mount is not widest)
        }
    return [mount for mount in mounts if mount not in dropped]


def _row(host: Host, mount: Mount, answer: os.statvfs_result) -> FilesystemRow:
    used = answer.f_blocks - answer.f_bfree
    usable = used + answer.f_bavail
    row = _unmeasured(mount)
    row.total_bytes = answer.f_blocks * answer.f_frsize
    row.used_bytes = used * answer.f_frsize
    row.free_bytes = answer.f_bavail * answer.f_frsize
    row.usage_percent = 100 * used / usable if usable > 0 else None
    row.inodes_percent = _inodes_percent(mount, answer)
    row.disk_type = "" if mount.remote else find_disk_type(host, mount.number, mount.device)
    row.error_count = _error_count(host, mount)
    row.forced_read_only = mount.writable and not mount.filesystem_writable and mount.type in _TURNS_READ_ONLY
    return row


def _unmeasured(mount: Mount) -> FilesystemRow:
    return FilesystemRow(device=shown(mount.device), mountpoint=mount.name, type=mount.type)


def _inodes_percent(mount: Mount, answer: os.statvfs_result) -> float | None:
    if answer.f_files <= 0 or mount.type in _DYNAMIC_INODES:
        return None
    return 100 * (answer.f_files - answer.f_ffree) / answer.f_files


def _error_count(host: Host, mount: Mount) -> int | None:
    """Errors that an ext file system has noted in itself since it was last checked; None where none are kept."""
    if not mount.type.startswith("ext"):
        return None
    device = host.path(f"/sys/dev/block/{mount.number}").resolve().name
    count = (find_text(host, f"/sys/fs/ext4/{device}/errors_count") or "").strip()
    return int(count) if count.isdecimal() else None


def _gap(where: Where, mount: Mount, error: OSError | None) -> Gap:
    reason, fix = GapReason.FAILED, ""
    if error is None:
        reason = GapReason.TIMED_OUT
        fix = f"see whether what serves {shown(mount.device)} is up" if mount.remote else "look at `dmesg`"
    elif isinstance(error, PermissionError):
        reason = GapReason.NO_PERMISSION
        fix = f"{run_as_root()}; or let this user search the folders above {mount.name}"
    elif error.errno == errno.ESTALE:
        fix = f"mount it again: umount -l '{mount.name}' && mount '{mount.name}'"
    detail = "did not answer" if error is None else f"could not be measured: {error.strerror or error}"
    return Gap(
        source=where.source,
        topic=Topic.FILESYSTEMS,
        reason=reason,
        detail=f"{mount.name} ({mount.type}) {detail}",
        resource_id=where.host_id,
        subject=mount.name,
        fix=fix,
    )
