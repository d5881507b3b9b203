"""When something was last written down as used: often enough for an operator, seldom enough for a disk."""

import threading
from datetime import datetime, timedelta

EVERY = timedelta(minutes=5)
REMEMBERED = 10_000


class Uses:
    """Remembers, for this process, what was noted when. Forgetting all of it costs one more note each."""

    def __init__(self) -> None:
        self._noted: dict[str, datetime] = {}
        self._lock = threading.Lock()

    def is_news(self, key: str, now: datetime) -> bool:
        """Whether this use is to be written down; if so, it counts as noted."""
        with self._lock:
            before = self._noted.get(key)
            if before is not None and timedelta() <= now - before < EVERY:
                return False
            if len(self._noted) >= REMEMBERED:
                self._noted.clear()
            self._noted[key] = now
            return True
