"""What `pulse_metrics` tells of the past: the documented points, trend and maxima, and only of the past."""

import json
from collections.abc import Sequence
from datetime import timedelta

import msgspec
import pytest

from patrol.database import Database
from patrol.estate.model import Estate, Metric, Reading, ResourceType
from patrol.history.model import Measure, Sample, SeriesKey
from patrol.history.view import History
from patrol.tools.registry import Toolbox
from signals.evidence import PerformanceOutput
from tests.history.builders import NOW, tidy_all, write
from tests.tools.estates import guest, node, pool, source

GUEST = "vm:a:101"
DAY_OF = {timedelta(hours=1): 24, timedelta(minutes=2): 720}


def estate() -> Estate:
    metrics = {Metric.CPU: Reading(value=20, window_seconds=300), Metric.MEMORY: Reading(value=60)}
    hosts = [node("a", "pve1"), guest("a", 101, "pve1", type=ResourceType.VM, metrics=metrics)]
    return Estate(resources=[*hosts, pool("pve1", "tank", usage_percent=40)], sources=[source()])


def fill(database: Database, key: SeriesKey, series: Sequence[float], step: timedelta) -> None:
    """A series that ends now, written as the time went by."""
    samples = [Sample(key, NOW - step * back, value) for back, value in enumerate(reversed(series))]
    for newest in range(0, len(samples), DAY_OF[step]):
        batch = samples[newest : newest + DAY_OF[step]]
        write(database, batch, batch[0].at)


def ask(database: Database | None, **arguments: object) -> PerformanceOutput:
    toolbox = Toolbox(estate(), NOW, History(now=NOW, database=database))
    output = toolbox.call("pulse_metrics", {"type": "performance", **arguments})
    assert isinstance(output, PerformanceOutput)
    return output


def points(output: PerformanceOutput) -> list[dict[str, object]]:
    return [json.loads(bytes(each)) for each in output.points]


def test_a_resource_and_a_period_give_points(database: Database) -> None:
    fill(database, SeriesKey(GUEST, Measure.CPU), [10, 20, 30], timedelta(hours=1))
    fill(database, SeriesKey(GUEST, Measure.DISK), [70], timedelta(hours=1))
    output = ask(database, resource_id=GUEST, period="24h")
    assert (output.resource_id, output.period, output.downsampled, output.original_count) == (GUEST, "24h", None, 3)
    assert points(output) == [
        {"timestamp": "2026-11-29T19:00:00Z", "cpu": 10},
        {"timestamp": "2026-11-29T20:00:00Z", "cpu": 20},
        {"timestamp": "2026-11-29T21:00:00Z", "cpu": 30, "disk": 70},
    ]


@pytest.mark.parametrize("period", ["24h", "7d"])
def test_a_long_series_is_told_in_at_most_120_averages(database: Database, period: str) -> None:
    fill(database, SeriesKey(GUEST, Measure.CPU), [40] * 500, timedelta(minutes=2))
    output = ask(database, resource_id=GUEST, period=period)
    told = points(output)
    assert 10 <= len(told) <= 120
    assert output.original_count == 500
    assert output.downsampled is True
    assert {each["cpu"] for each in told} == {40}
    stamps = [str(each["timestamp"]) for each in told]
    assert stamps == sorted(stamps)


def test_rows_tell_the_trend_and_the_maxima_of_the_period_and_the_values_of_now(database: Database) -> None:
    fill(database, SeriesKey(GUEST, Measure.MEMORY), [30 + hour for hour in range(24)], timedelta(hours=1))
    fill(database, SeriesKey(GUEST, Measure.CPU), [90, *[20] * 23], timedelta(hours=1))
    row = ask(database, period="24h").summary[GUEST]
    assert row.trend == "growing"
    assert (row.max_cpu, row.max_memory) == (90, 53)
    assert (row.avg_cpu, row.avg_memory, row.cpu_window_seconds) == (20, 60, 300)


def test_a_week_is_told_from_its_hours(database: Database) -> None:
    fill(database, SeriesKey(GUEST, Measure.MEMORY), [90 - hour / 4 for hour in range(24 * 8)], timedelta(hours=1))
    for _ in range(4):
        tidy_all(database)
    row = ask(database, period="7d").summary[GUEST]
    assert row.trend == "declining"
    assert row.max_memory == pytest.approx(90 - 24 / 4, abs=0.3)


def test_a_pool_has_points_of_its_use(database: Database) -> None:
    fill(database, SeriesKey("storage:pve1:tank", Measure.USAGE), [39.5, 40], timedelta(hours=1))
    assert [each["disk"] for each in points(ask(database, resource_id="storage:pve1:tank", period="24h"))] == [39.5, 40]


def test_nothing_later_than_the_run_is_told(database: Database) -> None:
    fill(database, SeriesKey(GUEST, Measure.CPU), [10], timedelta(hours=1))
    write(database, [Sample(SeriesKey(GUEST, Measure.CPU), NOW + timedelta(minutes=2), 99)])
    assert [each["cpu"] for each in points(ask(database, resource_id=GUEST, period="24h"))] == [10]


def test_without_a_period_the_answer_is_that_of_the_collection(database: Database) -> None:
    fill(database, SeriesKey(GUEST, Measure.CPU), [90, 90], timedelta(hours=1))
    assert ask(database) == ask(None)
    assert ask(database).period == "latest"


def test_without_history_there_are_no_points_and_no_trend() -> None:
    output = ask(None, resource_id=GUEST, period="24h")
    assert (output.points, output.summary[GUEST].trend) == ([], None)
    toolbox = Toolbox(estate(), NOW)
    bare = toolbox.call("pulse_metrics", {"type": "performance", "resource_id": GUEST, "period": "24h"})
    assert isinstance(bare, PerformanceOutput)
    assert bare.points == []


def test_what_is_told_is_the_same_struct_and_record(database: Database) -> None:
    fill(database, SeriesKey(GUEST, Measure.CPU), [10, 20, 30], timedelta(hours=1))
    output = ask(database, resource_id=GUEST, period="24h")
    assert msgspec.json.decode(msgspec.json.encode(output), type=PerformanceOutput) == output
