"""Reading series: coarse where buckets are made already, finer towards the present."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from findings.model import ResourceId
from findings.rows import storable
from patrol.history.blocks import SHARD, known_measures, points_of, unpack_column
from patrol.history.model import FIVE_MINUTES, HOUR, RAW, Level, Measure, Point, SeriesKey
from patrol.history.store import HistoryStore, floor, slots_of


class Wanted(NamedTuple):
    """What is to be read, `until` included. `step`: as coarse as this, where such buckets are made already.

    Without `extremes` (which is faster) minima and maxima are the averages.
    """

    resource_ids: Collection[ResourceId]
    measures: Collection[Measure]
    since: datetime
    until: datetime
    step: Level = RAW
    extremes: bool = True


_Places = Mapping[int, Sequence[tuple[ResourceId, str]]]
"""Places of a shard, each with what its number stands for."""


def read_points(store: HistoryStore, wanted: Wanted) -> dict[SeriesKey, list[Point]]:
    """Points of each series in the order of time. Series without any are missing."""
    by_shard: dict[int, dict[int, list[tuple[ResourceId, str]]]] = {}
    for number, resource_id, subject in store.series({storable(each) for each in wanted.resource_ids}):
        shard, place = divmod(number, SHARD)
        by_shard.setdefault(shard, {}).setdefault(place, []).append((resource_id, subject))
    found: dict[SeriesKey, list[Point]] = {}
    progress = {level: store.progress(level) for level in (HOUR, FIVE_MINUTES) if level.seconds <= wanted.step.seconds}
    for shard, places in by_shard.items():
        begin = wanted.since
        for level, done in progress.items():
            end = min(done.get(shard, begin), wanted.until)
            if end > begin:
                _read_level(store, level, shard, places, wanted._replace(since=begin, until=end), found)
                begin = end
        last = wanted.until + timedelta(seconds=1)
        _read_level(store, RAW, shard, places, wanted._replace(since=begin, until=last), found)
    for points in found.values():
        points.sort()
    return found


def _read_level(
    store: HistoryStore,
    level: Level,
    shard: int,
    places: _Places,
    wanted: Wanted,
    found: dict[SeriesKey, list[Point]],
) -> None:
    # A bucket that began before `since` belongs to it as long as it lasts.
    first, last = wanted.since.timestamp() - max(level.seconds - 1, 0), wanted.until.timestamp()
    slots = slots_of(level)
    for begin_at, block in store.blocks(level, shard, floor(wanted.since, level.span), wanted.until):
        begin = begin_at.timestamp()
        for measure, column in known_measures(block):
            if measure not in wanted.measures:
                continue
            values = unpack_column(column, extremes=wanted.extremes)
            for place, things in places.items():
                points = points_of(measure, values, place, slots, begin, level.seconds)
                if slots > 1:
                    points = [point for point in points if first <= point.at_seconds < last]
                if points:
                    for resource_id, subject in things:
                        found.setdefault(SeriesKey(resource_id, measure, subject), []).extend(points)
