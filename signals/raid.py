"""Software RAID arrays: whether they miss members, and what redundancy is left.

{"hosts": [{"hostname": "nas", "arrays": [{"id": "raid:nas:md0", "device": "/dev/md0", "level": "raid1",
  "state": "clean, degraded, recovering", "raid_devices": 2, "active_devices": 1, "failed_devices": 1}]}]}
"""

import re
from typing import ClassVar

from findings.identity import canonical_id
from findings.kinds import Kind
from findings.model import Severity
from signals.detector import Context, EvidencePage, Notes
from signals.evidence import InventoryRow
from signals.pages import Page
from signals.readings import count_of, is_below_zero
from signals.storage_evidence import DiskHealthOutput, HostDisks, RaidOutput, RaidRow

_FAILED_MEMBER = frozenset({"faulty", "failed"})
_NO_MEMBER = frozenset({"removed", "missing"})
"""States of a member that is none any more; a slot that nothing fills reads "removed" in mdadm's table."""

_NO_LETTER = re.compile(r"[^a-z]+")
_BROKEN = frozenset({"failed", "broken"})
_NOT_RUNNING = frozenset({"inactive", "stopped", "started"})  # mdadm says "Not Started"
_WITHOUT_REDUNDANCY = frozenset({"raid0", "linear", "jbod", "single"})
_MAY_LOSE = {"raid4": 1, "raid5": 1, "raid6": 2, "raid10": 1}
"""How many members an array of a level may lose whichever they are. raid10 may survive more, with luck."""


class RaidDetector:
    """raid_degraded of md arrays."""

    reads: ClassVar[tuple[type[Page], ...]] = (RaidOutput, DiskHealthOutput)

    def __init__(self, context: Context, notes: Notes) -> None:
        self._inventory = context.inventory
        self._notes = notes

    def read(self, page: EvidencePage[Page]) -> None:
        """Judges every array of a page, under either of its names."""
        output = page.output
        if not isinstance(output, RaidOutput | DiskHealthOutput):
            return
        fine: list[str] = []
        for host in output.hosts:
            for row in (*host.arrays, *host.raid):
                resource = self._resolve(host, row)
                if resource is not None and self._is_whole(page, row, resource):
                    fine.append(resource.id)
        self._notes.clear(page, Kind.RAID_DEGRADED, fine)

    def finish(self) -> None:
        """Every array was judged by itself."""

    def _resolve(self, host: HostDisks, row: RaidRow) -> InventoryRow | None:
        native = row.device.removeprefix("/dev/").removeprefix("md/") or row.name or ""
        array_id = str(row.id) if row.id is not None else ""
        if not array_id and native:
            array_id = canonical_id("raid", host.hostname, native) if host.hostname else native
        return self._inventory.resolve(array_id, resource_type="raid", display_name=native) if array_id else None

    def _is_whole(self, page: EvidencePage[Page], row: RaidRow, resource: InventoryRow) -> bool:
        words = set(_NO_LETTER.split(row.state.lower()))
        level = row.level.strip().lower()
        if level == "container" or "container" in words:
            return True  # holds the members of firmware RAID, and is no array itself
        name = resource.name or resource.id
        failed = max(count_of(row.failed_devices) or 0, _count(row, _FAILED_MEMBER))
        lost = _lost(row, words)
        if words & _BROKEN or (failed and level in _WITHOUT_REDUNDANCY):
            severity, told = Severity.CRITICAL, "has lost a member that it cannot do without"
        elif words & _NOT_RUNNING:
            severity, told = Severity.CRITICAL, "is inactive: its data is not reachable"
        elif lost:
            bare = _is_without_redundancy(row, level, lost)
            severity = Severity.CRITICAL if bare else Severity.WARNING
            told = f"misses {lost} member{'s' * (lost > 1)}, {'no' if bare else 'some'} redundancy left"
        elif failed:
            severity, told = Severity.WARNING, f"has {failed} failed device{'s' * (failed > 1)} beside those in use"
        else:
            return self._is_measured(row, level, words, resource)
        shown_level = f" ({row.level})" if row.level else ""
        self._notes.signal(
            page,
            Kind.RAID_DEGRADED,
            resource,
            severity,
            f"Array {name}{shown_level} {told}{_work(row)}",
            row=row,
            value=lost or None,
        )
        return False

    def _is_measured(self, row: RaidRow, level: str, words: set[str], resource: InventoryRow) -> bool:
        if is_below_zero(*_counts(row)):
            self._notes.blind(Kind.RAID_DEGRADED, resource.id, "a count of members below 0 is no reading")
            return False
        if "clean" in words or row.active_devices is not None or level in _WITHOUT_REDUNDANCY:
            return True
        self._notes.blind(Kind.RAID_DEGRADED, resource.id, "how many members are in use was not read")
        return False


def _lost(row: RaidRow, words: set[str]) -> int:
    """Members that are missing; 1 where only the state tells."""
    needed, active, total, working, failed = map(count_of, _counts(row))
    if needed is not None and active is not None:
        lost = max(0, needed - active)
    elif total is not None and working is not None:
        lost = max(0, total - working - (failed or 0))
    else:
        lost = 0
    if not lost:
        # No count tells. A failed member may have been replaced already, unless nothing says how many are in use.
        lost = _count(row, _NO_MEMBER | _FAILED_MEMBER if active is None else _NO_MEMBER)
    return lost or int("degraded" in words)


def _counts(row: RaidRow) -> tuple[int | None, ...]:
    """Members that the array is made for, those in use, those it has, those that work, and those that failed."""
    return (row.raid_devices, row.active_devices, row.total_devices, row.working_devices, row.failed_devices)


def _count(row: RaidRow, states: frozenset[str]) -> int:
    return sum(not states.isdisjoint(_NO_LETTER.split(member.state.lower())) for member in row.devices)


def _is_without_redundancy(row: RaidRow, level: str, lost: int) -> bool:
    if level == "raid1":
        # Any one copy is enough: redundancy is a second one.
        active = count_of(row.active_devices)
        return active is None or active < 2
    return lost >= _MAY_LOSE.get(level, 1)


def _work(row: RaidRow) -> str:
    if not row.operation:
        return ""
    done = f" {row.rebuild_percent:g} %" if row.rebuild_percent is not None else ""
    return f"; {row.operation}{done}"
