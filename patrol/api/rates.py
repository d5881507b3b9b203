"""How often somebody may ask. Pure but for what it remembers; the time is handed in."""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta

REMEMBERED = 10_000
"""Callers that are remembered. Of more, those that asked longest ago are forgotten: memory is bounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """`count` requests at once, after which one more every `per / count`. `name` keeps limits apart."""

    name: str
    count: int
    per: timedelta

    @property
    def step(self) -> timedelta:
        """The time for which one request counts."""
        return self.per / self.count


class Limiter:
    """Counts requests by caller. A request that is refused does not count."""

    def __init__(self) -> None:
        self._full_at: OrderedDict[tuple[str, str], datetime] = OrderedDict()  # when nothing would count any more
        self._lock = threading.Lock()

    def take(self, rate: Rate, key: str, now: datetime) -> timedelta | None:
        """Counts a request; None where it may go on, else how long to wait."""
        with self._lock:
            waited = self._wait(rate, key, now)
            if waited is None:
                self._count(rate, key, now)
            return waited

    def give_back(self, rate: Rate, key: str) -> None:
        """Takes back that a request was counted."""
        place = (rate.name, key)
        with self._lock:
            full_at = self._full_at.get(place)
            if full_at is not None:
                self._full_at[place] = full_at - rate.step

    def _wait(self, rate: Rate, key: str, now: datetime) -> timedelta | None:
        full_at = self._full_at.get((rate.name, key))
        # A clock that was set back makes nobody wait for longer than the whole time of the limit.
        if full_at is None or full_at <= now or full_at > now + rate.per:
            return None
        over = full_at - now + rate.step - rate.per
        return over if over > timedelta() else None

    def _count(self, rate: Rate, key: str, now: datetime) -> None:
        place = (rate.name, key)
        before = self._full_at.pop(place, now)
        start = before if now < before <= now + rate.per else now
        self._full_at[place] = start + rate.step
        while len(self._full_at) > REMEMBERED:
            self._full_at.popitem(last=False)
