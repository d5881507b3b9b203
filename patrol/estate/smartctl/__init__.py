"""What `smartctl --json` says about one physical disk, as a row of the estate.

`parse_smartctl` is pure: a document in, a `SmartReading` out. It reads the output of any version since 7.0,
for ATA, NVMe and SCSI disks, also behind RAID controllers and USB bridges.
"""

from patrol.estate.smartctl.exit_status import ExitBit
from patrol.estate.smartctl.reading import (
    SWITCHED_OFF,
    Shortfall,
    SmartReading,
    disk_row_from_smartctl,
    parse_smartctl,
)

__all__ = ["SWITCHED_OFF", "ExitBit", "Shortfall", "SmartReading", "disk_row_from_smartctl", "parse_smartctl"]
