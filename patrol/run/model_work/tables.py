"""Rows of a model's work. They live as long as their run; what is remembered for the next one stays."""

from datetime import datetime

from sqlalchemy import ForeignKeyConstraint, Index, Table
from sqlmodel import Field

from findings.tables import StoredRow


def _of_a_run() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["org_id", "run_id"], ["run.org_id", "run.id"], ondelete="CASCADE")


class ModelCallRow(StoredRow, table=True):
    """One request to a model (`patrol.agent.metering.ModelCall`), written before it is sent.

    `estimated`: the tokens are. `cost_usd` null: the price is unknown, and `assumed_usd` is charged in its place.
    """

    __tablename__ = "model_call"
    __table_args__ = (_of_a_run(), Index(None, "org_id", "started_at"))

    org_id: str = Field(primary_key=True)
    run_id: str = Field(primary_key=True)
    seq: int = Field(primary_key=True)
    phase: str
    model: str
    started_at: datetime
    duration_seconds: float
    outcome: str
    cause: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    reasoning_tokens: int
    estimated: bool
    cost_usd: float | None
    assumed_usd: float
    tool_calls: int


class ModelReportRow(StoredRow, table=True):
    """One report of a model (`patrol.run.model_work.model.ModelReport`). `cited` is a JSON array."""

    __tablename__ = "model_report"
    __table_args__ = (_of_a_run(), Index(None, "org_id", "finding_id"), Index(None, "org_id", "finding_key"))

    org_id: str = Field(primary_key=True)
    run_id: str = Field(primary_key=True)
    seq: int = Field(primary_key=True)
    call_id: str
    finding_key: str
    finding_id: str
    resource_id: str
    kind: str
    subject: str
    severity: str
    title: str
    description: str
    recommendation: str
    impact: str
    evidence: str
    cited: str
    outcome: str
    code: str


class VerdictRow(StoredRow, table=True):
    """What one run said of a finding (`patrol.run.model_work.model.VerdictRecord`)."""

    __tablename__ = "verdict"
    __table_args__ = (_of_a_run(), Index(None, "org_id", "finding_id"))

    org_id: str = Field(primary_key=True)
    run_id: str = Field(primary_key=True)
    finding_id: str = Field(primary_key=True)
    source: str = Field(primary_key=True)
    verdict: str
    evidence: str
    reason: str
    applied: bool
    code: str
    at: datetime


class EscalationRow(StoredRow, table=True):
    """Whether a finding is to be looked into (`patrol.run.model_work.model.EscalationRecord`)."""

    __tablename__ = "escalation"
    __table_args__ = (_of_a_run(), Index(None, "org_id", "at"), Index(None, "org_id", "finding_id"))

    org_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    run_id: str
    finding_id: str
    group: str
    state: str
    reason: str
    dissent: str
    at: datetime


class ModelMemoryRow(StoredRow, table=True):
    """What one run remembers of the model for the next, by its name. `text` is JSON."""

    __tablename__ = "model_memory"

    org_id: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    text: str
    at: datetime


MODEL_CALLS: Table = StoredRow.metadata.tables["model_call"]
MODEL_REPORTS: Table = StoredRow.metadata.tables["model_report"]
VERDICTS: Table = StoredRow.metadata.tables["verdict"]
ESCALATIONS: Table = StoredRow.metadata.tables["escalation"]
MODEL_MEMORY: Table = StoredRow.metadata.tables["model_memory"]
