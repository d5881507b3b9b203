"""Findings, read."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from findings.model import Finding, Severity
from findings.rows import storable
from findings.silence_store import SilenceStore
from findings.store import FindingStore, ListPlace
from findings.wanted import Wanted
from patrol.api.access import Access
from patrol.api.asking import RunAccepted, RunWish
from patrol.api.documents.findings import (
    FindingDocument,
    FindingHistoryDocument,
    finding_document,
    history_document,
)
from patrol.api.errors import ApiError
from patrol.api.guards import READ_FINDINGS, RUN, GuardedRoute
from patrol.api.inputs import services_of
from patrol.api.paging import decode_cursor, encode_cursor, invalid_cursor, json_list, json_one, parse_limit
from patrol.api.ready import ReadyAnswers
from patrol.api.routes.runs import Cursor, Limit, ask_for
from patrol.operators.ids import AmbiguousIdError, UnknownIdError, find_finding
from patrol.run.listing import findings_of

router = APIRouter(route_class=GuardedRoute, tags=["findings"])

MOST_FINDINGS = 500
DEFAULT_WITH_RESOLVED = 200


class Listed(BaseModel):
    """Which findings are asked for."""

    state: Wanted | None = Field(None, description="which ones; else active, or all with include_resolved or run_id")
    severity: Severity | None = Field(None, description="only these and worse")
    resource_id: str = Field("", description="only of this resource")
    run_id: str = Field("", description="only what this run changed or was the last to see")
    include_resolved: str = Field("", description="1: all of them, whatever their state")

    @property
    def wanted(self) -> Wanted:
        """In which state."""
        with_resolved = self.include_resolved.casefold() in {"1", "true", "yes"}
        return self.state or (Wanted.ALL if with_resolved or self.run_id else Wanted.ACTIVE)

    @property
    def severities(self) -> list[Severity]:
        """How severe."""
        least = self.severity or Severity.INFO
        return [each for each in Severity if each.rank >= least.rank]

    @property
    def default(self) -> int:
        """How many, where nothing is said."""
        with_resolved = self.wanted in {Wanted.ALL, Wanted.RESOLVED} and not self.run_id
        return DEFAULT_WITH_RESOLVED if with_resolved else MOST_FINDINGS


@router.get("/api/ai/patrol/findings", response_model=list[FindingDocument])
async def list_findings(
    request: Request,
    access: Annotated[Access, Depends(READ_FINDINGS)],
    asked: Annotated[Listed, Query()],
    limit: Limit = "",
    cursor: Cursor = "",
) -> Response:
    """Findings: open before resolved, worst first, newest first. At most 500; X-Next-Cursor: there are more."""
    ready: ReadyAnswers = request.app.state.ready
    question = (access.org_id, request.url.path, request.url.query)
    return await ready.answer(question, partial(_list, request, access.org_id, asked, limit, cursor))


def _list(request: Request, org_id: str, asked: Listed, limit: str, cursor: str) -> Response:
    size = parse_limit(limit, default=asked.default, most=MOST_FINDINGS)
    after = _place(cursor) if cursor else None
    services = services_of(request)
    now = services.clock()
    with services.database.read() as connection:
        silences = SilenceStore(connection, org_id).list_silences(not_over_at=now)
        fits = partial(asked.wanted.fits, silences=silences, now=now)
        if asked.run_id:
            found = _of_run(connection, org_id, storable(asked.run_id), after)
            page = [each for each in found if fits(each) and each.severity in asked.severities]
        else:
            page = _filled(_following(connection, org_id, asked), fits, after, size + 1)
    shown = page[:size]
    cursor = encode_cursor(ListPlace.of(shown[-1])) if len(page) > size else ""
    documents = [finding_document(each, silences, now) for each in shown]
    return json_list(documents, request.url.path, dict(request.query_params), cursor)


@router.get("/api/ai/patrol/findings/{finding_id}", response_model=FindingHistoryDocument)
def get_finding(request: Request, access: Annotated[Access, Depends(READ_FINDINGS)], finding_id: str) -> Response:
    """One finding with all its changes. An id may be cut to a beginning that no other one has."""
    services = services_of(request)
    now = services.clock()
    with services.database.read() as connection:
        store = FindingStore(connection, access.org_id)
        finding = the_finding(store, finding_id)
        changes = store.transitions(finding.id)
        silences = SilenceStore(connection, access.org_id).list_silences(not_over_at=now)
    return json_one(history_document(finding, changes, silences, now))


@router.post("/api/ai/patrol/findings/{finding_id}/investigate", response_model_exclude_none=True)
def investigate(request: Request, access: Annotated[Access, Depends(RUN)], finding_id: str) -> RunAccepted:
    """Asks for a run about the resource of a finding. Who asks again while it goes on gets the same run."""
    services = services_of(request)
    with services.database.read() as connection:
        finding = the_finding(FindingStore(connection, access.org_id), finding_id)
    return ask_for(services, access, RunWish(resource_ids=[finding.resource_id]), finding_id=finding.id)


def the_finding(store: FindingStore, text: str) -> Finding:
    """The finding of this id, or of this beginning. Raises ApiError."""
    try:
        return find_finding(store, storable(text))
    except UnknownIdError as error:
        raise unknown_finding(error) from error
    except AmbiguousIdError as error:
        raise ambiguous_id(error) from error


def unknown_finding(error: UnknownIdError) -> ApiError:
    """The refusal of an id that no finding has."""
    return ApiError(HTTPStatus.NOT_FOUND, "finding_not_found", str(error)[:300])


def ambiguous_id(error: AmbiguousIdError) -> ApiError:
    """The refusal of a beginning that several ids have."""
    details = {"candidates": list(error.candidates)[:50]}
    return ApiError(HTTPStatus.CONFLICT, "ambiguous_id", "Several ids begin so: send more of it", details=details)


Following = Callable[[ListPlace | None, int], list[Finding]]


def _following(connection: Connection, org_id: str, asked: Listed) -> Following:
    store = FindingStore(connection, org_id)

    def following(place: ListPlace | None, count: int) -> list[Finding]:
        return store.list_page(
            count,
            after=place,
            state=asked.wanted.state,
            severities=asked.severities,
            resource_id=storable(asked.resource_id) or None,
        )

    return following


def _filled(following: Following, fits: Callable[[Finding], bool], after: ListPlace | None, size: int) -> list[Finding]:
    """So many that fit: what does not is read over, page by page."""
    page: list[Finding] = []
    while len(page) < size:
        read = following(after, size)
        page.extend(each for each in read if fits(each))
        if len(read) < size:
            break
        after = ListPlace.of(read[-1])
    return page[:size]


def _of_run(connection: Connection, org_id: str, run_id: str, after: ListPlace | None) -> list[Finding]:
    found = sorted(findings_of(connection, org_id, run_id), key=_order)
    return [each for each in found if after is None or _order(each) > _order_of(after)]


def _order(finding: Finding) -> tuple[tuple[int, int], float, str]:
    return _order_of(ListPlace.of(finding))


def _order_of(place: ListPlace) -> tuple[tuple[int, int], float, str]:
    return place.bucket, -place.last_seen_at.timestamp(), place.id


def _place(cursor: str) -> ListPlace:
    match decode_cursor(cursor):
        case [[int(state), int(rank)], str(last_seen_at), str(finding_id)] if state in {0, 1} and -3 <= rank <= 0:
            try:
                at = datetime.fromisoformat(last_seen_at)
            except ValueError as error:
                raise invalid_cursor() from error
            if at.tzinfo is None or not 1970 < at.year < 9999:
                raise invalid_cursor()
            return ListPlace((state, rank), at, storable(finding_id))
        case _:
            raise invalid_cursor()
