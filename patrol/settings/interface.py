"""The settings of the HTTP interface, and what they can be: addresses, networks, names of headers and organisations."""

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from patrol.settings.values import DAEMON, Section

IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
IpNetwork: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

UNIX = "unix:"
SOCKET = Path("/run/patrol/api.sock")
"""Where commands of this machine find the daemon, beside the address that is set."""
HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]{1,255})(?::(?P<port>[0-9]{1,5}))?\Z")
"""A name or an address, and a port; as in the header Host."""

_HIGHEST_PORT = 65_535
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}\Z")
_ORGANISATION = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenAddress:
    """Where to listen: a host and a port, or the path of a unix socket (then `host` is "" and `port` 0)."""

    host: str = ""
    port: int = 0
    path: str = ""

    @property
    def is_local(self) -> bool:
        """Whether only processes of this machine can come in."""
        return bool(self.path) or is_local_address(self.host)


def parse_listen(text: str) -> ListenAddress:
    """`127.0.0.1:7667`, `[::1]:7667`, `localhost:7667` or `unix:/run/patrol/api.sock`. Raises ValueError."""
    if text.startswith(UNIX):
        path = text.removeprefix(UNIX)
        if not path.startswith("/") or "\0" in path:
            raise ValueError("a unix socket needs a whole path, like unix:/run/patrol/api.sock")
        return ListenAddress(path=path)
    match = HOST.match(text)
    if match is None or match["port"] is None or int(match["port"]) > _HIGHEST_PORT:
        raise ValueError('not an address and a port, like "127.0.0.1:7667" or "[::1]:7667"')
    host = match["name"].strip("[]")
    if match["name"].startswith("[") and find_address(host) is None:
        raise ValueError("there is no address between the brackets")
    return ListenAddress(host=host, port=int(match["port"]))


def find_address(host: str) -> IpAddress | None:
    """The IP address that a text is; None for a name. One of IPv4 that is written as IPv6 is one of IPv4."""
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped if mapped is not None else address


def is_local_address(host: str) -> bool:
    """Whether an address, or the name `localhost`, is this machine itself."""
    if host.lower().rstrip(".") == "localhost":
        return True
    address = find_address(host)
    return address is not None and address.is_loopback


def parse_network(text: str) -> IpNetwork:
    """`10.0.0.0/8`, `fd00::/8` or a single address. Raises ValueError."""
    try:
        return ipaddress.ip_network(text.strip(), strict=False)
    except ValueError as error:
        raise ValueError('not a network or address, like "192.168.7.0/24" or "10.0.0.5"') from error


def parse_organisation(text: str) -> str:
    """The id of an organisation. Raises ValueError."""
    if not _ORGANISATION.match(text):
        raise ValueError("an organisation has 1 to 64 small letters, digits or ._-, and no sign first")
    return text


def _listen(text: str) -> str:
    parse_listen(text)
    return text


def _network(text: str) -> str:
    return str(parse_network(text))


def _public_url(text: str) -> str:
    wanted = 'not an address like "https://patrol.example.org"'
    try:
        url = urlsplit(text)
        host, _port = url.hostname, url.port
    except ValueError as error:
        raise ValueError(wanted) from error
    if text and (url.scheme not in {"http", "https"} or not host or url.username or url.query or url.fragment):
        raise ValueError(wanted)
    return text.rstrip("/")


def _header_name(text: str) -> str:
    if text and not _HEADER.match(text):
        raise ValueError("not the name of a header, like X-Forwarded-User")
    return text


Listen = Annotated[str, AfterValidator(_listen)]
Network = Annotated[str, AfterValidator(_network)]
PublicUrl = Annotated[str, AfterValidator(_public_url)]
HeaderName = Annotated[str, AfterValidator(_header_name)]
Organisation = Annotated[str, AfterValidator(parse_organisation)]


class ApiSection(Section):
    """The HTTP interface."""

    listen: Listen = Field(
        "127.0.0.1:7667",
        examples=["0.0.0.0:7667"],
        description="Address and port, or unix:PATH. Beyond this machine only with a token or a user. " + DAEMON,
    )
    public_url: PublicUrl = Field(
        "",
        examples=["https://patrol.example.org"],
        description=f"Address under which users reach it. {DAEMON}",
    )
    trusted_proxies: tuple[Network, ...] = Field(
        (),
        examples=[["10.0.0.5", "192.168.7.0/24"]],
        description=f"Networks whose forwarding headers count. {DAEMON}",
    )
    proxy_user_header: HeaderName = Field(
        "",
        examples=["X-Forwarded-User"],
        description="Header in which a trusted proxy names the user it has let in. Empty: none. " + DAEMON,
    )
    proxy_role_header: HeaderName = Field(
        "",
        examples=["X-Forwarded-Groups"],
        description=f"Header in which it names that user's roles, with commas between them. {DAEMON}",
    )
    proxy_admin_role: str = Field(
        "admin",
        min_length=1,
        description=f"The role that manages Patrol. {DAEMON}",
    )
    organisations: tuple[Organisation, ...] = Field(
        (),
        examples=[["lab"]],
        description=f'Organisations besides "default". {DAEMON}',
    )
