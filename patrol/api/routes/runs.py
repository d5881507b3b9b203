"""Runs: asking for one, and reading what became of them."""

from datetime import datetime
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from findings.rows import storable
from patrol.alerts.store import AlertStore
from patrol.api.access import Access
from patrol.api.asking import RunAccepted, RunWish, ask, wanted_run
from patrol.api.documents.runs import Beside, InDetail, RunDocument, run_document, waiting_document
from patrol.api.errors import ApiError
from patrol.api.guards import READ, RUN, GuardedRoute
from patrol.api.inputs import Instant, body_schema, fitted, read_json, services_of
from patrol.api.paging import decode_cursor, encode_cursor, invalid_cursor, json_list, json_one, parse_limit
from patrol.api.services import Services
from patrol.api.watched import check_watched
from patrol.estate.memory.store import ResourceMemory
from patrol.run.listing import RunPlace, finding_ids_of, list_page, tool_call_counts
from patrol.run.model_work.store import ModelWorkStore
from patrol.run.record_model import RunRecord
from patrol.run.store import RunStore
from patrol.work.model import WorkState
from patrol.work.queue import Offered, decode
from patrol.work.store import WorkStore

router = APIRouter(route_class=GuardedRoute, tags=["runs"])

DEFAULT_RUNS, MOST_RUNS = 30, 100
DEFAULT_HISTORY = 100

Cursor = Annotated[str, Query(description="X-Next-Cursor of the page before", max_length=1_000)]
Limit = Annotated[str, Query(description="how many at most; what is no number above 0 counts as not said")]


@router.post(
    "/api/ai/patrol/run",
    response_model_exclude_none=True,
    openapi_extra=body_schema(RunWish, required=False),
)
async def run(request: Request, access: Annotated[Access, Depends(RUN)]) -> RunAccepted:
    """Asks for a run. An empty body: over the whole estate. It is accepted, refused, or served by one like it."""
    wish = fitted(RunWish, await read_json(request, empty={}), "invalid_patrol_scope")
    return await run_in_threadpool(ask_for, services_of(request), access, wish)


def ask_for(services: Services, access: Access, wish: RunWish, *, finding_id: str = "") -> RunAccepted:
    """Carries it out. `finding_id`: what the run is to look into. Raises ApiError, StorageError."""
    check_watched(access)

    def work(connection: Connection) -> tuple[Offered, RunAccepted]:
        known = AlertStore(connection, access.org_id).find(wish.alert_identifier) if wish.alert_identifier else None
        memory = ResourceMemory(connection, access.org_id).load()
        wanted = wanted_run(wish, memory, known, services.clock(), finding_id=finding_id)
        return ask(services, access, connection, wanted)

    offered, accepted = services.database.transact(work)
    return told(services, offered, accepted)


def told(services: Services, offered: Offered, accepted: RunAccepted) -> RunAccepted:
    """Tells the others of an offered run; after its transaction, which may have been made twice."""
    trigger = decode(offered.work.payload)
    if trigger is not None:
        services.observer.trigger(trigger, offered.decision)
    services.nudge()
    return accepted


@router.get("/api/ai/patrol/runs", response_model=list[RunDocument])
def list_runs(
    request: Request, access: Annotated[Access, Depends(READ)], limit: Limit = "", cursor: Cursor = ""
) -> Response:
    """Runs, the newest first; 30 of them, or `limit` up to 100. X-Next-Cursor: there are more."""
    size = parse_limit(limit, default=DEFAULT_RUNS, most=MOST_RUNS)
    return _page(request, access, size, cursor, since=None)


@router.get("/api/ai/patrol/history", response_model=list[RunDocument])
def history(
    request: Request,
    access: Annotated[Access, Depends(READ)],
    start_time: Annotated[Instant | None, Query(description="no run that began before")] = None,
    limit: Limit = "",
    cursor: Cursor = "",
) -> Response:
    """Runs since a time, the newest first; 100 a page."""
    size = parse_limit(limit, default=DEFAULT_HISTORY, most=MOST_RUNS)
    return _page(request, access, size, cursor, since=start_time)


@router.get("/api/ai/patrol/runs/{run_id}", response_model=RunDocument)
def get_run(
    request: Request,
    access: Annotated[Access, Depends(READ)],
    run_id: str,
    include: Annotated[str, Query(description="tool_calls: also what was read, call by call")] = "",
) -> Response:
    """One run, also one that was accepted and has not begun."""
    services, run_id = services_of(request), storable(run_id)
    record = RunStore(services.database, access.org_id).find(run_id)
    with services.database.read() as connection:
        work = WorkStore(connection, access.org_id).find_run(run_id)
        trigger = decode(work.payload) if work is not None else None
        if record is None:
            if work is None or trigger is None or work.state not in {WorkState.WAITING, WorkState.RUNNING}:
                raise unknown_run(run_id)
            return json_one(waiting_document(work, trigger))
        beside = Beside(
            finding_ids=finding_ids_of(connection, access.org_id, [run_id])[run_id],
            tool_calls=tool_call_counts(connection, access.org_id, [run_id])[run_id],
            trigger=trigger,
        )
    wants_calls = "tool_calls" in include.split(",")
    detail = InDetail(
        verdicts=ModelWorkStore(services.database, access.org_id).verdicts(run_id),
        calls=RunStore(services.database, access.org_id).tool_calls(run_id) if wants_calls else None,
    )
    return json_one(run_document(record, beside, detail))


def unknown_run(run_id: str) -> ApiError:
    """The refusal of an id that no run has, or none any more."""
    return ApiError(HTTPStatus.NOT_FOUND, "run_not_found", f"No run has the id {run_id[:100]}")


def _page(request: Request, access: Access, size: int, cursor: str, *, since: datetime | None) -> Response:
    after = _place(cursor) if cursor else None
    services = services_of(request)
    with services.database.read() as connection:
        found = list_page(connection, access.org_id, size + 1, after=after, since=since)
        page = found[:size]
        documents = _documents(connection, access.org_id, page)
    following = encode_cursor(RunPlace.of(page[-1])) if len(found) > size else ""
    return json_list(documents, request.url.path, dict(request.query_params), following)


def _documents(connection: Connection, org_id: str, page: list[RunRecord]) -> list[dict[str, object]]:
    ids = [each.id for each in page]
    findings, calls = finding_ids_of(connection, org_id, ids), tool_call_counts(connection, org_id, ids)
    store = WorkStore(connection, org_id)
    works = {each: store.find_run(each) for each in ids}
    return [
        run_document(
            each,
            Beside(
                finding_ids=findings[each.id],
                tool_calls=calls[each.id],
                trigger=decode(work.payload) if (work := works[each.id]) is not None else None,
            ),
        )
        for each in page
    ]


def _place(cursor: str) -> RunPlace:
    match decode_cursor(cursor):
        case [str(started_at), str(run_id)]:
            try:
                at = datetime.fromisoformat(started_at)
            except ValueError as error:
                raise invalid_cursor() from error
            if at.tzinfo is None or not 1970 < at.year < 9999:
                raise invalid_cursor()
            return RunPlace(at, storable(run_id))
        case _:
            raise invalid_cursor()
