"""Who calls, by which name, and whether the daemon may listen where it is told to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patrol.accounts.model import Scope
from patrol.api.addresses import is_our_host, is_our_origin, parse_networks, who_calls
from patrol.api.listening import may_listen
from patrol.settings.interface import ApiSection, parse_listen
from tests.api.builders import House, bearer, house, is_envelope

PROXIES = parse_networks(["10.0.0.0/8", "fd00::/8"])


@pytest.mark.parametrize(
    ("peer", "header", "host"),
    [
        ("203.0.113.9", [], "203.0.113.9"),
        ("203.0.113.9", ["127.0.0.1"], "203.0.113.9"),  # nobody believes a stranger
        ("10.0.0.5", [], "10.0.0.5"),
        ("10.0.0.5", ["198.51.100.7"], "198.51.100.7"),
        ("10.0.0.5", ["127.0.0.1, 198.51.100.7"], "198.51.100.7"),  # what stands before was the caller's own word
        ("10.0.0.5", ["127.0.0.1", "198.51.100.7, 10.0.0.6"], "198.51.100.7"),
        ("10.0.0.5", ["198.51.100.7:4711"], "198.51.100.7"),
        ("10.0.0.5", ["[2001:db8::1]:4711"], "2001:db8::1"),
        ("fd00::1", ["2001:db8::1"], "2001:db8::1"),
        ("::ffff:10.0.0.5", ["198.51.100.7"], "198.51.100.7"),
        ("10.0.0.5", ["junk"], "10.0.0.5"),
        ("10.0.0.5", ["198.51.100.7, , "], "10.0.0.5"),
    ],
)
def test_a_forwarded_address_counts_as_far_as_those_who_wrote_it_are_trusted(peer, header, host) -> None:
    assert who_calls(peer, header, PROXIES, says_more=False).host == host


@pytest.mark.parametrize(
    ("peer", "header", "is_ours"),
    [
        ("127.0.0.1", [], True),
        ("127.8.8.8", [], True),
        ("::1", [], True),
        ("::ffff:127.0.0.1", [], True),
        ("unix:1000", [], True),
        ("127.0.0.1", ["127.0.0.1"], False),
        ("10.0.0.5", ["127.0.0.1"], False),
        ("10.0.0.5", ["::1"], False),
        ("10.0.0.5", ["unix:0"], False),
        ("203.0.113.9", [], False),
        ("", [], False),
    ],
)
def test_only_what_comes_straight_from_this_machine_is_this_machine(peer, header, is_ours) -> None:
    assert who_calls(peer, header, PROXIES, says_more=False).is_this_machine is is_ours


def test_a_proxy_on_this_machine_is_not_this_machine_whatever_it_says() -> None:
    trusted = parse_networks(["127.0.0.0/8"])
    for header in ([], ["127.0.0.1"], ["198.51.100.7"]):
        assert not who_calls("127.0.0.1", header, trusted, says_more=False).is_this_machine


@given(st.text(max_size=40), st.lists(st.text(max_size=40), max_size=3), st.booleans())
def test_no_text_is_a_crash_and_none_makes_a_stranger_this_machine(peer, header, more) -> None:
    if not peer.startswith("unix:"):
        assert who_calls("203.0.113.9", header, PROXIES, says_more=more).host == "203.0.113.9"
        assert not who_calls("10.0.0.5", header, PROXIES, says_more=more).is_this_machine
    is_our_origin(peer, "x", "https://patrol.example.org")
    is_our_host(peer, "https://patrol.example.org", "127.0.0.1")


@pytest.mark.parametrize(
    ("host", "is_ours"),
    [
        ("127.0.0.1:7667", True),
        ("[::1]:7667", True),
        ("192.0.2.1", True),
        ("localhost:7667", True),
        ("LOCALHOST", True),
        ("patrol.example.org", True),
        ("patrol.example.org.:443", True),
        ("watch.lan:7667", True),
        ("evil.example:7667", False),
        ("patrol.example.org.evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("127.0.0.1@evil.example", False),
        ("", False),
    ],
)
def test_names_that_are_not_ours_are_those_of_rebinding_pages(host, is_ours) -> None:
    assert is_our_host(host, "https://patrol.example.org", "watch.lan") is is_ours


def test_a_foreign_name_is_refused_except_to_whoever_has_a_token(at_home: House) -> None:
    token = at_home.token(Scope.ALL)
    client = at_home.client("127.0.0.1", base_url="http://evil.example:7667")
    for path in ("/api/openapi.json", "/api/security/status", "/api/nothing"):
        answer = client.get(path)
        assert (answer.status_code, answer.json()["code"], is_envelope(answer)) == (421, "unknown_host", True)
    assert client.get("/api/openapi.json", headers=bearer(token)).status_code == 200
    assert client.get("/api/openapi.json", headers=bearer("patrol_" + "x" * 43)).status_code == 401


LISTEN = [
    ("127.0.0.1:7667", True),
    ("127.9.9.9:1", True),
    ("localhost:7667", True),
    ("[::1]:7667", True),
    ("unix:/run/patrol/api.sock", True),
    ("0.0.0.0:7667", False),
    ("[::]:7667", False),
    ("192.168.7.2:80", False),
    ("watch.lan:7667", False),
    ("127.0.0.1.evil.example:80", False),
]


@pytest.mark.parametrize(("listen", "is_local"), LISTEN)
def test_beyond_this_machine_nobody_listens_before_callers_can_be_known(listen, is_local) -> None:
    address = parse_listen(listen)
    assert may_listen(address, has_credential=False) is is_local
    assert may_listen(address, has_credential=True)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("listen", text) for text in ("", ":", ":80", "host", "host:", "host:x", "host:70000", "[:80", "unix:rel")),
        *(("listen", text) for text in ("::1:80", "[::1:80", "[zz]:80", "a b:80", "host:-1", "h:1:2")),
        *(
            ("public_url", text)
            for text in ("patrol", "ftp://x", "https://", "https://a:x", "https://u:p@h", "http://[")
        ),
        *(("trusted_proxies", [text]) for text in ("", "proxy.lan", "10.0.0.0/33", "10.0.0.300")),
        *(("proxy_user_header", text) for text in ("X Y", "X:", "\u00e4")),
        *(("organisations", [text]) for text in ("", "Lab", "a/b", ".x", "x" * 65)),
    ],
)
def test_settings_that_cannot_be_are_refused_when_they_are_read(key, value) -> None:
    with pytest.raises(ValueError, match=key):
        ApiSection(**{key: value})


@pytest.mark.parametrize(
    "path",
    [
        "/api/security/status",
        pytest.param("/api/openapi.json", marks=pytest.mark.long),
        pytest.param("/api/nothing", marks=pytest.mark.long),
    ],
)
def test_a_caller_behind_a_proxy_has_limits_of_its_own(path: str) -> None:
    with house(trusted_proxies=["10.0.0.5"]) as made:
        made.token(Scope.ALL)
        client = made.client("10.0.0.5")
        first = [client.get(path, headers={"X-Forwarded-For": "198.51.100.7"}) for _ in range(601)]
        other = client.get(path, headers={"X-Forwarded-For": "198.51.100.8"})
    assert first[599].status_code == other.status_code != 429
    assert (first[600].status_code, first[600].json()["code"]) == (429, "rate_limited")
