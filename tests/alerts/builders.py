"""Alerts and remembered resources for tests."""

from datetime import UTC, datetime
from typing import Any

from findings.model import Severity
from patrol.alerts.model import AlertSystem, Naming, ReportedAlert
from patrol.estate.memory.model import Alias, Memory, Presence, Remembered, RemovedBy, Strength

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ORG = "default"


def remembered(resource_id: str, name: str = "", *, parent: str = "", removed: bool = False) -> Remembered:
    return Remembered(
        id=resource_id,
        type=resource_id.partition(":")[0],
        name=name,
        source="lab",
        parent=parent,
        first_seen_at=NOW,
        last_seen_at=NOW,
        presence=Presence.REMOVED if removed else Presence.PRESENT,
        removed_at=NOW if removed else None,
        removed_by=RemovedBy.OPERATOR if removed else None,
    )


def alias(text: str, resource_id: str) -> Alias:
    return Alias(
        alias=text,
        resource_id=resource_id,
        source="lab",
        strength=Strength.WEAK,
        first_seen_at=NOW,
        last_seen_at=NOW,
    )


RESOURCES = (
    remembered("node:lab:pve1", "pve1"),
    remembered("node:lab:pve2", "pve2"),
    remembered("vm:lab:100", "web", parent="node:lab:pve1"),
    remembered("vm:lab:101", "db", parent="node:lab:pve1"),
    remembered("vm:lab:200", "web", parent="node:lab:pve2"),
    remembered("storage:lab:nas", "nas", parent="node:lab:pve1"),
    remembered("vm:lab:666", "gone", parent="node:lab:pve1", removed=True),
)
ALIASES = (alias("qemu/101", "vm:lab:101"), alias("lab/101", "vm:lab:101"))
MEMORY = Memory(RESOURCES, ALIASES)


def reported(*, firing: bool = True, key: str = "fp1", **more: Any) -> ReportedAlert:
    values: dict[str, Any] = {
        "type": "HighCpu",
        "severity": Severity.WARNING,
        "level": "warning",
        "naming": Naming(names=("db",)),
        "resource_name": "db",
        "message": "CPU is high",
        "starts_at": NOW,
        **more,
    }
    return ReportedAlert(system=AlertSystem.ALERTMANAGER, key=key, is_firing=firing, **values)
