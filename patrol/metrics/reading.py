"""The state, read from the database and the settings at the moment of a scrape: true also right after a restart."""

from collections import Counter as Count
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, func, select

from findings.census import count_open
from findings.model import DEFAULT_ORG, Gap, Sight, Topic
from findings.silence_store import SilenceStore
from patrol.agent.breaker import STORED_AS, Breaker, BreakerState, fingerprint_of
from patrol.agent.budget import limits_of
from patrol.database import Database, StorageError
from patrol.estate.memory.model import Presence
from patrol.estate.memory.tables import RESOURCES
from patrol.history.store import HistoryStore
from patrol.metrics.declared import OTHER
from patrol.metrics.state import State
from patrol.run.lease import LEASE
from patrol.run.model_work.store import ModelWorkStore
from patrol.run.model_work.totals import used
from patrol.run.record_model import RunStatus, RunType
from patrol.run.retention import bytes_used
from patrol.run.tables import RUNS
from patrol.schedule.upcoming import FirstRound, next_run_at
from patrol.settings.model import Settings
from patrol.settings.sources import LocalSource
from signals.alert_settings import AlertSettingsError, parse_alert_settings, read_alert_settings

_SUCCESSES = (RunStatus.HEALTHY, RunStatus.ISSUES_FOUND, RunStatus.CRITICAL)
_WITH_RESULTS = (*_SUCCESSES, RunStatus.INCOMPLETE, RunStatus.TIMED_OUT)
_BEGAN = (*_WITH_RESULTS, RunStatus.ERROR, RunStatus.CANCELLED, RunStatus.CRASHED)


class _Sight(NamedTuple):
    """What one full run could not see, and what it saw. `gaps`: by source and kind."""

    run_id: str
    gaps: Mapping[tuple[str, Sight], int]
    blind: frozenset[str]
    resources: Mapping[str, int]


_NO_SIGHT = _Sight("", {}, frozenset(), {})


@dataclass(slots=True, kw_only=True)
class StateReader:
    """Reads the state of one organisation. `settings`: those in force, asked for at each scrape.

    `subscribers`: how many follow the stream of events; `first_round`: the run of a start, until it is decided. May be
    called from several threads.
    """

    database: Database
    settings: Callable[[], Settings]
    clock: Callable[[], datetime]
    subscribers: Callable[[], int] = lambda: 0
    first_round: Callable[[], FirstRound | None] = lambda: None
    org_id: str = DEFAULT_ORG
    _sight: _Sight = field(default=_NO_SIGHT, init=False)

    def __call__(self) -> State:
        """The state now. What a database does not tell that cannot be read is not known."""
        settings, now = self.settings(), self.clock()
        state = State(alert_settings_ok=_alert_settings_ok(settings), stream_subscribers=self.subscribers())
        try:
            return replace(state, **self._stored(settings, now))
        except StorageError:  # absent gauges say so, and `PatrolDatabaseUnreadable` tells somebody
            return state

    def _stored(self, settings: Settings, now: datetime) -> dict[str, Any]:
        with self.database.read() as connection:
            silences = SilenceStore(connection, self.org_id).list_silences(not_over_at=now)
            sight = self._last_sight(connection, settings)
            found: dict[str, Any] = {
                **self._ended(connection),
                "next_run_at": next_run_at(connection, self.org_id, self.first_round(), now),
                **self._under_way(connection, now),
                "findings": count_open(connection, self.org_id, silences, now),
                "sample_lag_seconds": self._sample_lag(connection, settings, now),
            }
        if sight.run_id:
            found |= {"resources": sight.resources, "gaps": sight.gaps, "blind_sources": sight.blind}
        return {
            **found,
            "database_bytes": self._database_bytes(),
            "breaker": self._breaker(settings),
            "budget_used": used(self.database, now, self.org_id).ratio(limits_of(settings.budget)),
        }

    def _ended(self, connection: Connection) -> dict[str, Any]:
        """When runs of each type last ended: one pass over the runs that are kept."""
        statement = select(RUNS.c.type, RUNS.c.status, func.max(RUNS.c.completed_at)).where(
            RUNS.c.org_id == self.org_id
        )
        last_run: dict[RunType, datetime] = {}
        last_success: dict[RunType, datetime] = {}
        for kind, status, at in connection.execute(statement.group_by(RUNS.c.type, RUNS.c.status)):
            for statuses, last in ((_BEGAN, last_run), (_SUCCESSES, last_success)):
                if at is not None and status in statuses:
                    last[RunType(kind)] = max(at, last.get(RunType(kind), at))
        return {"last_run_at": last_run, "last_success_at": last_success}

    def _under_way(self, connection: Connection, now: datetime) -> dict[str, float]:
        statement = select(RUNS.c.lease_expires_at).where(
            RUNS.c.org_id == self.org_id, RUNS.c.status == str(RunStatus.RUNNING)
        )
        ends = [at for at in connection.execute(statement).scalars() if at is not None]
        ages = [max(0.0, (now - (at - LEASE)).total_seconds()) for at in ends]
        return {"runs_in_progress": sum(at > now for at in ends), "lease_age_seconds": max(ages, default=0.0)}

    def _sample_lag(self, connection: Connection, settings: Settings, now: datetime) -> float | None:
        is_sampled = settings.sampling.seconds and any(isinstance(each, LocalSource) for each in settings.sources)
        newest = HistoryStore(connection, self.org_id).newest_sample_at() if is_sampled else None
        return max(0.0, (now - newest).total_seconds()) if newest is not None else None

    def _database_bytes(self) -> int:
        """Of a file what is in use, as `[storage] max_bytes` counts it; of a server's database all that it takes."""
        if self.database.engine.dialect.name == "sqlite":
            return bytes_used(self.database)
        with self.database.read() as connection:
            return int(connection.execute(select(func.pg_database_size(func.current_database()))).scalar_one())

    def _breaker(self, settings: Settings) -> BreakerState:
        stored = ModelWorkStore(self.database, self.org_id).remembered(STORED_AS)
        breaker = Breaker.from_json(stored if isinstance(stored, str) else "")
        return breaker.about(fingerprint_of(settings.model)).state

    def _last_sight(self, connection: Connection, settings: Settings) -> _Sight:
        """What the last full run saw: read once for each run, since its gaps can be many."""
        newest = select(RUNS.c.id).where(
            RUNS.c.org_id == self.org_id,
            RUNS.c.type == str(RunType.FULL),
            RUNS.c.status.in_(list(map(str, _WITH_RESULTS))),
        )
        run_id = connection.execute(newest.order_by(RUNS.c.started_at.desc()).limit(1)).scalar()
        if run_id is not None and run_id != self._sight.run_id:
            self._sight = self._read_sight(connection, run_id, {each.name for each in settings.sources})
        return self._sight

    def _read_sight(self, connection: Connection, run_id: str, names: set[str]) -> _Sight:
        this = RUNS.c.org_id == self.org_id, RUNS.c.id == run_id
        text = connection.execute(select(RUNS.c.gaps).where(*this)).scalar_one()
        gaps = msgspec.json.decode(text, type=list[Gap])
        counted: Count[tuple[str, Sight]] = Count()
        for name in names:
            counted[name, Sight.LOST] = 0
        for gap in gaps:
            # A document may tell of sources of its own, as many as it likes.
            counted[gap.source if gap.source in names else OTHER, gap.sight] += 1
        whole = {each.source for each in gaps if each.topic is Topic.INVENTORY and each.resource_id is None}
        present = RESOURCES.c.org_id == self.org_id, RESOURCES.c.presence == str(Presence.PRESENT)
        types = connection.execute(select(RESOURCES.c.type, func.count()).where(*present).group_by(RESOURCES.c.type))
        resources = {kind: int(count) for kind, count in types}
        return _Sight(run_id, counted, frozenset(whole & names), resources)


def _alert_settings_ok(settings: Settings) -> bool:
    if settings.alerts.file is None:
        return True
    try:
        parse_alert_settings(read_alert_settings(settings.alerts.file), source=str(settings.alerts.file))
    except AlertSettingsError:
        return False
    return True
