"""The physical disks of the host, as the kernel lists them: sysfs and the udev database, readable by anyone."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from patrol.estate.sources.local.host import Host, find_text
from signals.evidence import DiskRow

# Everything else in /sys/block is made of disks (dm, md, loop, zram, zvols), or no disk at all.
_DISK = re.compile(r"(?:sd[a-z]+|hd[a-z]+|mmcblk\d+|(?P<controller>nvme\d+)n\d+)\Z")
_VIRTUAL = re.compile(
    r"qemu|vbox|vmware|virtio|virtual[ _-]?disk|msft|google persistentdisk|nvme_card|elastic block store"
    r"|ec2 nvme|blockvolume|do volume|hc volume|xen\b|lio-org|iscsi|\bnbd\b",
    re.IGNORECASE,
)
_LOGICAL_VOLUME = re.compile(
    r"\bperc\b|logical (?:volume|drive|drv)|virtual drive|\braid\b|serveraid|megaraid|\bmr\d{3,4}|dellboss|\bboss[ -]"
    r"|adaptec|\basr\d|areca|\barc-1|3ware|amcc|smart array",
    re.IGNORECASE,
)
_SECTOR_BYTES = 512  # what /sys/block/*/size counts in, whatever the disk's own sectors are


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskDevice:
    """One physical disk to be read.

    `name` is the path without `/dev/` (for a disk behind a controller with its place there: `bus/0 megaraid,3`).
    `smart_type`: what smartctl must be told as `-d`, "" where it finds out. `names`: other names of the device.
    `row`: what the kernel knows of it. `asks_smart` False: a card, which has no SMART to read. `removable`: a
    stick, of which none is expected.
    """

    name: str
    path: str
    row: DiskRow
    smart_type: str = ""
    names: tuple[str, ...] = ()
    asks_smart: bool = True
    removable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockDevices:
    """What of /sys/block matters: physical disks, and volumes that a RAID controller makes of hidden ones."""

    disks: tuple[DiskDevice, ...] = ()
    logical_volumes: tuple[DiskDevice, ...] = ()


def find_block_devices(host: Host) -> BlockDevices:
    """The disks below /sys/block. A host without that folder has none to show."""
    disks: dict[str, DiskDevice] = {}
    volumes: list[DiskDevice] = []
    for name in _names(host):
        found = _DISK.match(name)
        if found is None or not _is_ours(host, name):
            continue
        device = _device(host, name)
        made_by = f"{_attribute(host, name, 'device/vendor')} {device.row.model or ''}"
        if not device.row.size_bytes or _VIRTUAL.search(made_by):
            continue
        if _LOGICAL_VOLUME.search(made_by):
            volumes.append(device)
            continue
        # Namespaces share one controller, and SMART is the controller's.
        key = found["controller"] or name
        disks[key] = _with_namespace(disks[key], device, key) if key in disks else device
    return BlockDevices(disks=tuple(disks.values()), logical_volumes=tuple(volumes))


def _names(host: Host) -> list[str]:
    try:
        names = [entry.name for entry in host.path("/sys/block").iterdir()]
    except OSError:
        return []
    return sorted(names, key=lambda name: (len(name), name))  # sdb before sdaa


def _is_ours(host: Host, name: str) -> bool:
    """In a container the kernel lists the disks of the machine around it, but gives no way to them."""
    return host.path(f"/dev/{name}").exists() or not host.path("/dev").is_dir()


def _with_namespace(known: DiskDevice, namespace: DiskDevice, controller: str) -> DiskDevice:
    row = known.row
    row.device, row.dev_path = controller, f"/dev/{controller}"
    row.size_bytes = (row.size_bytes or 0) + (namespace.row.size_bytes or 0)
    row.wwn = None  # the name of a namespace, not of the disk
    names = (*known.names, known.name, known.path, *namespace.names, namespace.name, namespace.path)
    return DiskDevice(
        name=controller,
        path=f"/dev/{controller}",
        row=row,
        names=tuple(name for name in dict.fromkeys(names) if name not in (controller, f"/dev/{controller}")),
    )


def _device(host: Host, name: str) -> DiskDevice:
    udev = _udev(host, name)
    removable = _attribute(host, name, "removable") == "1"
    card = name.startswith("mmcblk")
    return DiskDevice(
        name=name,
        path=f"/dev/{name}",
        names=tuple(link.removeprefix("disk/by-id/") for link in udev.links),
        asks_smart=not card,
        removable=removable,
        row=DiskRow(
            device=name,
            dev_path=f"/dev/{name}",
            model=_model(host, name, udev) or None,
            serial=_serial(host, name, udev) or None,
            wwn=_wwn(host, name, udev) or None,
            type=_type(host, name, known=not (removable or card)) or None,
            size_bytes=_size_bytes(host, name),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Udev:
    """What udev found out about a device: properties, and its links in /dev/disk/by-id."""

    properties: dict[str, str]
    links: tuple[str, ...]


def _udev(host: Host, name: str) -> _Udev:
    number = _attribute(host, name, "dev")
    lines = (find_text(host, f"/run/udev/data/b{number}") or "").splitlines() if number else []
    properties = dict(line[2:].partition("=")[::2] for line in lines if line.startswith("E:"))
    links = tuple(sorted(line[2:] for line in lines if line.startswith("S:disk/by-id/")))
    return _Udev(properties=properties, links=links)


def _attribute(host: Host, name: str, attribute: str) -> str:
    found = find_text(host, f"/sys/block/{name}/{attribute}") or ""
    return " ".join(found.replace("\0", " ").split())


def _model(host: Host, name: str, udev: _Udev) -> str:
    """The kernel cuts SCSI models at 16 characters; udev keeps them whole, with other signs for blanks."""
    short = _attribute(host, name, "device/model") or _attribute(host, name, "device/name")
    whole = udev.properties.get("ID_MODEL", "").replace("_", " ").strip()
    return whole if whole.startswith(short) else short


def _serial(host: Host, name: str, udev: _Udev) -> str:
    direct = _attribute(host, name, "device/serial")
    if direct:
        return direct
    # SCSI "unit serial number" page: four bytes of header, then the text
    page = (find_text(host, f"/sys/block/{name}/device/vpd_pg80") or "")[4:]
    printable = "".join(character for character in page if character.isascii() and character.isprintable()).strip()
    if printable:
        return printable
    if udev.properties.get("ID_BUS") in ("ata", "usb"):
        return udev.properties.get("ID_SERIAL_SHORT", "")
    return udev.properties.get("ID_SCSI_SERIAL", "")


def _wwn(host: Host, name: str, udev: _Udev) -> str:
    for attribute in ("wwid", "device/wwid"):
        wwid = _attribute(host, name, attribute)
        if wwid.startswith("naa."):
            return f"0x{wwid.removeprefix('naa.')}"
        if wwid.startswith("eui."):
            return wwid
    return udev.properties.get("ID_WWN_WITH_EXTENSION") or udev.properties.get("ID_WWN", "")


def _type(host: Host, name: str, *, known: bool) -> str:
    if name.startswith("nvme"):
        return "nvme"
    rotational = _attribute(host, name, "queue/rotational") if known else ""
    if rotational == "1":
        return "hdd"
    if rotational != "0":
        return ""
    if _attribute(host, name, "device/vendor") == "ATA":
        return "sata"
    return "sas" if host.path(f"/sys/block/{name}/device/sas_address").exists() else ""


def _size_bytes(host: Host, name: str) -> int | None:
    sectors = _attribute(host, name, "size")
    return int(sectors) * _SECTOR_BYTES if sectors.isdecimal() and len(sectors) < 20 else None


def hidden_disks(scanned: object) -> Iterator[DiskDevice]:
    """Disks behind controllers, from the answer of `smartctl --scan --json`: those that need a `-d` of their own."""
    listed = scanned.get("devices") if isinstance(scanned, dict) else None
    for entry in listed if isinstance(listed, list) else []:
        path, smart_type = (entry.get("name"), entry.get("type")) if isinstance(entry, dict) else (None, None)
        if not isinstance(path, str) or not isinstance(smart_type, str) or not path.startswith("/dev/"):
            continue
        if "," in smart_type:
            name = f"{path.removeprefix('/dev/')} {smart_type}"
            yield DiskDevice(name=name, path=path, smart_type=smart_type, row=DiskRow(device=name, dev_path=path))
