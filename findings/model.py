"""The nouns of Patrol: what is looked at, what was seen, and the finding that lasts.

Values are frozen. Instants are aware UTC and end in `_at`; percentages run from 0 to 100.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol

ResourceId = str
"""Canonical id `<type>:<origin>:<native>` (see `findings.identity`), or a foreign id not yet resolved."""

DEFAULT_ORG = "default"


class Severity(StrEnum):
    """How much a finding matters. Ordered by `rank`."""

    INFO = "info"
    WATCH = "watch"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """0 (info) to 3 (critical)."""
        return _SEVERITY_RANK[self]


_SEVERITY_RANK = {severity: rank for rank, severity in enumerate(Severity)}


class Category(StrEnum):
    """What part of running a service suffers."""

    PERFORMANCE = "performance"
    CAPACITY = "capacity"
    RELIABILITY = "reliability"
    BACKUP = "backup"
    SECURITY = "security"
    GENERAL = "general"


class Look(StrEnum):
    """The answer of one look at one condition."""

    PRESENT = "present"  # measured, and beyond the trigger
    HELD = "held"  # between clear and trigger: keeps an open finding open, opens none
    CLEAR = "clear"  # measured completely, and fine: the only look that closes anything
    BLIND = "blind"  # could not be seen: files nothing and closes nothing


class Topic(StrEnum):
    """What a source reads, as one unit that can fail on its own."""

    INVENTORY = "inventory"
    CPU = "cpu"
    MEMORY = "memory"
    SWAP = "swap"
    PRESSURE = "pressure"
    FILESYSTEMS = "filesystems"
    SMART = "smart"
    POOLS = "pools"
    RAID = "raid"
    BTRFS = "btrfs"
    UNITS = "units"
    TEMPERATURES = "temperatures"
    BACKUPS = "backups"
    BACKUP_TASKS = "backup_tasks"
    REACHABILITY = "reachability"
    ALERTS = "alerts"


class GapReason(StrEnum):
    """Why something could not be read."""

    NO_PERMISSION = "no_permission"  # the reading needs a right that this process lacks
    TOOL_MISSING = "tool_missing"  # the program that reads it is not installed
    TIMED_OUT = "timed_out"
    FAILED = "failed"  # the read was tried and ended in an error
    UNREADABLE = "unreadable"  # an answer came that could not be understood, or not wholly
    ASLEEP = "asleep"  # a disk in standby was left asleep on purpose
    NO_HISTORY = "no_history"  # a rate needs two samples, far enough apart
    NOT_REPORTED = "not_reported"  # the device or guest does not offer this reading
    UNREACHABLE = "unreachable"  # the source itself did not answer
    TOO_LARGE = "too_large"  # the answer was cut at its bound
    CLOCK = "clock"  # a time lies in the future or cannot be placed


class Sight(StrEnum):
    """Whether a gap is a loss or the way things are."""

    LOST = "lost"  # was read before, or is a whole configured source: makes a run incomplete
    STANDING = "standing"  # was never readable here, or is accepted: counted and listed only


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Something that could not be read, why, and what would mend it.

    `resource_id` None: the whole topic of the source. `subject`: one mount, unit or device of the
    resource. `fix` is a command or setting that an operator can use as it stands, "" if there is none.
    """

    source: str
    topic: Topic
    reason: GapReason
    detail: str
    resource_id: ResourceId | None = None
    subject: str = ""
    fix: str = ""
    sight: Sight = Sight.STANDING


class Basis(StrEnum):
    """Who holds that a finding is true."""

    DETECTOR = "detector"
    OPERATOR = "operator"
    MODEL = "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One statement that something is wrong, as it enters the findings.

    `subject` names the mount, unit, device or job on the resource ("" for the resource itself).
    `value` and `limit` carry the unit of their kind (percent, hours, degrees Celsius, a count); None
    where there is no number. `facts` holds named counts (a disk's counters) whose growth matters.
    """

    resource_id: ResourceId
    resource_name: str
    resource_type: str
    kind: str
    severity: Severity
    category: Category
    summary: str
    subject: str = ""
    value: float | None = None
    limit: float | None = None
    limit_source: str = ""
    evidence: str = ""
    tool_call_id: str = ""
    basis: Basis = Basis.DETECTOR
    facts: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))


class Examination(Protocol):
    """What a run looked at: asked once for each open finding."""

    def look(self, kind: str, resource_id: ResourceId, subject: str) -> Look | None:
        """The answer for one condition, or None if it was not examined at all."""
        ...
