"""The report of a run, for the caller: what it saw and decided, put together from what was recorded of it."""

from collections.abc import Mapping, Sequence

from patrol.run.collect import SourceRead
from patrol.run.record import Conclusions, Recorded
from patrol.run.request import RunReport
from patrol.run.scope import Scope
from patrol.run.signal_outcomes import signal_outcomes
from signals.model import Detection, Signal


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
