"""Rows of work and of its changes."""

from datetime import datetime

from sqlalchemy import ForeignKeyConstraint, Index, Table
from sqlmodel import Field

from findings.tables import StoredRow


class WorkRow(StoredRow, table=True):
    """One piece of work (`patrol.work.model.Work`)."""

    __tablename__ = "work"
    __table_args__ = (
        Index(None, "org_id", "kind", "state", "ended_at"),
        Index(None, "org_id", "key"),
        Index(None, "org_id", "run_id"),
    )

    org_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    kind: str
    key: str
    state: str
    priority: int
    payload: str
    run_id: str
    enqueued_at: datetime
    not_before: datetime | None
    attempts: int
    most_attempts: int
    lease_owner: str
    lease_expires_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    reason: str
    detail: str
    times: int
    record_owed: bool
    version: int


class WorkChangeRow(StoredRow, table=True):
    """One change of a piece of work (`patrol.work.model.WorkChange`). Never updated."""

    __tablename__ = "work_change"
    __table_args__ = (ForeignKeyConstraint(["org_id", "work_id"], ["work.org_id", "work.id"], ondelete="CASCADE"),)

    org_id: str = Field(primary_key=True)
    work_id: str = Field(primary_key=True)
    version: int = Field(primary_key=True)
    old_state: str | None
    new_state: str
    reason: str
    at: datetime
    detail: str


WORK: Table = StoredRow.metadata.tables["work"]
WORK_CHANGES: Table = StoredRow.metadata.tables["work_change"]
