"""A finding as it is served: what the command line prints, and the names that clients of the monitoring system know."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec
from pydantic import BaseModel, Field

from findings.investigation import InvestigationOutcome, InvestigationStatus
from findings.loop import LoopState, last_fix, loop_state
from findings.model import (
    Basis,
    Category,
    DismissedReason,
    Finding,
    FindingState,
    ResolveReason,
    Severity,
    Transition,
    TransitionReason,
)
from findings.silence import QuietReason, Silence, quiet


class QuietDocument(BaseModel):
    """Why nobody is told of an open finding."""

    reason: QuietReason
    until: datetime | None
    by: str
    note: str
    silence_id: str


class FindingDocument(BaseModel):
    """One finding. Instants are UTC (RFC 3339); `value` and `limit` carry the unit of the kind."""

    org_id: str
    id: str
    key: str
    resource_id: str
    resource_name: str
    resource_type: str
    kind: str
    subject: str
    category: Category
    severity: Severity
    basis: Basis
    state: FindingState
    title: str
    summary: str
    evidence: str
    value: float | None
    limit: float | None
    limit_source: str
    facts: dict[str, float]
    tool_call_id: str
    first_seen_at: datetime
    last_seen_at: datetime
    resolved_at: datetime | None
    resolve_reason: ResolveReason | None
    times_raised: int
    raise_count: int
    regression_count: int
    last_regression_at: datetime | None
    clear_streak: int
    last_run_id: str
    version: int
    acknowledged_at: datetime | None
    acknowledged_facts: dict[str, float]
    snoozed_until: datetime | None
    dismissed_reason: DismissedReason | None
    suppressed: bool
    investigation_status: InvestigationStatus | None
    investigation_outcome: InvestigationOutcome | None
    investigation_attempts: int
    last_investigated_at: datetime | None
    parent_finding: str = Field(description="id of the finding that explains this one, or empty")
    lives_on: list[str]
    acknowledged_by: str
    silenced_at: datetime | None
    silenced_by: str
    silence_note: str
    remind_at: datetime | None
    remind_count: int
    user_note: str
    confirmed_at: datetime | None
    unconfirmed_runs: int
    loop_state: LoopState
    unconfirmed: bool = Field(description="only one run of a model says so")
    quiet: QuietDocument | None
    description: str = Field(description="the same as summary")
    detected_at: datetime = Field(description="the same as first_seen_at")
    auto_resolved: bool = Field(description="it was closed, and not by an operator")
    source: str = Field(description="who holds it: the same as basis")


class TransitionDocument(BaseModel):
    """One change of a finding."""

    finding_id: str
    version: int
    run_id: str
    old_state: FindingState | None
    new_state: FindingState
    reason: TransitionReason
    resolve_reason: ResolveReason | None
    old_severity: Severity | None
    new_severity: Severity
    at: datetime
    old_quiet: QuietReason | None
    new_quiet: QuietReason | None
    author: str
    note: str
    until: datetime | None
    dismissed_reason: DismissedReason | None


class FindingHistoryDocument(BaseModel):
    """One finding with all its changes, the oldest first."""

    finding: FindingDocument
    transitions: list[TransitionDocument]
    previous_resolved_fix_summary: str


def finding_document(finding: Finding, silences: Iterable[Silence], now: datetime) -> dict[str, Any]:
    """A finding as a `FindingDocument`."""
    why = quiet(finding, silences, now) if finding.is_open else None
    document: dict[str, Any] = msgspec.to_builtins(finding)
    document["loop_state"] = str(loop_state(finding, why, now))
    document["unconfirmed"] = finding.is_unconfirmed
    document["quiet"] = msgspec.to_builtins(why._asdict()) if why is not None else None
    document["description"] = finding.summary
    document["detected_at"] = document["first_seen_at"]
    document["auto_resolved"] = finding.resolve_reason not in {None, ResolveReason.OPERATOR}
    document["source"] = document["basis"]
    return document


def history_document(
    finding: Finding, changes: Sequence[Transition], silences: Iterable[Silence], now: datetime
) -> dict[str, Any]:
    """A finding as a `FindingHistoryDocument`."""
    return {
        "finding": finding_document(finding, silences, now),
        "transitions": msgspec.to_builtins(changes),
        "previous_resolved_fix_summary": last_fix(changes),
    }
