"""What a run decided to have looked into is work for whoever has its time: written with the decision, or not at all."""

from collections.abc import Iterable

from sqlalchemy import Connection

from patrol.run.model_work.model import EscalationRecord, EscalationState
from patrol.work.model import Work, WorkKind
from patrol.work.store import WorkStore

MOST_ATTEMPTS = 3


def enqueue_escalations(connection: Connection, org_id: str, decided: Iterable[EscalationRecord]) -> None:
    """Puts the queued ones into the table of work, by finding: one that waits already serves the new one too."""
    store = WorkStore(connection, org_id)
    for each in decided:
        if each.state is EscalationState.QUEUED:
            store.enqueue(
                Work(
                    org_id=org_id,
                    id=each.id,
                    kind=WorkKind.ESCALATION,
                    key=each.finding_id,
                    enqueued_at=each.at,
                    most_attempts=MOST_ATTEMPTS,
                )
            )
