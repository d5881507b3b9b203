"""Interfaces and disks of a host: the kernel's counters, their rates between two collections, and what is left out."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.model import GapReason, Topic
from patrol.estate.sources.local.counters import find_growth, next_base
from patrol.estate.sources.local.disk_io import parse_diskstats, read_disk_io
from patrol.estate.sources.local.host import Part, Where
from patrol.estate.sources.local.network import parse_net_dev, read_network
from patrol.estate.sources.model import Counter
from tests.estate.local.tree import TreeHost

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
WHERE = Where(source="local", host_id="agent:local:nas", hostname="nas")
HEAD = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier
"""


def dev(name: str, rx: tuple[int, int, int], tx: tuple[int, int, int] = (0, 0, 0)) -> str:
    received, sent = " ".join(map(str, rx)), " ".join(map(str, tx))
    return f"{name:>6}: {received} 0 0 0 0 0 {sent} 0 0 0 0 0\n"


def files(net: str = "", disks: str = "", *, uptime: float = 1000, boot: str = "a" * 32) -> dict[str, str]:
    return {
        "/proc/net/dev": HEAD + net,
        "/proc/diskstats": disks,
        "/proc/uptime": f"{uptime} 0\n",
        "/proc/sys/kernel/random/boot_id": boot,
        "/sys/class/net/eno1/device/vendor": "x",
        "/sys/class/net/eno1/speed": "1000\n",
        "/sys/class/net/eno1/address": "bc:24:11:00:00:01\n",
        "/sys/class/net/vmbr0/speed": "10000\n",
        "/sys/block/sda/device/vendor": "ATA",
        "/sys/block/dm-0/size": "1",
    }


def network(root: Path, tree: Mapping[str, str], base: Counter | None = None) -> Part:
    previous = {(WHERE.host_id, "network"): base} if base is not None else {}
    return read_network(TreeHost(root, tree), WHERE, now=NOON, previous=previous)


def disk_io(root: Path, tree: Mapping[str, str], base: Counter | None = None) -> Part:
    previous = {(WHERE.host_id, "disk_io"): base} if base is not None else {}
    return read_disk_io(TreeHost(root, tree), WHERE, now=NOON, previous=previous)


# --- network


def test_an_interface_at_first_sight_has_counters_and_no_rate(tmp_path: Path) -> None:
    part = network(tmp_path, files(dev("eno1", (500, 5, 0), (70, 7, 0))))
    (row,) = part.interfaces or ()
    assert (row.name, row.mac, row.speed_mbps) == ("eno1", "bc:24:11:00:00:01", 1000)
    assert (row.rx_bytes, row.tx_bytes, row.window_seconds, row.rx_bytes_per_second) == (500, 70, None, None)
    assert part.complete
    assert part.gaps == ()


def test_rates_are_of_the_time_since_the_earlier_collection(tmp_path: Path) -> None:
    first = network(tmp_path / "1", files(dev("eno1", (1000, 0, 0), (0, 0, 0)), uptime=1000))
    later = files(dev("eno1", (4_000_000, 20_000, 200), (400, 4000, 0)), uptime=1400)
    (row,) = network(tmp_path / "2", later, first.counters["network"]).interfaces or ()
    assert (row.window_seconds, row.rx_bytes_per_second, row.tx_bytes_per_second) == (400, 9997.5, 1.0)
    assert (row.rx_errors_percent, row.tx_errors_percent) == (0.99, 0.0)


def test_a_share_of_few_packets_says_nothing_unless_all_are_well(tmp_path: Path) -> None:
    first = network(tmp_path / "1", files(dev("eno1", (0, 0, 0))))
    later = files(dev("eno1", (900, 998, 1), (1, 1, 0)), uptime=1400)
    (row,) = network(tmp_path / "2", later, first.counters["network"]).interfaces or ()
    assert (row.rx_errors_percent, row.tx_errors_percent) == (None, 0.0)


@pytest.mark.parametrize(
    "later",
    [
        files(dev("eno1", (2000, 0, 0)), uptime=1400, boot="b" * 32),  # another boot
        files(dev("eno1", (10, 0, 0)), uptime=1400),  # reset by its driver
        files(dev("eno1", (2000, 0, 0)), uptime=1000),  # no time went by
        files(dev("eno1", (2000, 0, 0)), uptime=1000 + 25 * 3600),  # too long ago
    ],
)
def test_without_a_usable_earlier_sample_there_is_no_rate(tmp_path: Path, later: dict[str, str]) -> None:
    first = network(tmp_path / "1", files(dev("eno1", (1000, 0, 0))))
    (row,) = network(tmp_path / "2", later, first.counters["network"]).interfaces or ()
    assert (row.window_seconds, row.rx_bytes_per_second, row.rx_errors_percent) == (None, None, None)


def test_what_passes_a_real_interface_anyway_is_left_out_and_a_bridge_has_no_speed(tmp_path: Path) -> None:
    names = ("lo", "eno1", "vmbr0", "veth12", "tap101i0", "fwbr101i0", "docker0", "br-1f2e", "local0")
    rows = network(tmp_path, files("".join(dev(name, (1, 1, 0)) for name in names))).interfaces or ()
    assert [(row.name, row.speed_mbps) for row in rows] == [("eno1", 1000), ("local0", None), ("vmbr0", None)]


def test_a_system_without_these_files_does_not_report_them(tmp_path: Path) -> None:
    for part, topic in ((network(tmp_path, {}), Topic.NETWORK), (disk_io(tmp_path, {}), Topic.DISK_IO)):
        assert [(gap.topic, gap.reason) for gap in part.gaps] == [(topic, GapReason.NOT_REPORTED)]
        assert not part.complete
    assert (part.interfaces, part.block_devices) == (None, None)


# --- disks

SDA = "   8       0 sda 100 1 2000 3 50 4 {written} 6 0 812 1417\n"
PARTITION = "   8       1 sda1 100 1 2000 3 50 4 1000 6 0 812 1417\n 253 0 dm-0 1 1 1 1 1 1 1 1 1 1 1\n"


def test_whole_disks_are_read_in_bytes_and_no_partition(tmp_path: Path) -> None:
    first = disk_io(tmp_path / "1", files(disks=SDA.format(written=1000) + PARTITION))
    (row,) = first.block_devices or ()
    assert (row.device, row.read_bytes, row.write_bytes) == ("sda", 2000 * 512, 1000 * 512)
    assert (row.read_ops, row.write_ops, row.io_time_ms, row.window_seconds) == (100, 50, 812, None)
    later = files(disks=SDA.format(written=5000), uptime=1400)
    (row,) = disk_io(tmp_path / "2", later, first.counters["disk_io"]).block_devices or ()
    assert (row.window_seconds, row.read_bytes_per_second, row.write_bytes_per_second) == (400, 0, 5120)


# --- counters


def at(seconds: float, **values: float) -> Counter:
    return Counter(at=NOON + timedelta(seconds=seconds), values=values)


def test_a_base_is_kept_until_it_is_old_enough() -> None:
    base = at(0, n=1)
    assert next_base(None, at(5, n=2)) == at(5, n=2)
    assert next_base(base, at(299, n=2)) is base
    assert next_base(base, at(300, n=2)) == at(300, n=2)
    assert next_base(base, at(-5, n=2)) == at(-5, n=2)


def test_a_counter_that_is_new_or_went_back_has_not_grown() -> None:
    growth = find_growth(at(0, a=1, b=9), at(10, a=31, b=8, c=1))
    assert growth is not None
    assert [growth.of(name) for name in "abc"] == [30, None, None]
    assert (growth.per_second("a"), growth.per_second("c")) == (3.0, None)


@given(st.text(alphabet=st.sampled_from("eth0: 123\n|x-\u0664"), max_size=200))
def test_no_text_breaks_the_parsers(text: str) -> None:
    for found in (parse_net_dev(text), parse_diskstats(text)):
        assert all(count >= 0 for row in found.values() for count in row.values())
