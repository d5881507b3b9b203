"""Runs in the database: begun, followed call by call, ended once.

A run's row and its finished tool calls are committed as they happen, so that a crash leaves behind what was seen;
how it ended is written in the final transaction together with its findings.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, func, select
from sqlalchemy.sql import ColumnElement

from findings.model import DEFAULT_ORG
from patrol.database import Database
from patrol.run.evidence import Pages, page_hash
from patrol.run.model_work.totals import cost_of_run
from patrol.run.record_model import RunRecord, RunStatus, RunType, ToolCallRecord
from patrol.run.rows import CALL_COLUMNS, RUN_COLUMNS, call_of, call_row, run_of, run_row
from patrol.run.tables import RUNS, TOOL_CALLS

_RUN = [RUNS.c[name] for name in RUN_COLUMNS]
_CALL = [TOOL_CALLS.c[name] for name in CALL_COLUMNS]
_ADD_CALL = TOOL_CALLS.insert()
_WITH_RESULTS = [
    str(each) for each in (RunStatus.CRITICAL, RunStatus.ISSUES_FOUND, RunStatus.INCOMPLETE, RunStatus.HEALTHY)
]


IsGone = Callable[[str], bool]
"""Whether the process that the owner of a lease names is certain to be gone."""


def nobody_can_tell(_owner: str) -> bool:
    """Takes every owner for alive: only the end of a lease shows that a run crashed."""
    return False


class RunNotFoundError(LookupError):
    """There is no such run in this organisation."""


class RunInProgressError(Exception):
    """Another run is in the slot. `run`: which, whose, and until when."""

    def __init__(self, run: RunRecord) -> None:
        since = f"since {run.started_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
        owner = run.lease_owner.partition("@")[
            0
        ]  # host and process, without what tells two processes of one number apart
        super().__init__(f"another run is under way {since} (run {run.id} of {owner})")
        self.run = run


class RunEndedError(Exception):
    """The run is not running (any more): it was closed, or taken for crashed. Its results must not be written."""


class RunStore:
    """The runs of one organisation. Methods with a `connection` belong into a transaction of the caller."""

    def __init__(self, database: Database, org_id: str = DEFAULT_ORG) -> None:
        self._database = database
        self._org_id = org_id

    def begin(self, run: RunRecord) -> None:
        """Records that a run starts, and takes its lease.

        Raises RunInProgressError while another run of its slot has a lease that is not over at `run.started_at`.
        """
        self._check_org(run)

        def work(connection: Connection) -> None:
            for other in self._running(connection):
                if other.slot is run.slot and not _lease_is_over(other, run.started_at):
                    raise RunInProgressError(other)
            connection.execute(RUNS.insert(), run_row(run))

        # As one step after the other, on a server too: of two that begin at the same time the second is redone.
        self._database.transact(work)

    def extend_lease(self, run_id: str, until: datetime) -> None:
        """Says that a run is alive. Raises RunEndedError if it was taken for crashed meanwhile."""
        statement = RUNS.update().where(*self._is_running(run_id)).values(lease_expires_at=until)
        if self._database.transact(lambda connection: connection.execute(statement).rowcount) != 1:
            raise RunEndedError(run_id)

    def revive(self, run_ids: Collection[str], until: datetime) -> None:
        """Says that these runs are alive, those of them that are not closed."""
        statement = RUNS.update().where(
            RUNS.c.org_id == self._org_id, RUNS.c.id.in_(list(run_ids)), RUNS.c.status == str(RunStatus.RUNNING)
        )
        if run_ids:
            self._database.transact(
                lambda connection: connection.execute(statement.values(lease_expires_at=until)).rowcount
            )

    def add_tool_call(
        self,
        run_id: str,
        *,
        seq: int,
        call_id: str,
        tool_name: str,
        input_json: str,
        output: str | bytes,
        success: bool,
        origin: str,
        started_at: datetime,
        duration_seconds: float,
    ) -> ToolCallRecord:
        """Records a finished tool call with its output, at once. An output that is already known is not stored again.

        Raises IntegrityError if the run does not exist, or has a call with this `seq`.
        """
        page = output if isinstance(output, bytes) else output.encode("utf-8", "replace")
        call = ToolCallRecord(
            run_id=run_id,
            seq=seq,
            id=call_id,
            tool_name=tool_name,
            input=input_json,
            success=success,
            origin=origin,
            started_at=started_at,
            duration_seconds=duration_seconds,
            output_bytes=len(page),
            output_sha256=page_hash(page),
        )

        def work(connection: Connection) -> None:
            connection.execute(_ADD_CALL, {"org_id": self._org_id, **call_row(call)})
            at = started_at + timedelta(seconds=duration_seconds)
            Pages(connection, self._org_id).keep(page, at, sha256=call.output_sha256)

        self._database.transact(work)
        return call

    def finish(self, connection: Connection, run: RunRecord) -> None:
        """Records how a run ended, as part of the final transaction.

        Raises RunEndedError if it is not running any more: then nothing that it computed may be stored.
        """
        self._check_org(run)
        if run.status is RunStatus.RUNNING or run.completed_at is None:
            raise ValueError("a run ends with a status and a time")
        row = run_row(run)
        if not (run.input_tokens or run.output_tokens):
            # One that ended before it could add up what its requests cost: they were written as they were sent.
            row.update(cost_of_run(connection, run.id, self._org_id))
        del row["org_id"], row["id"]
        if connection.execute(RUNS.update().where(*self._is_running(run.id)).values(row)).rowcount != 1:
            raise RunEndedError(run.id)

    def end_early(self, run: RunRecord) -> None:
        """Records a run that ends without results (cancelled, failed) in a transaction of its own."""
        self._database.transact(lambda connection: self.finish(connection, run))

    def record_unstarted(self, run: RunRecord) -> None:
        """Records a run that was wanted but never began: dropped or skipped, with its reason."""
        self._check_org(run)
        self._database.transact(lambda connection: connection.execute(RUNS.insert(), run_row(run)))

    def close_crashed(self, now: datetime, is_gone: IsGone = nobody_can_tell) -> list[RunRecord]:
        """Closes every unfinished run whose lease is over or whose owner is gone, and returns them as they are now.

        `is_gone`: whether the process that a lease's owner names is certain not to run any more.
        """

        def work(connection: Connection) -> list[RunRecord]:
            crashed = [
                replace(
                    run,
                    status=RunStatus.CRASHED,
                    completed_at=now,
                    complete=False,
                    error_summary="the process ended before the run did; its tool calls up to then are kept",
                )
                for run in self._running(connection)
                if _lease_is_over(run, now) or is_gone(run.lease_owner)
            ]
            for run in crashed:
                self.finish(connection, run)
            return crashed

        return self._database.transact(work)

    def follows_crash(self, now: datetime, run_type: RunType = RunType.FULL) -> bool:
        """Whether a run crashed that no run of this type, or a larger one, has caught up on yet.

        Only a full run catches up on all of it: a look at one thing in between changes nothing for the whole. A crash
        that lies ahead is of a clock that was wrong: nothing could catch up on it until that time comes.
        """
        crashed = select(func.max(RUNS.c.started_at)).where(
            RUNS.c.org_id == self._org_id, RUNS.c.status == str(RunStatus.CRASHED), RUNS.c.started_at <= now
        )
        types = [RunType.FULL] if run_type is RunType.FULL else list(RunType)
        caught_up = select(func.max(RUNS.c.started_at)).where(
            RUNS.c.org_id == self._org_id,
            RUNS.c.type.in_([str(each) for each in types]),
            RUNS.c.status.in_([*_WITH_RESULTS, str(RunStatus.TIMED_OUT)]),
        )
        with self._database.read() as connection:
            fell_at = connection.execute(crashed).scalar_one()
            looked_at = connection.execute(caught_up).scalar_one()
        return fell_at is not None and (looked_at is None or looked_at < fell_at)

    def started_before(self, run: RunRecord) -> datetime | None:
        """When the last run before this one began that came to its end with results; None: there was none."""
        statement = select(RUNS.c.started_at).where(
            RUNS.c.org_id == self._org_id,
            RUNS.c.type == str(run.type),
            RUNS.c.id != run.id,
            RUNS.c.status.in_(_WITH_RESULTS),
            RUNS.c.started_at <= run.started_at,
        )
        with self._database.read() as connection:
            return connection.execute(statement.order_by(RUNS.c.started_at.desc()).limit(1)).scalar_one_or_none()

    def find(self, run_id: str) -> RunRecord | None:
        """The run of this id, or None."""
        statement = select(*_RUN).where(RUNS.c.org_id == self._org_id, RUNS.c.id == run_id)
        with self._database.read() as connection:
            row = connection.execute(statement).first()
        return run_of(row) if row is not None else None

    def get(self, run_id: str) -> RunRecord:
        """The run of this id. Raises RunNotFoundError."""
        run = self.find(run_id)
        if run is None:
            raise RunNotFoundError(run_id)
        return run

    def list_runs(self, limit: int = 50) -> list[RunRecord]:
        """The newest runs, newest first."""
        statement = select(*_RUN).where(RUNS.c.org_id == self._org_id)
        statement = statement.order_by(RUNS.c.started_at.desc(), RUNS.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            return [run_of(row) for row in connection.execute(statement)]

    def tool_calls(self, run_id: str) -> list[ToolCallRecord]:
        """The finished tool calls of a run, in their order, without their outputs."""
        statement = select(*_CALL).where(TOOL_CALLS.c.org_id == self._org_id, TOOL_CALLS.c.run_id == run_id)
        with self._database.read() as connection:
            return [call_of(row) for row in connection.execute(statement.order_by(TOOL_CALLS.c.seq))]

    def find_page(self, sha256: str) -> bytes | None:
        """The output of this hash; None if evidence of that age is not kept any more."""
        with self._database.read() as connection:
            return Pages(connection, self._org_id).find(sha256)

    def _running(self, connection: Connection) -> list[RunRecord]:
        statement = select(*_RUN).where(RUNS.c.org_id == self._org_id, RUNS.c.status == str(RunStatus.RUNNING))
        return [run_of(row) for row in connection.execute(statement.order_by(RUNS.c.started_at))]

    def _is_running(self, run_id: str) -> tuple[ColumnElement[bool], ...]:
        return RUNS.c.org_id == self._org_id, RUNS.c.id == run_id, RUNS.c.status == str(RunStatus.RUNNING)

    def _check_org(self, run: RunRecord) -> None:
        if run.org_id != self._org_id:
            raise ValueError(f"the run {run.id} does not belong to {self._org_id}")


def _lease_is_over(run: RunRecord, at: datetime) -> bool:
    """Also of a run that never had one: nobody can tell that it is alive."""
    return run.lease_expires_at is None or run.lease_expires_at <= at
