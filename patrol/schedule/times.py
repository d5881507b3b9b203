"""Schedules, and when they are due: by an interval that keeps its phase, or by a cron expression in a time zone. Pure.

Cron is read by Debian's rules: 0 and 7 are Sunday; day of month and day of week are alternatives unless one of them
begins with a star. Where clocks go forward, a fixed time that does not exist is due at the first moment after the
gap; where they go back, a fixed time is due once, at its first coming. Hours and minutes with a star follow the clock.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice, takewhile
from typing import TypeAlias

from cronsim import CronSim

from patrol.settings.durations import format_duration


@dataclass(frozen=True, slots=True)
class Every:
    """Again and again, this far apart. More than nothing. `jitter`: the most that a time is put off by."""

    interval: timedelta
    jitter: timedelta = timedelta()

    def __post_init__(self) -> None:
        """Checks the invariant: times of one schedule keep their order."""
        if not timedelta() <= self.jitter < self.interval:
            raise ValueError("an interval is more than nothing, and its jitter less than the interval")

    def __str__(self) -> str:
        """As it is stored, to see whether it has changed."""
        return f"every {format_duration(self.interval)}"


@dataclass(frozen=True, slots=True)
class At:
    """At the times of a cron expression, as clocks show them in a zone. The expression was checked by the settings."""

    cron: str
    zone: tzinfo
    jitter: timedelta = timedelta()

    def __str__(self) -> str:
        """As it is stored, to see whether it has changed."""
        return f"at {' '.join(self.cron.split())} {self.zone}"


Schedule: TypeAlias = Every | At

MOST_COUNTED = 1_000
"""Missed times of a cron expression are counted one by one, up to here."""
_CLOCK_ERROR = timedelta(days=1)
"""A time that was handled and lies further ahead than this was handled by a clock that was wrong."""


def next_after(schedule: Schedule, last: datetime | None, now: datetime) -> datetime:
    """The first time after `now` that is due, aware UTC. `last`: the time that was due last; None before the first.

    An interval counts from `last`, so that it keeps its phase through restarts and late runs. A clock that goes back a
    little makes no time due twice; one that was far ahead of the right time is forgotten.
    """
    if isinstance(schedule, Every):
        return _next_of_interval(schedule.interval, last, now)
    after = max(last, now) if last is not None and last - now <= _CLOCK_ERROR else now
    return _next_of_cron(schedule, after)


def _next_of_interval(interval: timedelta, last: datetime | None, now: datetime) -> datetime:
    if last is None or last > now:
        return now + interval
    return last + ((now - last) // interval + 1) * interval


def _next_of_cron(schedule: At, after: datetime) -> datetime:
    # A fixed time in the second of two equal hours reads as one in the first: what has passed is passed over.
    times = CronSim(schedule.cron, after.astimezone(schedule.zone))
    return next(at for time in times if (at := time.astimezone(UTC)) > after)


def latest(schedule: Schedule, due: datetime, now: datetime) -> tuple[datetime, int]:
    """Of the times from `due` to `now` the last one, and how many came before it."""
    if isinstance(schedule, Every):
        count = max(0, (now - due) // schedule.interval)
        return due + count * schedule.interval, count
    times = (time.astimezone(UTC) for time in CronSim(schedule.cron, due.astimezone(schedule.zone)))
    passed = [at for at in takewhile(lambda at: at <= now, islice(times, MOST_COUNTED)) if at > due]
    return (passed[-1] if passed else due), len(passed)


def put_off(schedule: Schedule, name: str, due: datetime, seed: str) -> datetime:
    """When a due time is acted upon: a little later, other for each `seed`, so that many hosts do not ask at once.

    Equal questions have equal answers, and what is put off does not move what is due after it.
    """
    if not schedule.jitter:
        return due
    digest = hashlib.sha256(f"{seed}\n{name}\n{due.isoformat()}".encode()).digest()
    return due + schedule.jitter * (int.from_bytes(digest[:6]) / 2**48)
