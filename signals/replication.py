"""Replication of guests to another node: jobs that fail, and jobs that have fallen behind their schedule.

    {"complete": true, "sources": ["lab"], "jobs": [{"id": "101-0", "guest_id": 101, "resource_id": "vm:lab:101",
     "target_node": "pve2", "schedule": "*/15", "status": "error", "fail_count": 3, "error": "No route to host",
     "last_sync": "2026-03-02T01:00:00Z", "next_sync": "2026-03-02T05:30:00Z"}]}

A copy that is not renewed is the state of its last sync, whatever the job is called. A job that is switched off, or
that runs at this moment, says nothing.

A job that names no guest is its node's, else its own, as backup jobs are; one that names nothing is told, and its list
clears nobody, as it may be of any guest.
"""

import re
from datetime import timedelta
from typing import ClassVar, cast

from findings.kinds import Kind
from findings.model import Look, Severity
from signals.backups.owners import GUEST_TYPES, Owners
from signals.detector import Context, EvidencePage, Notes, Sweep, cut
from signals.evidence import InventoryRow
from signals.guest_identity import Guests, NamedGuest, UnnamedGuestError
from signals.pages import Page
from signals.protection_evidence import ReplicationOutput, ReplicationRow
from signals.thresholds import Limited
from signals.times import UnreadableTimeError, read_time
from signals.wording import hours_text, quoted

_WELL = frozenset({"ok", "success", "idle", "pending", "scheduled", "synced", "unknown", ""})
_AT_WORK = frozenset({"syncing", "running", "active"})
_OFF = frozenset({"disabled", "off", "removed"})
_LONGEST_SUBJECT = 100

_HAVE_JOBS = GUEST_TYPES | {"node", "agent"}

_JOB_OF_GUEST = re.compile(r"(\d{1,10})-\d{1,10}", re.ASCII)
"""Proxmox names a job by its guest and a number: `101-0`."""


class ReplicationDetector:
    """replication_failed of guests: one subject a job."""

    reads: ClassVar[tuple[type[Page], ...]] = (ReplicationOutput,)

    def __init__(self, context: Context, notes: Notes) -> None:
        self._thresholds = context.thresholds
        self._inventory = context.inventory
        self._notes = notes
        self._now = context.now
        self._guests = Guests(context.inventory)
        self._places = Owners(context.inventory)
        self._whole: list[tuple[EvidencePage[Page], frozenset[str]]] = []
        self._doubtful: set[Sweep] = set()  # a job on them may be of any guest

    def read(self, page: EvidencePage[Page]) -> None:
        """Judges the jobs of one page."""
        output = cast("ReplicationOutput", page.output)
        for number, job in enumerate(output.jobs):
            is_off = job.enabled is False or _status(job) in _OFF
            try:
                owner = self._owner(job)
            except UnnamedGuestError as error:
                if is_off:
                    continue
                self._doubtful.add(page.sweep)
                self._notes.problem(page.call_id, f"jobs[{number}]", f"whose job this is: {error}")
                continue
            if owner is not None:
                self._judge(page, job, owner, is_off=is_off)
        if not page.sweep.filters and output.sources:
            self._whole.append((page.without_rows(), frozenset(output.sources)))

    def finish(self) -> None:
        """A list of all jobs clears every guest and node of its sources, also one whose job was removed."""
        for page, sources in self._whole:
            if page.sweep not in self._doubtful:
                rows = self._inventory.rows.values()
                owners = [row.id for row in rows if row.type in _HAVE_JOBS and row.source in sources]
                self._notes.clear(page, Kind.REPLICATION_FAILED, owners)

    def _owner(self, job: ReplicationRow) -> InventoryRow | None:
        """Whose finding a job is: its guest's, else its node's, else its own. None: of a guest out of sight."""
        said = NamedGuest(
            job.resource_id, job.guest_id, job.guest_type, job.instance, job.source_node, name=job.guest_name
        )
        if said.is_given:
            return self._guests.find(said)
        named = _JOB_OF_GUEST.fullmatch(str(job.id or ""))
        guest = self._guests.find(said._replace(vmid=named[1])) if named else None
        if guest is not None and guest.id in self._inventory.rows:
            return guest
        if not (job.source_node or job.instance or job.id):
            raise UnnamedGuestError("it names neither a guest nor a node nor a job")
        if not (job.source_node or job.instance):
            return self._inventory.resolve("replication")
        place = self._places.find_place(job.source_node, job.instance)
        if place is None:
            raise UnnamedGuestError("it names no guest, and its node may be one that is out of sight")
        return place

    def _judge(self, page: EvidencePage[Page], job: ReplicationRow, owner: InventoryRow, *, is_off: bool) -> None:
        name = job.id if job.id is not None else f"to {job.target_node}" if job.target_node else ""
        subject = cut(quoted(name), _LONGEST_SUBJECT) or "unnamed"
        is_seen = is_off or self._judge_run(page, job, owner, subject)
        if is_seen and owner.type not in GUEST_TYPES:
            # No list of guests tells that it is well again. Whatever was found wrong is the stronger look.
            self._notes.clear_subject(page, Kind.REPLICATION_FAILED, owner.id, subject)

    def _judge_run(self, page: EvidencePage[Page], job: ReplicationRow, owner: InventoryRow, subject: str) -> bool:
        """Judges a job that is switched on; returns whether it could be."""
        status = _status(job)
        to = f" to {quoted(job.target_node)}" if job.target_node else ""
        failures = job.fail_count or 0
        if job.error or failures > 0 or status not in _WELL | _AT_WORK:
            why = quoted(job.error or job.status or "no reason is given")
            often = f" {failures} times in a row" if failures > 1 else ""
            self._notes.signal(
                page,
                Kind.REPLICATION_FAILED,
                owner,
                Severity.WARNING,
                f"The replication {subject}{to} failed{often}: {why}",
                row=job,
                subject=subject,
            )
            return True
        return status in _AT_WORK or self._judge_lag(page, job, owner, subject, to)

    def _judge_lag(
        self, page: EvidencePage[Page], job: ReplicationRow, owner: InventoryRow, subject: str, to: str
    ) -> bool:
        limit = self._thresholds.limit(owner, Limited.REPLICATION_LAG)
        if limit is None or job.next_sync is None:
            return True
        try:
            due = read_time(job.next_sync, page.output.zone)
        except UnreadableTimeError as error:
            self._notes.blind(Kind.REPLICATION_FAILED, owner.id, f"its next sync cannot be placed: {error}", subject)
            return False
        hours = (self._now - due) / timedelta(hours=1)
        look = limit.look_at_amount(hours)
        if look is Look.PRESENT:
            self._notes.signal(
                page,
                Kind.REPLICATION_FAILED,
                owner,
                limit.severity(hours),
                f"The replication {subject}{to} is {hours_text(hours)} behind its schedule "
                f"(limit {hours_text(limit.trigger)})",
                row=job,
                subject=subject,
                value=round(hours, 2),
                limit=limit,
            )
        elif look is Look.HELD:
            self._notes.held(Kind.REPLICATION_FAILED, owner.id, subject)
        return True


def _status(job: ReplicationRow) -> str:
    return (job.status or "").strip().lower()
