"""Nothing is open by accident: the table of routes, walked as somebody whom nobody knows."""

import re
from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from typing import Annotated

import pytest
from fastapi import APIRouter, Depends

from patrol.accounts.model import Scope
from patrol.api.access import Access, Needs
from patrol.api.guards import PUBLIC_PATHS, Guard, GuardedRoute
from patrol.api.rates import Rate
from tests.api.builders import LOOPBACK, House, bearer, is_envelope

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD")


def paths(house: House) -> Iterator[str]:
    """Every path that the application describes, with something in the place of each parameter."""
    for path in house.app.openapi()["paths"]:
        yield re.sub(r"\{[^}]*\}", "x", path)


def operations(house: House) -> Iterator[tuple[str, str]]:
    """Every method of every path that the application describes."""
    for path, methods in house.app.openapi()["paths"].items():
        for method in methods:
            yield method.upper(), re.sub(r"\{[^}]*\}", "x", path)


def test_every_route_that_is_not_public_refuses_whom_nobody_knows(at_home: House) -> None:
    at_home.token(Scope.ALL)
    client = at_home.client()
    closed = [path for path in paths(at_home) if path not in PUBLIC_PATHS]
    open_to_anybody = []
    for path in closed:
        at_home.pass_by(timedelta(minutes=1))  # or so many requests would be refused for their number
        others = (f"{path}/", f"/{path}", path.upper(), f"{path}%2f", f"{path};x", f"{path}?x=1")
        asked = [*((method, path) for method in METHODS), *product(("GET", "POST"), others)]
        for method, spelling in asked:
            status = client.request(method, spelling, content=b"{").status_code
            open_to_anybody += [] if status in {401, 421} else [f"{method} {spelling}"]
    assert len(closed) > 0
    assert open_to_anybody == []


@pytest.mark.parametrize(
    "path",
    ["/", "/docs", "/redoc", "/openapi.json", "/mcp", "/mcp/", "/api/findings", "/api/events", "/api/%2e%2e/healthz"],
)
def test_what_does_not_exist_is_no_way_in_either(at_home: House, path: str) -> None:
    at_home.token(Scope.ALL)
    for method in METHODS:
        assert at_home.client().request(method, path).status_code in {401, 405}


WITHOUT_SCOPES = {"GET /api/openapi.json", "POST /api/logout"}


def test_a_token_without_scopes_opens_no_route_that_does_anything(at_home: House) -> None:
    empty = bearer(at_home.token())
    client = at_home.client()
    status = client.get("/api/security/status", headers=empty).json()
    assert status["authenticated"] is True
    assert not any(status["settingsCapabilities"].values())
    opened = {
        f"{method} {path}"
        for method, path in operations(at_home)
        if path not in PUBLIC_PATHS and client.request(method, path, headers=empty).status_code != 403
    }
    assert opened == WITHOUT_SCOPES


JUNK = [b"", b"null", b"[]", b"{", b'"x"', b"\xff\xfe", b'{"x": 1}', b"[" * 5_000, b'{"a": ' * 5_000, b"NaN", b"1e999"]


def test_no_junk_is_a_crash_anywhere(at_home: House) -> None:
    """Streams are left out: an answer that never ends is none that can be looked at here."""
    everything = {**bearer(at_home.token(Scope.ALL)), "Content-Type": "application/json"}
    client = at_home.client()
    for method, path in operations(at_home):
        if method == "GET":
            continue
        at_home.pass_by(timedelta(minutes=1))
        for junk in JUNK:
            answer = client.request(method, path, content=junk, headers=everything)
            assert answer.status_code < 500, f"{method} {path} {junk[:20]!r}: {answer.text}"
            assert answer.status_code < 400 or is_envelope(answer)


def test_this_machine_is_closed_as_soon_as_anybody_is_known(at_home: House) -> None:
    client = at_home.client(LOOPBACK, base_url="http://127.0.0.1:7667")
    assert client.get("/api/openapi.json").status_code == 200
    at_home.user("ann")
    assert client.get("/api/openapi.json").status_code == 401


SIX_A_MINUTE = Guard(
    Needs(scopes=frozenset({Scope.AI_EXECUTE})), rate=Rate(name="probes", count=6, per=timedelta(minutes=1))
)
FOR_THIS_MACHINE = Guard(Needs(scopes=frozenset({Scope.METRICS_READ}), on_this_machine=True))


@pytest.fixture
def with_probes(at_home: House) -> House:
    router = APIRouter(route_class=GuardedRoute)

    @router.get("/api/probe/six")
    def six(access: Annotated[Access, Depends(SIX_A_MINUTE)]) -> dict[str, str]:
        return {"name": access.name}

    @router.get("/probe/local", dependencies=[Depends(FOR_THIS_MACHINE)])
    def local() -> dict[str, str]:
        return {}

    at_home.app.include_router(router)
    return at_home


def test_a_route_can_be_asked_so_often_by_each_principal_wherever_it_is(with_probes: House) -> None:
    one, other = bearer(with_probes.token(Scope.AI_EXECUTE)), bearer(with_probes.token(Scope.AI_EXECUTE))
    for address in (LOOPBACK, "203.0.113.1"):
        client = with_probes.client(address)
        answers = [client.get("/api/probe/six", headers=one) for _ in range(7)]
        assert [answer.status_code for answer in answers] == [200] * 6 + [429]
        assert (answers[-1].headers["Retry-After"], is_envelope(answers[-1])) == ("10", True)
        assert client.get("/api/probe/six", headers=other).status_code == 200
        with_probes.pass_by(timedelta(minutes=1))


def test_who_has_passed_is_told_by_name(with_probes: House) -> None:
    token = bearer(with_probes.token(Scope.AI_EXECUTE))
    assert with_probes.client().get("/api/probe/six", headers=token).json() == {"name": "token t"}


def test_what_is_open_to_this_machine_is_closed_to_others_and_to_wrong_tokens(with_probes: House) -> None:
    right, wrong = with_probes.token(Scope.METRICS_READ), with_probes.token(Scope.AI_EXECUTE)
    local, outside = with_probes.client(LOOPBACK), with_probes.client()
    assert local.get("/probe/local").status_code == 200
    assert local.get("/probe/local", headers={"X-Forwarded-For": "127.0.0.1"}).status_code == 401
    assert local.get("/probe/local", headers=bearer("patrol_" + "x" * 43)).status_code == 401
    assert outside.get("/probe/local").status_code == 401
    assert outside.get("/probe/local", headers=bearer(right)).status_code == 200
    assert outside.get("/probe/local", headers=bearer(wrong)).status_code == 403
