"""The document that `patrol run --json` prints: the structs that make it are its schema."""

from datetime import datetime
from typing import Any

import msgspec

from findings.investigation import Autonomy
from findings.model import Finding, Gap, Look
from findings.storm import Storm
from patrol.run.record_model import ModelState, RunRecord, RunStatus, RunType
from patrol.run.request import RunReport
from signals.model import Problem, Signal


class RunView(msgspec.Struct, kw_only=True):
    """One run as others see it. Counts are null while it has not ended; instants are UTC.

    `model` is what part the model had, `model_name` which one it is; `model_cause` and `model_said` tell why it did not
    do all of it. `ai_analysis`: its own words; `status_text` is Patrol's. `cost_assumed`: some of `cost_usd` is charged
    at an assumed price, for nobody knows the real one. `finding_id`: the finding that it looks into, empty if none.
    """

    id: str
    type: RunType
    trigger: str
    status: RunStatus
    status_text: str
    complete: bool
    model: ModelState
    investigations: str
    started_at: datetime
    completed_at: datetime | None
    resources_checked: int | None
    new_findings: int | None
    existing_findings: int | None
    regressed_findings: int | None
    resolved_findings: int | None
    scope: tuple[str, ...]
    alert_settings: str
    error: str
    model_name: str
    model_cause: str
    model_said: str
    ai_analysis: str
    input_tokens: int
    output_tokens: int
    cost_usd: float
    cost_assumed: bool
    uncertain: int
    rejected_findings: int
    triage_flags: int | None
    finding_id: str


class RunDocument(msgspec.Struct, kw_only=True):
    """A run with what it saw. `looks`: how many conditions gave each answer; `resources`: how many of each type.

    `storms`: news that came from one place at once, with the ids of the worst of it. A finding with a `parent_finding`
    is explained by that one.
    """

    run: RunView
    findings: list[Finding]
    signals: list[Signal]
    gaps: list[Gap]
    problems: list[Problem]
    checks_off: list[str]
    storms: list[Storm]
    looks: dict[Look, int]
    resources: dict[str, int]
    notes: list[str]


def investigations(autonomy: Autonomy, model: str) -> str:
    """Whether findings are looked into, and if not, why."""
    if autonomy is Autonomy.MONITOR:
        return "off (autonomy=monitor)"
    return "queued (this version does not carry them out yet)" if model else "off (no model)"


def run_view(run: RunRecord, *, status_text: str = "", investigations: str = "") -> RunView:
    """A run for the document."""
    return RunView(
        id=run.id,
        type=run.type,
        trigger=run.trigger_reason,
        status=run.status,
        status_text=status_text or run.status_text,
        complete=run.complete,
        model=run.model_state,
        investigations=investigations,
        started_at=run.started_at,
        completed_at=run.completed_at,
        resources_checked=run.resources_checked,
        new_findings=run.new_findings,
        existing_findings=run.existing_findings,
        regressed_findings=run.regressed_findings,
        resolved_findings=run.resolved_findings,
        scope=run.scope,
        alert_settings=run.alert_settings_source,
        error=run.error_summary,
        model_name=run.model,
        model_cause=run.model_cause,
        model_said=run.model_said,
        ai_analysis=run.analysis,
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        cost_usd=run.cost_usd,
        cost_assumed=run.cost_assumed,
        uncertain=run.uncertain,
        rejected_findings=run.rejected_findings,
        triage_flags=run.triage_flags,
        finding_id=run.finding_id,
    )


def run_document(report: RunReport, investigations: str) -> RunDocument:
    """The whole report."""
    return RunDocument(
        run=run_view(report.run, status_text=report.status_text, investigations=investigations),
        findings=list(report.findings),
        signals=list(report.signals),
        gaps=list(report.gaps),
        problems=list(report.problems),
        checks_off=list(report.checks_off),
        storms=list(report.run.storms),
        looks=dict(report.looks),
        resources=dict(report.resources),
        notes=list(report.notes),
    )


def run_schema() -> dict[str, Any]:
    """Its JSON Schema."""
    return msgspec.json.schema(RunDocument)
