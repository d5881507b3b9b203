"""Rules for what nobody wants to hear of, and what is said of a resource as a whole."""

from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field

from findings.rows import storable
from findings.silence import Silence, SilenceError, SilenceKind, SilenceState
from findings.silence_store import SilenceEndedError, SilenceStore
from patrol.api.access import Access
from patrol.api.errors import ApiError
from patrol.api.guards import MONITORING_READ, MONITORING_WRITE, READ, GuardedRoute
from patrol.api.inputs import Body, Id, Instant, Note, Truth, services_of
from patrol.api.watched import check_watched
from patrol.operators.ids import AmbiguousIdError, UnknownIdError
from patrol.operators.resources import AmbiguousResourceError, UnknownResourceError
from patrol.operators.silences import Wish, add_silence, end_silence
from patrol.operators.state import (
    OperatorState,
    StateWish,
    Window,
    clear_operator_state,
    operator_state,
    set_operator_state,
)

router = APIRouter(route_class=GuardedRoute, tags=["silences"])


class SilenceDocument(BaseModel):
    """One silence. `ends_at` null: until it is ended."""

    id: str
    state: SilenceState
    kind: SilenceKind
    resource_id: str
    resource_name: str
    finding_kind: str
    starts_at: datetime
    ends_at: datetime | None
    reason: str
    author: str
    created_at: datetime
    ended_at: datetime | None
    ended_by: str


def _said(field: str) -> dict[str, Any]:
    """The description of a text that is there and not empty."""
    return {"required": [field], "properties": {field: {"type": "string", "minLength": 1}}}


class RuleWish(Body):
    """A rule: about a resource, a kind of finding, or a kind on a resource. Without an end it holds until somebody
    ends it.
    """

    model_config = ConfigDict(json_schema_extra={"anyOf": [_said("resource_id"), _said("kind")]})

    resource_id: Id | Literal[""] = Field("", description="id or unambiguous name; empty: any resource")
    kind: Id | Literal[""] = Field("", description="kind of finding; empty: any kind")
    reason: Note = Field(min_length=1)
    until: Instant | None = None


class MaintenanceWish(Body):
    """A time of maintenance. `starts_at` null: now."""

    starts_at: Instant | None = None
    ends_at: Instant


class OperatorStateWish(Body):
    """All that is to be said of the resource from now on: what is left out ends."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": ["intentionally_offline"], "properties": {"intentionally_offline": {"const": True}}},
                {"required": ["maintenance"], "properties": {"maintenance": {"type": "object"}}},
            ]
        }
    )

    intentionally_offline: Truth = False
    maintenance: MaintenanceWish | None = None
    reason: Note = ""


class OperatorStateDocument(BaseModel):
    """What is said of a resource, and of all that lives on it."""

    resource_id: str
    resource_name: str
    intentionally_offline: bool
    offline: SilenceDocument | None
    maintenance: SilenceDocument | None


@router.get("/api/ai/patrol/suppressions")
def list_suppressions(request: Request, access: Annotated[Access, Depends(READ)]) -> list[SilenceDocument]:
    """The rules that are in force or to come, the oldest first."""
    services = services_of(request)
    now = services.clock()
    with services.database.read() as connection:
        found = SilenceStore(connection, access.org_id).list_silences(not_over_at=now)
    return [silence_document(each, now) for each in found if each.kind is SilenceKind.SUPPRESSION]


@router.post("/api/ai/patrol/suppressions", status_code=HTTPStatus.CREATED)
def add_suppression(request: Request, access: Annotated[Access, Depends(READ)], body: RuleWish) -> SilenceDocument:
    """Makes a rule."""
    check_watched(access)
    services = services_of(request)
    now = services.clock()
    wish = Wish(
        kind=SilenceKind.SUPPRESSION,
        resource=body.resource_id,
        finding_kind=body.kind,
        ends_at=body.until,
        reason=body.reason,
    )
    try:
        made = add_silence(services.database, access.org_id, wish, now=now, author=access.name, ids=services.ids)
    except SilenceError as error:
        raise _invalid(error, "invalid_suppression") from error
    return silence_document(made, now)


@router.delete("/api/ai/patrol/suppressions/{silence_id}")
def end_suppression(request: Request, access: Annotated[Access, Depends(READ)], silence_id: str) -> SilenceDocument:
    """Ends a rule. It stays in the record."""
    services = services_of(request)
    now = services.clock()
    text = storable(silence_id)
    try:
        ended = end_silence(services.database, access.org_id, text, now=now, author=access.name)
    except UnknownIdError as error:
        raise ApiError(HTTPStatus.NOT_FOUND, "suppression_not_found", str(error)[:300]) from error
    except AmbiguousIdError as error:
        raise ApiError(HTTPStatus.CONFLICT, "ambiguous_id", "Several ids begin so: send more of it") from error
    except SilenceEndedError as error:
        raise ApiError(HTTPStatus.CONFLICT, "suppression_ended", "It has ended already") from error
    return silence_document(ended, now)


@router.get("/api/resources/{resource_id}/operator-state")
def get_state(
    request: Request, access: Annotated[Access, Depends(MONITORING_READ)], resource_id: str
) -> OperatorStateDocument:
    """What is said of a resource. 404 where nothing is."""
    services = services_of(request)
    now = services.clock()
    try:
        with services.database.read() as connection:
            found = operator_state(connection, access.org_id, storable(resource_id), now)
    except (UnknownResourceError, AmbiguousResourceError) as error:
        raise unknown_resource(error) from error
    return _document(_is_set(found), now)


@router.put("/api/resources/{resource_id}/operator-state")
def put_state(
    request: Request,
    access: Annotated[Access, Depends(MONITORING_WRITE)],
    resource_id: str,
    body: OperatorStateWish,
) -> OperatorStateDocument:
    """Says that a resource is off on purpose, or being worked on. Nothing about it, or on it, is told meanwhile."""
    services = services_of(request)
    now = services.clock()
    window = body.maintenance
    if window is not None and window.ends_at <= now:
        raise _invalid(SilenceError("ends_at", "it would be over already: give a time to come"))
    wish = StateWish(
        offline=body.intentionally_offline,
        maintenance=Window(starts_at=window.starts_at, ends_at=window.ends_at) if window is not None else None,
        reason=body.reason or "set by an operator",
    )
    if not wish.offline and window is None:
        raise _invalid(SilenceError("intentionally_offline", "say something, or DELETE what is said"))
    try:
        found = set_operator_state(
            services.database,
            access.org_id,
            storable(resource_id),
            wish,
            now=now,
            author=access.name,
            ids=services.ids,
        )
    except SilenceError as error:
        raise _invalid(error) from error
    except (UnknownResourceError, AmbiguousResourceError) as error:
        raise unknown_resource(error) from error
    return _document(found, now)


@router.delete("/api/resources/{resource_id}/operator-state")
def delete_state(
    request: Request, access: Annotated[Access, Depends(MONITORING_WRITE)], resource_id: str
) -> OperatorStateDocument:
    """Ends all that is said of a resource; the answer is what was said. 404 where nothing was."""
    services = services_of(request)
    now = services.clock()
    try:
        found = clear_operator_state(
            services.database, access.org_id, storable(resource_id), now=now, author=access.name
        )
    except (UnknownResourceError, AmbiguousResourceError) as error:
        raise unknown_resource(error) from error
    return _document(_is_set(found), now)


def silence_document(silence: Silence, now: datetime) -> SilenceDocument:
    """A silence as it is served."""
    return SilenceDocument(
        id=silence.id,
        state=silence.state(now),
        kind=silence.kind,
        resource_id=silence.resource_id,
        resource_name=silence.resource_name,
        finding_kind=silence.finding_kind,
        starts_at=silence.starts_at,
        ends_at=silence.ends_at,
        reason=silence.reason,
        author=silence.author,
        created_at=silence.created_at,
        ended_at=silence.ended_at,
        ended_by=silence.ended_by,
    )


def unknown_resource(error: UnknownResourceError | AmbiguousResourceError) -> ApiError:
    """The refusal of a name that no resource has, or that several have."""
    if isinstance(error, AmbiguousResourceError):
        details = {"candidates": list(error.candidates)[:50]}
        return ApiError(HTTPStatus.CONFLICT, "resource_ambiguous", str(error)[:1_000], details=details)
    return ApiError(HTTPStatus.NOT_FOUND, "resource_not_found", str(error)[:400])


def _is_set(state: OperatorState) -> OperatorState:
    if not state.is_set:
        message = f"Nothing is said of {state.resource.id}"
        raise ApiError(HTTPStatus.NOT_FOUND, "operator_state_not_set", message)
    return state


def _document(state: OperatorState, now: datetime) -> OperatorStateDocument:
    return OperatorStateDocument(
        resource_id=state.resource.id,
        resource_name=state.resource.name,
        intentionally_offline=state.offline is not None,
        offline=silence_document(state.offline, now) if state.offline is not None else None,
        maintenance=silence_document(state.maintenance, now) if state.maintenance is not None else None,
    )


def _invalid(error: SilenceError, code: str = "operator_state_invalid") -> ApiError:
    details = {"fields": {error.field: str(error)}}
    return ApiError(
        HTTPStatus.BAD_REQUEST, code, f"Not as it should be: {error.field}: {error}"[:1_000], details=details
    )
