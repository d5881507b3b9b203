"""Every refusal reads alike, whoever makes it; and tells nothing that is nobody's business."""

import pytest
from fastapi import APIRouter, Depends
from pydantic import BaseModel

from patrol.accounts.model import Scope
from patrol.api.errors import ApiError
from patrol.api.guards import READ, GuardedRoute
from patrol.database import DatabaseBusyError, DatabaseClosedError, DatabaseCorruptError
from tests.api.builders import LOOPBACK, OUTSIDE, House, bearer, house, is_envelope

SECRET = "hunter2-and-more"
TERMS = "/api/ai/patrol/autonomy/acknowledgement"


class Wish(BaseModel):
    number: int
    text: str = ""


def routes() -> APIRouter:
    router = APIRouter(route_class=GuardedRoute, dependencies=[])

    @router.post("/api/wish", dependencies=[Depends(READ)])
    def wish(body: Wish) -> Wish:
        if body.number == 7:
            raise RuntimeError(f"the password is {SECRET}")
        if body.number == 8:
            raise ApiError(409, "no_luck", "Not this time", details={"why": "luck"})
        return body

    return router


@pytest.fixture
def call(at_home: House):
    at_home.app.include_router(routes())
    client = at_home.client()
    headers = bearer(at_home.token(Scope.ALL))
    return lambda method, path, **more: client.request(
        method, path, headers={**headers, **more.pop("headers", {})}, **more
    )


def test_what_is_well_is_answered(call) -> None:
    assert call("POST", "/api/wish", json={"number": 1}).json() == {"number": 1, "text": ""}


@pytest.mark.parametrize("kind", [None, "application/x-www-form-urlencoded", "text/plain", "multipart/form-data"])
def test_a_body_is_json_whatever_type_it_claims(call, kind: str | None) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    answer = call("POST", "/api/wish", content=b'{"number": 1}', headers=headers)
    assert answer.json() == {"number": 1, "text": ""}
    refused = call("POST", "/api/wish", content=b"number=1", headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_json")


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain"])
@pytest.mark.parametrize("signs", [{"Origin": "https://elsewhere.example"}, {"Sec-Fetch-Site": "cross-site"}])
def test_what_the_form_of_a_foreign_page_sends_is_refused_whatever_type_it_claims(kind: str, signs) -> None:
    with house() as closed:  # nobody is known: processes of this machine need no credential
        wish = {"content": b'{"terms_version": 1}', "headers": {"Content-Type": kind}}
        local = closed.client(LOOPBACK, base_url="http://127.0.0.1:7667")
        assert local.post(TERMS, **wish).status_code == 201
        wish["headers"] |= signs
        refused = local.post(TERMS, **wish)
        assert (refused.status_code, refused.json()["code"]) == (403, "cross_origin")


@pytest.mark.parametrize(
    ("method", "path", "more", "status", "code"),
    [
        ("GET", "/api/nothing", {}, 404, "not_found"),
        ("GET", "/api/wish/", {}, 404, "not_found"),
        ("DELETE", "/api/wish", {}, 405, "method_not_allowed"),
        ("TRACE", "/api/wish", {}, 405, "method_not_allowed"),
        ("POST", "/healthz", {}, 405, "method_not_allowed"),
        ("POST", "/api/wish", {"content": b"{"}, 400, "invalid_json"),
        ("POST", "/api/wish", {"content": b"{", "headers": {"Content-Type": "application/json"}}, 400, "invalid_json"),
        ("POST", "/api/wish", {"content": b"\xff\xfe{", "headers": {"Content-Type": "application/json"}}, 400, None),
        ("POST", "/api/wish", {"json": []}, 400, "invalid_request"),
        ("POST", "/api/wish", {"json": {"number": "seven"}}, 400, "invalid_request"),
        ("POST", "/api/wish", {"json": {"number": 8}}, 409, "no_luck"),
        ("POST", "/api/wish", {"json": {"number": 7}}, 500, "internal_error"),
        ("POST", "/api/wish", {"content": b" " * (1 << 20) + b" "}, 413, "body_too_large"),
        ("GET", "/api/wish", {"headers": {"X-Long": "x" * 40_000}}, 431, "headers_too_large"),
        ("GET", "/api/wish", {"headers": {"Host": "a b"}}, 400, "invalid_host"),
    ],
)
def test_each_refusal_has_the_one_envelope(call, method, path, more, status, code) -> None:
    answer = call(method, path, **more)
    assert answer.status_code == status
    assert is_envelope(answer)
    assert code is None or answer.json()["code"] == code
    assert SECRET not in answer.text


def test_a_body_of_unknown_length_is_bounded_as_well(call) -> None:
    answer = call("POST", "/api/wish", content=iter([b" " * 600_000] * 2), headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


def test_a_delivery_of_alerts_may_be_large_and_is_bounded_too(call) -> None:
    path, headers = "/api/alerts/webhook/alertmanager", {"Content-Type": "application/json"}
    large = call("POST", path, content=b" " * (7 << 20), headers=headers)
    assert large.status_code == 400
    for content in (b" " * ((8 << 20) + 1), iter([b" " * (3 << 20)] * 3)):
        answer = call("POST", path, content=content, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


def test_what_does_not_fit_is_told_by_its_field_and_not_by_its_value(call) -> None:
    answer = call("POST", "/api/wish", json={"number": SECRET})
    assert set(answer.json()["details"]["fields"]) == {"number"}
    assert SECRET not in answer.text


def test_more_than_the_body_is_told_where_there_is_more(call) -> None:
    assert call("POST", "/api/wish", json={"number": 8}).json()["details"] == {"why": "luck"}


def test_a_method_that_is_not_taken_is_answered_with_those_that_are(call) -> None:
    assert call("DELETE", "/api/wish").headers["Allow"] == "POST"


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/api/settings", "GET, PATCH"),
        ("/api/ai/patrol/autonomy/acknowledgement", "DELETE, POST"),
        ("/api/resources/x/operator-state", "DELETE, GET, PUT"),
        ("/api/ai/patrol/findings/x", "GET"),
        ("/api/ai/patrol/findings/note", "POST"),  # and no finding that is called so
    ],
)
def test_all_methods_of_a_path_are_told_and_those_of_no_other(call, path: str, methods: str) -> None:
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} - set(methods.split(", ")):
        answer = call(method, path)
        assert (answer.status_code, answer.headers["Allow"]) == (405, methods)


def test_a_route_without_a_guard_cannot_be_made(at_home: House) -> None:
    with pytest.raises(TypeError, match="/api/open has 0 guards"):
        APIRouter(route_class=GuardedRoute).get("/api/open")(lambda: None)
    with pytest.raises(TypeError, match="0 guards"):
        at_home.app.get("/api/open")(lambda: None)


def test_the_guard_is_asked_before_the_body_is_read(at_home: House) -> None:
    at_home.app.include_router(routes())
    at_home.token(Scope.ALL)
    answer = at_home.client().post("/api/wish", content=b"{", headers={"Content-Type": "application/json"})
    assert answer.status_code == 401


def test_the_health_of_the_process_and_of_its_work_are_two_things(at_home: House) -> None:
    client = at_home.client(OUTSIDE, base_url="http://any.name")
    assert client.get("/healthz").json() == client.get("/readyz").json() == {"status": "ok"}
    assert client.head("/healthz").status_code == client.head("/readyz").status_code == 200
    at_home.not_ready = ("the first schedule",)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
    at_home.lose_database(DatabaseClosedError("/secret/place", "it is closed", "Start again"))
    client = at_home.client(OUTSIDE, base_url="http://any.name")
    assert (client.get("/readyz").status_code, client.get("/healthz").status_code) == (503, 200)
    assert client.head("/readyz").status_code == 503


@pytest.mark.parametrize(
    ("error", "code", "wait"),
    [(DatabaseCorruptError, "database_unavailable", None), (DatabaseBusyError, "database_busy", "5")],
)
@pytest.mark.parametrize("path", ["/api/openapi.json", "/api/nothing", "/api/security/status"])
def test_a_database_that_cannot_be_used_is_said_so_and_not_where_it_lies(
    at_home: House, error, code, wait, path
) -> None:
    at_home.lose_database(error("/secret/place", "it is so", "Do something"))
    answer = at_home.client().get(path)
    assert (answer.status_code, answer.json()["code"]) == (503, code)
    assert answer.headers.get("Retry-After") == wait
    assert is_envelope(answer)
    assert "secret" not in answer.text


def test_the_description_says_what_is_true_of_refusals(call) -> None:
    document = call("GET", "/api/openapi.json").json()
    responses = document["paths"]["/api/wish"]["post"]["responses"]
    assert set(responses) == {"200", "4XX", "5XX"}
    assert document["paths"]["/healthz"]["get"]["security"] == []
    assert "HTTPValidationError" not in document["components"]["schemas"]


def test_answers_are_kept_by_no_cache_and_shown_in_no_frame(call) -> None:
    headers = call("GET", "/api/nothing").headers
    assert (headers["Cache-Control"], headers["X-Frame-Options"]) == ("no-store", "DENY")
    assert headers["X-Content-Type-Options"] == "nosniff"
