"""What goes into a block comes out of it."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patrol.history.blocks import (
    MISSING,
    SHARD,
    Column,
    decode_block,
    empty,
    encode_block,
    known_measures,
    pack,
    points_of,
    scaled,
    unpack,
    unpack_column,
    whole,
)
from patrol.history.model import Measure


@given(st.lists(st.integers(-32768, 32767), max_size=300))
def test_packed_values_come_back(values: list[int]) -> None:
    assert unpack(pack(array("h", values))) == array("h", values)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e9, -301])
def test_what_is_no_percentage_is_not_stored(value: float) -> None:
    assert scaled(Measure.CPU, value) is None


def test_what_fills_up_is_kept_to_the_hundredth_and_what_moves_to_the_tenth() -> None:
    assert scaled(Measure.DISK, 81.238) == 8124
    assert scaled(Measure.CPU, 81.238) == 812


def test_a_window_longer_than_a_column_holds_is_cut() -> None:
    assert whole(86_400) == 32_767


def test_points_have_what_was_stored_and_nothing_where_nothing_was() -> None:
    averages, windows = empty(2), array("h", [0]) * (2 * SHARD)
    averages[6], windows[6] = 55, 300
    column = unpack_column(Column(averages=pack(averages), windows=pack(windows)))
    [point] = points_of(Measure.CPU, column, 3, 2, 1000.0, 60)
    assert point == (1000.0, 5.5, 5.5, 5.5, 1, 300)
    assert list(points_of(Measure.CPU, column, 4, 2, 1000.0, 60)) == []
    assert averages.count(MISSING) == 2 * SHARD - 1


def test_a_measure_of_a_newer_version_is_left_alone() -> None:
    column = Column(averages=pack(empty()))
    block = decode_block(encode_block({"cpu": column, "flux": column}))
    assert block.keys() == {"cpu", "flux"}
    assert [measure for measure, _ in known_measures(block)] == [Measure.CPU]
