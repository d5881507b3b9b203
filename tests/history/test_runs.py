"""What runs make of the past: CPU judged by its window, forecasts and baselines as flags, samples kept."""

from collections.abc import Iterable
from datetime import datetime, timedelta

import pytest

from findings.kinds import Kind
from findings.model import Category, Severity
from patrol.database import Database, open_database
from patrol.estate.model import Estate, Metric, Reading, Resource, ResourceType, Status
from patrol.history.model import HOUR, RAW, Measure, Sample, SeriesKey
from patrol.history.view import History, keeps_history
from patrol.run import RunReport
from patrol.run.averages import average_cpu
from patrol.run.outlook import outlook
from patrol.run.triage import Flag, triage
from signals.alert_settings import parse_alert_settings
from signals.storage_evidence import FilesystemRow, PoolRow
from signals.thresholds import AlertThresholds, Thresholds
from tests.history.builders import NOW, read, write
from tests.run.builders import House, estate

GUEST = "vm:lab:101"
HOST = "agent:local:hosta"
TEN_MINUTES = '{"metricTimeThresholds": {"guest": {"cpu": 1200}}}'


def guest(cpu: float | None = None, *, window: float = 0, **fields: object) -> Resource:
    metrics = {} if cpu is None else {Metric.CPU: Reading(value=cpu, window_seconds=window)}
    given = {"status": Status.RUNNING, "name": "web", "source": "local", "metrics": metrics, **fields}
    return Resource(**{"id": GUEST, "type": ResourceType.VM, **given})


def cpu_samples(values: Iterable[float], step: timedelta, last: datetime = NOW) -> list[Sample]:
    """The last of them one step before `last`."""
    known = list(values)
    first = last - step * len(known)
    return [Sample(SeriesKey(GUEST, Measure.CPU), first + step * index, value) for index, value in enumerate(known)]


# --- CPU over a window


@pytest.mark.parametrize(
    ("before", "step", "expected"),
    [
        ([95] * 4, 60, (95, 300)),
        ([5] * 4, 60, (23, 300)),  # one peak at the time of the run
        ([95] * 2, 60, (95, 180)),  # said as it is
        ([95], 60, None),
        ([], 60, None),
        ([95] * 3, 3600, (95, 3 * 3600)),  # sampled by hourly runs alone
    ],
)
def test_a_value_of_the_moment_becomes_the_average_of_the_samples_before_it(
    database: Database, before: list[float], step: int, expected: tuple[float, float] | None
) -> None:
    write(database, cpu_samples(before, timedelta(seconds=step)))
    resource = guest(95)
    average_cpu([resource], AlertThresholds(), History(now=NOW, database=database))
    reading = resource.metrics[Metric.CPU]
    assert (reading.value, reading.window_seconds) == pytest.approx(expected or (95, 0))


def longer_window() -> Thresholds:
    return AlertThresholds(parse_alert_settings(TEN_MINUTES), source="alerts.json")


def test_a_window_that_is_shorter_than_asked_for_is_made_longer(database: Database) -> None:
    five_minutes = timedelta(minutes=5)
    write(database, [each._replace(window_seconds=300) for each in cpu_samples([10, 20, 30, 40], five_minutes)])
    resource = guest(50, window=300)
    average_cpu([resource], longer_window(), History(now=NOW, database=database))
    reading = resource.metrics[Metric.CPU]
    assert (reading.value, reading.window_seconds) == pytest.approx((35, 1200))


def test_a_window_that_is_long_enough_stays_the_sources_own(database: Database) -> None:
    write(database, cpu_samples([95] * 10, timedelta(minutes=1)))
    resource, without = guest(10, window=300), guest()
    average_cpu([resource, without], AlertThresholds(), History(now=NOW, database=database))
    assert resource.metrics[Metric.CPU].value == 10
    assert without.metrics == {}


def run(house: House, cpu: float) -> RunReport:
    seen = estate(guest(cpu))
    seen.collected_at = None  # of the time of the run
    return house.run(seen)


def test_busy_for_five_minutes_is_found_and_a_peak_is_not(database: Database) -> None:
    house = House(database)
    for cpu in (10, 12, 100, 11, 12, 10):
        assert [signal.signal_type for signal in run(house, cpu).signals] == []
    reports = [run(house, 95) for _ in range(8)]
    found = [[signal.signal_type for signal in report.signals] for report in reports]
    assert found[0] == []
    assert found[-1] == [Kind.HIGH_CPU]
    [signal] = reports[-1].signals
    assert (signal.value, signal.summary) == (95, "CPU use averaged 95.0 % over 5 min (limit 70 %)")


# --- samples of runs


def test_each_run_keeps_what_it_measured_itself_and_not_what_it_averaged(database: Database) -> None:
    house = House(database)
    for cpu in (10, 20, 30, 40, 50):
        run(house, cpu)
    points = read(database, SeriesKey(GUEST, Measure.CPU), until=house.clock())
    assert [(point.value, point.window_seconds) for point in points] == [(each, 0) for each in (10, 20, 30, 40, 50)]


def test_a_private_database_keeps_no_samples() -> None:
    database = open_database("sqlite://")
    assert not keeps_history(database)
    run(House(database), 10)
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM sample_block").scalar() == 0
    assert History(now=NOW, database=database).points({GUEST}, {Measure.CPU}, timedelta(days=1), step=RAW) == {}
    database.close()


def test_runs_tidy_up(database: Database) -> None:
    house = House(database)
    for _ in range(10):
        house.clock.advance(hours=6)
        run(house, 10)
    with database.read() as connection:
        rows = connection.exec_driver_sql("SELECT resolution, count(*) FROM sample_block GROUP BY 1").fetchall()
    found = dict(tuple(row) for row in rows)
    assert found.keys() == {0, 300, 3600}
    assert found[0] <= 9


# --- forecasts and baselines


def filled(database: Database, key: SeriesKey, value: float, per_day: float, hours: int = 170) -> None:
    for day in range(hours // 24, -1, -1):
        end = NOW - timedelta(days=day)
        backs = range(day * 24 + 1, day * 24 + 25)
        write(database, [Sample(key, NOW - timedelta(hours=each), value - per_day * each / 24) for each in backs], end)


def flags(database: Database, *resources: Resource) -> list[Flag]:
    return outlook(Estate(resources=list(resources)), History(now=NOW, database=database))


def host_with(usage: float | None) -> Resource:
    mounts = [FilesystemRow(mountpoint="/srv", usage_percent=usage)]
    return Resource(id=HOST, type=ResourceType.AGENT, name="hosta", status=Status.ONLINE, filesystems=mounts)


@pytest.mark.parametrize(
    ("usage", "per_day", "severity", "reason"),
    [
        (79, 3, Severity.WARNING, "/srv will be full in about 7 days (+3.0%/day), seen for 3 days"),
        (76, 3, Severity.WATCH, "/srv will be full in about 8 days (+3.0%/day), seen for 3 days"),
        (80, 1, Severity.WATCH, "/srv will be full in about 20 days (+1.0%/day), seen for 7 days"),
        (60, 1, None, ""),
    ],
)
def test_what_will_be_full_is_flagged_by_how_soon(
    database: Database, usage: float, per_day: float, severity: Severity | None, reason: str
) -> None:
    filled(database, SeriesKey(HOST, Measure.DISK, "/srv"), usage, per_day)
    found = [(flag.severity, flag.reason, flag.category) for flag in flags(database, host_with(usage))]
    assert found == ([] if severity is None else [(severity, reason, Category.CAPACITY)])


@pytest.mark.parametrize(
    ("resource", "key", "name"),
    [
        (
            Resource(id="storage:lab:tank", type=ResourceType.STORAGE, pool=PoolRow(usage_percent=79)),
            SeriesKey("storage:lab:tank", Measure.USAGE),
            "usage",
        ),
        (guest(metrics={Metric.DISK: Reading(value=79)}), SeriesKey(GUEST, Measure.DISK), "disk"),
        (guest(metrics={Metric.MEMORY: Reading(value=79)}), SeriesKey(GUEST, Measure.MEMORY), "memory"),
    ],
)
def test_pools_disks_of_guests_and_memory_are_foretold_as_well(
    database: Database, resource: Resource, key: SeriesKey, name: str
) -> None:
    filled(database, key, 79, 3)
    [flag] = (each for each in flags(database, resource) if each.metric.endswith("forecast"))
    assert flag.reason.startswith(f"{name} will be full in about 7 days")


def test_what_is_not_measured_now_or_is_down_is_not_foretold(database: Database) -> None:
    filled(database, SeriesKey(HOST, Measure.DISK, "/srv"), 79, 3)
    filled(database, SeriesKey(GUEST, Measure.MEMORY), 79, 3)
    stopped = guest(metrics={Metric.MEMORY: Reading(value=79)}, status=Status.STOPPED)
    assert flags(database, host_with(None), stopped) == []


@pytest.mark.parametrize(
    ("usual", "cpu", "window", "severity"),
    [
        (20, 99, 300, Severity.WARNING),  # percent, whatever the source calls it
        (20, 69, 300, None),
        (20, 99, 0, None),  # a value of the moment is compared with nothing
        (60, 90, 300, None),  # odd, but half as much again is no news
    ],
)
def test_what_is_unusual_is_flagged(
    database: Database, usual: float, cpu: float, window: float, severity: Severity | None
) -> None:
    for back in range(100, 0, -20):
        hours = [NOW - timedelta(hours=each) for each in range(back - 20, back) if each]
        write(database, [Sample(SeriesKey(GUEST, Measure.CPU), at, usual + at.hour % 3) for at in hours], hours[0])
    found = flags(database, guest(cpu, window=window))
    assert [flag.severity for flag in found] == ([] if severity is None else [severity])


def test_flags_of_the_past_stand_beside_those_of_the_limits(database: Database) -> None:
    filled(database, SeriesKey(HOST, Measure.DISK, "/srv"), 92, 2)
    now = Estate(resources=[host_with(92)])
    found = triage(now, AlertThresholds(), NOW, outlook(now, History(now=NOW, database=database)))
    assert [flag.metric for flag in found] == ["disk /srv", "disk /srv forecast"]


def test_a_run_knows_no_past_where_none_is_kept() -> None:
    assert History(now=NOW).points({GUEST}, {Measure.CPU}, timedelta(days=7), step=HOUR) == {}
    assert outlook(Estate(resources=[host_with(92)]), History(now=NOW)) == []
