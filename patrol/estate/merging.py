"""One resource out of several observations of it: what was really measured wins over what could not be."""

import re
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

import msgspec

from patrol.estate.identity import device_name
from patrol.estate.model import Metric, Reading, Resource, Status
from signals.evidence import DiskRow, FilesystemRow, PoolRow, ProbeRow, RaidRow, SmartAttributes

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
    merged.filesystems = _merge_lists(first.filesystems, second.filesystems, _filesystem_key)
    merged.units = _merge_lists(first.units, second.units, lambda row: row.name)
    merged.sensors = _merge_lists(first.sensors, second.sensors, lambda row: (row.name, row.label))
    if first.disk is not None and second.disk is not None:
        merged.disk = merge_disk_rows(first.disk, second.disk)
        # The disk hangs where it was read best: a passed-through disk belongs to its real host.
        merged.parent = (second if _disk_rank(second.disk) > _disk_rank(first.disk) else first).parent or merged.parent
    if first.pool is not None and second.pool is not None:
        merged.pool = filled(*_by_detail(first.pool, second.pool, _pool_detail))
    if first.raid is not None and second.raid is not None:
        merged.raid = filled(*_by_detail(first.raid, second.raid, _raid_detail))
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

    The counters are those of the row that has most of them, completed from the other.
    """
    first, second = (other, one) if _disk_rank(other) > _disk_rank(one) else (one, other)
    merged = filled(first, second)
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
    found.sort(key=_counter_count, reverse=True)  # stable: of equal ones the better row's
    # Sources may spell their counters differently (a struct of their own); the result is spelled one way.
    best, rest = found[0], found[-1]
    return SmartAttributes(
        **{
            field: getattr(best, field) if getattr(best, field) is not None else getattr(rest, field)
            for field in SmartAttributes.__struct_fields__
        }
    )


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
    first: list[ItemT] | None, second: list[ItemT] | None, key: Callable[[ItemT], Hashable]
) -> list[ItemT] | None:
    """The rows of both, one for each key: the first one's, unless it measured nothing."""
    if first is None or second is None:
        return second if first is None else first
    rows: dict[Hashable, ItemT] = {}
    for row in (*first, *second):
        name = key(row)
        known = rows.get(name)
        unmeasured = isinstance(known, FilesystemRow) and known.usage_percent is None
        if known is None or unmeasured:
            rows[name] = row
    return list(rows.values())


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
