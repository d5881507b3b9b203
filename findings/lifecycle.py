"""How findings live: known findings + what was observed + what was examined -> what changes. Pure.

Nothing is read and nothing written here. `advance` may be applied again by the same run (a retry after a
conflict, a crash between two writes) and then changes nothing.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from findings.identity import finding_key
from findings.investigation import InvestigationStatus
from findings.kinds import KINDS, VERDICT_FAILED, Kind, KindRecord
from findings.model import (
    Basis,
    Examination,
    Finding,
    FindingState,
    Look,
    Observation,
    ResolveReason,
    ResourceId,
    Severity,
    Transition,
    TransitionReason,
)


class Outcome(StrEnum):
    """What became of what a run observed about one key."""

    FILED = "filed"  # a new finding
    REFRESHED = "refreshed"  # already open, and still there
    REGRESSED = "regressed"  # was resolved, and is back
    WOKEN = "woken"  # was silenced, and got worse
    SILENCED = "silenced"  # recorded, but an operator asked for quiet
    REPEATED = "repeated"  # this run has already been applied to it


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
) -> Advance:
    """The changes that follow from one run.

    `known`, by key: all open findings, and those that the observations are about. `removed`: resources that are
    certain not to exist any more. `limit_now` is asked about open findings that were not observed: a check that
    was switched off closes them, and a value between clear and trigger counts as clear if the limit is another
    one than when the finding was raised.

    A clock that went back takes the times with it: nothing is recorded as seen in the future.
    Raises ValueError for a naive `now`, an empty `run_id`, or a known finding of another organisation or under
    another key.
    """
    if now.tzinfo is None or not run_id:
        raise ValueError("a run needs an id, and a time with its zone")
    for key, finding in known.items():
        if finding.org_id != org_id or finding.key != key:
            raise ValueError(f"finding {finding.id} of {finding.org_id} does not belong under {org_id}, {key}")
    run = _Run(now, run_id, org_id)
    observed = _worst_by_key(observations)
    for key, observation in observed.items():
        run.observe(key, known.get(key), observation)
    for key, finding in known.items():
        if key not in observed and finding.is_open:
            run.reconcile(finding, examined, removed=finding.resource_id in removed, limit_now=limit_now)
    return Advance(changes=tuple(run.changes), transitions=tuple(run.transitions), outcomes=run.outcomes)


_BASIS_STRENGTH = {Basis.DETECTOR: 2, Basis.OPERATOR: 1, Basis.MODEL: 0}
_UNCONFIRMED_MOST = Severity.WARNING
"""The highest severity of what only a model holds."""


def _worst_by_key(observations: Iterable[Observation]) -> dict[str, Observation]:
    """One observation for each key: the worst, held by the strongest basis among its duplicates."""
    worst: dict[str, Observation] = {}
    for observation in observations:
        key = finding_key(observation.resource_id, observation.kind, observation.subject)
        known = worst.get(key)
        if known is None:
            worst[key] = observation
            continue
        stronger = max(known.basis, observation.basis, key=_BASIS_STRENGTH.__getitem__)
        worst[key] = replace(max(known, observation, key=_badness), basis=stronger)
    return worst


def _badness(observation: Observation) -> tuple[int, int, float, str, str]:
    """Total enough that the order in which observations come in does not matter."""
    value = observation.value if observation.value is not None else float("-inf")
    strength = _BASIS_STRENGTH[observation.basis]
    return observation.severity.rank, strength, value, observation.evidence, observation.summary


def _more_severe(one: Severity, other: Severity) -> Severity:
    return max(one, other, key=lambda severity: severity.rank)


def _record(kind: str) -> KindRecord | None:
    return KINDS[Kind(kind)] if kind in _KIND_WORDS else None


_KIND_WORDS = frozenset(Kind)


def _title(kind: str, subject: str) -> str:
    record = _record(kind)
    title = record.title if record is not None else kind.replace("_", " ").capitalize()
    return f"{title}: {subject}" if subject else title


class _Run:
    """The changes of one run as they come together."""

    def __init__(self, now: datetime, run_id: str, org_id: str) -> None:
        self._now = now
        self._run_id = run_id
        self._org_id = org_id
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
        else:
            self._regress(finding, observation)

    def reconcile(
        self,
        finding: Finding,
        examined: Examination,
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
        record = _record(finding.kind)
        if record is None:
            return  # no detector knows this kind, so none can have seen it gone
        current = limit_now(finding)
        if current.switched_off:
            self._resolve(finding, ResolveReason.CHECK_OFF)
            return
        look = examined.look(finding.kind, finding.resource_id, finding.subject)
        if look is Look.CLEAR:
            self._clear(finding, record, ResolveReason.CLEARED)
        elif look is Look.HELD and _limit_changed(finding, current):
            self._clear(finding, record, ResolveReason.LIMIT_CHANGED)
        elif look in (Look.HELD, Look.PRESENT) and finding.clear_streak:
            # Clear looks must come in a row. No look at all (blind, not examined) neither counts nor breaks the row.
            self._change(finding, replace(finding, clear_streak=0))

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
            severity=_believed(observation, None),
            basis=observation.basis,
            title=_title(observation.kind, observation.subject),
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
        )
        self.outcomes[key] = Outcome.FILED
        self.changes.append(Change(None, finding))
        self._note(None, finding, TransitionReason.FILED)

    def _refresh(self, finding: Finding, observation: Observation) -> None:
        severity = _more_severe(finding.severity, _believed(observation, finding))
        worse = severity is not finding.severity
        grew = _grew(finding, observation)
        silenced = finding.is_silenced(self._now)
        woken = silenced and worse and not finding.suppressed
        seen = replace(
            self._seen(finding, observation),
            severity=severity,
            raise_count=finding.raise_count + (worse or grew),
        )
        if woken:
            seen = replace(seen, snoozed_until=None, dismissed_reason=None)
        if (worse or grew) and (woken or not silenced):
            seen = _unacknowledged(seen)
        reason = TransitionReason.RAISED if worse else TransitionReason.GREW if grew else None
        self._change(finding, seen, TransitionReason.WOKEN if woken else reason)
        outcome = Outcome.WOKEN if woken else Outcome.SILENCED if silenced else Outcome.REFRESHED
        self.outcomes[finding.key] = outcome

    def _regress(self, finding: Finding, observation: Observation) -> None:
        severity = _believed(observation, finding)
        silenced = finding.is_silenced(self._now)
        woken = silenced and severity.rank > finding.severity.rank and not finding.suppressed
        # A running investigation goes on: were it forgotten here, a second one would start beside it.
        running = finding.investigation_status == InvestigationStatus.RUNNING
        back = replace(
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
        )
        if woken:
            back = replace(back, snoozed_until=None, dismissed_reason=None)
        self._change(finding, _unacknowledged(back), TransitionReason.REGRESSED)
        self.outcomes[finding.key] = Outcome.SILENCED if silenced and not woken else Outcome.REGRESSED

    def _clear(self, finding: Finding, record: KindRecord, reason: ResolveReason) -> None:
        if any(finding.facts.get(name, 0) > 0 for name in record.sticky_facts):
            return  # damage done does not heal, whatever the disk says today
        streak = finding.clear_streak + 1
        if streak >= record.clears_after:
            self._resolve(finding, reason)
        else:
            self._change(finding, replace(finding, clear_streak=streak))

    def _resolve(self, finding: Finding, reason: ResolveReason) -> None:
        closed = replace(
            finding, state=FindingState.RESOLVED, resolved_at=self._now, resolve_reason=reason, clear_streak=0
        )
        self._change(finding, closed, TransitionReason.RESOLVED)

    def _seen(self, finding: Finding, observation: Observation) -> Finding:
        """The finding with what was measured now. True also while it is silenced: quiet hides no facts."""
        return replace(
            finding,
            resource_name=observation.resource_name,
            resource_type=observation.resource_type,
            category=observation.category,
            basis=max(finding.basis, observation.basis, key=_BASIS_STRENGTH.__getitem__),
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
        )

    def _change(self, before: Finding, after: Finding, reason: TransitionReason | None = None) -> None:
        after = replace(
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
            )
        )


def _limit_changed(finding: Finding, current: LimitNow) -> bool:
    return finding.limit is not None and current.limit is not None and current.limit != finding.limit


def _unacknowledged(finding: Finding) -> Finding:
    if finding.acknowledged_at is None:
        return finding
    return replace(finding, acknowledged_at=None, acknowledged_facts={})


def _grew(finding: Finding, observation: Observation) -> bool:
    """Whether a counter behind an open finding went up: since it was acknowledged, else since it was last seen."""
    record = _record(finding.kind)
    if record is None or not record.grows:
        return False
    before = finding.acknowledged_facts if finding.acknowledged_at is not None else finding.facts
    # Facts name what is above zero. A count that was merely not read before wakes once too often; better than never.
    return any(count > before.get(name, 0) for name, count in observation.facts.items())


def _believed(observation: Observation, finding: Finding | None) -> Severity:
    """The severity of an observation in the light of who says so, and of what was there before."""
    severity = observation.severity
    if observation.basis is Basis.MODEL:
        # A second run that reports the same open claim confirms it.
        confirmed = finding is not None and finding.is_open and finding.basis is Basis.MODEL
        return severity if confirmed or severity.rank <= _UNCONFIRMED_MOST.rank else _UNCONFIRMED_MOST
    if finding is not None and severity is Severity.CRITICAL and _came_and_went(finding, observation):
        return Severity.WARNING
    return severity


def _came_and_went(finding: Finding, observation: Observation) -> bool:
    """Whether all that is wrong are counts that were there before, went away by themselves, and are no higher now.

    Needs the verdict of the disk among the facts: without it nothing is made less severe.
    """
    record = _record(finding.kind)
    if record is None or not record.transient_facts or observation.facts.get(VERDICT_FAILED) != 0:
        return False
    if finding.is_open and finding.regression_count == 0:
        return False
    counts = {name: count for name, count in observation.facts.items() if count > 0}
    known = record.transient_facts | record.sticky_facts
    return not record.transient_facts.isdisjoint(counts) and all(
        name in known and name in finding.facts and count <= finding.facts[name] for name, count in counts.items()
    )
