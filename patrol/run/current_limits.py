"""What the settings say today about the condition of an open finding: needed where nothing was observed."""

from findings.kinds import Kind
from findings.lifecycle import LimitNow
from findings.model import Finding
from patrol.estate.model import Estate
from signals.evidence import InventoryRow
from signals.inventory import Inventory
from signals.smart import OWN_LIMIT
from signals.thresholds import Limited, Thresholds

_LIMITED = {
    Kind.HIGH_CPU: Limited.CPU,
    Kind.HIGH_MEMORY: Limited.MEMORY,
    Kind.HIGH_DISK: Limited.DISK,
    Kind.HIGH_INODES: Limited.INODES,
    Kind.HIGH_SWAP: Limited.SWAP,
    Kind.HIGH_TEMPERATURE: Limited.TEMPERATURE,
    Kind.DISK_WEAR: Limited.DISK_WEAR,
    Kind.BACKUP_STALE: Limited.BACKUP_AGE,
    Kind.SNAPSHOT_OLD: Limited.SNAPSHOT_AGE,
    Kind.SNAPSHOT_LARGE: Limited.SNAPSHOT_SIZE,
    Kind.NETWORK_ERRORS: Limited.NETWORK_ERRORS,
}
_ANY_OF = {
    Kind.HIGH_NETWORK: (Limited.NETWORK_USE, Limited.NETWORK_IN, Limited.NETWORK_OUT),
    Kind.HIGH_DISK_IO: (Limited.DISK_READ, Limited.DISK_WRITE),
}
"""Kinds with several limits, each for a subject or part of one: they are off when all of them are."""
_OF_THE_SUBJECT = {
    (Kind.HIGH_PRESSURE, "cpu"): Limited.PRESSURE_CPU,
    (Kind.HIGH_PRESSURE, "memory"): Limited.PRESSURE_MEMORY,
    (Kind.HIGH_PRESSURE, "io"): Limited.PRESSURE_IO,
}
_SAME_FOR_ALL_SUBJECTS = frozenset(
    {Limited.SNAPSHOT_AGE, Limited.SNAPSHOT_SIZE, Limited.NETWORK_ERRORS, *_OF_THE_SUBJECT.values()}
)
_CONNECTIVITY = frozenset({Kind.GUEST_UNREACHABLE, Kind.NODE_OFFLINE})
_OF_THE_TYPE = {
    (Kind.HIGH_DISK, "storage"): Limited.STORAGE,
    (Kind.HIGH_TEMPERATURE, "disk"): Limited.DISK_TEMPERATURE,
}


def metric_of(finding: Finding) -> Limited | None:
    """What the value of a finding is limited by; None for kinds that have no limit of their own."""
    kind = Kind(finding.kind) if finding.kind in _KIND_WORDS else None
    if kind is None:
        return None
    own = _OF_THE_TYPE.get((kind, finding.resource_type)) or _OF_THE_SUBJECT.get((kind, finding.subject))
    return own or _LIMITED.get(kind)


class CurrentLimits:
    """Asked once for each open finding that this run did not observe."""

    def __init__(self, thresholds: Thresholds, inventory: Inventory, estate: Estate) -> None:
        self._thresholds = thresholds
        self._inventory = inventory
        self._disk_types = {
            (resource.id, mount.mountpoint or ""): mount.disk_type
            for resource in estate.resources
            for mount in resource.filesystems or ()
        }

    def __call__(self, finding: Finding) -> LimitNow:
        """Whether the check is switched off, and the trigger in force; no limit where this kind has none."""
        row = self._inventory.rows.get(finding.resource_id) or InventoryRow(
            id=finding.resource_id, type=finding.resource_type, name=finding.resource_name
        )
        if finding.kind in _CONNECTIVITY:
            return LimitNow(switched_off=self._thresholds.offline_expected(row))
        if finding.kind in _ANY_OF:
            off = all(self._thresholds.limit(row, metric) is None for metric in _ANY_OF[Kind(finding.kind)])
            return LimitNow(switched_off=off)
        metric = metric_of(finding)
        if metric is None:
            return LimitNow()
        disk_type = self._disk_types.get((finding.resource_id, finding.subject), "")
        limit = self._thresholds.limit(row, metric, disk_type=disk_type)
        if limit is None:
            return LimitNow(switched_off=True)
        if finding.limit_source == OWN_LIMIT:
            return LimitNow()  # no setting: it is no other one now than it was
        known_place = (
            not finding.subject
            or metric in _SAME_FOR_ALL_SUBJECTS
            or (finding.resource_id, finding.subject) in self._disk_types
        )
        return LimitNow(limit=limit.trigger if known_place else None)


_KIND_WORDS = frozenset(Kind)
