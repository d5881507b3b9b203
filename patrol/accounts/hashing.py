"""Secrets: how they are made, and what of them is kept. Nothing that is kept opens anything.

Tokens and sessions are 256 random bits, which nobody guesses: SHA-256 is enough, and fast. Passwords are chosen by
people: scrypt makes each guess cost a good part of a second and 32 MiB (the
parameters are among those that the OWASP Password Storage Cheat Sheet names).
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable
from functools import cache

SECRET_BYTES = 32
TOKEN_MARK = "patrol_"  # noqa: S105 - what a token begins with, so that scanners for secrets find one
TOKEN_CHARACTERS = len(TOKEN_MARK) + 43
"""43: 32 bytes in base64 without padding."""
PREFIX_CHARACTERS = len(TOKEN_MARK) + 6
"""So much of a token is kept and shown: 36 of its 256 bits."""
PASSWORD_CHARACTERS = 1024
SHORTEST_PASSWORD = 12

_COST, _BLOCK, _PARALLEL = 1 << 15, 8, 3
_SALT_BYTES = 16
_SCHEME = "scrypt"
_MOST_MEMORY = 256 << 20

RandomBytes = Callable[[int], bytes]


def new_secret(random_bytes: RandomBytes) -> str:
    """A secret of 256 bits as text."""
    return base64.urlsafe_b64encode(random_bytes(SECRET_BYTES)).rstrip(b"=").decode()


def new_token(random_bytes: RandomBytes) -> str:
    """The text of a new token."""
    return TOKEN_MARK + new_secret(random_bytes)


def hashed(secret: str) -> str:
    """What is kept of a random secret, and looked up by. Any text has one, also one that is no secret of ours."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def equal(one: str, other: str) -> bool:
    """Whether two texts are equal, in a time that tells nothing of where they differ. Takes any characters."""
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass"))


def derived(secret: str, purpose: str) -> str:
    """A second secret that belongs to the first, and from which the first cannot be had."""
    return hmac.digest(secret.encode("utf-8", "surrogatepass"), purpose.encode(), "sha256").hex()


def password_hash(password: str, random_bytes: RandomBytes) -> str:
    """What is kept of a password: scheme, cost, salt and hash, in one text."""
    salt = random_bytes(_SALT_BYTES)
    key = _scrypt(password, salt, _COST, _BLOCK, _PARALLEL)
    numbers = ("", _SCHEME, str(_COST), str(_BLOCK), str(_PARALLEL))
    return "$".join((*numbers, *(base64.b64encode(each).decode() for each in (salt, key))))


def password_matches(password: str, kept: str) -> bool:
    """Whether it is this password. False for a hash of an unknown kind, which then takes no time at all."""
    try:
        _, scheme, cost, block, parallel, salt, key = kept.split("$")
        wanted = base64.b64decode(key, validate=True)
        made = _scrypt(password, base64.b64decode(salt, validate=True), int(cost), int(block), int(parallel))
    except (ValueError, binascii.Error):
        return False
    return scheme == _SCHEME and hmac.compare_digest(made, wanted)


@cache
def nobodys_hash() -> str:
    """A hash to try where there is no user: an unknown name then takes as long as a wrong password."""
    return password_hash("", bytes)


def _scrypt(password: str, salt: bytes, cost: int, block: int, parallel: int) -> bytes:
    text = password.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(text, salt=salt, n=cost, r=block, p=parallel, maxmem=_MOST_MEMORY, dklen=32)
