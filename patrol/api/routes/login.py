"""Logging in with a browser, and out again."""

from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from patrol.accounts.hashing import PASSWORD_CHARACTERS
from patrol.accounts.model import NAME_CHARACTERS, Session, User
from patrol.accounts.sessions import LASTING, SessionStore
from patrol.api.access import Access
from patrol.api.credentials import CSRF_COOKIE, SESSION_COOKIE
from patrol.api.errors import ApiError
from patrol.api.gate import Gate, TooManyError
from patrol.api.guards import ANYBODY_KNOWN, GuardedRoute, csrf_token, foreign_page, too_many

router = APIRouter(route_class=GuardedRoute, tags=["access"])


class Login(BaseModel):
    """Name and password of a user (`patrol user add`)."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)

    username: str = Field(min_length=1, max_length=NAME_CHARACTERS)
    password: str = Field(min_length=1, max_length=PASSWORD_CHARACTERS)


class LoggedIn(BaseModel):
    """The session has begun. `csrf_token` goes into the header X-CSRF-Token of all that is not GET."""

    success: Literal[True] = True
    username: str
    csrf_token: str
    expires_at: datetime


class LoggedOut(BaseModel):
    """The session is over."""

    success: Literal[True] = True


@router.post("/api/login")
async def login(request: Request, response: Response, wanted: Login) -> LoggedIn:
    """Begins a session. After too many wrong passwords from one address: 429, also for the right one."""
    gate: Gate = request.app.state.gate
    refused = foreign_page(request, gate)
    if refused is not None:
        raise refused
    now = gate.services.clock()
    try:
        user = await run_in_threadpool(gate.check_password, wanted.username, wanted.password, request.state.caller, now)
    except TooManyError as error:
        raise too_many(error.wait) from error
    if user is None:
        raise ApiError(HTTPStatus.UNAUTHORIZED, "invalid_credentials", "Name or password is wrong")
    secret, session = await run_in_threadpool(_begin, gate, user, now)
    seconds = int(LASTING.total_seconds())
    secure = request.state.is_https
    response.set_cookie(SESSION_COOKIE, secret, max_age=seconds, httponly=True, samesite="lax", secure=secure)
    # Scripts of our own pages read this one; other sites cannot.
    response.set_cookie(CSRF_COOKIE, csrf_token(secret), max_age=seconds, samesite="lax", secure=secure)
    return LoggedIn(username=user.name, csrf_token=csrf_token(secret), expires_at=session.expires_at)


@router.post("/api/logout")
async def logout(request: Request, response: Response, access: Annotated[Access, Depends(ANYBODY_KNOWN)]) -> LoggedOut:
    """Ends the session of the cookie, for good."""
    gate: Gate = request.app.state.gate
    if access.cookie:
        await run_in_threadpool(_end, gate, access.cookie)
    for cookie in (SESSION_COOKIE, CSRF_COOKIE):
        response.delete_cookie(cookie)
    return LoggedOut()


def _begin(gate: Gate, user: User, now: datetime) -> tuple[str, Session]:
    services = gate.services
    return services.database.transact(
        lambda connection: SessionStore(connection).begin(user, now=now, random_bytes=services.random_bytes)
    )


def _end(gate: Gate, secret: str) -> None:
    gate.services.database.transact(lambda connection: SessionStore(connection).end(secret))
