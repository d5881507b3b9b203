"""Rows of findings, their changes, and silences. `org_id` stands first in every key: nothing goes without it.

Values are checked where they come in (`findings.model`, `findings.lifecycle`), not here: a table class of SQLModel
does not validate. Instants are stored in UTC and come back aware.
"""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import ForeignKeyConstraint, Index, MetaData, Table, UniqueConstraint, text
from sqlmodel import Field, SQLModel


class StoredRow(SQLModel):
    """Base of all tables. Constraints get names, which later migrations need to find them by."""

    metadata: ClassVar[MetaData] = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


def _added(default: str) -> dict[str, Any]:
    """A column that a later revision of the schema added: what (in SQL) the rows before it hold."""
    return {"server_default": text(default)}


class FindingRow(StoredRow, table=True):
    """One finding (`findings.model`). `facts` and `acknowledged_facts` are JSON objects, `lives_on` an array."""

    __tablename__ = "finding"
    __table_args__ = (
        UniqueConstraint("org_id", "key"),
        Index(None, "org_id", "state", "severity", "last_seen_at", "id"),  # the order in which they are listed
        Index(None, "org_id", "resource_id"),
    )

    org_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    key: str
    resource_id: str
    resource_name: str
    resource_type: str
    kind: str
    subject: str
    category: str
    severity: str
    basis: str
    state: str
    title: str
    summary: str
    evidence: str
    value: float | None
    limit: float | None
    limit_source: str
    facts: str
    tool_call_id: str
    first_seen_at: datetime
    last_seen_at: datetime
    resolved_at: datetime | None
    resolve_reason: str | None
    times_raised: int
    raise_count: int
    regression_count: int
    last_regression_at: datetime | None
    clear_streak: int
    last_run_id: str
    version: int
    acknowledged_at: datetime | None
    acknowledged_facts: str
    snoozed_until: datetime | None
    dismissed_reason: str | None
    suppressed: bool
    investigation_status: str | None
    investigation_outcome: str | None
    investigation_attempts: int
    last_investigated_at: datetime | None
    parent_finding: str
    lives_on: str = Field(sa_column_kwargs=_added("'[]'"))
    acknowledged_by: str = Field(sa_column_kwargs=_added("''"))
    silenced_at: datetime | None
    silenced_by: str = Field(sa_column_kwargs=_added("''"))
    silence_note: str = Field(sa_column_kwargs=_added("''"))
    remind_at: datetime | None
    remind_count: int = Field(sa_column_kwargs=_added("0"))
    user_note: str = Field(sa_column_kwargs=_added("''"))
    confirmed_at: datetime | None
    unconfirmed_runs: int = Field(sa_column_kwargs=_added("0"))


class TransitionRow(StoredRow, table=True):
    """One change of a finding (`findings.model.Transition`). Never updated."""

    __tablename__ = "transition"
    __table_args__ = (
        ForeignKeyConstraint(["org_id", "finding_id"], ["finding.org_id", "finding.id"], ondelete="CASCADE"),
        Index(None, "org_id", "run_id"),
    )

    org_id: str = Field(primary_key=True)
    finding_id: str = Field(primary_key=True)
    version: int = Field(primary_key=True)
    run_id: str
    old_state: str | None
    new_state: str
    reason: str
    resolve_reason: str | None
    old_severity: str | None
    new_severity: str
    at: datetime
    old_quiet: str | None
    new_quiet: str | None
    author: str = Field(sa_column_kwargs=_added("''"))
    note: str = Field(sa_column_kwargs=_added("''"))
    until: datetime | None
    dismissed_reason: str | None


class SilenceRow(StoredRow, table=True):
    """One silence (`findings.silence.Silence`). Only its end by hand is ever written later."""

    __tablename__ = "silence"
    __table_args__ = (Index(None, "org_id", "created_at"),)

    org_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    kind: str
    resource_id: str
    resource_name: str
    finding_kind: str
    starts_at: datetime
    ends_at: datetime | None
    reason: str
    author: str
    created_at: datetime
    ended_at: datetime | None
    ended_by: str


FINDINGS: Table = StoredRow.metadata.tables["finding"]
TRANSITIONS: Table = StoredRow.metadata.tables["transition"]
SILENCES: Table = StoredRow.metadata.tables["silence"]
