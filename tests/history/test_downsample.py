"""Buckets say what their samples said, however often and in however many pieces they are made."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from patrol.database import Database, open_database
from patrol.history.downsample import EVERY, PARTS_AT_ONCE, STEPS_AT_ONCE, downsample, prune, tidy_history
from patrol.history.model import FIVE_MINUTES, HOUR, RAW, Sample
from patrol.history.store import HistoryStore
from patrol.history.tables import BLOCKS
from tests.history.builders import ROOT, read, values, write

DAY = datetime(2026, 11, 1, tzinfo=UTC)


def at(**after: float) -> datetime:
    return DAY + timedelta(**after)


def a_day(
    database: Database, value: Callable[[int], float] = lambda number: number % 200, days: int = 1, every: int = 600
) -> None:
    """A sample each ten minutes, whose value comes from its number."""
    for day in range(days):
        end = at(days=day + 1)
        numbers = range(day * 86_400 // every, (day + 1) * 86_400 // every)
        write(database, [Sample(ROOT, at(seconds=each * every), value(each)) for each in numbers], end)


def made(database: Database, now: datetime, steps: int = 1000) -> int:
    with database.write() as connection:
        return downsample(connection, now, steps=steps)


def stored(database: Database) -> list[tuple[object, ...]]:
    with database.read() as connection:
        columns = (BLOCKS.c.resolution, BLOCKS.c.shard, BLOCKS.c.begin_at, BLOCKS.c.data)
        return sorted(tuple(row) for row in connection.execute(BLOCKS.select().with_only_columns(*columns)))


def test_buckets_hold_average_extremes_and_number_of_their_samples(any_database: Database) -> None:
    write(any_database, [Sample(ROOT, at(seconds=60 * each), each) for each in range(10)], at(hours=1))
    assert made(any_database, at(hours=2)) == 1
    first, second = read(any_database, ROOT, step=FIVE_MINUTES)
    assert first == (DAY.timestamp(), 2, 0, 4, 5, 300)
    assert second == (DAY.timestamp() + 300, 7, 5, 9, 5, 300)


def test_hours_are_made_of_the_buckets_when_the_day_is_over(any_database: Database) -> None:
    a_day(any_database, lambda each: each % 6)
    assert made(any_database, at(hours=24, minutes=20)) == 25
    points = read(any_database, ROOT, step=HOUR, until=at(hours=25))
    assert [round(point.at_seconds - DAY.timestamp()) // 3600 for point in points] == list(range(24))
    assert {point[1:] for point in points} == {(2.5, 0, 5, 6, 3600)}


def test_what_is_not_over_yet_is_left_and_read_sample_by_sample(any_database: Database) -> None:
    a_day(any_database)
    assert made(any_database, at(hours=24)) == 23  # the last hour is waited with
    points = read(any_database, ROOT, step=HOUR, until=at(hours=24))
    assert [point.window_seconds for point in points] == [300] * 6 * 23 + [0] * 6
    assert values(points) == list(range(144))


def test_the_day_of_a_resource_that_is_gone_is_made_all_the_same(any_database: Database) -> None:
    write(any_database, [Sample(ROOT, at(hours=3), 40)], at(hours=3))
    made(any_database, at(days=2))
    assert [point[1:] for point in read(any_database, ROOT, step=HOUR)] == [(40, 40, 40, 1, 3600)]


def test_done_twice_is_done_once(any_database: Database) -> None:
    a_day(any_database)
    made(any_database, at(days=2))
    once = stored(any_database)
    assert made(any_database, at(days=2)) == 0
    assert stored(any_database) == once


def test_small_steps_lead_to_the_same_as_one(any_database: Database) -> None:
    a_day(any_database)
    while made(any_database, at(days=2), steps=3):
        pass
    in_steps = stored(any_database)
    with any_database.write() as connection:
        store = HistoryStore(connection)
        for level in (FIVE_MINUTES, HOUR):
            store.note_progress(level, 0, DAY - timedelta(days=1))
    assert made(any_database, at(days=2)) == 25
    assert stored(any_database) == in_steps


class PowerFailureError(Exception):
    pass


def test_a_step_that_is_broken_off_leaves_nothing_half_made(any_database: Database) -> None:
    a_day(any_database)
    before = stored(any_database)

    def begin() -> None:
        with any_database.write() as connection:
            assert downsample(connection, at(days=2), steps=7) == 7
            raise PowerFailureError

    with pytest.raises(PowerFailureError):
        begin()
    assert stored(any_database) == before
    assert made(any_database, at(days=2)) == 25


def test_a_late_sample_comes_into_its_buckets(any_database: Database) -> None:
    a_day(any_database, lambda _: 10)
    made(any_database, at(hours=24, minutes=20))
    write(any_database, [Sample(ROOT, at(hours=5, minutes=1), 70)], at(hours=25))
    made(any_database, at(hours=26))
    hours = read(any_database, ROOT, step=HOUR)
    assert hours[5].maximum == 70
    assert hours[5].value == pytest.approx(fmean([40, 10, 10, 10, 10, 10]))
    assert hours[5].samples == 7
    assert [point[1:] for point in hours[:5]] == [(10, 10, 10, 6, 3600)] * 5


def test_each_level_is_kept_for_its_time_and_history_is_never_cut_short(any_database: Database) -> None:
    a_day(any_database, days=4)
    now = at(days=4, hours=1)
    made(any_database, now)
    with any_database.write() as connection:
        assert prune(connection, now) == 144 * 2 + 6
        assert prune(connection, now) == 0
    assert len(read(any_database, ROOT, step=RAW, until=now)) == 288 - 6
    assert len(read(any_database, ROOT, step=FIVE_MINUTES, until=now)) == 4 * 144
    assert len(read(any_database, ROOT, step=HOUR, until=now)) == 4 * 24
    with any_database.write() as connection:
        prune(connection, at(days=19))
    assert len(read(any_database, ROOT, step=HOUR, until=now)) == 4 * 24
    assert {row[0] for row in stored(any_database)} == {HOUR.seconds}


def test_nothing_is_deleted_before_something_coarser_is_made_of_it(any_database: Database) -> None:
    a_day(any_database)
    with any_database.write() as connection:
        assert prune(connection, at(days=30)) == 0
        downsample(connection, at(days=30), steps=3)
        assert prune(connection, at(days=30)) == 3 * 6


def test_hours_end_after_four_hundred_days_and_their_series_is_forgotten(any_database: Database) -> None:
    a_day(any_database)
    for later in (2, 20):
        with any_database.write() as connection:
            downsample(connection, at(days=later))
            prune(connection, at(days=later))
    with any_database.write() as connection:
        prune(connection, at(days=401))
        assert len(list(HistoryStore(connection).series({ROOT.resource_id}))) == 1
        prune(connection, at(days=403))
        assert list(HistoryStore(connection).series({ROOT.resource_id})) == []
    assert stored(any_database) == []


def test_a_series_that_is_still_sampled_is_never_forgotten(any_database: Database) -> None:
    a_day(any_database)
    write(any_database, [Sample(ROOT, at(days=390), 5)], at(days=390))
    with any_database.write() as connection:
        downsample(connection, at(days=392))
        prune(connection, at(days=500))
    assert values(read(any_database, ROOT, step=HOUR, until=at(days=500)))[-1] == 5


def test_tidying_is_done_once_an_hour(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'patrol.db'}")
    done = []
    for now in (at(hours=2), at(hours=2, minutes=59), at(hours=2) + EVERY, at(hours=1)):
        tidy_history(database, now)
        with database.read() as connection:
            done.append(HistoryStore(connection).progress(RAW)[0] == now)
    assert done == [True, False, True, True]  # a clock that went back must not keep it from ever being done
    database.close()


def test_a_long_backlog_is_tidied_in_short_transactions_and_the_rest_next_time(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'patrol.db'}")
    a_day(database, days=25, every=3600)
    tidy_history(database, at(days=25))
    with database.read() as connection:
        assert HistoryStore(connection).progress(RAW) == {}
    assert len([row for row in stored(database) if row[0] == FIVE_MINUTES.seconds]) == STEPS_AT_ONCE * PARTS_AT_ONCE
    tidy_history(database, at(days=25))
    with database.read() as connection:
        assert HistoryStore(connection).progress(RAW) == {0: at(days=25)}
    database.close()


def test_a_private_database_is_not_tidied() -> None:
    database = open_database("sqlite://")
    tidy_history(database, at(hours=2))
    with database.read() as connection:
        assert HistoryStore(connection).progress(RAW) == {}
    database.close()


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.integers(0, 4 * 3600), st.integers(0, 100)), min_size=1, max_size=40),
    st.lists(st.integers(0, 40), max_size=3),
)
def test_buckets_are_those_of_the_samples_whenever_these_come(
    given_samples: list[tuple[int, int]], cuts: list[int]
) -> None:
    """Written in any pieces, with downsampling in between, the buckets are those of all samples together."""
    database = open_database("sqlite://")
    samples = [Sample(ROOT, at(seconds=second), value) for second, value in given_samples]
    bounds = sorted({0, len(samples), *(min(cut, len(samples)) for cut in cuts)})
    for begin, end in zip(bounds, [*bounds[1:], len(samples)], strict=True):
        write(database, samples[begin:end], at(hours=6))
        made(database, at(hours=6))
    last = dict(given_samples)
    expected: dict[int, list[int]] = {}
    for second, value in last.items():
        expected.setdefault(second // 300, []).append(value)
    found = {
        round(point.at_seconds - DAY.timestamp()) // 300: point for point in read(database, ROOT, step=FIVE_MINUTES)
    }
    assert found.keys() == expected.keys()
    for bucket, inside in expected.items():
        assert found[bucket].value == pytest.approx(fmean(inside), abs=0.006)
        assert found[bucket][2:5] == (min(inside), max(inside), len(inside))
    database.close()
