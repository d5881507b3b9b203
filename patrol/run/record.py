"""Stages 10 and 11: close what was looked at and found fine, and write everything in one transaction.

The findings are read again inside the transaction, so that what an operator changed while the run was under
way is what the run's results meet, never the other way round.
"""

from collections import Counter as Count
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlalchemy import Connection

from findings.grouping import grouped
from findings.identity import finding_key
from findings.kinds import Kind
from findings.lifecycle import Advance, Change, LimitNow, Outcome, advance
from findings.model import Examination, Finding, Gap, Observation, ResourceId, Sight
from findings.silence import Silence
from findings.silence_store import SilenceStore
from findings.store import FindingStore
from findings.storm import Storm, storms
from patrol.database import Database
from patrol.estate.memory.model import Recognition
from patrol.estate.memory.store import ResourceMemory
from patrol.estate.sources.model import Counter
from patrol.history.model import Sample
from patrol.history.store import HistoryStore
from patrol.run.analyst import ModelPart
from patrol.run.dialogue import Dialogue
from patrol.run.escalating import Escalating
from patrol.run.handing_on import enqueue_escalations
from patrol.run.memory import Readings, RunMemory
from patrol.run.model_work.model import EscalationRecord, EscalationState
from patrol.run.model_work.store import ModelWorkStore
from patrol.run.places import KnownPlaces
from patrol.run.record_model import RunRecord
from patrol.run.scope import Scope
from patrol.run.status import is_complete, run_status, status_text
from patrol.run.store import RunStore
from signals.model import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusions:
    """All that a run has to say, before it is written. `lives_on`: see `patrol.run.lineage`.

    `model_looked`: the resources of which a model would have told that they are in trouble, if it had seen any.
    """

    observations: Sequence[Observation]
    examined: Examination
    limit_now: Callable[[Finding], LimitNow]
    gaps: Sequence[Gap]
    problems: Sequence[Problem]
    checks_off: Sequence[str]
    readings: Readings
    counters: Mapping[tuple[str, str], Counter]
    resources_checked: int
    samples: Sequence[Sample] = ()
    timed_out: bool = False
    part: ModelPart = field(default_factory=ModelPart)
    dialogue: Dialogue = field(default_factory=Dialogue)
    model_looked: Container[ResourceId] = frozenset()
    flags: int = 0
    escalating: Escalating | None = None
    lives_on: Mapping[ResourceId, tuple[ResourceId, ...]] = field(default_factory=dict)
    recognition: Recognition = field(default_factory=Recognition)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What was written. `active`: the active findings of the scope, worst first; `explained`: how many of them
    stand under another finding. Those are in no count: their cause is. `storms`: whole, the run keeps their beginning.
    `outcome_of` and `escalated`, by finding key: what became of what was observed, and what was decided about looking
    into it.
    """

    run: RunRecord
    active: Sequence[Finding]
    outcomes: Mapping[Outcome, int]
    resolved: int
    explained: int = 0
    storms: Sequence[Storm] = ()
    outcome_of: Mapping[str, Outcome] = field(default_factory=dict)
    escalated: Mapping[str, EscalationState] = field(default_factory=dict)


def record(
    run: RunRecord, conclusions: Conclusions, scope: Scope, *, database: Database, runs: RunStore, now: datetime
) -> Recorded:
    """Advances the findings and ends the run, in one transaction. `now` is when the run ends."""

    def work(connection: Connection) -> Recorded:
        # First, for it may move findings to another resource.
        ResourceMemory(connection, run.org_id).keep(conclusions.recognition, run.started_at, run_id=run.id)
        store = FindingStore(connection, run.org_id)
        keys = {finding_key(each.resource_id, each.kind, each.subject) for each in conclusions.observations}
        known = store.load_open_and(keys)
        silences = SilenceStore(connection, run.org_id).list_silences(not_over_at=run.started_at)
        step = advance(
            known,
            conclusions.observations,
            conclusions.examined,
            run.started_at,
            run_id=run.id,
            org_id=run.org_id,
            removed=conclusions.recognition.removed,
            limit_now=conclusions.limit_now,
            silences=silences,
            lives_on=conclusions.lives_on,
            recorded_at=now,
            model_looked=conclusions.model_looked,
            resolved_claims=conclusions.dialogue.resolved_claims,
        )
        places = KnownPlaces(conclusions.recognition)
        step = grouped(known, step, places, run.id)
        store.apply(step)
        memory = RunMemory(connection, run.org_id)
        memory.keep_counters(conclusions.counters)
        memory.note_read(conclusions.readings, run.started_at)
        HistoryStore(connection, run.org_id).write(conclusions.samples, run.started_at)
        after = {**known, **{change.after.key: change.after for change in step.changes}}
        work_store = ModelWorkStore(database, run.org_id)
        decided = _keep_model_work(connection, work_store, run, conclusions, after.values(), places, silences, now)
        recorded = _recorded(run, conclusions, scope, after, step, silences, places, now)
        runs.finish(connection, recorded.run)
        states = {each.finding_id: each.state for each in decided}
        escalated = {key: states[finding.id] for key, finding in after.items() if finding.id in states}
        return replace(recorded, escalated=escalated)

    return database.transact(work)


def _keep_model_work(
    connection: Connection,
    store: ModelWorkStore,
    run: RunRecord,
    conclusions: Conclusions,
    after: Iterable[Finding],
    places: KnownPlaces,
    silences: Sequence[Silence],
    now: datetime,
) -> Sequence[EscalationRecord]:
    """Keeps it, and returns what was decided about looking into findings."""
    said = conclusions.dialogue
    store.keep_reports(connection, said.reports)
    store.keep_verdicts(connection, said.verdicts)
    if conclusions.escalating is None:
        return []
    decided = conclusions.escalating.decide(after, said, places, silences, run_id=run.id, now=now)
    store.keep_escalations(connection, decided)
    enqueue_escalations(connection, run.org_id, decided)
    return decided


def _recorded(
    run: RunRecord,
    conclusions: Conclusions,
    scope: Scope,
    after: Mapping[str, Finding],
    step: Advance,
    silences: Sequence[Silence],
    places: KnownPlaces,
    now: datetime,
) -> Recorded:
    told = [each for each in after.values() if each.is_active(now, silences)]
    stormy = storms(told, places, run.started_at)
    # What another finding explains is among them: an estate is never healthier than the worst that is known of it.
    active = sorted((each for each in told if each.resource_id in scope), key=_worst_first)
    resolved = sum(_closed(change) for change in step.changes)
    # What was contradicted may never have become a finding.
    outcomes = Count(each for key, each in step.outcomes.items() if key not in after or not after[key].parent_finding)
    complete = is_complete(conclusions.gaps, conclusions.problems)
    explained = sum(bool(each.parent_finding) for each in active)
    part, said = conclusions.part, conclusions.dialogue
    # What a model says that had not read all of it leaves as much open as a finding that nobody could look at.
    unsure = said.uncertain + (not part.saw_all)
    status = run_status(errors=0, active=active, complete=complete, uncertain=unsure, timed_out=conclusions.timed_out)
    text = status_text(
        status=status,
        resources=conclusions.resources_checked,
        outcomes=outcomes,
        resolved=resolved,
        lost=sum(gap.sight is Sight.LOST for gap in conclusions.gaps),
        errors=0,
        explained=explained,
        uncertain=said.uncertain,
        silenced=sum(each.is_open and each.resource_id in scope for each in after.values()) - len(active),
    )
    ended = replace(
        _with_what_was_told(run, conclusions, scope),
        status=status,
        status_text=text,
        triage_flags=conclusions.flags,
        complete=complete,
        completed_at=max(now, run.started_at),
        resources_checked=conclusions.resources_checked,
        new_findings=outcomes.get(Outcome.FILED, 0),
        existing_findings=sum(outcomes.get(each, 0) for each in _STILL_THERE),
        regressed_findings=outcomes.get(Outcome.REGRESSED, 0) + outcomes.get(Outcome.WOKEN, 0),
        resolved_findings=resolved,
        storms=tuple(each.shown() for each in stormy),
    )
    return Recorded(
        run=ended,
        active=active,
        outcomes=outcomes,
        resolved=resolved,
        explained=explained,
        storms=stormy,
        outcome_of=step.outcomes,
    )


def _with_what_was_told(run: RunRecord, conclusions: Conclusions, scope: Scope) -> RunRecord:
    part, said = conclusions.part, conclusions.dialogue
    return replace(
        run,
        gaps=tuple(conclusions.gaps),
        checks_off=tuple(conclusions.checks_off),
        scope=scope.resource_ids,
        model_state=part.state,
        model=part.model,
        model_cause=part.cause,
        model_said=part.said,
        analysis=part.analysis,
        input_tokens=part.input_tokens,
        output_tokens=part.output_tokens,
        cost_usd=part.cost_usd,
        cost_assumed=part.cost_assumed,
        uncertain=said.uncertain,
        rejected_findings=len(said.refusals),
    )


def _closed(change: Change) -> bool:
    """Whether a finding was closed that stood by itself."""
    before = change.before
    return before is not None and before.is_open and not change.after.is_open and not before.parent_finding


_STILL_THERE = (Outcome.REFRESHED, Outcome.REMINDED, Outcome.SILENCED)
_KIND_ORDER = {str(kind): position for position, kind in enumerate(Kind)}


def _worst_first(finding: Finding) -> tuple[int, int, str, str]:
    order = _KIND_ORDER.get(finding.kind, len(_KIND_ORDER))
    return -finding.severity.rank, order, finding.resource_id, finding.subject
