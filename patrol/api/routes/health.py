"""`/healthz`: the process answers. `/readyz`: it can do its work. Both tell nothing else, since anybody may ask."""

from http import HTTPStatus
from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel
from sqlalchemy import select
from starlette.concurrency import run_in_threadpool

from patrol.api.errors import ApiError
from patrol.api.guards import GuardedRoute
from patrol.api.services import Services
from patrol.database import StorageError

router = APIRouter(route_class=GuardedRoute, tags=["health"])


class Health(BaseModel):
    """Everything is well: otherwise the answer is an error."""

    status: Literal["ok"] = "ok"


@router.get("/healthz")
@router.head("/healthz", include_in_schema=False)
async def healthz() -> Health:
    """The process answers."""
    return Health()


@router.get("/readyz")
@router.head("/readyz", include_in_schema=False)
async def readyz(request: Request) -> Health:
    """The daemon has started, and its database answers. 503 otherwise."""
    services: Services = request.app.state.services
    waiting = bool(services.not_ready())
    if not waiting:
        try:
            await run_in_threadpool(_ask_database, services)
        except StorageError:  # what it is stands in the log of whoever works with the database
            waiting = True
    if waiting:
        raise ApiError(HTTPStatus.SERVICE_UNAVAILABLE, "not_ready", "Patrol cannot do its work now: see its log")
    return Health()


def _ask_database(services: Services) -> None:
    with services.database.read() as connection:
        connection.execute(select(1))
