"""Whether an estate is as it was when a model last looked at it, so that it need not look again. Pure.

Compared is what triage flags, the alerts, the inventory with the state of everything in it, the gaps and the settings;
and each metric, which may move by less than 5 points. A metric that moves a tier (watch, warning, critical) is another
flag. What changes by itself all the time (times, sizes, rates) plays no part. Never for longer than a day.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from findings.model import Gap
from patrol.estate.model import Estate, Resource
from patrol.run.triage import Flag

LONGEST = timedelta(hours=24)
POINTS = 5.0
"""Percentage points, or degrees Celsius."""

REMEMBERED_AS = "estate_with_model"
"""The name under which the fingerprint of the last run with a model is remembered."""


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    """An estate as it was at a time. `parts`: a hash of each thing compared; `metrics`: in percent or degrees."""

    at: datetime
    parts: dict[str, str]
    metrics: dict[str, float]


def fingerprint(
    estate: Estate, flags: Iterable[Flag], gaps: Iterable[Gap], settings: Sequence[str], now: datetime
) -> Fingerprint:
    """The fingerprint of an estate. `settings`: whatever of them changes what is judged or asked, as text."""
    # Each outcome of a guest's attempts once, whenever it was: one more good backup is no news, a first bad one is.
    tasks = {
        (row.resource_id, row.vmid, row.type, row.status, row.exitstatus, row.error) for row in estate.backup_tasks
    }
    return Fingerprint(
        at=now,
        parts={
            "flags": _hash((each.resource_id, each.category, each.severity, each.metric) for each in flags),
            "alerts": _hash((each.id, each.resource_id, each.type, each.severity) for each in estate.alerts),
            "inventory": _hash(_told(each) for each in estate.resources),
            "backups": _hash([*tasks, *map(_told, (*estate.pbs_jobs, *estate.replication_jobs))]),
            "gaps": _hash((gap.source, gap.topic, gap.reason, gap.resource_id, gap.subject, gap.sight) for gap in gaps),
            "settings": _hash(settings),
        },
        metrics=dict(_metrics(estate.resources)),
    )


def what_changed(now: Fingerprint, before: Fingerprint | None) -> str:
    """What differs since the last run with a model, in plain words; "" where nothing does."""
    if before is None:
        return "no model has looked at this estate yet"
    if not timedelta() <= now.at - before.at < LONGEST:
        return "no model has looked for a day"
    for name, value in now.parts.items():
        if before.parts.get(name) != value:
            return f"the {name} changed"
    if now.metrics.keys() != before.metrics.keys():
        return "other metrics are measured"
    for name, number in now.metrics.items():
        if abs(number - before.metrics[name]) >= POINTS:
            return f"{name} moved from {before.metrics[name]:.0f} to {number:.0f}"
    return ""


def remembered_fingerprint(value: object) -> Fingerprint | None:
    """The fingerprint of what was remembered; None where there is none, or one of another version of Patrol."""
    try:
        return msgspec.convert(value, Fingerprint)
    except msgspec.ValidationError:
        return None


def _hash(values: Iterable[object]) -> str:
    """Without regard to order: sources answer in whatever order they like."""
    lines = sorted(msgspec.json.encode(each, order="deterministic") for each in values)
    return hashlib.sha256(b"\n".join(lines)).hexdigest()


_VOLATILE = frozenset(
    {"at", "last_checked", "scan", "rebuild_speed", "rebuild_percent", "detail", "log", "last_duration", "aliases"}
)
"""What changes by itself. Aliases are learned: Patrol knows more of them in the second run over the same estate."""
_VOLATILE_ENDS = ("_at", "_time", "_sync", "_run", "_seconds")
_COUNTED = (
    "error",
    "sector",
    "defect",
    "uncorrect",
    "fail",
    "devices",
    "criticalwarning",
    "vmid",
    "cores",
    "total_bytes",
)
_UNCOUNTED = "errorlogcount"


def _told(row: object) -> object:
    """What a row says in words, and the counts of what is wrong. Other numbers are metrics, sizes or rates."""
    return _words(msgspec.to_builtins(row))


def _words(value: object, name: str = "") -> object:
    if isinstance(value, Mapping):
        return {key: _words(each, key) for key, each in value.items() if not _is_volatile(key)}
    if isinstance(value, list | tuple):
        return [_words(each, name) for each in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        counted = any(word in name.lower() for word in _COUNTED) and name.lower() != _UNCOUNTED
        return value if counted else None
    return value


def _is_volatile(key: str) -> bool:
    return key in _VOLATILE or key.endswith(_VOLATILE_ENDS)


def _metrics(resources: Iterable[Resource]) -> Iterator[tuple[str, float]]:
    for resource in resources:
        for name, value in _numbers(resource):
            if value is not None:
                yield f"{name} of {resource.name or resource.id} ({resource.id})", value


def _numbers(resource: Resource) -> Iterator[tuple[str, float | None]]:
    for metric, reading in resource.metrics.items():
        yield str(metric), reading.value
    for mount in resource.filesystems or ():
        yield f"disk {mount.mountpoint} ({mount.device})", mount.usage_percent
        yield f"inodes {mount.mountpoint} ({mount.device})", mount.inodes_percent
    if resource.pool is not None:
        yield "usage", resource.pool.usage_percent
    if resource.disk is not None:
        yield "temperature", resource.disk.temperature
        yield "wear", resource.disk.life_used_percent
    for sensor in resource.sensors or ():
        yield f"{sensor.name} {sensor.label}", sensor.celsius
