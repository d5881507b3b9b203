"""Findings that runs want to have looked into become runs about their resource, through the queue of all runs.

Each is asked about once more when its turn comes: it may be gone, quiet or looked into since.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import Connection

from findings.investigation import Autonomy, InvestigationPolicy, Refusal
from findings.lifecycle import Advance, Change
from findings.model import Finding
from findings.silence_store import SilenceStore
from findings.store import FindingStore
from patrol.settings.model import Settings
from patrol.triggers.model import Depth, Occasion, Trigger, TriggerReason, TriggerScope
from patrol.triggers.queue import Decision, Gates, Rejected
from patrol.work.model import WorkKind, WorkState
from patrol.work.queue import Ids, RunQueue
from patrol.work.store import WorkStore

ASKED_AGAIN_AFTER = timedelta(minutes=5)
"""How long an escalation waits that the queue did not let in: it was full, or Patrol was paused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationRules:
    """What a finding must meet to be looked into now."""

    autonomy: Autonomy
    policy: InvestigationPolicy
    has_model: bool


def rules_of(settings: Settings) -> EscalationRules:
    """Those of the settings."""
    own = settings.investigation
    return EscalationRules(
        autonomy=settings.patrol.autonomy,
        policy=InvestigationPolicy(max_attempts=own.attempts, cool_down=own.cool_down),
        has_model=bool(settings.model.name),
    )


Offered = tuple[Trigger, Decision]


def hand_on(
    connection: Connection, org_id: str, owner: str, now: datetime, gates: Gates, rules: EscalationRules, ids: Ids
) -> list[Offered]:
    """Offers a run for each escalation whose time has come; returns what became of them in the queue."""
    store = WorkStore(connection, org_id)
    offered: list[Offered] = []
    while (work := store.claim(WorkKind.ESCALATION, owner, now)) is not None:
        finding = FindingStore(connection, org_id).find(work.key)
        refusal = _refusal(connection, org_id, finding, now, rules)
        if finding is None or refusal:
            store.fail(work, now, refusal or "there is no such finding any more")
            continue
        trigger = _trigger(finding, now)
        decision = RunQueue(connection, org_id).offer(trigger, now, gates, ids).decision
        offered.append((trigger, decision))
        if isinstance(decision, Rejected):
            store.put_back(work, now, now + ASKED_AGAIN_AFTER, str(decision.reason))
        else:
            store.finish(work, now)
    return offered


def waits(connection: Connection, org_id: str, now: datetime) -> bool:
    """Whether one's time has come."""
    waiting = WorkStore(connection, org_id).list_work(WorkKind.ESCALATION, (WorkState.WAITING,))
    return any(each.not_before is None or each.not_before <= now for each in waiting)


def note_looked_into(connection: Connection, org_id: str, trigger: Trigger, started_at: datetime) -> None:
    """A run about findings has ended with results: they were looked into. Those that are gone are passed over."""
    store = FindingStore(connection, org_id)
    about = {each.finding_id for each in trigger.occasions if each.reason is TriggerReason.ESCALATION}
    found = [finding for finding in map(store.find, sorted(about)) if finding is not None]
    changes = [
        Change(
            finding,
            replace(
                finding,
                last_investigated_at=started_at,
                investigation_attempts=finding.investigation_attempts + 1,
                version=finding.version + 1,
            ),
        )
        for finding in found
    ]
    store.apply(Advance(changes=tuple(changes), transitions=(), outcomes={}))


def _refusal(
    connection: Connection, org_id: str, finding: Finding | None, now: datetime, rules: EscalationRules
) -> str:
    if finding is None:
        return ""
    silences = SilenceStore(connection, org_id).list_silences(not_over_at=now)
    refusal = finding.investigation_refusal(rules.autonomy, now, rules.policy, silences=silences)
    if refusal is None and not rules.has_model:
        refusal = Refusal.NO_MODEL
    return str(refusal or "")


def _trigger(finding: Finding, now: datetime) -> Trigger:
    occasion = Occasion(
        reason=TriggerReason.ESCALATION,
        at=now,
        severity=finding.severity,
        message=finding.title,
        finding_id=finding.id,
    )
    scope = TriggerScope(resource_ids=(finding.resource_id,))
    return Trigger(scope=scope, occasions=(occasion,), depth=Depth.NORMAL)
