"""Whether a report of a value above its limit can be: by the same limits as the detectors, where it was measured."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from findings.kinds import Kind
from patrol.estate.inventory import inventory_row
from patrol.estate.model import Metric, Resource, ResourceType
from patrol.tools.model import ErrorCode, ToolError
from signals.thresholds import Limit, Limited, Thresholds
from signals.usage import MAIN_DISK

_CONNECTIVITY = frozenset({Kind.GUEST_UNREACHABLE, Kind.NODE_OFFLINE})
_WITHOUT_SUBJECT = frozenset(
    {
        *(Kind.SMART_FAILURE, Kind.HIGH_CPU, Kind.HIGH_MEMORY, Kind.HIGH_SWAP, Kind.DISK_WEAR),
        *(Kind.BACKUP_STALE, Kind.GUEST_UNREACHABLE, Kind.NODE_OFFLINE, Kind.POOL_DEGRADED, Kind.RAID_DEGRADED),
    }
)
_SWITCHES: Mapping[str, tuple[Limited, ...]] = MappingProxyType(
    {
        Kind.BACKUP_STALE: (Limited.BACKUP_AGE,),
        Kind.SNAPSHOT_OLD: (Limited.SNAPSHOT_AGE,),
        Kind.SNAPSHOT_LARGE: (Limited.SNAPSHOT_SIZE,),
        Kind.NETWORK_ERRORS: (Limited.NETWORK_ERRORS,),
        Kind.HIGH_NETWORK: (Limited.NETWORK_USE, Limited.NETWORK_IN, Limited.NETWORK_OUT),
        Kind.HIGH_DISK_IO: (Limited.DISK_READ, Limited.DISK_WRITE),
    }
)
"""Kinds of which only the limits are looked at here: switched off where all of them are."""

_PRESSURES = (
    ("cpu", Limited.PRESSURE_CPU, Metric.PRESSURE_CPU),
    ("memory", Limited.PRESSURE_MEMORY, Metric.PRESSURE_MEMORY),
    ("io", Limited.PRESSURE_IO, Metric.PRESSURE_IO),
)


class _Place(NamedTuple):
    """One subject of a resource that a kind is about. `value` None: not measured. `own_limit`: the device's own."""

    subject: str
    limited: Limited
    value: float | None
    disk_type: str = ""
    own_limit: float | None = None


def checked_subject(kind: str, resource: Resource, subject: str, evidence: str, thresholds: Thresholds) -> str:
    """The subject of a report as detectors write it.

    Raises ToolError for a subject that the resource does not have, for a value below its limit, and for a check that
    an operator switched off. What was not measured is no reason against a report.
    """
    row = inventory_row(resource)
    if kind in _CONNECTIVITY and thresholds.offline_expected(row):
        raise _switched_off(kind, resource)
    if kind in _WITHOUT_SUBJECT:
        subject = ""
    switches = _SWITCHES.get(kind, ())
    if switches and all(thresholds.limit(row, limited) is None for limited in switches):
        raise _switched_off(kind, resource)
    if kind == Kind.UNIT_FAILED:
        return _one_of(subject, [unit.name for unit in resource.units or ()], evidence)
    places = list(_places(kind, resource, thresholds))
    if not places:
        return subject
    limits = {each: thresholds.limit(row, each.limited, disk_type=each.disk_type) for each in places}
    subject = _one_of(subject, [each.subject for each in places], "")
    meant = [each for each in places if each.subject == subject] if subject else places
    if all(limits[each] is None for each in meant):
        raise _switched_off(kind, resource)
    reached = [each for each in meant if _may_be_above(each, limits[each])]
    if not reached:
        raise _below(kind, resource, meant, limits)
    if subject:
        return subject
    named = [each for each in reached if each.subject and each.subject in evidence]
    return max(named or reached, key=lambda each: (each.value is not None, each.value or 0)).subject


def _places(kind: str, resource: Resource, thresholds: Thresholds) -> Iterator[_Place]:
    """What the kind is about on this resource; nothing where no value of it says whether the kind is there."""
    metrics = {name: reading.value for name, reading in resource.metrics.items()}
    if kind == Kind.HIGH_CPU:
        reading = resource.metrics.get(Metric.CPU)
        window = thresholds.window_seconds(inventory_row(resource), Limited.CPU)
        is_known = reading is not None and reading.window_seconds >= window
        yield _Place("", Limited.CPU, metrics[Metric.CPU] if is_known else None)
    elif kind == Kind.HIGH_MEMORY:
        yield _Place("", Limited.MEMORY, metrics.get(Metric.MEMORY))
    elif kind == Kind.HIGH_SWAP:
        yield _Place("", Limited.SWAP, metrics.get(Metric.SWAP))
    elif kind == Kind.HIGH_PRESSURE:
        yield from (_Place(subject, limited, metrics.get(metric)) for subject, limited, metric in _PRESSURES)
    elif kind == Kind.HIGH_DISK:
        yield from _full_places(resource, metrics.get(Metric.DISK))
    elif kind == Kind.HIGH_INODES:
        for mount in resource.filesystems or ():
            yield _Place(mount.mountpoint or "", Limited.INODES, mount.inodes_percent, mount.disk_type)
    elif kind == Kind.DISK_WEAR and resource.disk is not None:
        yield _Place("", Limited.DISK_WEAR, resource.disk.life_used_percent, resource.disk.type or "")
    elif kind == Kind.HIGH_TEMPERATURE:
        yield from _warm_places(resource)


def _full_places(resource: Resource, main_disk: float | None) -> Iterator[_Place]:
    if resource.type is ResourceType.STORAGE:
        row = resource.pool
        yield _Place("", Limited.STORAGE, row.usage_percent if row is not None else None)
    elif resource.filesystems:
        for mount in resource.filesystems:
            yield _Place(mount.mountpoint or "", Limited.DISK, mount.usage_percent, mount.disk_type)
    elif main_disk is not None:
        yield _Place(MAIN_DISK, Limited.DISK, main_disk)


def _warm_places(resource: Resource) -> Iterator[_Place]:
    row = resource.disk
    if row is not None:
        yield _Place("", Limited.DISK_TEMPERATURE, row.temperature, row.type or "", row.temperature_limit)
    for sensor in resource.sensors or ():
        subject = f"{sensor.name}/{sensor.label}" if sensor.label else sensor.name
        own = min((each for each in (sensor.high, sensor.critical) if each is not None), default=None)
        yield _Place(subject, Limited.TEMPERATURE, sensor.celsius, own_limit=own)


def _may_be_above(place: _Place, limit: Limit | None) -> bool:
    if limit is None:
        return False
    if place.value is None:
        return True
    return place.value >= _least(limit) or (place.own_limit is not None and place.value >= place.own_limit)


def _least(limit: Limit) -> float:
    return limit.trigger if limit.watch is None else min(limit.watch, limit.trigger)


def _one_of(subject: str, known: list[str], evidence: str) -> str:
    """The subject as it is listed. Without one: the only one there is, or the only one that the evidence names."""
    known = list(dict.fromkeys(each for each in known if each))
    if not known:
        return subject
    if not subject:
        named = [each for each in known if each in evidence]
        return known[0] if len(known) == 1 else named[0] if len(named) == 1 else ""
    folded = _bare(subject)
    meant = [each for each in known if _bare(each) == folded]
    if subject in known or len(meant) == 1:
        return subject if subject in known else meant[0]
    raise ToolError(
        ErrorCode.NOT_FOUND, f"subject: this resource has no {subject[:100]!r} that is known", allowed=tuple(known[:20])
    )


def _bare(subject: str) -> str:
    return subject.strip().casefold().removesuffix(".service").rstrip("/")


def _switched_off(kind: str, resource: Resource) -> ToolError:
    return ToolError(
        ErrorCode.DISABLED_BY_ALERT_SETTINGS,
        f"{kind}: the operator switched this check off for {resource.id}; it is not to be reported",
    )


def _below(kind: str, resource: Resource, meant: list[_Place], limits: dict[_Place, Limit | None]) -> ToolError:
    measured = [(each, limit) for each, limit in ((each, limits[each]) for each in meant) if limit is not None]
    place, limit = max(measured, key=lambda pair: (pair[0].value or 0) - _least(pair[1]))
    where = f" {place.subject}" if place.subject else ""
    return ToolError(
        ErrorCode.BELOW_LIMIT,
        f"{kind}: {resource.id}{where} is at {place.value:g}, and the limit is {limit.trigger:g} "
        f"({limit.provenance}; from {_least(limit):g} on it may be reported)",
    )
