"""Where the model's word meets that of the detectors. Pure.

The detectors decide about everything that they looked at. A model's report tells of what they hold as well, adds what
no detector knows, or is refused because they looked and found nothing. Matching goes by resource, kind and subject,
never by names or prose.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from findings.identity import finding_key
from findings.kinds import Kind
from findings.model import Basis, Finding, Look, Observation, ResourceId, Verdict
from patrol.run.model_work.model import ReportOutcome
from patrol.tools.finding_desk.model import GivenVerdict, Report
from signals.matching import unmatched_signals
from signals.model import Examined, Signal


class Contradiction(StrEnum):
    """Why a report is refused after the detectors looked."""

    EXAMINED_CLEAR = "examined_clear"  # a complete look at this very condition found nothing


class Judged(NamedTuple):
    """What becomes of one report. `key`: the finding that it tells of. `code`: why it is refused."""

    report: Report
    key: str
    outcome: ReportOutcome
    code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """The reports of a model, judged. `observations`: what of them enters the findings beside the signals."""

    judged: Sequence[Judged]

    @property
    def observations(self) -> list[Observation]:
        """The claims that stand by themselves: no detector holds them, and none contradicts them."""
        return [each.report.observation() for each in self.judged if each.outcome is ReportOutcome.FILED]

    @property
    def keys(self) -> frozenset[str]:
        """The findings that the reports tell of."""
        return frozenset(each.key for each in self.judged if each.outcome is not ReportOutcome.REFUSED)

    @property
    def refused(self) -> list[Judged]:
        """The reports that the detectors contradict."""
        return [each for each in self.judged if each.outcome is ReportOutcome.REFUSED]


def contradiction(judged: Judged) -> str:
    """Why a report is refused, a word and a sentence."""
    report = judged.report
    what = " of ".join(filter(None, (report.subject, report.resource_name)))
    return f"{judged.code}: {report.kind}: Patrol's own checks looked at {what} in this run, and it is not so"


def judge(
    reports: Iterable[Report], signals: Sequence[Signal], examined: Examined, known: Iterable[Finding] = ()
) -> Meeting:
    """Holds each report against what the detectors saw. `known`: the findings that are open already."""
    held = _by_condition(signals)
    # What a detector or an operator holds keeps its own evidence and numbers, whoever repeats it.
    settled = {finding.key for finding in known if finding.is_open and finding.basis is not Basis.MODEL}
    return Meeting(judged=[_judged(report, held, examined, settled) for report in reports])


def _by_condition(signals: Iterable[Signal]) -> dict[tuple[ResourceId, str], list[Signal]]:
    held: dict[tuple[ResourceId, str], list[Signal]] = {}
    for signal in signals:
        held.setdefault((signal.resource_id, str(signal.signal_type)), []).append(signal)
    return held


_KINDS = frozenset(Kind)


def _judged(
    report: Report,
    held: Mapping[tuple[ResourceId, str], Sequence[Signal]],
    examined: Examined,
    settled: Container[str],
) -> Judged:
    key = finding_key(report.resource_id, report.kind, report.subject)
    if report.kind not in _KINDS:
        return Judged(report, key, ReportOutcome.FILED)
    same = held.get((report.resource_id, report.kind), ())
    if any(signal.subject == report.subject for signal in same):
        return Judged(report, key, ReportOutcome.MATCHED)
    if same and not report.subject:
        # It means the condition of this resource, and the detectors know which part: one of them, or it is not told.
        told = finding_key(report.resource_id, report.kind, same[0].subject) if len(same) == 1 else key
        return Judged(report, told, ReportOutcome.MATCHED)
    if examined.look(report.kind, report.resource_id, report.subject) is Look.CLEAR:
        return Judged(report, key, ReportOutcome.REFUSED, Contradiction.EXAMINED_CLEAR)
    return Judged(report, key, ReportOutcome.MATCHED if key in settled else ReportOutcome.FILED)


def untold(
    signals: Iterable[Signal],
    meeting: Meeting,
    verdicts: Mapping[str, GivenVerdict],
    known: Iterable[Finding],
) -> list[Signal]:
    """The signals that nobody has told of yet: no report, no verdict, and no finding that is open already."""
    told = set(meeting.keys)
    for finding in known:
        if finding.is_open or finding.id in verdicts:
            told.add(finding.key)
    return unmatched_signals(signals, told)


class Missing(NamedTuple):
    """Active findings without a verdict, and those that have one without asking."""

    missing: list[Finding]
    reported: list[Finding]


_LOOKED_AT = (Look.PRESENT, Look.HELD, Look.CLEAR)


def missing_verdicts(
    findings: Iterable[Finding], meeting: Meeting, verdicts: Mapping[str, GivenVerdict], examined: Examined
) -> Missing:
    """Which findings the model still has to speak of. What a detector examined needs no word of it."""
    missing, reported = [], []
    for finding in findings:
        if finding.id in verdicts:
            continue
        if finding.key in meeting.keys:
            reported.append(finding)
        elif examined.look(finding.kind, finding.resource_id, finding.subject) not in _LOOKED_AT:
            missing.append(finding)
    return Missing(missing, reported)


def dissent(verdict: GivenVerdict | None) -> str:
    """What the model says against a finding that is there, "" if nothing."""
    if verdict is None or verdict.verdict is Verdict.PRESENT:
        return ""
    return f"{verdict.verdict}: {verdict.reason}"
