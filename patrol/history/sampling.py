"""What is kept of an estate: the percentages whose past says something."""

from collections.abc import Iterator
from datetime import datetime

from patrol.estate.model import Estate, Metric, Resource, Status
from patrol.history.model import Measure, Sample, SeriesKey

_DOWN = frozenset({Status.STOPPED, Status.PAUSED, Status.OFFLINE})
MEASURES = {metric: Measure(metric.value) for metric in Metric}
"""What each metric of an estate is called in history."""

_NEVER_ZERO = frozenset({Metric.MEMORY, Metric.DISK})
"""What runs uses some: 0 is what a source says that cannot see into it."""


def samples_of(estate: Estate, now: datetime) -> Iterator[Sample]:
    """Every value of the estate that was really measured. Readings without a time of their own are of `now`."""
    for resource in estate.resources:
        if resource.status not in _DOWN:
            yield from _of_metrics(resource, now)
        for mount in resource.filesystems or ():
            subject = mount.mountpoint or ""
            if mount.usage_percent is not None:
                yield Sample(SeriesKey(resource.id, Measure.DISK, subject), now, mount.usage_percent)
            if mount.inodes_percent is not None:
                yield Sample(SeriesKey(resource.id, Measure.INODES, subject), now, mount.inodes_percent)
        if resource.pool is not None and resource.pool.usage_percent is not None:
            yield Sample(SeriesKey(resource.id, Measure.USAGE), now, resource.pool.usage_percent)


def _of_metrics(resource: Resource, now: datetime) -> Iterator[Sample]:
    for metric, reading in resource.metrics.items():
        if reading.value > 0 or metric not in _NEVER_ZERO:
            key = SeriesKey(resource.id, MEASURES[metric])
            yield Sample(key, reading.at or now, reading.value, reading.window_seconds)
