"""The physical disks of the host and their SMART data, read with smartctl without waking a disk that sleeps."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import msgspec

from findings.model import Gap, GapReason, ResourceId, Topic
from patrol.estate.identity import minted_id, serial_of, wwn_of
from patrol.estate.merging import filled, merge_disk_rows
from patrol.estate.model import Resource, ResourceType, Status
from patrol.estate.smartctl import SWITCHED_OFF, Shortfall, parse_smartctl
from patrol.estate.sources.local.disk_devices import DiskDevice, find_block_devices, hidden_disks
from patrol.estate.sources.local.host import (
    Host,
    Part,
    ProgramMissingError,
    ProgramTimedOutError,
    Where,
    reason_of,
)
from patrol.estate.sources.local.root_command import run_as_root
from signals.evidence import DiskRow

SECONDS_PER_DISK = 15
"""A disk that fails may retry a command for long: then it is named as a gap, and the others are read."""

AT_ONCE = 4

_NO_MEDIUM_FOR_IT = (GapReason.NOT_REPORTED, GapReason.FAILED, GapReason.UNREADABLE)
_INSTALL = "apt install smartmontools"


@dataclass(slots=True, kw_only=True)
class _Disk:
    """A disk as it was read: `shortfall` None means wholly."""

    devices: list[DiskDevice]
    row: DiskRow
    shortfall: Shortfall | None


def read_disks(host: Host, where: Where, *, progress: Callable[[str], None] = lambda _text: None) -> Part:
    """Every physical disk as a resource, with its verdict and counters where they could be read.

    A host without physical disks (a virtual machine, a container) gives nothing, and no gap. What could not be
    read of a disk is one gap on it.
    """
    found = find_block_devices(host)
    if not found.disks and not found.logical_volumes:
        return Part()
    gaps: list[Gap] = []
    try:
        hidden = _scan(host) if found.logical_volumes else []
        devices = [*found.disks, *hidden]
        progress(f"disks: SMART of {len(devices)}")
        with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
            disks = list(pool.map(lambda device: _read(host, device), devices))
    except ProgramMissingError:
        hidden = []
        disks = [_Disk(devices=[device], row=device.row, shortfall=None) for device in found.disks]
        gaps.append(_gap(where, GapReason.TOOL_MISSING, "smartctl is not installed", fix=_INSTALL))
    if found.logical_volumes and not hidden and not gaps:
        gaps.extend(_behind_controller(where, found.logical_volumes))
    resources = []
    for disk in _distinct(disks):
        resource = _resource(disk, where)
        resources.append(resource)
        if disk.shortfall is not None:
            gaps.append(_gap_of(disk, disk.shortfall, where, resource.id))
    return Part(resources=resources, gaps=gaps, complete=not gaps)


def _scan(host: Host) -> list[DiskDevice]:
    """Disks that only smartctl sees. A scan that fails finds none: the gap of the volume says so."""
    try:
        answer = host.run(["smartctl", "--scan", "--json"], timeout_seconds=SECONDS_PER_DISK)
        scanned = msgspec.json.decode(answer.stdout)
    except (ProgramTimedOutError, OSError, msgspec.DecodeError):
        return []
    return list(hidden_disks(scanned))


def _read(host: Host, device: DiskDevice) -> _Disk:
    """Asks one disk. Raises ProgramMissingError."""
    if not device.asks_smart:
        return _Disk(devices=[device], row=device.row, shortfall=None)
    selector = ["-d", device.smart_type] if device.smart_type else []
    try:
        answer = host.run(
            ["smartctl", "--json", "-x", "-n", "standby", *selector, device.path], timeout_seconds=SECONDS_PER_DISK
        )
    except ProgramTimedOutError:
        shortfall = Shortfall(GapReason.TIMED_OUT, f"smartctl gave no answer within {SECONDS_PER_DISK} s")
        return _Disk(devices=[device], row=_unread(device, shortfall), shortfall=shortfall)
    except OSError as error:
        shortfall = Shortfall(reason_of(error), error.strerror or type(error).__name__)
        return _Disk(devices=[device], row=_unread(device, shortfall), shortfall=shortfall)
    reading = parse_smartctl(answer.stdout.strip() or answer.stderr)
    row = filled(reading.row, device.row)
    row.device, row.dev_path = device.row.device, device.row.dev_path
    shortfall_found = reading.shortfall
    if device.removable and shortfall_found is not None and shortfall_found.reason in _NO_MEDIUM_FOR_IT:
        shortfall_found = None
    return _Disk(devices=[device], row=row, shortfall=shortfall_found)


def _unread(device: DiskDevice, shortfall: Shortfall) -> DiskRow:
    return msgspec.structs.replace(device.row, reasons=[shortfall.detail])


def _distinct(disks: Sequence[_Disk]) -> list[_Disk]:
    """One entry a disk: the paths of a multipath disk in one, and no serial number that two disks share."""
    distinct: list[_Disk] = []
    for disk in disks:
        twin = next((known for known in distinct if _same(known, disk)), None)
        if twin is None:
            distinct.append(disk)
            continue
        best = disk if twin.shortfall is not None and disk.shortfall is None else twin
        names = twin.row.device, twin.row.dev_path
        twin.row = merge_disk_rows(twin.row, disk.row)
        twin.row.device, twin.row.dev_path = names
        twin.shortfall = best.shortfall
        twin.devices += disk.devices
    serials = [serial_of(disk.row) for disk in distinct]
    for disk, serial in zip(distinct, serials, strict=True):
        if serial and serials.count(serial) > 1:
            disk.row.serial = None
    return distinct


def _same(one: _Disk, other: _Disk) -> bool:
    serials = serial_of(one.row), serial_of(other.row)
    wwns = wwn_of(one.row), wwn_of(other.row)
    if all(serials) and serials[0] != serials[1]:
        return False
    if all(wwns):
        return wwns[0] == wwns[1]
    # Without two names to compare, a serial number proves it only for a disk seen directly and through its controller.
    through = {bool(disk.devices[0].smart_type) for disk in (one, other)}
    return all(serials) and len(through) == 2


def _resource(disk: _Disk, where: Where) -> Resource:
    row, first = disk.row, disk.devices[0]
    row.node = where.hostname
    named = (
        name
        for device in disk.devices
        for name in (f"{where.hostname}/{device.name}", device.path if not device.smart_type else "", *device.names)
    )
    resource = Resource(
        id="",
        type=ResourceType.DISK,
        name=f"{where.hostname}/{first.name}",
        status=Status.ONLINE,
        aliases=list(dict.fromkeys(filter(None, (*named, serial_of(row), row.wwn or "")))),
        parent=where.host_id,
        source=where.source,
        disk=row,
    )
    resource.id = minted_id(resource, host=where.hostname, source=where.source)
    return resource


def _gap_of(disk: _Disk, shortfall: Shortfall, where: Where, resource_id: ResourceId) -> Gap:
    device = disk.devices[0]
    detail, fix = f"{device.name}: {shortfall.detail}", ""
    if shortfall.reason is GapReason.NO_PERMISSION:
        # Membership in the group disk opens the device, and still does not let SMART commands through.
        capability = "CAP_SYS_ADMIN" if disk.row.type == "nvme" else "CAP_SYS_RAWIO"
        detail, fix = f"{device.name}: reading SMART needs root or {capability} ({shortfall.detail})", run_as_root()
    elif shortfall.detail == SWITCHED_OFF:
        fix = f"sudo smartctl -s on {device.path}"
    return _gap(where, shortfall.reason, detail, resource_id=resource_id, fix=fix)


def _behind_controller(where: Where, volumes: Iterable[DiskDevice]) -> list[Gap]:
    return [
        _gap(
            where,
            GapReason.NOT_REPORTED,
            f"{volume.name} is a volume of a RAID controller ({volume.row.model}): smartctl lists no disks behind it",
            fix="sudo smartctl --scan-open",
        )
        for volume in volumes
    ]


def _gap(where: Where, reason: GapReason, detail: str, *, resource_id: ResourceId | None = None, fix: str = "") -> Gap:
    return Gap(source=where.source, topic=Topic.SMART, reason=reason, detail=detail, resource_id=resource_id, fix=fix)
