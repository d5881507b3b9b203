"""Runs as they are listed: page by page, with what belongs to each. Reads only."""

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, func, or_, select

from findings.assembly import FINDING_COLUMNS
from findings.model import Finding
from findings.rows import finding_of
from findings.tables import FINDINGS, TRANSITIONS
from patrol.run.record_model import RunRecord, RunStatus, RunType
from patrol.run.rows import RUN_COLUMNS, run_of
from patrol.run.tables import RUNS, TOOL_CALLS

_RUN = [RUNS.c[name] for name in RUN_COLUMNS]
_FINDING = [FINDINGS.c[name] for name in FINDING_COLUMNS]
_UNSTARTED = (RunStatus.DROPPED, RunStatus.SKIPPED)
_CONCLUDED = (RunStatus.CRITICAL, RunStatus.ISSUES_FOUND, RunStatus.HEALTHY)


class RunPlace(NamedTuple):
    """Where a run stands in the list: the newest first."""

    started_at: datetime
    id: str

    @classmethod
    def of(cls, run: RunRecord) -> "RunPlace":
        """The place of this run."""
        return cls(run.started_at, run.id)


def list_page(
    connection: Connection, org_id: str, size: int, *, after: RunPlace | None = None, since: datetime | None = None
) -> list[RunRecord]:
    """The next runs, the newest first. `after`: the place of the last one seen; `since`: no run that began before."""
    statement = select(*_RUN).where(RUNS.c.org_id == org_id)
    if since is not None:
        statement = statement.where(RUNS.c.started_at >= since)
    if after is not None:
        at = RUNS.c.started_at
        statement = statement.where(
            at <= after.started_at, or_(at < after.started_at, and_(at == after.started_at, RUNS.c.id < after.id))
        )
    statement = statement.order_by(RUNS.c.started_at.desc(), RUNS.c.id.desc()).limit(size)
    return [run_of(row) for row in connection.execute(statement)]


def running(connection: Connection, org_id: str) -> list[RunRecord]:
    """The runs under way, the oldest first: one for each slot at most."""
    where = RUNS.c.status == str(RunStatus.RUNNING)
    return _found(connection, org_id, where, newest_first=False)


def newest(connection: Connection, org_id: str, *, run_type: RunType | None = None) -> RunRecord | None:
    """The newest run that was begun and has ended; of this type, where one is given."""
    open_ones = [str(each) for each in (*_UNSTARTED, RunStatus.RUNNING)]
    where: ColumnElement[bool] = RUNS.c.status.not_in(open_ones)
    if run_type is not None:
        where = and_(where, RUNS.c.type == str(run_type))
    return next(iter(_found(connection, org_id, where, limit=1)), None)


def saw_everything_at(connection: Connection, org_id: str) -> datetime | None:
    """When the newest full run ended that lost nothing from sight; None if there was none."""
    statement = select(func.max(RUNS.c.completed_at)).where(
        RUNS.c.org_id == org_id,
        RUNS.c.type == str(RunType.FULL),
        RUNS.c.status.in_([str(each) for each in _CONCLUDED]),
        RUNS.c.complete,
    )
    at: datetime | None = connection.execute(statement).scalar_one()
    return at


def _found(
    connection: Connection,
    org_id: str,
    where: ColumnElement[bool],
    *,
    newest_first: bool = True,
    limit: int | None = None,
) -> list[RunRecord]:
    order = (RUNS.c.started_at.desc(), RUNS.c.id.desc()) if newest_first else (RUNS.c.started_at, RUNS.c.id)
    statement = select(*_RUN).where(RUNS.c.org_id == org_id, where).order_by(*order).limit(limit)
    return [run_of(row) for row in connection.execute(statement)]


def finding_ids_of(connection: Connection, org_id: str, run_ids: Collection[str]) -> dict[str, list[str]]:
    """The findings that each run changed, or was the last to see; by run, sorted."""
    wanted = sorted(set(run_ids) - {""})
    changed = select(TRANSITIONS.c.run_id, TRANSITIONS.c.finding_id).where(
        TRANSITIONS.c.org_id == org_id, TRANSITIONS.c.run_id.in_(wanted)
    )
    seen = select(FINDINGS.c.last_run_id, FINDINGS.c.id).where(
        FINDINGS.c.org_id == org_id, FINDINGS.c.last_run_id.in_(wanted)
    )
    found: dict[str, set[str]] = {run_id: set() for run_id in run_ids}
    for run_id, finding_id in connection.execute(changed.union(seen)):
        found[run_id].add(finding_id)
    return {run_id: sorted(ids) for run_id, ids in found.items()}


def findings_of(connection: Connection, org_id: str, run_id: str) -> list[Finding]:
    """The findings that a run changed, or was the last to see: open ones first, the worst first."""
    ids = finding_ids_of(connection, org_id, [run_id])[run_id]
    found: list[Finding] = []
    for start in range(0, len(ids), 500):
        statement = select(*_FINDING).where(FINDINGS.c.org_id == org_id, FINDINGS.c.id.in_(ids[start : start + 500]))
        found.extend(finding_of(row) for row in connection.execute(statement))
    return sorted(found, key=lambda each: (not each.is_open, -each.severity.rank, each.id))


def tool_call_counts(connection: Connection, org_id: str, run_ids: Sequence[str]) -> Counter[str]:
    """How many tool calls each run has recorded."""
    statement = select(TOOL_CALLS.c.run_id, func.count()).where(
        TOOL_CALLS.c.org_id == org_id, TOOL_CALLS.c.run_id.in_(list(run_ids))
    )
    rows = connection.execute(statement.group_by(TOOL_CALLS.c.run_id))
    return Counter({run_id: count for run_id, count in rows})  # noqa: C416 - a row is no pair to the type checker
