"""`pulse_alerts`: alerts of the monitoring system, which are never mirrored as findings, and findings."""

from collections.abc import Iterator

from pydantic import Field

from findings.model import Topic
from patrol.estate.model import Alert
from patrol.tools.answers import AlertRow, AlertsOutput
from patrol.tools.filters import resource_tests
from patrol.tools.finding_rows import findings
from patrol.tools.model import BY_RESOURCE, Call, ResourceFilters, Selector, Tool
from patrol.tools.paging import finished, part_of
from patrol.tools.view import EstateView


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
    severity = call.text("severity").casefold()
    tests = resource_tests(view, call)

    def order(alert: Alert) -> tuple[float, str]:
        return alert.start_time.timestamp() if alert.start_time is not None else 0.0, alert.id

    for alert in sorted(view.estate.alerts, key=order):
        resource = view.names.find(alert.resource_id) if tests else None
        if severity and alert.severity.casefold() != severity:
            continue
        if tests and (resource is None or not all(test(resource) for test in tests)):
            continue
        yield alert


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
