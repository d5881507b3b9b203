"""Schedules, and when they are due: by an interval that keeps its phase, or by a cron expression in a time zone. Pure.

Cron is read by Debian's rules: 0 and 7 are Sunday; day of month and day of week are alternatives unless one of them
begins with a star. Where clocks go forward, a fixed time that does not exist is due at the first moment after the
gap; where they go back, a fixed time is due once, at its first coming. Hours and minutes with a star follow the clock:
what it leaves out is never due, what it shows twice is due twice.
"""

import hashlib
from bisect import bisect_left
from collections.abc import Iterator
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
_CLOCK_ERROR = timedelta(hours=1)
"""What lies further ahead and was due already was due by a clock that was wrong: to wait for it would be a hole."""


def next_after(schedule: Schedule, last: datetime | None, now: datetime) -> datetime:
    """The first time after `now` that is due, aware UTC. `last`: the time that was due last; None before the first.

    An interval counts from `last`, so that it keeps its phase through restarts and late runs. A clock that goes back a
    little makes no time due twice; one that was far ahead of the right time is forgotten.
    """
    if isinstance(schedule, Every):
        return _next_of_interval(schedule.interval, last, now)
    after = max(last, now) if last is not None and last - now <= _CLOCK_ERROR else now
    return next(_times_of_cron(schedule, after))


def _next_of_interval(interval: timedelta, last: datetime | None, now: datetime) -> datetime:
    if last is None or last > now:
        return now + interval
    return last + ((now - last) // interval + 1) * interval


def _times_of_cron(schedule: At, after: datetime) -> Iterator[datetime]:
    """The times after that one, each once, in their order."""
    minute, hour = schedule.cron.split()[:2]
    if minute.startswith("*") or hour.startswith("*"):
        return _shown_by_clocks(schedule, after)
    # A fixed time in the second of two equal hours reads as one in the first: what has passed is passed over.
    times = CronSim(schedule.cron, after.astimezone(schedule.zone))
    return (at for time in times if (at := time.astimezone(UTC)) > after)


def _shown_by_clocks(schedule: At, after: datetime) -> Iterator[datetime]:
    """Each time that a clock in the zone shows, from one change of its offset to the next.

    The library reads the clock without its zone: with one it counts in whole hours across a change of half an hour or
    at a minute past midnight, where it passes over times that exist, or does not end.
    """
    since, clock = after, after.astimezone(schedule.zone)
    while True:
        offset = _offset(schedule.zone, since)
        changes_at = None
        for shown in CronSim(schedule.cron, clock.replace(tzinfo=None)):
            at = shown.replace(tzinfo=UTC) - offset
            changes_at = _next_change(schedule.zone, since, at)
            if changes_at is not None:
                break
            yield at
            since = at
        if changes_at is None:  # no such day in fifty years: the settings let none of these in
            return
        # The first time of the changed clock may be that of the change itself.
        since, clock = changes_at, changes_at.astimezone(schedule.zone) - timedelta(seconds=1)


def _offset(zone: tzinfo, at: datetime) -> timedelta:
    return at.astimezone(zone).utcoffset() or timedelta()


def _next_change(zone: tzinfo, since: datetime, until: datetime) -> datetime | None:
    """When clocks are first put forward or back after `since`, up to `until`; None if they are not."""
    before = _offset(zone, since)
    start = since.replace(microsecond=0)  # clocks change on whole seconds

    def is_changed(seconds: int) -> bool:
        return _offset(zone, start + timedelta(seconds=seconds)) != before

    while start < until:
        passed = int(min(timedelta(days=1), until - start).total_seconds())  # no zone goes there and back in a day
        if is_changed(passed):
            return start + timedelta(seconds=bisect_left(range(passed), 1, key=is_changed))
        start += timedelta(seconds=max(passed, 1))
    return None


def latest(schedule: Schedule, due: datetime, now: datetime) -> tuple[datetime, int]:
    """Of the times from `due` to `now` the last one, and how many came before it."""
    if isinstance(schedule, Every):
        count = max(0, (now - due) // schedule.interval)
        return due + count * schedule.interval, count
    passed = list(takewhile(lambda at: at <= now, islice(_times_of_cron(schedule, due), MOST_COUNTED)))
    return (passed[-1] if passed else due), len(passed)


def put_off(schedule: Schedule, name: str, due: datetime, seed: str) -> datetime:
    """When a due time is acted upon: a little later, other for each `seed`, so that many hosts do not ask at once.

    Equal questions have equal answers, and what is put off does not move what is due after it.
    """
    if not schedule.jitter:
        return due
    digest = hashlib.sha256(f"{seed}\n{name}\n{due.isoformat()}".encode()).digest()
    return due + schedule.jitter * (int.from_bytes(digest[:6]) / 2**48)
