"""What each whole disk reads and writes: the kernel's counters (/proc/diskstats) and their rates."""

from collections.abc import Mapping
from datetime import datetime

from findings.model import GapReason, Topic
from patrol.estate.sources.local.counters import Growth, find_growth, next_base
from patrol.estate.sources.local.cpu import read_boot
from patrol.estate.sources.local.host import Host, Part, Where, reason_of
from patrol.estate.sources.model import Counter
from signals.traffic_evidence import BlockDeviceRow

COUNTER = "disk_io"

_SECTOR_BYTES = 512  # of these counters on every kernel, whatever the sectors of the disk are
_COLUMNS = {"read_ops": 3, "read_sectors": 5, "write_ops": 7, "write_sectors": 9, "io_time_ms": 12}
_LEAST_COLUMNS = 14


#  major minor name reads merged sectors ms writes merged sectors ms in-progress ms weighted-ms (kernel: iostats.rst)
#    8       0 sda  2112  10     163412  903 811    77     21300  514 0         812 1417


def parse_diskstats(text: str) -> dict[str, dict[str, int]]:
    """Counters by device and name, partitions among them. What is no such line is left out."""
    found: dict[str, dict[str, int]] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) >= _LEAST_COLUMNS and all(_is_count(word) for word in (*words[:2], *words[3:_LEAST_COLUMNS])):
            found[words[2]] = {column: int(words[place]) for column, place in _COLUMNS.items()}
    return found


def _is_count(word: str) -> bool:
    return word.isascii() and word.isdecimal()


def read_disk_io(host: Host, where: Where, *, now: datetime, previous: Mapping[tuple[str, str], Counter]) -> Part:
    """The disks of the host; what lies on them (partitions, volumes, arrays) would count the same bytes again."""
    try:
        counters = parse_diskstats(host.read_text("/proc/diskstats"))
    except FileNotFoundError:
        gap = where.gap(Topic.DISK_IO, GapReason.NOT_REPORTED, "this system has no /proc/diskstats")
        return Part(gaps=[gap], complete=False)
    except OSError as error:
        return Part(gaps=[where.gap(Topic.DISK_IO, reason_of(error), f"/proc/diskstats: {error}")], complete=False)
    disks = {name: row for name, row in counters.items() if host.path(f"/sys/block/{name}/device").exists()}
    values = {f"{name} {column}": float(count) for name, row in disks.items() for column, count in row.items()}
    sample = Counter(at=now, values={**values, **read_boot(host)})
    base = previous.get((where.host_id, COUNTER))
    growth = find_growth(base, sample)
    rows = [_row(name, row, growth) for name, row in sorted(disks.items())]
    return Part(block_devices=rows, counters={COUNTER: next_base(base, sample)})


def _row(name: str, counters: Mapping[str, int], growth: Growth | None) -> BlockDeviceRow:
    row = BlockDeviceRow(
        device=name,
        read_bytes=counters["read_sectors"] * _SECTOR_BYTES,
        write_bytes=counters["write_sectors"] * _SECTOR_BYTES,
        read_ops=counters["read_ops"],
        write_ops=counters["write_ops"],
        io_time_ms=counters["io_time_ms"],
    )
    if growth is not None and growth.of(f"{name} read_sectors") is not None:
        row.window_seconds = round(growth.seconds, 1)
        row.read_bytes_per_second = _bytes(growth.per_second(f"{name} read_sectors"))
        row.write_bytes_per_second = _bytes(growth.per_second(f"{name} write_sectors"))
    return row


def _bytes(sectors: float | None) -> float | None:
    return None if sectors is None else sectors * _SECTOR_BYTES
