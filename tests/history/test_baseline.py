"""What is usual for the hour, and what is not."""

import math

import pytest

from patrol.history.baseline import Anomaly, Oddity, find_anomaly, is_worth_telling
from patrol.history.model import Measure
from tests.history.builders import NOW, series

TWO_WEEKS = 14 * 24


def found(values: list[float], current: float) -> Anomaly | None:
    return find_anomaly(series([*values, 0], 3600), current, NOW.timestamp())


def around(usual: float, spread: float, count: int = TWO_WEEKS) -> list[float]:
    """Days that lie below and above a value in turn, so that their deviation is `spread`."""
    return [usual + (spread if (index // 24) % 2 else -spread) for index in range(count)]


@pytest.mark.parametrize(
    ("current", "oddity"),
    [
        (50, None),
        (57.9, None),
        (58.1, Oddity.LOW),
        (60.1, Oddity.MEDIUM),
        (62.1, Oddity.HIGH),
        (66.1, Oddity.CRITICAL),
        (33.9, Oddity.CRITICAL),
    ],
)
def test_bands_of_deviation(current: float, oddity: Oddity | None) -> None:
    anomaly = found(around(50, 4), current)
    assert (anomaly.oddity if anomaly is not None else None) is oddity


def test_a_difference_below_three_points_is_none_however_steady_it_was() -> None:
    assert found(around(50, 0.1), 52.9) is None
    anomaly = found(around(50, 0.1), 53)
    assert anomaly is not None
    assert anomaly.deviations == pytest.approx(3)  # a deviation is never taken for less than one point


@pytest.mark.parametrize(("current", "odd"), [(54.9, False), (55, True), (45, True)])
def test_what_never_moved_is_odd_from_five_points_on(current: float, odd: bool) -> None:
    anomaly = found([50] * TWO_WEEKS, current)
    assert (anomaly is not None) is odd
    assert anomaly is None or anomaly.oddity is Oddity.MEDIUM


@pytest.mark.parametrize(("count", "told"), [(49, False), (50, True)])
def test_fifty_hours_must_have_been_seen(count: int, told: bool) -> None:
    assert (found([10] * count, 90) is not None) is told


def test_a_value_is_compared_with_its_own_hour() -> None:
    nightly = [80.0 if index % 24 == 23 else 10.0 for index in range(TWO_WEEKS)]
    shifted = nightly[1:] + nightly[:1]
    same_hour = found([80.0 if (TWO_WEEKS - index) % 24 == 0 else 10.0 for index in range(TWO_WEEKS)], 80)
    assert same_hour is None
    assert math.isclose(sum(shifted), sum(nightly))
    other = found([80.0 if (TWO_WEEKS - index) % 24 == 5 else 10.0 for index in range(TWO_WEEKS)], 80)
    assert other is not None
    assert other.usual == 10


@pytest.mark.parametrize(
    ("measure", "value", "usual", "told"),
    [
        (Measure.CPU, 99, 30, True),  # percent, not a fraction
        (Measure.CPU, 69, 10, False),
        (Measure.CPU, 90, 50, False),
        (Measure.CPU, 1, 50, False),
        (Measure.MEMORY, 80, 70, True),
        (Measure.MEMORY, 62, 40, True),
        (Measure.MEMORY, 62, 50, False),
        (Measure.MEMORY, 59, 10, False),
        (Measure.DISK, 85, 80, True),
        (Measure.DISK, 50, 35, True),
        (Measure.DISK, 50, 36, False),
        (Measure.USAGE, 50, 25, True),
        (Measure.USAGE, 20, 40, True),
        (Measure.USAGE, 50, 30, False),
    ],
)
def test_what_is_worth_telling(measure: Measure, value: float, usual: float, told: bool) -> None:
    assert is_worth_telling(measure, Anomaly(Oddity.HIGH, value, usual, 3)) is told
