"""What of an estate is kept, and what one sample between two runs keeps."""

from pathlib import Path

import pytest

from findings.model import Topic
from patrol.database import Database
from patrol.estate.model import Estate, Metric, Reading, Resource, ResourceType, Status
from patrol.estate.sources.local.source import LIGHT_READERS, LocalSource
from patrol.estate.sources.model import Collected, CollectRequest
from patrol.history.model import Measure, Sample, SeriesKey
from patrol.history.sampling import samples_of
from patrol.run.collect import BoundedSource
from patrol.run.sampler import Sampler
from signals.storage_evidence import FilesystemRow, PoolRow
from tests.estate.local.tree import TreeHost
from tests.history.builders import CPU, NOW, ago, read, values
from tests.run.builders import Clock, GivenSource


def kept(**fields: object) -> list[Sample]:
    resource = Resource(**{"id": "vm:lab:101", "type": ResourceType.VM, "status": Status.RUNNING, **fields})
    return list(samples_of(Estate(resources=[resource]), NOW))


@pytest.mark.parametrize("metric", Metric)
def test_every_metric_is_kept_with_its_time_and_window(metric: Metric) -> None:
    reading = Reading(value=12.5, window_seconds=300, at=ago(minutes=2))
    assert kept(metrics={metric: reading}) == [
        Sample(SeriesKey("vm:lab:101", Measure(metric.value)), ago(minutes=2), 12.5, 300)
    ]


def test_file_systems_and_pools_are_kept_by_their_subject() -> None:
    mounts = [
        FilesystemRow(mountpoint="/", usage_percent=40, inodes_percent=3),
        FilesystemRow(mountpoint="/mnt/far"),  # it did not answer
    ]
    found = kept(filesystems=mounts, pool=PoolRow(usage_percent=70))
    assert [(each.key.measure, each.key.subject, each.value) for each in found] == [
        (Measure.DISK, "/", 40),
        (Measure.INODES, "/", 3),
        (Measure.USAGE, "", 70),
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"status": Status.STOPPED, "metrics": {Metric.CPU: Reading(value=0)}},
        {"status": Status.OFFLINE, "metrics": {Metric.MEMORY: Reading(value=40)}},
        {"metrics": {Metric.MEMORY: Reading(value=0)}},  # a running guest that uses no memory was not seen into
        {"metrics": {Metric.DISK: Reading(value=0)}},
        {"pool": PoolRow()},
        {},
    ],
)
def test_what_was_not_measured_is_not_kept(fields: dict[str, object]) -> None:
    assert kept(**fields) == []


def test_an_idle_cpu_and_an_empty_swap_are_measured() -> None:
    found = kept(metrics={Metric.CPU: Reading(value=0), Metric.SWAP: Reading(value=0)})
    assert [each.value for each in found] == [0, 0]


# --- the sampler

MEMINFO = "MemTotal: 1000000 kB\nMemFree: 500000 kB\nMemAvailable: 600000 kB\nSwapTotal: 0 kB\n"


def stat(minute: int) -> str:
    """One CPU, half of it busy, so many minutes after its start."""
    ticks = minute * 60 * 50
    return f"cpu  {ticks} 0 0 {ticks} 0 0 0 0 0 0\ncpu0 {ticks} 0 0 {ticks} 0 0 0 0 0 0\nbtime 1400000000\n"


def test_the_light_readers_read_what_changes_by_the_minute() -> None:
    topics = {topic for reader in LIGHT_READERS for topic in reader.topics}
    assert topics == {Topic.CPU, Topic.MEMORY, Topic.SWAP, Topic.PRESSURE}


def test_samples_of_each_minute_become_history_without_running_any_program(database: Database, tmp_path: Path) -> None:
    clock = Clock(ago(minutes=10))
    host = TreeHost(tmp_path, {"/proc/sys/kernel/hostname": "nas\n", "/proc/meminfo": MEMINFO})
    source = LocalSource("local", host=host, readers=LIGHT_READERS)
    sampler = Sampler(database=database, sources=[BoundedSource(source=source, timeout_seconds=30)], clock=clock)
    kept = []
    for minute in range(11):
        host.write("/proc/stat", stat(minute))
        kept.append(sampler.sample().kept)
        clock.advance(minutes=1)
    assert kept == [2] * 5 + [3] * 6  # memory and swap; CPU has a window from the fifth minute on
    assert host.calls == []
    assert values(read(database, SeriesKey("agent:local:nas", Measure.MEMORY))) == [40] * 11
    cpu = read(database, SeriesKey("agent:local:nas", Measure.CPU))
    assert {(point.value, point.window_seconds) for point in cpu} == {(50, 60 * each) for each in range(5, 10)}


class BrokenSource:
    name = "broken"
    type = "given"

    def collect(self, request: CollectRequest) -> Collected:
        raise ValueError("a bug")


def test_a_source_that_fails_costs_its_own_samples_only(database: Database) -> None:
    guest = Resource(id=CPU.resource_id, type=ResourceType.VM, source="fine", metrics={Metric.CPU: Reading(value=7)})
    sources = [BrokenSource(), GivenSource([Estate(resources=[guest])], name="fine")]
    bounded = [BoundedSource(source=each, timeout_seconds=5) for each in sources]
    sampled = Sampler(database=database, sources=bounded, clock=Clock(NOW)).sample()
    assert (sampled.kept, [gap.source for gap in sampled.gaps]) == (1, ["broken"])
    assert values(read(database)) == [7]
