"""Where a series goes is told by time alone; when it is full only where three days bear it."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patrol.history.model import Point, moment
from patrol.history.trend import Direction, TimeToFull, Trend, find_trend, time_to_full
from tests.history.builders import NOW, series

NOW_SECONDS = NOW.timestamp()
DAY = 24
WEEK = 168


def hourly(value, hours: int = WEEK) -> list[float]:
    """Values of the last hours, from how many hours ago each is."""
    return [value(back) for back in range(hours, -1, -1)]


def claim(values: list[float | None], step_seconds: float = 3600) -> TimeToFull | None:
    last = next(value for value in reversed(values) if value is not None)
    return time_to_full(series(values, step_seconds), last, NOW_SECONDS)


# --- time to full


@pytest.mark.parametrize(
    ("values", "days"),
    [
        (hourly(lambda back: 80 - back / 24), 20),  # 1 % a day
        (hourly(lambda back: 80 - back / 6), 5),
        (hourly(lambda back: 80 - back / 6, hours=73), 5),
        (hourly(lambda back: 80 - back / 6, hours=58), None),  # too little of three days
        (hourly(lambda back: 80 - back / 24, hours=80), None),  # 20 days are too far ahead of what was seen
        (hourly(lambda back: 60 - back / 48), None),  # 80 days as well
        (hourly(lambda back: 50), None),
        (hourly(lambda back: 50 + back / 24), None),  # it empties
        (hourly(lambda back: 80 - (back + 5) // DAY), 20),  # once each night
        (hourly(lambda back: 80 - back / 24 + 10 * math.sin(back * math.tau / DAY)), 20),  # up and down with the day
        (hourly(lambda back: 50 + 20 * math.sin(back * math.tau / DAY)), None),
    ],
)
def test_when_it_is_full(values: list[float], days: int | None) -> None:
    found = claim(values)
    assert (found.days if found is not None else None) == days


@pytest.mark.parametrize("at", range(0, WEEK, 5))
@pytest.mark.parametrize("height", [5, 50, -30])
def test_one_jump_is_no_growth_wherever_it_lies(at: int, height: float) -> None:
    """A copy, a restore, a total that was made smaller."""
    assert claim(hourly(lambda back: 40 + (height if back < at else 0))) is None
    assert claim(hourly(lambda back: 40 + (height if back < at else 0), hours=75)) is None


def test_a_gap_and_a_restart_that_read_nothing_make_no_claim() -> None:
    five_minutes = [50.0, *[None] * 23, 0.0, 50.0]
    assert claim(five_minutes, step_seconds=300) is None
    week = hourly(lambda back: 50)
    assert claim([*week[:60], *[None] * 20, *[0.0] * 4, *week[84:]]) is None


def test_the_same_growth_is_found_through_a_restart() -> None:
    week: list[float | None] = list(hourly(lambda back: 80 - back / 24))
    week[100:104] = [None, 0.0, 0.0, None]
    found = claim(week)
    assert found is not None
    assert found.days == 20


@pytest.mark.parametrize("current", [100, 120, -1, float("nan")])
def test_what_is_full_or_no_percentage_is_not_foretold(current: float) -> None:
    points = series(hourly(lambda back: 80 - back / 24), 3600)
    assert time_to_full(points, current, NOW_SECONDS) is None


@settings(max_examples=15)
@given(st.integers(0, 95), st.floats(-8, 8), st.floats(0, 0.2), st.integers(0, 2**32))
def test_a_minute_and_an_hour_say_the_same(level: int, per_day: float, noise: float, seed: int) -> None:
    """Whatever the density of the samples: the same rate, and days that differ by what the noise makes of them."""
    noisy = random.Random(seed)
    minutes = [
        moment(
            NOW_SECONDS - 60 * back,
            min(max(level - per_day * back / 1440 + noisy.uniform(-noise, noise), 0), 100),
        )
        for back in range(WEEK * 60, -1, -1)
    ]
    hours = minutes[::60]
    dense, sparse = (time_to_full(points, level, NOW_SECONDS) for points in (minutes, hours))
    if dense is not None and sparse is not None:
        assert dense.per_day == pytest.approx(sparse.per_day, abs=0.05 + 2 * noise)
    elif dense is not None or sparse is not None:
        # At the edge of a claim only: there the noise decides.
        one = dense or sparse
        assert one is not None
        least = min((100 - level) / outlook for outlook in (12, 30))
        assert one.per_day < max(least, 0.1) + 0.6 + 2 * noise or one.seen_hours == 72
    since = NOW_SECONDS - WEEK * 3600
    trends = [find_trend(points, since, NOW_SECONDS) for points in (minutes, hours)]
    assert None not in trends
    first, second = (trend for trend in trends if trend is not None)
    assert first.per_day == pytest.approx(second.per_day, abs=0.05 + noise)
    assert {first.direction, second.direction} != {Direction.GROWING, Direction.DECLINING}


walks = st.lists(st.floats(-3, 4), min_size=100, max_size=WEEK)


@given(walks, st.sets(st.integers(0, WEEK), max_size=60), st.floats(1, 99))
def test_a_gap_never_makes_a_claim_that_the_whole_series_does_not_bear(
    steps: list[float], missing: set[int], start: float
) -> None:
    values, value = [], start
    for step in steps:
        value = min(max(value + step, 0), 99)
        values.append(value)
    whole = claim(list(values))
    holes = [None if index in missing and index < len(values) - 1 else each for index, each in enumerate(values)]
    with_holes = claim(holes)
    if with_holes is not None:
        assert whole is not None
        assert whole.days <= with_holes.days


# --- trend


def trend(points: list[Point], hours: int = DAY) -> Trend | None:
    return find_trend(points, NOW_SECONDS - hours * 3600, NOW_SECONDS)


@pytest.mark.parametrize(
    ("values", "direction"),
    [
        (hourly(lambda back: 50, DAY), Direction.STABLE),
        (hourly(lambda back: 50 - back / 4, DAY), Direction.GROWING),
        (hourly(lambda back: 50 + back / 4, DAY), Direction.DECLINING),
        (hourly(lambda back: 50 - back / 6, DAY), Direction.STABLE),  # 4 points in a day
        (hourly(lambda back: 50 + (30 if back == 3 else 0), DAY), Direction.STABLE),  # a peak
        (hourly(lambda back: 50 + 20 * (-1) ** back + back / 4, DAY), Direction.STABLE),  # less than its noise
    ],
)
def test_direction(values: list[float], direction: Direction) -> None:
    found = trend(series(values, 3600))
    assert found is not None
    assert found.direction is direction


def test_the_rate_is_points_a_day_and_not_points_a_sample() -> None:
    for step in (60, 300, 3600):
        count = DAY * 3600 // step
        found = trend(series([20 + 24 * index * step / 86_400 for index in range(count + 1)], step))
        assert found is not None
        assert found.per_day == pytest.approx(24, abs=0.5)


@pytest.mark.parametrize(
    "values",
    [[], [50], hourly(lambda back: 50 - back, 4), hourly(lambda back: 50 - back, 10)],
)
def test_too_little_is_no_trend(values: list[float]) -> None:
    assert trend(series(values, 3600)) is None
