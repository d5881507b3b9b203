"""Samples are found again: in order, once, under the id that the resource has now."""

from datetime import timedelta

import pytest

from patrol.database import Database
from patrol.history.blocks import SHARD
from patrol.history.model import Measure, Sample, SeriesKey
from patrol.history.reading import Wanted, read_points
from patrol.history.store import HistoryStore
from tests.history.builders import CPU, NOW, ROOT, ago, read, tidy_all, values, write


def test_samples_come_back_in_the_order_of_time_whatever_order_they_came_in(any_database: Database) -> None:
    write(any_database, [Sample(CPU, ago(minutes=1), 3), Sample(CPU, ago(minutes=3), 1)])
    write(any_database, [Sample(CPU, ago(minutes=2), 2)])
    assert values(read(any_database)) == [1, 2, 3]


def test_a_sample_keeps_its_time_value_and_window(any_database: Database) -> None:
    write(any_database, [Sample(CPU, ago(minutes=1), 81.2, 300)])
    assert read(any_database) == [(ago(minutes=1).timestamp(), 81.2, 81.2, 81.2, 1, 300)]


def test_the_same_sample_again_is_one_sample_and_of_two_in_one_second_the_later_stays(any_database: Database) -> None:
    for value in (7, 7, 9):
        write(any_database, [Sample(CPU, NOW, value)])
    assert values(read(any_database)) == [9]


def test_samples_of_one_second_that_come_apart_are_laid_over_each_other(any_database: Database) -> None:
    write(any_database, [Sample(CPU, NOW, 5, 300), Sample(ROOT, NOW, 40)])
    write(any_database, [Sample(CPU._replace(resource_id="vm:lab:102"), NOW, 6)])
    assert read(any_database)[0].window_seconds == 300
    assert values(read(any_database, CPU._replace(resource_id="vm:lab:102"))) == [6]
    assert values(read(any_database, ROOT)) == [40]


@pytest.mark.parametrize(
    ("sample", "kept"),
    [
        (Sample(CPU, ago(hours=47), 5), 1),
        (Sample(CPU, ago(hours=49, minutes=1), 5), 0),  # its buckets may be made of samples that are gone
        (Sample(CPU, NOW + timedelta(minutes=5), 5), 1),
        (Sample(CPU, NOW + timedelta(minutes=6), 5), 0),  # of a wrong clock
        (Sample(CPU, NOW, float("nan")), 0),
        (Sample(CPU, NOW, 0), 1),
    ],
)
def test_what_is_kept(any_database: Database, sample: Sample, kept: int) -> None:
    assert write(any_database, [sample]) == kept


def test_nothing_is_read_of_what_was_never_sampled(any_database: Database) -> None:
    assert read(any_database) == []
    write(any_database, [])
    write(any_database, [Sample(CPU, NOW, 5)])
    assert read(any_database, CPU._replace(measure=Measure.MEMORY)) == []
    assert read(any_database, ROOT) == []


def test_a_period_is_read_with_its_two_ends(any_database: Database) -> None:
    write(any_database, [Sample(CPU, ago(minutes=each), each) for each in range(5)])
    assert values(read(any_database, since=ago(minutes=3), until=ago(minutes=1))) == [3, 2, 1]


def test_two_organisations_know_nothing_of_each_other(any_database: Database) -> None:
    write(any_database, [Sample(CPU, NOW, 1)], org_id="one")
    write(any_database, [Sample(CPU, NOW, 2)], org_id="two")
    assert values(read(any_database, org_id="one")) == [1]
    assert values(read(any_database, org_id="two")) == [2]
    with any_database.write() as connection:
        HistoryStore(connection, "one").repoint(CPU.resource_id, "vm:lab:999")
    assert values(read(any_database, org_id="two")) == [2]


def test_history_follows_a_resource_to_its_new_id_and_joins_what_was_there(any_database: Database) -> None:
    old = CPU._replace(resource_id="vm:old:101")
    write(any_database, [Sample(old, ago(minutes=2), 1), Sample(old, ago(minutes=1), 2)])
    write(any_database, [Sample(CPU, ago(minutes=1), 4), Sample(CPU, NOW, 3)])
    with any_database.write() as connection:
        assert HistoryStore(connection).repoint("vm:old:101", CPU.resource_id) == 1
    assert read(any_database, old) == []
    assert sorted(values(read(any_database))) == [1, 2, 3, 4]
    write(any_database, [Sample(CPU, NOW + timedelta(seconds=60), 5)])
    assert len(read(any_database, until=NOW + timedelta(minutes=2))) == 5


def test_names_that_no_database_takes_are_stored_mended(any_database: Database) -> None:
    strange = SeriesKey("vm:lab:101", Measure.DISK, "/mnt/\udcff\0")
    assert write(any_database, [Sample(strange, NOW, 5)]) == 1
    write(any_database, [Sample(strange, ago(minutes=1), 6)])
    with any_database.read() as connection:
        assert len(list(HistoryStore(connection).series({"vm:lab:101"}))) == 1


def test_more_series_than_a_block_holds(any_database: Database) -> None:
    keys = [CPU._replace(resource_id=f"vm:lab:{number}") for number in range(SHARD + 300)]
    assert write(any_database, [Sample(key, NOW, 10 + number % 7) for number, key in enumerate(keys)]) == len(keys)
    tidy_all(any_database)
    assert values(read(any_database, keys[0])) == [10]
    assert values(read(any_database, keys[-1])) == [10 + (len(keys) - 1) % 7]


def test_very_many_resources_are_found_like_few(any_database: Database) -> None:
    keys = [CPU._replace(resource_id=f"vm:lab:{number}") for number in range(5_100)]
    write(any_database, [Sample(key, NOW, 7) for key in keys[:20]])
    wanted = Wanted({key.resource_id for key in keys}, {Measure.CPU}, ago(hours=1), NOW)
    with any_database.read() as connection:
        found = read_points(HistoryStore(connection), wanted)
    assert found.keys() == set(keys[:20])
