"""The source `local` as a whole: every part bounded, no part able to cost another, nothing hidden."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from findings.model import Gap, GapReason, Sight, Topic
from patrol.estate.model import Metric, Reading, Resource, ResourceType, Status
from patrol.estate.sources.local.host import Host, MemoryUse, Part, Where
from patrol.estate.sources.local.parallel import AT_ONCE, Reader
from patrol.estate.sources.local.source import READERS, LocalSource
from patrol.estate.sources.model import Collected, CollectRequest, Counter, Source
from signals.evidence import SensorRow, UnitRow
from signals.storage_evidence import FilesystemRow
from tests.estate.local.tree import TreeHost, said

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
FILES = {"/proc/sys/kernel/hostname": "nas\n", "/etc/os-release": "NAME=Debian\n"}

Read = Callable[[Host, Where, CollectRequest], Part]


def request(seconds: float = 5, progress: Callable[[str], None] = lambda _: None) -> CollectRequest:
    return CollectRequest(now=NOON, deadline_seconds=seconds, progress=progress)


def reader(label: str, read: Read | Part, *topics: Topic) -> Reader:
    if isinstance(read, Part):
        part = read
        return Reader(label=label, topics=topics or (Topic.UNITS,), read=lambda _host, _where, _request: part)
    return Reader(label=label, topics=topics or (Topic.UNITS,), read=read)


def failing(error: Exception) -> Read:
    def read(_host: Host, _where: Where, _request: CollectRequest) -> Part:
        raise error

    return read


def collect(root: Path, *readers: Reader, asked: CollectRequest | None = None) -> Collected:
    return LocalSource(host=TreeHost(root, FILES), readers=readers).collect(asked or request())


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Readers that hang do so until it opens, at the end of the test at the latest."""
    event = threading.Event()
    yield event
    event.set()


def hanging(gate: threading.Event, part: Part | None = None) -> Read:
    def read(_host: Host, _where: Where, _request: CollectRequest) -> Part:
        gate.wait(30)
        return part or Part()

    return read


# --- what comes together


def test_all_parts_of_the_host_become_one_resource(tmp_path: Path) -> None:
    disk = Resource(id="disk:serial:X", type=ResourceType.DISK)
    root = FilesystemRow(mountpoint="/", usage_percent=40)
    collected = collect(
        tmp_path,
        reader(
            "memory", Part(metrics={Metric.MEMORY: Reading(value=40)}, memory=MemoryUse(total_bytes=10, used_bytes=4))
        ),
        reader("cpu", Part(metrics={Metric.CPU: Reading(value=7, window_seconds=300)})),
        reader("disks", Part(resources=[disk])),
        reader("file systems", Part(filesystems=[root])),
        reader("units", Part(units=[UnitRow(name="a.service")])),
        reader("sensors", Part(sensors=[SensorRow(name="coretemp")])),
    )
    host, other = collected.estate.resources
    assert (host.id, host.name, host.type, host.status) == ("agent:local:nas", "nas", ResourceType.AGENT, Status.ONLINE)
    assert (host.os, host.source, host.memory_total_bytes, host.memory_used_bytes) == ("Debian", "local", 10, 4)
    assert host.metrics == {
        Metric.MEMORY: Reading(value=40, at=NOON),
        Metric.CPU: Reading(value=7, window_seconds=300, at=NOON),
    }
    assert (host.filesystems, host.units, host.sensors) == (
        [root],
        [UnitRow(name="a.service")],
        [SensorRow(name="coretemp")],
    )
    assert (other.id, other.parent, other.source) == ("disk:serial:X", host.id, "local")
    assert collected.estate.collected_at == NOON


def test_what_was_not_read_is_none_and_what_does_not_exist_is_empty(tmp_path: Path) -> None:
    (host,) = collect(tmp_path, reader("units", Part(units=()))).estate.resources
    assert host.units == []
    assert host.filesystems is None
    assert host.sensors is None
    assert host.memory_total_bytes is None


def test_a_reader_may_say_where_its_resources_belong(tmp_path: Path) -> None:
    pool = Resource(id="storage:nas:tank", type=ResourceType.STORAGE, parent="elsewhere", source="other")
    _, found = collect(tmp_path, reader("pools", Part(resources=[pool]))).estate.resources
    assert (found.parent, found.source) == ("elsewhere", "other")


def test_counters_come_back_under_the_id_of_the_host(tmp_path: Path) -> None:
    counter = Counter(at=NOON, values={"user": 1})
    assert collect(tmp_path, reader("cpu", Part(counters={"cpu": counter}))).counters == {
        ("agent:local:nas", "cpu"): counter
    }


def gap_of(topic: Topic) -> Gap:
    return Gap(source="local", topic=topic, reason=GapReason.FAILED, detail="why")


@pytest.mark.parametrize(
    ("part", "read"),
    [
        pytest.param(Part(), [Topic.MEMORY, Topic.SWAP], id="all of it"),
        pytest.param(Part(complete=False, gaps=[gap_of(Topic.SWAP)]), [Topic.MEMORY], id="all but one topic"),
        pytest.param(Part(complete=False, gaps=[gap_of(Topic.MEMORY), gap_of(Topic.SWAP)]), [], id="nothing"),
        pytest.param(Part(complete=False), [], id="not all, and no word why"),
    ],
)
def test_only_topics_that_were_read_completely_count_as_read(part: Part, read: list[Topic], tmp_path: Path) -> None:
    (state,) = collect(tmp_path, reader("memory", part, Topic.MEMORY, Topic.SWAP)).estate.sources
    assert state.read == [Topic.INVENTORY, *read]
    assert (state.name, state.type, state.connected) == ("local", "local", True)


# --- what goes wrong


@pytest.mark.parametrize(
    ("error", "reason", "named"),
    [
        pytest.param(
            OSError(5, "Input/output error"), GapReason.FAILED, "Input/output error", id="an error of a device"
        ),
        pytest.param(PermissionError(13, "Permission denied"), GapReason.NO_PERMISSION, "denied", id="no right"),
        pytest.param(KeyError("oops"), GapReason.FAILED, "KeyError", id="a bug"),
    ],
)
def test_an_error_costs_one_part_and_is_named(error: Exception, reason: GapReason, named: str, tmp_path: Path) -> None:
    collected = collect(
        tmp_path, reader("units", failing(error)), reader("sensors", Part(sensors=()), Topic.TEMPERATURES)
    )
    (gap,) = collected.estate.gaps
    assert (gap.topic, gap.reason, gap.sight, gap.resource_id) == (Topic.UNITS, reason, Sight.LOST, "agent:local:nas")
    assert "units" in gap.detail
    assert named in gap.detail
    assert collected.estate.sources[0].read == [Topic.INVENTORY, Topic.TEMPERATURES]
    assert collected.estate.resources[0].units is None


def test_a_lost_topic_of_things_of_their_own_is_a_gap_of_the_source(tmp_path: Path) -> None:
    gaps = collect(tmp_path, reader("disks", failing(OSError("no")), Topic.SMART, Topic.CPU)).estate.gaps
    assert [(gap.topic, gap.resource_id) for gap in gaps] == [(Topic.SMART, None), (Topic.CPU, "agent:local:nas")]


def test_a_part_that_hangs_is_a_gap_and_the_others_are_read(tmp_path: Path, gate: threading.Event) -> None:
    began = time.monotonic()
    collected = collect(
        tmp_path,
        reader("pools", hanging(gate), Topic.POOLS),
        reader("units", Part(units=())),
        asked=request(0.2),
    )
    assert time.monotonic() - began < 5
    (gap,) = collected.estate.gaps
    assert (gap.topic, gap.reason, gap.sight) == (Topic.POOLS, GapReason.TIMED_OUT, Sight.LOST)
    assert "0.2 s" in gap.detail
    assert gap.fix
    assert collected.estate.resources[0].units == []


def test_parts_behind_those_that_hang_are_gaps_too(tmp_path: Path, gate: threading.Event) -> None:
    stuck = [reader(f"stuck {number}", hanging(gate), Topic.SMART) for number in range(AT_ONCE)]
    collected = collect(tmp_path, *stuck, reader("units", Part(units=())), asked=request(0.1))
    assert [gap.reason for gap in collected.estate.gaps] == [GapReason.TIMED_OUT] * (AT_ONCE + 1)


def test_a_part_that_still_hangs_is_not_begun_again(tmp_path: Path, gate: threading.Event) -> None:
    begun: list[str] = []
    wait = hanging(gate, Part(units=()))

    def read(host: Host, where: Where, asked: CollectRequest) -> Part:
        begun.append("units")
        return wait(host, where, asked)

    source = LocalSource(host=TreeHost(tmp_path, FILES), readers=[reader("units", read)])
    first = source.collect(request(0.1))
    second = source.collect(request(0.1))
    assert begun == ["units"]
    assert [gap.reason for gap in (*first.estate.gaps, *second.estate.gaps)] == [GapReason.TIMED_OUT] * 2
    assert "earlier" in second.estate.gaps[0].detail
    gate.set()
    until = time.monotonic() + 5
    while source.collect(request(1)).estate.gaps:
        assert time.monotonic() < until
    assert begun == ["units", "units"]


def test_a_late_answer_counts_for_nothing(tmp_path: Path, gate: threading.Event) -> None:
    collected = collect(tmp_path, reader("units", hanging(gate, Part(units=()))), asked=request(0.1))
    gate.set()
    time.sleep(0.05)
    assert collected.estate.resources[0].units is None


def test_no_more_than_four_threads_read(tmp_path: Path) -> None:
    threads: set[int] = set()
    parts: list[str] = []

    def read(_host: Host, _where: Where, _request: CollectRequest) -> Part:
        threads.add(threading.get_ident())
        parts.append("part")
        time.sleep(0.02)
        return Part()

    collect(tmp_path, *(reader(f"part {number}", read) for number in range(12)))
    assert len(parts) == 12
    assert len(threads) == AT_ONCE


def test_progress_is_told_for_each_part_in_the_thread_that_waits(tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []

    def read(_host: Host, _where: Where, asked: CollectRequest) -> Part:
        asked.progress("nas: disk 1 of 9")
        return Part()

    asked = request(progress=lambda text: told.append((text, threading.get_ident())))
    collect(tmp_path, reader("units", Part()), reader("disks", read, Topic.SMART), asked=asked)
    assert sorted(told) == [(text, threading.get_ident()) for text in ("nas: disk 1 of 9", "nas: disks", "nas: units")]


def test_someone_who_stops_waiting_stops_the_reading(tmp_path: Path) -> None:
    begun: list[str] = []

    def read(_host: Host, _where: Where, asked: CollectRequest) -> Part:
        begun.append("part")
        time.sleep(0.02)
        return Part()

    def stop(_text: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collect(tmp_path, *(reader(f"part {number}", read) for number in range(40)), asked=request(progress=stop))
    time.sleep(0.1)
    assert len(begun) < 40


# --- the real readers


def test_the_source_is_a_source() -> None:
    source: Source = LocalSource()
    assert (source.name, source.type) == ("local", "local")


def test_every_topic_of_a_host_has_one_reader() -> None:
    topics = [topic for reader in READERS for topic in reader.topics]
    assert len(topics) == len(set(topics))
    elsewhere = {
        *(Topic.INVENTORY, Topic.BACKUPS, Topic.BACKUP_TASKS, Topic.REACHABILITY, Topic.ALERTS, Topic.FINDINGS),
        *(Topic.SNAPSHOTS, Topic.REPLICATION, Topic.CEPH, Topic.CONFIG),
    }
    assert set(topics) == set(Topic) - elsewhere


BARE = {
    **FILES,
    "/proc/meminfo": "MemTotal: 1000 kB\nMemAvailable: 600 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
    "/proc/stat": "cpu 100 0 0 1000 0 0 0 0\ncpu0 100 0 0 1000 0 0 0 0\nbtime 5\n",
    "/proc/self/mountinfo": "",
    "/sys/block/.keep": "",
    "/proc/net/dev": "",
    "/proc/diskstats": "",
}


def test_a_bare_host_is_patrolled_without_configuration_and_lacks_only_history(tmp_path: Path) -> None:
    source = LocalSource(host=TreeHost(tmp_path, BARE))
    first = source.collect(CollectRequest(now=NOON, deadline_seconds=20))
    assert [(gap.topic, gap.reason) for gap in first.estate.gaps] == [(Topic.CPU, GapReason.NO_HISTORY)]
    (host,) = first.estate.resources
    assert {metric: reading.value for metric, reading in host.metrics.items()} == {Metric.MEMORY: 40, Metric.SWAP: 0}
    assert (host.units, host.sensors, host.filesystems) == ([], [], [])
    (tmp_path / "proc/stat").write_text("cpu 15100 0 0 46000 0 0 0 0\ncpu0 15100 0 0 46000 0 0 0 0\nbtime 5\n")
    later = CollectRequest(now=NOON + timedelta(minutes=10), deadline_seconds=20, previous=first.counters)
    second = source.collect(later)
    assert second.estate.gaps == []
    assert second.estate.resources[0].metrics[Metric.CPU].value == 25
    assert set(second.estate.sources[0].read) == {
        Topic.INVENTORY,
        *(topic for reader in READERS for topic in reader.topics),
    }


def test_a_host_with_a_failed_unit_and_a_hot_sensor_shows_both(tmp_path: Path) -> None:
    files = {
        **BARE,
        "/run/systemd/system/units": "",
        "/sys/class/hwmon/hwmon0/name": "k10temp\n",
        "/sys/class/hwmon/hwmon0/temp1_input": "93000\n",
    }
    programs = {
        "systemctl list-units": said("nut.service loaded failed failed UPS\n"),
        "systemctl show": said("Id=nut.service\nActiveState=failed\nResult=timeout\nDescription=UPS\n"),
    }
    host = LocalSource(host=TreeHost(tmp_path, files, programs)).collect(request(20)).estate.resources[0]
    assert host.units == [UnitRow(name="nut.service", state="failed", result="timeout", description="UPS")]
    assert host.sensors == [SensorRow(name="k10temp", label="temp1", celsius=93)]
