"""Stage 4: what looks interesting, by fixed rules. The model starts from these flags; nothing is filed from them.

A flag is weaker than a signal: it also marks what comes near a limit, and repeats what alerting owns. Rules
that need a baseline or a forecast are in `patrol.run.outlook`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from findings.model import Category, Look, ResourceId, Severity
from patrol.estate.inventory import inventory_row
from patrol.estate.model import Alert, Estate, Metric, Resource, ResourceType
from patrol.tools.reachability import is_reachable
from signals.backup_evidence import PbsBackupRow, PveBackupRow
from signals.evidence import InventoryRow
from signals.inventory import UP
from signals.thresholds import Limit, Limited, Thresholds
from signals.times import parse_time

_GUESTS = frozenset({ResourceType.VM, ResourceType.SYSTEM_CONTAINER})
_HEALTHY_WORDS = frozenset({"", "PASSED", "UNKNOWN", "OK"})
_ALERT_SEVERITIES = {"critical": Severity.CRITICAL, "warning": Severity.WARNING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One thing worth a look. `value` and `threshold` carry the unit of their metric."""

    resource_id: ResourceId
    resource_name: str
    resource_type: str
    category: Category
    severity: Severity
    reason: str
    metric: str = ""
    value: float | None = None
    threshold: float | None = None


class _Measured(NamedTuple):
    """One value. `reason`: how it is said, with room for `where` and `value`: few values need the words."""

    metric: str
    limited: Limited
    category: Category
    value: float | None
    reason: str
    where: str = ""
    disk_type: str = ""


def triage(
    estate: Estate,
    thresholds: Thresholds,
    now: datetime,
    outlook: Iterable[Flag] = (),
    rows: Mapping[ResourceId, InventoryRow] = MappingProxyType({}),
) -> list[Flag]:
    """All flags, one for each resource, category and metric (the worst), worst first, then by type and name.

    `outlook`: the flags that the past gives. `rows`: the inventory by id, where it was made already.
    """
    worst: dict[tuple[str, str, str], Flag] = {}
    for flag in chain(_flags(estate, thresholds, now, rows), outlook):
        key = (flag.resource_id, flag.category, flag.metric)
        known = worst.get(key)
        if known is None or flag.severity.rank > known.severity.rank:
            worst[key] = flag
    return sorted(
        worst.values(), key=lambda flag: (-flag.severity.rank, flag.resource_type, flag.resource_name, flag.metric)
    )


def _flags(
    estate: Estate, thresholds: Thresholds, now: datetime, rows: Mapping[ResourceId, InventoryRow]
) -> Iterator[Flag]:
    newest = _newest_backups(estate)
    for resource in estate.resources:
        row = rows.get(resource.id) or inventory_row(resource)
        for measured in _measured(resource):
            flag = _near_limit(row, measured, thresholds)
            if flag is not None:
                yield flag
        yield from _disk_health(resource, row)
        if resource.type in _GUESTS and resource.status in UP and not resource.template:
            yield from _backup(row, newest, thresholds, now)
            if is_reachable(resource) is False and not thresholds.offline_expected(row):
                yield _flag(row, Category.RELIABILITY, Severity.WARNING, "answers on no path that was tried")
    for alert in estate.alerts:
        yield _alert(alert)
    for source in estate.sources:
        if not source.connected:
            there = InventoryRow(id=f"source:{source.name}", type="source", name=source.name)
            yield _flag(there, Category.RELIABILITY, Severity.CRITICAL, source.detail or "the source did not answer")


def _measured(resource: Resource) -> Iterable[_Measured]:
    for metric, limited in ((Metric.CPU, Limited.CPU), (Metric.MEMORY, Limited.MEMORY)):
        reading = resource.metrics.get(metric)
        if reading is not None:
            yield _Measured(metric, limited, Category.PERFORMANCE, reading.value, _IN_USE, metric)
    guest_disk = resource.metrics.get(Metric.DISK)
    if guest_disk is not None and guest_disk.value > 0:  # 0 is what a hypervisor says of a guest it cannot see into
        yield _Measured("disk", Limited.DISK, Category.CAPACITY, guest_disk.value, _IN_USE, "disk")
    for mount in resource.filesystems or ():
        if mount.usage_percent is not None:
            metric_name, where = f"disk {mount.mountpoint}", str(mount.mountpoint)
            percent = mount.usage_percent
            yield _Measured(metric_name, Limited.DISK, Category.CAPACITY, percent, _IN_USE, where, mount.disk_type)
    if resource.pool is not None and resource.pool.usage_percent is not None:
        usage = resource.pool.usage_percent
        yield _Measured("usage", Limited.STORAGE, Category.CAPACITY, usage, _IN_USE, "usage")
    if resource.disk is not None:
        kind = resource.disk.type or ""
        heat, wear = resource.disk.temperature, resource.disk.life_used_percent
        yield _Measured("temperature", Limited.DISK_TEMPERATURE, Category.RELIABILITY, heat, _HEAT, disk_type=kind)
        yield _Measured("wear", Limited.DISK_WEAR, Category.RELIABILITY, wear, _WEAR, disk_type=kind)


_IN_USE = "{where} at {value:.0f}%"
_HEAT = "disk at {value} °C"
_WEAR = "{value}% of rated endurance used"


def _near_limit(row: InventoryRow, measured: _Measured, thresholds: Thresholds) -> Flag | None:
    if measured.value is None:
        return None
    limit = thresholds.limit(row, measured.limited, disk_type=measured.disk_type)
    tier = _tier(limit, measured.value) if limit is not None else None
    if tier is None:
        return None
    severity, threshold = tier
    reason = measured.reason.format(where=measured.where, value=measured.value)
    return _flag(row, measured.category, severity, reason, measured.metric, measured.value, threshold)


def _tier(limit: Limit, value: float) -> tuple[Severity, float] | None:
    if limit.look(value) is Look.PRESENT:
        severity = limit.severity(value)
        critical = limit.critical if severity is Severity.CRITICAL else None
        return severity, limit.trigger if critical is None else critical
    if limit.watch is not None and value > limit.watch:
        return Severity.WATCH, limit.watch
    return None


def _disk_health(resource: Resource, row: InventoryRow) -> Iterator[Flag]:
    health = (resource.disk.health or "").strip().upper() if resource.disk is not None else ""
    if health not in _HEALTHY_WORDS:
        yield _flag(row, Category.RELIABILITY, Severity.CRITICAL, f"disk health reported {health}", "health")
    state = resource.pool.zfs.state if resource.pool is not None and resource.pool.zfs is not None else ""
    if state not in ("", "ONLINE"):
        yield _flag(row, Category.RELIABILITY, Severity.CRITICAL, f"pool is {state}", "pool")


def _newest_backups(estate: Estate) -> dict[str, datetime]:
    newest: dict[str, datetime] = {}
    backups: list[PbsBackupRow | PveBackupRow] = [*estate.pbs_backups, *estate.pve_backups]
    for backup in backups:
        if not backup.resource_id:
            continue
        at = parse_time(backup.backup_time, estate.zones.get(backup.instance or "", ""))
        if at is not None:
            newest[backup.resource_id] = max(at, newest.get(backup.resource_id, at))
    return newest


def _backup(row: InventoryRow, newest: dict[str, datetime], thresholds: Thresholds, now: datetime) -> Iterator[Flag]:
    limit = thresholds.limit(row, Limited.BACKUP_AGE)
    if limit is None or not newest:
        return
    at = newest.get(row.id)
    if at is None:
        yield _flag(row, Category.BACKUP, Severity.WARNING, "never backed up", "backup", None, limit.trigger)
    elif (hours := (now - at) / timedelta(hours=1)) > limit.trigger:
        reason = f"last backup {hours:.0f} h ago"
        yield _flag(row, Category.BACKUP, Severity.WARNING, reason, "backup", hours, limit.trigger)


def _alert(alert: Alert) -> Flag:
    severity = _ALERT_SEVERITIES.get(alert.severity, Severity.WATCH)
    row = InventoryRow(id=alert.resource_id, name=alert.resource_name, type="")
    reason = alert.message or f"{alert.type} alert ({alert.severity})"
    return _flag(row, _alert_category(alert.type), severity, reason, alert.type, alert.value, alert.threshold)


def _alert_category(alert_type: str) -> Category:
    words = alert_type.lower()
    if "cpu" in words or "memory" in words:
        return Category.PERFORMANCE
    if "disk" in words or "storage" in words:
        return Category.CAPACITY
    return Category.BACKUP if "backup" in words else Category.RELIABILITY


def _flag(
    row: InventoryRow,
    category: Category,
    severity: Severity,
    reason: str,
    metric: str = "",
    value: float | None = None,
    threshold: float | None = None,
) -> Flag:
    return Flag(
        resource_id=row.id,
        resource_name=row.name or row.id,
        resource_type=row.type,
        category=category,
        severity=severity,
        reason=reason,
        metric=metric,
        value=value,
        threshold=threshold,
    )
