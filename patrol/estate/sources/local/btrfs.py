"""btrfs file systems of this host: missing devices and the error counters of each device.

Both are in sysfs, open to every user: /sys/fs/btrfs/UUID/devinfo/DEVID/{missing, error_stats} (since Linux 5.6 and
5.14). Older kernels need `btrfs device stats`. The counters are for life, until an operator resets them with -z.
How full a file system is stands in its mount, not here.

    write_errs 0
    read_errs 0
    flush_errs 0
    corruption_errs 12
    generation_errs 0
"""

import re
from collections.abc import Mapping, Sequence

from findings.identity import canonical_id
from findings.model import Gap, GapReason, Topic
from patrol.estate.model import Resource, ResourceType, Status
from patrol.estate.sources.local.filesystems import MOUNTINFO
from patrol.estate.sources.local.host import Host, Part, ProgramMissingError, ProgramTimedOutError, Where, find_text
from patrol.estate.sources.local.mounts import Mount, parse_mountinfo, select
from patrol.estate.sources.local.root_command import run_as_root
from signals.storage_evidence import BtrfsDeviceRow, BtrfsRow, PoolRow

SYSFS = "/sys/fs/btrfs"

COUNTERS = ("write_io_errs", "read_io_errs", "flush_io_errs", "corruption_errs", "generation_errs")

_BOUND_SECONDS = 10
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_STAT = re.compile(r"\[(?P<path>.*)\]\.(?P<counter>\w+)\s+(?P<value>\d{1,18})\s*$")
_ERROR_STAT = re.compile(r"(write|read|flush|corruption|generation)_errs (\d{1,18})\s*$")
_MISSING = re.compile(r"\s*Device missing:\s+(\d{1,18})\s*$")


def parse_device_stats(text: str) -> list[BtrfsDeviceRow]:
    """The devices of `btrfs device stats`, in its order (that of their ids)."""
    counts: dict[str, dict[str, int]] = {}
    for line in text.splitlines():
        match = _STAT.match(line)
        if match and match["counter"] in COUNTERS:
            counts.setdefault(match["path"], {})[match["counter"]] = int(match["value"])
    return [_device(values, path=path) for path, values in counts.items()]


def parse_error_stats(text: str, devid: int) -> BtrfsDeviceRow | None:
    """One device from its `error_stats`; None where a counter is not there ("invalid": not read from disk yet)."""
    found = (_ERROR_STAT.match(line) for line in text.splitlines())
    counts = {match[1]: int(match[2]) for match in found if match}
    if len(counts) < len(COUNTERS):
        return None
    return _device({name: counts[name.split("_")[0]] for name in COUNTERS}, devid=devid)


def parse_missing_bytes(text: str) -> int | None:
    """Size of the missing devices from `btrfs filesystem usage --raw`; None if the text does not say."""
    sizes = (_MISSING.match(line) for line in text.splitlines())
    return next((int(match[1]) for match in sizes if match), None)


def read_btrfs(host: Host, where: Where) -> Part:
    """All mounted btrfs file systems. Raises OSError where the list of mounts cannot be read."""
    mounts = [mount for mount in select(parse_mountinfo(host.path(MOUNTINFO).read_bytes())) if mount.type == "btrfs"]
    if not mounts:
        return Part()
    resources, gaps = [], []
    unknown = _filesystems(host)
    for mount in mounts:
        name = host.path(mount.device).resolve().name
        uuid = next((uuid for uuid, devices in unknown.items() if name in devices), None)
        if uuid is None:
            gaps.append(_gap(where, GapReason.NOT_REPORTED, f"{mount.name}: {SYSFS} does not know {mount.device}"))
            continue
        row, lacking = _read(host, where, mount, uuid, unknown.pop(uuid))
        resources.append(_resource(where, mount, row))
        gaps += lacking
    return Part(resources=resources, gaps=gaps, complete=not gaps)


def _filesystems(host: Host) -> dict[str, list[str]]:
    """The kernel names of the devices of each file system, by its UUID."""
    return {uuid: _names(host, f"{SYSFS}/{uuid}/devices") for uuid in _names(host, SYSFS) if _UUID.match(uuid)}


def _names(host: Host, folder: str) -> list[str]:
    try:
        return host.list_names(folder)
    except OSError:
        return []


def _read(host: Host, where: Where, mount: Mount, uuid: str, devices: Sequence[str]) -> tuple[BtrfsRow, list[Gap]]:
    folder = f"{SYSFS}/{uuid}/devinfo"
    ids = [int(name) for name in _names(host, folder) if name.isdecimal()]
    missing = [(find_text(host, f"{folder}/{devid}/missing") or "").strip() for devid in ids]
    stats = [parse_error_stats(find_text(host, f"{folder}/{devid}/error_stats") or "", devid) for devid in ids]
    row = BtrfsRow(uuid=uuid, label=(find_text(host, f"{SYSFS}/{uuid}/label") or "").strip())
    row.devices = [device for device in stats if device is not None]
    if ids and all(missing):
        row.missing_devices = missing.count("1")
        # A missing device has no counters of now: that it is missing is what there is to say.
        whole = len(row.devices) >= len(ids) - row.missing_devices
    else:
        whole = False
    printed, gap = _ask(host, where, mount, uuid) if not whole or any(map(_has_errors, row.devices)) else ([], None)
    if not whole:
        row.devices = row.devices or printed
        row.missing_devices = _missing_by_program(host, mount) if row.missing_devices is None else row.missing_devices
    _name_devices(row.devices, devices, printed)
    lacks = not row.devices or row.missing_devices is None
    return row, [gap] if gap is not None and lacks else []


def _ask(host: Host, where: Where, mount: Mount, uuid: str) -> tuple[list[BtrfsDeviceRow], Gap | None]:
    """The counters by `btrfs device stats`, which also knows the paths."""
    resource_id = _id(where, uuid)
    try:
        done = host.run(["btrfs", "device", "stats", mount.point], timeout_seconds=_BOUND_SECONDS)
    except ProgramMissingError:
        detail = f"{mount.name}: this kernel does not show device errors in sysfs, and btrfs-progs is not installed"
        fix = "install btrfs-progs (Debian, Ubuntu: apt install btrfs-progs)"
        return [], _gap(where, GapReason.TOOL_MISSING, detail, resource_id, fix)
    except ProgramTimedOutError:
        return [], _gap(where, GapReason.TIMED_OUT, f"{mount.name}: btrfs device stats did not answer", resource_id)
    except OSError as error:
        return [], _gap(where, GapReason.FAILED, f"btrfs could not be started: {error}", resource_id)
    devices = parse_device_stats(done.stdout)
    if devices:
        return devices, None  # its exit status tells only whether counters are above zero
    denied = "ermitted" in done.stderr or "ermission" in done.stderr
    return [], _gap(
        where,
        GapReason.NO_PERMISSION if denied else GapReason.FAILED,
        f"{mount.name}: btrfs device stats printed no counters: {done.stderr.strip()[:200]}",
        resource_id,
        run_as_root() if denied else "",
    )


def _missing_by_program(host: Host, mount: Mount) -> int | None:
    """Whether devices are missing, where the kernel does not say which: 1 stands for some."""
    try:
        done = host.run(["btrfs", "filesystem", "usage", "--raw", mount.point], timeout_seconds=_BOUND_SECONDS)
    except (ProgramMissingError, ProgramTimedOutError, OSError):
        return None
    size = parse_missing_bytes(done.stdout)
    return None if size is None else int(size > 0)


def _name_devices(rows: Sequence[BtrfsDeviceRow], names: Sequence[str], printed: Sequence[BtrfsDeviceRow]) -> None:
    """Paths for rows that only have an id: the kernel shows ids and names, but not which belong together."""
    if len(rows) == 1 and len(names) == 1 and not rows[0].path:
        rows[0].path = f"/dev/{names[0]}"
    elif len(rows) == len(printed):
        for row, named in zip(rows, printed, strict=True):
            row.path = row.path or named.path


def _has_errors(row: BtrfsDeviceRow) -> bool:
    return bool(
        row.write_io_errs or row.read_io_errs or row.flush_io_errs or row.corruption_errs or row.generation_errs
    )


def _device(counts: Mapping[str, int], *, path: str = "", devid: int | None = None) -> BtrfsDeviceRow:
    return BtrfsDeviceRow(
        path=path,
        devid=devid,
        write_io_errs=counts.get("write_io_errs", 0),
        read_io_errs=counts.get("read_io_errs", 0),
        flush_io_errs=counts.get("flush_io_errs", 0),
        corruption_errs=counts.get("corruption_errs", 0),
        generation_errs=counts.get("generation_errs", 0),
    )


def _id(where: Where, uuid: str) -> str:
    return canonical_id(ResourceType.STORAGE, where.hostname, uuid)


def _resource(where: Where, mount: Mount, row: BtrfsRow) -> Resource:
    resource_id = _id(where, row.uuid)
    name = row.label or mount.name
    return Resource(
        id=resource_id,
        type=ResourceType.STORAGE,
        name=name,
        status=Status.ONLINE,
        aliases=[row.uuid],
        parent=where.host_id,
        source=where.source,
        pool=PoolRow(
            id=resource_id,
            name=name,
            node=where.hostname,
            type="btrfs",
            status="degraded" if row.missing_devices else "online",
            path=mount.name,
            btrfs=row,
        ),
    )


def _gap(where: Where, reason: GapReason, detail: str, resource_id: str | None = None, fix: str = "") -> Gap:
    return Gap(source=where.source, topic=Topic.BTRFS, reason=reason, detail=detail, resource_id=resource_id, fix=fix)
