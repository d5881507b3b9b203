"""What a model says of findings in one run, and what it is told."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import msgspec

from findings.identity import finding_key
from findings.model import Basis, Category, Finding, Observation, ResourceId, Severity, Verdict
from patrol.tools.answers import FindingRow
from patrol.tools.model import ErrorCode
from signals.model import ToolCall

Outputs: TypeAlias = Callable[[str], ToolCall | None]
"""Gives a call of a read tool that the model made in this run, by its id; None for any other id.

Its output as it was recorded: decoded, or as JSON text.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Something that the model says is wrong. Its evidence was found in the outputs that it cites.

    `kind`: a word of `findings.kinds`, or `claim_...` for what no detector knows. `is_new`: no active finding of this
    run's scope had its key. `call_id`: the call by which it was reported. Texts are the model's own, bounded.
    """

    finding_id: str
    is_new: bool
    kind: str
    subject: str
    severity: Severity
    category: Category
    resource_id: ResourceId
    resource_name: str
    resource_type: str
    title: str
    description: str
    recommendation: str
    evidence: str
    impact: str
    tool_call_ids: tuple[str, ...]
    call_id: str

    @property
    def key(self) -> str:
        """The key of the finding that it is about."""
        return finding_key(self.resource_id, self.kind, self.subject)

    def observation(self) -> Observation:
        """What it says, as it enters the findings."""
        return Observation(
            resource_id=self.resource_id,
            resource_name=self.resource_name,
            resource_type=self.resource_type,
            kind=self.kind,
            severity=self.severity,
            category=self.category,
            summary=self.title if self.description.startswith(self.title) else f"{self.title}: {self.description}",
            subject=self.subject,
            evidence=self.evidence,
            tool_call_id=self.tool_call_ids[0],
            basis=Basis.MODEL,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenVerdict:
    """What the model says of a known finding. `by_report`: it reported the same again, which is `present`.

    Whether `resolved` closes anything is decided after the detectors have looked (`findings.claims`).
    """

    finding: Finding
    verdict: Verdict
    evidence: str
    reason: str
    tool_call_ids: tuple[str, ...]
    call_id: str
    by_report: bool = False

    def observation(self) -> Observation | None:
        """`present` as it enters the findings; None for any other verdict, and where the report says it already."""
        if self.verdict is not Verdict.PRESENT or self.by_report:
            return None
        finding = self.finding
        return Observation(
            resource_id=finding.resource_id,
            resource_name=finding.resource_name,
            resource_type=finding.resource_type,
            kind=finding.kind,
            severity=finding.severity,
            category=finding.category,
            summary=finding.summary,
            subject=finding.subject,
            evidence=self.evidence,
            tool_call_id=self.tool_call_ids[0] if self.tool_call_ids else "",
            basis=Basis.MODEL,
        )


class Refused(NamedTuple):
    """A call that was not taken. `resource_id` and `kind` as far as they were understood, else ""."""

    tool: str
    code: ErrorCode
    resource_id: str = ""
    kind: str = ""


class FindingsAnswer(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Active findings, worst first. `count`: rows of this answer; `total`: all that the filters admit."""

    ok: bool = True
    count: int
    total: int
    complete: bool  # all that the filters admit are shown
    findings: list[FindingRow]


class ReportAnswer(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What became of a report. `reason`: why it was not taken where `applied` is False, in one word."""

    ok: bool = True
    finding_id: str
    is_new: bool
    applied: bool
    kind: str
    resource_id: str
    subject: str = ""
    reason: str = ""
    note: str = ""


class VerdictAnswer(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What became of a verdict."""

    ok: bool = True
    finding_id: str
    verdict: Verdict
    applied: bool
    reason: str = ""
    note: str = ""


Answer: TypeAlias = FindingsAnswer | ReportAnswer | VerdictAnswer
