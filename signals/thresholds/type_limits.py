"""The limit of a type of resource: its defaults object, and the tables by type of disk."""

from typing import NamedTuple

from signals.alert_settings import AlertSettings
from signals.alert_settings.threshold import Threshold
from signals.thresholds.families import STORAGE, TRUENAS_DISK, Family
from signals.thresholds.limit import Limited

_STANDS_IN = {"hdd": "sata", "ssd": "sata"}
"""Which entry of a table speaks for a type of disk that has none: both words mean a SATA disk in practice."""


class TypeLimit(NamedTuple):
    """A threshold, its place in the file, and whether the file itself has it (else: the format's default)."""

    threshold: Threshold
    place: str
    is_written: bool


def default_of(settings: AlertSettings, family: Family, metric: Limited) -> TypeLimit | None:
    """What the defaults objects say; None for metrics that the format has no word for."""
    for section, key in _default_places(family, metric):
        value = settings.section_or_value(section)
        threshold = getattr(value, key, None) if key else value
        if isinstance(threshold, Threshold):
            return TypeLimit(threshold, settings.place(section, key), settings.is_written(section, key))
    return None


def table_row(settings: AlertSettings, family: Family, metric: Limited, disk_type: str) -> TypeLimit | None:
    """What the table by type of disk says: for file systems of hosts, and for temperatures of disks in hosts."""
    if not family.on_disks or not disk_type:
        return None
    if metric is Limited.DISK:
        name, find = "disk_fill_by_type", settings.disk_fill_by_type.find
    elif metric is Limited.DISK_TEMPERATURE:
        name, find = "disk_temp_by_type", settings.disk_temp_by_type.find
    else:
        return None
    for key in (disk_type, _STANDS_IN.get(disk_type, "")):
        threshold = find(key)
        if threshold is not None:
            is_written = settings.is_written(name, key)
            return TypeLimit(threshold, f"{settings.place(name)}.{key}", is_written)
    return None


def _default_places(family: Family, metric: Limited) -> tuple[tuple[str, str], ...]:
    """(section, key) pairs whose first value is the limit of the type; none where the format has no word for it."""
    nodes = ("node_defaults", metric.value)
    match metric:
        case Limited.CPU | Limited.MEMORY | Limited.TEMPERATURE:
            return ((family.defaults, metric.value), nodes)
        case Limited.DISK:
            return (("storage_default", ""),) if family is STORAGE else ((family.defaults, "disk"), nodes)
        case Limited.STORAGE:
            return ((family.defaults, "usage"), ("storage_default", ""))
        case Limited.DISK_TEMPERATURE:
            by_agents = ("agent_defaults", "disk_temperature")
            return (("truenas_disk_defaults", "temperature"), by_agents) if family is TRUENAS_DISK else (by_agents,)
        case Limited.NETWORK_IN | Limited.NETWORK_OUT | Limited.DISK_READ | Limited.DISK_WRITE:
            return ((family.defaults, metric.value),)
        case _:
            return ()
