"""Rows of remembered resources and their aliases."""

from datetime import datetime

from sqlalchemy import ForeignKeyConstraint, Table
from sqlmodel import Field

from findings.tables import StoredRow


class ResourceRow(StoredRow, table=True):
    """One resource (`patrol.estate.memory.model.Remembered`)."""

    __tablename__ = "resource"
    __table_args__ = {"sqlite_with_rowid": False}  # noqa: RUF012 - read once, by SQLAlchemy

    org_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    type: str
    name: str
    source: str
    parent: str
    place: str
    first_seen_at: datetime
    last_seen_at: datetime
    presence: str
    absent_runs: int
    removed_at: datetime | None
    removed_by: str | None


class ResourceAliasRow(StoredRow, table=True):
    """One other id or name of a resource (`patrol.estate.memory.model.Alias`). Several may be called alike."""

    __tablename__ = "resource_alias"
    __table_args__ = (
        ForeignKeyConstraint(["org_id", "resource_id"], ["resource.org_id", "resource.id"], ondelete="CASCADE"),
        {"sqlite_with_rowid": False},
    )

    org_id: str = Field(primary_key=True)
    resource_id: str = Field(primary_key=True)
    alias: str = Field(primary_key=True)
    source: str
    strength: str
    first_seen_at: datetime
    last_seen_at: datetime


RESOURCES: Table = StoredRow.metadata.tables["resource"]
ALIASES: Table = StoredRow.metadata.tables["resource_alias"]
