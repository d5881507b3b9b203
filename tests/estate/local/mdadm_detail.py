"""What `mdadm --detail` prints, as rows: captures of it show that the detector understands mdadm's words.

Patrol itself asks /proc/mdstat and sysfs, which say all that is judged and are open to every user.

/dev/md127:
        Raid Level : raid1
      Raid Devices : 2
             State : clean, degraded, recovering
    Active Devices : 1
    Rebuild Status : 24% complete

    Number   Major   Minor   RaidDevice State
       0     254        1        0      active sync   /dev/vda1
       2     254        2        -      faulty failfast   /dev/vda2
"""

import re
from collections.abc import Mapping

from signals.storage_evidence import RaidDeviceRow, RaidRow

_DEVICE = re.compile(r"(/dev/\S+):\s*$")
_FIELD = re.compile(r"\s*([A-Z][A-Za-z ]*[A-Za-z]) : (.*)")
_MEMBER = re.compile(r"\s*(?:\d+|-)\s+\d+\s+\d+\s+(?P<slot>\d{1,9}|-)\s+(?P<state>\S.*?)\s*(?P<path>/dev/\S+)?\s*$")
_PROGRESS = re.compile(r"(\d{1,3}(?:\.\d+)?)% complete")
_OPERATIONS = ("Rebuild", "Resync", "Check", "Reshape")


def parse_detail(text: str) -> list[RaidRow]:
    """The arrays in the output of `mdadm --detail`. Counts that are not printed are None."""
    rows: list[RaidRow] = []
    fields: dict[str, str] = {}
    devices: list[RaidDeviceRow] = []
    device = ""
    for line in [*text.splitlines(), "/dev/end:"]:
        head = _DEVICE.match(line)
        if head:
            if device:
                rows.append(_row(device, fields, devices))
            device, fields, devices = head[1], {}, []
            continue
        field, member = _FIELD.match(line), _MEMBER.match(line)
        if field:
            fields[field[1]] = field[2].strip()
        elif member:
            devices.append(_device(member))
    return rows


def _row(device: str, fields: Mapping[str, str], devices: list[RaidDeviceRow]) -> RaidRow:
    level = fields.get("Raid Level", "")
    row = RaidRow(
        device=device,
        name=fields["Name"].split()[0] if fields.get("Name") else None,
        level=level,
        state=fields.get("State", "container" if level == "container" else ""),
        raid_devices=_count(fields, "Raid Devices"),
        total_devices=_count(fields, "Total Devices"),
        active_devices=_count(fields, "Active Devices"),
        working_devices=_count(fields, "Working Devices"),
        failed_devices=_count(fields, "Failed Devices"),
        spare_devices=_count(fields, "Spare Devices"),
        uuid=fields["UUID"].split()[0] if fields.get("UUID") else None,
        devices=devices,
    )
    for operation in _OPERATIONS:
        progress = _PROGRESS.match(fields.get(f"{operation} Status", ""))
        if progress:
            row.operation = operation.lower()
            row.rebuild_percent = float(progress[1])
    return row


def _device(member: re.Match[str]) -> RaidDeviceRow:
    slot = member["slot"]
    return RaidDeviceRow(
        device=member["path"] or "", state=member["state"], slot=int(slot) if slot.isdecimal() else None
    )


def _count(fields: Mapping[str, str], name: str) -> int | None:
    value = fields.get(name, "")
    return int(value) if value.isdecimal() and len(value) < 10 else None
