"""How Patrol stands, as it is served."""

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, Field

from findings.investigation import Autonomy
from patrol.api.documents.settings import PauseDocument
from patrol.run.record_model import ModelState, RunStatus


class RuntimeState(StrEnum):
    """What Patrol does. The first that holds."""

    RUNNING = "running"  # a run is under way
    DISABLED = "disabled"  # an operator paused it: it starts nothing by itself
    ACTIVE = "active"  # it waits for its next run


class TriggerStatus(BaseModel):
    """How the queue of runs stands."""

    running: bool
    pending_triggers: int
    current_interval_ms: int
    recent_events: int
    is_busy_mode: bool
    alert_triggers_enabled: bool
    anomaly_triggers_enabled: bool
    event_triggers_blocked: bool
    event_triggers_blocked_reason: str
    event_triggers_blocked_message: str


class Summary(BaseModel):
    """Active findings by severity: open, nobody asked for quiet, and no other finding explains them."""

    critical: int
    warning: int
    watch: int
    info: int


class GapCounts(BaseModel):
    """What the last full run could not read. `lost`: it could be read before, or a whole source is gone."""

    lost: int
    standing: int


class CurrentRun(BaseModel):
    """A run under way."""

    run_id: str
    trigger_reason: str
    started_at: datetime
    scope_resource_ids: list[str]


class StatusDocument(BaseModel):
    """How Patrol stands. `healthy`: the last full run saw everything, and nothing critical or a warning is active."""

    runtime_state: RuntimeState
    running: bool
    enabled: bool = Field(description="it is not paused")
    paused: PauseDocument | None
    current_run_id: str | None
    current_run_started_at: datetime | None
    current_runs: list[CurrentRun]
    last_patrol_at: datetime | None = Field(description="end of the last full run")
    last_activity_at: datetime | None = Field(description="end of the last run of any sort")
    last_run_id: str | None
    last_status: RunStatus | None
    last_status_text: str
    last_duration_ms: int | None
    next_patrol_at: datetime | None = Field(
        description="when the next full run is due; a time that is over: since when one waits"
    )
    interval_ms: int
    schedule: str
    trigger_status: TriggerStatus
    resources_checked: int | None
    findings_count: int
    summary: Summary
    silenced_count: int
    error_count: int
    healthy: bool
    complete: bool | None = Field(description="nothing was lost from sight in the last full run")
    gaps: GapCounts
    model: str = Field(description="the one that is configured, empty for none")
    model_state: ModelState | None
    model_said: str
    autonomy: Autonomy
    investigations: str
    fixed_count: int
    alerts_firing: int
    license_required: bool = False
    license_status: str = "none"
