"""Rows of alerts."""

from datetime import datetime

from sqlalchemy import Index, Table
from sqlmodel import Field

from findings.tables import StoredRow


class AlertRow(StoredRow, table=True):
    """One alert (`patrol.alerts.model.StoredAlert`). `candidates` and `changes` are JSON arrays."""

    __tablename__ = "alert"
    __table_args__ = (Index(None, "org_id", "state", "expires_at"),)

    org_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    system: str
    key: str
    type: str
    state: str
    severity: str | None
    level: str
    resource_id: str
    resource_name: str
    called: str
    candidates: str
    message: str
    value: float | None
    threshold: float | None
    since: datetime
    first_reported_at: datetime
    reported_at: datetime
    expires_at: datetime
    closed_at: datetime | None
    changes: str
    flapping_since: datetime | None
    reports: int


ALERTS: Table = StoredRow.metadata.tables["alert"]
