"""Settings, the pause, and how far Patrol may go by itself."""

from datetime import timedelta
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from findings.investigation import Autonomy
from patrol.api import changing
from patrol.api.access import Access
from patrol.api.changing import AUTONOMY, InForce, document, flattened
from patrol.api.documents.changes import PATCH_SCHEMA
from patrol.api.documents.settings import (
    AcknowledgementDocument,
    SettingsDocument,
    acknowledgement_document,
)
from patrol.api.errors import ApiError
from patrol.api.guards import SETTINGS_READ, SETTINGS_WRITE, GuardedRoute
from patrol.api.inputs import Body, Id, Instant, Note, Truth, Whole, fitted, read_json, services_of
from patrol.api.log_lines import tell_paused, tell_resumed, tell_stored
from patrol.api.services import Services
from patrol.api.watched import check_watched
from patrol.overrides.model import TERMS, TERMS_VERSION
from patrol.overrides.store import OverrideStore
from patrol.schedule.pauses import pause, resume

router = APIRouter(route_class=GuardedRoute, tags=["settings"])

BUDGET, TIMEOUT = "investigation.evidence_calls", "investigation.timeout"
LEAST_CALLS, MOST_CALLS = 5, 30
LEAST_SECONDS, MOST_SECONDS = 60, 1_800


class PauseWish(Body):
    """A pause. `until` null: until somebody resumes."""

    until: Instant | None = None
    reason: Note = ""


class PauseField(Body):
    """The part of a change that is no setting."""

    paused: Truth | PauseWish | None = None


class AutonomyWish(Body):
    """How far Patrol may go. Numbers outside of their bounds count as the nearest one inside."""

    autonomy_level: Autonomy | None = None
    full_mode_unlocked: Truth | None = Field(None, description="without effect: only an acknowledgement opens full")
    acknowledgement_id: Id | None = Field(None, description="needed for full")
    investigation_budget: Whole | None = None
    investigation_timeout_sec: Whole | None = None


class AutonomyDocument(BaseModel):
    """How far Patrol may go. `effective`: with full and no current acknowledgement, changes wait for an approval."""

    autonomy_level: Autonomy
    requested_autonomy_level: Autonomy
    effective_autonomy_level: Autonomy
    full_mode_unlocked: bool
    autopilot_acknowledgement: AcknowledgementDocument | None
    acknowledgement_terms: str
    investigation_budget: int
    investigation_timeout_sec: int
    origin: str


class TermsWish(Body):
    """The version of the words that are acknowledged, so that nobody acknowledges what was not read."""

    terms_version: Whole


@router.get("/api/settings")
def get_settings(request: Request, access: Annotated[Access, Depends(SETTINGS_READ)]) -> SettingsDocument:
    """The settings that can be changed here, each with where it was set. Environment, stored, file, default."""
    services = services_of(request)
    with services.database.read() as connection:
        return document(services, connection, access.org_id)


@router.patch("/api/settings", openapi_extra=PATCH_SCHEMA)
async def patch_settings(request: Request, access: Annotated[Access, Depends(SETTINGS_WRITE)]) -> SettingsDocument:
    """Stores settings, all of them or none. They hold from the next run on."""
    body = await read_json(request)
    if not isinstance(body, dict):
        raise ApiError(HTTPStatus.BAD_REQUEST, "invalid_settings", "The body has to be an object")
    wanted = fitted(PauseField, {"paused": body.pop("paused", None)}, "invalid_settings").paused
    return await run_in_threadpool(_patch, services_of(request), access, flattened(body), wish=wanted)


def _patch(
    services: Services, access: Access, values: dict[str, Any], *, wish: bool | PauseWish | None
) -> SettingsDocument:
    check_watched(access)
    now = services.clock()
    wanted = PauseWish() if wish is True else wish
    if isinstance(wanted, PauseWish) and wanted.until is not None and wanted.until <= now:
        fields = {"paused.until": "it would be over already: give a time to come"}
        raise ApiError(
            HTTPStatus.BAD_REQUEST, "invalid_settings", "Not as it should be: paused.until", details={"fields": fields}
        )
    if values:
        services.database.transact(lambda connection: changing.store(services, access, connection, values))
        tell_stored(values, access.name)
    if isinstance(wanted, PauseWish):
        pause(
            services.database,
            access.org_id,
            now=now,
            until=wanted.until,
            reason=wanted.reason,
            author=access.name,
            ids=services.ids,
        )
        tell_paused(wanted.until, access.name)
    elif wanted is False:
        resume(services.database, access.org_id, now=now, author=access.name)
        tell_resumed(access.name)
    services.settings_changed()
    with services.database.read() as connection:
        return document(services, connection, access.org_id)


@router.get("/api/ai/patrol/autonomy")
def get_autonomy(request: Request, access: Annotated[Access, Depends(SETTINGS_WRITE)]) -> AutonomyDocument:
    """How far Patrol may go by itself."""
    services = services_of(request)
    with services.database.read() as connection:
        return _autonomy(services, connection, access)


@router.put("/api/ai/patrol/autonomy")
def put_autonomy(
    request: Request, access: Annotated[Access, Depends(SETTINGS_WRITE)], body: AutonomyWish
) -> AutonomyDocument:
    """Changes how far Patrol may go by itself. `full` needs the id of a current acknowledgement."""
    check_watched(access)
    services = services_of(request)
    values: dict[str, Any] = {}
    if body.autonomy_level is not None:
        values[AUTONOMY] = str(body.autonomy_level)
    if body.investigation_budget is not None:
        values[BUDGET] = min(max(body.investigation_budget, LEAST_CALLS), MOST_CALLS)
    if body.investigation_timeout_sec is not None:
        values[TIMEOUT] = f"{min(max(body.investigation_timeout_sec, LEAST_SECONDS), MOST_SECONDS)}s"

    def work(connection: Connection) -> AutonomyDocument:
        if body.autonomy_level is Autonomy.FULL:
            current = OverrideStore(connection, access.org_id).current_acknowledgement()
            if current is None or current.id != body.acknowledgement_id:
                raise changing.unacknowledged()
        changing.store(services, access, connection, values)
        return _autonomy(services, connection, access)

    found = services.database.transact(work)
    tell_stored(values, access.name)
    services.settings_changed()
    return found


@router.post("/api/ai/patrol/autonomy/acknowledgement", status_code=HTTPStatus.CREATED)
def acknowledge_autonomy(
    request: Request, access: Annotated[Access, Depends(SETTINGS_WRITE)], body: TermsWish
) -> AcknowledgementDocument:
    """Says to have understood what autonomy `full` means. Its id opens `full`."""
    check_watched(access)
    services = services_of(request)
    if body.terms_version != TERMS_VERSION:
        details = {"terms_version": TERMS_VERSION, "terms": TERMS}
        message = f"The words are of version {TERMS_VERSION}: read them, and send that number"
        raise ApiError(HTTPStatus.CONFLICT, "terms_changed", message, details=details)
    made = services.database.transact(
        lambda connection: OverrideStore(connection, access.org_id).acknowledge(
            now=services.clock(), author=access.name, ids=services.ids
        )
    )
    services.settings_changed()
    found = acknowledgement_document(made)
    assert found is not None  # noqa: S101 - one was given
    return found


class Withdrawn(BaseModel):
    """Nobody stands for autonomy `full` any more."""

    success: Literal[True] = True


@router.delete("/api/ai/patrol/autonomy/acknowledgement")
def withdraw_acknowledgement(request: Request, access: Annotated[Access, Depends(SETTINGS_WRITE)]) -> Withdrawn:
    """Takes the acknowledgement back: from the next run on, changes wait for an approval."""
    services = services_of(request)
    services.database.transact(
        lambda connection: OverrideStore(connection, access.org_id).withdraw(now=services.clock(), author=access.name)
    )
    services.settings_changed()
    return Withdrawn()


def _autonomy(services: Services, connection: Connection, access: Access) -> AutonomyDocument:
    found = InForce.read(services, connection, access.org_id)
    settings, given = found.loaded.settings, found.given
    requested = found.stored.get(AUTONOMY, given.settings.patrol.autonomy)
    timeout: timedelta = settings.investigation.timeout
    return AutonomyDocument(
        autonomy_level=Autonomy(requested),
        requested_autonomy_level=Autonomy(requested),
        effective_autonomy_level=settings.patrol.autonomy,
        full_mode_unlocked=found.acknowledgement is not None,
        autopilot_acknowledgement=acknowledgement_document(found.acknowledgement),
        acknowledgement_terms=TERMS,
        investigation_budget=settings.investigation.evidence_calls,
        investigation_timeout_sec=int(timeout.total_seconds()),
        origin=str(found.loaded.origin(AUTONOMY).kind),
    )
