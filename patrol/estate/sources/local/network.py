"""Network interfaces: the kernel's counters (/proc/net/dev), their rates, and the share of faulty packets."""

import re
from collections.abc import Mapping
from datetime import datetime

from findings.model import GapReason, Topic
from patrol.estate.sources.local.counters import Growth, find_growth, next_base
from patrol.estate.sources.local.cpu import read_boot
from patrol.estate.sources.local.host import Host, Part, Where, find_text, reason_of
from patrol.estate.sources.model import Counter
from signals.traffic_evidence import InterfaceRow

COUNTER = "network"
LEAST_PACKETS = 1000
"""Of fewer packets a share says nothing."""

# The ends that hypervisors and container runtimes make for their guests: what passes them passes a real one too.
_PASSING = re.compile(
    r"(?:lo\Z|veth|tap|fwbr|fwpr|fwln|vnet|dummy|ifb|docker|br-|virbr|cali|flannel|cni|kube|lxc|lxdbr)", re.IGNORECASE
)
_COLUMNS = {"rx_bytes": 0, "rx_packets": 1, "rx_errors": 2, "tx_bytes": 8, "tx_packets": 9, "tx_errors": 10}
_LEAST_COLUMNS = 11


# face |bytes   packets errs drop fifo frame compressed multicast|bytes  packets errs drop fifo colls carrier compressed
#  eno1: 8123456 9123456   0    0    0     0          0      1234 2123456 512345    0    0    0     0       0          0


def parse_net_dev(text: str) -> dict[str, dict[str, int]]:
    """Counters by interface and name. What is no such line is left out."""
    found: dict[str, dict[str, int]] = {}
    for line in text.splitlines():
        name, colon, rest = line.rpartition(":")  # an alias (`eth0:1`) has a colon in its name
        words = rest.split()
        if colon and name.strip() and len(words) >= _LEAST_COLUMNS and all(_is_count(word) for word in words):
            found[name.strip()] = {column: int(words[place]) for column, place in _COLUMNS.items()}
    return found


def _is_count(word: str) -> bool:
    return word.isascii() and word.isdecimal()


def read_network(host: Host, where: Where, *, now: datetime, previous: Mapping[tuple[str, str], Counter]) -> Part:
    """Interfaces of the host. At first sight their rates are not known yet: the rows say so by themselves."""
    try:
        counters = parse_net_dev(host.read_text("/proc/net/dev"))
    except FileNotFoundError:
        gap = where.gap(Topic.NETWORK, GapReason.NOT_REPORTED, "this system has no /proc/net/dev")
        return Part(gaps=[gap], complete=False)
    except OSError as error:
        return Part(gaps=[where.gap(Topic.NETWORK, reason_of(error), f"/proc/net/dev: {error}")], complete=False)
    own = {name: values for name, values in counters.items() if not _PASSING.match(name)}
    values = {f"{name} {column}": float(count) for name, row in own.items() for column, count in row.items()}
    sample = Counter(at=now, values={**values, **read_boot(host)})
    base = previous.get((where.host_id, COUNTER))
    growth = find_growth(base, sample)
    rows = [_row(host, name, row, growth) for name, row in sorted(own.items())]
    return Part(interfaces=rows, counters={COUNTER: next_base(base, sample)})


def _row(host: Host, name: str, counters: Mapping[str, int], growth: Growth | None) -> InterfaceRow:
    folder = f"/sys/class/net/{name}"
    row = InterfaceRow(
        name=name,
        mac=(find_text(host, f"{folder}/address") or "").strip() or None,
        rx_bytes=counters["rx_bytes"],
        tx_bytes=counters["tx_bytes"],
        speed_mbps=_speed(host, folder),
    )
    if growth is not None and growth.of(f"{name} rx_bytes") is not None:
        row.window_seconds = round(growth.seconds, 1)
        row.rx_bytes_per_second = growth.per_second(f"{name} rx_bytes")
        row.tx_bytes_per_second = growth.per_second(f"{name} tx_bytes")
        row.rx_errors_percent = _faulty(growth, f"{name} rx")
        row.tx_errors_percent = _faulty(growth, f"{name} tx")
    return row


def _speed(host: Host, folder: str) -> int | None:
    """The speed of a real link, or of several bonded to one; a bridge or tap has none, whatever its file says."""
    if not any(host.path(f"{folder}/{part}").exists() for part in ("device", "bonding")):
        return None
    word = (find_text(host, f"{folder}/speed") or "").strip()
    return int(word) if _is_count(word) and int(word) > 0 else None


def _faulty(growth: Growth, name: str) -> float | None:
    errors, packets = growth.of(f"{name}_errors"), growth.of(f"{name}_packets")
    if errors is None or packets is None:
        return None
    if not errors:
        return 0.0
    return round(100 * errors / (packets + errors), 3) if packets + errors >= LEAST_PACKETS else None
