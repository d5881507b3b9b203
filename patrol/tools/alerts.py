"""`pulse_alerts`: alerts of the monitoring system, which are never mirrored as findings, and findings."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import TypeVar

from pydantic import Field

from findings.model import Topic
from patrol.estate.model import Alert, ResolvedAlert
from patrol.tools.answers import AlertRow, AlertsOutput, ResolvedAlertRow, ResolvedAlertsOutput
from patrol.tools.filters import resource_tests
from patrol.tools.finding_rows import findings
from patrol.tools.model import BY_RESOURCE, Call, ResourceFilters, Selector, Tool
from patrol.tools.paging import finished, part_of
from patrol.tools.view import EstateView

AlertT = TypeVar("AlertT", bound=Alert)

RESOLVED_WITHIN = timedelta(hours=24)


class AlertsArguments(ResourceFilters):
    """Arguments of pulse_alerts."""

    action: str = Field(description="what to read")
    severity: str | None = Field(default=None, description="exactly this severity, for example warning or critical")


def list_alerts(view: EstateView, call: Call) -> AlertsOutput:
    """Open alerts by start, oldest first. Filters come before paging."""
    part = part_of(call, view.kept(("alerts", call.filters()), lambda: list(_chosen(view, call))))
    page = AlertsOutput(alerts=[_alert_row(alert) for alert in part.rows], count=len(part.rows))
    return finished(view, call, page, part, [])


def _chosen(view: EstateView, call: Call) -> Iterator[Alert]:
    def order(alert: Alert) -> tuple[float, str]:
        return alert.start_time.timestamp() if alert.start_time is not None else 0.0, alert.id

    return _admitted(view, call, sorted(view.estate.alerts, key=order))


def _admitted(view: EstateView, call: Call, alerts: Iterable[AlertT]) -> Iterator[AlertT]:
    """The alerts that every filter of a call admits, in the order given."""
    severity = call.text("severity").casefold()
    tests = resource_tests(view, call)
    for alert in alerts:
        resource = view.names.find(alert.resource_id) if tests else None
        if severity and alert.severity.casefold() != severity:
            continue
        if tests and (resource is None or not all(test(resource) for test in tests)):
            continue
        yield alert


def resolved(view: EstateView, call: Call) -> ResolvedAlertsOutput:
    """Alerts that ended within 24 hours before the run, the newest end first. When one ended must be known."""

    def order(alert: ResolvedAlert) -> tuple[float, str]:
        return -(alert.resolved_time.timestamp() if alert.resolved_time is not None else 0.0), alert.id

    def chosen() -> list[ResolvedAlert]:
        since = view.now - RESOLVED_WITHIN
        over = [each for each in view.estate.resolved_alerts if each.resolved_time is not None]
        recent = [each for each in over if each.resolved_time is not None and since <= each.resolved_time <= view.now]
        return sorted(_admitted(view, call, recent), key=order)

    part = part_of(call, view.kept(("resolved", call.filters()), chosen))
    page = ResolvedAlertsOutput(alerts=[_resolved_row(view, each) for each in part.rows], total=part.total)
    return finished(view, call, page, part, [])


def _resolved_row(view: EstateView, alert: ResolvedAlert) -> ResolvedAlertRow:
    resource = view.names.find(alert.resource_id)
    return ResolvedAlertRow(
        id=alert.id,
        type=alert.type,
        level=alert.severity,
        resource_id=alert.resource_id,
        resource_name=alert.resource_name,
        node=view.host_name(resource) if resource is not None else "",
        instance=view.instance_of(resource) if resource is not None else "",
        message=alert.message,
        value=alert.value,
        threshold=alert.threshold,
        start_time=alert.start_time,
        resolved_time=alert.resolved_time,
    )


def _alert_row(alert: Alert) -> AlertRow:
    return AlertRow(
        id=alert.id,
        resource_id=alert.resource_id,
        resource_name=alert.resource_name,
        type=alert.type,
        severity=alert.severity,
        value=alert.value,
        threshold=alert.threshold,
        start_time=alert.start_time,
        message=alert.message,
    )


ALERTS = Tool(
    name="pulse_alerts",
    description=(
        "What is known to be wrong: alerts that the monitoring system holds open, and findings that Patrol filed in "
        "earlier runs with their evidence, limit and how often they were seen. Read the findings before reporting one: "
        "what is listed as active is known already, and what is listed as dismissed an operator does not want to hear "
        "of. An alert is the word of another system and is no finding by itself."
    ),
    selector_argument="action",
    arguments=AlertsArguments,
    selectors={
        "list": Selector(
            name="list",
            description="open alerts",
            answer=list_alerts,
            topics=frozenset({Topic.ALERTS}),
            filters=BY_RESOURCE | {"severity"},
        ),
        "resolved": Selector(
            name="resolved",
            description="alerts that ended within the last 24 hours",
            answer=resolved,
            topics=frozenset({Topic.ALERTS}),
            filters=BY_RESOURCE | {"severity"},
            default_limit=50,
        ),
        "findings": Selector(
            name="findings",
            description="open findings of earlier runs: active ones, then those that operators keep quiet",
            answer=findings,
            topics=frozenset({Topic.FINDINGS}),
            filters=BY_RESOURCE | {"severity"},
            default_limit=50,
        ),
    },
)
