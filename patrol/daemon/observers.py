"""Everybody who is told how runs go, as one. What one of them does wrong costs neither a run nor the others."""

from collections.abc import Callable, Sequence

import structlog

from patrol.run.observer import Observer, Stage
from patrol.run.record_model import RunRecord
from patrol.run.request import RunReport
from patrol.triggers.model import Trigger
from patrol.triggers.queue import Decision

_log = structlog.stdlib.get_logger("patrol.daemon")


class Observers:
    """An observer that tells others, in their order."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = tuple(observers)

    def run_began(self, run: RunRecord) -> None:
        """A run has its record and its lease."""
        self._tell(lambda each: each.run_began(run))

    def stage(self, run: RunRecord, stage: Stage, seconds: float) -> None:
        """A stage of a run came to its end."""
        self._tell(lambda each: each.stage(run, stage, seconds))

    def run_ended(self, run: RunRecord, report: RunReport | None) -> None:
        """A run is recorded as ended."""
        self._tell(lambda each: each.run_ended(run, report))

    def trigger(self, trigger: Trigger, decision: Decision) -> None:
        """A trigger was offered to the queue."""
        self._tell(lambda each: each.trigger(trigger, decision))

    def _tell(self, tell: Callable[[Observer], None]) -> None:
        for each in self._observers:
            try:
                tell(each)
            except Exception:  # noqa: BLE001 - a count or a stream that fails must not cost a run, which it only watches
                _log.exception("an observer of runs failed", observer=type(each).__name__)
