"""The run that a change of an alert asks for. Pure."""

from datetime import datetime

from patrol.alerts.lifecycle import AlertChange
from patrol.alerts.model import StoredAlert
from patrol.triggers.model import Depth, Occasion, Trigger, TriggerReason, TriggerScope

_REASONS = {
    AlertChange.FIRED: TriggerReason.ALERT_FIRED,
    AlertChange.CLEARED: TriggerReason.ALERT_CLEARED,
    AlertChange.FLAPPING: TriggerReason.ALERT_FLAPPING,
}


def trigger_of(alert: StoredAlert, change: AlertChange, now: datetime) -> Trigger | None:
    """A quick look at the resource of an alert; None where nothing is new, or nobody knows which resource it is."""
    reason = _REASONS.get(change)
    if reason is None or not alert.resource_id:
        return None
    return Trigger(
        scope=TriggerScope(resource_ids=(alert.resource_id,)),
        occasions=(occasion_of(alert, reason, now),),
        depth=Depth.QUICK,
    )


def occasion_of(alert: StoredAlert, reason: TriggerReason, now: datetime) -> Occasion:
    """What an alert says, as the reason of a run."""
    return Occasion(
        reason=reason,
        at=now,
        alert_id=alert.id,
        alert_type=alert.type,
        severity=alert.severity,
        value=alert.value,
        limit=alert.threshold,
        message=alert.message,
    )
