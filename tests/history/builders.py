"""Series and stores that the tests of history are made of."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from patrol.database import Database
from patrol.history.downsample import tidy
from patrol.history.model import RAW, Level, Measure, Point, Sample, SeriesKey, moment
from patrol.history.reading import Wanted, read_points
from patrol.history.store import HistoryStore

NOW = datetime(2026, 11, 29, 21, 0, tzinfo=UTC)
CPU = SeriesKey("vm:lab:101", Measure.CPU)
ROOT = SeriesKey("agent:local:hosta", Measure.DISK, "/")


def ago(**back: float) -> datetime:
    return NOW - timedelta(**back)


def series(values: Sequence[float | None], step_seconds: float = 60, window_seconds: float = 0) -> list[Point]:
    """One point each step, the last of them now; None is a hole."""
    last = NOW.timestamp()
    return [
        moment(last - step_seconds * (len(values) - 1 - index), value, window_seconds)
        for index, value in enumerate(values)
        if value is not None
    ]


def write(database: Database, samples: Iterable[Sample], now: datetime = NOW, org_id: str = "default") -> int:
    with database.write() as connection:
        return HistoryStore(connection, org_id).write(samples, now)


def tidy_all(database: Database, now: datetime = NOW) -> None:
    with database.write() as connection:
        tidy(connection, now)


def read(
    database: Database,
    key: SeriesKey = CPU,
    *,
    step: Level = RAW,
    since: datetime = datetime(2020, 1, 1, tzinfo=UTC),
    until: datetime = NOW,
    org_id: str = "default",
) -> list[Point]:
    with database.read() as connection:
        wanted = Wanted({key.resource_id}, {key.measure}, since, until, step)
        return read_points(HistoryStore(connection, org_id), wanted).get(key, [])


def values(points: Iterable[Point]) -> list[float]:
    return [point.value for point in points]
