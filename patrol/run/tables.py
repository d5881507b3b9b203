"""Rows of runs, their tool calls and evidence, and of what one run remembers for the next."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKeyConstraint, Index, Table, false, text
from sqlmodel import Field

from findings.tables import StoredRow

_SMALL_ROWS: dict[str, Any] = {"sqlite_with_rowid": False}
"""The primary key is the table: no second tree to write for rows of a few words."""


def _added(default: str) -> dict[str, Any]:
    """A column that a later revision of the schema added: what (in SQL) the rows before it hold."""
    return {"server_default": text(default)}


class RunRow(StoredRow, table=True):
    """One run (`patrol.run.record_model.RunRecord`). `gaps`, `checks_off`, `scope` and `storms` are JSON arrays."""

    __tablename__ = "run"
    __table_args__ = (Index(None, "org_id", "started_at"), Index(None, "org_id", "status"))

    org_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    type: str
    trigger_reason: str
    status: str
    complete: bool
    model_state: str
    started_at: datetime
    completed_at: datetime | None
    lease_owner: str
    lease_expires_at: datetime | None
    resources_checked: int | None
    new_findings: int | None
    existing_findings: int | None
    regressed_findings: int | None
    resolved_findings: int | None
    error_summary: str
    gaps: str
    checks_off: str
    scope: str
    alert_settings_source: str
    alert_settings_hash: str
    storms: str = Field(sa_column_kwargs=_added("'[]'"))
    model: str = Field(sa_column_kwargs=_added("''"))
    model_cause: str = Field(sa_column_kwargs=_added("''"))
    model_said: str = Field(sa_column_kwargs=_added("''"))
    analysis: str = Field(sa_column_kwargs=_added("''"))
    status_text: str = Field(sa_column_kwargs=_added("''"))
    uncertain: int = Field(sa_column_kwargs=_added("0"))
    rejected_findings: int = Field(sa_column_kwargs=_added("0"))
    input_tokens: int = Field(sa_column_kwargs=_added("0"))
    output_tokens: int = Field(sa_column_kwargs=_added("0"))
    cost_usd: float = Field(sa_column_kwargs=_added("0"))
    cost_assumed: bool = Field(sa_column_kwargs={"server_default": false()})
    triage_flags: int | None
    finding_id: str = Field(sa_column_kwargs=_added("''"))


class ToolCallRow(StoredRow, table=True):
    """One finished tool call. Its output is an evidence page, which may be deleted earlier than the call."""

    __tablename__ = "tool_call"
    __table_args__ = (ForeignKeyConstraint(["org_id", "run_id"], ["run.org_id", "run.id"], ondelete="CASCADE"),)

    org_id: str = Field(primary_key=True)
    run_id: str = Field(primary_key=True)
    seq: int = Field(primary_key=True)
    id: str
    tool_name: str
    input: str
    success: bool
    origin: str
    started_at: datetime
    duration_seconds: float
    output_bytes: int
    output_sha256: str


class EvidencePageRow(StoredRow, table=True):
    """One output, stored once however often it came. `data` is compressed with zlib; the hash is of what it holds."""

    __tablename__ = "evidence_page"

    org_id: str = Field(primary_key=True)
    sha256: str = Field(primary_key=True)
    stored_at: datetime
    data: bytes


class DetectionRow(StoredRow, table=True):
    """What the detection of one run read beside its tool calls, and what it said (`DetectionRecord`).

    `options`: JSON object. A hash is that of an evidence page, "" where there is none. `evidence_expired_at`: since
    when the pages of this run are not kept any more.
    """

    __tablename__ = "detection"
    __table_args__ = (ForeignKeyConstraint(["org_id", "run_id"], ["run.org_id", "run.id"], ondelete="CASCADE"),)

    org_id: str = Field(primary_key=True)
    run_id: str = Field(primary_key=True)
    version: str
    now: datetime
    options: str
    alert_settings_sha256: str
    signals_sha256: str
    looks_sha256: str
    evidence_expired_at: datetime | None


class UpkeepRow(StoredRow, table=True):
    """When a piece of upkeep was last begun, by its name."""

    __tablename__ = "upkeep"

    org_id: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    begun_at: datetime


class CounterRow(StoredRow, table=True):
    """A counter as it stood at the last collection. `counts`: JSON object of numbers, in the kernel's units."""

    __tablename__ = "counter"
    __table_args__ = _SMALL_ROWS

    org_id: str = Field(primary_key=True)
    resource_id: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    at: datetime
    counts: str


class SightRow(StoredRow, table=True):
    """When something was last read: what was never read is not lost. `resource_id` "": the topic as a whole."""

    __tablename__ = "sight"
    __table_args__ = _SMALL_ROWS

    org_id: str = Field(primary_key=True)
    source: str = Field(primary_key=True)
    topic: str = Field(primary_key=True)
    resource_id: str = Field(primary_key=True)
    last_read_at: datetime


class AlertSettingsRow(StoredRow, table=True):
    """The last good alert settings of an organisation."""

    __tablename__ = "alert_settings"

    org_id: str = Field(primary_key=True)
    text: str
    sha256: str
    stored_at: datetime


RUNS: Table = StoredRow.metadata.tables["run"]
TOOL_CALLS: Table = StoredRow.metadata.tables["tool_call"]
EVIDENCE_PAGES: Table = StoredRow.metadata.tables["evidence_page"]
DETECTIONS: Table = StoredRow.metadata.tables["detection"]
UPKEEP: Table = StoredRow.metadata.tables["upkeep"]
COUNTERS: Table = StoredRow.metadata.tables["counter"]
SIGHTS: Table = StoredRow.metadata.tables["sight"]
ALERT_SETTINGS: Table = StoredRow.metadata.tables["alert_settings"]
