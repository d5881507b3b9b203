"""Pressure: the kernel's own five-minute averages, where the kernel has them."""

import errno
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.model import GapReason, Topic
from patrol.estate.model import Metric
from patrol.estate.sources.local.host import Host
from patrol.estate.sources.local.pressure import parse_pressure, read_pressure
from tests.estate.local.tree import WHERE, DeniedHost, TreeHost


def pressure(some: float, full: float) -> str:
    return f"some avg10=99.00 avg60=98.00 avg300={some} total=1\nfull avg10=97.00 avg60=96.00 avg300={full} total=1\n"


PROC = {f"/proc/pressure/{name}": pressure(30 + n, 10 + n) for n, name in enumerate(("cpu", "memory", "io"))}


class SwitchedOffHost(Host):
    def read_text(self, absolute: str) -> str:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported", absolute)


def values(host: Host) -> dict[Metric, float]:
    return {metric: reading.value for metric, reading in read_pressure(host, WHERE).metrics.items()}


def test_cpu_counts_some_waiting_and_memory_and_io_count_all(tmp_path: Path) -> None:
    part = read_pressure(TreeHost(tmp_path, PROC), WHERE)
    assert {metric: reading.value for metric, reading in part.metrics.items()} == {
        Metric.PRESSURE_CPU: 30,
        Metric.PRESSURE_MEMORY: 11,
        Metric.PRESSURE_IO: 12,
    }
    assert {reading.window_seconds for reading in part.metrics.values()} == {300}
    assert part.complete


def test_a_kernel_without_it_has_nothing_to_read(tmp_path: Path) -> None:
    for host in (TreeHost(tmp_path, {}), SwitchedOffHost()):
        part = read_pressure(host, WHERE)
        assert (part.metrics, part.gaps, part.complete) == ({}, [], True)


def test_a_container_has_its_own(tmp_path: Path) -> None:
    own = {f"/sys/fs/cgroup/{name}.pressure": pressure(1, 2) for name in ("cpu", "memory")}
    host = TreeHost(tmp_path, {**PROC, **own, "/sys/fs/cgroup/cgroup.type": "domain\n"})
    assert values(host) == {Metric.PRESSURE_CPU: 1, Metric.PRESSURE_MEMORY: 2, Metric.PRESSURE_IO: 12}


def test_the_root_cgroup_of_a_host_is_not_asked(tmp_path: Path) -> None:
    host = TreeHost(tmp_path, {**PROC, "/sys/fs/cgroup/cpu.pressure": pressure(1, 2)})
    assert values(host)[Metric.PRESSURE_CPU] == 30


def test_what_cannot_be_understood_costs_its_own_value_only(tmp_path: Path) -> None:
    part = read_pressure(TreeHost(tmp_path, {**PROC, "/proc/pressure/memory": "some avg300=1.0\n"}), WHERE)
    assert set(part.metrics) == {Metric.PRESSURE_CPU, Metric.PRESSURE_IO}
    assert [(gap.topic, gap.reason) for gap in part.gaps] == [(Topic.PRESSURE, GapReason.UNREADABLE)]
    assert not part.complete


def test_what_may_not_be_read_is_a_gap() -> None:
    part = read_pressure(DeniedHost(), WHERE)
    assert {gap.reason for gap in part.gaps} == {GapReason.NO_PERMISSION}
    assert not part.complete


@pytest.mark.parametrize("value", ["nan", "inf", "-1.0", "100.1", "", "much"])
def test_a_value_that_is_no_share_of_time_is_none(value: str) -> None:
    assert parse_pressure(f"some avg10=1.0 avg300={value} total=5\n") == {}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ne_pressure_cpu.txt", {"some": 0.0, "full": 0.0}),
        ("ne_pressure_memory.txt", {"some": 0.0, "full": 0.0}),
        ("ne_pressure_io.txt", {"some": 0.10, "full": 0.10}),
    ],
)
def test_real_pressure(name: str, expected: dict[str, float], shared: Path) -> None:
    assert parse_pressure((shared / "data/proc" / name).read_text()) == expected


@given(st.text())
def test_any_text_can_be_parsed(text: str) -> None:
    assert all(0 <= value <= 100 for value in parse_pressure(text).values())


@given(st.floats(min_value=0, max_value=100).map(lambda value: round(value, 2)))
def test_a_share_of_time_is_read_as_it_is(value: float) -> None:
    assert parse_pressure(pressure(value, 0))["some"] == value
