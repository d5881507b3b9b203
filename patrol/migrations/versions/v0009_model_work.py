"""What a model cost, reported, judged and wanted looked into; and what a run says of the model's part in it."""

from datetime import datetime
from typing import TypeAlias

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_INSTANT = sa.DateTime(timezone=True)
_Column: TypeAlias = sa.Column[str] | sa.Column[int] | sa.Column[float] | sa.Column[bool] | sa.Column[datetime]


def upgrade() -> None:
    """Adds them. Runs of before had no model."""
    for column in _of_run():
        op.add_column("run", column)
    _of_a_run(
        "model_call",
        ("seq",),
        *_texts("phase", "model"),
        sa.Column("started_at", _INSTANT, nullable=False),
        sa.Column("duration_seconds", sa.Float(), nullable=False),
        *_texts("outcome", "cause"),
        *_integers("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens"),
        sa.Column("estimated", sa.Boolean(), nullable=False),
        sa.Column("cost_usd", sa.Float(), nullable=True),
        sa.Column("assumed_usd", sa.Float(), nullable=False),
        *_integers("tool_calls"),
        indexes=("started_at",),
    )
    _of_a_run(
        "model_report",
        ("seq",),
        *_texts("call_id", "finding_key", "finding_id", "resource_id", "kind", "subject", "severity", "title"),
        *_texts("description", "recommendation", "impact", "evidence", "cited", "outcome", "code"),
        indexes=("finding_id", "finding_key"),
    )
    _of_a_run(
        "verdict",
        ("finding_id", "source"),
        *_texts("verdict", "evidence", "reason"),
        sa.Column("applied", sa.Boolean(), nullable=False),
        *_texts("code"),
        sa.Column("at", _INSTANT, nullable=False),
        indexes=("finding_id",),
    )
    _escalation()
    op.create_table(
        "model_memory",
        *_texts("org_id", "name", "text"),
        sa.Column("at", _INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("org_id", "name", name=op.f("pk_model_memory")),
    )


def downgrade() -> None:
    """Takes them away again."""
    for table in ("model_memory", "escalation", "verdict", "model_report", "model_call"):
        op.drop_table(table)
    for column in reversed(_of_run()):
        op.drop_column("run", column.name)


def _of_run() -> list[_Column]:
    empty, zero = sa.text("''"), sa.text("0")
    return [
        *(sa.Column(each, sa.String(), nullable=False, server_default=empty) for each in ("model", "model_cause")),
        *(sa.Column(each, sa.String(), nullable=False, server_default=empty) for each in ("model_said", "analysis")),
        sa.Column("status_text", sa.String(), nullable=False, server_default=empty),
        sa.Column("uncertain", sa.Integer(), nullable=False, server_default=zero),
        sa.Column("rejected_findings", sa.Integer(), nullable=False, server_default=zero),
        sa.Column("input_tokens", sa.Integer(), nullable=False, server_default=zero),
        sa.Column("output_tokens", sa.Integer(), nullable=False, server_default=zero),
        sa.Column("cost_usd", sa.Float(), nullable=False, server_default=zero),
        sa.Column("cost_assumed", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("triage_flags", sa.Integer(), nullable=True),
    ]


def _texts(*names: str) -> list[_Column]:
    return [sa.Column(name, sa.String(), nullable=False) for name in names]


def _integers(*names: str) -> list[_Column]:
    return [sa.Column(name, sa.Integer(), nullable=False) for name in names]


def _of_a_run(table: str, key: tuple[str, ...], *columns: _Column, indexes: tuple[str, ...]) -> None:
    """A table whose rows go with their run, keyed by it and by what tells them apart."""
    apart: list[_Column] = [*_integers("seq")] if key == ("seq",) else _texts(*key)
    op.create_table(
        table,
        *_texts("org_id", "run_id"),
        *apart,
        *columns,
        _with_its_run(table),
        sa.PrimaryKeyConstraint("org_id", "run_id", *key, name=op.f(f"pk_{table}")),
    )
    _indexes(table, indexes)


def _escalation() -> None:
    op.create_table(
        "escalation",
        *_texts("org_id", "id", "run_id", "finding_id", "group", "state", "reason", "dissent"),
        sa.Column("at", _INSTANT, nullable=False),
        _with_its_run("escalation"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_escalation")),
    )
    _indexes("escalation", ("at", "finding_id"))


def _with_its_run(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["org_id", "run_id"], ["run.org_id", "run.id"], name=op.f(f"fk_{table}_run"), ondelete="CASCADE"
    )


def _indexes(table: str, columns: tuple[str, ...]) -> None:
    for column in columns:
        op.create_index(op.f(f"ix_{table}_org_id_{column}"), table, ["org_id", column])
