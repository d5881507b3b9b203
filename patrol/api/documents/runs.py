"""A run as it is served, also one that only waits yet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

import msgspec
from pydantic import BaseModel, Field

from findings.model import Gap
from findings.storm import Storm
from patrol.run.model_work.model import VerdictRecord
from patrol.run.record_model import ModelState, RunRecord, RunStatus, RunType, ToolCallRecord
from patrol.triggers.model import Trigger
from patrol.work.model import Work


class RunState(StrEnum):
    """Where an accepted run stands."""

    QUEUED = "queued"
    RUNNING = "running"
    ENDED = "ended"


class AssessmentDocument(BaseModel):
    """What was said of a finding in a run. `evidence` and `reason` are the words of whose verdict it is."""

    finding_id: str
    verdict: str
    source: str
    evidence: str
    reason: str
    applied: bool
    code: str
    assessed_at: datetime


class ToolCallDocument(BaseModel):
    """One finished tool call, without its output."""

    run_id: str
    seq: int
    id: str
    tool_name: str
    input: str
    success: bool
    origin: str
    started_at: datetime
    duration_seconds: float
    output_bytes: int
    output_sha256: str


class RunDocument(BaseModel):
    """One run. Counts are null while it has not ended. `status` is `queued` for one that has not begun."""

    id: str
    state: RunState
    type: RunType
    trigger_reason: str
    status: RunStatus | Literal["queued"]
    status_text: str = Field(description="the result in a sentence, written by Patrol")
    findings_summary: str = Field(description="the same as status_text")
    complete: bool = Field(description="nothing was lost from sight")
    started_at: datetime = Field(description="for one that waits: when it was accepted")
    completed_at: datetime | None
    duration_ms: int | None
    resources_checked: int | None
    new_findings: int | None
    existing_findings: int | None
    regressed_findings: int | None
    resolved_findings: int | None
    rejected_findings: int
    uncertain: int
    finding_ids: list[str]
    scope_resource_ids: list[str]
    scope_resource_types: list[str]
    effective_scope_resource_ids: list[str]
    alert_identifier: str
    alert_type: str
    finding_id: str
    alert_settings: str
    error_count: int
    error_summary: str
    gaps: list[Gap]
    checks_off: list[str]
    storms: list[Storm]
    model: ModelState
    model_name: str
    model_cause: str
    model_said: str
    ai_analysis: str = Field(description="the words of the model")
    input_tokens: int
    output_tokens: int
    cost_usd: float
    cost_assumed: bool
    triage_flags: int | None
    tool_call_count: int
    finding_assessments: list[AssessmentDocument] | None = Field(None, description="of a single run")
    tool_calls: list[ToolCallDocument] | None = Field(None, description="of a single run, with include=tool_calls")


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What belongs to a run beside its record."""

    finding_ids: Sequence[str] = ()
    tool_calls: int = 0
    trigger: Trigger | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InDetail:
    """What is served of a single run. `calls` None: not asked for."""

    verdicts: Sequence[VerdictRecord] = ()
    calls: Sequence[ToolCallRecord] | None = field(default=None)


def run_document(run: RunRecord, beside: Beside, detail: InDetail | None = None) -> dict[str, Any]:
    """A run as a `RunDocument`."""
    duration = run.completed_at - run.started_at if run.completed_at is not None else None
    document: dict[str, Any] = {
        "id": run.id,
        "state": str(RunState.RUNNING if run.status is RunStatus.RUNNING else RunState.ENDED),
        "type": str(run.type),
        "trigger_reason": run.trigger_reason,
        "status": str(run.status),
        "status_text": run.status_text,
        "findings_summary": run.status_text,
        "complete": run.complete,
        "started_at": run.started_at,
        "completed_at": run.completed_at,
        "duration_ms": int(duration.total_seconds() * 1000) if duration is not None else None,
        "resources_checked": run.resources_checked,
        "new_findings": run.new_findings,
        "existing_findings": run.existing_findings,
        "regressed_findings": run.regressed_findings,
        "resolved_findings": run.resolved_findings,
        "rejected_findings": run.rejected_findings,
        "uncertain": run.uncertain,
        "finding_ids": list(beside.finding_ids),
        "effective_scope_resource_ids": list(run.scope),
        **_asked_for(beside.trigger),
        "finding_id": run.finding_id,
        "alert_settings": run.alert_settings_source,
        "error_count": int(bool(run.error_summary)),
        "error_summary": run.error_summary,
        "gaps": run.gaps,
        "checks_off": list(run.checks_off),
        "storms": run.storms,
        "model": str(run.model_state),
        "model_name": run.model,
        "model_cause": run.model_cause,
        "model_said": run.model_said,
        "ai_analysis": run.analysis,
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
        "cost_usd": run.cost_usd,
        "cost_assumed": run.cost_assumed,
        "triage_flags": run.triage_flags,
        "tool_call_count": beside.tool_calls,
        "finding_assessments": None,
        "tool_calls": None,
    }
    if detail is not None:
        document["finding_assessments"] = [_assessment(each) for each in detail.verdicts]
        document["tool_calls"] = detail.calls
    found: dict[str, Any] = msgspec.to_builtins(document)
    return found


def waiting_document(work: Work, trigger: Trigger) -> dict[str, Any]:
    """A run that was accepted and has not begun, as a `RunDocument`."""
    record = RunRecord(
        org_id=work.org_id,
        id=work.run_id,
        type=RunType.FULL if trigger.scope.is_full else RunType.SCOPED,
        trigger_reason=str(trigger.reason),
        started_at=work.enqueued_at,
        finding_id=trigger.leading.finding_id,
    )
    document = run_document(record, Beside(trigger=trigger))
    return document | {"state": str(RunState.QUEUED), "status": "queued"}


def _asked_for(trigger: Trigger | None) -> Mapping[str, Any]:
    leading = trigger.leading if trigger is not None else None
    return {
        "scope_resource_ids": list(trigger.scope.resource_ids) if trigger is not None else [],
        "scope_resource_types": list(trigger.scope.resource_types) if trigger is not None else [],
        "alert_identifier": leading.alert_id if leading is not None else "",
        "alert_type": leading.alert_type if leading is not None else "",
    }


def _assessment(verdict: VerdictRecord) -> dict[str, Any]:
    return {
        "finding_id": verdict.finding_id,
        "verdict": str(verdict.verdict),
        "source": str(verdict.source),
        "evidence": verdict.evidence,
        "reason": verdict.reason,
        "applied": verdict.applied,
        "code": verdict.code,
        "assessed_at": verdict.at,
    }
