"""What becomes of findings when two resources turn out to be one. Pure.

A finding of the id that was given up moves to the kept one; where the kept one has a finding of the same kind and
subject, the two become one, and no word of either is lost.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from findings.identity import finding_key
from findings.investigation import InvestigationStatus
from findings.lifecycle import Change
from findings.model import Basis, Finding, ResourceId, Transition, TransitionReason
from findings.silence import own_quiet


class Absorbed(NamedTuple):
    """A finding that ends as part of another. Its transitions go there, their versions raised by `offset`."""

    finding_id: str
    into: str
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Union:
    """What changes. To be written in this order: transitions of the absorbed move, they are deleted, changes."""

    absorbed: tuple[Absorbed, ...]
    changes: tuple[Change, ...]
    transitions: tuple[Transition, ...]


def unite_findings(
    kept: Iterable[Finding], retired: Iterable[Finding], resource_id: ResourceId, now: datetime, *, run_id: str
) -> Union:
    """Moves the findings of a retired id to `resource_id`, whose own ones are `kept`.

    Of two about the same kind and subject the older one's id stays; one that is open wins, the severity is the worse
    of two in the same state, numbers are those last seen, counts are added up. What an operator said of either
    holds, unless the other one is open and more severe (only a suppression holds even then).
    """
    own = {(each.kind, each.subject): each for each in kept}
    absorbed: list[Absorbed] = []
    changes: list[Change] = []
    for moved in retired:
        twin = own.get((moved.kind, moved.subject))
        if twin is None:
            changes.append(Change(moved, _at(moved, resource_id)))
            continue
        older, younger = sorted((twin, moved), key=lambda each: (each.first_seen_at, each.resource_id != resource_id))
        absorbed.append(Absorbed(younger.id, older.id, older.version))
        changes.append(Change(older, _united(older, younger, resource_id)))
    new_homes = {each.finding_id: each.into for each in absorbed}
    changes = [Change(before, _with_parent(after, new_homes)) for before, after in changes]
    return Union(
        absorbed=tuple(absorbed),
        changes=tuple(changes),
        transitions=tuple(_transition(change.before, change.after, now, run_id) for change in changes if change.before),
    )


def _at(finding: Finding, resource_id: ResourceId) -> Finding:
    key = finding_key(resource_id, finding.kind, finding.subject)
    return replace(finding, resource_id=resource_id, key=key, version=finding.version + 1)


def _with_parent(finding: Finding, new_homes: dict[str, str]) -> Finding:
    """None explains itself, and none is explained by one that has become part of another."""
    parent = new_homes.get(finding.parent_finding, finding.parent_finding)
    return replace(finding, parent_finding="" if parent == finding.id else parent)


def _united(older: Finding, younger: Finding, resource_id: ResourceId) -> Finding:
    # An open one says more of today than a resolved one, whenever either was last seen.
    earlier, later = sorted((older, younger), key=lambda each: (each.is_open, each.last_seen_at))
    worse = max(older, younger, key=lambda each: each.severity.rank).severity
    severity = worse if earlier.state is later.state else later.severity
    regressed = [each.last_regression_at for each in (older, younger) if each.last_regression_at is not None]
    confirmed = [each.confirmed_at for each in (older, younger) if each.confirmed_at is not None]
    united = replace(
        later,
        id=older.id,
        severity=severity,
        basis=_stronger(older.basis, younger.basis),
        facts={**earlier.facts, **later.facts},
        first_seen_at=older.first_seen_at,
        last_seen_at=max(older.last_seen_at, younger.last_seen_at),
        times_raised=older.times_raised + younger.times_raised,
        raise_count=older.raise_count + younger.raise_count,
        regression_count=older.regression_count + younger.regression_count,
        last_regression_at=max(regressed, default=None),
        clear_streak=min(older.clear_streak, younger.clear_streak),
        user_note="\n".join(dict.fromkeys(each.user_note for each in (older, younger) if each.user_note)),
        version=older.version + younger.version,
        confirmed_at=min(confirmed, default=None),
        unconfirmed_runs=min(older.unconfirmed_runs, younger.unconfirmed_runs),
    )
    united = _as_investigated(_as_acknowledged(united, older, younger), older, younger)
    return _at(_as_quiet(united, earlier, later), resource_id)


def _stronger(one: Basis, other: Basis) -> Basis:
    order = (Basis.MODEL, Basis.OPERATOR, Basis.DETECTOR)
    return max(one, other, key=order.index)


def _as_acknowledged(united: Finding, older: Finding, younger: Finding) -> Finding:
    said = [each for each in (older, younger) if each.acknowledged_at is not None]
    if not said:
        return united
    last = max(said, key=lambda each: each.acknowledged_at or each.first_seen_at)
    return replace(
        united,
        acknowledged_at=last.acknowledged_at,
        acknowledged_by=last.acknowledged_by,
        acknowledged_facts=last.acknowledged_facts,
    )


def _as_investigated(united: Finding, older: Finding, younger: Finding) -> Finding:
    """One that is under way goes on: were it forgotten, a second one would start beside it."""
    last = max(
        (older, younger),
        key=lambda each: (
            each.investigation_status is InvestigationStatus.RUNNING,
            each.last_investigated_at is not None,
            each.last_investigated_at or each.first_seen_at,
        ),
    )
    return replace(
        united,
        investigation_status=last.investigation_status,
        investigation_outcome=last.investigation_outcome,
        investigation_attempts=max(older.investigation_attempts, younger.investigation_attempts),
        last_investigated_at=last.last_investigated_at,
    )


def _as_quiet(united: Finding, earlier: Finding, later: Finding) -> Finding:
    said = [each for each in (earlier, later) if each.suppressed or each.is_dismissed or each.snoozed_until is not None]
    if not said:
        return united
    last = max(said, key=lambda each: (each.suppressed, each.silenced_at or each.first_seen_at))
    if not last.suppressed and united.is_open and united.severity.rank > last.severity.rank:
        return replace(
            united,
            snoozed_until=None,
            dismissed_reason=None,
            suppressed=False,
            silenced_at=None,
            silenced_by="",
            silence_note="",
            remind_at=None,
        )
    return replace(
        united,
        snoozed_until=last.snoozed_until,
        dismissed_reason=last.dismissed_reason,
        suppressed=last.suppressed,
        silenced_at=last.silenced_at,
        silenced_by=last.silenced_by,
        silence_note=last.silence_note,
        remind_at=last.remind_at,
        remind_count=last.remind_count,
    )


def _transition(before: Finding, after: Finding, now: datetime, run_id: str) -> Transition:
    was, is_now = own_quiet(before, now), own_quiet(after, now)
    return Transition(
        finding_id=after.id,
        version=after.version,
        run_id=run_id,
        old_state=before.state,
        new_state=after.state,
        reason=TransitionReason.UNITED,
        resolve_reason=after.resolve_reason,
        old_severity=before.severity,
        new_severity=after.severity,
        at=now,
        old_quiet=was.reason if was is not None else None,
        new_quiet=is_now.reason if is_now is not None else None,
    )
