"""One resource out of several observations of it: measured wins over unmeasured, the worse over the better."""

import re
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

import msgspec

from patrol.estate.identity import device_name
from patrol.estate.model import Metric, Reading, Resource, Status
from patrol.estate.worse import (
    highest,
    is_newer_reading,
    is_worse_ceph,
    is_worse_raid,
    worse_counters,
    worse_filesystem,
    worse_pool,
    worse_sensor,
)
from signals.evidence import DiskRow, ProbeRow, SmartAttributes
from signals.storage_evidence import FilesystemRow, PoolRow, RaidRow

_UP = (Status.RUNNING, Status.ONLINE)
_GOOD_VERDICTS = frozenset({"passed", "ok", "good", "healthy"})
_NO_VERDICTS = frozenset({"", "unknown", "n/a", "none", "unavailable"})
_NOT_READ = re.compile(
    r"open|access|permission|denied|not permitted|unavailable|unsupported|not supported|time[d ]?\s*out|no such device",
    re.IGNORECASE,
)

RowT = TypeVar("RowT", bound=msgspec.Struct)
ItemT = TypeVar("ItemT")


def merge_resources(rows: Iterable[Resource], resource_id: str) -> Resource:
    """All observations of one resource as one, under `resource_id`. The first named wins where nothing decides."""
    observations = list(rows)
    merged = observations[0]
    for other in observations[1:]:
        merged = _merge_two(merged, other)
    other_names = [text for row in observations for text in (row.id, row.name, *row.aliases)]
    merged.aliases = list(
        dict.fromkeys(text for text in other_names if text and text not in (resource_id, merged.name))
    )
    merged.id = resource_id
    return merged


def _merge_two(one: Resource, other: Resource) -> Resource:
    # A guest in migration is reported by both nodes; the one that says it runs has it.
    first, second = (other, one) if _status_rank(other.status) > _status_rank(one.status) else (one, other)
    merged = filled(first, second)
    merged.tags = _union(first.tags, second.tags)
    merged.addresses = _union(first.addresses, second.addresses)
    merged.metrics = _merge_metrics(first.metrics, second.metrics)
    merged.template = first.template or second.template
    merged.first_seen = min((at for at in (first.first_seen, second.first_seen) if at is not None), default=None)
    merged.probes = _merge_lists(first.probes, second.probes, _probe_key)
    merged.filesystems = _merge_lists(first.filesystems, second.filesystems, _filesystem_key, _worse_filesystem)
    merged.units = _merge_lists(first.units, second.units, lambda row: row.name)
    merged.sensors = _merge_lists(first.sensors, second.sensors, lambda row: (row.name, row.label), worse_sensor)
    merged.snapshots = _merge_lists(first.snapshots, second.snapshots, lambda row: row.snapshot_name)
    merged.interfaces = _merge_lists(first.interfaces, second.interfaces, lambda row: row.name)
    merged.block_devices = _merge_lists(first.block_devices, second.block_devices, lambda row: row.device)
    if first.ceph is not None and second.ceph is not None:
        cluster, other_cluster = first.ceph, second.ceph
        if is_worse_ceph(other_cluster, cluster):
            cluster, other_cluster = other_cluster, cluster
        merged.ceph = filled(cluster, other_cluster)
    if first.disk is not None and second.disk is not None:
        merged.disk = merge_disk_rows(first.disk, second.disk)
        # The disk hangs where it was read best: a passed-through disk belongs to its real host.
        merged.parent = (second if _disk_rank(second.disk) > _disk_rank(first.disk) else first).parent or merged.parent
    if first.pool is not None and second.pool is not None:
        fuller, other_pool = _by_detail(first.pool, second.pool, _pool_detail)
        merged.pool = filled(fuller, other_pool)
        worse_pool(merged.pool, other_pool, filled)
    if first.raid is not None and second.raid is not None:
        array, other_array = _by_detail(first.raid, second.raid, _raid_detail)
        merged.raid = filled(other_array, array) if is_worse_raid(other_array, array) else filled(array, other_array)
    return merged


def filled(row: RowT, other: RowT) -> RowT:
    """A copy of `row` that takes from `other` whatever it does not have itself."""
    missing = {}
    for field in row.__struct_fields__:
        value = getattr(row, field)
        if value is None or value in ("", [], Status.UNKNOWN):
            missing[field] = getattr(other, field)
    return msgspec.structs.replace(row, **missing)


def merge_disk_rows(one: DiskRow, other: DiskRow) -> DiskRow:
    """One disk seen twice: a real verdict beats an access error, of two real ones the worse stays.

    The same holds for each counter. Of a reading of today and one of another day only the first counts.
    """
    first, second = (other, one) if _disk_rank(other) > _disk_rank(one) else (one, other)
    merged = filled(first, second)
    if has_verdict(one) and has_verdict(other):
        for newer, older in ((one, other), (other, one)):
            if is_newer_reading(newer, older):
                return _of_today(newer, older)
    merged.temperature = highest(one.temperature, other.temperature)
    merged.life_used_percent = highest(one.life_used_percent, other.life_used_percent)
    merged.attributes = _merge_counters([row for row in (counters_of(first), counters_of(second)) if row is not None])
    merged.smart_attributes = merged.smartAttributes = None
    real = [row for row in (first, second) if has_verdict(row)]
    if len(real) == 2 and not is_good(second):
        merged.health = second.health if is_good(first) else first.health
    said = real or [first, second]
    merged.reasons = _union(*(row.reasons for row in said))
    merged.failing = _merge_lists(first.failing, second.failing, lambda row: (row.id, row.name, row.when)) or []
    merged.smart_complete = first.smart_complete or second.smart_complete
    return merged


def _of_today(newer: DiskRow, older: DiskRow) -> DiskRow:
    """A reading, with what an outdated one knows of the disk itself: nothing of how it is."""
    row = filled(newer, older)
    row.attributes = counters_of(newer)
    row.smart_attributes = row.smartAttributes = None
    row.failing, row.reasons = newer.failing, newer.reasons
    row.temperature, row.life_used_percent, row.wearout = newer.temperature, newer.life_used_percent, newer.wearout
    return row


def has_verdict(row: DiskRow) -> bool:
    """Whether the disk was really asked: an error on the way to it is no verdict, whatever it is called."""
    if (row.health or "").strip().casefold() in _NO_VERDICTS:
        return False
    read_nothing = counters_of(row) is None and not row.failing and not row.smart_complete
    return not (read_nothing and any(_NOT_READ.search(reason) for reason in row.reasons))


def is_good(row: DiskRow) -> bool:
    """Whether the verdict says that the disk is well."""
    return (row.health or "").strip().casefold() in _GOOD_VERDICTS


def counters_of(row: DiskRow) -> SmartAttributes | None:
    """The counters, whichever of the documented spellings they came in."""
    return row.attributes or row.smart_attributes or row.smartAttributes


def _merge_counters(found: list[SmartAttributes]) -> SmartAttributes | None:
    if not found:
        return None
    return worse_counters(found[0], found[-1])


def _counter_count(counters: SmartAttributes | None) -> int:
    if counters is None:
        return 0
    return sum(getattr(counters, field) is not None for field in counters.__struct_fields__)


def _disk_rank(row: DiskRow) -> tuple[bool, bool, int, bool]:
    return has_verdict(row), row.smart_complete, _counter_count(counters_of(row)), bool(device_name(row))


def _status_rank(status: Status) -> int:
    return 2 if status in _UP else int(status is not Status.UNKNOWN)


def _merge_metrics(first: dict[Metric, Reading], second: dict[Metric, Reading]) -> dict[Metric, Reading]:
    merged = dict(second)
    for metric, reading in first.items():
        other = second.get(metric)
        if other is None or _reading_rank(reading) >= _reading_rank(other):
            merged[metric] = reading
    return merged


def _reading_rank(reading: Reading) -> tuple[float, float]:
    """An average beats a value of the moment, then the newer one."""
    return reading.window_seconds, reading.at.timestamp() if reading.at is not None else 0.0


def _merge_lists(
    first: list[ItemT] | None,
    second: list[ItemT] | None,
    key: Callable[[ItemT], Hashable],
    merge: Callable[[ItemT, ItemT], ItemT] | None = None,
) -> list[ItemT] | None:
    """The rows of both, one for each key: what `merge` makes of two, else the first one's."""
    if first is None or second is None:
        return second if first is None else first
    rows: dict[Hashable, ItemT] = {}
    for row in (*first, *second):
        name = key(row)
        known = rows.get(name)
        if known is None:
            rows[name] = row
        elif merge is not None and known is not row:
            rows[name] = merge(known, row)
    return list(rows.values())


def _worse_filesystem(one: FilesystemRow, other: FilesystemRow) -> FilesystemRow:
    return worse_filesystem(one, other, filled)


def _filesystem_key(row: FilesystemRow) -> Hashable:
    return row.mountpoint or row.device


def _probe_key(row: ProbeRow) -> Hashable:
    return row.kind, row.address, row.ok


def _by_detail(one: RowT, other: RowT, detail: Callable[[RowT], int]) -> tuple[RowT, RowT]:
    return (other, one) if detail(other) > detail(one) else (one, other)


def _pool_detail(row: PoolRow) -> int:
    return 2 * (row.zfs is not None or row.btrfs is not None) + (row.usage_percent is not None)


def _raid_detail(row: RaidRow) -> int:
    return len(row.devices)


def _union(*lists: list[str]) -> list[str]:
    return list(dict.fromkeys(text for rows in lists for text in rows))
