"""The limits in force, in one line. Pure."""

from collections.abc import Iterable

from signals.evidence import InventoryRow
from signals.thresholds import Limit, Limited, Thresholds

_UNITS = {Limited.BACKUP_AGE: " h", Limited.DISK_TEMPERATURE: " °C"}
_TYPES = {
    Limited.CPU: ("node", "agent", "docker-host", "vm", "system-container", "app-container"),
    Limited.MEMORY: ("node", "agent", "docker-host", "vm", "system-container", "app-container"),
    Limited.DISK: ("node", "agent", "docker-host", "vm", "system-container"),
    Limited.STORAGE: ("storage",),
    Limited.BACKUP_AGE: ("vm", "system-container"),
    Limited.DISK_TEMPERATURE: ("disk",),
    Limited.DISK_WEAR: ("disk",),
}


def limits_line(thresholds: Thresholds, types: Iterable[str]) -> str:
    """The limits of the types that there are: warning, and after a slash critical, where there is such a tier.

    Single resources may have limits of their own; findings and tools say so where it matters.
    """
    present = frozenset(types)
    told = []
    for limited, wanted in _TYPES.items():
        by_limit: dict[str, list[str]] = {}
        for each in wanted:
            if each in present:
                limit = thresholds.limit(InventoryRow(id="", type=each), limited)
                by_limit.setdefault(_told(limit, _UNITS.get(limited, " %")), []).append(each)
        if len(by_limit) == 1:
            told.append(f"{limited} {next(iter(by_limit))}")
        elif by_limit:
            told.append(f"{limited} " + ", ".join(f"{limit} ({' '.join(kinds)})" for limit, kinds in by_limit.items()))
    return "; ".join(told)


def _told(limit: Limit | None, unit: str) -> str:
    if limit is None:
        return "off"
    critical = f"/{limit.critical:g}" if limit.critical is not None else ""
    return f"{limit.trigger:g}{critical}{unit}"
