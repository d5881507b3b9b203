"""Reminders: what an operator wanted to hear of again by now is active again, also where no run comes by."""

from datetime import datetime

from sqlalchemy import Connection

from findings.assembly import changed
from findings.lifecycle import Advance, Change
from findings.model import Finding, FindingState, Transition, TransitionReason
from findings.silence import own_quiet
from findings.store import FindingStore
from findings.waking import reminded
from patrol.database import Database


def remind(database: Database, org_id: str, now: datetime) -> list[Finding]:
    """Wakes the open findings whose reminder is due, and returns them as they are now. Raises StorageError.

    A run does the same for what it looks at; a reminder of what is resolved is out of date, and stays unsaid.
    """

    def work(connection: Connection) -> list[Finding]:
        store = FindingStore(connection, org_id)
        due = [finding for finding in store.list_findings(state=FindingState.OPEN) if _is_due(finding, now)]
        woken = [changed(reminded(finding), version=finding.version + 1) for finding in due]
        changes = [Change(before, after) for before, after in zip(due, woken, strict=True)]
        told = tuple(_told(change, now) for change in changes)
        store.apply(Advance(changes=tuple(changes), transitions=told, outcomes={}))
        return woken

    return database.transact(work)


def _is_due(finding: Finding, now: datetime) -> bool:
    at = finding.remind_at
    return finding.is_dismissed and not finding.suppressed and at is not None and at <= now


def _told(change: Change, now: datetime) -> Transition:
    """The event: neither of a run nor of an operator, but of the day that one named."""
    before, after = change.before or change.after, change.after
    old, new = own_quiet(before, now), own_quiet(after, now)
    return Transition(
        finding_id=after.id,
        version=after.version,
        run_id="",
        old_state=before.state,
        new_state=after.state,
        reason=TransitionReason.REMINDED,
        resolve_reason=after.resolve_reason,
        old_severity=before.severity,
        new_severity=after.severity,
        at=now,
        old_quiet=old.reason if old is not None else None,
        new_quiet=new.reason if new is not None else None,
    )
