"""Outputs about what goes through network interfaces and disks. Counters run since the host started."""

import msgspec

from signals.pages import Id, Page, Row, Whole, always_list


class InterfaceRow(Row):
    """One network interface. `window_seconds`: what the rates and shares are the average of; None: not known yet."""

    name: str = ""
    mac: str | None = None
    addresses: list[str] = msgspec.field(default_factory=list)
    rx_bytes: Whole | None = None
    tx_bytes: Whole | None = None
    speed_mbps: Whole | None = None
    # Patrol adds
    window_seconds: float | None = None
    rx_bytes_per_second: float | None = None
    tx_bytes_per_second: float | None = None
    rx_errors_percent: float | None = None  # of the packets of this window
    tx_errors_percent: float | None = None


class HostInterfaces(Row):
    hostname: str = ""
    interfaces: list[InterfaceRow] = msgspec.field(default_factory=list)
    # Patrol adds
    id: Id = None
    type: str = ""


class NetworkOutput(Page):
    hosts: list[HostInterfaces] = always_list()
    total: Whole | None = None


class BlockDeviceRow(Row):
    """One whole disk, as the kernel counts. `window_seconds`: as of an interface."""

    device: str = ""
    read_bytes: Whole | None = None
    write_bytes: Whole | None = None
    read_ops: Whole | None = None
    write_ops: Whole | None = None
    io_time_ms: Whole | None = None
    # Patrol adds
    window_seconds: float | None = None
    read_bytes_per_second: float | None = None
    write_bytes_per_second: float | None = None


class HostDevices(Row):
    hostname: str = ""
    devices: list[BlockDeviceRow] = always_list()
    # Patrol adds
    id: Id = None
    type: str = ""


class DiskIoOutput(Page):
    hosts: list[HostDevices] = always_list()
    total: Whole | None = None
