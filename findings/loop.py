"""How far a finding is on its way out of the world, in one word, and what its last fix was. Pure.

The word is never stored: it follows from the finding, from who asked for quiet, and from the time. So it can neither
lag behind nor contradict what it is derived from; `MOVES` and `AFTER_OUTCOME` say what may follow what.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from findings.investigation import InvestigationOutcome, InvestigationStatus
from findings.model import Finding, FindingState, ResolveReason, Transition, TransitionReason
from findings.silence import Quiet, QuietReason


class LoopState(StrEnum):
    """Where a finding stands. Of several the first in this order holds, `detected` where none does."""

    RESOLVED = "resolved"  # exactly while the finding is resolved, whatever an investigation said
    SUPPRESSED = "suppressed"  # nobody wants to hear of it, without an end: by itself, by a rule, off on purpose
    SNOOZED = "snoozed"  # nobody wants to hear of it until a time: also a maintenance window
    DISMISSED = "dismissed"  # nobody wants to hear of it unless it gets worse
    INVESTIGATING = "investigating"
    NEEDS_ATTENTION = "needs_attention"  # a person has to decide
    REMEDIATION_PLANNED = "remediation_planned"  # a fix waits for its approval
    REMEDIATING = "remediating"  # a fix was made; a run has yet to see the trouble gone
    REMEDIATION_FAILED = "remediation_failed"
    TIMED_OUT = "timed_out"  # the investigation was; it is tried again
    DETECTED = "detected"


QUIET_STATES = frozenset({LoopState.SUPPRESSED, LoopState.SNOOZED, LoopState.DISMISSED})

_BY_QUIET: Mapping[QuietReason, LoopState] = MappingProxyType(
    {
        QuietReason.SUPPRESSED: LoopState.SUPPRESSED,
        QuietReason.RULE: LoopState.SUPPRESSED,
        QuietReason.OFFLINE: LoopState.SUPPRESSED,
        QuietReason.MAINTENANCE: LoopState.SNOOZED,
        QuietReason.SNOOZED: LoopState.SNOOZED,
        QuietReason.DISMISSED: LoopState.DISMISSED,
    }
)
"""Acknowledged damage is not among them: somebody knows of it, and it is still to be mended."""

_BY_OUTCOME: Mapping[InvestigationOutcome, LoopState] = MappingProxyType(
    {
        # The finding is open: only a look that finds it gone closes it, not the word of an investigation.
        InvestigationOutcome.RESOLVED: LoopState.DETECTED,
        InvestigationOutcome.FIX_QUEUED: LoopState.REMEDIATION_PLANNED,
        InvestigationOutcome.FIX_EXECUTED: LoopState.REMEDIATING,
        InvestigationOutcome.FIX_VERIFIED: LoopState.REMEDIATING,
        InvestigationOutcome.FIX_FAILED: LoopState.REMEDIATION_FAILED,
        InvestigationOutcome.FIX_VERIFICATION_FAILED: LoopState.REMEDIATION_FAILED,
        InvestigationOutcome.FIX_REJECTED: LoopState.NEEDS_ATTENTION,
        InvestigationOutcome.FIX_VERIFICATION_UNKNOWN: LoopState.NEEDS_ATTENTION,
        InvestigationOutcome.NEEDS_ATTENTION: LoopState.NEEDS_ATTENTION,
        InvestigationOutcome.CANNOT_FIX: LoopState.NEEDS_ATTENTION,
        InvestigationOutcome.TIMED_OUT: LoopState.TIMED_OUT,
        InvestigationOutcome.UNKNOWN: LoopState.NEEDS_ATTENTION,  # final for us, so a person has to look
    }
)


def loop_state(finding: Finding, quiet: Quiet | None, now: datetime) -> LoopState:
    """Where the finding stands. `quiet`: why nobody is told of it (`findings.silence.quiet`), if so.

    What an investigation came to shows again as soon as nobody asks for quiet any more.
    """
    if finding.state is FindingState.RESOLVED:
        return LoopState.RESOLVED
    if quiet is not None and (quiet.until is None or quiet.until > now) and quiet.reason in _BY_QUIET:
        return _BY_QUIET[quiet.reason]
    if finding.investigation_status is InvestigationStatus.RUNNING:
        return LoopState.INVESTIGATING
    if finding.investigation_status is InvestigationStatus.NEEDS_ATTENTION:
        return LoopState.NEEDS_ATTENTION
    outcome = finding.investigation_outcome
    return _BY_OUTCOME[outcome] if outcome is not None else LoopState.DETECTED


_ANYTHING = frozenset(LoopState)
_ASIDE = QUIET_STATES | {LoopState.RESOLVED}
"""Where an operator or a clear look can take a finding from anywhere."""

MOVES: Mapping[LoopState, frozenset[LoopState]] = MappingProxyType(
    {
        LoopState.DETECTED: _ASIDE | {LoopState.DETECTED, LoopState.INVESTIGATING},
        LoopState.INVESTIGATING: _ANYTHING,
        LoopState.NEEDS_ATTENTION: _ASIDE
        | {
            LoopState.NEEDS_ATTENTION,
            LoopState.DETECTED,  # a person asked for another investigation, and it is queued
            LoopState.TIMED_OUT,  # the same, where the last one was
            LoopState.INVESTIGATING,
            LoopState.REMEDIATING,  # a fix of which nobody knew whether it helped was verified after all
            LoopState.REMEDIATION_FAILED,  # or it turned out that it did not
        },
        LoopState.REMEDIATION_PLANNED: _ASIDE
        | {
            LoopState.REMEDIATION_PLANNED,
            LoopState.REMEDIATING,
            LoopState.REMEDIATION_FAILED,
            LoopState.NEEDS_ATTENTION,
        },
        LoopState.REMEDIATING: _ASIDE
        | {
            LoopState.REMEDIATING,
            LoopState.REMEDIATION_FAILED,
            LoopState.NEEDS_ATTENTION,
            LoopState.INVESTIGATING,
        },
        LoopState.REMEDIATION_FAILED: _ASIDE | {LoopState.REMEDIATION_FAILED, LoopState.INVESTIGATING},
        LoopState.TIMED_OUT: _ASIDE | {LoopState.TIMED_OUT, LoopState.INVESTIGATING},
        # What was hidden under the quiet, or under an operator's resolution that is taken back, shows again.
        **dict.fromkeys(_ASIDE, _ANYTHING),
    }
)
"""What may follow each state, itself included. Every change by a run, an operator or an investigation is among them."""

_VERIFICATIONS = frozenset(
    {
        InvestigationOutcome.FIX_VERIFIED,
        InvestigationOutcome.FIX_VERIFICATION_FAILED,
        InvestigationOutcome.FIX_VERIFICATION_UNKNOWN,
    }
)

AFTER_OUTCOME: Mapping[InvestigationOutcome, frozenset[InvestigationOutcome]] = MappingProxyType(
    {
        InvestigationOutcome.FIX_QUEUED: frozenset(
            {
                InvestigationOutcome.FIX_EXECUTED,
                InvestigationOutcome.FIX_FAILED,
                InvestigationOutcome.FIX_REJECTED,
            }
        ),
        InvestigationOutcome.FIX_EXECUTED: _VERIFICATIONS,
        InvestigationOutcome.FIX_VERIFICATION_UNKNOWN: _VERIFICATIONS,
    }
)
"""What an outcome can become without another investigation. Any other stays until one begins."""


def may_follow(before: LoopState, after: LoopState) -> bool:
    """Whether a finding in one state can be the next thing seen in the other."""
    return after in MOVES[before]


_FIXES: Mapping[ResolveReason, str] = MappingProxyType(
    {
        ResolveReason.CLEARED: "it went away without a fix that Patrol knows of",
        ResolveReason.LIMIT_CHANGED: "the limit was changed",
        ResolveReason.CHECK_OFF: "the check was switched off",
        ResolveReason.RESOURCE_REMOVED: "the resource was removed",
        ResolveReason.FIX_VERIFIED: "a fix was made and verified",
        ResolveReason.EXPIRED_CLAIM: "nothing confirmed what a model reported",
        ResolveReason.OPERATOR: "an operator resolved it",
    }
)


def last_fix(transitions: Iterable[Transition]) -> str:
    """What ended the trouble the last time, "" if it was never closed: for whoever sees it come back.

    The words of whoever closed it are given where there are any, else what its reason says.
    """
    closed = {each.version: each for each in transitions if each.reason is TransitionReason.RESOLVED}
    if not closed:
        return ""
    last = closed[max(closed)]
    said = _FIXES[last.resolve_reason or ResolveReason.CLEARED]
    return f"{said}: {last.note}" if last.note else said
