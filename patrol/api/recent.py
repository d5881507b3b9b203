"""Passwords that were right a short time ago: who sends one with each request has it checked once, and not each time.

What is remembered is worth nothing outside of this process and no longer than a few minutes: a hash under a key that is
never written down, over the name, the password and what is kept of it. A changed password or a removed user is another
text, so that nothing has to be forgotten for it.
"""

import hashlib
import hmac
import threading
from collections import OrderedDict
from datetime import datetime, timedelta

KEPT_FOR = timedelta(minutes=5)
MOST = 1_000


class RecentPasswords:
    """Remembers for this process which passwords were right. `key`: 32 random bytes."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._right_at: OrderedDict[bytes, datetime] = OrderedDict()
        self._lock = threading.Lock()

    def was_right(self, name: str, password: str, kept: str, now: datetime) -> bool:
        """Whether this password was right, with the same kept hash, within the last minutes."""
        with self._lock:
            right_at = self._right_at.get(self._digest(name, password, kept))
        return right_at is not None and timedelta() <= now - right_at < KEPT_FOR

    def note(self, name: str, password: str, kept: str, now: datetime) -> None:
        """A password was checked, and is right."""
        digest = self._digest(name, password, kept)
        with self._lock:
            self._right_at.pop(digest, None)
            self._right_at[digest] = now
            while len(self._right_at) > MOST:
                self._right_at.popitem(last=False)

    def _digest(self, name: str, password: str, kept: str) -> bytes:
        parts = [part.encode("utf-8", "surrogatepass") for part in (name, password, kept)]
        whole = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
        return hmac.digest(self._key, whole, hashlib.sha256)
