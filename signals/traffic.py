"""Network interfaces that lose packets or are at the end of their speed, and disks and interfaces beyond a set rate.

    {"hosts": [{"hostname": "nas", "id": "agent:local:nas", "interfaces": [{"name": "eth0", "speed_mbps": 1000,
     "rx_bytes_per_second": 121000000.0, "tx_errors_percent": 0.0, "rx_errors_percent": 2.5, "window_seconds": 3600}]}]}

All of it are averages over at least 300 s: a shorter peak is work, not a condition. A rate has no limit of its own but
the speed of its link; `networkIn`, `networkOut`, `diskRead` and `diskWrite` of the alert settings set others. How busy
a disk is says little (a scrub keeps it at 100 %): what suffers from it shows in the pressure on I/O.
"""

from collections.abc import Iterable
from typing import ClassVar, NamedTuple

from findings.kinds import Kind
from findings.model import Look, Severity
from signals.detector import Context, EvidencePage, Notes
from signals.evidence import InventoryRow
from signals.pages import Id, Page, Row
from signals.thresholds import Limit, Limited
from signals.traffic_evidence import BlockDeviceRow, DiskIoOutput, InterfaceRow, NetworkOutput

MIN_WINDOW_SECONDS = 300.0
MEGABYTE = 1 << 20
"""What the alert settings call a megabyte, in bytes."""

_BITS = 8
_NO_WINDOW = "no average over 300 s yet"


class _Rate(NamedTuple):
    """One direction: its rate in MB/s (None: not measured), and the limit for it, if there is one."""

    word: str
    value: float | None
    limit: Limit | None


class TrafficDetector:
    """network_errors, high_network and high_disk_io: one subject an interface or disk."""

    reads: ClassVar[tuple[type[Page], ...]] = (NetworkOutput, DiskIoOutput)

    def __init__(self, context: Context, notes: Notes) -> None:
        self._thresholds = context.thresholds
        self._inventory = context.inventory
        self._notes = notes

    def read(self, page: EvidencePage[Page]) -> None:
        """Judges the interfaces or disks of one page."""
        output = page.output
        fine: dict[Kind, list[str]] = {}
        if isinstance(output, NetworkOutput):
            for of_host in output.hosts:
                host = self._host(of_host.id, of_host.hostname, of_host.type)
                for kind in self._judge_interfaces(page, host, of_host.interfaces):
                    fine.setdefault(kind, []).append(host.id)
        elif isinstance(output, DiskIoOutput):
            for on_host in output.hosts:
                host = self._host(on_host.id, on_host.hostname, on_host.type)
                if self._judge_disks(page, host, on_host.devices):
                    fine.setdefault(Kind.HIGH_DISK_IO, []).append(host.id)
        for kind, hosts in fine.items():
            self._notes.clear(page, kind, hosts)

    def finish(self) -> None:
        """Everything was judged when it was read."""

    def _host(self, given: Id, hostname: str, resource_type: str) -> InventoryRow:
        name = str(given) if given else hostname
        return self._inventory.resolve(name, resource_type=resource_type or "agent", display_name=hostname)

    def _judge_interfaces(
        self, page: EvidencePage[Page], host: InventoryRow, rows: Iterable[InterfaceRow]
    ) -> list[Kind]:
        """States what is wrong; returns the kinds that were judged, so that every other interface is fine."""
        errors = self._thresholds.limit(host, Limited.NETWORK_ERRORS)
        of_link = self._thresholds.limit(host, Limited.NETWORK_USE)
        incoming = self._thresholds.limit(host, Limited.NETWORK_IN)
        outgoing = self._thresholds.limit(host, Limited.NETWORK_OUT)
        for row in rows:
            if not row.name:
                self._notes.problem(page.call_id, f"interfaces of {host.name or host.id}", "an interface without name")
                continue
            if errors is not None:
                self._judge_errors(page, host, row, errors)
            of_speed = _of_speed(of_link, row.speed_mbps)
            rates = (
                _Rate("in", _megabytes(row.rx_bytes_per_second), incoming or of_speed),
                _Rate("out", _megabytes(row.tx_bytes_per_second), outgoing or of_speed),
            )
            self._judge_rates(page, Kind.HIGH_NETWORK, host, row.name, row, row.window_seconds, rates)
        judged = [Kind.NETWORK_ERRORS] if errors is not None else []
        if any(limit is not None for limit in (of_link, incoming, outgoing)):
            judged.append(Kind.HIGH_NETWORK)
        return judged

    def _judge_disks(self, page: EvidencePage[Page], host: InventoryRow, rows: Iterable[BlockDeviceRow]) -> bool:
        reading = self._thresholds.limit(host, Limited.DISK_READ)
        writing = self._thresholds.limit(host, Limited.DISK_WRITE)
        for row in rows:
            rates = (
                _Rate("read", _megabytes(row.read_bytes_per_second), reading),
                _Rate("written", _megabytes(row.write_bytes_per_second), writing),
            )
            self._judge_rates(page, Kind.HIGH_DISK_IO, host, row.device, row, row.window_seconds, rates)
        return reading is not None or writing is not None

    def _judge_errors(self, page: EvidencePage[Page], host: InventoryRow, row: InterfaceRow, limit: Limit) -> None:
        shares = {"received": row.rx_errors_percent, "sent": row.tx_errors_percent}
        known = {word: share for word, share in shares.items() if share is not None and 0 <= share <= 100}
        if _is_short(row.window_seconds) or not known:
            reason = _NO_WINDOW if _is_short(row.window_seconds) else "its errors were not read"
            self._notes.blind(Kind.NETWORK_ERRORS, host.id, reason, row.name)
            return
        word = max(known, key=lambda each: known[each])
        percent = known[word]
        look = limit.look(percent)
        if look is Look.PRESENT:
            told = f"{percent:.2g} % of the packets that {row.name} {word} were faulty (limit {limit.trigger:g} %)"
            self._signal(page, Kind.NETWORK_ERRORS, host, row.name, row, percent, limit, told)
        elif look is Look.HELD:
            self._notes.held(Kind.NETWORK_ERRORS, host.id, row.name)

    def _judge_rates(
        self,
        page: EvidencePage[Page],
        kind: Kind,
        host: InventoryRow,
        name: str,
        row: Row,
        window_seconds: float | None,
        rates: Iterable[_Rate],
    ) -> None:
        """The worse direction speaks for both: it is one interface, or one disk."""
        limited = [(rate, rate.limit) for rate in rates if rate.limit is not None]
        if not limited:
            return
        looks: list[tuple[float, Look, _Rate, Limit]] = []
        for rate, limit in limited:
            if rate.value is None or _is_short(window_seconds):
                reason = _NO_WINDOW if _is_short(window_seconds) else "its rate was not read"
                self._notes.blind(kind, host.id, reason, name)
                return
            looks.append((rate.value / limit.trigger, limit.look_at_amount(rate.value), rate, limit))
        _, look, rate, limit = max(looks, key=lambda each: (each[1] is Look.PRESENT, each[1] is Look.HELD, each[0]))
        if look is Look.PRESENT and rate.value is not None:
            direction = f"{rate.value:.1f} MB/s {rate.word}"
            self._signal(
                page, kind, host, name, row, rate.value, limit, f"{name}: {direction} (limit {limit.trigger:.1f} MB/s)"
            )
        elif look is Look.HELD:
            self._notes.held(kind, host.id, name)

    def _signal(
        self,
        page: EvidencePage[Page],
        kind: Kind,
        host: InventoryRow,
        subject: str,
        row: Row,
        value: float,
        limit: Limit,
        told: str,
    ) -> None:
        self._notes.signal(
            page, kind, host, Severity.WARNING, told, row=row, subject=subject, value=round(value, 3), limit=limit
        )


def _is_short(window_seconds: float | None) -> bool:
    return window_seconds is None or window_seconds < MIN_WINDOW_SECONDS


def _megabytes(bytes_per_second: float | None) -> float | None:
    return None if bytes_per_second is None or bytes_per_second < 0 else bytes_per_second / MEGABYTE


def _of_speed(limit: Limit | None, speed_mbps: int | None) -> Limit | None:
    """The share of a link's speed that a limit allows, in MB/s; None where the speed is not known (a bridge, a tap)."""
    if limit is None or not speed_mbps or speed_mbps <= 0:
        return None
    whole = speed_mbps * 1_000_000 / _BITS / MEGABYTE
    return Limit(
        trigger=limit.trigger / 100 * whole,
        clear=limit.clear / 100 * whole,
        provenance=f"{limit.provenance}: {limit.trigger:g} % of {speed_mbps} Mbit/s",
    )
