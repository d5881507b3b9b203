"""The part of a run that a language model plays: what it is given, what it gives back, and how it went.

The stages that need a model talk to an `Analyst`. A run without one has `NoAnalyst`, which looks at nothing,
finds nothing and says so; whatever becomes of a model, what the detectors conclude stays as it is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from findings.model import Finding, Gap
from findings.silence import Silence
from patrol.estate.memory.model import Recognition
from patrol.estate.model import Estate
from patrol.run.causes import SignalGroup
from patrol.run.record_model import ModelState, RunRecord
from patrol.run.request import RunRequest
from patrol.run.scope import Scope
from patrol.run.seam import Judged
from patrol.run.triage import Flag
from patrol.tools.finding_desk.model import GivenVerdict, Report
from patrol.tools.registry import Toolbox
from signals.inventory import Inventory
from signals.model import ToolCall
from signals.thresholds import Thresholds

Recorder = Callable[[ToolCall, float], ToolCall]
"""Writes down a call that took so many seconds, and returns it as it was recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What a run knows before its model looks around. `known`: the active findings of its scope.

    `findings`: all open findings, silenced or not; `silences`: those that are not over. `closed`: those that were
    closed since the last run like this one began (`since`, None: there was none).
    """

    run: RunRecord
    request: RunRequest
    judged_at: datetime
    scope: Scope
    estate: Estate
    inventory: Inventory
    recognition: Recognition
    resources: Mapping[str, int]
    flags: Sequence[Flag]
    gaps: Sequence[Gap]
    thresholds: Thresholds
    toolbox: Toolbox
    findings: Sequence[Finding]
    known: Sequence[Finding]
    silences: Sequence[Silence]
    closed: Callable[[], Sequence[Finding]]
    since: datetime | None
    record: Recorder


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelWork:
    """What came of one pass: its calls as they were recorded, its reports, and its verdicts by finding id.

    `refused`: why reports and verdicts were not taken, a word for each.
    """

    tool_calls: Sequence[ToolCall] = ()
    reports: Sequence[Report] = ()
    verdicts: Mapping[str, GivenVerdict] = field(default_factory=dict)
    refused: Sequence[str] = ()


@dataclass(slots=True, kw_only=True)
class ModelPart:
    """How the model's part of a run went. `cause` and `said`: why it did not do all of it, a word and a sentence.

    `analysis`: what it said, as it was let through. `saw_all` False: its server had read less than it was sent, so
    that nothing it did not say counts.
    """

    state: ModelState = ModelState.NONE
    model: str = ""
    cause: str = ""
    said: str = ""
    analysis: str = ""
    saw_all: bool = True
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    cost_assumed: bool = False

    @property
    def worked(self) -> bool:
        """Whether it did what it was asked: then its silence about a claim says something."""
        return self.state is ModelState.USED and not self.cause


class Analyst(Protocol):
    """A model at work in one run. `part` tells at any time how it goes."""

    @property
    def part(self) -> ModelPart: ...

    def analyse(self, situation: Situation) -> ModelWork:
        """Looks around freely, within its budget."""
        ...

    def evaluate(self, groups: Sequence[SignalGroup], findings: Mapping[str, Finding]) -> ModelWork:
        """Reports on what the detectors saw and it had not told of: one bounded pass over exactly that."""
        ...

    def assess(self, findings: Sequence[Finding]) -> ModelWork:
        """Gives a verdict on known findings that got none: one bounded pass."""
        ...

    def contradicted(self, refused: Sequence[Judged]) -> None:
        """Is told of its reports that are not taken, because the detectors looked and found otherwise."""
        ...

    def close(self) -> None:
        """Gives back what it holds, and remembers for the next run how its model did."""
        ...


class Analysts(Protocol):
    """Where a run gets its analyst from: the first thing that it does, before anything is collected."""

    def join(self, run: RunRecord, *, after_crash: bool) -> Analyst:
        """The analyst of this run: one that works, or one that says why there is none."""
        ...


class NoAnalyst:
    """No model is called, and `part` says why. A supported state, said plainly."""

    def __init__(self, part: ModelPart | None = None) -> None:
        self._part = part or ModelPart(said="no model is called: the checks run alone")

    @property
    def part(self) -> ModelPart:
        """Why none is called."""
        return self._part

    def analyse(self, situation: Situation) -> ModelWork:  # noqa: ARG002 - the protocol's arguments, here and below
        """Nothing."""
        return ModelWork()

    def evaluate(self, groups: Sequence[SignalGroup], findings: Mapping[str, Finding]) -> ModelWork:  # noqa: ARG002
        """Nothing: what is unmatched stays so, and is filed."""
        return ModelWork()

    def assess(self, findings: Sequence[Finding]) -> ModelWork:  # noqa: ARG002
        """Nothing: what a detector examined needs no verdict of a model."""
        return ModelWork()

    def contradicted(self, refused: Sequence[Judged]) -> None:
        """Nothing: it reports nothing."""

    def close(self) -> None:
        """Nothing to give back."""


class NoModel:
    """Runs without a model: none is configured, or the caller wants none."""

    def join(self, run: RunRecord, *, after_crash: bool) -> Analyst:  # noqa: ARG002 - the protocol's arguments
        """The analyst that calls nothing."""
        return NoAnalyst()
