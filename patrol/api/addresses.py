"""Addresses: who calls, and under which names this host may be called. Pure."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from patrol.settings.interface import HOST, IpNetwork, find_address, is_local_address, parse_network

PEER = "unix:"
"""How the address of a caller on the unix socket begins; the caller's user id follows. No network address does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Where a request comes from. `host`: an IP address, or "" where it is unknown; `peer`: the user id of a process
    on the unix socket. `is_forwarded`: somebody stands in between, so that `host` is only as true as that one is.
    """

    host: str
    peer: int | None = None
    is_forwarded: bool = False
    is_from_proxy: bool = False

    @property
    def is_this_machine(self) -> bool:
        """Whether it is a process of this machine for certain."""
        return self.peer is not None or (not self.is_forwarded and is_local_address(self.host))

    @property
    def key(self) -> str:
        """What a limit for an address counts by: the address, of IPv6 the network of a single customer."""
        if self.peer is not None:
            return f"{PEER}{self.peer}"
        address = find_address(self.host)
        if isinstance(address, ipaddress.IPv6Address):
            return str(ipaddress.ip_network((address, 64), strict=False))
        return str(address or self.host)


def parse_networks(texts: Sequence[str]) -> tuple[IpNetwork, ...]:
    """Networks, each `10.0.0.0/8` or a single address. Raises ValueError."""
    return tuple(parse_network(text) for text in texts)


def who_calls(peer: str, forwarded_for: Sequence[str], trusted: Sequence[IpNetwork], *, says_more: bool) -> Caller:
    """Where a request comes from. `peer`: the other end of the connection; `forwarded_for`: the lines of that header.

    The list of a header is believed from its end, as long as who wrote it is trusted. `says_more`: there are other
    marks of a proxy in the request; then nobody is taken for a process of this machine, whoever the proxy is.
    """
    if peer.startswith(PEER):
        return Caller(host="", peer=int(peer.removeprefix(PEER)))
    if not _is_in(peer, trusted):
        return Caller(host=peer, is_forwarded=bool(forwarded_for) or says_more)
    host = peer
    for hop in reversed([hop.strip() for line in forwarded_for for hop in line.split(",")]):
        found = find_address(hop) or find_address(hop.rpartition(":")[0])
        if found is None:
            break
        host = str(found)
        if not _is_in(host, trusted):
            break
    return Caller(host=host, is_forwarded=True, is_from_proxy=True)


def _is_in(host: str, networks: Sequence[IpNetwork]) -> bool:
    address = find_address(host)
    return address is not None and any(address in network for network in networks)


def is_host(text: str) -> bool:
    """Whether a text can be the Host of a request: a name or an address, and a port."""
    return HOST.match(text) is not None


def is_our_host(text: str, public_url: str, listen_host: str) -> bool:
    """Whether a page of that host may have been served by us.

    Addresses always may: a page under a foreign name (DNS rebinding) cannot put one there. Names: `localhost`, that
    of `public_url`, and the one to listen on.
    """
    match = HOST.match(text)
    if match is None:
        return False
    name = match["name"].lower().rstrip(".")
    ours = {"localhost", listen_host.lower(), (urlsplit(public_url).hostname or "").lower()}
    return find_address(name) is not None or name in ours


def is_our_origin(origin: str, host: str, public_url: str) -> bool:
    """Whether the page that sends a request is one of ours: by its Origin, and the Host that it sends to."""
    known = urlsplit(public_url)
    try:
        given = urlsplit(origin)
        place = (given.scheme, given.hostname, given.port)
        ours = (known.scheme, known.hostname, known.port)
    except ValueError:
        return False
    return bool(given.netloc) and (place == ours or given.netloc.lower() == host.lower())
