"""A model's work in the database: requests at once, as they are made; all else in the final transaction of its run."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

import msgspec
from sqlalchemy import Connection, func, select
from sqlalchemy.sql import ColumnElement

from findings.model import DEFAULT_ORG, Finding
from findings.rows import storable
from findings.tables import FINDINGS
from patrol.agent.budget import Spent
from patrol.agent.metering import ModelCall
from patrol.database import Database
from patrol.database.inserts import insert_or_replace
from patrol.run.model_work.model import EscalationRecord, EscalationState, ModelReport, VerdictRecord
from patrol.run.model_work.rows import (
    CALL_COLUMNS,
    ESCALATION_COLUMNS,
    REPORT_COLUMNS,
    VERDICT_COLUMNS,
    call_of,
    call_row,
    escalation_of,
    escalation_row,
    report_of,
    report_row,
    verdict_of,
    verdict_row,
)
from patrol.run.model_work.tables import ESCALATIONS, MODEL_CALLS, MODEL_MEMORY, MODEL_REPORTS, VERDICTS
from patrol.run.model_work.totals import spent_by
from patrol.run.tables import RUNS

_CALL = [MODEL_CALLS.c[name] for name in CALL_COLUMNS]
_REPORT = [MODEL_REPORTS.c[name] for name in REPORT_COLUMNS]
_VERDICT = [VERDICTS.c[name] for name in VERDICT_COLUMNS]
_ESCALATION = [ESCALATIONS.c[name] for name in ESCALATION_COLUMNS]
_KEYS_AT_ONCE = 500


class CallNotFoundError(LookupError):
    """A request is to be closed that was never written down."""


class ModelWorkStore:
    """What is stored of the model's work in one organisation. Is a `patrol.agent.metering.Ledger`.

    Methods with a `connection` belong into a transaction of the caller.
    """

    def __init__(self, database: Database, org_id: str = DEFAULT_ORG) -> None:
        self._database = database
        self._org_id = org_id

    # --- requests ---

    def open_call(self, call: ModelCall) -> None:
        """Writes a request that is about to be sent, in a transaction of its own.

        Raises IntegrityError if the run does not exist or has such a request already, else StorageError.
        """
        row = {"org_id": self._org_id, **call_row(call)}
        self._database.transact(lambda connection: connection.execute(MODEL_CALLS.insert(), row))

    def close_call(self, call: ModelCall) -> None:
        """Writes how a request went, in a transaction of its own. Raises CallNotFoundError, StorageError."""
        row = call_row(call)
        key = (
            MODEL_CALLS.c.org_id == self._org_id,
            MODEL_CALLS.c.run_id == row.pop("run_id"),
            MODEL_CALLS.c.seq == row.pop("seq"),
        )
        statement = MODEL_CALLS.update().where(*key).values(row)
        if self._database.transact(lambda connection: connection.execute(statement).rowcount) != 1:
            raise CallNotFoundError(f"{call.run_id} {call.seq}")

    def spent(self, *, run_id: str | None = None, since: datetime | None = None) -> Spent:
        """What requests cost, by a known or an assumed price: those of a run, those sent since then; both, or all."""
        where: list[ColumnElement[bool]] = []
        if run_id is not None:
            where.append(MODEL_CALLS.c.run_id == run_id)
        if since is not None:
            where.append(MODEL_CALLS.c.started_at >= since)
        with self._database.read() as connection:
            return spent_by(connection, self._org_id, *where)

    def calls(self, run_id: str) -> list[ModelCall]:
        """The requests of a run, in their order."""
        statement = select(*_CALL).where(MODEL_CALLS.c.org_id == self._org_id, MODEL_CALLS.c.run_id == run_id)
        with self._database.read() as connection:
            return [call_of(row) for row in connection.execute(statement.order_by(MODEL_CALLS.c.seq))]

    # --- what it said ---

    def keep_reports(self, connection: Connection, reports: Sequence[ModelReport]) -> None:
        """Keeps what the model reported, after the findings: each report is tied to the finding of its key."""
        keys = {report.finding_key for report in reports}
        finding_ids = self._finding_ids(connection, sorted(keys))
        rows = [
            {"org_id": self._org_id, **report_row(replace(each, finding_id=finding_ids.get(each.finding_key, "")))}
            for each in reports
        ]
        if rows:
            connection.execute(MODEL_REPORTS.insert(), rows)

    def _finding_ids(self, connection: Connection, keys: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            some = FINDINGS.c.key.in_(keys[start : start + _KEYS_AT_ONCE])
            statement = select(FINDINGS.c.key, FINDINGS.c.id).where(FINDINGS.c.org_id == self._org_id, some)
            found.update((key, finding_id) for key, finding_id in connection.execute(statement))
        return found

    def keep_verdicts(self, connection: Connection, verdicts: Sequence[VerdictRecord]) -> None:
        """Keeps the verdicts of a run: one of each source on a finding."""
        rows = [{"org_id": self._org_id, **verdict_row(each)} for each in verdicts]
        if rows:
            connection.execute(VERDICTS.insert(), rows)

    def keep_escalations(self, connection: Connection, escalations: Sequence[EscalationRecord]) -> None:
        """Keeps what a run decided about looking into findings."""
        rows = [{"org_id": self._org_id, **escalation_row(each)} for each in escalations]
        if rows:
            connection.execute(ESCALATIONS.insert(), rows)

    def reports(self, run_id: str) -> list[ModelReport]:
        """What the model reported in a run, in its order."""
        where = MODEL_REPORTS.c.org_id == self._org_id, MODEL_REPORTS.c.run_id == run_id
        statement = select(*_REPORT).where(*where).order_by(MODEL_REPORTS.c.seq)
        with self._database.read() as connection:
            return [report_of(row) for row in connection.execute(statement)]

    def reports_of(self, finding: Finding, limit: int = 10) -> list[ModelReport]:
        """What models reported of a finding, the newest first."""
        # The id holds where the resource got another one; the key also finds what was reported before it was filed.
        about = (MODEL_REPORTS.c.finding_id == finding.id) | (MODEL_REPORTS.c.finding_key == finding.key)
        statement = (
            select(*_REPORT)
            .join(RUNS, (RUNS.c.org_id == MODEL_REPORTS.c.org_id) & (RUNS.c.id == MODEL_REPORTS.c.run_id))
            .where(MODEL_REPORTS.c.org_id == self._org_id, about)
            .order_by(RUNS.c.started_at.desc(), RUNS.c.id, MODEL_REPORTS.c.seq.desc())
        )
        with self._database.read() as connection:
            return [report_of(row) for row in connection.execute(statement.limit(limit))]

    def verdicts(self, run_id: str) -> list[VerdictRecord]:
        """The verdicts of a run, by finding."""
        where = VERDICTS.c.org_id == self._org_id, VERDICTS.c.run_id == run_id
        return self._verdicts(where, (VERDICTS.c.finding_id, VERDICTS.c.source), limit=None)

    def verdicts_of(self, finding: Finding, limit: int = 10) -> list[VerdictRecord]:
        """What runs said of a finding, the newest first."""
        where = VERDICTS.c.org_id == self._org_id, VERDICTS.c.finding_id == finding.id
        return self._verdicts(where, (VERDICTS.c.at.desc(), VERDICTS.c.run_id, VERDICTS.c.source), limit=limit)

    def _verdicts(
        self, where: Iterable[ColumnElement[bool]], order: Iterable[ColumnElement[object]], *, limit: int | None
    ) -> list[VerdictRecord]:
        statement = select(*_VERDICT).where(*where).order_by(*order).limit(limit)
        with self._database.read() as connection:
            return [verdict_of(row) for row in connection.execute(statement)]

    # --- what is to be looked into ---

    def escalations(
        self, *, run_id: str | None = None, finding_id: str | None = None, limit: int | None = None
    ) -> list[EscalationRecord]:
        """What runs decided about looking into findings, the newest first: all, of one run, or of one finding."""
        where = [ESCALATIONS.c.org_id == self._org_id]
        if run_id is not None:
            where.append(ESCALATIONS.c.run_id == run_id)
        if finding_id is not None:
            where.append(ESCALATIONS.c.finding_id == finding_id)
        statement = select(*_ESCALATION).where(*where).order_by(ESCALATIONS.c.at.desc(), ESCALATIONS.c.id).limit(limit)
        with self._database.read() as connection:
            return [escalation_of(row) for row in connection.execute(statement)]

    def newest_escalations(self) -> dict[str, EscalationRecord]:
        """What was last decided of each finding that is there, by finding id."""
        last = (
            select(ESCALATIONS.c.finding_id, func.max(ESCALATIONS.c.at).label("last"))
            .where(ESCALATIONS.c.org_id == self._org_id)
            .group_by(ESCALATIONS.c.finding_id)
            .subquery()
        )
        is_last = (ESCALATIONS.c.finding_id == last.c.finding_id) & (ESCALATIONS.c.at == last.c.last)
        there = (FINDINGS.c.org_id == ESCALATIONS.c.org_id) & (FINDINGS.c.id == ESCALATIONS.c.finding_id)
        statement = (
            select(*_ESCALATION)
            .join(last, is_last)
            .join(FINDINGS, there)
            .where(ESCALATIONS.c.org_id == self._org_id)
            .order_by(ESCALATIONS.c.id)
        )
        with self._database.read() as connection:
            found = [escalation_of(row) for row in connection.execute(statement)]
        return {each.finding_id: each for each in found}

    def queued_since(self, at: datetime) -> int:
        """How many findings were queued to be looked into since then."""
        statement = select(func.count()).where(
            ESCALATIONS.c.org_id == self._org_id,
            ESCALATIONS.c.at >= at,
            ESCALATIONS.c.state == str(EscalationState.QUEUED),
        )
        with self._database.read() as connection:
            return int(connection.execute(statement).scalar_one())

    # --- what is remembered ---

    def remembered(self, name: str) -> object:
        """What was remembered under this name: a JSON value, None if nothing."""
        statement = select(MODEL_MEMORY.c.text).where(
            MODEL_MEMORY.c.org_id == self._org_id, MODEL_MEMORY.c.name == name
        )
        with self._database.read() as connection:
            text = connection.execute(statement).scalar_one_or_none()
        return None if text is None else msgspec.json.decode(text)

    def remember(self, name: str, value: object, at: datetime, connection: Connection | None = None) -> None:
        """Remembers a JSON value under this name, in the place of the one before; None forgets it."""
        if connection is None:
            self._database.transact(lambda own: self._remember(own, name, value, at))
        else:
            self._remember(connection, name, value, at)

    def _remember(self, connection: Connection, name: str, value: object, at: datetime) -> None:
        if value is None:
            here = MODEL_MEMORY.c.org_id == self._org_id, MODEL_MEMORY.c.name == name
            connection.execute(MODEL_MEMORY.delete().where(*here))
            return
        row = {"org_id": self._org_id, "name": name, "text": storable(msgspec.json.encode(value).decode()), "at": at}
        connection.execute(insert_or_replace(connection.dialect.name, MODEL_MEMORY, ("text", "at")), row)
