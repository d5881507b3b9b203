"""Which sweeps were complete, and what a gap makes blind."""

from collections.abc import Iterable, Mapping

from findings.kinds import Kind
from findings.model import Topic
from signals.detector import EvidencePage, Sweep
from signals.model import Origin
from signals.pages import Page

BLINDED_BY: Mapping[Topic, tuple[Kind, ...]] = {
    Topic.INVENTORY: (Kind.NODE_OFFLINE,),
    Topic.CPU: (Kind.HIGH_CPU,),
    Topic.MEMORY: (Kind.HIGH_MEMORY,),
    Topic.SWAP: (Kind.HIGH_SWAP,),
    Topic.PRESSURE: (Kind.HIGH_PRESSURE, Kind.HIGH_SWAP),  # full swap hurts where work waits for memory
    Topic.FILESYSTEMS: (Kind.HIGH_DISK, Kind.HIGH_INODES),
    Topic.SMART: (Kind.SMART_FAILURE, Kind.DISK_WEAR, Kind.HIGH_TEMPERATURE),
    Topic.POOLS: (Kind.POOL_DEGRADED, Kind.POOL_DATA_ERRORS, Kind.VDEV_ERRORS, Kind.HIGH_DISK),
    Topic.RAID: (Kind.RAID_DEGRADED,),
    Topic.BTRFS: (Kind.FILESYSTEM_ERRORS, Kind.POOL_DEGRADED),
    Topic.UNITS: (Kind.UNIT_FAILED,),
    Topic.TEMPERATURES: (Kind.HIGH_TEMPERATURE,),
    Topic.BACKUPS: (Kind.BACKUP_STALE,),
    Topic.BACKUP_TASKS: (Kind.BACKUP_FAILED,),
    Topic.REACHABILITY: (Kind.GUEST_UNREACHABLE,),
    Topic.ALERTS: (),
    Topic.SNAPSHOTS: (Kind.SNAPSHOT_OLD, Kind.SNAPSHOT_LARGE),
    Topic.REPLICATION: (Kind.REPLICATION_FAILED,),
    Topic.CEPH: (Kind.CEPH_UNHEALTHY, Kind.HIGH_DISK),
    Topic.NETWORK: (Kind.NETWORK_ERRORS, Kind.HIGH_NETWORK),
    Topic.DISK_IO: (Kind.HIGH_DISK_IO,),
    Topic.CONFIG: (),  # how things are meant to be is no condition
    Topic.FINDINGS: (),
}


class Coverage:
    """Notes the pages of each sweep, and knows afterwards which sweeps read everything.

    A sweep is complete when Patrol's own complete pages, put side by side by offset, reach its total
    without a hole. A page that lost a row covers nothing, so its sweep clears nothing.
    """

    def __init__(self) -> None:
        self._spans: dict[Sweep, list[tuple[int, int, int]]] = {}

    def add(self, page: EvidencePage[Page]) -> None:
        """Notes one page."""
        if page.origin is not Origin.PATROL or not page.output.complete:
            return
        paging = page.output.pagination
        span = (0, 0, 0) if paging is None else (paging.offset, paging.offset + max(paging.limit, 0), paging.total)
        self._spans.setdefault(page.sweep, []).append(span)

    def is_complete(self, sweep: Sweep) -> bool:
        """Whether all pages of this sweep were read."""
        spans = self._spans.get(sweep)
        if not spans:
            return False
        reached = 0
        for start, end, _total in sorted(spans):
            if start > reached:
                return False
            reached = max(reached, end)
        return reached >= max(total for _start, _end, total in spans)

    def complete(self) -> Iterable[Sweep]:
        """All complete sweeps."""
        return [sweep for sweep in self._spans if self.is_complete(sweep)]
