"""Which filed findings are to be looked into, and why the others are not, or not yet. Pure.

Filing does not depend on this: a finding that no model reported is filed in every autonomy. Here is only decided
whether an investigation is queued for it: the worst first, one of each cause, a few in a run and in a day.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from findings.investigation import DEFAULT_POLICY, Autonomy, InvestigationPolicy, Refusal
from findings.model import Finding, ResourceId
from findings.silence import Silence
from patrol.run.model_work.model import EscalationRecord, EscalationState

MOST_IN_A_RUN = 5
MOST_IN_A_DAY = 20
"""Days are those of the calendar in UTC, as for the budget."""


class Deferral(StrEnum):
    """Why a finding waits. It is asked again in the next run."""

    GROUP_HAS_ONE = "group_has_one"  # another finding of the same cause is looked into
    RUN_IS_FULL = "run_is_full"
    DAY_IS_FULL = "day_is_full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A filed finding that no model reported, or that waits since an earlier run.

    `group`: its cause (`patrol.run.causes.cause_of`). `dissent`: what the model said against it, "" if nothing.
    """

    finding: Finding
    group: ResourceId
    dissent: str = ""


def escalations(
    candidates: Iterable[Candidate],
    *,
    run_id: str,
    now: datetime,
    autonomy: Autonomy,
    policy: InvestigationPolicy = DEFAULT_POLICY,
    has_model: bool,
    queued_today: int,
    newest: Mapping[str, EscalationRecord],
    silences: Sequence[Silence] = (),
) -> list[EscalationRecord]:
    """What is decided in this run, the worst findings first.

    `newest`: what was last decided of findings, by their ids. What is queued already is not queued again, and what
    was decided the same way before is not recorded again. `queued_today`: since the day began, in earlier runs.
    """
    room = _Room(queued_today)
    decided: list[EscalationRecord] = []
    for candidate in sorted(candidates, key=_worst_first):
        finding, before = candidate.finding, newest.get(candidate.finding.id)
        if before is not None and _is_waiting(before, finding):
            room.groups.add(candidate.group)
            continue
        refusal = finding.investigation_refusal(autonomy, now, policy, silences=silences)
        if refusal is None and not has_model:
            refusal = Refusal.NO_MODEL
        state, reason = (EscalationState.REFUSED, str(refusal)) if refusal is not None else room.take(candidate.group)
        if before is None or state is EscalationState.QUEUED or (before.state, before.reason) != (state, reason):
            decided.append(
                EscalationRecord(
                    id=f"{run_id}.{len(decided) + 1}",
                    run_id=run_id,
                    finding_id=finding.id,
                    group=candidate.group,
                    state=state,
                    reason=reason,
                    dissent=candidate.dissent,
                    at=now,
                )
            )
    return decided


@dataclass(slots=True)
class _Room:
    """How much may still be queued. `groups`: causes of which one is."""

    queued_today: int
    queued: int = 0
    groups: set[ResourceId] = field(default_factory=set)

    def take(self, group: ResourceId) -> tuple[EscalationState, str]:
        """Queues one of this cause, or says why it waits."""
        if group in self.groups:
            return EscalationState.DEFERRED, str(Deferral.GROUP_HAS_ONE)
        if self.queued >= MOST_IN_A_RUN:
            return EscalationState.DEFERRED, str(Deferral.RUN_IS_FULL)
        if self.queued_today + self.queued >= MOST_IN_A_DAY:
            return EscalationState.DEFERRED, str(Deferral.DAY_IS_FULL)
        self.groups.add(group)
        self.queued += 1
        return EscalationState.QUEUED, ""


def _is_waiting(before: EscalationRecord, finding: Finding) -> bool:
    """Whether it is queued and was not looked into since; what came back after it was gone is another trouble."""
    since = (finding.last_investigated_at, finding.last_regression_at)
    return before.state is EscalationState.QUEUED and all(at is None or at <= before.at for at in since)


def _worst_first(candidate: Candidate) -> tuple[int, datetime, str]:
    finding = candidate.finding
    return -finding.severity.rank, finding.first_seen_at, finding.id
