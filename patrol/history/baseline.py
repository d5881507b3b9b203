"""How far a value lies from what is usual for its hour of the day."""

from collections.abc import Iterable
from enum import IntEnum
from statistics import fmean, pstdev
from typing import NamedTuple

from patrol.history.average import buckets
from patrol.history.model import Measure, Point

_HOUR_SECONDS = 3600
_DAY_HOURS = 24

LEAST_SAMPLES = 50
"""Hours that must have been seen before anything is called usual."""

LEAST_OF_HOUR = 5
"""Days whose same hour makes a mean of its own; with fewer the mean of all hours is used."""

_LEAST_DEVIATION = 1.0
_LEAST_DIFFERENCE = 3.0


class Oddity(IntEnum):
    """How unusual: from 2, 2.5, 3 and 4 standard deviations on."""

    LOW = 1
    MEDIUM = 2
    HIGH = 3
    CRITICAL = 4


class Anomaly(NamedTuple):
    """An unusual value. `usual` is the mean that it was compared with, `deviations` how many (signed) it is away."""

    oddity: Oddity
    value: float
    usual: float
    deviations: float


def find_anomaly(points: Iterable[Point], current: float, now_seconds: float) -> Anomaly | None:
    """How unusual the present value is; None where it is not, or where too little was seen to tell.

    The present hour is no part of what is usual. Percentages everywhere: a difference below 3 points is none.
    """
    now_hour = int(now_seconds // _HOUR_SECONDS)
    hours = {hour: point.value for hour, point in buckets(points, _HOUR_SECONDS).items() if hour < now_hour}
    if len(hours) < LEAST_SAMPLES:
        return None
    same = [value for hour, value in hours.items() if (now_hour - hour) % _DAY_HOURS == 0]
    usual = fmean(same if len(same) >= LEAST_OF_HOUR else hours.values())
    difference, spread = current - usual, pstdev(hours.values())
    if spread == 0:
        oddity = Oddity.MEDIUM if abs(difference) >= 5 else None
    elif abs(difference) < _LEAST_DIFFERENCE:
        oddity = None
    else:
        oddity = _band(abs(difference) / max(spread, _LEAST_DEVIATION))
    deviations = difference / max(spread, _LEAST_DEVIATION)
    return Anomaly(oddity, current, usual, deviations) if oddity is not None else None


def _band(deviations: float) -> Oddity | None:
    bands = ((4.0, Oddity.CRITICAL), (3.0, Oddity.HIGH), (2.5, Oddity.MEDIUM), (2.0, Oddity.LOW))
    return next((oddity for least, oddity in bands if deviations >= least), None)


def is_worth_telling(measure: Measure, anomaly: Anomaly) -> bool:
    """Whether an unusual value matters: one that is both odd and high. What is unusually idle is left alone."""
    value, usual = anomaly.value, anomaly.usual
    if measure is Measure.CPU:
        return value >= 70 and value >= 2 * usual
    if measure is Measure.MEMORY:
        return value >= 80 or (value >= 60 and value >= 1.5 * usual)
    if measure is Measure.DISK:
        return value >= 85 or value >= usual + 15
    return value >= 2 * usual or value <= usual / 2
