"""What the kernel's counters grew by between two collections."""

from collections.abc import Mapping
from dataclasses import dataclass

from patrol.estate.sources.model import Counter

MIN_WINDOW_SECONDS = 300
"""A base is kept until it is so old: who looks each minute has an average all the same."""

MAX_WINDOW_SECONDS = 24 * 3600
"""An average over more hides the present behind the past."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Two samples of one boot, and the time between them. Always longer than no time."""

    seconds: float
    before: Mapping[str, float]
    after: Mapping[str, float]

    def of(self, name: str) -> float | None:
        """What one counter grew by; None where it is not in both, or was reset."""
        old, new = self.before.get(name), self.after.get(name)
        return None if old is None or new is None or new < old else new - old

    def per_second(self, name: str) -> float | None:
        """The same as a rate, rounded to a tenth."""
        grown = self.of(name)
        return None if grown is None else round(grown / self.seconds, 1)


def find_growth(base: Counter | None, sample: Counter) -> Growth | None:
    """The growth since an earlier sample; None without a usable one: none, another boot, too old, or of the future."""
    if base is None or any(base.values.get(name) != sample.values.get(name) for name in ("boot", "btime")):
        return None
    seconds = _elapsed_seconds(base, sample)
    if not 0 < seconds <= MAX_WINDOW_SECONDS:
        return None
    return Growth(seconds=seconds, before=base.values, after=sample.values)


def next_base(base: Counter | None, sample: Counter) -> Counter:
    """The sample that the next collection compares with."""
    growth = find_growth(base, sample)
    return base if base is not None and growth is not None and growth.seconds < MIN_WINDOW_SECONDS else sample


def _elapsed_seconds(base: Counter, sample: Counter) -> float:
    # The time since boot does not jump when the clock is set.
    old, new = base.values.get("uptime_seconds"), sample.values.get("uptime_seconds")
    return new - old if old is not None and new is not None else (sample.at - base.at).total_seconds()
