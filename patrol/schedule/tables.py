"""Rows of jobs and of pauses."""

from datetime import datetime

from sqlalchemy import Index, Table
from sqlmodel import Field

from findings.tables import StoredRow


class JobRow(StoredRow, table=True):
    """Where a job stands (`patrol.schedule.model.JobState`)."""

    __tablename__ = "job"

    org_id: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    schedule: str
    phase_at: datetime
    due_at: datetime
    begun_at: datetime | None
    begun: int
    missed: int
    failures: int
    last_error: str
    version: int


class PauseRow(StoredRow, table=True):
    """One pause (`patrol.schedule.pauses.Pause`). Kept when it is over."""

    __tablename__ = "pause"
    __table_args__ = (Index(None, "org_id", "ended_at"),)

    org_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    since: datetime
    set_at: datetime
    until: datetime | None
    reason: str
    author: str
    ended_at: datetime | None
    ended_by: str


JOBS: Table = StoredRow.metadata.tables["job"]
PAUSES: Table = StoredRow.metadata.tables["pause"]
