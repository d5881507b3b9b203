"""How Patrol stands."""

from collections import Counter
from dataclasses import asdict
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from sqlalchemy import Connection, func, select

from findings.census import Standing, count_open
from findings.investigation import Autonomy
from findings.model import ResolveReason, Severity, Sight
from findings.silence_store import SilenceStore
from findings.tables import FINDINGS
from patrol.alerts.store import AlertStore
from patrol.api.access import Access
from patrol.api.documents.settings import pause_document
from patrol.api.documents.status import (
    CurrentRun,
    GapCounts,
    RuntimeState,
    StatusDocument,
    Summary,
    TriggerStatus,
)
from patrol.api.guards import READ, GuardedRoute
from patrol.api.inputs import services_of
from patrol.overrides.store import OverrideStore
from patrol.run.listing import newest, running
from patrol.run.record_model import RunRecord, RunStatus, RunType
from patrol.schedule.gates import gates_of
from patrol.schedule.jobs import JobName
from patrol.schedule.pauses import Pause, find_pause
from patrol.schedule.store import JobStore
from patrol.schedule.upcoming import next_run_at
from patrol.settings.model import Settings
from patrol.work.queue import RunQueue

router = APIRouter(route_class=GuardedRoute, tags=["status"])

_FAILED = frozenset({RunStatus.CRASHED, RunStatus.ERROR, RunStatus.TIMED_OUT})


@router.get("/api/ai/patrol/status")
def status(request: Request, access: Annotated[Access, Depends(READ)]) -> StatusDocument:
    """How Patrol stands: what it does, what it found last, when it looks again."""
    services = services_of(request)
    with services.database.read() as connection:
        settings = OverrideStore(connection, access.org_id).in_force(services.settings()).settings
        now = services.clock()
        next_at = next_run_at(connection, access.org_id, services.first_round(), now)
        return _status(connection, access.org_id, settings, now, next_at)


def _status(
    connection: Connection, org_id: str, settings: Settings, now: datetime, next_at: datetime | None
) -> StatusDocument:
    pause = find_pause(connection, org_id, now)
    runs = running(connection, org_id)
    last, last_full = newest(connection, org_id), newest(connection, org_id, run_type=RunType.FULL)
    job = JobStore(connection, org_id).find(JobName.PATROL)
    silences = SilenceStore(connection, org_id).list_silences(not_over_at=now)
    counts = count_open(connection, org_id, silences, now)
    active = {each: counts[each, Standing.ACTIVE] for each in Severity}
    queue = RunQueue(connection, org_id).status(now, gates_of(settings.triggers, pause))
    gaps = Counter(gap.sight for gap in last_full.gaps) if last_full is not None else Counter[Sight]()
    serious = active[Severity.CRITICAL] + active[Severity.WARNING]
    return StatusDocument(
        runtime_state=_state(runs, pause),
        running=bool(runs),
        enabled=pause is None,
        paused=pause_document(pause),
        current_run_id=runs[0].id if runs else None,
        current_run_started_at=runs[0].started_at if runs else None,
        current_runs=[_current(each) for each in runs],
        last_patrol_at=last_full.completed_at if last_full is not None else None,
        last_activity_at=last.completed_at if last is not None else None,
        last_run_id=last_full.id if last_full is not None else None,
        last_status=last_full.status if last_full is not None else None,
        last_status_text=last_full.status_text or last_full.error_summary if last_full is not None else "",
        last_duration_ms=_duration_ms(last_full),
        next_patrol_at=next_at,
        interval_ms=int(settings.patrol.interval.total_seconds() * 1000),
        schedule=job.schedule if job is not None else "",
        trigger_status=TriggerStatus(**asdict(queue)),
        resources_checked=last_full.resources_checked if last_full is not None else None,
        findings_count=sum(active.values()),
        summary=Summary(**{str(each): count for each, count in active.items()}),
        silenced_count=sum(counts[each, Standing.SILENCED] for each in Severity),
        error_count=int(last_full is not None and last_full.status in _FAILED),
        healthy=last_full is not None and last_full.status is RunStatus.HEALTHY and not serious,
        complete=last_full.complete if last_full is not None else None,
        gaps=GapCounts(lost=gaps[Sight.LOST], standing=gaps[Sight.STANDING]),
        model=settings.model.name,
        model_state=last_full.model_state if last_full is not None else None,
        model_said=last_full.model_said if last_full is not None else "",
        autonomy=settings.patrol.autonomy,
        investigations=_investigations(settings),
        fixed_count=_fixed(connection, org_id),
        alerts_firing=len(AlertStore(connection, org_id).list_firing(now)),
    )


def _state(runs: list[RunRecord], pause: Pause | None) -> RuntimeState:
    if runs:
        return RuntimeState.RUNNING
    return RuntimeState.DISABLED if pause is not None else RuntimeState.ACTIVE


def _current(run: RunRecord) -> CurrentRun:
    return CurrentRun(
        run_id=run.id,
        trigger_reason=run.trigger_reason,
        started_at=run.started_at,
        scope_resource_ids=list(run.scope),
    )


def _duration_ms(run: RunRecord | None) -> int | None:
    if run is None or run.completed_at is None:
        return None
    return int((run.completed_at - run.started_at).total_seconds() * 1000)


def _investigations(settings: Settings) -> str:
    """Whether findings are looked into, and if not, why."""
    if settings.patrol.autonomy is Autonomy.MONITOR:
        return "off (autonomy=monitor)"
    return "on" if settings.model.name else "off (no model)"


def _fixed(connection: Connection, org_id: str) -> int:
    """How many findings a verified fix has closed."""
    where = FINDINGS.c.org_id == org_id, FINDINGS.c.resolve_reason == str(ResolveReason.FIX_VERIFIED)
    return connection.execute(select(func.count()).select_from(FINDINGS).where(*where)).scalar_one()
