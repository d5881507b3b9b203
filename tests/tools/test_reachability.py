"""What probes prove about a guest: any answer wins, and silence counts only where it is conclusive."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patrol.estate.model import Resource, ResourceType, Status
from patrol.tools.reachability import is_local_scope, is_reachable, weighed
from signals.evidence import ProbeRow

LAN = "10.0.0.61"
OUTCOMES = {"answer": True, "silence": False, "neither": None}


def probe(kind: str, outcome: str, address: str = LAN, detail: str = "") -> ProbeRow:
    return ProbeRow(kind=kind, ok=OUTCOMES[outcome], address=address, detail=detail)


CASES = [
    ("no probe at all", "Debian", [], None),
    ("ping answered", "", [probe("icmp", "answer")], True),
    ("any positive evidence wins", "Windows 11", [probe("icmp", "silence"), probe("tcp:3389", "answer")], True),
    ("the agent answers", "Windows 11", [probe("icmp", "silence"), probe("agent", "answer", "")], True),
    ("ping alone says nothing about Windows", "Windows Server 2022", [probe("icmp", "silence")], None),
    ("nor about a system by hypervisor's name", "win11", [probe("icmp", "silence")], None),
    ("nor about an unknown system", "", [probe("icmp", "silence")], None),
    ("Linux answers ping", "Debian 13", [probe("icmp", "silence")], False),
    ("l26 is Linux", "l26", [probe("icmp", "silence")], False),
    (
        "a port that does not answer is conclusive",
        "Windows 11",
        [probe("icmp", "silence"), probe("tcp:3389", "silence")],
        False,
    ),
    ("a refused connection is no silence", "Debian", [probe("tcp:22", "silence", LAN, "connection refused")], None),
    ("a silent agent is not conclusive", "Debian", [probe("agent", "silence", "")], None),
    ("unreachable is not an answer", "Debian", [probe("icmp", "answer", LAN, "Destination Host Unreachable")], False),
    ("not tried to the end", "Debian", [probe("icmp", "silence"), probe("tcp:22", "neither")], None),
    (
        "Docker's bridge is no evidence",
        "Debian",
        [probe("icmp", "silence", "172.17.0.1"), probe("icmp", "answer")],
        True,
    ),
    (
        "only local addresses",
        "Debian",
        [probe("icmp", "silence", "169.254.10.2"), probe("icmp", "silence", "fe80::1")],
        None,
    ),
    ("an answer from inside is none", "Debian", [probe("icmp", "answer", "127.0.0.1")], None),
]


@pytest.mark.parametrize(("rule", "os", "probes", "expected"), CASES, ids=[case[0] for case in CASES])
def test_reachable(rule: str, os: str, probes: list[ProbeRow], expected: bool | None) -> None:
    vm = Resource(id="vm:a:1", type=ResourceType.VM, status=Status.RUNNING, os=os, probes=probes)
    assert is_reachable(vm) is expected


@pytest.mark.parametrize("status", [Status.STOPPED, Status.PAUSED, Status.OFFLINE])
def test_a_guest_that_does_not_run_is_not_asked(status: Status) -> None:
    vm = Resource(id="vm:a:1", type=ResourceType.VM, status=status, os="Debian", probes=[probe("icmp", "silence")])
    assert is_reachable(vm) is None


def test_a_system_container_is_linux() -> None:
    container = Resource(
        id="c", type=ResourceType.SYSTEM_CONTAINER, status=Status.RUNNING, probes=[probe("icmp", "silence")]
    )
    assert is_reachable(container) is False


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("169.254.10.2", True),
        ("172.17.0.1", True),
        ("172.17.255.255", True),
        ("172.18.0.1", False),
        ("fe80::1%eth0", True),
        ("[fe80::1]", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("0.0.0.0", True),
        ("10.0.0.61/24", False),
        ("2001:db8::1", False),
        ("web.lan", False),
        ("", False),
    ],
)
def test_local_scope(address: str, local: bool) -> None:
    assert is_local_scope(address) is local


@given(st.text())
def test_any_address_is_judged(address: str) -> None:
    assert is_local_scope(address) in {True, False}


def test_readers_see_what_each_probe_proves() -> None:
    probes = [
        probe("icmp", "answer"),
        probe("icmp", "answer", LAN, "Destination Host Unreachable"),
        probe("icmp", "answer", "127.0.0.1"),
        probe("tcp:22", "silence", LAN, "connection refused"),
    ]
    assert [each.ok for each in weighed(probes)] == [True, False, None, None]
    assert [each.ok for each in probes] == [True, True, True, False]


@given(st.ip_addresses(v=4))
def test_an_address_is_local_where_the_standard_library_says_so(ip: ipaddress.IPv4Address) -> None:
    bridge = ip in ipaddress.ip_network("172.17.0.0/16")
    local = ip.is_loopback or ip.is_link_local or ip.is_unspecified or ip.is_multicast or bridge
    assert is_local_scope(str(ip)) is local
