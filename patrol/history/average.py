"""The average over the newest stretch of samples: each value weighs as long as it stands for."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import fmean, median
from typing import NamedTuple

from patrol.history.model import Point

LARGEST_HOLE = 2.5
"""A hole of more than this many steps ends the samples that belong together."""

MIN_MOMENTS = 3
"""Values of the moment say something about the time between them only where there are several."""


class Average(NamedTuple):
    """A mean and the time that it is the mean of."""

    value: float
    window_seconds: float


def newest_average(points: Iterable[Point], now_seconds: float, wanted_seconds: float) -> Average | None:
    """The average over the newest points that belong together and span at least `wanted_seconds`; over less where
    there is no more; None where they say nothing, or are over for longer than what is wanted.

    A value of the moment stands for the step before it, one with a window for that window; time that a newer one
    already stood for counts once. The points may come in any order, several times, and from the future.
    """
    ordered = in_order(point for point in points if point.at_seconds <= now_seconds)
    if not ordered or now_seconds - ordered[-1].at_seconds > wanted_seconds:
        return None
    step = _step(ordered)
    total = covered = 0.0
    moments = 0
    begun = ordered[-1].at_seconds
    for index in range(len(ordered) - 1, -1, -1):
        point = ordered[index]
        before = ordered[index - 1] if index else None
        stands_for = point.window_seconds or _step_before(before, point, step)
        if begun - point.at_seconds > LARGEST_HOLE * max(step, point.window_seconds):
            break
        begin = point.at_seconds - stands_for
        seconds = min(point.at_seconds, begun) - begin
        if seconds > 0:
            total += point.value * seconds
            covered += seconds
            begun = begin
            moments += not point.window_seconds
        if covered >= wanted_seconds and not 0 < moments < MIN_MOMENTS:
            break
        if not point.window_seconds and before is not None and point.at_seconds - before.at_seconds > stands_for:
            break  # a hole: what lies before it is another time
    return Average(total / covered, covered) if covered > 0 and not 0 < moments < MIN_MOMENTS else None


def _step(ordered: Sequence[Point]) -> float:
    steps = [later.at_seconds - earlier.at_seconds for earlier, later in pairwise(ordered)]
    return median(steps) if steps else 0


def _step_before(before: Point | None, point: Point, step: float) -> float:
    if before is None:
        return step
    own = point.at_seconds - before.at_seconds
    return own if own <= LARGEST_HOLE * step else step


def in_order(points: Iterable[Point]) -> list[Point]:
    """Points by time, one for each instant: of several the mean."""
    ordered = sorted(points)
    if all(earlier.at_seconds < later.at_seconds for earlier, later in pairwise(ordered)):
        return ordered
    by_time: dict[float, list[Point]] = {}
    for point in ordered:
        by_time.setdefault(point.at_seconds, []).append(point)
    return [_one(together) for together in by_time.values()]


def _one(points: Sequence[Point]) -> Point:
    if len(points) == 1:
        return points[0]
    return Point(
        points[0].at_seconds,
        fmean(point.value for point in points),
        min(point.minimum for point in points),
        max(point.maximum for point in points),
        max(point.samples for point in points),
        max(point.window_seconds for point in points),
    )


def buckets(points: Iterable[Point], seconds: float) -> dict[int, Point]:
    """Averages of the points in each bucket of this length, by the number of the bucket since 1970 UTC."""
    by_bucket: dict[int, list[Point]] = {}
    for point in in_order(points):
        by_bucket.setdefault(int(point.at_seconds // seconds), []).append(point)
    return {
        number: Point(
            number * seconds,
            fmean(point.value for point in inside),
            min(point.minimum for point in inside),
            max(point.maximum for point in inside),
            sum(point.samples for point in inside),
            seconds,
        )
        for number, inside in by_bucket.items()
    }
