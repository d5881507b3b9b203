"""The report of a run, for the caller: what it saw and decided, put together from what was recorded of it."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from patrol.run.collect import SourceRead
from patrol.run.record import Conclusions, Recorded
from patrol.run.request import RunReport
from patrol.run.scope import Scope
from patrol.run.signal_outcomes import signal_outcomes
from signals.model import Detection, Signal

_PAST = timedelta(hours=1)
"""A document that is older than this says nothing of now."""


def past_note(judged_at: datetime, started_at: datetime) -> str:
    """What an operator should know where a run judged a document of the past by its own time; "" where it did not."""
    age = started_at - judged_at
    if age < _PAST:
        return ""
    hours = age // timedelta(hours=1)
    old = f"{hours} h" if hours < 48 else f"{age.days} days"
    return f"Judged as of {judged_at:%Y-%m-%d %H:%M} UTC, when the document was collected: {old} before this run."


def report_of(
    recorded: Recorded,
    conclusions: Conclusions,
    detection: Detection,
    signals: Sequence[Signal],
    scope: Scope,
    *,
    resources: Mapping[str, int],
    reads: Sequence[SourceRead],
    notes: Sequence[str],
) -> RunReport:
    """The report. `signals`: those of the detection that are in scope."""
    said = conclusions.dialogue
    return RunReport(
        run=recorded.run,
        findings=recorded.active,
        signals=signals,
        gaps=conclusions.gaps,
        problems=conclusions.problems,
        checks_off=conclusions.checks_off,
        looks=detection.examined.counts(scope),
        resources=resources,
        status_text=recorded.run.status_text,
        notes=notes,
        outcomes=signal_outcomes(signals, recorded.outcome_of, said.untold, recorded.escalated),
        refusals=said.refusals,
        reads=reads,
    )
