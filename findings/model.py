"""The nouns of Patrol: what is looked at, what was seen, and the finding that lasts.

Values are frozen. Instants are aware UTC and end in `_at`; percentages run from 0 to 100.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol

from findings.investigation import (
    DEFAULT_POLICY,
    Autonomy,
    InvestigationOutcome,
    InvestigationPolicy,
    InvestigationStatus,
    Refusal,
    investigation_refusal,
    should_investigate,
)
from findings.silence import QuietReason, Silence, quiet

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
    SNAPSHOTS = "snapshots"
    REPLICATION = "replication"
    CEPH = "ceph"
    NETWORK = "network"
    DISK_IO = "disk_io"
    CONFIG = "config"
    FINDINGS = "findings"  # what Patrol itself recorded in earlier runs: no source reads it


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
    OUTDATED = "outdated"  # what could be read is older than it may be
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


VERDICT_FAILED = "verdict_failed"
"""Fact of a disk: 1 where its own verdict is FAILED, 0 where it is PASSED; absent where it gave none."""


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


class Verdict(StrEnum):
    """What was said about a known finding in one run: its look, at the edge of the tools."""

    PRESENT = "present"
    RESOLVED = "resolved"
    UNCERTAIN = "uncertain"  # nobody could say


class FindingState(StrEnum):
    """Whether the issue is there. Quiet (snoozed, dismissed, suppressed) is asked separately: see `Finding`."""

    OPEN = "open"
    RESOLVED = "resolved"


class DismissedReason(StrEnum):
    """Why an operator does not want to hear of a finding."""

    NOT_AN_ISSUE = "not_an_issue"
    EXPECTED_BEHAVIOR = "expected_behavior"
    WILL_FIX_LATER = "will_fix_later"


class ResolveReason(StrEnum):
    """Why a finding was closed."""

    CLEARED = "cleared"  # looked at again, completely, and found gone
    LIMIT_CHANGED = "limit_changed"  # the value is inside the limit that is in force now
    CHECK_OFF = "check_off"  # an operator switched the check off
    RESOURCE_REMOVED = "resource_removed"  # the resource does not exist any more
    FIX_VERIFIED = "fix_verified"  # a governed fix was verified
    EXPIRED_CLAIM = "expired_claim"  # a model's report that nothing and nobody confirmed
    OPERATOR = "operator"


class TransitionReason(StrEnum):
    """Why a finding changed. Being seen again unchanged is not a change."""

    FILED = "filed"  # seen for the first time
    REGRESSED = "regressed"  # was resolved, and is back
    WOKEN = "woken"  # was silenced, and got worse
    RAISED = "raised"  # a higher severity
    GREW = "grew"  # same severity, but a counter behind it went up
    RESOLVED = "resolved"
    REMINDED = "reminded"  # was dismissed to be fixed later, and later is now
    UNITED = "united"  # two ids turned out to be one resource: it moved there, or took in its twin with its history
    ACKNOWLEDGED = "acknowledged"  # from here on: an operator's word
    SNOOZED = "snoozed"
    DISMISSED = "dismissed"
    SUPPRESSED = "suppressed"
    NOTED = "noted"
    UNACKNOWLEDGED = "unacknowledged"
    UNSNOOZED = "unsnoozed"
    UNDISMISSED = "undismissed"
    UNSUPPRESSED = "unsuppressed"
    UNNOTED = "unnoted"  # the note before it is back
    REOPENED = "reopened"  # an operator had resolved it, and takes that back


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One change of a finding. `version`: of the finding after it, so that each version has at most one.

    `old_state` and `old_severity` are None for a new finding; `resolve_reason` is set where it was closed, and
    stays here when the issue comes back. `old_quiet` and `new_quiet`: whether an operator wanted this very finding
    quiet before and after. A change by an operator has no `run_id` but an `author`, and what he said: `note`,
    `until` (the end of a snooze, the day of a reminder), `dismissed_reason`.
    """

    finding_id: str
    version: int
    run_id: str
    old_state: FindingState | None
    new_state: FindingState
    reason: TransitionReason
    resolve_reason: ResolveReason | None = None
    old_severity: Severity | None
    new_severity: Severity
    at: datetime
    old_quiet: QuietReason | None = None
    new_quiet: QuietReason | None = None
    author: str = ""
    note: str = ""
    until: datetime | None = None
    dismissed_reason: DismissedReason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The lasting record of one issue: a kind of trouble, on a resource, on a subject of it.

    Invariants (kept by `findings.lifecycle.advance`): `first_seen_at` <= `last_seen_at`; `resolved_at` and
    `resolve_reason` are set exactly while it is resolved; the severity never drops while it is open; each
    stored change has its own `version`, and storing is compare-and-swap on it.

    `id` is minted once and stays; `key` is `findings.identity.finding_key` and follows the resource if two
    ids turn out to be one. `value` and `limit` carry the unit of the kind. `facts` are the named counts last
    seen, `acknowledged_facts` those an operator acknowledged. `times_raised` counts the runs that saw it,
    `raise_count` how often it got worse while open, `clear_streak` its clear looks in a row.
    `parent_finding`: id of the open finding on the node, host or source that explains this one, or "".
    `lives_on`: ids of what its resource lives on or in, nearest first, as last seen. `confirmed_at`: when a second
    run said what only a model holds; `unconfirmed_runs`: how many did not say it again (`findings.claims`).

    Of snoozed, dismissed and suppressed at most one holds, said `silenced_at` by `silenced_by`; what was
    dismissed with `will_fix_later` has a `remind_at`, and `remind_count` counts how often that day came.
    """

    org_id: str
    id: str
    key: str
    resource_id: ResourceId
    resource_name: str
    resource_type: str
    kind: str
    subject: str = ""
    category: Category
    severity: Severity
    basis: Basis = Basis.DETECTOR
    state: FindingState = FindingState.OPEN
    title: str
    summary: str
    evidence: str = ""
    value: float | None = None
    limit: float | None = None
    limit_source: str = ""
    facts: Mapping[str, float] = field(default_factory=dict)
    tool_call_id: str = ""
    first_seen_at: datetime
    last_seen_at: datetime
    resolved_at: datetime | None = None
    resolve_reason: ResolveReason | None = None
    times_raised: int = 1
    raise_count: int = 0
    regression_count: int = 0
    last_regression_at: datetime | None = None
    clear_streak: int = 0
    last_run_id: str = ""
    version: int = 1
    acknowledged_at: datetime | None = None
    acknowledged_facts: Mapping[str, float] = field(default_factory=dict)
    snoozed_until: datetime | None = None
    dismissed_reason: DismissedReason | None = None
    suppressed: bool = False
    investigation_status: InvestigationStatus | None = None
    investigation_outcome: InvestigationOutcome | None = None
    investigation_attempts: int = 0
    last_investigated_at: datetime | None = None
    parent_finding: str = ""
    lives_on: tuple[ResourceId, ...] = ()
    acknowledged_by: str = ""
    silenced_at: datetime | None = None
    silenced_by: str = ""
    silence_note: str = ""
    remind_at: datetime | None = None
    remind_count: int = 0
    user_note: str = ""
    confirmed_at: datetime | None = None
    unconfirmed_runs: int = 0

    @property
    def is_open(self) -> bool:
        """Whether the issue is there, silenced or not."""
        return self.state is FindingState.OPEN

    @property
    def is_serious(self) -> bool:
        """Whether it is a warning or worse: what counts against a healthy estate, and may be escalated."""
        return self.severity.rank >= Severity.WARNING.rank

    @property
    def is_dismissed(self) -> bool:
        """Whether an operator dismissed it; a reminder may be due all the same."""
        return self.dismissed_reason is not None

    @property
    def is_unconfirmed(self) -> bool:
        """Whether one run of a model alone says so: no detector, no second run, no operator who acknowledged it."""
        return self.basis is Basis.MODEL and self.confirmed_at is None and self.acknowledged_at is None

    @property
    def damage_acknowledged(self) -> bool:
        """Whether an operator knows of all that is wrong, which is damage that can only be counted.

        Such counters never go back: one old error would be news for ever. A disk that itself says FAILED stays news.
        """
        return bool(self.acknowledged_facts) and not self.facts.get(VERDICT_FAILED)

    def is_silenced(self, now: datetime, silences: Iterable[Silence] = ()) -> bool:
        """Whether somebody asked for quiet: about this finding, or by one of the silences (`findings.silence`)."""
        return quiet(self, silences, now) is not None

    def is_active(self, now: datetime, silences: Iterable[Silence] = ()) -> bool:
        """Whether it is open and nobody asked for quiet."""
        return self.is_open and not self.is_silenced(now, silences)

    def should_investigate(
        self,
        autonomy: Autonomy,
        now: datetime,
        policy: InvestigationPolicy = DEFAULT_POLICY,
        *,
        silences: Iterable[Silence] = (),
    ) -> bool:
        """Whether Patrol may look into it by itself; `investigation_refusal` gives the reason why not."""
        return should_investigate(self, autonomy, now, policy, silences=silences)

    def investigation_refusal(
        self,
        autonomy: Autonomy,
        now: datetime,
        policy: InvestigationPolicy = DEFAULT_POLICY,
        *,
        operator_request: bool = False,
        silences: Iterable[Silence] = (),
    ) -> Refusal | None:
        """The first reason against an investigation (see `findings.investigation`), or None."""
        return investigation_refusal(self, autonomy, now, policy, operator_request=operator_request, silences=silences)
