"""Replication of guests to another node: jobs that fail, and jobs that have fallen behind their schedule.

    {"complete": true, "sources": ["lab"], "jobs": [{"id": "101-0", "guest_id": 101, "resource_id": "vm:lab:101",
     "target_node": "pve2", "schedule": "*/15", "status": "error", "fail_count": 3, "error": "No route to host",
     "last_sync": "2026-03-02T01:00:00Z", "next_sync": "2026-03-02T05:30:00Z"}]}

A copy that is not renewed is the state of its last sync, whatever the job is called. A job that is switched off, or
that runs at this moment, says nothing.
"""

from datetime import timedelta
from typing import ClassVar, cast

from findings.identity import canonical_id
from findings.kinds import Kind
from findings.model import Look, Severity
from signals.backups.owners import Owners
from signals.detector import Context, EvidencePage, Notes, cut
from signals.evidence import InventoryRow, Page
from signals.protection_evidence import ReplicationOutput, ReplicationRow
from signals.thresholds import Limited
from signals.times import UnreadableTimeError, read_time
from signals.wording import hours_text, quoted

GUEST_TYPES = frozenset({"vm", "system-container"})
_TYPES = {"lxc": "system-container", "ct": "system-container", "qemu": "vm"}
_WELL = frozenset({"ok", "success", "idle", "pending", "scheduled", "synced", "unknown", ""})
_AT_WORK = frozenset({"syncing", "running", "active"})
_OFF = frozenset({"disabled", "off", "removed"})
_LONGEST_SUBJECT = 100


class ReplicationDetector:
    """replication_failed of guests: one subject a job."""

    reads: ClassVar[tuple[type[Page], ...]] = (ReplicationOutput,)

    def __init__(self, context: Context, notes: Notes) -> None:
        self._thresholds = context.thresholds
        self._inventory = context.inventory
        self._notes = notes
        self._now = context.now
        self._owners = Owners(context.inventory)
        self._whole: list[tuple[EvidencePage[Page], frozenset[str]]] = []

    def read(self, page: EvidencePage[Page]) -> None:
        """Judges the jobs of one page."""
        output = cast("ReplicationOutput", page.output)
        for job in output.jobs:
            self._judge(page, job)
        if not page.sweep.filters and output.sources:
            self._whole.append((page.without_rows(), frozenset(output.sources)))

    def finish(self) -> None:
        """A list of all jobs clears every guest of its sources, also one whose job was removed."""
        for page, sources in self._whole:
            guests = [
                row.id for row in self._inventory.rows.values() if row.type in GUEST_TYPES and row.source in sources
            ]
            self._notes.clear(page, Kind.REPLICATION_FAILED, guests)

    def _guest(self, job: ReplicationRow) -> InventoryRow | None:
        kind = _TYPES.get((job.guest_type or "").lower(), job.guest_type or "vm")
        vmid = "" if job.guest_id is None else str(job.guest_id)
        native = canonical_id(kind, job.instance or job.source_node or "unknown", vmid or "unknown")
        for name in (job.resource_id, native, vmid):
            found = self._inventory.find(name) if name else None
            if found is not None:
                return found
        # The instance or node that it names decides which of the guests with this number it is.
        claim = job.resource_id or (job.guest_id, job.instance, job.source_node, None, None, job.guest_type)
        guests = self._owners.find(claim)
        if len(guests) == 1 and guests[0] in self._inventory.rows:
            return self._inventory.rows[guests[0]]
        if not guests and vmid and not job.guest_type:
            return None  # it is out of sight or gone, and its type would be a guess: an id that means another guest
        return InventoryRow(id=job.resource_id or native, type=kind, name=job.guest_name or vmid)

    def _judge(self, page: EvidencePage[Page], job: ReplicationRow) -> None:
        status = (job.status or "").strip().lower()
        if job.enabled is False or status in _OFF:
            return
        guest = self._guest(job)
        if guest is None:
            return
        subject = cut(quoted(job.id if job.id is not None else f"to {job.target_node}"), _LONGEST_SUBJECT)
        to = f" to {quoted(job.target_node)}" if job.target_node else ""
        failures = job.fail_count or 0
        if job.error or failures > 0 or status not in _WELL | _AT_WORK:
            why = quoted(job.error or job.status or "no reason is given")
            often = f" {failures} times in a row" if failures > 1 else ""
            self._notes.signal(
                page,
                Kind.REPLICATION_FAILED,
                guest,
                Severity.WARNING,
                f"The replication {subject}{to} failed{often}: {why}",
                row=job,
                subject=subject,
            )
        elif status not in _AT_WORK:
            self._judge_lag(page, job, guest, subject, to)

    def _judge_lag(
        self, page: EvidencePage[Page], job: ReplicationRow, guest: InventoryRow, subject: str, to: str
    ) -> None:
        limit = self._thresholds.limit(guest, Limited.REPLICATION_LAG)
        if limit is None or job.next_sync is None:
            return
        try:
            due = read_time(job.next_sync, page.output.zone)
        except UnreadableTimeError as error:
            self._notes.blind(Kind.REPLICATION_FAILED, guest.id, f"its next sync cannot be placed: {error}", subject)
            return
        hours = (self._now - due) / timedelta(hours=1)
        look = limit.look_at_amount(hours)
        if look is Look.PRESENT:
            self._notes.signal(
                page,
                Kind.REPLICATION_FAILED,
                guest,
                limit.severity(hours),
                f"The replication {subject}{to} is {hours_text(hours)} behind its schedule "
                f"(limit {hours_text(limit.trigger)})",
                row=job,
                subject=subject,
                value=round(hours, 2),
                limit=limit,
            )
        elif look is Look.HELD:
            self._notes.held(Kind.REPLICATION_FAILED, guest.id, subject)
