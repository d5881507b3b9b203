"""The part of a run that a language model plays: what it is given, and what it gives back.

The stages that need a model talk to an `Analyst`. A run without one has `NoAnalyst`, which looks at nothing,
finds nothing and says so; everything that the detectors conclude stays as it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from findings.model import Finding, Observation, Verdict
from patrol.run.record_model import ModelState
from patrol.run.sweep import Toolbox
from patrol.run.triage import Flag
from signals.model import Signal, ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """What the model starts from: what looks interesting, what is known, and how large the estate is."""

    flags: Sequence[Flag]
    known: Sequence[Finding]
    resources: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelWork:
    """What came of one pass of the model: its calls of read tools, reports, and verdicts by finding id."""

    tool_calls: Sequence[ToolCall] = ()
    reports: Sequence[Observation] = ()
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)


class Analyst(Protocol):
    """A model at work in one run. `state` and `said` tell afterwards how it went."""

    state: ModelState
    said: str

    def analyse(self, seed: Seed, toolbox: Toolbox) -> ModelWork:
        """Looks around freely, within its budget."""
        ...

    def evaluate(self, unmatched: Sequence[Signal]) -> ModelWork:
        """Reports what the detectors saw and it had not reported: one bounded pass."""
        ...

    def assess(self, findings: Sequence[Finding]) -> ModelWork:
        """Gives a verdict on known findings that got none: one bounded pass."""
        ...


class NoAnalyst:
    """No model is called. A supported state, said plainly."""

    state = ModelState.NONE
    said = "no model is called: the checks run alone"

    def analyse(self, seed: Seed, toolbox: Toolbox) -> ModelWork:  # noqa: ARG002 - the protocol's arguments
        """Nothing."""
        return ModelWork()

    def evaluate(self, unmatched: Sequence[Signal]) -> ModelWork:  # noqa: ARG002
        """Nothing: what is unmatched stays so, and is filed."""
        return ModelWork()

    def assess(self, findings: Sequence[Finding]) -> ModelWork:  # noqa: ARG002
        """Nothing: what a detector examined needs no verdict of a model."""
        return ModelWork()


class AfterCrash(NoAnalyst):
    """The run before this one crashed: the model waits for the next."""

    state = ModelState.SKIPPED_AFTER_CRASH
    said = "the run before this one crashed: the checks run alone, the model joins the next run"
