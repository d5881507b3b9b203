"""Ending a run early from another thread: asked for once, noticed between two stages and where a run waits."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class RunCancelledError(Exception):
    """Somebody asked the run to end early. Its text says who, and why."""


class Cancel:
    """A wish that a run ends, which it may never get. Of several the first one counts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reason = ""
        self._told: list[Callable[[], None]] = []

    @property
    def reason(self) -> str:
        """Why it is to end; "" while nobody asked."""
        return self._reason

    def ask(self, reason: str) -> None:
        """Asks, from any thread. Returns at once. Raises ValueError for an empty reason."""
        if not reason:
            raise ValueError("a run that ends early says why")
        with self._lock:
            if not self._reason:
                self._reason = reason
                for told in self._told:
                    told()

    def check(self) -> None:
        """Raises RunCancelledError if somebody asked."""
        if self._reason:
            raise RunCancelledError(self._reason)

    @contextmanager
    def telling(self, told: Callable[[], None]) -> Iterator[None]:
        """Calls `told` when somebody asks in the block, or at once. It comes from another thread, and must not wait."""
        with self._lock:
            self._told.append(told)
            if self._reason:
                told()
        try:
            yield
        finally:
            with self._lock:
                self._told.remove(told)
