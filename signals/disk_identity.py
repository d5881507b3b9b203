"""Which disk a row of a page means, where no inventory says so."""

import re

from findings.identity import canonical_id
from findings.model import ResourceId
from signals.evidence import DiskRow

# Numbers that makers, USB bridges and hypervisors hand out more than once prove nothing.
_NO_SERIAL = re.compile(
    r"(?:([0-9a-z*. _-])\1*|unknown|none|null|n/?a|not .*|default.*|to be filled.*|0?123456.*|qm\d+|drive-\w+|0+\d"
    r"|disk\d*)\Z",
    re.IGNORECASE,
)
_VIRTUAL_MODEL = re.compile(r"qemu|virtual|vbox|virtio|msft", re.IGNORECASE)
_WWN = re.compile(r"(?:(?:naa|eui|nguid|uuid|0x)[.:]?)?(?=[0-9a-f-]*[1-9a-f])[0-9a-f-]{8,}\Z", re.IGNORECASE)


def device_of(row: DiskRow) -> str:
    """`sda` of `/dev/sda`, "" if the row names no device."""
    return (row.device or row.dev_path or "").strip().removeprefix("/dev/")


def serial_of(row: DiskRow) -> str:
    """The serial number where it tells disks apart, else ""."""
    serial = (row.serial or "").strip()
    if not serial or _NO_SERIAL.match(serial) or _VIRTUAL_MODEL.search(row.model or ""):
        return ""
    return serial


def find_disk_id(row: DiskRow, host: str) -> ResourceId | None:
    """`disk:serial:…`, else `disk:wwn:…`, else the weak `disk:<host>:<device>`; None without any of them."""
    if serial := serial_of(row):
        return canonical_id("disk", "serial", serial)
    wwn = (row.wwn or "").strip()
    if _WWN.match(wwn):
        return canonical_id("disk", "wwn", wwn)
    device = device_of(row)
    return canonical_id("disk", host, device) if host and device else None
