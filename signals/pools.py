"""Pools, storages and multi-device file systems: how full, whether whole, and whether they keep their data.

{"pools": [{"id": "storage:nas:tank", "name": "tank", "type": "zfspool", "usage_percent": 41.5, "total_gb": 900,
  "zfs": {"state": "DEGRADED", "data_errors": 0, "vdevs": [{"name": "sdb", "parent": "mirror-0", ...}]}}],
 "complete": true}
"""

import re
from typing import ClassVar, NamedTuple

import msgspec

from findings.identity import canonical_id
from findings.kinds import Kind
from findings.model import Look, Severity
from signals.detector import Context, EvidencePage, Notes
from signals.evidence import InventoryRow
from signals.pages import Page, Row
from signals.readings import MOST_PERCENT, count_of, is_below_zero
from signals.storage_evidence import BtrfsDeviceRow, BtrfsRow, PoolRow, PoolsOutput, VdevRow, ZfsRow
from signals.thresholds import Limited
from signals.vdevs import UNUSABLE, judge_members

_FINE = frozenset({"available", "online", "active", "ok", "healthy"})
_DISABLED = frozenset({"", "disabled", "inactive"})
_UNUSABLE = {
    "offline": Severity.WARNING,
    "inactive": Severity.WARNING,
    "unavailable": Severity.WARNING,
    "error": Severity.WARNING,
    "degraded": Severity.WARNING,
    "faulted": Severity.CRITICAL,
    "unavail": Severity.CRITICAL,
    "suspended": Severity.CRITICAL,
    "removed": Severity.CRITICAL,
}
"""A storage that cannot be reached may be whole where it is; what ZFS calls faulted is not."""

_WORKS = frozenset({"ONLINE", "DEGRADED"})
_OF_ZFS = (Kind.POOL_DEGRADED, Kind.POOL_DATA_ERRORS, Kind.VDEV_ERRORS)

_SCAN_ERRORS = re.compile(r"with (\d{1,18}) errors")
_SHOWN_MEMBERS = 6


class _Case(NamedTuple):
    """One row and whose it is."""

    page: EvidencePage[Page]
    row: PoolRow
    resource: InventoryRow


class PoolDetector:
    """high_disk, pool_degraded, pool_data_errors, vdev_errors and filesystem_errors of storages."""

    reads: ClassVar[tuple[type[Page], ...]] = (PoolsOutput,)

    def __init__(self, context: Context, notes: Notes) -> None:
        self._thresholds = context.thresholds
        self._inventory = context.inventory
        self._notes = notes

    def read(self, page: EvidencePage[Page]) -> None:
        """Judges every pool of a page."""
        if not isinstance(page.output, PoolsOutput):
            return
        # Of thousands of storages nearly all are healthy: these cost a few comparisons.
        clear: dict[Kind, list[str]] = {kind: [] for kind in (Kind.HIGH_DISK, *_OF_ZFS)}
        roomy, usable, lossless, errorless = clear.values()
        known, limit_of = self._inventory.rows, self._thresholds.limit
        for row in page.output.pools:
            resource = known.get(row.id) if type(row.id) is str else None
            if resource is None:
                resource = self._resolve(row)
                if resource is None:
                    continue
            usage, zfs = row.usage_percent, row.zfs
            limit = limit_of(resource, Limited.STORAGE, disk_type=row.disk_type)
            if row.btrfs is None and usage is not None and limit is not None and 0 < usage < limit.clear:
                if zfs is None and row.status in _FINE and row.active is not False:
                    roomy.append(resource.id)
                    usable.append(resource.id)
                    continue
                if zfs is not None and _is_fine_or_untold(row) and _is_whole_at_a_glance(zfs):
                    roomy.append(resource.id)
                    usable.append(resource.id)
                    lossless.append(resource.id)
                    errorless.append(resource.id)
                    continue
            for kind in self._judge(_Case(page, row, resource)):
                clear.setdefault(kind, []).append(resource.id)
        for kind, ids in clear.items():
            self._notes.clear(page, kind, ids)

    def finish(self) -> None:
        """Every row was judged by itself."""

    def _resolve(self, row: PoolRow) -> InventoryRow | None:
        """The storage that a row is about. Without an id, its name means something only on its node or instance."""
        name = row.name or (row.zfs.name if row.zfs is not None else "")
        native = "" if row.id is None else str(row.id)
        if not native:
            origin = row.instance if row.shared else row.node or row.instance
            native = canonical_id("storage", origin, name) if origin and name else name
        return self._inventory.resolve(native, resource_type="storage", display_name=name) if native else None

    def _judge(self, case: _Case) -> list[Kind]:
        """States what is wrong with a storage; returns the kinds of which nothing is."""
        row = case.row
        fine = [Kind.HIGH_DISK] if self._has_room(case) else []
        if row.zfs is not None:
            return fine + self._judge_zfs(case, row.zfs)
        if row.btrfs is not None:
            return fine + self._judge_btrfs(case, row.btrfs)
        if self._is_usable(case):
            fine.append(Kind.POOL_DEGRADED)
        return fine

    def _has_room(self, case: _Case) -> bool:
        row, percent = case.row, case.row.usage_percent
        if percent is None:
            if row.used_gb is None or not row.total_gb or not 0 <= row.used_gb <= row.total_gb:
                return False
            percent = 100 * row.used_gb / row.total_gb
        # A storage that is not there reports 0 of 0.
        if not 0 <= percent <= MOST_PERCENT or (percent == 0 and not row.total_gb):
            return self._blind(case, Kind.HIGH_DISK, f"{percent:g} % in use is no reading")
        what = f"Storage {case.resource.name or case.resource.id}"
        return self._judge_usage(case.page, row, case.resource, what, percent, row.disk_type)

    def _judge_usage(
        self,
        page: EvidencePage[Page],
        row: Row,
        resource: InventoryRow,
        what: str,
        percent: float,
        disk_type: str = "",
    ) -> bool:
        limit = self._thresholds.limit(resource, Limited.STORAGE, disk_type=disk_type)
        if limit is None:
            return False
        look = limit.look(percent)
        if look is Look.HELD:
            self._notes.held(Kind.HIGH_DISK, resource.id)
        elif look is Look.PRESENT:
            self._notes.signal(
                page,
                Kind.HIGH_DISK,
                resource,
                limit.severity(percent),
                f"{what} is {percent:.1f} % full (limit {limit.trigger:g} %)",
                row=row,
                value=percent,
                limit=limit,
            )
        return look is Look.CLEAR

    def _is_usable(self, case: _Case) -> bool:
        row = case.row
        status = (row.status or "").strip().lower()
        if row.enabled is False and status in _DISABLED:
            return True  # switched off by its operator: there is nothing that it should do
        if self._says_unusable(case):
            return False
        if status in _FINE or (not status and row.active):
            return True
        return bool(status) and self._blind(case, Kind.POOL_DEGRADED, f"status {status}")

    def _says_unusable(self, case: _Case) -> bool:
        """Whether the storage itself is said not to be usable, whatever its devices say; states it."""
        row = case.row
        status = (row.status or "").strip().lower()
        if row.enabled is False and status in _DISABLED:
            return False
        severity = _UNUSABLE.get(status)
        if severity is None and row.active is False:
            severity = Severity.WARNING
        if severity is None:
            return False
        summary = f"Storage {case.resource.name or case.resource.id} is "
        self._degraded(case, severity, summary + (status if status in _UNUSABLE else "not active"), row)
        return True

    def _judge_zfs(self, case: _Case, zfs: ZfsRow) -> list[Kind]:
        fine = []
        if self._is_whole(case, zfs):
            fine.append(Kind.POOL_DEGRADED)
        if self._keeps_data(case, zfs):
            fine.append(Kind.POOL_DATA_ERRORS)
        self._judge_counters(case, zfs)
        rows: list[ZfsRow | VdevRow] = [zfs, *zfs.vdevs]
        if any(is_below_zero(*_counts(row).values()) for row in rows):
            self._blind(case, Kind.VDEV_ERRORS, "a count of errors below 0 is no reading")
        elif zfs.vdevs:
            fine.append(Kind.VDEV_ERRORS)
        return fine

    def _is_whole(self, case: _Case, zfs: ZfsRow) -> bool:
        state = zfs.state.strip().upper() or _state_of_status(case.row)
        if not state:
            return self._blind(case, Kind.POOL_DEGRADED, "the state of the pool was not read")
        members = judge_members(zfs.vdevs)
        works = state in _WORKS
        if state == "ONLINE" and not members.dead:
            return not self._says_unusable(case)
        worst = not works or members.without_redundancy
        evidence = msgspec.structs.replace(zfs, vdevs=members.dead[:_SHOWN_MEMBERS])
        summary = f"Pool {case.resource.name or case.resource.id} is {state}{_losses(zfs, members.dead)}"
        if works and members.without_redundancy:
            summary += f"; no redundancy left in {', '.join(members.without_redundancy)}"
        return self._degraded(case, Severity.CRITICAL if worst else Severity.WARNING, summary, evidence)

    def _keeps_data(self, case: _Case, zfs: ZfsRow) -> bool:
        unrepaired, lost = _unrepaired(zfs), zfs.data_errors
        if is_below_zero(lost):
            self._blind(case, Kind.POOL_DATA_ERRORS, f"{lost} data errors are no reading")
            lost = None
        if not lost and not unrepaired:
            return lost is not None
        what = f"{lost} permanent data errors" if lost else f"{unrepaired} errors that the last scan could not repair"
        self._notes.signal(
            case.page,
            Kind.POOL_DATA_ERRORS,
            case.resource,
            Severity.CRITICAL,
            f"Pool {case.resource.name or case.resource.id} has {what}",
            row=msgspec.structs.replace(zfs, vdevs=[vdev for vdev in zfs.vdevs if _errors(vdev)][:_SHOWN_MEMBERS]),
            value=lost or unrepaired,
            limit_value=0,
            facts={"data_errors": lost or 0, "scan_errors": unrepaired},
        )
        return False

    def _judge_counters(self, case: _Case, zfs: ZfsRow) -> None:
        counting = [vdev for vdev in zfs.vdevs if _errors(vdev)]
        # A group counts what its devices could not correct: said once, by the devices if they count too.
        above = {vdev.parent for vdev in counting}
        for vdev in counting:
            if vdev.name not in above:
                self._vdev_signal(case, vdev, vdev.name)
        total = VdevRow(
            name=zfs.name or case.row.name or "",
            state=zfs.state,
            read_errors=zfs.read_errors,
            write_errors=zfs.write_errors,
            checksum_errors=zfs.checksum_errors,
        )
        if not counting and _errors(total):
            self._vdev_signal(case, total, "")

    def _vdev_signal(self, case: _Case, vdev: VdevRow, subject: str) -> None:
        counts = {name: max(count, 0) for name, count in _counts(vdev).items()}
        told = ", ".join(f"{count} {name.split('_')[0]}" for name, count in counts.items() if count)
        pool = case.resource.name or case.resource.id
        self._notes.signal(
            case.page,
            Kind.VDEV_ERRORS,
            case.resource,
            Severity.WARNING,
            f"{vdev.name or pool} in pool {pool} counts {told} errors",
            row=vdev,
            subject=subject,
            value=_errors(vdev),
            limit_value=0,
            facts=counts,
        )

    def _judge_btrfs(self, case: _Case, btrfs: BtrfsRow) -> list[Kind]:
        fine = []
        missing = count_of(btrfs.missing_devices)
        if missing is None:
            self._blind(case, Kind.POOL_DEGRADED, "whether devices are missing was not read")
        elif missing == 0:
            fine.append(Kind.POOL_DEGRADED)
        else:
            name = case.resource.name or case.resource.id
            self._degraded(case, Severity.CRITICAL, f"btrfs {name} misses {missing} device(s)", btrfs)
        for device in btrfs.devices:
            self._judge_btrfs_device(case, device)
        if any(is_below_zero(*_btrfs_counts(device).values()) for device in btrfs.devices):
            self._blind(case, Kind.FILESYSTEM_ERRORS, "a count of errors below 0 is no reading")
        elif btrfs.devices:
            fine.append(Kind.FILESYSTEM_ERRORS)
        return fine

    def _judge_btrfs_device(self, case: _Case, device: BtrfsDeviceRow) -> None:
        counts = {name: max(count, 0) for name, count in _btrfs_counts(device).items()}
        told = ", ".join(f"{name}={count}" for name, count in counts.items() if count)
        if not told:
            return
        subject = device.path if device.devid is None else f"devid {device.devid}"
        # For life until reset with `btrfs device stats -z`: old errors look like new ones, so growth is what counts.
        self._notes.signal(
            case.page,
            Kind.FILESYSTEM_ERRORS,
            case.resource,
            Severity.WARNING,
            f"{device.path or subject} in btrfs {case.resource.name or case.resource.id} counts {told}",
            row=device,
            subject=subject,
            value=sum(counts.values()),
            limit_value=0,
            facts=counts,
        )

    # These two say something about a condition, and that it is not fine.

    def _degraded(self, case: _Case, severity: Severity, summary: str, evidence: Row) -> bool:
        self._notes.signal(case.page, Kind.POOL_DEGRADED, case.resource, severity, summary, row=evidence)
        return False

    def _blind(self, case: _Case, kind: Kind, reason: str) -> bool:
        self._notes.blind(kind, case.resource.id, reason)
        return False


def _is_fine_or_untold(row: PoolRow) -> bool:
    return row.active is not False and (not row.status or row.status.lower() in _FINE)


def _is_whole_at_a_glance(zfs: ZfsRow) -> bool:
    """Whether everything about a pool was read and is as it should be: the way of nearly every pool."""
    if zfs.state != "ONLINE" or zfs.data_errors != 0 or not zfs.vdevs or _unrepaired(zfs):
        return False
    if zfs.read_errors or zfs.write_errors or zfs.checksum_errors:
        return False
    for vdev in zfs.vdevs:
        if vdev.state != "ONLINE" or vdev.read_errors or vdev.write_errors or vdev.checksum_errors:
            return False
    return True


def _unrepaired(zfs: ZfsRow) -> int:
    """Errors that the last scan found and could not repair."""
    found = _SCAN_ERRORS.search(zfs.scan)
    return int(found[1]) if found else 0


def _state_of_status(row: PoolRow) -> str:
    status = (row.status or "").strip().upper()
    return status if status in _WORKS or status in UNUSABLE else ""


def _counts(row: ZfsRow | VdevRow) -> dict[str, int]:
    return {
        "read_errors": row.read_errors,
        "write_errors": row.write_errors,
        "checksum_errors": row.checksum_errors,
    }


def _errors(vdev: VdevRow) -> int:
    """All errors that a vdev counts. Less than none is no reading."""
    return sum(max(count, 0) for count in _counts(vdev).values())


def _btrfs_counts(device: BtrfsDeviceRow) -> dict[str, int]:
    return {
        "write_io_errs": device.write_io_errs,
        "read_io_errs": device.read_io_errs,
        "flush_io_errs": device.flush_io_errs,
        "corruption_errs": device.corruption_errs,
        "generation_errs": device.generation_errs,
    }


def _losses(zfs: ZfsRow, dead: list[VdevRow]) -> str:
    if not dead:
        return "" if zfs.vdevs else "; its devices were not read"
    told = [_loss(vdev) for vdev in dead[:_SHOWN_MEMBERS]]
    more = f" and {len(dead) - _SHOWN_MEMBERS} more" if len(dead) > _SHOWN_MEMBERS else ""
    return f": {', '.join(told)}{more}"


def _loss(vdev: VdevRow) -> str:
    place = vdev.parent if vdev.role == "data" else f"{vdev.role} {vdev.parent}".strip()
    note = f", {vdev.note}" if vdev.note else ""
    return f"{vdev.name}{f' ({place})' if place else ''} is {vdev.state}{note}"
