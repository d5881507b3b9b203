"""Jobs of backup servers whose last run failed.

    {"instance": "pbs1", "complete": true, "jobs": [{"id": "s-remote-a", "type": "sync", "store": "main",
     "status": "permission check failed.", "last_run": "2026-02-26T03:00:00Z", "resource_id": "pbs:pbs1:pbs1"}]}

The state of the last run is free text: what is neither OK nor WARNINGS nor empty is a failure, for a verify job
as for a sync. A job that runs, or never ran, says nothing yet.
"""

from typing import ClassVar, cast

from findings.kinds import Kind
from findings.model import Severity
from signals.backup_evidence import PbsJobRow, PbsJobsOutput
from signals.backups.outcome import GOOD, Outcome, outcome_of
from signals.detector import Context, EvidencePage, Notes, cut
from signals.evidence import InventoryRow
from signals.pages import Page
from signals.wording import quoted

_SCOPE_FILTERS = frozenset({"instance"})
_LONGEST_SUBJECT = 100


class BackupJobDetector:
    """backup_failed of the jobs that a backup server runs itself: one subject a job."""

    reads: ClassVar[tuple[type[Page], ...]] = (PbsJobsOutput,)

    def __init__(self, context: Context, notes: Notes) -> None:
        self._notes = notes
        self._inventory = context.inventory

    def read(self, page: EvidencePage[Page]) -> None:
        """Judges the jobs of one page."""
        output = cast("PbsJobsOutput", page.output)
        servers: dict[str, None] = {}
        if output.instance and not self._inventory.may_hide(output.instance):
            servers[self._inventory.resolve(output.instance).id] = None
        for job in output.jobs:
            if self._inventory.has_holes and not job.resource_id:
                continue  # its datastore or server may be in a hole: it would be filed under another name
            server = self._server(job, output)
            servers[server.id] = None
            self._judge(page, server, job)
        # The list names every job, so the finding of a job that was removed is over as well.
        if {name for name, _value in page.sweep.filters} <= _SCOPE_FILTERS:
            self._notes.clear(page, Kind.BACKUP_FAILED, list(servers))

    def finish(self) -> None:
        """Every job was judged when it was read."""

    def _server(self, job: PbsJobRow, output: PbsJobsOutput) -> InventoryRow:
        name = job.resource_id or job.instance or output.instance or job.store or "backup"
        return self._inventory.resolve(name, resource_type="pbs")

    def _judge(self, page: EvidencePage[Page], server: InventoryRow, job: PbsJobRow) -> None:
        name = job.id if job.id is not None else f"{job.type} {job.store or ''}"
        subject = cut(quoted(name), _LONGEST_SUBJECT) or "unnamed"
        outcome = outcome_of(job.status, error=job.error, work=job.type)
        if outcome is Outcome.FAILED:
            reason = quoted(job.error or job.status)
            on = f" on {quoted(job.store)}" if job.store else ""
            summary = f"The {quoted(job.type) or 'backup'} job {subject}{on} failed: {reason}"
            self._notes.signal(page, Kind.BACKUP_FAILED, server, Severity.WARNING, summary, row=job, subject=subject)
        elif outcome not in GOOD:
            self._notes.blind(Kind.BACKUP_FAILED, server.id, "its last run has not ended or says nothing", subject)
