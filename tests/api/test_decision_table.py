"""Who may start a run: what the status says is what the route does, row by row, and in every other mixture."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patrol.accounts.model import Role, Scope
from tests.api.builders import LOOPBACK, OUTSIDE, PASSWORD, PROXY, House, basic, bearer, cookies, house

DEFAULT, LAB = "default", "lab"
ROUTE = "/api/ai/patrol/run"
PROXY_SETTINGS = {
    "trusted_proxies": [PROXY],
    "organisations": [LAB],
    "proxy_user_header": "X-Forwarded-User",
    "proxy_role_header": "X-Forwarded-Groups",
}


@dataclass
class Inhabited:
    """An installation with one of each kind of credential."""

    house: House

    def __post_init__(self) -> None:
        at = self.house
        boss = at.user("boss", administrator=True)
        granted = at.user("granted", default=Role.ADMIN)
        owner = at.user("owner", default=Role.MEMBER, lab=Role.OWNER)
        plain = at.user("plain", default=Role.MEMBER, lab=Role.MEMBER)
        stranger = at.user("stranger")
        other_admin = at.user("other-admin", lab=Role.ADMIN)
        at.user("vouched", lab=Role.MEMBER)
        self.tokens = {
            "execute": at.token(Scope.AI_EXECUTE),
            "everything": at.token(Scope.ALL),
            "others": at.token(Scope.METRICS_READ, Scope.SETTINGS_WRITE),
            "nothing": at.token(),
            "of the lab": at.token(Scope.AI_EXECUTE, bound_to=LAB),
            "over": at.token(Scope.ALL, expires_at=at.now + timedelta(minutes=1)),
            "junk": "patrol_" + "x" * 43,
        }
        past = at.session(boss)
        at.pass_by(timedelta(hours=25))  # the sessions below are young, this one is over
        self.sessions = {
            "boss": at.session(boss),
            "granted": at.session(granted),
            "owner": at.session(owner),
            "plain": at.session(plain),
            "stranger": at.session(stranger),
            "other admin": at.session(other_admin),
            "over": past,
            "junk": "j" * 43,
        }

    def headers(
        self, *, proxy: str = "", token: str = "", cookie: str = "", password: str = "", as_password: str = PASSWORD
    ) -> dict[str, str]:
        """`password`: whose. A token beside it goes into the other header."""
        found: dict[str, str] = {}
        if proxy:
            name, _, roles = proxy.partition("/")
            found |= {"X-Forwarded-User": name, "X-Forwarded-Groups": roles}
        if token:
            found |= bearer(self.tokens[token])
        if cookie:
            found |= cookies(self.sessions[cookie])
        if password:
            found |= basic(password, as_password)
            if token:
                found["X-API-Token"] = self.tokens[token]
        return found

    def told(self, headers: dict[str, str], address: str) -> bool:
        """What the status says."""
        answer = self.house.client(address).get("/api/security/status", headers=headers)
        assert answer.status_code == 200
        body = answer.json()
        told = body["settingsCapabilities"]["patrolRun"]
        assert body["sessionCapabilities"]["assistantEnabled"] is told
        if not body["authenticated"]:
            assert not any(body["settingsCapabilities"].values())
        return bool(told)

    def passes(self, headers: dict[str, str], address: str) -> bool:
        """What the route does: whether it comes as far as to read what is asked for, which is nothing it knows."""
        answer = self.house.client(address).post(ROUTE, headers=headers, json={"nothing_it_knows": 1})
        assert answer.status_code in {400, 401, 403}, answer.text
        return answer.json()["code"] == "invalid_patrol_scope"


@pytest.fixture(scope="module")
def inhabited() -> Iterator[Inhabited]:
    with house(**PROXY_SETTINGS) as made:
        yield Inhabited(made)


def spellings(headers: dict[str, str]) -> Iterator[dict[str, str]]:
    """A token may be sent in two ways, which are alike."""
    yield headers
    if headers.get("Authorization", "").startswith("Bearer "):
        token = headers["Authorization"].removeprefix("Bearer ")
        others = {name: value for name, value in headers.items() if name != "Authorization"}
        yield {**others, "X-API-Token": token}
        yield {**others, "Authorization": f"bearer {token}"}


ROWS = [
    # row, what is sent, in the default organisation, in another one
    ("nothing", {}, False, False),
    ("an invalid token only", {"token": "junk"}, False, False),
    ("an expired token only", {"token": "over"}, False, False),
    ("an invalid cookie only", {"cookie": "junk"}, False, False),
    ("a cookie only that is over", {"cookie": "over"}, False, False),
    ("a wrong password only", {"password": "boss", "as_password": "wrong"}, False, False),
    ("an admin of the proxy", {"proxy": "somebody/users,admin"}, True, False),
    ("an admin of the proxy who is a member", {"proxy": "vouched/admin"}, True, True),
    ("a user of the proxy", {"proxy": "somebody/users"}, False, False),
    ("a user of the proxy without roles", {"proxy": "somebody"}, False, False),
    ("an admin of the proxy, cookie of a plain user", {"proxy": "vouched/admin", "cookie": "plain"}, False, False),
    ("an admin of the proxy, cookie of who manages the other", {"proxy": "x/admin", "cookie": "owner"}, False, True),
    ("an admin of the proxy, cookie of an administrator", {"proxy": "x/admin", "cookie": "boss"}, True, True),
    ("a user of the proxy, cookie of an administrator", {"proxy": "x/users", "cookie": "boss"}, False, False),
    ("a token beside a proxy's admin", {"proxy": "vouched/admin", "token": "others"}, True, True),
    ("a session of an administrator", {"cookie": "boss"}, True, True),
    ("a session of an admin of the default one", {"cookie": "granted"}, True, False),
    ("a session of an owner of the other", {"cookie": "owner"}, False, True),
    ("a session of an admin of the other", {"cookie": "other admin"}, False, True),
    ("a session of a plain member", {"cookie": "plain"}, False, False),
    ("a session of a user without any role", {"cookie": "stranger"}, False, False),
    ("a token", {"token": "execute"}, True, False),
    ("a token for everything", {"token": "everything"}, True, False),
    ("a token without the scope", {"token": "others"}, False, False),
    ("a token without any scope", {"token": "nothing"}, False, False),
    ("a token of the other organisation", {"token": "of the lab"}, False, True),
    ("a token and a cookie of an administrator", {"token": "execute", "cookie": "boss"}, True, False),
    ("a token of the other and an administrator", {"token": "of the lab", "cookie": "boss"}, False, True),
    ("a token and a cookie of a plain member", {"token": "execute", "cookie": "plain"}, False, False),
    ("a token of the other and a plain member", {"token": "of the lab", "cookie": "plain"}, False, False),
    ("a token of the other and its owner", {"token": "of the lab", "cookie": "owner"}, False, True),
    ("a token and a cookie of who manages the other", {"token": "execute", "cookie": "owner"}, False, False),
    ("a token and a cookie that is over", {"token": "execute", "cookie": "over"}, True, False),
    ("a token and an invalid cookie", {"token": "of the lab", "cookie": "junk"}, False, True),
    ("an invalid token and an administrator", {"token": "junk", "cookie": "boss"}, False, False),
    ("an expired token and an administrator", {"token": "over", "cookie": "boss"}, False, False),
    ("a password of an administrator", {"password": "boss"}, True, True),
    ("a password of an owner of the other", {"password": "owner"}, False, True),
    ("a password of a plain member", {"password": "plain"}, False, False),
    ("a right password and a wrong token", {"password": "boss", "token": "junk"}, False, False),
    ("a password of an administrator, cookie of a plain member", {"password": "boss", "cookie": "plain"}, False, False),
    ("a password of a plain member, cookie of an administrator", {"password": "plain", "cookie": "boss"}, False, False),
    ("a password and a cookie of an administrator", {"password": "boss", "cookie": "boss"}, True, True),
]


@pytest.mark.parametrize(("row", "sent", "by_default", "in_the_other"), ROWS, ids=[row[0] for row in ROWS])
def test_each_row_is_told_as_the_route_decides_it(inhabited: Inhabited, row, sent, by_default, in_the_other) -> None:
    address = PROXY if "proxy" in sent else OUTSIDE
    for headers in spellings(inhabited.headers(**sent)):
        for org, expected in ((DEFAULT, by_default), (LAB, in_the_other)):
            asked = {**headers, "X-Patrol-Org-ID": org}
            assert (inhabited.told(asked, address), inhabited.passes(asked, address)) == (expected, expected)


@pytest.mark.parametrize(
    ("sent", "org", "status", "code"),
    [
        ({"token": "of the lab"}, DEFAULT, 403, "access_denied"),
        ({"token": "execute"}, LAB, 403, "access_denied"),
        ({"token": "others"}, DEFAULT, 403, "missing_scope"),
        ({"token": "execute", "cookie": "plain"}, DEFAULT, 403, "admin_required"),
        ({"token": "junk", "cookie": "boss"}, DEFAULT, 401, "invalid_credentials"),
        ({}, DEFAULT, 401, "authentication_required"),
    ],
)
def test_the_route_says_why(inhabited: Inhabited, sent, org, status, code) -> None:
    headers = {**inhabited.headers(**sent), "X-Patrol-Org-ID": org}
    answer = inhabited.house.client(OUTSIDE).post(ROUTE, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_who_manages_one_organisation_is_no_administrator_of_all(inhabited: Inhabited) -> None:
    for cookie, is_admin in (("boss", True), ("owner", False), ("granted", False)):
        headers = {**inhabited.headers(cookie=cookie), "X-Patrol-Org-ID": LAB if cookie == "owner" else DEFAULT}
        answer = inhabited.house.client(OUTSIDE).get("/api/security/status", headers=headers)
        assert answer.json()["sessionIsAdmin"] is is_admin


@pytest.mark.parametrize(("user_id", "expected"), [(0, True), (1000, True), (4321, False)])
def test_the_owner_of_the_process_passes_by_the_unix_socket(inhabited: Inhabited, user_id, expected) -> None:
    address = f"unix:{user_id}"
    assert (inhabited.told({}, address), inhabited.passes({}, address)) == (expected, expected)
    both = inhabited.headers(cookie="plain")
    assert (inhabited.told(both, address), inhabited.passes(both, address)) == (False, False)


def test_this_machine_needs_nothing_until_somebody_is_known() -> None:
    with house(organisations=[LAB]) as made:
        client = made.client(LOOPBACK, base_url="http://127.0.0.1:7667")
        status = client.get("/api/security/status").json()
        assert status["settingsCapabilities"]["patrolRun"] is True
        assert (status["requiresAuth"], status["username"]) == (False, "local")
        assert made.client(OUTSIDE).get("/api/security/status").json()["settingsCapabilities"]["patrolRun"] is False
        made.token()
        status = client.get("/api/security/status").json()
        assert (status["settingsCapabilities"]["patrolRun"], status["requiresAuth"]) == (False, True)


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Forwarded-Proto", "X-Real-IP", "Via"])
def test_a_proxy_on_this_machine_lends_nobody_the_trust_of_this_machine(header) -> None:
    with house() as made:
        client = made.client(LOOPBACK, base_url="http://127.0.0.1:7667")
        status = client.get("/api/security/status", headers={header: "127.0.0.1"}).json()
    assert status["settingsCapabilities"]["patrolRun"] is False


def test_the_word_of_a_proxy_counts_only_from_the_proxy(inhabited: Inhabited) -> None:
    headers = inhabited.headers(proxy="vouched/admin")
    assert inhabited.told(headers, PROXY) is True
    assert inhabited.told(headers, OUTSIDE) is inhabited.passes(headers, OUTSIDE) is False
    assert inhabited.told(headers, LOOPBACK) is False


def test_a_token_without_a_named_organisation_is_about_its_own(inhabited: Inhabited) -> None:
    headers = inhabited.headers(token="of the lab")
    assert inhabited.told(headers, OUTSIDE) is inhabited.passes(headers, OUTSIDE) is True


def test_an_organisation_can_be_named_by_a_cookie(inhabited: Inhabited) -> None:
    headers = inhabited.headers(cookie="owner")
    named = {**headers, "Cookie": f"{headers['Cookie']}; patrol_org_id=lab"}
    assert inhabited.told(named, OUTSIDE) is inhabited.passes(named, OUTSIDE) is True


@given(
    proxy=st.sampled_from(["", "vouched/admin", "vouched/users", "x/admin"]),
    token=st.sampled_from(["", "execute", "everything", "others", "nothing", "of the lab", "over", "junk"]),
    cookie=st.sampled_from(["", "boss", "granted", "owner", "plain", "stranger", "over", "junk"]),
    password=st.sampled_from(["", "boss", "plain"]),
    org=st.sampled_from(["", DEFAULT, LAB, "nowhere", "../etc", "Lab"]),
    address=st.sampled_from([PROXY, OUTSIDE, LOOPBACK]),
)
def test_status_and_route_never_differ(inhabited: Inhabited, proxy, token, cookie, password, org, address) -> None:
    headers = inhabited.headers(proxy=proxy, cookie=cookie, password="" if token else password, token=token)
    if org:
        headers["X-Pulse-Org-ID"] = org
    assert inhabited.told(headers, address) is inhabited.passes(headers, address)
