"""Sessions of browsers: how they begin and end, and that no foreign page can use them."""

from contextlib import ExitStack
from datetime import timedelta

import pytest

from patrol.accounts.model import Role, Scope
from patrol.accounts.sessions import LASTING, LONGEST, MOST_OF_A_USER
from patrol.accounts.users import UserStore
from patrol.api.gate import CHECKS_IN_LINE
from patrol.api.guards import csrf_token
from tests.api.builders import CHEAP, PASSWORD, House, bearer, cookies, house, is_envelope

PATH = "/api/openapi.json"
LOGIN = {"username": "Ann", "password": PASSWORD}


@pytest.fixture
def ann(at_home: House):
    return at_home.user("ann", default=Role.MEMBER)


def test_a_login_begins_a_session_and_a_logout_ends_it(at_home: House, ann) -> None:
    client = at_home.client()
    answer = client.post("/api/login", json=LOGIN)
    assert answer.status_code == 200
    body = answer.json()
    assert (body["success"], body["username"], body["expires_at"]) == (True, "ann", "2026-11-30T12:00:00Z")
    secret = client.cookies["patrol_session"]
    assert client.get(PATH).status_code == 200
    assert client.get("/api/security/status").json()["username"] == "ann"
    assert client.post("/api/logout", headers={"X-CSRF-Token": body["csrf_token"]}).json() == {"success": True}
    assert "patrol_session" not in client.cookies
    assert at_home.client().get(PATH, headers=cookies(secret)).status_code == 401


@pytest.mark.parametrize(("public_url", "is_secure"), [("https://patrol.example.org", True), ("", False)])
def test_the_cookie_is_for_the_browser_alone_and_for_our_own_pages(public_url, is_secure) -> None:
    with house(public_url=public_url) as made:
        made.user("ann")
        lines = made.client().post("/api/login", json=LOGIN).headers.get_list("set-cookie")
    session, csrf = (
        next(line for line in lines if line.startswith(name)) for name in ("patrol_session", "patrol_csrf")
    )
    assert ("HttpOnly" in session, "SameSite=lax" in session, "Path=/" in session) == (True, True, True)
    assert ("Secure" in session, "Secure" in csrf) == (is_secure, is_secure)
    assert "HttpOnly" not in csrf


def test_a_trusted_proxy_that_takes_https_makes_the_cookie_secure(at_home: House, ann) -> None:
    https = {"X-Forwarded-Proto": "https"}
    from_proxy = at_home.client("10.0.0.5").post("/api/login", json=LOGIN, headers=https)
    assert "Secure" in from_proxy.headers["set-cookie"]
    assert "Secure" not in at_home.client().post("/api/login", json=LOGIN, headers=https).headers["set-cookie"]


@pytest.mark.parametrize(
    "body",
    [
        {"username": "ann", "password": "wrong"},
        {"username": "nobody", "password": PASSWORD},
        {"username": "\u00e4\u0000\U0001f600", "password": PASSWORD},
        {"username": "ann", "password": "\u00e4\u0000\U0001f600"},
    ],
)
def test_a_wrong_name_is_told_like_a_wrong_password(at_home: House, ann, body) -> None:
    answer = at_home.client().post("/api/login", json=body)
    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_credentials")
    assert "set-cookie" not in answer.headers
    assert answer.json()["message"] == "Name or password is wrong"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b'{"username": "ann"}',
        b'{"username": "ann", "password": 7}',
        b'{"username": ["ann"], "password": {}}',
        b'{"username": "ann", "password": "x", "more": 1}',
        b'{"username": "ann", "password": "' + b"x" * 2_000 + b'"}',
        b'{"username": "\\ud800", "password": "\\udfff"}',
        b"[" * 100_000,
        b"\xff\xfe\x00",
    ],
)
def test_junk_is_400_and_quotes_nothing(at_home: House, ann, content) -> None:
    answer = at_home.client().post("/api/login", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code in {400, 401}
    assert is_envelope(answer)
    assert "xxxx" not in answer.text


def test_wrong_passwords_are_counted_and_then_even_the_right_one_waits(at_home: House, ann) -> None:
    client = at_home.client()
    wrong = {**LOGIN, "password": "wrong"}
    assert [client.post("/api/login", json=wrong).status_code for _ in range(11)] == [401] * 10 + [429]
    answer = client.post("/api/login", json=LOGIN)
    assert (answer.status_code, answer.json()["code"]) == (429, "rate_limited")
    at_home.pass_by(timedelta(seconds=int(answer.headers["Retry-After"])))
    assert client.post("/api/login", json=LOGIN).status_code == 200


def test_the_addresses_of_one_customer_of_ipv6_count_as_one(at_home: House, ann) -> None:
    wrong = {**LOGIN, "password": "wrong"}
    answers = [at_home.client(f"2001:db8::{number}").post("/api/login", json=wrong) for number in range(1, 12)]
    assert [answer.status_code for answer in answers] == [401] * 10 + [429]


def test_a_session_lasts_as_long_as_it_is_used_but_not_for_ever(at_home: House, ann) -> None:
    headers = cookies(at_home.session(ann))
    begun = at_home.now
    while at_home.now - begun < LONGEST - LASTING:
        at_home.pass_by(LASTING - timedelta(minutes=1))
        assert at_home.client().get(PATH, headers=headers).status_code == 200
    at_home.pass_by(LASTING)
    assert at_home.client().get(PATH, headers=headers).status_code == 401


def test_a_session_that_is_not_used_ends(at_home: House, ann) -> None:
    headers = cookies(at_home.session(ann))
    at_home.pass_by(LASTING)
    assert at_home.client().get(PATH, headers=headers).status_code == 401


def test_a_user_has_so_many_sessions_and_the_oldest_goes_first(at_home: House, ann) -> None:
    made = []
    for _ in range(MOST_OF_A_USER + 2):
        made.append(at_home.session(ann))
        at_home.pass_by(timedelta(minutes=1))
    statuses = [at_home.client().get(PATH, headers=cookies(secret)).status_code for secret in made]
    assert statuses == [401] * 2 + [200] * MOST_OF_A_USER


@pytest.mark.parametrize("change", ["password", "remove"])
def test_another_password_or_none_at_all_ends_every_session(at_home: House, ann, change) -> None:
    headers = cookies(at_home.session(ann))

    def work(connection):
        store = UserStore(connection)
        if change == "password":
            return store.set_password("ann", CHEAP, now=at_home.now)
        return store.remove("ann", now=at_home.now, author="me")

    at_home.database.transact(work)
    assert at_home.client().get(PATH, headers=headers).status_code == 401


def test_what_changes_something_needs_the_token_of_the_page(at_home: House, ann) -> None:
    secret = at_home.session(ann)
    cookie = {"Cookie": f"patrol_session={secret}"}
    for token in (None, "", "wrong", "\u00e4".encode("latin-1"), csrf_token("another")):
        headers = cookie if token is None else {**cookie, "X-CSRF-Token": token}
        answer = at_home.client().post("/api/logout", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "csrf_required")
        assert answer.headers["X-CSRF-Token"] == csrf_token(secret)
    assert at_home.client().get(PATH, headers=cookie).status_code == 200
    assert at_home.client().post("/api/logout", headers=cookies(secret)).status_code == 200


def test_a_cookie_beside_a_token_needs_it_as_well(at_home: House, ann) -> None:
    headers = {**bearer(at_home.token(Scope.ALL)), "Cookie": f"patrol_session={at_home.session(ann)}"}
    assert at_home.client().post("/api/logout", headers=headers).status_code == 403


def test_the_status_gives_a_page_its_token(at_home: House, ann) -> None:
    secret = at_home.session(ann)
    answer = at_home.client().get("/api/security/status", headers={"Cookie": f"patrol_session={secret}"})
    assert answer.headers["X-CSRF-Token"] == csrf_token(secret)
    assert "X-CSRF-Token" not in at_home.client().get("/api/security/status").headers


FOREIGN = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://192.0.2.1:7668"},
    {"Origin": "http://192.0.2.1:7667.evil.example"},
    {"Origin": "http://[::1"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
]
OURS = [
    {},
    {"Origin": "http://192.0.2.1:7667"},
    {"Origin": "https://patrol.example.org", "Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "none"},
]


@pytest.mark.parametrize("headers", FOREIGN)
def test_pages_of_other_sites_can_do_nothing_for_whoever_reads_them(headers) -> None:
    with house(public_url="https://patrol.example.org") as made:
        local = made.client("127.0.0.1")
        assert local.post("/api/logout", headers=headers).json()["code"] == "cross_origin"  # needs nothing else here
        ann = made.user("ann")
        assert made.client().post("/api/login", json=LOGIN, headers=headers).json()["code"] == "cross_origin"
        made.database.transact(
            lambda connection: UserStore(connection).set_role("ann", "default", Role.MEMBER, now=made.now, author="me")
        )
        session = cookies(made.session(ann))
        assert made.client().post("/api/logout", headers={**session, **headers}).json()["code"] == "cross_origin"
        token = bearer(made.token(Scope.ALL))
        assert made.client().post("/api/logout", headers={**token, **headers}).status_code == 200


@pytest.mark.parametrize("headers", OURS)
def test_our_own_pages_and_programs_can(headers) -> None:
    with house(public_url="https://patrol.example.org") as made:
        assert made.client("127.0.0.1").post("/api/logout", headers=headers).status_code == 200
        made.user("ann")
        assert made.client().post("/api/login", json=LOGIN, headers=headers).status_code == 200


def test_strangers_who_send_many_passwords_at_once_are_told_to_come_back(at_home: House, ann) -> None:
    gate = at_home.app.state.gate
    with ExitStack() as line:
        for _ in range(CHECKS_IN_LINE):
            line.enter_context(gate._line)
        answer = at_home.client().post("/api/login", json=LOGIN)
        assert (answer.status_code, answer.headers["Retry-After"]) == (429, "5")
    assert at_home.client().post("/api/login", json=LOGIN).status_code == 200
