"""Alerts of other systems: taken in by webhooks, listed, looked into. They are never findings."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from findings.model import Severity
from findings.rows import storable
from patrol.alerts.alertmanager import parse_alertmanager, parse_grafana
from patrol.alerts.model import AlertState, AlertSystem, ReportedAlert, StoredAlert
from patrol.alerts.pulse import parse_pulse
from patrol.alerts.reading import AlertFormatError
from patrol.alerts.receiving import Received, receive
from patrol.alerts.store import AlertStore
from patrol.api.access import Access
from patrol.api.asking import RunAccepted, RunWish
from patrol.api.documents.deliveries import delivery_schema
from patrol.api.errors import ApiError
from patrol.api.guards import ALERTS_WRITE, MONITORING_READ, RUN, GuardedRoute
from patrol.api.inputs import Body, Id, body_schema, fitted, read_json, services_of
from patrol.api.log_lines import tell_delivery
from patrol.api.routes.runs import ask_for
from patrol.api.services import Services
from patrol.api.watched import check_watched
from patrol.estate.memory.store import ResourceMemory
from patrol.overrides.store import OverrideStore
from patrol.schedule.upkeep import offer_runs
from patrol.triggers.model import Trigger
from patrol.triggers.queue import Accepted, Decision, Merged, Rejected

router = APIRouter(route_class=GuardedRoute, tags=["alerts"])

MOST_ALERTS = 1_000
LISTED_AFTER_END = timedelta(hours=24)

_PARSERS: dict[AlertSystem, Callable[[object], Iterator[ReportedAlert]]] = {
    AlertSystem.ALERTMANAGER: parse_alertmanager,
    AlertSystem.GRAFANA: parse_grafana,
    AlertSystem.PULSE: parse_pulse,
}


class Delivered(BaseModel):
    """What became of a delivery. `triggers`: how many alerts asked for a run, by what became of that wish."""

    success: Literal[True] = True
    alerts: int
    changes: dict[str, int]
    unplaced: int = Field(description="alerts of which nobody knows the resource: they start no run")
    left_out: int = Field(description="alerts that are not even kept, since there are too many")
    triggers: dict[str, int]


class AlertDocument(BaseModel):
    """One alert. `resource_id` empty: nobody knows which one it is about; `candidates`: those that it may mean."""

    id: str
    system: AlertSystem
    key: str = Field(description="what its own system calls it")
    type: str
    state: AlertState
    severity: Severity | None = Field(description="null: a level that nobody knows, which counts as critical")
    level: str
    resource_id: str
    resource_name: str
    candidates: list[str]
    message: str
    value: float | None
    threshold: float | None
    since: datetime
    reported_at: datetime
    expires_at: datetime
    closed_at: datetime | None
    flapping: bool
    reports: int


class AlertList(BaseModel):
    """Alerts, those that began last first."""

    alerts: list[AlertDocument]
    truncated: bool


class InvestigateWish(Body):
    """Where to look, for an alert of which nobody knows the resource."""

    resource_ids: list[Id] = Field(default_factory=list, max_length=50)


def _webhook(
    system: AlertSystem, parse: Callable[[object], Iterator[ReportedAlert]]
) -> Callable[..., Awaitable[Delivered]]:
    async def webhook(request: Request, access: Annotated[Access, Depends(ALERTS_WRITE)]) -> Delivered:
        """Takes a delivery of this system. What is new asks for a quick look."""
        try:
            reported = list(parse(await read_json(request)))
        except AlertFormatError as error:
            raise ApiError(HTTPStatus.BAD_REQUEST, "invalid_webhook", str(error)) from error
        received = await run_in_threadpool(_take_in, services_of(request), access, reported)
        tell_delivery(system, received)
        return _delivered(received)

    return webhook


# A path each, since what is taken differs.
for _system, _parse in _PARSERS.items():
    router.post(f"/api/alerts/webhook/{_system}", name=f"webhook_{_system}", openapi_extra=delivery_schema(_system))(
        _webhook(_system, _parse)
    )


@router.get("/api/alerts")
def list_alerts(
    request: Request,
    access: Annotated[Access, Depends(MONITORING_READ)],
    include_resolved: Annotated[str, Query(description="1: also those that ended within 24 hours")] = "",
) -> AlertList:
    """The alerts that are there."""
    services = services_of(request)
    now = services.clock()
    with services.database.read() as connection:
        store = AlertStore(connection, access.org_id)
        found = store.list_firing(now, MOST_ALERTS + 1)
        if include_resolved.casefold() in {"1", "true", "yes"}:
            found += store.list_over(now, now - LISTED_AFTER_END, MOST_ALERTS + 1)
    shown = [alert_document(each, now) for each in found[:MOST_ALERTS]]
    return AlertList(alerts=shown, truncated=len(found) > MOST_ALERTS)


@router.get("/api/alerts/{alert_id}")
def get_alert(request: Request, access: Annotated[Access, Depends(MONITORING_READ)], alert_id: str) -> AlertDocument:
    """One alert, also one that is over."""
    services = services_of(request)
    return alert_document(_find(services, access, alert_id), services.clock())


@router.post(
    "/api/alerts/{alert_id}/investigate",
    response_model_exclude_none=True,
    openapi_extra=body_schema(InvestigateWish, required=False),
)
async def investigate(request: Request, access: Annotated[Access, Depends(RUN)], alert_id: str) -> RunAccepted:
    """Asks for a run about the resource of an alert. Who asks again while it goes on gets the same run."""
    wish = fitted(InvestigateWish, await read_json(request, empty={}), "invalid_request")
    return await run_in_threadpool(_look_into, services_of(request), access, alert_id, wish)


def _look_into(services: Services, access: Access, alert_id: str, wish: InvestigateWish) -> RunAccepted:
    alert = _find(services, access, alert_id)
    asked = RunWish(resource_ids=wish.resource_ids, alert_identifier=alert.id, alert_type=alert.type)
    return ask_for(services, access, asked)


def _find(services: Services, access: Access, alert_id: str) -> StoredAlert:
    with services.database.read() as connection:
        found = AlertStore(connection, access.org_id).find(storable(alert_id))
    if found is None:
        raise ApiError(HTTPStatus.NOT_FOUND, "alert_not_found", f"No alert is called {alert_id[:200]}")
    return found


def _take_in(services: Services, access: Access, reported: list[ReportedAlert]) -> Received:
    check_watched(access)
    offered: list[tuple[Trigger, Decision]] = []

    def work(connection: Connection) -> Received:
        offered.clear()
        now = services.clock()
        triggers = OverrideStore(connection, access.org_id).in_force(services.settings()).settings.triggers
        memory = ResourceMemory(connection, access.org_id).load()

        def offer(wanted: Sequence[Trigger]) -> Iterator[str]:
            found = offer_runs(connection, access.org_id, wanted, now, triggers, services.ids)
            offered.extend(zip(wanted, (each.decision for each in found), strict=True))
            return (_word(each.decision) for each in found)

        return receive(connection, access.org_id, reported, memory, now, offer)

    received = services.database.transact(work)
    for trigger, decision in offered:
        services.observer.trigger(trigger, decision)
    services.nudge()
    return received


def _delivered(received: Received) -> Delivered:
    return Delivered(
        alerts=received.alerts,
        changes={str(change): count for change, count in received.changes.items()},
        unplaced=received.unplaced,
        left_out=received.left_out,
        triggers=dict(received.triggers),
    )


def _word(decision: Decision) -> str:
    if isinstance(decision, Rejected):
        return str(decision.reason)
    return "accepted" if isinstance(decision, Accepted) else "merged" if isinstance(decision, Merged) else "under_way"


def alert_document(alert: StoredAlert, now: datetime) -> AlertDocument:
    """An alert as it is served."""
    values: dict[str, Any] = {
        name: getattr(alert, name)
        for name in AlertDocument.model_fields
        if name not in {"state", "candidates", "flapping"}
    }
    return AlertDocument(
        **values,
        state=alert.state_at(now),
        candidates=list(alert.candidates),
        flapping=alert.flapping_since is not None,
    )
