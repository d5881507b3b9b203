"""The unit of a kind's value, as it stands behind the number where people read it."""

from findings.kinds import Kind

UNITS = {
    Kind.HIGH_CPU: " %",
    Kind.HIGH_MEMORY: " %",
    Kind.HIGH_DISK: " %",
    Kind.HIGH_INODES: " %",
    Kind.HIGH_SWAP: " %",
    Kind.HIGH_PRESSURE: " %",
    Kind.DISK_WEAR: " %",
    Kind.HIGH_TEMPERATURE: " °C",
    Kind.BACKUP_STALE: " h",
    Kind.SNAPSHOT_OLD: " h",
    Kind.SNAPSHOT_LARGE: " GiB",
    Kind.REPLICATION_FAILED: " h",
    Kind.NETWORK_ERRORS: " %",
    Kind.HIGH_NETWORK: " MB/s",
    Kind.HIGH_DISK_IO: " MB/s",
}


def unit_of(kind: str) -> str:
    """The unit of the value of a finding of this kind; "" for a count, and for a kind that is unknown here."""
    # A finding of a model or of a later version may be of such a kind.
    return UNITS.get(Kind(kind), "") if kind in set(Kind) else ""
