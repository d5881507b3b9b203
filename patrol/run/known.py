"""The findings of earlier runs, as the read tools are handed them: read once, when somebody asks."""

from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from findings.model import DEFAULT_ORG, Finding, FindingState, ResourceId
from findings.silence import Silence
from findings.silence_store import SilenceStore
from findings.store import FindingStore
from patrol.database import Database


@dataclass(frozen=True, kw_only=True)
class StoredFindings:
    """What is open in a database. A run in which nobody asks reads nothing. `now`: the time of the run."""

    database: Database
    now: datetime
    org_id: str = DEFAULT_ORG

    def open_findings(self) -> list[Finding]:
        """Every finding that is open, worst first, silenced or not."""
        return self._read[0]

    def active_in(self, scope: Container[ResourceId]) -> list[Finding]:
        """Those that nobody asked quiet about, of these resources."""
        told = self.silences()
        return [each for each in self.open_findings() if each.resource_id in scope and each.is_active(self.now, told)]

    def closed_since(self, at: datetime, most: int = 200) -> list[Finding]:
        """Those that were closed since then, the last ones first."""
        with self.database.read() as connection:
            return FindingStore(connection, self.org_id).list_closed_since(at, most)

    def silences(self) -> list[Silence]:
        """Silences that are not over."""
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[list[Finding], list[Silence]]:
        with self.database.read() as connection:
            return (
                FindingStore(connection, self.org_id).list_findings(state=FindingState.OPEN),
                SilenceStore(connection, self.org_id).list_silences(not_over_at=self.now),
            )
