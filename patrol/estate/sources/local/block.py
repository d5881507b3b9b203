"""What kind of disk a file system lies on, from sysfs."""

from pathlib import Path

from patrol.estate.sources.local.host import Host, find_text

_VIRTUAL_VENDORS = frozenset({"QEMU", "VMware", "VBOX", "Msft", "Google", "Amazon", "Virtuozz"})
_DEEPEST = 6  # partition on LUKS on LVM on md on a disk, and one to spare


def find_disk_type(host: Host, device_number: str, device: str) -> str:
    """`nvme | sata | sas | hdd` of a block device, "" where it is mixed, virtual or not known.

    `device_number` is "major:minor"; file systems on several devices have none that sysfs knows, so there
    `device` (`/dev/sda2`) tells.
    """
    for folder in (f"/sys/dev/block/{device_number}", f"/sys/class/block/{device.rpartition('/')[2] or '-'}"):
        path = host.path(folder)
        if path.is_dir():
            return _type_of(host, path.resolve(), depth=0)
    return ""


def _type_of(host: Host, path: Path, depth: int) -> str:
    if (path / "partition").exists():
        path = path.parent
    try:
        below = sorted(entry.name for entry in (path / "slaves").iterdir())
    except OSError:
        below = []
    if below and depth < _DEEPEST:
        types = {_type_of(host, host.path(f"/sys/class/block/{name}").resolve(), depth + 1) for name in below}
        return types.pop() if len(types) == 1 else ""
    return _type_of_disk(host, path.name)


def _type_of_disk(host: Host, name: str) -> str:
    if name.startswith("nvme"):
        return "nvme"
    vendor = (find_text(host, f"/sys/class/block/{name}/device/vendor") or "").strip()
    # Only SCSI disks say it themselves: a virtual disk calls itself rotating whatever lies under it.
    if not name.startswith("sd") or vendor in _VIRTUAL_VENDORS:
        return ""
    rotational = (find_text(host, f"/sys/class/block/{name}/queue/rotational") or "").strip()
    if rotational == "1":
        return "hdd"
    if rotational != "0":
        return ""
    if vendor == "ATA":
        return "sata"
    return "sas" if host.path(f"/sys/class/block/{name}/device/sas_address").exists() else ""
