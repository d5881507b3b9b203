"""Snapshots of guests that are kept for too long, or that have grown too large.

    {"complete": true, "guests": ["vm:lab:101"], "snapshots": [{"vmid": 101, "snapshot_name": "before-upgrade",
     "resource_id": "vm:lab:101", "time": "2026-01-02T20:00:00Z", "vm_state": false, "size_bytes": 4294967296}]}

A snapshot is no backup: it grows with every write after it, slows a thin disk down, and keeps the guest from being
replicated or moved in some set-ups. `current` is Proxmox' word for the running state, and no snapshot.

A snapshot without a guest is nobody's: it is told, and its page clears nobody, as it may be of any guest on it.
"""

from datetime import timedelta
from typing import ClassVar, cast

from findings.kinds import Kind
from findings.model import Look
from signals.detector import Context, EvidencePage, Notes, cut
from signals.evidence import InventoryRow
from signals.guest_identity import Guests, NamedGuest, UnnamedGuestError
from signals.pages import Page
from signals.protection_evidence import SnapshotRow, SnapshotsOutput
from signals.thresholds import Limit, Limited
from signals.times import SKEW, UnreadableTimeError, read_time
from signals.wording import hours_text, moment_text, quoted

_RUNNING_STATE = "current"
_GIB = 1 << 30
_LONGEST_SUBJECT = 100


class SnapshotDetector:
    """snapshot_old and snapshot_large of guests: one subject a snapshot."""

    reads: ClassVar[tuple[type[Page], ...]] = (SnapshotsOutput,)

    def __init__(self, context: Context, notes: Notes) -> None:
        self._thresholds = context.thresholds
        self._inventory = context.inventory
        self._notes = notes
        self._now = context.now
        self._guests = Guests(context.inventory)

    def read(self, page: EvidencePage[Page]) -> None:
        """Judges the snapshots of one page. A guest that was read is clear of every other snapshot."""
        output = cast("SnapshotsOutput", page.output)
        all_named = True
        for number, row in enumerate(output.snapshots):
            if row.snapshot_name == _RUNNING_STATE:
                continue
            try:
                guest = self._guest(row)
            except UnnamedGuestError as error:
                all_named = False
                self._notes.problem(page.call_id, f"snapshots[{number}]", f"whose snapshot this is: {error}")
                continue
            if guest is not None:
                subject = cut(quoted(row.snapshot_name), _LONGEST_SUBJECT) or "unnamed"
                self._judge_age(page, guest, row, subject)
                self._judge_size(page, guest, row, subject)
        guests = [self._inventory.resolve(each) for each in output.guests] if all_named else []
        for kind, metric in ((Kind.SNAPSHOT_OLD, Limited.SNAPSHOT_AGE), (Kind.SNAPSHOT_LARGE, Limited.SNAPSHOT_SIZE)):
            judged = [guest.id for guest in guests if self._thresholds.limit(guest, metric) is not None]
            self._notes.clear(page, kind, judged)

    def finish(self) -> None:
        """Every snapshot was judged when it was read."""

    def _guest(self, row: SnapshotRow) -> InventoryRow | None:
        return self._guests.find(
            NamedGuest(row.resource_id, row.vmid, row.type, row.instance, row.node, name=row.vm_name)
        )

    def _judge_age(self, page: EvidencePage[Page], guest: InventoryRow, row: SnapshotRow, subject: str) -> None:
        limit = self._thresholds.limit(guest, Limited.SNAPSHOT_AGE)
        if limit is None:
            return
        try:
            taken = read_time(row.time, page.output.zone)
        except UnreadableTimeError as error:
            self._notes.blind(Kind.SNAPSHOT_OLD, guest.id, f"its time cannot be placed: {error}", subject)
            return
        if taken > self._now + SKEW:
            self._notes.blind(Kind.SNAPSHOT_OLD, guest.id, "it claims to be of the future", subject)
            return
        hours = (self._now - taken) / timedelta(hours=1)
        told = f"is {hours_text(hours)} old ({moment_text(taken)}); the limit is {hours_text(limit.trigger)}"
        self._judge(page, Kind.SNAPSHOT_OLD, guest, row, subject, hours, limit, told)

    def _judge_size(self, page: EvidencePage[Page], guest: InventoryRow, row: SnapshotRow, subject: str) -> None:
        limit = self._thresholds.limit(guest, Limited.SNAPSHOT_SIZE)
        if limit is None:
            return
        if row.size_bytes is None or row.size_bytes < 0:
            self._notes.blind(Kind.SNAPSHOT_LARGE, guest.id, "its size was not read", subject)
            return
        gib = row.size_bytes / _GIB
        told = f"has grown to {gib:.1f} GiB (limit {limit.trigger:g} GiB)"
        self._judge(page, Kind.SNAPSHOT_LARGE, guest, row, subject, gib, limit, told)

    def _judge(
        self,
        page: EvidencePage[Page],
        kind: Kind,
        guest: InventoryRow,
        row: SnapshotRow,
        subject: str,
        value: float,
        limit: Limit,
        told: str,
    ) -> None:
        look = limit.look_at_amount(value)
        if look is Look.HELD:
            self._notes.held(kind, guest.id, subject)
        elif look is Look.PRESENT:
            self._notes.signal(
                page,
                kind,
                guest,
                limit.severity(value),
                f"Snapshot {subject} {told}",
                row=row,
                subject=subject,
                value=round(value, 2),
                limit=limit,
            )
