"""Alerts as a part of the estate that a run looks at: a model and the read tools see them, no detector judges them."""

from datetime import datetime, timedelta

from sqlalchemy import Connection

from patrol.alerts.model import AlertState, StoredAlert
from patrol.alerts.store import AlertStore
from patrol.estate.model import Alert, Estate, ResolvedAlert

OVER_WITHIN = timedelta(hours=24)
MOST_OVER = 1_000


def add_alerts(connection: Connection, org_id: str, estate: Estate, now: datetime) -> None:
    """Adds what other systems reported to the alerts that the sources read. One of the same id is not said twice."""
    store = AlertStore(connection, org_id)
    known = {alert.id for alert in (*estate.alerts, *estate.resolved_alerts)}
    estate.alerts.extend(_open(alert) for alert in store.list_firing(now) if not known & {alert.id, alert.key})
    over = store.list_over(now, now - OVER_WITHIN, MOST_OVER)
    estate.resolved_alerts.extend(_over(alert, now) for alert in over if not known & {alert.id, alert.key})


def _open(alert: StoredAlert) -> Alert:
    return Alert(
        id=alert.id,
        resource_id=alert.resource_id or alert.called,
        resource_name=alert.resource_name,
        type=alert.type,
        severity=str(alert.severity) if alert.severity is not None else alert.level,
        value=alert.value,
        threshold=alert.threshold,
        start_time=alert.since,
        message=alert.message,
    )


def _over(alert: StoredAlert, now: datetime) -> ResolvedAlert:
    opened = _open(alert)
    expired = alert.state_at(now) is AlertState.EXPIRED
    return ResolvedAlert(
        id=opened.id,
        resource_id=opened.resource_id,
        resource_name=opened.resource_name,
        type=opened.type,
        severity=opened.severity,
        value=opened.value,
        threshold=opened.threshold,
        start_time=opened.start_time,
        message=opened.message,
        resolved_time=alert.expires_at if expired else alert.closed_at,
    )
