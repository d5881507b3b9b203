"""One run, one line in the log, with everything that is asked about it later."""

from collections.abc import Mapping
from datetime import datetime

import structlog

from patrol.run import RunReport
from patrol.run.record_model import RunRecord, RunStatus
from patrol.run.store import RunInProgressError
from patrol.work.queue import Claim

_log = structlog.stdlib.get_logger("patrol.run")
_FAILED = frozenset({RunStatus.CRASHED, RunStatus.ERROR, RunStatus.TIMED_OUT})
_jobs_log = structlog.stdlib.get_logger("patrol.daemon")


def job_line(job: str, text: str, *, is_harmless: bool = False) -> None:
    """Writes what a job of the timetable has to say."""
    (_jobs_log.info if is_harmless else _jobs_log.warning)("job", job=job, said=text)


def run_line(
    run: RunRecord | None, claim: Claim, stages: Mapping[str, float], result: RunReport | BaseException
) -> None:
    """Writes the line. `run`: its record, None where it has none."""
    work, trigger = claim.work, claim.trigger
    if isinstance(result, RunInProgressError):
        _log.info("run waits for another process", run_id=work.run_id, reason=str(result))
        return
    if run is None:
        _log.error("run has no record", run_id=work.run_id, error=_said(result))
        return
    tell = _log.error if run.status in _FAILED else _log.info
    tell(
        "run",
        run_id=run.id,
        trigger=str(trigger.reason),
        type=str(run.type),
        scope=list(run.scope[:5]),
        status=str(run.status),
        complete=run.complete,
        missed=trigger.leading.missed,
        merged=work.times,
        waited_seconds=_seconds(work.started_at, work.enqueued_at),
        duration_seconds=_seconds(run.completed_at, run.started_at),
        stages=dict(stages),
        resources=run.resources_checked,
        new=run.new_findings,
        existing=run.existing_findings,
        regressed=run.regressed_findings,
        resolved=run.resolved_findings,
        uncertain=run.uncertain,
        gaps=len(run.gaps),
        model_state=str(run.model_state),
        model=run.model,
        model_cause=run.model_cause,
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        cost_usd=run.cost_usd,
        cost_assumed=run.cost_assumed,
        error=run.error_summary,
        said=run.status_text,
        exc_info=result if _is_a_bug(run, result) else None,
    )


def _is_a_bug(run: RunRecord, result: RunReport | BaseException) -> bool:
    """Whether the place in the code helps whoever reads it: a failure that no rule foresees."""
    return run.status is RunStatus.ERROR and isinstance(result, Exception)


def _said(result: RunReport | BaseException) -> str:
    return f"{type(result).__name__}: {result}" if isinstance(result, BaseException) else ""


def _seconds(end: datetime | None, begin: datetime | None) -> float | None:
    return round((end - begin).total_seconds(), 3) if end is not None and begin is not None else None
