"""Whether a finding deserves an investigation, and if not, the first reason why. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol

from findings.silence import Silence


class Autonomy(StrEnum):
    """How far Patrol may go by itself."""

    MONITOR = "monitor"  # look and file; nothing is investigated unless an operator asks
    APPROVAL = "approval"  # investigate; every change waits for an approval
    ASSISTED = "assisted"  # investigate; changes of low risk need no approval
    FULL = "full"  # investigate and change within policy


class InvestigationStatus(StrEnum):
    """Where an investigation stands."""

    PENDING = "pending"  # queued; asked again when it starts
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    NEEDS_ATTENTION = "needs_attention"  # a person has to decide


class InvestigationOutcome(StrEnum):
    """How the last investigation ended."""

    RESOLVED = "resolved"
    FIX_QUEUED = "fix_queued"  # a fix waits for its approval
    FIX_EXECUTED = "fix_executed"  # done, not yet verified
    FIX_FAILED = "fix_failed"
    FIX_REJECTED = "fix_rejected"  # an operator said no
    FIX_VERIFIED = "fix_verified"
    FIX_VERIFICATION_FAILED = "fix_verification_failed"  # the condition is still there
    FIX_VERIFICATION_UNKNOWN = "fix_verification_unknown"  # it could not be seen whether it is
    NEEDS_ATTENTION = "needs_attention"
    CANNOT_FIX = "cannot_fix"
    TIMED_OUT = "timed_out"
    UNKNOWN = "unknown"  # stored by another version of Patrol under a word unknown to this one


class Refusal(StrEnum):
    """Why no investigation starts. Of several reasons the first in this order is given."""

    MONITOR_ONLY = "monitor_only"  # the autonomy is `monitor`, or no known word
    RESOLVED = "resolved"  # the finding is closed
    SILENCED = "silenced"  # somebody asked for quiet about it
    OUTCOME_FINAL = "outcome_final"  # the last outcome leaves nothing to look into, or waits for a person
    LOW_SEVERITY = "low_severity"  # info and watch are filed, never escalated
    RUNNING = "running"  # one is under way
    ATTEMPTS_USED = "attempts_used"
    COOLING_DOWN = "cooling_down"
    NO_MODEL = "no_model"  # none is configured; said by the caller, who knows


_ESCALATING = frozenset({Autonomy.APPROVAL, Autonomy.ASSISTED, Autonomy.FULL})

_RETRIED = frozenset(
    {
        InvestigationOutcome.FIX_EXECUTED,
        InvestigationOutcome.FIX_FAILED,
        InvestigationOutcome.FIX_VERIFICATION_FAILED,
        InvestigationOutcome.TIMED_OUT,
    }
)
"""Outcomes after which looking again can help. Any other, also one not known here, is final."""


_COOL_DOWN_AFTER: Mapping[InvestigationOutcome, timedelta] = MappingProxyType(
    {
        InvestigationOutcome.TIMED_OUT: timedelta(minutes=10),
        InvestigationOutcome.FIX_FAILED: timedelta(minutes=20),
        InvestigationOutcome.FIX_VERIFICATION_FAILED: timedelta(minutes=20),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InvestigationPolicy:
    """How often a finding may be looked into.

    `cool_down` counts from the start of the last investigation; `cool_down_after` has the outcomes with a
    time of their own: a time-out is retried soon, a failed fix gets time to settle.
    """

    max_attempts: int = 3
    cool_down: timedelta = timedelta(hours=1)
    cool_down_after: Mapping[InvestigationOutcome, timedelta] = field(default_factory=lambda: _COOL_DOWN_AFTER)


DEFAULT_POLICY = InvestigationPolicy()


class Investigable(Protocol):
    """What is asked of a finding."""

    @property
    def is_open(self) -> bool: ...

    @property
    def is_serious(self) -> bool:
        """Whether it is a warning or worse."""
        ...

    def is_silenced(self, now: datetime, silences: Iterable[Silence] = ()) -> bool:
        """Whether somebody asked for quiet about it."""
        ...

    @property
    def investigation_status(self) -> InvestigationStatus | None: ...

    @property
    def investigation_outcome(self) -> InvestigationOutcome | None: ...

    @property
    def investigation_attempts(self) -> int: ...

    @property
    def last_investigated_at(self) -> datetime | None: ...


def should_investigate(
    finding: Investigable,
    autonomy: Autonomy,
    now: datetime,
    policy: InvestigationPolicy = DEFAULT_POLICY,
    *,
    silences: Iterable[Silence] = (),
) -> bool:
    """Whether Patrol may look into the finding by itself. `silences`: those in force (`findings.silence`)."""
    return investigation_refusal(finding, autonomy, now, policy, silences=silences) is None


def investigation_refusal(
    finding: Investigable,
    autonomy: Autonomy,
    now: datetime,
    policy: InvestigationPolicy = DEFAULT_POLICY,
    *,
    operator_request: bool = False,
    silences: Iterable[Silence] = (),
) -> Refusal | None:
    """The first reason against an investigation, or None.

    An operator's request is not bound by autonomy, severity and cool-down. Everything else holds for it too:
    a second investigation beside a running one would act on the same resource.
    """
    if not operator_request and autonomy not in _ESCALATING:
        return Refusal.MONITOR_ONLY
    if not finding.is_open:
        return Refusal.RESOLVED
    if finding.is_silenced(now, silences):
        return Refusal.SILENCED
    if finding.investigation_outcome is not None and finding.investigation_outcome not in _RETRIED:
        return Refusal.OUTCOME_FINAL
    if not operator_request and not finding.is_serious:
        return Refusal.LOW_SEVERITY
    return _refusal_by_history(finding, now, policy, operator_request=operator_request)


def _refusal_by_history(
    finding: Investigable, now: datetime, policy: InvestigationPolicy, *, operator_request: bool
) -> Refusal | None:
    if finding.investigation_status == InvestigationStatus.RUNNING:
        return Refusal.RUNNING
    if finding.investigation_attempts >= policy.max_attempts:
        return Refusal.ATTEMPTS_USED
    if not operator_request and finding.last_investigated_at is not None:
        cool_down = policy.cool_down
        if finding.investigation_outcome is not None:
            cool_down = policy.cool_down_after.get(finding.investigation_outcome, cool_down)
        # A start in the future (the clock was set back since) must not block for longer than the cool-down.
        if abs(now - finding.last_investigated_at) < cool_down:
            return Refusal.COOLING_DOWN
    return None
