"""Mounted file systems of hosts and guests: space, inodes, and errors they note in themselves.

    {"resources": [{"id": "agent:local:nas", "type": "agent", "disks": [
      {"mountpoint": "/srv", "type": "ext4", "usage_percent": 93.5, "inodes_percent": 4.1, "disk_type": "hdd"}]}]}

Each mount is a subject on its host or guest.
"""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from findings.kinds import Kind
from findings.model import Look, Severity
from signals.detector import Context, EvidencePage, Notes
from signals.evidence import InventoryRow
from signals.guest_identity import Guests
from signals.pages import Page
from signals.readings import MOST_PERCENT, count_of, is_below_zero
from signals.storage_evidence import FilesystemRow, ResourceDisks, ResourceDisksOutput
from signals.thresholds import Limited

_IMAGES = frozenset({"iso9660", "udf", "cdfs", "squashfs", "erofs", "cramfs", "romfs"})
"""Images that are made full: of a CD, a snap, a firmware."""

_CHECKS = (
    (Kind.HIGH_DISK, Limited.DISK, "full"),
    (Kind.HIGH_INODES, Limited.INODES, "out of inodes"),
)


class _Case(NamedTuple):
    """One file system and whose it is."""

    page: EvidencePage[Page]
    row: FilesystemRow
    resource: InventoryRow
    mount: str


class FilesystemDetector:
    """high_disk, high_inodes and filesystem_errors of each mount."""

    reads: ClassVar[tuple[type[Page], ...]] = (ResourceDisksOutput,)

    def __init__(self, context: Context, notes: Notes) -> None:
        self._thresholds = context.thresholds
        self._inventory = context.inventory
        self._guests = Guests(context.inventory)
        self._notes = notes

    def read(self, page: EvidencePage[Page]) -> None:
        """Judges every file system of a page."""
        if not isinstance(page.output, ResourceDisksOutput):
            return
        clear: dict[Kind, list[str]] = {kind: [] for kind, _limited, _what in _CHECKS}
        roomy, sparse = clear.values()
        known = self._inventory.rows.get
        for owner in page.output.resources:
            resource = known(owner.id) or self._guests.owner_of(owner)  # type: ignore[arg-type]  # no number is known
            if resource is None:
                continue
            if owner.disks and self._is_fine_at_a_glance(resource, owner.disks):
                roomy.append(resource.id)
                sparse.append(resource.id)
                continue
            for kind in self._judge(page, owner, resource):
                clear.setdefault(kind, []).append(resource.id)
        for kind, ids in clear.items():
            self._notes.clear(page, kind, ids)

    def finish(self) -> None:
        """Every file system was judged by itself."""

    def _is_fine_at_a_glance(self, resource: InventoryRow, rows: Sequence[FilesystemRow]) -> bool:
        """Whether every mount was measured whole, and is so far below its limits that no rule could say otherwise."""
        limit_of = self._thresholds.limit
        for row in rows:
            percent, inodes = row.usage_percent, row.inodes_percent
            if percent is None or inodes is None or row.error_count is not None or row.forced_read_only:
                return False
            limit = limit_of(resource, Limited.DISK, disk_type=row.disk_type)
            if limit is None or not 0 < percent < limit.clear:
                return False
            limit = limit_of(resource, Limited.INODES, disk_type=row.disk_type)
            if limit is None or not 0 <= inodes < limit.clear:
                return False
        return True

    def _judge(self, page: EvidencePage[Page], owner: ResourceDisks, resource: InventoryRow) -> list[Kind]:
        """States what is wrong; returns the kinds of which every mount without a look of its own is fine."""
        cases = [_Case(page, row, resource, row.mountpoint or row.device or "") for row in owner.disks]
        fine = []
        for kind, limited, what in _CHECKS:
            judged = [self._judge_share(case, kind, limited, what) for case in cases]
            if any(judged):
                fine.append(kind)
        for case in cases:
            self._judge_errors(case)
        if any(count_of(row.error_count) is not None for row in owner.disks):
            fine.append(Kind.FILESYSTEM_ERRORS)
        return fine

    def _judge_share(self, case: _Case, kind: Kind, limited: Limited, what: str) -> bool:
        """Judges a percentage; returns whether there was one."""
        row = case.row
        limit = self._thresholds.limit(case.resource, limited, disk_type=row.disk_type)
        if limit is None:
            return False
        if (row.type or "").strip().lower() in _IMAGES:
            return True  # always full, and never written to
        percent = _usage(row) if kind is Kind.HIGH_DISK else row.inodes_percent
        reason = _unmeasured(row)
        if reason:
            self._notes.blind(kind, case.resource.id, reason, case.mount)
            return False
        if percent is None:
            return False  # this file system makes inodes as it needs them
        if not 0 <= percent <= MOST_PERCENT:
            self._notes.blind(kind, case.resource.id, f"{percent:g} % is no reading", case.mount)
            return False
        look = limit.look(percent)
        if look is Look.HELD:
            self._notes.held(kind, case.resource.id, case.mount)
        elif look is Look.PRESENT:
            self._notes.signal(
                case.page,
                kind,
                case.resource,
                limit.severity(percent),
                f"{case.mount or 'A disk'} is {percent:.1f} % {what} (limit {limit.trigger:g} %)",
                row=row,
                subject=case.mount,
                value=percent,
                limit=limit,
            )
        return True

    def _judge_errors(self, case: _Case) -> None:
        row = case.row
        errors = count_of(row.error_count) or 0
        if is_below_zero(row.error_count) and not row.forced_read_only:
            reason = f"{row.error_count} is no count of errors"
            self._notes.blind(Kind.FILESYSTEM_ERRORS, case.resource.id, reason, case.mount)
        if not errors and not row.forced_read_only:
            return
        if row.forced_read_only:
            after = f" after {errors} errors" if errors else ""
            severity, told = Severity.CRITICAL, f"has made itself read-only{after}"
        else:
            severity, told = Severity.WARNING, f"has noted {errors} errors in itself: check it with fsck"
        self._notes.signal(
            case.page,
            Kind.FILESYSTEM_ERRORS,
            case.resource,
            severity,
            f"{case.mount or 'A file system'} ({row.type or 'unknown type'}) {told}",
            row=row,
            subject=case.mount,
            value=errors or None,
            limit_value=0,
            facts={"errors": errors},
        )


def _usage(row: FilesystemRow) -> float | None:
    """Percent in use; where a row does not say it, by df's rule from its bytes."""
    if row.usage_percent is not None or row.used_bytes is None or row.free_bytes is None:
        return row.usage_percent
    usable = row.used_bytes + row.free_bytes
    return 100 * row.used_bytes / usable if row.used_bytes >= 0 and row.free_bytes >= 0 and usable else None


def is_measured(row: FilesystemRow) -> bool:
    """Whether a row tells how full its file system is."""
    percent = _usage(row)
    return percent is not None and percent <= MOST_PERCENT and not _unmeasured(row)


def _unmeasured(row: FilesystemRow) -> str:
    """Why the figures of a row say nothing; "" where they do.

    A hypervisor that cannot look into its guest reports 0 or -1 for the disk as a whole. 0 is a reading only of
    a mounted file system that has space.
    """
    percent = _usage(row)
    if percent is None:
        return "it was not measured"
    if percent < 0 or (percent == 0 and not (row.mountpoint and row.free_bytes)):
        return f"{percent:g} % in use is no reading: the guest has no agent that would tell"
    return ""
