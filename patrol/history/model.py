"""The words of history: what is sampled, and what comes back of it."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from findings.model import ResourceId


class Measure(StrEnum):
    """What a series holds, all in percent (0-100). The words are stored."""

    CPU = "cpu"
    MEMORY = "memory"
    SWAP = "swap"
    PRESSURE_CPU = "pressure_cpu"
    PRESSURE_MEMORY = "pressure_memory"
    PRESSURE_IO = "pressure_io"
    DISK = "disk"  # a file system (subject: its mount), or a guest's main disk as its hypervisor sees it (no subject)
    INODES = "inodes"  # of a file system
    USAGE = "usage"  # of a pool or datastore


class SeriesKey(NamedTuple):
    """What is measured. `subject`: a mount, "" for the resource itself."""

    resource_id: ResourceId
    measure: Measure
    subject: str = ""


class Sample(NamedTuple):
    """One measurement. `window_seconds`: what it is the average of; 0 is a value of the moment."""

    key: SeriesKey
    at: datetime
    value: float
    window_seconds: float = 0


class Point(NamedTuple):
    """What history holds of one series at one time: a sample, or the samples of a bucket.

    `at_seconds`: time of the sample, or start of the bucket, in seconds since 1970 UTC. `value`: the average of
    `samples` many.
    `window_seconds`: what it is the average of; 0 is a value of the moment.
    """

    at_seconds: float
    value: float
    minimum: float
    maximum: float
    samples: int = 1
    window_seconds: float = 0


def moment(at_seconds: float, value: float, window_seconds: float = 0) -> Point:
    """The point of a single sample."""
    return Point(at_seconds, value, value, value, 1, window_seconds)


class Level(NamedTuple):
    """One resolution. `seconds`: length of a bucket, 0 for samples as they came. `span`: time that one block holds."""

    seconds: int
    span: timedelta
    kept: timedelta


RAW = Level(0, timedelta(0), timedelta(hours=48))
FIVE_MINUTES = Level(300, timedelta(hours=1), timedelta(days=14))
HOUR = Level(3600, timedelta(days=1), timedelta(days=400))
