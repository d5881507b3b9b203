"""Guards: what a route needs, checked before anything else of a request is read. Every route has one.

    router = APIRouter(route_class=GuardedRoute)

    @router.post("/api/ai/patrol/run")
    async def run(access: Annotated[Access, Depends(RUN)], body: Wish) -> Accepted: ...

or, where a route does not ask who it is, `dependencies=[Depends(READ)]`.
"""

import math
from collections.abc import Callable, Coroutine
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import Scope as AsgiScope

from patrol.accounts.hashing import derived, equal
from patrol.accounts.model import Scope
from patrol.api.access import Access, Needs, refusal
from patrol.api.addresses import is_our_origin
from patrol.api.credentials import CSRF_HEADER
from patrol.api.errors import ApiError
from patrol.api.gate import Gate, TooManyError
from patrol.api.rates import Rate

PUBLIC_PATHS = frozenset(
    {"/healthz", "/readyz", "/api/agent/capabilities", "/api/security/status", "/api/login"},
)
"""What is served to anybody, and nothing else is."""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

EACH = Rate(name="requests", count=600, per=timedelta(minutes=1))
"""Of one principal. Processes of this machine are not counted."""


class Guard:
    """What a route needs. As a dependency it gives the `Access` of whoever passed.

    `rate`: how often, for each principal and route of this guard, from wherever; beside the limit of all requests.
    """

    def __init__(self, needs: Needs, *, rate: Rate | None = None) -> None:
        self.needs = needs
        self.rate = rate

    async def __call__(self, request: Request) -> Access:
        """Who has passed. Raises ApiError, StorageError."""
        return await self.check(request)

    async def check(self, request: Request) -> Access:
        """Lets a request through, once. Raises ApiError, StorageError."""
        if getattr(request.state, "passed", None) is self:
            access: Access = request.state.access
            return access
        gate: Gate = request.app.state.gate
        access = await access_of(gate, request)
        self._check_rate(gate, access)
        refused = self.refusal(access) or _forgery(request, access, gate)
        if refused is not None:
            gate.refusals.tell(access, refused, request.scope, gate.services.clock())
            raise refused
        request.state.passed = self
        return access

    def refusal(self, access: Access) -> ApiError | None:
        """Why it would not let this access through; None where it would. Changes nothing: the dry run."""
        return refusal(access, self.needs)

    def _check_rate(self, gate: Gate, access: Access) -> None:
        if self.rate is not None:
            take(gate, self.rate, access.key)


async def access_of(gate: Gate, request: Request) -> Access:
    """Who sends a request, which is counted. Raises ApiError where there were too many of them, or too many wrong
    passwords; StorageError.
    """
    try:
        access = await gate.access_of(request)
    except TooManyError as error:
        raise too_many(error.wait) from error
    if not access.caller.is_this_machine:
        take(gate, EACH, access.key)
    return access


def take(gate: Gate, rate: Rate, key: str) -> None:
    """Counts a request. Raises ApiError where there were too many."""
    waited = gate.limiter.take(rate, key, gate.services.clock())
    if waited is not None:
        raise too_many(waited)


def too_many(wait: timedelta) -> ApiError:
    """The refusal of whoever asks too often, with when to ask again."""
    seconds = max(1, math.ceil(wait.total_seconds()))
    return ApiError(
        HTTPStatus.TOO_MANY_REQUESTS,
        "rate_limited",
        f"Too many requests: try again in {seconds} s",
        headers={"Retry-After": str(seconds)},
    )


def csrf_token(cookie: str) -> str:
    """What a page has to send back beside its session cookie, to show that it is ours: foreign ones cannot read it."""
    return derived(cookie, "patrol csrf")


def _forgery(request: Request, access: Access, gate: Gate) -> ApiError | None:
    """Whether another site may have made a browser send this: what browsers send by themselves proves no intent."""
    if request.method in SAFE_METHODS:
        return None
    if access.cookie and not equal(request.headers.get(CSRF_HEADER, ""), csrf_token(access.cookie)):
        return ApiError(
            HTTPStatus.FORBIDDEN,
            "csrf_required",
            f"With a session cookie, {CSRF_HEADER} must hold the token that belongs to it",
            headers={CSRF_HEADER: csrf_token(access.cookie)},
        )
    if access.token is not None or access.caller.peer is not None:
        return None
    return foreign_page(request, gate)


def foreign_page(request: Request, gate: Gate) -> ApiError | None:
    """The refusal of a request that a page of another site sends, as far as the browser says so."""
    origin = request.headers.get("origin")
    public_url = gate.services.settings().settings.api.public_url
    is_foreign = request.headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}
    if origin is not None:
        is_foreign = not is_our_origin(origin, request.headers.get("host", ""), public_url)
    if not is_foreign:
        return None
    return ApiError(HTTPStatus.FORBIDDEN, "cross_origin", "Pages of other sites may not do this")


def _as_json(request: Request) -> Request:
    """The request with a body that is read as JSON, whatever type it claims: `curl -d` claims to send a form.

    What a foreign page may send is decided before, by `Guard` and `foreign_page`, and never by this type.
    """
    others = [pair for pair in request.scope["headers"] if pair[0] != b"content-type"]
    scope = {**request.scope, "headers": [*others, (b"content-type", b"application/json")]}
    return Request(scope, request.receive)


class GuardedRoute(APIRoute):
    """A route whose guard is asked before the body is read, and which cannot be made without a guard.

    Every body is JSON, as `patrol.api.inputs.read_json` takes it too.
    """

    def matches(self, scope: AsgiScope) -> tuple[Match, AsgiScope]:
        """Whether a request is for this route, and not for one whose path is written out where this has a parameter."""
        app = scope.get("app")
        if app is not None and app.state.paths.is_of_another(scope["path"], self.path):
            return Match.NONE, {}
        return super().matches(scope)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The function that answers a request, behind the guard. Raises TypeError where there is none."""
        answer = super().get_route_handler()
        guards = [each.call for each in self.dependant.dependencies if isinstance(each.call, Guard)]

        async def open_to_all(request: Request) -> Response:
            return await answer(_as_json(request))

        if not guards and self.path in PUBLIC_PATHS:
            return open_to_all
        if len(guards) != 1:
            raise TypeError(f"{self.path} has {len(guards)} guards: it needs one, or a place among PUBLIC_PATHS")
        guard = guards[0]

        async def guarded(request: Request) -> Response:
            await guard.check(request)
            return await answer(_as_json(request))

        return guarded


_EXECUTE = frozenset({Scope.AI_EXECUTE})

ANYBODY_KNOWN = Guard(Needs())
"""Whoever is known, with any scopes."""
READ = Guard(Needs(scopes=_EXECUTE))
"""Reading status, runs, history, the stream; saying something of findings."""
READ_FINDINGS = Guard(Needs(scopes=_EXECUTE | {Scope.RELAY}))
"""Reading findings; acknowledging, snoozing and dismissing them."""
RUN = Guard(Needs(admin=True, scopes=_EXECUTE))
"""Starting a run. `settingsCapabilities.patrolRun` is this guard in a dry run."""
SETTINGS_READ = Guard(Needs(admin=True, scopes=frozenset({Scope.SETTINGS_READ, Scope.SETTINGS_WRITE})))
SETTINGS_WRITE = Guard(Needs(admin=True, scopes=frozenset({Scope.SETTINGS_WRITE})))
"""Changing settings; reading and changing autonomy."""
ALERTS_WRITE = Guard(Needs(scopes=frozenset({Scope.ALERTS_WRITE})))
"""Webhooks."""
MONITORING_READ = Guard(Needs(scopes=_EXECUTE | {Scope.MONITORING_READ, Scope.MONITORING_WRITE}))
"""Reading alerts, and what operators said of resources."""
MONITORING_WRITE = Guard(Needs(scopes=frozenset({Scope.MONITORING_WRITE})))
"""Saying what is being worked on, and what is off on purpose."""
OWNER = Guard(Needs(owner=True))
"""Commands of this machine: whatever whoever owns the database could do with it."""
METRICS = Guard(Needs(scopes=frozenset({Scope.METRICS_READ}), on_this_machine=True))
