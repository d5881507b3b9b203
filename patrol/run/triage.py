"""Stage 4: what looks interesting, by fixed rules. The model starts from these flags; nothing is filed from them.

A flag is weaker than a signal: it also marks what comes near a limit, and repeats what alerting owns. Rules
that need a baseline or a forecast are in `patrol.run.outlook`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from typing import NamedTuple

from findings.model import Category, ResourceId, Severity
from patrol.estate.inventory import inventory_row
from patrol.estate.model import Alert, Estate, Metric, Resource, ResourceType
from signals.evidence import InventoryRow, PbsBackupRow, PveBackupRow
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
    metric: str
    limited: Limited
    category: Category
    value: float | None
    reason: str
    disk_type: str = ""


def triage(estate: Estate, thresholds: Thresholds, now: datetime, outlook: Iterable[Flag] = ()) -> list[Flag]:
    """All flags, one for each resource, category and metric (the worst), worst first, then by type and name.

    `outlook`: the flags that the past gives.
    """
    worst: dict[tuple[str, str, str], Flag] = {}
    for flag in chain(_flags(estate, thresholds, now), outlook):
        key = (flag.resource_id, flag.category, flag.metric)
        known = worst.get(key)
        if known is None or flag.severity.rank > known.severity.rank:
            worst[key] = flag
    return sorted(
        worst.values(), key=lambda flag: (-flag.severity.rank, flag.resource_type, flag.resource_name, flag.metric)
    )


def _flags(estate: Estate, thresholds: Thresholds, now: datetime) -> Iterator[Flag]:
    newest = _newest_backups(estate)
    for resource in estate.resources:
        row = inventory_row(resource)
        for measured in _measured(resource):
            yield from _near_limit(row, measured, thresholds)
        yield from _disk_health(resource, row)
        if resource.type in _GUESTS and resource.status in UP and not resource.template:
            yield from _backup(row, newest, thresholds, now)
            if resource.probes and not any(probe.ok for probe in resource.probes):
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
            reason = f"{metric} at {reading.value:.0f}%"
            yield _Measured(metric, limited, Category.PERFORMANCE, reading.value, reason)
    guest_disk = resource.metrics.get(Metric.DISK)
    if guest_disk is not None and guest_disk.value > 0:  # 0 is what a hypervisor says of a guest it cannot see into
        yield _Measured("disk", Limited.DISK, Category.CAPACITY, guest_disk.value, f"disk at {guest_disk.value:.0f}%")
    for mount in resource.filesystems or ():
        if mount.usage_percent is not None:
            reason = f"{mount.mountpoint} at {mount.usage_percent:.0f}%"
            where = f"disk {mount.mountpoint}"
            yield _Measured(where, Limited.DISK, Category.CAPACITY, mount.usage_percent, reason, mount.disk_type)
    if resource.pool is not None and resource.pool.usage_percent is not None:
        usage = resource.pool.usage_percent
        yield _Measured("usage", Limited.STORAGE, Category.CAPACITY, usage, f"usage at {usage:.0f}%")
    if resource.disk is not None:
        kind = resource.disk.type or ""
        heat, wear = resource.disk.temperature, resource.disk.life_used_percent
        yield _Measured("temperature", Limited.DISK_TEMPERATURE, Category.RELIABILITY, heat, f"disk at {heat} °C", kind)
        yield _Measured("wear", Limited.DISK_WEAR, Category.RELIABILITY, wear, f"{wear}% of rated endurance used", kind)


def _near_limit(row: InventoryRow, measured: _Measured, thresholds: Thresholds) -> Iterator[Flag]:
    if measured.value is None:
        return
    limit = thresholds.limit(row, measured.limited, disk_type=measured.disk_type)
    if limit is None:
        return
    tier = _tier(limit, measured.value)
    if tier is not None:
        severity, threshold = tier
        yield _flag(row, measured.category, severity, measured.reason, measured.metric, measured.value, threshold)


def _tier(limit: Limit, value: float) -> tuple[Severity, float] | None:
    if value > limit.trigger or (limit.trigger >= 100 and value >= limit.trigger):
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
        zone = estate.zones.get(backup.instance or "", "")
        at = parse_time(backup.backup_time, zone)
        if backup.resource_id and at is not None:
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
