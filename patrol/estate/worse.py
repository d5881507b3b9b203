"""Two readings of one thing that disagree: the worse one counts, whichever source it came from.

A fault that one source shows is never hidden by another one that does not see it. Nothing here mixes the
values of one fact: what is chosen was read somewhere as it stands.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

import msgspec

from signals.ceph_evidence import CephRow
from signals.evidence import DiskRow, SensorRow, SmartAttributes
from signals.storage_evidence import FilesystemRow, PoolRow, RaidRow, VdevRow, ZfsRow
from signals.times import parse_time

SAME_TIME = timedelta(hours=1)
"""Readings of a disk further apart than this are an old and a new one: then the new one counts alone."""

_NO_TROUBLE = frozenset({"", "available", "online", "active", "ok", "healthy", "unknown", "disabled"})
_SOUND_MEMBERS = frozenset({"", "ONLINE", "AVAIL", "INUSE"})
_CEPH_ORDER = {"HEALTH_OK": 1, "HEALTH_WARN": 2, "HEALTH_ERR": 3}
_RAID_TROUBLE = ("degraded", "fail", "broken", "inactive", "stopped", "not started")

RowT = TypeVar("RowT", bound=msgspec.Struct)
Number = TypeVar("Number", int, float)


def highest(one: Number | None, other: Number | None) -> Number | None:
    """The higher of what was measured; None if nothing was."""
    return max((value for value in (one, other) if value is not None), default=None)


def worse_filesystem(one: FilesystemRow, other: FilesystemRow, filled: "Fill[FilesystemRow]") -> FilesystemRow:
    """The fuller of two, with the other one's inodes and errors where these are worse."""
    first, second = (other, one) if (other.usage_percent or -1) > (one.usage_percent or -1) else (one, other)
    row = filled(first, second)
    row.inodes_percent = highest(one.inodes_percent, other.inodes_percent)
    row.error_count = highest(one.error_count, other.error_count)
    row.forced_read_only = one.forced_read_only or other.forced_read_only
    return row


def worse_sensor(one: SensorRow, other: SensorRow) -> SensorRow:
    """The hotter of two."""
    return other if other.celsius is not None and (one.celsius is None or other.celsius > one.celsius) else one


def worse_pool(row: PoolRow, other: PoolRow, filled: "Fill[ZfsRow]") -> None:
    """Takes into `row`, which has the more detail, whatever is worse in `other`."""
    row.usage_percent = highest(row.usage_percent, other.usage_percent)
    status = other.status or ""
    if status.strip().lower() not in _NO_TROUBLE and (row.status or "").strip().lower() in _NO_TROUBLE:
        row.status = status
    if other.active is False and other.enabled is not False:
        row.active = False
    if row.zfs is not None and other.zfs is not None:
        is_worse = _zfs_trouble(other.zfs) > _zfs_trouble(row.zfs)
        row.zfs = filled(other.zfs, row.zfs) if is_worse else filled(row.zfs, other.zfs)


def is_worse_raid(row: RaidRow, than: RaidRow) -> bool:
    """Whether an array is further from whole in one reading than in the other."""
    return _raid_trouble(row) > _raid_trouble(than)


def is_worse_ceph(row: CephRow, than: CephRow) -> bool:
    """Whether a cluster is further from healthy in the words of one member than in those of another."""
    return _ceph_trouble(row) > _ceph_trouble(than)


def is_newer_reading(row: DiskRow, than: DiskRow) -> bool:
    """Whether both say when they were read, and one is so much later that the other is history."""
    at, before = parse_time(row.last_checked), parse_time(than.last_checked)
    return at is not None and before is not None and at - before > SAME_TIME


def worse_counters(one: SmartAttributes, other: SmartAttributes) -> SmartAttributes:
    """Every counter at its worse value: the higher one, but of the spare the lower."""
    worse = SmartAttributes(
        **{
            field: highest(getattr(one, field), getattr(other, field))
            for field in SmartAttributes.__struct_fields__
            if field not in {"available_spare", "critical_warning"}
        }
    )
    spares = [row.available_spare for row in (one, other) if row.available_spare is not None]
    worse.available_spare = min(spares, default=None)
    bits = [row.critical_warning for row in (one, other) if row.critical_warning is not None]
    worse.critical_warning = bits[0] | bits[-1] if bits else None
    return worse


def _ceph_trouble(row: CephRow) -> tuple[int, int]:
    osds = row.osd_map
    down = (osds.num_in or 0) - (osds.num_up or 0) if osds is not None else 0
    return _CEPH_ORDER.get(row.health.status.strip().upper(), 0), down


def _zfs_trouble(zfs: ZfsRow) -> tuple[bool, int, int, int]:
    errors = zfs.read_errors + zfs.write_errors + zfs.checksum_errors + sum(map(_errors, zfs.vdevs))
    bad = sum(vdev.state.strip().upper() not in _SOUND_MEMBERS for vdev in zfs.vdevs)
    return zfs.state.strip().upper() not in _SOUND_MEMBERS, bad, zfs.data_errors or 0, errors


def _errors(vdev: VdevRow) -> int:
    return vdev.read_errors + vdev.write_errors + vdev.checksum_errors


def _raid_trouble(row: RaidRow) -> tuple[bool, int, int]:
    state = row.state.lower()
    made_for, active = row.raid_devices, row.active_devices
    missing = made_for - active if made_for is not None and active is not None else 0
    return any(word in state for word in _RAID_TROUBLE), missing, row.failed_devices or 0


Fill = Callable[[RowT, RowT], RowT]
"""A copy of the first row that takes from the second whatever it does not have itself."""
