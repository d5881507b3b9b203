"""How long runs and their evidence are kept, and what goes first where the database grows too large.

Evidence of a run: 48 h; 30 days where the run changed a finding; the page that an open finding cites as long as it is
open. Runs and closed findings: 400 days. Deletion comes in batches, each a transaction of its own that leaves
everything consistent, and a call does no more than a bounded number of them: what is left is for the next one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from sqlalchemy import Connection, Delete, Select, and_, func, literal, or_, select
from sqlalchemy.sql import ColumnElement

from findings.model import DEFAULT_ORG, FindingState
from findings.tables import FINDINGS, TRANSITIONS
from patrol.agent.budget import month_start
from patrol.database import Database
from patrol.database.inserts import insert_or_replace
from patrol.run.model_work.tables import MODEL_CALLS
from patrol.run.record_model import DetectionRecord, RunStatus
from patrol.run.rows import detection_row
from patrol.run.tables import DETECTIONS, EVIDENCE_PAGES, RUNS, TOOL_CALLS, UPKEEP
from patrol.settings.model import Settings

EVERY = timedelta(hours=1)
CHANGED_KEPT = timedelta(days=30)
"""How long the evidence of a run that changed a finding is kept, unless other evidence is kept for longer still."""
RUNS_AT_ONCE = 100
PAGES_AT_ONCE = 200
OLDEST_AT_ONCE = 10  # where the database is too large: it is looked at again after each handful of runs
MOST_BATCHES = 100
FREE_KEPT = 256
"""Unused pages of a SQLite file that stay in it: the next runs fill them again."""
GIVEN_BACK_AT_ONCE = 2_000

_UPKEEP = "retention"
_ENDED = RUNS.c.status != str(RunStatus.RUNNING)


class Told(Protocol):
    """Told how far it is, for people who wait."""

    def __call__(self, stage: str, detail: str) -> None: ...


@dataclass(slots=True, kw_only=True)
class Pruned:
    """What one call did. `bytes_used`: by the database afterwards. `finished`: nothing is left to do now.

    `is_too_large`: all evidence that may go is gone, and the rest is still larger than `max_bytes`.
    """

    expired_runs: int = 0
    pages: int = 0
    runs: int = 0
    findings: int = 0
    bytes_used: int = 0
    finished: bool = True
    is_too_large: bool = False


def prune_evidence(
    database: Database,
    settings: Settings,
    now: datetime,
    *,
    progress: Told | None = None,
    batches: int = MOST_BATCHES,
    every: timedelta = EVERY,
    org_id: str = DEFAULT_ORG,
) -> Pruned | None:
    """Deletes what is older than the settings keep. None where that was done less than `every` ago.

    Safe to be ended at any moment, and beside runs and other prunings. Raises StorageError.
    """
    if not database.transact(lambda connection: _claim(connection, now, every, org_id)):
        return None
    pruning = _Pruning(database, settings, now, org_id, progress, batches)
    pruning.go()
    if not pruning.done.finished:
        database.transact(lambda connection: connection.execute(UPKEEP.delete().where(*_this_upkeep(org_id))))
    return pruning.done


def _this_upkeep(org_id: str) -> tuple[ColumnElement[bool], ...]:
    return UPKEEP.c.org_id == org_id, UPKEEP.c.name == _UPKEEP


def _claim(connection: Connection, now: datetime, every: timedelta, org_id: str) -> bool:
    begun_at = connection.execute(select(UPKEEP.c.begun_at).where(*_this_upkeep(org_id))).scalar_one_or_none()
    if begun_at is not None and now - every < begun_at <= now:  # one in the future is of a clock that went back
        return False
    statement = insert_or_replace(connection.dialect.name, UPKEEP, ("begun_at",))
    connection.execute(statement, {"org_id": org_id, "name": _UPKEEP, "begun_at": now})
    return True


class _Pruning:
    def __init__(
        self,
        database: Database,
        settings: Settings,
        now: datetime,
        org_id: str,
        progress: Told | None,
        batches: int,
    ) -> None:
        self._database = database
        self._storage = settings.storage
        self._now = now
        self._org_id = org_id
        self._progress = progress
        self._batches = batches
        self.done = Pruned()
        with database.read() as connection:
            cited = self._cited_by_open_findings(connection)
        self._cited_pages = {sha256 for sha256, _ in cited}
        self._cited_runs = {run_id for _, run_id in cited}

    def go(self) -> None:
        """Everything in its order, until it is done or enough for one call."""
        self._expire(self._aged(), RUNS_AT_ONCE)
        self._drop_runs()
        self._drop_findings()
        self._drop_pages()
        self._fit()
        self._give_back()

    def _another(self, what: str) -> bool:
        """Whether one more batch may be done."""
        if self._batches <= 0:
            self.done.finished = False
            return False
        self._batches -= 1
        if self._progress is not None:
            self._progress("retention", what)
        return True

    # --- whose evidence goes ---

    def _kept(self) -> Select[tuple[str]]:
        """Runs whose evidence is kept."""
        expired = and_(DETECTIONS.c.org_id == RUNS.c.org_id, DETECTIONS.c.run_id == RUNS.c.id)
        return (
            select(RUNS.c.id)
            .select_from(RUNS.outerjoin(DETECTIONS, expired))
            .where(RUNS.c.org_id == self._org_id, DETECTIONS.c.evidence_expired_at.is_(None))
        )

    def _with_evidence(self) -> Select[tuple[str]]:
        """Ended runs with evidence, the oldest first."""
        calls = select(literal(1)).where(TOOL_CALLS.c.org_id == RUNS.c.org_id, TOOL_CALLS.c.run_id == RUNS.c.id)
        return (
            self._kept()
            .where(_ENDED, or_(DETECTIONS.c.run_id.is_not(None), calls.exists()))
            .order_by(RUNS.c.started_at, RUNS.c.id)
        )

    def _aged(self) -> Select[tuple[str]]:
        kept = self._storage.evidence_retention
        changed = select(literal(1)).where(TRANSITIONS.c.org_id == RUNS.c.org_id, TRANSITIONS.c.run_id == RUNS.c.id)
        return self._with_evidence().where(
            RUNS.c.started_at < self._now - kept,
            or_(RUNS.c.started_at < self._now - max(CHANGED_KEPT, kept), ~changed.exists()),
        )

    def _expire(self, runs: Select[tuple[str]], at_once: int, *, most: int | None = None) -> int:
        """Marks the evidence of these runs as expired: from then on nothing of it counts as kept."""
        total = 0
        while (most is None or total < most) and self._another("evidence that is old enough"):
            count = self._database.transact(lambda connection: self._expire_batch(connection, runs.limit(at_once)))
            total += count
            if count < at_once:
                break
        self.done.expired_runs += total
        return total

    def _expire_batch(self, connection: Connection, runs: Select[tuple[str]]) -> int:
        found = connection.execute(runs.add_columns(RUNS.c.started_at)).all()
        rows = [
            {"org_id": self._org_id, **detection_row(DetectionRecord(run_id=run_id, now=at)), **self._expired}
            for run_id, at in found
        ]
        if rows:
            statement = insert_or_replace(connection.dialect.name, DETECTIONS, ("evidence_expired_at",))
            connection.execute(statement, rows)
        return len(rows)

    @property
    def _expired(self) -> dict[str, datetime]:
        return {"evidence_expired_at": self._now}

    def _cited_by_open_findings(self, connection: Connection) -> Sequence[tuple[str, str]]:
        """Page and run of each call that an open finding cites, read once: what is cited later belongs to a new run."""
        cites = and_(FINDINGS.c.org_id == TOOL_CALLS.c.org_id, FINDINGS.c.tool_call_id == TOOL_CALLS.c.id)
        statement = (
            select(TOOL_CALLS.c.output_sha256, TOOL_CALLS.c.run_id)
            .select_from(FINDINGS.join(TOOL_CALLS, cites))
            .where(FINDINGS.c.org_id == self._org_id, FINDINGS.c.state == str(FindingState.OPEN))
        )
        return [(sha256, run_id) for sha256, run_id in connection.execute(statement)]

    # --- what goes ---

    def _drop_runs(self) -> None:
        """Runs and their calls. One that an open finding cites stays: it leads to the page.

        So does one that spent on a model this month: what is forgotten could be spent again.
        """
        spent = select(literal(1)).where(
            MODEL_CALLS.c.org_id == RUNS.c.org_id,
            MODEL_CALLS.c.run_id == RUNS.c.id,
            MODEL_CALLS.c.started_at >= month_start(self._now),
        )
        old = select(RUNS.c.id).where(
            RUNS.c.org_id == self._org_id,
            RUNS.c.started_at < self._now - self._storage.retention,
            _ENDED,
            ~spent.exists(),
        )
        with self._database.read() as connection:
            ids = [run_id for run_id in connection.execute(old).scalars() if run_id not in self._cited_runs]
        for some in _parts(ids, RUNS_AT_ONCE):
            if not self._another(f"{len(ids)} old runs"):
                return
            statement = RUNS.delete().where(RUNS.c.org_id == self._org_id, RUNS.c.id.in_(some))
            self.done.runs += self._delete(statement)

    def _drop_findings(self) -> None:
        """Findings that were closed long ago. What an operator said about one is kept with it."""
        old = select(FINDINGS.c.id).where(
            FINDINGS.c.org_id == self._org_id,
            FINDINGS.c.state == str(FindingState.RESOLVED),
            FINDINGS.c.resolved_at < self._now - self._storage.retention,
            FINDINGS.c.suppressed.is_(False),
            FINDINGS.c.dismissed_reason.is_(None),
            FINDINGS.c.acknowledged_at.is_(None),
        )
        while self._another("findings that were closed long ago"):
            some = old.limit(RUNS_AT_ONCE)
            statement = FINDINGS.delete().where(FINDINGS.c.org_id == self._org_id, FINDINGS.c.id.in_(some))
            count = self._delete(statement)
            self.done.findings += count
            if count < RUNS_AT_ONCE:
                return

    def _unused(self) -> tuple[ColumnElement[bool], ...]:
        """Pages that no run with kept evidence cites."""
        kept = self._kept().subquery()
        calls = select(TOOL_CALLS.c.output_sha256).where(
            TOOL_CALLS.c.org_id == self._org_id, TOOL_CALLS.c.run_id.in_(select(kept))
        )
        columns = (DETECTIONS.c.alert_settings_sha256, DETECTIONS.c.signals_sha256, DETECTIONS.c.looks_sha256)
        said = [
            select(column).where(DETECTIONS.c.org_id == self._org_id, DETECTIONS.c.evidence_expired_at.is_(None))
            for column in columns
        ]
        page = EVIDENCE_PAGES.c.sha256
        return EVIDENCE_PAGES.c.org_id == self._org_id, page.not_in(calls), *(page.not_in(each) for each in said)

    def _drop_pages(self) -> None:
        """Pages that nothing cites any more, whoever left them behind."""
        with self._database.read() as connection:
            found = connection.execute(select(EVIDENCE_PAGES.c.sha256).where(*self._unused())).scalars()
            unused = [sha256 for sha256 in found if sha256 not in self._cited_pages]
        for some in _parts(unused, PAGES_AT_ONCE):
            if not self._another(f"{len(unused)} pages of evidence"):
                return
            # Asked again inside: a run may have got the same page meanwhile.
            statement = EVIDENCE_PAGES.delete().where(EVIDENCE_PAGES.c.sha256.in_(some), *self._unused())
            self.done.pages += self._delete(statement)

    def _delete(self, statement: Delete) -> int:
        return self._database.transact(lambda connection: connection.execute(statement).rowcount)

    # --- how large it may be ---

    def _fit(self) -> None:
        """While the database is too large, the oldest evidence goes, whatever its run changed."""
        while (used := bytes_used(self._database)) > self._storage.max_bytes:
            if self._expire(self._with_evidence(), OLDEST_AT_ONCE, most=OLDEST_AT_ONCE) == 0:
                self.done.is_too_large = self.done.finished
                break
            self._drop_pages()
            if not self.done.finished:
                break
        self.done.bytes_used = used

    def _give_back(self) -> None:
        """Gives unused pages of a SQLite file back to the file system. A server does that by its own VACUUM."""
        if self._database.engine.dialect.name != "sqlite":
            return
        while self._database.transact(_free_pages) > FREE_KEPT and self._another("space given back"):
            if not self._database.transact(_give_back_pages):
                return  # a file that was made without automatic vacuum


def bytes_used(database: Database) -> int:
    """How much of the database is in use: of a SQLite file all but its unused pages, on a server the evidence.

    A server keeps the space of deleted rows for itself, so that its own size would never say that it is enough.
    """
    with database.read() as connection:
        if connection.dialect.name != "sqlite":
            return int(connection.execute(select(func.sum(func.length(EVIDENCE_PAGES.c.data)))).scalar_one() or 0)
        pages, size = (
            connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in ("page_count", "page_size")
        )
        return (int(pages) - _free_pages(connection)) * int(size)


def _free_pages(connection: Connection) -> int:
    return int(connection.exec_driver_sql("PRAGMA freelist_count").scalar_one())


def _give_back_pages(connection: Connection) -> int:
    before = _free_pages(connection)
    for _ in range(min(before - FREE_KEPT, GIVEN_BACK_AT_ONCE)):
        # One each: the driver takes one step of a statement without columns, which is one page.
        connection.exec_driver_sql("PRAGMA incremental_vacuum(1)")
    return before - _free_pages(connection)


def _parts(ids: Sequence[str], size: int) -> list[Sequence[str]]:
    return [ids[start : start + size] for start in range(0, len(ids), size)]
