"""How findings live: known findings + what was observed + what was examined -> what changes. Pure.

Nothing is read and nothing written here. `advance` may be applied again by the same run (a retry after a
conflict, a crash between two writes) and then changes nothing.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from findings.assembly import changed
from findings.claims import Standing, is_contradicted, standing
from findings.investigation import InvestigationStatus
from findings.model import (
    Basis,
    Examination,
    Finding,
    FindingState,
    Look,
    Observation,
    ResolveReason,
    ResourceId,
    Transition,
    TransitionReason,
)
from findings.silence import QuietReason, Silence, own_quiet
from findings.waking import reminded, unacknowledged, unsilenced
from findings.weighing import BASIS_STRENGTH, believed, find_record, grew, more_severe, title_of, worst_by_key

WAIT = timedelta(minutes=5)
"""How long results may wait to be recorded, in which an operator still comes first. A time further in the future is
not believed: a clock was set back since.
"""

_NOWHERE: Mapping[ResourceId, tuple[ResourceId, ...]] = MappingProxyType({})


class Outcome(StrEnum):
    """What became of what a run observed about one key."""

    FILED = "filed"  # a new finding
    REFRESHED = "refreshed"  # already open, and still there
    REGRESSED = "regressed"  # was resolved, and is back
    WOKEN = "woken"  # was silenced, and got worse
    REMINDED = "reminded"  # was dismissed to be fixed later, and later is now
    SILENCED = "silenced"  # recorded, but an operator asked for quiet
    OVERRULED = "overruled"  # an operator resolved it after it was seen
    REPEATED = "repeated"  # this run has already been applied to it
    CONTRADICTED = "contradicted"  # only a model says so, and a detector looked and found nothing


class LimitNow(NamedTuple):
    """What the settings say today about the condition of an open finding. `limit` None: no number, or not known."""

    limit: float | None = None
    switched_off: bool = False


class Change(NamedTuple):
    """A finding before (None: new) and after."""

    before: Finding | None
    after: Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """What one run changes. At most one change and one transition for each finding; outcomes by key."""

    changes: tuple[Change, ...]
    transitions: tuple[Transition, ...]
    outcomes: Mapping[str, Outcome]


def advance(
    known: Mapping[str, Finding],
    observations: Iterable[Observation],
    examined: Examination,
    now: datetime,
    *,
    run_id: str,
    org_id: str,
    removed: Container[ResourceId] = frozenset(),
    limit_now: Callable[[Finding], LimitNow] = lambda _finding: LimitNow(),
    silences: Iterable[Silence] = (),
    lives_on: Mapping[ResourceId, tuple[ResourceId, ...]] = _NOWHERE,
    recorded_at: datetime | None = None,
    model_looked: Container[ResourceId] = frozenset(),
    resolved_claims: Container[str] = frozenset(),
) -> Advance:
    """The changes that follow from one run.

    `known`, by key: all open findings, and those that the observations are about. `removed`: resources that are
    certain not to exist any more. `limit_now` is asked about open findings that were not observed: a check that
    was switched off closes them, and a value between clear and trigger counts as clear if the limit is another
    one than when the finding was raised. `silences`: those that are not over; `lives_on`: what each resource that
    the run saw lives on or in, nearest first.

    `now` is when the run looked, `recorded_at` (not before it) when its results meet what operators said meanwhile:
    their silences hold from then, and what they resolved since is not reopened by an older look.

    `model_looked`: the resources that this run was about, if its model worked; `resolved_claims`: keys of findings that
    its model showed to be gone, by evidence. Both matter to what only a model holds (`findings.claims`).

    A clock that went back takes the times with it: nothing is recorded as seen in the future.
    Raises ValueError for a naive `now`, an empty `run_id`, or a known finding of another organisation or under
    another key.
    """
    if now.tzinfo is None or not run_id:
        raise ValueError("a run needs an id, and a time with its zone")
    for key, finding in known.items():
        if finding.org_id != org_id or finding.key != key:
            raise ValueError(f"finding {finding.id} of {finding.org_id} does not belong under {org_id}, {key}")
    run = _Run(now, run_id, org_id, tuple(silences), lives_on, max(now, recorded_at or now))
    said = list(observations)
    observed = worst_by_key(each for each in said if not is_contradicted(each, examined))
    for key, observation in observed.items():
        run.observe(key, known.get(key), observation)
    for key, finding in known.items():
        if key not in observed and finding.is_open:
            claim = standing(finding, now, resolved=resolved_claims, model_looked=model_looked)
            run.reconcile(finding, examined, claim, removed=finding.resource_id in removed, limit_now=limit_now)
    if len(observed) < len(said):
        for key in worst_by_key(said):
            run.outcomes.setdefault(key, Outcome.CONTRADICTED)
    return Advance(changes=tuple(run.changes), transitions=tuple(run.transitions), outcomes=run.outcomes)


class _Run:
    """The changes of one run as they come together."""

    def __init__(
        self,
        now: datetime,
        run_id: str,
        org_id: str,
        silences: tuple[Silence, ...],
        lives_on: Mapping[ResourceId, tuple[ResourceId, ...]],
        recorded_at: datetime,
    ) -> None:
        self._now = now
        self._run_id = run_id
        self._org_id = org_id
        self._silences = silences
        self._lives_on = lives_on
        self._recorded_at = recorded_at
        self.changes: list[Change] = []
        self.transitions: list[Transition] = []
        self.outcomes: dict[str, Outcome] = {}

    def observe(self, key: str, finding: Finding | None, observation: Observation) -> None:
        """Something is wrong under this key."""
        if finding is None:
            self._file(key, observation)
        elif finding.last_run_id == self._run_id:
            self.outcomes[key] = Outcome.REPEATED
        elif finding.is_open:
            self._refresh(finding, observation)
        elif self._is_overruled(finding):
            self.outcomes[key] = Outcome.OVERRULED
        else:
            self._regress(finding, observation)

    def reconcile(
        self,
        finding: Finding,
        examined: Examination,
        claim: Standing,
        *,
        removed: bool,
        limit_now: Callable[[Finding], LimitNow],
    ) -> None:
        """Nothing was observed about an open finding: it closes only if it was looked at and found clear."""
        if finding.last_run_id == self._run_id:
            return
        if removed:
            self._resolve(finding, ResolveReason.RESOURCE_REMOVED)
            return
        reason, clear_streak = _judged(finding, examined, limit_now)
        ends = reason or claim.reason
        if ends is not None:
            self._resolve(finding, ends)
            return
        due = self._is_reminder_due(finding)
        kept = changed(
            finding,
            clear_streak=clear_streak,
            lives_on=self._place(finding.resource_id, finding),
            unconfirmed_runs=claim.unconfirmed_runs,
        )
        kept = reminded(kept) if due else kept
        if kept != finding:
            self._change(finding, kept, TransitionReason.REMINDED if due else None)

    def _file(self, key: str, observation: Observation) -> None:
        finding = Finding(
            org_id=self._org_id,
            id=key,
            key=key,
            resource_id=observation.resource_id,
            resource_name=observation.resource_name,
            resource_type=observation.resource_type,
            kind=observation.kind,
            subject=observation.subject,
            category=observation.category,
            severity=believed(observation, None),
            basis=observation.basis,
            title=title_of(observation.kind, observation.subject),
            summary=observation.summary,
            evidence=observation.evidence,
            value=observation.value,
            limit=observation.limit,
            limit_source=observation.limit_source,
            facts=dict(observation.facts),
            tool_call_id=observation.tool_call_id,
            first_seen_at=self._now,
            last_seen_at=self._now,
            last_run_id=self._run_id,
            lives_on=self._place(observation.resource_id),
        )
        self.outcomes[key] = Outcome.SILENCED if self._is_quiet(finding) else Outcome.FILED
        self.changes.append(Change(None, finding))
        self._note(None, finding, TransitionReason.FILED)

    def _refresh(self, finding: Finding, observation: Observation) -> None:
        severity = more_severe(finding.severity, believed(observation, finding))
        worse = severity is not finding.severity
        more = grew(finding, observation)
        due = self._is_reminder_due(finding)
        by_model, is_claim = observation.basis is Basis.MODEL, finding.basis is Basis.MODEL
        seen = changed(
            # A model's word does not stand in for what somebody else measured or said.
            self._heard(finding) if by_model and not is_claim else self._seen(finding, observation),
            confirmed_at=finding.confirmed_at or (self._now if by_model and is_claim else None),
            severity=severity,
            raise_count=finding.raise_count + (worse or more),
        )
        seen = reminded(seen) if due else seen
        # What was said of the finding as it was does not hold for a worse one, even if something else keeps it quiet.
        seen = unsilenced(seen) if worse else seen
        seen = unacknowledged(seen) if worse or more else seen
        quiet_now = self._is_quiet(seen)
        woken = not quiet_now and self._is_quiet(finding)
        if due:
            reason: TransitionReason | None = TransitionReason.REMINDED
        elif worse:
            reason = TransitionReason.WOKEN if woken else TransitionReason.RAISED
        else:
            reason = TransitionReason.GREW if more else None
        self._change(finding, seen, reason)
        heard = Outcome.WOKEN if woken else Outcome.REMINDED if due else Outcome.REFRESHED
        self.outcomes[finding.key] = Outcome.SILENCED if quiet_now else heard

    def _regress(self, finding: Finding, observation: Observation) -> None:
        severity = believed(observation, finding)
        # A running investigation goes on: were it forgotten here, a second one would start beside it.
        running = finding.investigation_status == InvestigationStatus.RUNNING
        back = changed(
            self._seen(finding, observation),
            state=FindingState.OPEN,
            severity=severity,
            basis=observation.basis,
            resolved_at=None,
            resolve_reason=None,
            regression_count=finding.regression_count + 1,
            last_regression_at=self._now,
            investigation_status=finding.investigation_status if running else None,
            investigation_outcome=None,
            investigation_attempts=0,
            parent_finding="",
            confirmed_at=None,
            unconfirmed_runs=0,
        )
        worse = severity.rank > finding.severity.rank
        # Who said that it is resolved wants to hear that it is not. A reminder of what was resolved is out of date.
        if worse or finding.resolve_reason is ResolveReason.OPERATOR or self._is_reminder_due(finding):
            back = unsilenced(back)
        back = unacknowledged(back)
        self._change(finding, back, TransitionReason.REGRESSED)
        self.outcomes[finding.key] = Outcome.SILENCED if self._is_quiet(back) else Outcome.REGRESSED

    def _resolve(self, finding: Finding, reason: ResolveReason) -> None:
        closed = changed(
            finding, state=FindingState.RESOLVED, resolved_at=self._now, resolve_reason=reason, clear_streak=0
        )
        self._change(finding, closed, TransitionReason.RESOLVED)

    def _seen(self, finding: Finding, observation: Observation) -> Finding:
        """The finding with what was measured now. True also while it is silenced: quiet hides no facts."""
        return changed(
            finding,
            resource_name=observation.resource_name,
            resource_type=observation.resource_type,
            category=observation.category,
            basis=max(finding.basis, observation.basis, key=BASIS_STRENGTH.__getitem__),
            summary=observation.summary,
            evidence=observation.evidence,
            value=observation.value,
            limit=observation.limit,
            limit_source=observation.limit_source,
            facts={**finding.facts, **observation.facts},  # a counter not read this time keeps its last value
            tool_call_id=observation.tool_call_id,
            last_seen_at=self._now,
            times_raised=finding.times_raised + 1,
            clear_streak=0,
            lives_on=self._place(observation.resource_id, finding),
        )

    def _heard(self, finding: Finding) -> Finding:
        """The finding with no more than that it is still there, as a model says."""
        return changed(
            finding,
            last_seen_at=self._now,
            times_raised=finding.times_raised + 1,
            lives_on=self._place(finding.resource_id, finding),
        )

    def _place(self, resource_id: ResourceId, finding: Finding | None = None) -> tuple[ResourceId, ...]:
        """What a resource lives on; where this run did not see it, as it was."""
        return self._lives_on.get(resource_id, finding.lives_on if finding is not None else ())

    def _is_quiet(self, finding: Finding) -> bool:
        return finding.is_silenced(self._recorded_at, self._silences)

    def _is_overruled(self, finding: Finding) -> bool:
        """Whether an operator resolved it after this run looked."""
        at = finding.resolved_at
        by_operator = finding.resolve_reason is ResolveReason.OPERATOR
        return by_operator and at is not None and self._now <= at <= self._recorded_at + WAIT

    def _is_reminder_due(self, finding: Finding) -> bool:
        at = finding.remind_at
        return finding.is_dismissed and not finding.suppressed and at is not None and at <= self._recorded_at

    def _change(self, before: Finding, after: Finding, reason: TransitionReason | None = None) -> None:
        after = changed(
            after,
            first_seen_at=min(after.first_seen_at, self._now),
            last_seen_at=min(after.last_seen_at, self._now),
            last_run_id=self._run_id,
            version=before.version + 1,
        )
        self.changes.append(Change(before, after))
        if reason is not None:
            self._note(before, after, reason)

    def _note(self, before: Finding | None, after: Finding, reason: TransitionReason) -> None:
        self.transitions.append(
            Transition(
                finding_id=after.id,
                version=after.version,
                run_id=self._run_id,
                old_state=before.state if before is not None else None,
                new_state=after.state,
                reason=reason,
                resolve_reason=after.resolve_reason,
                old_severity=before.severity if before is not None else None,
                new_severity=after.severity,
                at=self._now,
                old_quiet=self._own_quiet(before),
                new_quiet=self._own_quiet(after),
            )
        )

    def _own_quiet(self, finding: Finding | None) -> QuietReason | None:
        said = own_quiet(finding, self._recorded_at) if finding is not None else None
        return said.reason if said is not None else None


def _judged(
    finding: Finding, examined: Examination, limit_now: Callable[[Finding], LimitNow]
) -> tuple[ResolveReason | None, int]:
    """Why an open finding that was not observed closes (None: it stays), and its clear looks in a row."""
    record = find_record(finding.kind)
    if record is None:
        return None, finding.clear_streak  # no detector knows this kind, so none can have seen it gone
    current = limit_now(finding)
    if current.switched_off:
        return ResolveReason.CHECK_OFF, 0
    look = examined.look(finding.kind, finding.resource_id, finding.subject)
    if look is Look.CLEAR or (look is Look.HELD and _limit_changed(finding, current)):
        if any(finding.facts.get(name, 0) > 0 for name in record.sticky_facts):
            return None, finding.clear_streak  # damage done does not heal, whatever the disk says today
        if finding.clear_streak + 1 < record.clears_after:
            return None, finding.clear_streak + 1
        return ResolveReason.CLEARED if look is Look.CLEAR else ResolveReason.LIMIT_CHANGED, 0
    # Clear looks must come in a row. No look at all (blind, not examined) neither counts nor breaks the row.
    return None, 0 if look in (Look.HELD, Look.PRESENT) else finding.clear_streak


def _limit_changed(finding: Finding, current: LimitNow) -> bool:
    return finding.limit is not None and current.limit is not None and current.limit != finding.limit
