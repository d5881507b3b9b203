"""What looks like an address, a name of the network or an id, without anybody having said so."""

import ipaddress
import re
from enum import StrEnum
from typing import NamedTuple

from patrol.estate.model import ResourceType

TYPES = tuple(sorted((*(each.value for each in ResourceType), "source"), key=len, reverse=True))


class Shape(StrEnum):
    """What a piece of text looks like."""

    ID = "id"  # a canonical id of a resource
    UUID = "uuid"
    MAC = "mac"
    ADDRESS = "address"  # IPv4 or IPv6
    ACCOUNT = "account"  # e-mail, or a user of a realm
    SERIAL = "serial"  # a world-wide name, or the last part of a device's name by id
    URL = "url"  # up to a host that is a single word
    DOMAIN = "domain"


class Match(NamedTuple):
    """What was recognised, and where it ends. `start`: where what is to be hidden begins."""

    shape: Shape
    start: int
    end: int


# Everything is bounded: text from outside must not be able to make a match take long.
_LABEL = r"[^\W_](?:[\w-]{0,61}[^\W_])?"
_TYPE = "|".join(map(re.escape, TYPES))
_SHAPES = re.compile(
    rf"""
    (?P<id>(?:{_TYPE}):[A-Za-z0-9][A-Za-z0-9._~-]{{0,98}}:(?:[A-Za-z0-9._:~-]{{0,180}}[A-Za-z0-9])(?![^\W_])
    )|(?P<uuid>[0-9a-f]{{8}}-[0-9a-f]{{4}}-[0-9a-f]{{4}}-[0-9a-f]{{4}}-[0-9a-f]{{12}})(?![^\W_])
    |(?P<mac>[0-9a-f]{{2}}(?:[:-])[0-9a-f]{{2}}(?:[:-][0-9a-f]{{2}}){{4}}(?:(?:[:-][0-9a-f]{{2}}){{2}})?)(?![^\W_])
    |(?P<address>\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?![^\W_])
        |[0-9a-f]{{1,4}}(?::[0-9a-f]{{0,4}}){{1,7}}(?:(?<=:)\d{{1,3}}(?:\.\d{{1,3}}){{3}})?(?![^\W_]))
    |(?P<account>[\w.+-]{{1,64}}@{_LABEL}(?:\.{_LABEL}){{0,9}}(?:![\w-]{{1,64}})?)(?![^\W_])
    |(?P<wwn>(?:0x|naa\.|eui\.)[0-9a-f]{{16,32}})(?![^\W_])
    |(?:ata|scsi|nvme|usb|virtio)-[\w.+-]{{0,100}}_(?P<byid>[0-9A-Za-z-]{{6,40}})(?![^\W_])
    |(?P<url>[a-z][a-z0-9+.-]{{0,20}}://(?:[^\s/@]{{1,128}}@)?)(?=[^\W_])
    |(?P<domain>{_LABEL}(?:\.{_LABEL}){{0,9}}\.[^\W\d_]{{2,24}})(?![\w-])
    """,
    re.IGNORECASE | re.VERBOSE,
)

_UNITS = "service timer socket mount automount swap target path slice scope device"
_FILES = (
    "conf cfg csv db deb gz html img iso jpg js json key lock log lzo md pdf pem pid png py qcow2 raw sh so sock sql"
    " svg tar tgz tmp toml txt vma vmdk xml xz yaml yml zip zst"
)
_NO_DOMAINS = frozenset(f"{_UNITS} {_FILES}".split())
_DIGIT = re.compile(r"\d")


def shape_at(text: str, at: int) -> Match | None:
    """What begins at `at`, where a word begins."""
    found = _SHAPES.match(text, at)
    if found is None:
        return None
    name = found.lastgroup or ""
    if name == "byid":
        start, end = found.span("byid")
        return Match(Shape.SERIAL, start, end) if _DIGIT.search(text, start, end) else None
    if name == "wwn":
        return Match(Shape.SERIAL, at, found.end())
    shape = Shape(name)
    piece = found.group(name)
    if shape is Shape.ADDRESS and not is_address_of_a_house(piece):
        return None
    if shape in {Shape.DOMAIN, Shape.ACCOUNT} and piece.rsplit(".", 1)[-1].casefold() in _NO_DOMAINS and "." in piece:
        return None
    return Match(shape, at, at + len(piece))


def is_address_of_a_house(text: str) -> bool:
    """Whether it is an address, and not the one by which every host calls itself."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)
