"""Canonical ids and finding keys: the two identities that everything else is stored under."""

import hashlib
import re

from findings.model import ResourceId

_ALLOWED_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:~-]{0,199}\Z")
_ESCAPED = re.compile(rb"[^A-Za-z0-9._:-]")
_MAX_ID = 200
_DIGEST = 16


def is_canonical(text: str) -> bool:
    """Whether `text` may stand as a resource id (rules: `[A-Za-z0-9][A-Za-z0-9._:~-]{0,199}`)."""
    return _ALLOWED_ID.match(text) is not None


def canonical_id(resource_type: str, origin: str, native: str) -> ResourceId:
    """`<type>:<origin>:<native>`; a byte outside the alphabet becomes `~hh`.

    Distinct inputs give distinct ids: a colon in type or origin is escaped as well, and an id that would
    be longer than 200 characters keeps its beginning and ends in a digest of the whole.
    Raises ValueError for an empty part.
    """
    if not (resource_type and origin and native):
        raise ValueError(f"an id needs a type, an origin and a native name, got {(resource_type, origin, native)!r}")
    text = f"{_escape(resource_type, colon=True)}:{_escape(origin, colon=True)}:{_escape(native)}"
    if len(text) > _MAX_ID:
        digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]
        text = f"{text[: _MAX_ID - _DIGEST - 1]}~{digest}"
    return text


def _escape(part: str, *, colon: bool = False) -> str:
    def as_hex(match: re.Match[bytes]) -> bytes:
        return b"~%02x" % match.group()[0]

    escaped = _ESCAPED.sub(as_hex, part.encode("utf-8", "surrogateescape")).decode("ascii")
    return escaped.replace(":", "~3a") if colon else escaped


def finding_key(resource_id: ResourceId, kind: str, subject: str = "") -> str:
    """The identity of a finding: 32 hex digits over resource, kind and subject, never over prose or numbers."""
    identity = f"{resource_id}\x1f{kind}\x1f{subject}"
    return hashlib.sha256(identity.encode("utf-8", "surrogateescape")).hexdigest()[:32]
