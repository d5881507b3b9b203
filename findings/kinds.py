"""Every kind of finding, with what opens, raises and clears it.

The lifecycle, reconciliation and the verifiers read this table and nothing else. A kind is what a
detector states about a resource (and a subject on it: a mount, a unit, a device); the category of a
finding follows from its kind.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from findings.model import VERDICT_FAILED, Category

__all__ = ["KINDS", "VERDICT_FAILED", "Kind", "KindRecord", "Nature"]


class Kind(StrEnum):
    """What is wrong, in one word. A signal's type and a finding's kind are the same word."""

    SMART_FAILURE = "smart_failure"  # a disk says, or its counters show, that it fails
    HIGH_CPU = "high_cpu"  # average use over at least 300 s above the limit
    HIGH_MEMORY = "high_memory"  # memory in use, caches excluded, above the limit
    HIGH_DISK = "high_disk"  # a file system or a storage is filling up
    BACKUP_FAILED = "backup_failed"  # the newest finished backup attempt (or backup job) failed
    BACKUP_STALE = "backup_stale"  # the newest good backup is older than the limit, or there is none
    GUEST_UNREACHABLE = "guest_unreachable"  # a running guest answers on no path that was tried
    HIGH_INODES = "high_inodes"  # a file system is running out of inodes
    HIGH_SWAP = "high_swap"  # swap is nearly used up while memory is short too
    HIGH_PRESSURE = "high_pressure"  # work stalls on CPU, memory or I/O (pressure stall information)
    HIGH_TEMPERATURE = "high_temperature"  # a sensor or disk is hotter than its limit
    DISK_WEAR = "disk_wear"  # rated endurance of a solid-state disk is nearly used
    POOL_DEGRADED = "pool_degraded"  # a pool or multi-device file system lost members or is not usable
    POOL_DATA_ERRORS = "pool_data_errors"  # a pool holds data that it cannot repair
    VDEV_ERRORS = "vdev_errors"  # a device in a pool counts read, write or checksum errors
    RAID_DEGRADED = "raid_degraded"  # a software RAID array misses members or is inactive
    FILESYSTEM_ERRORS = "filesystem_errors"  # a file system counts device or corruption errors
    UNIT_FAILED = "unit_failed"  # a systemd unit is in the state failed
    NODE_OFFLINE = "node_offline"  # a host is not there although it should be, its peers say so
    CEPH_UNHEALTHY = "ceph_unhealthy"  # a Ceph cluster says so, misses OSDs, or keeps data with too few copies
    SNAPSHOT_OLD = "snapshot_old"  # a snapshot of a guest is kept for too long
    SNAPSHOT_LARGE = "snapshot_large"  # a snapshot of a guest has grown above the limit
    REPLICATION_FAILED = "replication_failed"  # a guest is not copied to its other node as it should be
    NETWORK_ERRORS = "network_errors"  # a network interface counts faulty packets
    HIGH_NETWORK = "high_network"  # a network interface is at the end of its speed, or above a set rate
    HIGH_DISK_IO = "high_disk_io"  # a disk is read or written above a set rate
    SOURCE_BLIND = "source_blind"  # Patrol itself lost sight of a source
    MODEL_UNAVAILABLE = "model_unavailable"  # Patrol's own model does not work: the checks run alone


class Nature(StrEnum):
    """Whether a kind describes a state that can be looked at again, or something that happened."""

    CONDITION = "condition"  # cleared by looking again and finding it gone
    EVENT = "event"  # cleared by a later event of the other sort, never by age


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRecord:
    """What the life of one kind of finding depends on.

    `clears_after` counts consecutive examined `clear` looks that close an open finding (1: the first one).
    `grows`: the facts are counters that only go up while the trouble goes on; growth raises the finding again
    and ends an acknowledgement. `sticky_facts`: counters of damage done; while one of them was above zero,
    no clear look closes the finding. `transient_facts`: counters that can come and go without damage; when they
    come back no higher than before, with every other count unchanged, the finding is a warning.
    `clears_when`: what closes an open finding, for people; `{clear}` is the clear mark of its limit.
    """

    kind: Kind
    category: Category
    nature: Nature = Nature.CONDITION
    clears_after: int = 1
    grows: bool = False
    sticky_facts: frozenset[str] = frozenset()
    transient_facts: frozenset[str] = frozenset()
    title: str
    clears_when: str

    def what_clears(self, facts: Mapping[str, float], clear_mark: str) -> str:
        """What would close a finding with these facts, for people. `clear_mark`: with its unit, as "70 %"."""
        if any(facts.get(name, 0) > 0 for name in self.sticky_facts):
            return "never by itself, damage done does not heal: acknowledge it, and only growth wakes it"
        return self.clears_when.format(clear=clear_mark)


_RECORDS = (
    KindRecord(
        kind=Kind.SMART_FAILURE,
        category=Category.RELIABILITY,
        clears_after=2,  # one PASSED after a FAILED is not yet believed
        grows=True,
        sticky_facts=frozenset({"reallocated_sectors", "udma_crc_errors", "media_errors", "grown_defects"}),
        transient_facts=frozenset({"pending_sectors", "offline_uncorrectable", "uncorrected_errors"}),
        title="Disk reports trouble",
        clears_when="two complete reads in a row with PASSED and no pending or uncorrectable sectors, or another disk",
    ),
    KindRecord(
        kind=Kind.HIGH_CPU,
        category=Category.PERFORMANCE,
        title="CPU use is high",
        clears_when="an average over its whole window below {clear}",
    ),
    KindRecord(
        kind=Kind.HIGH_MEMORY,
        category=Category.PERFORMANCE,
        title="Memory use is high",
        clears_when="a complete read below {clear}",
    ),
    KindRecord(
        kind=Kind.HIGH_DISK,
        category=Category.CAPACITY,
        title="Space is running out",
        clears_when="a complete read below {clear}, or one in which this place does not exist any more",
    ),
    KindRecord(
        kind=Kind.BACKUP_FAILED,
        category=Category.BACKUP,
        nature=Nature.EVENT,
        title="Backup failed",
        clears_when="a newer successful backup of this guest or run of this job, or their removal; never by age",
    ),
    KindRecord(
        kind=Kind.BACKUP_STALE,
        category=Category.BACKUP,
        title="No recent backup",
        clears_when="a newer successful backup of this guest; or the guest is removed, ignored or made a template",
    ),
    KindRecord(
        kind=Kind.GUEST_UNREACHABLE,
        category=Category.RELIABILITY,
        title="Guest does not answer",
        clears_when="an answer of the guest on any path",
    ),
    KindRecord(
        kind=Kind.HIGH_INODES,
        category=Category.CAPACITY,
        title="Inodes are running out",
        clears_when="a complete read below {clear}, or one in which this file system does not exist any more",
    ),
    KindRecord(
        kind=Kind.HIGH_SWAP,
        category=Category.PERFORMANCE,
        title="Swap is nearly used up",
        clears_when="a complete read with swap below {clear}, or with memory that is not short",
    ),
    KindRecord(
        kind=Kind.HIGH_PRESSURE,
        category=Category.PERFORMANCE,
        title="Work stalls on resources",
        clears_when="an average over 5 min below {clear}",
    ),
    KindRecord(
        kind=Kind.HIGH_TEMPERATURE,
        category=Category.RELIABILITY,
        title="Too hot",
        clears_when="a complete read below {clear}",
    ),
    KindRecord(
        kind=Kind.DISK_WEAR,
        category=Category.RELIABILITY,
        title="Disk is worn",
        clears_when="another disk in its place: wear does not go back (or a complete read below {clear})",
    ),
    KindRecord(
        kind=Kind.POOL_DEGRADED,
        category=Category.RELIABILITY,
        title="Pool is degraded",
        clears_when="a complete read that shows the pool usable with all its members",
    ),
    KindRecord(
        kind=Kind.POOL_DATA_ERRORS,
        category=Category.RELIABILITY,
        grows=True,
        title="Pool has lost data",
        clears_when="a complete read without permanent errors: after what was lost is restored or deleted, and a scrub",
    ),
    KindRecord(
        kind=Kind.VDEV_ERRORS,
        category=Category.RELIABILITY,
        grows=True,
        title="Device in a pool counts errors",
        clears_when="a complete read with all its error counters at 0 (`zpool clear` resets them)",
    ),
    KindRecord(
        kind=Kind.RAID_DEGRADED,
        category=Category.RELIABILITY,
        title="RAID array is degraded",
        clears_when="a complete read with all members active",
    ),
    KindRecord(
        kind=Kind.FILESYSTEM_ERRORS,
        category=Category.RELIABILITY,
        grows=True,
        title="File system counts errors",
        clears_when="a complete read with its error counters at 0 (a repair or `btrfs device stats -z` resets them)",
    ),
    KindRecord(
        kind=Kind.UNIT_FAILED,
        category=Category.RELIABILITY,
        title="Unit failed",
        clears_when="a complete list of failed units without it (a good start, or `systemctl reset-failed`)",
    ),
    KindRecord(
        kind=Kind.NODE_OFFLINE,
        category=Category.RELIABILITY,
        title="Host is offline",
        clears_when="the host, or its peers, say that it is online",
    ),
    KindRecord(
        kind=Kind.CEPH_UNHEALTHY,
        category=Category.RELIABILITY,
        title="Ceph cluster is not healthy",
        clears_when="a complete read with HEALTH_OK, all OSDs that hold data up, and no degraded objects",
    ),
    KindRecord(
        kind=Kind.SNAPSHOT_OLD,
        category=Category.BACKUP,
        title="Snapshot is kept for too long",
        clears_when="a complete list of the guest's snapshots without it, or with it inside its limit",
    ),
    KindRecord(
        kind=Kind.SNAPSHOT_LARGE,
        category=Category.CAPACITY,
        title="Snapshot has grown large",
        clears_when="a complete list of the guest's snapshots without it, or with it below {clear}",
    ),
    KindRecord(
        kind=Kind.REPLICATION_FAILED,
        category=Category.BACKUP,
        title="Replication fails",
        clears_when="a complete list of replication jobs in which its last run is good and no run is overdue, "
        "or without this job",
    ),
    KindRecord(
        kind=Kind.NETWORK_ERRORS,
        category=Category.RELIABILITY,
        title="Network interface loses packets",
        clears_when="an average over at least 300 s below {clear}, or a complete read without this interface",
    ),
    KindRecord(
        kind=Kind.HIGH_NETWORK,
        category=Category.PERFORMANCE,
        title="Network is busy",
        clears_when="an average over at least 300 s below {clear}, or a complete read without this interface",
    ),
    KindRecord(
        kind=Kind.HIGH_DISK_IO,
        category=Category.PERFORMANCE,
        title="Disk is busy",
        clears_when="an average over at least 300 s below {clear}, or a complete read without this disk",
    ),
    KindRecord(
        kind=Kind.SOURCE_BLIND,
        category=Category.RELIABILITY,
        title="Patrol cannot see a source",
        clears_when="the next complete read of the source",
    ),
    KindRecord(
        kind=Kind.MODEL_UNAVAILABLE,
        category=Category.RELIABILITY,
        title="Model does not work",
        clears_when="the next run whose model works; or taking the model out of the configuration",
    ),
)

KINDS: dict[Kind, KindRecord] = {record.kind: record for record in _RECORDS}
