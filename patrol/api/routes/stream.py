"""Runs followed live: server-sent events, with a last event on every way that a run can end."""

import time
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from findings.rows import storable
from patrol.api.access import Access
from patrol.api.errors import ApiError
from patrol.api.gate import Gate, TooManyError
from patrol.api.guards import READ, GuardedRoute
from patrol.api.inputs import services_of
from patrol.api.live.events import TERMINAL, Event
from patrol.api.live.hub import LastHeard, Listener, terminal_of
from patrol.api.live.wire import CONNECTED, HEADERS, encode, parse_last, ping
from patrol.api.routes.runs import unknown_run
from patrol.api.services import Services
from patrol.database import StorageError
from patrol.run.record_model import RunStatus
from patrol.run.store import RunStore
from patrol.work.store import WorkStore

router = APIRouter(route_class=GuardedRoute, tags=["runs"])

MOST_LISTENERS = 1_000

_EVENT_STREAM: dict[int | str, dict[str, Any]] = {
    HTTPStatus.OK.value: {
        "description": "Events: `id: <run>:<seq>` and JSON in `data`; comments (`: ping`) are signs of life",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


@router.get("/api/ai/patrol/stream", response_class=StreamingResponse, responses=_EVENT_STREAM)
async def stream(
    request: Request,
    access: Annotated[Access, Depends(READ)],
    run_id: Annotated[str, Query(description="only this run; the stream ends with it")] = "",
    last_event_id: Annotated[str, Query(description="like the header Last-Event-ID", max_length=400)] = "",
    seq: Annotated[str, Query(description="with run_id: the number of the last event heard", max_length=20)] = "",
    last_event: Annotated[str, Header(alias="Last-Event-ID")] = "",
) -> StreamingResponse:
    """What happens in runs, while it happens; whoever comes back is told what was missed, or where things stand."""
    services = services_of(request)
    run_id = storable(run_id)
    if services.stream.listeners >= MOST_LISTENERS:
        raise ApiError(HTTPStatus.SERVICE_UNAVAILABLE, "too_many_listeners", "Too many follow runs now: try again")
    if run_id and not services.stream.knows(run_id, access.org_id):
        await run_in_threadpool(_check_known, services, access.org_id, run_id)
    last = parse_last(last_event[:400] or last_event_id or seq, run_id)
    following = _Following(request, access, services, run_id)
    return StreamingResponse(following.bytes(last), media_type="text/event-stream", headers=HEADERS)


class _Following:
    """One stream."""

    def __init__(self, request: Request, access: Access, services: Services, run_id: str) -> None:
        self._request = request
        self._access = access
        self._services = services
        self._run_id = run_id
        self._pace = services.stream.pace
        self._seq = 0
        self._said_at = self._checked_at = self._looked_up_at = time.monotonic()

    async def bytes(self, last: LastHeard | None) -> AsyncIterator[bytes]:
        """All of it, until the run, the daemon or the right to listen ends. Whoever vanishes leaves nothing behind."""
        self._seq = last.seq if last is not None and last.run_id == self._run_id else 0
        with self._services.stream.listen(self._access.org_id, run_id=self._run_id, last=last) as listener:
            yield CONNECTED
            while not listener.is_over:
                events = await self._next(listener)
                if events:
                    yield b"".join(map(encode, events))
                    self._seq, self._said_at = events[-1]["seq"], time.monotonic()
                    if self._run_id and events[-1]["type"] in TERMINAL:
                        return
                now = time.monotonic()
                if now - self._said_at >= self._pace.heartbeat:
                    self._said_at = now
                    yield ping(time.time())
                if now - self._checked_at >= self._pace.check:
                    self._checked_at = now
                    if not await self._may_go_on():
                        return

    async def _next(self, listener: Listener) -> list[Event]:
        events = await listener.next(self._pace.look_up if self._run_id else self._pace.heartbeat)
        if events or not self._run_id:
            return events
        # Also a run that is told here may be ended by another process, to which it was given.
        pause = self._pace.heartbeat if self._services.stream.knows(self._run_id, self._access.org_id) else 0.0
        if time.monotonic() - self._looked_up_at < pause:
            return []
        self._looked_up_at = time.monotonic()
        return await run_in_threadpool(self._ended_elsewhere)

    def _ended_elsewhere(self) -> list[Event]:
        """The last event of a run whose end nobody tells here, once its record has one."""
        try:
            run = RunStore(self._services.database, self._access.org_id).find(self._run_id)
        except StorageError:  # it is looked up again; whoever works with the database says what is wrong
            return []
        if run is None or run.status is RunStatus.RUNNING:
            return []
        return [{"run_id": run.id, "seq": self._seq + 1, "ts_ms": int(time.time() * 1000), **terminal_of(run)}]

    async def _may_go_on(self) -> bool:
        """Whether the token, session or password still opens this."""
        gate: Gate = self._request.app.state.gate
        try:
            access = await run_in_threadpool(gate.look_up, self._request.headers, self._request.state.caller)
        except (StorageError, TooManyError):  # it is looked up again in a minute
            return True
        return READ.refusal(access) is None and access.org_id == self._access.org_id


def _check_known(services: Services, org_id: str, run_id: str) -> None:
    with services.database.read() as connection:
        if WorkStore(connection, org_id).find_run(run_id) is not None:
            return
    if RunStore(services.database, org_id).find(run_id) is None:
        raise unknown_run(run_id)
