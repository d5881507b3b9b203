"""An average weighs each value by the time it stands for, and claims no window that nobody saw."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patrol.history.average import Average, buckets, in_order, newest_average
from patrol.history.model import Point, moment
from tests.history.builders import NOW, series

NOW_SECONDS = NOW.timestamp()


def average(points: list[Point], wanted: float = 300) -> Average | None:
    return newest_average(points, NOW_SECONDS, wanted)


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        (series([95] * 5), (95, 300)),
        (series([95] * 4), (95, 240)),  # said as it is: the detector asks for more
        (series([10] * 20 + [95] * 5), (95, 300)),  # the newest window counts
        (series([95] * 30, step_seconds=10), (95, 300)),
        (series([0, 0, 0, 100, 100]), (40, 300)),
        (series([95, 95, 95, None, None, None, 95, 95]), None),  # two values of the moment, then a hole
        (series([10, 10, 10, None, None, None, 95, 95, 95]), (95, 180)),  # a hole ends it
        (series([95, 95, None, 95, 95]), (95, 300)),  # one that is missing does not
        (series([100, None, None, None, 0, 0, 0]), (0, 180)),  # the one after the hole stands for its own step alone
        (series([95] * 3, step_seconds=3600), (95, 3 * 3600)),  # hourly data has hourly windows
        (series([95] * 2, step_seconds=3600), None),  # two moments an hour apart are no average
        (series([95]), None),
        ([], None),
        (series([80], window_seconds=600), (80, 600)),
        (series([50, 80], step_seconds=300, window_seconds=300), (80, 300)),
        (series([20, 40], step_seconds=300, window_seconds=200), (30, 400)),  # only what was seen counts
    ],
)
def test_the_average_of_the_newest_window(points: list[Point], expected: tuple[float, float] | None) -> None:
    found = average(points)
    assert found is None if expected is None else found == pytest.approx(expected)


def test_windows_that_overlap_count_their_common_time_once() -> None:
    rolling = series([10, 10, 10, 10, 10, 60], step_seconds=60, window_seconds=300)
    found = average(rolling, wanted=600)
    assert found is not None
    assert found == pytest.approx(((60 * 300 + 10 * 300) / 600, 600))


def test_what_is_long_past_is_no_average_of_now() -> None:
    old = [point._replace(at_seconds=point.at_seconds - 301) for point in series([95] * 9)]
    assert average(old) is None


def test_samples_of_the_future_do_not_count() -> None:
    later = [point._replace(at_seconds=point.at_seconds + 3600) for point in series([95] * 9)]
    assert average(later) is None
    assert average([*later, *series([5] * 5)]) == (5, 300)


def test_uneven_steps_weigh_by_their_time() -> None:
    points = [moment(NOW_SECONDS - back, value) for back, value in ((300, 0), (240, 10), (120, 40), (60, 10), (0, 10))]
    found = average(points)
    assert found is not None
    assert found.value == pytest.approx((10 * 60 + 10 * 60 + 40 * 120 + 10 * 60) / 300)


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=40),
    st.integers(1, 4000),
    st.sampled_from([0, 60, 300, 3600]),
    st.integers(1, 7200),
    st.randoms(use_true_random=False),
)
def test_an_average_lies_between_its_samples_whatever_their_order(values, step, window, wanted, random) -> None:
    points = series(values, step_seconds=step, window_seconds=window)
    shuffled = [*points, *points]
    random.shuffle(shuffled)
    found = average(shuffled, wanted)
    assert found == average(points, wanted)
    if found is not None:
        assert min(values) - 1e-9 <= found.value <= max(values) + 1e-9
        assert 0 < found.window_seconds <= max(step, window) * (len(values) + 1)


def test_of_several_samples_of_one_instant_the_mean_counts_once() -> None:
    [one] = in_order([Point(0, 10, 5, 15, 2, 60), Point(0, 20, 8, 40, 3, 300)])
    assert one == (0, 15, 5, 40, 3, 300)


def test_buckets_join_what_falls_into_them() -> None:
    found = buckets([moment(0, 10), moment(1800, 30), moment(3600, 5)], 3600)
    assert found == {0: (0, 20, 10, 30, 2, 3600), 1: (3600, 5, 5, 5, 1, 3600)}
