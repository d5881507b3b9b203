"""What is recorded of one run: its state and result, its tool calls, and what is remembered for the next one."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from findings.model import Gap, ResourceId
from findings.storm import Storm
from patrol.triggers.model import Slot, slot_of


class RunStatus(StrEnum):
    """How a run ended. Of several the first in this order holds; `running` is a run that has not ended."""

    CRASHED = "crashed"  # its process ended before it did
    CANCELLED = "cancelled"
    DROPPED = "dropped"  # accepted, then given up before it started
    SKIPPED = "skipped"  # not needed, or not allowed now
    TIMED_OUT = "timed_out"
    ERROR = "error"  # a step of Patrol itself failed
    CRITICAL = "critical"  # an active critical finding
    ISSUES_FOUND = "issues_found"  # an active warning
    INCOMPLETE = "incomplete"  # something was lost from sight
    HEALTHY = "healthy"
    RUNNING = "running"


class RunType(StrEnum):
    """How much of the estate a run is about."""

    FULL = "full"
    SCOPED = "scoped"


class ModelState(StrEnum):
    """What part the model had in a run."""

    NONE = "none"  # none is configured
    USED = "used"
    FAILED = "failed"
    SKIPPED_BUDGET = "skipped_budget"
    SKIPPED_UNCHANGED = "skipped_unchanged"
    SKIPPED_AFTER_CRASH = "skipped_after_crash"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One attempted run. Counts are None until it has ended.

    `complete`: nothing was lost from sight. `scope`: the resources that a scoped run was about.
    `alert_settings_source` and `alert_settings_hash`: which limits were in force (`findings` show each limit).
    The lease says whose run it is and until when it is taken for alive. `storms`: the ids of each are its worst ones.

    `model`: the one that the settings name, "" if none. `model_cause` and `model_said`: why it did not do all of its
    part, as a stable word (`patrol.agent.failure.Cause`, or of the budget) and as a sentence. `analysis`: its own words
    after the leak guard; `status_text` is Patrol's. `uncertain`: findings of which nobody could say whether they are
    still there; `rejected_findings`: reports that were refused. `cost_usd` counts against the budget; `cost_assumed`:
    some of it at an assumed price. What each request cost is in `patrol.run.model_work`.
    `finding_id`: the finding that it looks into, "" if none.
    """

    org_id: str
    id: str
    type: RunType = RunType.FULL
    trigger_reason: str
    status: RunStatus = RunStatus.RUNNING
    complete: bool = False
    model_state: ModelState = ModelState.NONE
    started_at: datetime
    completed_at: datetime | None = None
    lease_owner: str = ""
    lease_expires_at: datetime | None = None
    resources_checked: int | None = None
    new_findings: int | None = None
    existing_findings: int | None = None
    regressed_findings: int | None = None
    resolved_findings: int | None = None
    error_summary: str = ""
    gaps: tuple[Gap, ...] = ()
    checks_off: tuple[str, ...] = ()
    scope: tuple[ResourceId, ...] = ()
    alert_settings_source: str = ""
    alert_settings_hash: str = ""
    storms: tuple[Storm, ...] = ()
    model: str = ""
    model_cause: str = ""
    model_said: str = ""
    analysis: str = ""
    status_text: str = ""
    uncertain: int = 0
    rejected_findings: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    cost_assumed: bool = False
    triage_flags: int | None = None
    finding_id: str = ""

    @property
    def slot(self) -> Slot:
        """Where it takes place: of each slot there is one."""
        return slot_of(self.trigger_reason, is_full=self.type is RunType.FULL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRecord:
    """One finished tool call. `output_sha256` finds its page, as long as evidence of that age is kept.

    `seq`: its place in the run, from 1. `input`: JSON text. `origin`: `model` or `patrol`.
    """

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


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionRecord:
    """What the detection of one run read beside its tool calls, and what it said: all that a replay needs.

    `version`: of the Patrol that detected, "" where a run was recorded without. `now`: the time it judged by.
    `options`: JSON object of `patrol.run.limits.LimitOptions`. A hash is that of an evidence page: the text of the
    alert settings ("": built-in limits), signals and looks as JSON lines ("": the run ended before it had any).
    `evidence_expired_at`: since when pages of this run may be missing.
    """

    run_id: str
    version: str = ""
    now: datetime
    options: str = "{}"
    alert_settings_sha256: str = ""
    signals_sha256: str = ""
    looks_sha256: str = ""
    evidence_expired_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertSettingsMemory:
    """The last alert settings that could be read: used while the file is broken. `sha256` is over `text`."""

    text: str
    sha256: str
    stored_at: datetime
