"""Interfaces and disks: faulty packets, links at the end of their speed, set rates, and windows that are too short."""

import pytest

from findings.kinds import Kind
from findings.model import Look
from signals.evidence import InventoryRow
from signals.pages import Page
from signals.thresholds import Limit, Limited
from signals.traffic import MEGABYTE, TrafficDetector
from signals.traffic_evidence import (
    BlockDeviceRow,
    DiskIoOutput,
    HostDevices,
    HostInterfaces,
    InterfaceRow,
    NetworkOutput,
)
from tests.signals.metered import Judged

NAS = InventoryRow(id="agent:local:nas", type="agent", name="nas")
ERRORS = {Limited.NETWORK_ERRORS: Limit(trigger=1, clear=0.5, provenance="built-in")}
LINK = {Limited.NETWORK_USE: Limit(trigger=90, clear=80, provenance="built-in")}
SET = {
    Limited.NETWORK_IN: Limit(trigger=50, clear=45, provenance="alerts.json: a"),
    Limited.NETWORK_OUT: Limit(trigger=150, clear=145, provenance="alerts.json: b"),
    Limited.DISK_READ: Limit(trigger=50, clear=45, provenance="alerts.json: c"),
    Limited.DISK_WRITE: Limit(trigger=150, clear=145, provenance="alerts.json: d"),
}


def interface(**fields: object) -> InterfaceRow:
    return InterfaceRow(
        **{
            "name": "eth0",
            "speed_mbps": 1000,
            "window_seconds": 300,
            "rx_bytes_per_second": 0,
            "tx_bytes_per_second": 0,
            "rx_errors_percent": 0,
            "tx_errors_percent": 0,
            **fields,
        }
    )


def network(*rows: InterfaceRow) -> Page:
    return NetworkOutput(hosts=[HostInterfaces(id=NAS.id, hostname="nas", type="agent", interfaces=list(rows))])


def disks(**fields: object) -> Page:
    row = BlockDeviceRow(
        **{"device": "sda", "window_seconds": 300, "read_bytes_per_second": 0, "write_bytes_per_second": 0, **fields}
    )
    return DiskIoOutput(hosts=[HostDevices(id=NAS.id, hostname="nas", type="agent", devices=[row])])


def judged(page: Page, limits: dict[Limited, Limit], **options: object) -> Judged:
    return Judged(TrafficDetector, page, limits=limits, known=(NAS,), **options)


# --- faulty packets


@pytest.mark.parametrize(
    ("percent", "look"),
    [(0, Look.CLEAR), (0.49, Look.CLEAR), (0.5, Look.HELD), (1, Look.HELD), (1.01, Look.PRESENT), (100, Look.PRESENT)],
)
@pytest.mark.parametrize("way", ["rx", "tx"])
def test_faulty_packets_are_judged_in_both_directions(way: str, percent: float, look: Look) -> None:
    seen = judged(network(interface(**{f"{way}_errors_percent": percent})), ERRORS)
    assert seen.look(Kind.NETWORK_ERRORS, NAS.id, "eth0") is look


def test_the_signal_names_the_worse_direction() -> None:
    (signal,) = judged(network(interface(rx_errors_percent=2.5, tx_errors_percent=1.5)), ERRORS).signals
    assert signal.summary == "2.5 % of the packets that eth0 received were faulty (limit 1 %)"
    assert (signal.subject, signal.value, signal.severity) == ("eth0", 2.5, "warning")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"window_seconds": 299}, "no average over 300 s yet"),
        ({"window_seconds": None}, "no average over 300 s yet"),
        ({"rx_errors_percent": None, "tx_errors_percent": None}, "its errors were not read"),
        ({"rx_errors_percent": -1, "tx_errors_percent": 101}, "its errors were not read"),
    ],
)
def test_errors_that_are_not_known_are_blind(fields: dict[str, object], reason: str) -> None:
    seen = judged(network(interface(**fields)), ERRORS)
    assert seen.look(Kind.NETWORK_ERRORS, NAS.id, "eth0") is Look.BLIND
    assert seen.reason(Kind.NETWORK_ERRORS, NAS.id, "eth0") == reason


# --- rates

GIGABIT = 125_000_000  # bytes a second


@pytest.mark.parametrize(
    ("share", "look"), [(0.79, Look.CLEAR), (0.80001, Look.HELD), (0.9, Look.HELD), (0.90001, Look.PRESENT)]
)
@pytest.mark.parametrize("way", ["rx", "tx"])
def test_a_link_at_the_end_of_its_speed_is_busy(way: str, share: float, look: Look) -> None:
    seen = judged(network(interface(**{f"{way}_bytes_per_second": share * GIGABIT})), LINK)
    assert seen.look(Kind.HIGH_NETWORK, NAS.id, "eth0") is look


def test_the_limit_of_a_link_says_where_it_comes_from() -> None:
    (signal,) = judged(network(interface(tx_bytes_per_second=GIGABIT)), LINK).signals
    assert signal.summary == "eth0: 119.2 MB/s out (limit 107.3 MB/s)"
    assert signal.limit_source == "built-in: 90 % of 1000 Mbit/s"


def test_a_link_of_unknown_speed_has_no_end() -> None:
    seen = judged(network(interface(speed_mbps=None, rx_bytes_per_second=9e12)), LINK)
    assert seen.signals == []
    assert seen.look(Kind.HIGH_NETWORK, NAS.id, "eth0") is Look.CLEAR


@pytest.mark.parametrize(
    ("read", "written", "look"),
    [
        (44, 144, Look.CLEAR),
        (45, 0, Look.HELD),
        (50, 0, Look.HELD),
        (50.1, 0, Look.PRESENT),
        (0, 150, Look.HELD),  # an amount: nothing is full at 100 of them
        (46, 151, Look.PRESENT),
        (None, 151, Look.BLIND),
    ],
)
def test_a_set_rate_is_judged_and_the_worse_direction_speaks(read: float | None, written: float, look: Look) -> None:
    page = disks(
        read_bytes_per_second=None if read is None else read * MEGABYTE, write_bytes_per_second=written * MEGABYTE
    )
    assert judged(page, SET).look(Kind.HIGH_DISK_IO, NAS.id, "sda") is look


def test_an_operators_rate_goes_before_the_speed_of_the_link() -> None:
    (signal,) = judged(network(interface(rx_bytes_per_second=60 * MEGABYTE)), {**LINK, **SET}).signals
    assert (signal.value, signal.limit, signal.limit_source) == (60, 50, "alerts.json: a")


@pytest.mark.parametrize("window", [None, 0, 299.9])
def test_a_short_window_is_blind(window: float | None) -> None:
    page = disks(window_seconds=window, read_bytes_per_second=1e12)
    assert judged(page, SET).look(Kind.HIGH_DISK_IO, NAS.id, "sda") is Look.BLIND
    assert judged(network(interface(window_seconds=window)), LINK).look(Kind.HIGH_NETWORK, NAS.id, "eth0") is Look.BLIND


def test_a_host_that_was_read_is_clear_of_interfaces_that_are_gone() -> None:
    seen = judged(network(), {**ERRORS, **LINK})
    assert seen.look(Kind.NETWORK_ERRORS, NAS.id, "eth9") is Look.CLEAR
    assert seen.look(Kind.HIGH_NETWORK, NAS.id, "eth9") is Look.CLEAR
    assert judged(network(), ERRORS, complete=False).look(Kind.NETWORK_ERRORS, NAS.id) is None


def test_an_interface_without_a_name_is_nobodys() -> None:
    seen = judged(network(interface(name="", rx_errors_percent=50)), {**ERRORS, **LINK})
    assert seen.signals == []
    assert [each.message for each in seen.notes.problems] == ["an interface without name"]


def test_without_a_limit_nothing_is_looked_at() -> None:
    seen = judged(network(interface(rx_errors_percent=50, rx_bytes_per_second=1e12)), {})
    assert seen.signals == []
    assert (seen.look(Kind.NETWORK_ERRORS, NAS.id), seen.look(Kind.HIGH_NETWORK, NAS.id)) == (None, None)
    assert judged(disks(read_bytes_per_second=1e12), {}).look(Kind.HIGH_DISK_IO, NAS.id) is None
