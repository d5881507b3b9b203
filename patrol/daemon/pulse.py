"""Whether a run goes on: when it last did something, how long it may do nothing, and what its stages took."""

import threading
import time
from collections.abc import Callable
from datetime import timedelta

from patrol.run.collect import GRACE_SECONDS
from patrol.settings.model import Settings

_LEAST = timedelta(minutes=5)
_MARGIN = timedelta(minutes=1)


def longest_silence(settings: Settings) -> timedelta:
    """How long a healthy run may do nothing that can be seen.

    That is what it waits longest for: a source, the model, or a detection over very much.
    """
    source = max((each.timeout for each in settings.sources), default=timedelta())
    return max(_LEAST, source + timedelta(seconds=GRACE_SECONDS), settings.model.request_timeout) + _MARGIN


class Pulse:
    """One run, as it goes on. Told from its threads, asked from others."""

    def __init__(self, longest: timedelta, seconds: Callable[[], float] = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._longest = longest.total_seconds()
        self._seconds = seconds
        self._began = self._last = self._stage_began = seconds()
        self._stage = ""
        self._stages: dict[str, float] = {}

    def beat(self) -> None:
        """It did something."""
        self._last = self._seconds()

    def progress(self, stage: str, detail: str) -> None:  # noqa: ARG002 - as runs tell it
        """What it does now."""
        with self._lock:
            now = self._last = self._seconds()
            if stage != self._stage:
                self._end_stage(now)
                self._stage, self._stage_began = stage, now

    def is_going_on(self) -> bool:
        """Whether it did something not long ago."""
        return self._seconds() - self._last <= self._longest

    def stages(self) -> dict[str, float]:
        """What the stages took so far, in seconds, in the order in which they began."""
        with self._lock:
            self._end_stage(self._seconds())
            self._stage = ""
            return {stage: round(seconds, 3) for stage, seconds in self._stages.items()}

    def _end_stage(self, now: float) -> None:
        if self._stage:
            self._stages[self._stage] = self._stages.get(self._stage, 0.0) + now - self._stage_began
