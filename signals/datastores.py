"""Datastores of backup servers, as the page of backups shows them: how full they are.

    {"pbs_servers": [{"name": "pbs1", "datastores": [{"name": "main", "usage_percent": 97.2, "free_gb": 120}]}]}

A datastore is the same resource as on the page of pools; said twice, the worse statement stays.
"""

from typing import ClassVar, cast

from findings.identity import canonical_id
from findings.kinds import Kind
from findings.model import Look
from signals.backup_evidence import BackupsOutput, DatastoreRow
from signals.detector import Context, EvidencePage, Notes
from signals.evidence import InventoryRow
from signals.pages import Page
from signals.readings import MOST_PERCENT
from signals.thresholds import Limited


class DatastoreDetector:
    """high_disk of datastores."""

    reads: ClassVar[tuple[type[Page], ...]] = (BackupsOutput,)

    def __init__(self, context: Context, notes: Notes) -> None:
        self._thresholds = context.thresholds
        self._inventory = context.inventory
        self._notes = notes

    def read(self, page: EvidencePage[Page]) -> None:
        """Judges every datastore of a page."""
        fine = []
        for server in cast("BackupsOutput", page.output).pbs_servers:
            for row in server.datastores:
                if server.name and row.name and row.usage_percent is not None:
                    named = canonical_id("storage", server.name, row.name)
                    resource = self._inventory.resolve(named, resource_type="storage", display_name=row.name)
                    if self._has_room(page, resource, row, row.usage_percent):
                        fine.append(resource.id)
        self._notes.clear(page, Kind.HIGH_DISK, fine)

    def finish(self) -> None:
        """Every datastore was judged by itself."""

    def _has_room(self, page: EvidencePage[Page], resource: InventoryRow, row: DatastoreRow, percent: float) -> bool:
        limit = self._thresholds.limit(resource, Limited.STORAGE)
        if limit is None:
            return False
        if not 0 <= percent <= MOST_PERCENT or (percent == 0 and not row.free_gb):
            self._notes.blind(Kind.HIGH_DISK, resource.id, f"{percent:g} % in use is no reading")
            return False
        look = limit.look(percent)
        if look is Look.HELD:
            self._notes.held(Kind.HIGH_DISK, resource.id)
        elif look is Look.PRESENT:
            summary = f"Datastore {row.name} is {percent:.1f} % full (limit {limit.trigger:g} %)"
            severity = limit.severity(percent)
            self._notes.signal(page, Kind.HIGH_DISK, resource, severity, summary, row=row, value=percent, limit=limit)
        return look is Look.CLEAR
