"""The work of a model as it is recorded. What it says is marked as its words wherever it is shown."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from findings.model import ResourceId, Verdict


class ReportOutcome(StrEnum):
    """What became of a report."""

    FILED = "filed"  # a finding of its own
    MATCHED = "matched"  # it tells of what is known or detected already
    REFUSED = "refused"  # `code` says why


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReport:
    """One call of the tool that reports. `seq`: its place among those of the run, from 1. `call_id`: of that tool call.

    `finding_key`: what it is about (`findings.identity.finding_key`). `cited`: ids of the tool calls that it rests on.
    `finding_id`: the finding that it became or matched; found when it is kept. Texts are the model's words.
    """

    run_id: str
    seq: int
    call_id: str
    finding_key: str
    finding_id: str = ""
    resource_id: ResourceId
    kind: str
    subject: str = ""
    severity: str
    title: str = ""
    description: str = ""
    recommendation: str = ""
    impact: str = ""
    evidence: str = ""
    cited: tuple[str, ...] = ()
    outcome: ReportOutcome
    code: str = ""


class VerdictSource(StrEnum):
    """Whose verdict it is."""

    MODEL = "model"
    PATROL = "patrol"  # a look of the detectors, or that nobody said anything


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRecord:
    """What was said of a finding in one run: one verdict of each source. `evidence` and `reason`: its words.

    `applied`: the finding follows it. `code`: why it does not, "" where it does.
    """

    run_id: str
    finding_id: str
    verdict: Verdict
    source: VerdictSource
    evidence: str = ""
    reason: str = ""
    applied: bool = False
    code: str = ""
    at: datetime


class EscalationState(StrEnum):
    """What became of an escalation."""

    QUEUED = "queued"
    DEFERRED = "deferred"  # wanted, but there is no room now: asked again in the next run
    REFUSED = "refused"  # `reason` says why


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationRecord:
    """Whether a finding is to be looked into, as one run decided. `group`: the cause that it shares with others.

    `dissent`: what the model said against it, "" if nothing.
    """

    id: str
    run_id: str
    finding_id: str
    group: str
    state: EscalationState
    reason: str = ""
    dissent: str = ""
    at: datetime
