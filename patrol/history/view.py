"""The past as one run sees it: read when it is asked for, and never newer than the run."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from findings.model import DEFAULT_ORG, ResourceId
from patrol.database import Database
from patrol.history.model import Level, Measure, Point, SeriesKey
from patrol.history.reading import Wanted, read_points
from patrol.history.store import HistoryStore


def keeps_history(database: Database) -> bool:
    """Whether anything will ever read what is stored: not in a private database that lives for one run."""
    return database.path is not None or database.engine.dialect.name != "sqlite"


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What is stored up to `now`. Without a database, or in one that keeps no history, there is no past."""

    now: datetime
    database: Database | None = None
    org_id: str = DEFAULT_ORG

    @property
    def is_kept(self) -> bool:
        """Whether there can be any past."""
        return self.database is not None and keeps_history(self.database)

    def points(
        self,
        resource_ids: Collection[ResourceId],
        measures: Collection[Measure],
        period: timedelta,
        *,
        step: Level,
        extremes: bool = True,
    ) -> dict[SeriesKey, list[Point]]:
        """Points of the period up to now (see `patrol.history.reading.Wanted`)."""
        if self.database is None or not keeps_history(self.database) or not resource_ids:
            return {}
        with self.database.read() as connection:
            wanted = Wanted(resource_ids, measures, self.now - period, self.now, step, extremes)
            return read_points(HistoryStore(connection, self.org_id), wanted)
