"""Who is told how runs go, as they go: what is counted of them, and whoever follows one live."""

import time
from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

from patrol.run.record_model import RunRecord
from patrol.run.request import RunReport
from patrol.triggers.model import Trigger
from patrol.triggers.queue import Decision


class Stage(StrEnum):
    """The stages of a run that take time, in their order."""

    COLLECT = "collect"  # every source is read, each resource recognised
    TRIAGE = "triage"
    ANALYSE = "analyse"  # the model looks around
    SWEEP = "sweep"  # Patrol's own reads, and the checks over all that was read
    EVALUATE = "evaluate"
    ASSESS = "assess"
    RECORD = "record"


class Observer(Protocol):
    """Told from the thread that does it, so that it must be quick. It must not raise: what was done is done."""

    def run_began(self, run: RunRecord) -> None:
        """A run has its record and its lease."""
        ...

    def stage(self, run: RunRecord, stage: Stage, seconds: float) -> None:
        """A stage of a run came to its end. One that a run did not survive is not told of."""
        ...

    def run_ended(self, run: RunRecord, report: RunReport | None) -> None:
        """A run is recorded as ended. `report` None: it has no results (cancelled, failed, crashed, never begun)."""
        ...

    def trigger(self, trigger: Trigger, decision: Decision) -> None:
        """A trigger was offered to the queue, and this became of it."""
        ...


class NoObserver:
    """Nobody wants to know."""

    def run_began(self, run: RunRecord) -> None:
        """Nothing."""

    def stage(self, run: RunRecord, stage: Stage, seconds: float) -> None:
        """Nothing."""

    def run_ended(self, run: RunRecord, report: RunReport | None) -> None:
        """Nothing."""

    def trigger(self, trigger: Trigger, decision: Decision) -> None:
        """Nothing."""


_STAGES = frozenset(Stage)


class StageTimes:
    """How long the stages of one run take: each ends where the next begins. `seconds`: of a clock that only goes on."""

    def __init__(self, run: RunRecord, observer: Observer, seconds: Callable[[], float] = time.monotonic) -> None:
        self._run = run
        self._observer = observer
        self._seconds = seconds
        self._current: tuple[Stage, float] | None = None

    def begin(self, name: str) -> None:
        """What is done now. A name that is no stage is a part of the stage under way."""
        if name in _STAGES:
            self.end()
            self._current = Stage(name), self._seconds()

    def end(self) -> None:
        """The last stage is over."""
        if self._current is not None:
            stage, began = self._current
            self._current = None
            self._observer.stage(self._run, stage, self._seconds() - began)
