"""Whether a guest answers: what its probes prove, and what they do not."""

import ipaddress
import re
from collections.abc import Sequence

import msgspec

from patrol.estate.model import Resource, ResourceType, Status
from signals.evidence import ProbeRow

_DOCKER_BRIDGE = ipaddress.ip_network("172.17.0.0/16")
_ORDINARY = frozenset(map(str, range(1, 224))) - {"127", "169", "172"}
"""First numbers of IPv4 addresses that are never special to a guest."""

_UNREACHABLE = re.compile(r"unreachable|no route", re.IGNORECASE)
_REFUSED = re.compile(r"refused|reset", re.IGNORECASE)
_ANSWERS_PING = re.compile(
    r"linux|debian|ubuntu|centos|red ?hat|rhel|rocky|alma|fedora|suse|arch|alpine|gentoo|nixos|bsd|l2[46]",
    re.IGNORECASE,
)
_WINDOWS = re.compile(r"win", re.IGNORECASE)
_DOWN = frozenset({Status.STOPPED, Status.PAUSED, Status.OFFLINE})


def is_local_scope(address: str) -> bool:
    """Whether an address means something inside the guest only: loopback, link-local, Docker's bridge.

    A name or an empty address (a probe through the hypervisor) is none.
    """
    bare = address.strip().strip("[]").partition("/")[0].partition("%")[0]
    if bare.partition(".")[0] in _ORDINARY and "." in bare:
        return False  # nearly every address: parsing all of them took a tenth of a large run
    try:
        ip = ipaddress.ip_address(bare)
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    return ip.is_loopback or ip.is_link_local or ip.is_unspecified or ip.is_multicast or ip in _DOCKER_BRIDGE


def answer_of(probe: ProbeRow) -> bool | None:
    """Whether the guest itself answered one probe; None where the outcome proves neither.

    A router's "destination unreachable" is no answer of the guest. A refused connection is no silence either.
    """
    if probe.ok:
        return not _UNREACHABLE.search(probe.detail)
    if probe.ok is False and _REFUSED.search(probe.detail):
        return None
    return probe.ok


def weighed(probes: Sequence[ProbeRow]) -> list[ProbeRow]:
    """The probes with what each of them proves as `ok`: a reader needs no rule to tell an answer from an echo."""
    return [
        msgspec.structs.replace(probe, ok=None, detail=probe.detail or "an address inside the guest proves nothing")
        if is_local_scope(probe.address)
        else msgspec.structs.replace(probe, ok=answer_of(probe))
        for probe in probes
    ]


def is_reachable(resource: Resource) -> bool | None:
    """True: something answered. False: every way that was tried failed, one of them conclusively. Else None.

    Ping alone is conclusive only for systems that answer it as they come: Windows does not, and of an unknown
    system nothing can be said. A silent guest agent is never conclusive: it pauses during snapshots.
    """
    if resource.status in _DOWN:
        return None
    probes = [probe for probe in resource.probes or () if not is_local_scope(probe.address)]
    answers = [answer_of(probe) for probe in probes]
    if True in answers:
        return True
    if not answers or None in answers:
        return None
    return False if _is_conclusive(resource, probes) else None


def _is_conclusive(resource: Resource, probes: Sequence[ProbeRow]) -> bool:
    kinds = {probe.kind.partition(":")[0].casefold() for probe in probes}
    if "tcp" in kinds:
        return True
    answers_ping = resource.type is ResourceType.SYSTEM_CONTAINER or (
        bool(_ANSWERS_PING.search(resource.os)) and not _WINDOWS.match(resource.os)
    )
    return "icmp" in kinds and answers_ping
