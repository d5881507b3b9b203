"""What can be limited, what a limit is, and what a detector may ask."""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple, Protocol, runtime_checkable

import msgspec

from findings.model import Look, Severity
from signals.evidence import InventoryRow

_FULL = 100
"""Where a percentage ends. Degrees and hours go on: 110 °C are not above a limit of 110."""


class Limited(StrEnum):
    """What can be limited. The unit of its values stands beside it."""

    CPU = "cpu"  # percent, average over a window
    MEMORY = "memory"  # percent
    DISK = "disk"  # percent of a file system, df's rule
    STORAGE = "storage"  # percent of a pool or datastore
    INODES = "inodes"  # percent
    SWAP = "swap"  # percent
    PRESSURE_CPU = "pressure_cpu"  # percent of time, 300 s average
    PRESSURE_MEMORY = "pressure_memory"
    PRESSURE_IO = "pressure_io"
    TEMPERATURE = "temperature"  # degrees Celsius, a sensor of a host
    DISK_TEMPERATURE = "disk_temperature"  # degrees Celsius
    DISK_WEAR = "disk_wear"  # percent of rated endurance used
    BACKUP_AGE = "backup_age"  # hours since the newest good backup
    SNAPSHOT_AGE = "snapshot_age"  # hours since a snapshot was taken
    SNAPSHOT_SIZE = "snapshot_size"  # GiB that a snapshot holds
    REPLICATION_LAG = "replication_lag"  # hours behind the schedule
    NETWORK_ERRORS = "network_errors"  # percent of the packets of an interface
    NETWORK_USE = "network_use"  # percent of the speed of a link
    NETWORK_IN = "network_in"  # MB/s of an interface
    NETWORK_OUT = "network_out"
    DISK_READ = "disk_read"  # MB/s of a disk
    DISK_WRITE = "disk_write"


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """A limit with hysteresis. `critical` None: this metric has no critical tier here.

    `provenance` names the place it came from, so that an operator can find and change it.
    """

    trigger: float
    clear: float
    provenance: str
    critical: float | None = None
    watch: float | None = None

    def look(self, value: float) -> Look:
        """Present above the trigger (a trigger of 100 is met by 100), clear below `clear`, else held."""
        if value > self.trigger or value == self.trigger == _FULL:
            return Look.PRESENT
        return Look.CLEAR if value < self.clear else Look.HELD

    def look_at_amount(self, value: float) -> Look:
        """The same for what has no 100 % at which it is full: hours, GiB, MB/s. As much as the trigger is not above."""
        if value > self.trigger:
            return Look.PRESENT
        return Look.CLEAR if value < self.clear else Look.HELD

    def severity(self, value: float) -> Severity:
        """How bad a value beyond the trigger is (a critical tier of 100 is met by 100, else it could never be)."""
        if self.critical is None:
            return Severity.WARNING
        met = value > self.critical or value == self.critical == _FULL
        return Severity.CRITICAL if met else Severity.WARNING


class Off(NamedTuple):
    """A check that is switched off, and the place that says so."""

    place: str


class Thresholds(Protocol):
    """What a detector asks. None means that the operator switched this check off for this resource."""

    def limit(self, resource: InventoryRow, metric: Limited, *, disk_type: str = "") -> Limit | None:
        """The limit in force. `disk_type`: nvme | sata | sas | hdd where a per-type table may apply."""
        ...

    def window_seconds(self, resource: InventoryRow, metric: Limited) -> float:
        """Least window that a value of this metric must be the average of; 0 for metrics of the moment."""
        ...

    def offline_expected(self, resource: InventoryRow) -> bool:
        """Whether the operator said that this resource may be away (connectivity checks off)."""
        ...


@runtime_checkable
class KnowsSpecial(Protocol):
    """Thresholds that know which resources have limits of their own: all others of a type share theirs."""

    @property
    def has_special(self) -> bool:
        """Whether there may be any such resource."""
        ...

    def is_special(self, resource: InventoryRow) -> bool:
        """Whether something beside its type may decide the limits of this resource."""
        ...


def special_test(thresholds: Thresholds) -> Callable[[InventoryRow], bool] | None:
    """Tells which resources must be asked for by themselves; None where limits depend on the type alone."""
    if not isinstance(thresholds, KnowsSpecial):
        return _always
    return thresholds.is_special if thresholds.has_special else None


def _always(_resource: InventoryRow) -> bool:
    return True
