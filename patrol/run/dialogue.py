"""Stages 8 and 9: the model is told what the detectors saw and it did not tell of, then what still needs a verdict.

What comes of it is held against what was examined: see `patrol.run.seam` and `findings.claims`. Without a model the
same stages run and have nothing to add.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from findings.claims import verdict_refusal
from findings.kinds import Kind
from findings.lifecycle import advance
from findings.model import Basis, Examination, Finding, Observation, ResourceId, Verdict
from findings.silence import PATROLS_OWN
from patrol.run.analyst import Analyst, ModelWork, Situation
from patrol.run.blindness import source_id
from patrol.run.causes import signals_by_cause
from patrol.run.current_limits import CurrentLimits
from patrol.run.model_questions import key_of
from patrol.run.model_work.model import ModelReport, VerdictRecord, VerdictSource
from patrol.run.observations import observation_of
from patrol.run.seam import Judged, Meeting, dissent, judge, missing_verdicts, untold
from patrol.tools.finding_desk.model import GivenVerdict
from signals.model import Examined, Signal


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """What was said between the model and Patrol in one run, and what follows from it.

    `observations`: claims that enter the findings. `resolved_claims`: keys of claims that it showed to be gone.
    `untold`: keys of signals that it told nothing of by itself; `dissent`: what it says against a finding, by key.
    `uncertain`: findings of which nobody could say whether they are still there. `refusals`: why reports and verdicts
    were not taken, a word for each.
    """

    observations: Sequence[Observation] = ()
    resolved_claims: frozenset[str] = frozenset()
    untold: frozenset[str] = frozenset()
    dissent: Mapping[str, str] = field(default_factory=dict)
    reports: Sequence[ModelReport] = ()
    verdicts: Sequence[VerdictRecord] = ()
    uncertain: int = 0
    refusals: Sequence[str] = ()


def dialogue(
    analyst: Analyst,
    work: ModelWork,
    situation: Situation,
    signals: Sequence[Signal],
    examined: Examined,
    lives_on: Mapping[ResourceId, Sequence[ResourceId]],
    *,
    tell: Callable[[str, str], None],
) -> Dialogue:
    """Both stages. `signals`: those in scope. `lives_on`: see `patrol.run.lineage`."""
    meeting = judge(work.reports, signals, examined, situation.findings)
    news = untold(signals, meeting, work.verdicts, situation.findings)
    tell("evaluate", f"signals: {len(signals)}, of them news that no model told of: {len(news)}")
    evaluated = _evaluated(analyst, situation, news, lives_on)
    verdicts = {**work.verdicts, **evaluated.verdicts}
    meeting = judge([*work.reports, *evaluated.reports], signals, examined, situation.findings)
    missing = _missing(situation, meeting, verdicts, examined)
    tell("assess", f"{len(missing)} findings that nobody looked at")
    assessed = analyst.assess(missing)
    verdicts.update(assessed.verdicts)
    reports = [*work.reports, *evaluated.reports, *assessed.reports]
    meeting = judge(reports, signals, examined, situation.findings)
    analyst.contradicted(meeting.refused)
    return _concluded(
        situation,
        meeting,
        verdicts,
        [finding for finding in missing if finding.id not in verdicts],
        examined,
        untold=frozenset(map(key_of, news)),
        refused=[*work.refused, *evaluated.refused, *assessed.refused],
        believed=analyst.part.saw_all,
    )


def _evaluated(
    analyst: Analyst,
    situation: Situation,
    news: Sequence[Signal],
    lives_on: Mapping[ResourceId, Sequence[ResourceId]],
) -> ModelWork:
    sources = {resource.id: resource.source for resource in situation.estate.resources}

    def source_of(resource_id: ResourceId) -> ResourceId:
        name = sources.get(resource_id, "")
        return source_id(name) if name else ""

    groups = signals_by_cause(news, lives_on, source_of).evaluated
    shown = [signal for group in groups for signal in group.signals]
    return analyst.evaluate(groups, _findings_to_be(shown, situation))


def _findings_to_be(signals: Sequence[Signal], situation: Situation) -> dict[str, Finding]:
    """What these signals will be filed as, by key, so that the model can speak of them by their ids."""
    step = advance(
        {},
        map(observation_of, signals),
        Examined(),
        situation.run.started_at,
        run_id=situation.run.id,
        org_id=situation.run.org_id,
    )
    return {change.after.key: change.after for change in step.changes}


def _missing(
    situation: Situation, meeting: Meeting, verdicts: Mapping[str, GivenVerdict], examined: Examined
) -> list[Finding]:
    known = [finding for finding in situation.known if finding.kind not in PATROLS_OWN]
    missing = missing_verdicts(known, meeting, verdicts, examined).missing
    if not missing:
        return []
    # What ends in this run whatever anybody saw needs no word: its resource is gone, or its check was switched off.
    removed = situation.recognition.removed
    limit_now = CurrentLimits(situation.thresholds, situation.inventory, situation.estate)
    return [each for each in missing if each.resource_id not in removed and not limit_now(each).switched_off]


def _concluded(
    situation: Situation,
    meeting: Meeting,
    verdicts: Mapping[str, GivenVerdict],
    silent: Sequence[Finding],
    examined: Examination,
    *,
    untold: frozenset[str],
    refused: Sequence[str],
    believed: bool,
) -> Dialogue:
    run, records, observations, resolved = situation.run, [], meeting.observations, set()
    uncertain = len(silent)
    for verdict in verdicts.values():
        finding = verdict.finding
        look = examined.look(finding.kind, finding.resource_id, finding.subject)
        refusal = verdict_refusal(finding, verdict.verdict, look, has_evidence=bool(verdict.evidence))
        applied = refusal is None and (believed or verdict.verdict is not Verdict.RESOLVED)
        records.append(_verdict(run.id, verdict, situation.judged_at, applied=applied, code=str(refusal or "")))
        uncertain += verdict.verdict is Verdict.UNCERTAIN
        if applied and verdict.verdict is Verdict.RESOLVED and finding.kind not in _KINDS:
            resolved.add(finding.key)
        present = verdict.observation()
        # What a detector holds keeps its own evidence and numbers; a claim lives on being repeated.
        if applied and present is not None and finding.basis is Basis.MODEL:
            observations.append(present)
    records.extend(_unspoken(run.id, finding, situation.judged_at) for finding in silent)
    return Dialogue(
        observations=observations,
        resolved_claims=frozenset(resolved),
        untold=untold,
        dissent={each.finding.key: said for each in verdicts.values() if (said := dissent(each))},
        reports=[_report(run.id, seq, judged) for seq, judged in enumerate(meeting.judged, start=1)],
        verdicts=records,
        uncertain=uncertain,
        refusals=[*refused, *(each.code for each in meeting.refused)],
    )


_KINDS = frozenset(Kind)


def _verdict(run_id: str, verdict: GivenVerdict, at: datetime, *, applied: bool, code: str) -> VerdictRecord:
    return VerdictRecord(
        run_id=run_id,
        finding_id=verdict.finding.id,
        verdict=verdict.verdict,
        source=VerdictSource.MODEL,
        evidence=verdict.evidence,
        reason=verdict.reason,
        applied=applied,
        code=code,
        at=at,
    )


def _unspoken(run_id: str, finding: Finding, at: datetime) -> VerdictRecord:
    return VerdictRecord(
        run_id=run_id,
        finding_id=finding.id,
        verdict=Verdict.UNCERTAIN,
        source=VerdictSource.PATROL,
        reason="no check could look at it in this run, and no model spoke of it",
        applied=True,
        at=at,
    )


def _report(run_id: str, seq: int, judged: Judged) -> ModelReport:
    report = judged.report
    return ModelReport(
        run_id=run_id,
        seq=seq,
        call_id=report.call_id,
        finding_key=judged.key,
        resource_id=report.resource_id,
        kind=report.kind,
        subject=report.subject,
        severity=report.severity,
        title=report.title,
        description=report.description,
        recommendation=report.recommendation,
        impact=report.impact,
        evidence=report.evidence,
        cited=report.tool_call_ids,
        outcome=judged.outcome,
        code=judged.code,
    )
