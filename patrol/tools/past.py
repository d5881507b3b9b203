"""The past of a resource in answers of `pulse_metrics`: points, extremes and trend of a period."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Protocol

import msgspec

from findings.model import ResourceId
from patrol.estate.model import Resource
from patrol.history.average import buckets
from patrol.history.model import FIVE_MINUTES, HOUR, Level, Measure, Point, SeriesKey
from patrol.history.trend import Direction, find_trend
from signals.evidence import PerformanceOutput, PerformanceRow
from signals.pages import Row

MOST_POINTS = 120
"""Points of one answer: a longer series is shown as averages of so many buckets."""


class Past(Protocol):
    """What tools need of history. `now`: the time of the run; nothing later is told."""

    @property
    def now(self) -> datetime:
        """Until when there is a past."""
        ...

    def points(
        self,
        resource_ids: Collection[ResourceId],
        measures: Collection[Measure],
        period: timedelta,
        *,
        step: Level,
        extremes: bool = True,
    ) -> dict[SeriesKey, list[Point]]:
        """Points of each series, oldest first."""
        ...


class _Period(NamedTuple):
    length: timedelta
    step: Level


PERIODS = {"24h": _Period(timedelta(hours=24), FIVE_MINUTES), "7d": _Period(timedelta(days=7), HOUR)}

_SHOWN = {
    "cpu": (SeriesKey("", Measure.CPU),),
    "memory": (SeriesKey("", Measure.MEMORY),),
    # the first that there is: a guest's main disk, a host's root, how full a pool is
    "disk": (SeriesKey("", Measure.DISK), SeriesKey("", Measure.DISK, "/"), SeriesKey("", Measure.USAGE)),
}
_MEASURES = frozenset(key.measure for keys in _SHOWN.values() for key in keys)

Series = Mapping[str, Sequence[Point]]
"""The points of one resource by what they are shown as: cpu, memory, disk."""


class PointRow(Row):
    """The documented point: averages of one bucket, percent."""

    timestamp: str
    cpu: float | None = None
    memory: float | None = None
    disk: float | None = None


def add_past(
    past: Past | None, page: PerformanceOutput, period: str, rows: Iterable[Resource], asked: Resource | None
) -> None:
    """Adds trend and extremes of the period to each row of the page, and the points of the resource asked for."""
    page.period = period
    if asked is not None:
        page.resource_id = asked.id
    if past is None:
        return
    length, step = PERIODS[period]
    ids = dict.fromkeys([*(each.id for each in rows), *([asked.id] if asked is not None else [])])
    found = past.points(ids.keys(), _MEASURES, length, step=step)
    until = past.now.timestamp()
    since = until - length.total_seconds()
    for resource_id, row in page.summary.items():
        _tell(row, _series_of(found, resource_id), since, until)
    if asked is not None:
        _show(page, _series_of(found, asked.id), length.total_seconds() / MOST_POINTS)


def _series_of(found: Mapping[SeriesKey, Sequence[Point]], resource_id: ResourceId) -> Series:
    shown: dict[str, Sequence[Point]] = {}
    for name, keys in _SHOWN.items():
        points = next((found[key] for each in keys if (key := each._replace(resource_id=resource_id)) in found), None)
        if points is not None:
            shown[name] = points
    return shown


def _tell(row: PerformanceRow, series: Series, since: float, until: float) -> None:
    for name, points in series.items():
        setattr(row, f"max_{name}", max(point.maximum for point in points))
    trends = {trend.direction for points in series.values() if (trend := find_trend(points, since, until)) is not None}
    # One word for the resource: what grows anywhere matters most.
    row.trend = next(
        (word for word in (Direction.GROWING, Direction.DECLINING, Direction.STABLE) if word in trends), None
    )


def _show(page: PerformanceOutput, series: Series, bucket_seconds: float) -> None:
    """The points of the page: as they are stored where these are few, else averages of buckets."""
    times = {point.at_seconds for points in series.values() for point in points}
    page.original_count = len(times)
    page.downsampled = len(times) > MOST_POINTS or None
    rows: dict[float, PointRow] = {}
    for name, points in series.items():
        shown = buckets(points, bucket_seconds).values() if page.downsampled else points
        for point in shown:
            row = rows.get(point.at_seconds) or rows.setdefault(point.at_seconds, _row(point.at_seconds))
            setattr(row, name, round(point.value, 2))
    page.points = [msgspec.Raw(_encode(rows[at])) for at in sorted(rows)][-MOST_POINTS:]


def _row(at_seconds: float) -> PointRow:
    return PointRow(timestamp=datetime.fromtimestamp(at_seconds, UTC).isoformat().replace("+00:00", "Z"))


_encode = msgspec.json.Encoder().encode
