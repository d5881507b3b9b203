"""The application: all routes behind their guards, one envelope for refusals, and nothing that is open by accident."""

import asyncio
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from starlette.exceptions import HTTPException

from patrol.api import errors, openapi
from patrol.api.access import Needs, refusal
from patrol.api.errors import ApiError, from_http
from patrol.api.front import Front
from patrol.api.gate import Gate
from patrol.api.guards import PUBLIC_PATHS, GuardedRoute, access_of
from patrol.api.paths import Paths
from patrol.api.ready import ReadyAnswers
from patrol.api.routes import (
    alerts,
    findings,
    health,
    local,
    login,
    metrics,
    runs,
    security,
    settings,
    silences,
    status,
    stream,
    verbs,
)
from patrol.api.services import Services
from patrol.database import StorageError

ROUTERS: tuple[APIRouter, ...] = (
    *(health.router, security.router, login.router, openapi.router, metrics.router),
    *(status.router, runs.router, stream.router, findings.router, verbs.router, silences.router),
    *(settings.router, alerts.router, local.router),
)
"""Every router has `route_class=GuardedRoute`."""

_HIDING = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED})


class Application(FastAPI):
    """An application that describes itself as it is."""

    def openapi(self) -> dict[str, Any]:
        """The description, made once."""
        if self.openapi_schema is None:
            self.openapi_schema = openapi.describe(self)
        return self.openapi_schema


def create_app(services: Services) -> FastAPI:
    """The application over what it is given.

    `app.state` holds `services`, the `gate`, answers that are `ready`, and `local_places` for commands of this machine.
    """
    app = Application(
        title="Patrol",
        version=version("patrold"),
        openapi_url=None,  # served behind a guard, by `patrol.api.openapi`
        redirect_slashes=False,  # a path has one spelling; a redirect would answer before any guard
    )
    app.router.route_class = GuardedRoute
    app.state.services = services
    app.state.gate = Gate(services)
    app.state.paths = Paths(ROUTERS)
    app.state.local_places = asyncio.Semaphore(local.AT_ONCE)
    app.state.ready = ReadyAnswers(services.database.change_mark, services.clock)
    app.add_middleware(Front, settings=lambda: services.settings().settings.api)
    errors.install(app)
    app.add_exception_handler(HTTPException, _framework_refused)
    for router in ROUTERS:
        app.include_router(router)
    return app


async def _framework_refused(request: Request, error: Exception) -> Response:
    """What the framework refuses. Which paths and methods there are is told only to who is known."""
    assert isinstance(error, HTTPException)  # noqa: S101 - what it is registered for
    found = from_http(error)
    taken = request.app.state.paths.methods(request.scope["path"])
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED and taken:
        found.headers["Allow"] = ", ".join(taken)  # of all routes of this path; the framework tells of the first one
    if error.status_code in _HIDING and request.scope["path"] not in PUBLIC_PATHS:
        gate: Gate = request.app.state.gate
        try:
            access = await access_of(gate, request)
        except ApiError as too_many:
            return errors.refusal(too_many)
        except StorageError as unknown:
            return errors.refusal(errors.from_storage(unknown))
        unknown_caller = refusal(access, Needs())
        if unknown_caller is not None:
            gate.refusals.tell(access, unknown_caller, {}, gate.services.clock())
        return errors.refusal(unknown_caller or found)
    return errors.refusal(found)
