"""CPU use over the window that its limit asks for, where a source only tells that of the moment or of less.

The average is put in place of the reading before any tool answers, so that the detectors, the model and a replay
read the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from patrol.estate.inventory import inventory_row
from patrol.estate.model import Metric, Reading, Resource
from patrol.history.average import LARGEST_HOLE, MIN_MOMENTS, newest_average
from patrol.history.model import RAW, Measure, Point, SeriesKey, moment
from patrol.history.view import History
from signals.thresholds import Limited, Thresholds

_HOURLY = timedelta(hours=1)


class _Short(NamedTuple):
    """A reading over less than is asked for."""

    resource: Resource
    reading: Reading
    wanted_seconds: float


def average_cpu(resources: Iterable[Resource], thresholds: Thresholds, history: History) -> None:
    """Replaces CPU readings whose window is too short by averages of samples, as far as there are any.

    The minutes before are looked at first; for those that are sampled by hourly runs alone, the hours before.
    """
    if not history.is_kept:
        return
    short = list(_too_short(resources, thresholds))
    longest = max((each.wanted_seconds for each in short), default=0)
    for period in (timedelta(seconds=LARGEST_HOLE * longest), _HOURLY * (MIN_MOMENTS + 1)):
        found = history.points({each.resource.id for each in short}, {Measure.CPU}, period, step=RAW)
        if found:
            short = [each for each in short if not _is_averaged(each, found, history.now)]


def _is_averaged(short: _Short, found: Mapping[SeriesKey, Sequence[Point]], now: datetime) -> bool:
    """Puts the average in place, and says whether it is over as long as was asked for."""
    resource, reading, wanted = short
    before = found.get(SeriesKey(resource.id, Measure.CPU), ())
    at = (reading.at or now).timestamp()
    average = newest_average([*before, moment(at, reading.value, reading.window_seconds)], now.timestamp(), wanted)
    if average is None or average.window_seconds <= reading.window_seconds:
        return False
    resource.metrics[Metric.CPU] = Reading(
        value=average.value, window_seconds=average.window_seconds, at=reading.at or now
    )
    return average.window_seconds >= wanted


def _too_short(resources: Iterable[Resource], thresholds: Thresholds) -> Iterable[_Short]:
    for resource in resources:
        reading = resource.metrics.get(Metric.CPU)
        if reading is not None:
            wanted = thresholds.window_seconds(inventory_row(resource), Limited.CPU)
            if reading.window_seconds < wanted:
                yield _Short(resource, reading, wanted)
