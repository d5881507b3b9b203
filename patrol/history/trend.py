"""Which way a series goes, and when it will be full if it goes on: claimed only where the samples bear it.

Both go by time, never by the number of samples, so that a series says the same whether it was sampled each minute
or each hour.
"""

import math
from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import combinations
from statistics import fmean, median
from typing import NamedTuple

from patrol.history.average import buckets
from patrol.history.model import Point

HOUR_SECONDS = 3600
_DAY_HOURS = 24


class Direction(StrEnum):
    """The documented words for where a metric goes."""

    STABLE = "stable"
    GROWING = "growing"
    DECLINING = "declining"


class Trend(NamedTuple):
    """Where a series goes. `per_day`: points of percent a day, the median slope of all pairs (Theil-Sen)."""

    direction: Direction
    per_day: float


_MOST_BUCKETS = 48
_LEAST_BUCKETS = 6
_LEAST_CHANGE = 5.0
"""Points of percent that a period must change by to be called more than stable."""
_OVER_NOISE = 2.0


def find_trend(points: Iterable[Point], since_seconds: float, until_seconds: float) -> Trend | None:
    """The trend over a period; None where less than half of it was seen, or too little to tell.

    It is `growing` or `declining` where the line changes by at least 5 points over what was seen, and by twice as much
    as the values usually lie off the line.
    """
    width = max((until_seconds - since_seconds) / _MOST_BUCKETS, HOUR_SECONDS)
    seen = [(point.at_seconds, point.value) for point in buckets(points, width).values()]
    if len(seen) < _LEAST_BUCKETS or seen[-1][0] - seen[0][0] < (until_seconds - since_seconds) / 2:
        return None
    slope = median((later - value) / (at - earlier_at) for (earlier_at, value), (at, later) in combinations(seen, 2))
    level = median(value - slope * at for at, value in seen)
    noise = fmean(abs(value - slope * at - level) for at, value in seen)
    change = slope * (seen[-1][0] - seen[0][0])
    per_day = slope * _DAY_HOURS * HOUR_SECONDS
    if abs(change) < _LEAST_CHANGE or abs(change) < _OVER_NOISE * noise:
        return Trend(Direction.STABLE, per_day)
    return Trend(Direction.GROWING if change > 0 else Direction.DECLINING, per_day)


class TimeToFull(NamedTuple):
    """A claim: at this rate it will be full in so many days. `seen_hours`: the time that bears it."""

    days: int
    per_day: float
    seen_hours: int


class _Outlook(NamedTuple):
    """How far ahead may be said what was seen for so long."""

    seen_hours: int
    most_days: int


_OUTLOOKS = (_Outlook(seen_hours=72, most_days=12), _Outlook(seen_hours=168, most_days=30))
_LEAST_PER_DAY = 0.1
_QUARTILE = 0.25
FULL_PERCENT = 100.0


def time_to_full(points: Iterable[Point], current: float, now_seconds: float) -> TimeToFull | None:
    """When a series of percentages reaches 100; None where the samples bear no such claim.

    Each hour is compared with the same hour of the day before: what comes and goes with the day, or happens once each
    night, falls out. The rate is the lower quartile of these differences over 3 or 7 days up to now, and hours that
    were not seen count as if it had fallen. So three quarters of all pairs must have grown by at least that rate:

    - a gap can only take a claim away, never make one;
    - one jump (a restart, a copy, a total that was changed) is in at most half of the pairs, and makes none;
    - nothing is said before most of 3 days was seen, nor further ahead than 4 times what was seen.
    """
    if not 0 <= current < FULL_PERCENT:
        return None
    hours = {hour: point.value for hour, point in buckets(points, HOUR_SECONDS).items()}
    now_hour = int(now_seconds // HOUR_SECONDS)
    hours[now_hour] = current
    claims = [claim for outlook in _OUTLOOKS if (claim := _claim(hours, current, now_hour, outlook)) is not None]
    return min(claims, default=None)


def _claim(hours: Mapping[int, float], current: float, now_hour: int, outlook: _Outlook) -> TimeToFull | None:
    first = now_hour - outlook.seen_hours + 1
    growth = sorted(
        hours[hour] - hours[hour - _DAY_HOURS] if hour in hours and hour - _DAY_HOURS in hours else -math.inf
        for hour in range(first + _DAY_HOURS, now_hour + 1)
    )
    per_day = growth[int(len(growth) * _QUARTILE)]
    if per_day <= _LEAST_PER_DAY:
        return None
    days = math.ceil((FULL_PERCENT - current) / per_day)
    return TimeToFull(days, per_day, outlook.seen_hours) if days <= outlook.most_days else None
