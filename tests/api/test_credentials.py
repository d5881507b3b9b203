"""Credentials as hostile or careless callers send them: always an answer, never a crash, never let in by mistake."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, select

from patrol.accounts.model import Scope
from patrol.accounts.tables import ACCOUNTS, SESSIONS, TOKENS
from patrol.accounts.tokens import TokenStore
from patrol.accounts.users import UserStore, is_password
from tests.api.builders import CHEAP, LOOPBACK, OUTSIDE, PASSWORD, House, basic, bearer, house, is_envelope

PATH = "/api/openapi.json"

WRONG = [
    {"Authorization": "Bearer t\u00f6ken".encode("latin-1")},
    {"Authorization": "Bearer t\u00f6ken".encode()},
    {"Authorization": ""},
    {"Authorization": " "},
    {"Authorization": "Bearer"},
    {"Authorization": "Bearer "},
    {"Authorization": "Bearer  two-blanks"},
    {"Authorization": "bearer wrong"},
    {"Authorization": "Bearer " + "x" * 10_000},
    {"Authorization": "Token abc"},
    {"Authorization": "Basic"},
    {"Authorization": "Basic !!!"},
    {"Authorization": "Basic " + "QUFB" * 2_000},
    {"Authorization": "Basic AAAA"},
    {"Authorization": b"Basic \xff\xfe"},
    {"X-API-Token": ""},
    {"X-API-Token": "patrol_"},
    {"X-API-Token": ("patrol_" + "\u00e4" * 43).encode("latin-1")},
    {"X-API-Token": b"patrol_\x80\x81"},
    {"Cookie": "patrol_session=\u00f6".encode()},
    {"Cookie": "patrol_session=" + "x" * 9_000},
    {"Cookie": "=;;=;patrol_session"},
]


@pytest.mark.parametrize("headers", WRONG, ids=[str(number) for number in range(len(WRONG))])
@pytest.mark.parametrize("path", [PATH, "/api/nothing", "/mcp", "/mcp/"])
def test_what_is_no_credential_is_401(at_home: House, headers, path) -> None:
    at_home.token(Scope.ALL)
    for method in ("GET", "POST", "OPTIONS"):
        answer = at_home.client().request(method, path, headers=headers)
        assert (answer.status_code, is_envelope(answer)) == (401, True)
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_two_blanks_before_a_right_token_make_it_wrong(at_home: House) -> None:
    token = at_home.token(Scope.ALL)
    client = at_home.client()
    assert client.get(PATH, headers={"Authorization": f"Bearer {token}"}).status_code == 200
    assert client.get(PATH, headers={"Authorization": f"Bearer  {token}"}).status_code == 401
    assert client.get(PATH, headers={"Authorization": f"BEARER {token}"}).status_code == 200


def test_two_tokens_leave_open_who_is_meant(at_home: House) -> None:
    one, other = at_home.token(Scope.ALL), at_home.token(Scope.ALL)
    client = at_home.client()
    assert client.get(PATH, headers={**bearer(one), "X-API-Token": other}).status_code == 401
    assert client.get(PATH, headers={**bearer(one), "X-API-Token": one}).status_code == 200
    assert client.get(PATH, headers=[("X-API-Token", one), ("X-API-Token", other)]).status_code == 401


HEADERS = ("Authorization", "X-API-Token", "Cookie", "X-CSRF-Token", "X-Patrol-Org-ID", "Host", "Origin")
CONTENT = st.binary(max_size=60).filter(lambda value: not set(value) & {0, 10, 13})


@pytest.mark.parametrize("name", HEADERS)
def test_no_bytes_in_any_header_of_a_credential_are_a_crash(at_home: House, name: str) -> None:
    at_home.token(Scope.ALL)
    client = at_home.client()

    @given(sort=st.sampled_from([b"", b"Bearer ", b"Basic ", b"patrol_session="]), value=CONTENT)
    def ask(sort: bytes, value: bytes) -> None:
        at_home.pass_by(timedelta(minutes=1))  # or so many would be refused for their number
        answer = client.post("/api/logout", headers={name: sort + value})
        assert 400 <= answer.status_code < 500
        assert answer.status_code != 429
        assert is_envelope(answer)

    ask()


def test_a_wrong_token_is_wrong_on_this_machine_too_where_nobody_needs_one() -> None:
    with house() as made:
        client = made.client(LOOPBACK, base_url="http://localhost:7667")
        assert client.get(PATH).status_code == 200
        assert client.get(PATH, headers=bearer("patrol_" + "x" * 43)).status_code == 401


def test_a_token_ends_when_it_is_revoked_or_over(at_home: House) -> None:
    revoked, brief = at_home.token(Scope.ALL), at_home.token(Scope.ALL, expires_at=at_home.now + timedelta(hours=1))
    client = at_home.client()
    assert client.get(PATH, headers=bearer(revoked)).status_code == 200
    assert client.get(PATH, headers=bearer(brief)).status_code == 200

    def revoke(connection):
        store = TokenStore(connection)
        return store.revoke(store.find_by_secret(revoked), now=at_home.now, author="me")

    at_home.database.transact(revoke)
    at_home.pass_by(timedelta(hours=1))
    assert client.get(PATH, headers=bearer(revoked)).status_code == 401
    assert client.get(PATH, headers=bearer(brief)).status_code == 401


def test_the_use_of_a_token_is_noted_now_and_then(at_home: House) -> None:
    token = at_home.token(Scope.ALL)
    noted = []
    for _ in range(4):
        at_home.client().get(PATH, headers=bearer(token))
        with at_home.database.read() as connection:
            noted.append(TokenStore(connection).find_by_secret(token).last_used_at)
        at_home.pass_by(timedelta(minutes=3))
    assert noted == [noted[0], noted[0], noted[0] + timedelta(minutes=6), noted[0] + timedelta(minutes=6)]


def test_a_password_that_is_sent_each_time_is_checked_every_few_minutes(at_home: House, monkeypatch) -> None:
    at_home.user("boss", administrator=True)
    checked: list[str] = []

    def check(password: str, kept: str) -> bool:  # the real one; that it is called tells what it costs
        checked.append(password)
        return is_password(password, kept)

    monkeypatch.setattr("patrol.api.gate.is_password", check)
    client = at_home.client()
    for minutes in (0, 1, 3, 2, 1):
        at_home.pass_by(timedelta(minutes=minutes))
        assert client.get(PATH, headers=basic("boss")).status_code == 200
        assert client.get(PATH, headers=basic("boss", "wrong")).status_code == 401
    assert (checked.count(PASSWORD), checked.count("wrong")) == (2, 5)


@pytest.mark.parametrize("change", ["another password", "removed"])
def test_a_password_ends_at_once_with_what_is_kept_of_it(at_home: House, change: str) -> None:
    at_home.user("boss", administrator=True)
    client = at_home.client()
    assert client.get(PATH, headers=basic("boss")).status_code == 200

    def work(connection: Connection) -> None:
        store = UserStore(connection)
        if change == "removed":
            store.remove("boss", now=at_home.now, author="me")
        else:
            store.set_password("boss", CHEAP.replace("KE1M", "AAAA"), now=at_home.now)

    at_home.database.transact(work)
    assert client.get(PATH, headers=basic("boss")).status_code == 401


def test_nothing_that_opens_a_door_lies_in_the_database(at_home: House) -> None:
    token = at_home.token(Scope.ALL)
    session = at_home.session(at_home.user("ann"))
    with at_home.database.read() as connection:
        kept = str([connection.execute(select(table)).all() for table in (TOKENS, ACCOUNTS, SESSIONS)])
    assert token not in kept
    assert session not in kept
    assert token[:13] in kept


def test_wrong_passwords_are_counted_by_address_and_right_ones_are_not(at_home: House) -> None:
    at_home.user("boss", administrator=True)
    client = at_home.client()
    for _ in range(30):
        assert client.get(PATH, headers=basic("boss")).status_code == 200
    answers = [client.get(PATH, headers=basic("boss", "wrong")) for _ in range(12)]
    assert [answer.status_code for answer in answers] == [401] * 10 + [429] * 2
    assert 0 < int(answers[-1].headers["Retry-After"]) <= 15 * 60
    assert is_envelope(answers[-1])
    assert client.get("/api/nothing", headers=basic("boss", "wrong")).status_code == 429
    assert client.get("/api/security/status", headers=basic("boss", "wrong")).status_code == 429
    assert at_home.client("203.0.113.10").get(PATH, headers=basic("boss")).status_code == 200
    at_home.pass_by(timedelta(minutes=2))
    assert at_home.client(OUTSIDE).get(PATH, headers=basic("boss")).status_code == 200
