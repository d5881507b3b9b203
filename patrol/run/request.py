"""What a run is asked for, and what it answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from findings.model import Finding, Gap, Look
from patrol.run.collect import SourceRead
from patrol.run.record_model import RunRecord
from patrol.run.signal_outcomes import SignalOutcome
from patrol.triggers.model import TriggerReason
from signals.model import Problem, Signal, SignalType


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One wanted pass. `scope`: names, ids or aliases of resources; `resource_types`: all of these types.

    Nothing named, and no alert, means the whole estate. `run_id`: the one that was promised to whoever asked; "": a
    new one. `finding_id`: the finding that it looks into.
    """

    reason: TriggerReason = TriggerReason.MANUAL
    scope: tuple[str, ...] = ()
    alert_id: str = ""
    alert_type: str = ""
    resource_types: tuple[str, ...] = ()
    finding_id: str = ""
    run_id: str = ""

    @property
    def is_full(self) -> bool:
        """Whether it is about the whole estate."""
        return not (self.scope or self.resource_types or self.alert_id)


class Progress(Protocol):
    """Told what a run is doing, for people who wait."""

    def __call__(self, stage: str, detail: str) -> None: ...


Ids = Callable[[], str]
"""Mints a new id: unique, and of the characters of a canonical id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What a run saw and decided, for the caller; what lasts of it is in the database.

    `findings`: the active findings in scope after the run, worst first. `looks`: how many conditions gave
    each answer. `status_text` is written by Patrol itself, never by a model. `outcomes`: how many signals of a type
    became what; `refusals`: why a model's word was not taken, a word for each; `reads`: how each source did.
    """

    run: RunRecord
    findings: Sequence[Finding]
    signals: Sequence[Signal]
    gaps: Sequence[Gap]
    problems: Sequence[Problem]
    checks_off: Sequence[str]
    looks: Mapping[Look, int]
    resources: Mapping[str, int]  # by type
    status_text: str
    notes: Sequence[str] = field(default_factory=tuple)  # what an operator should know of this run's settings
    outcomes: Mapping[tuple[SignalType, SignalOutcome], int] = field(default_factory=dict)
    refusals: Sequence[str] = ()
    reads: Sequence[SourceRead] = ()


class ScopeError(Exception):
    """Wanted names that are no resource, or more than one. `candidates`: what an ambiguous name could mean."""

    def __init__(self, unmatched: Sequence[str], ambiguous: Mapping[str, Sequence[str]]) -> None:
        parts = []
        if unmatched:
            parts.append(f"no resource is called {', '.join(unmatched)}")
        parts.extend(f"{name} could be {' or '.join(ids)}" for name, ids in ambiguous.items())
        super().__init__("; ".join(parts))
        self.unmatched = tuple(unmatched)
        self.ambiguous = dict(ambiguous)
