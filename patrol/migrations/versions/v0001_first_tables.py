"""Findings and their changes; runs, tool calls and evidence; what one run remembers for the next."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """From nothing to the first schema."""
    _alert_settings()
    _counter()
    _evidence_page()
    _finding()
    _run()
    _sight()
    _tool_call()
    _transition()


def _alert_settings() -> None:
    op.create_table(
        "alert_settings",
        sa.Column("org_id", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("stored_at", _INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("org_id", name=op.f("pk_alert_settings")),
    )


def _counter() -> None:
    op.create_table(
        "counter",
        sa.Column("org_id", sa.String(), nullable=False),
        sa.Column("resource_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("at", _INSTANT, nullable=False),
        sa.Column("counts", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "resource_id", "name", name=op.f("pk_counter")),
        sqlite_with_rowid=False,
    )


def _evidence_page() -> None:
    op.create_table(
        "evidence_page",
        sa.Column("org_id", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("stored_at", _INSTANT, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "sha256", name=op.f("pk_evidence_page")),
    )


def _finding() -> None:
    op.create_table(
        "finding",
        sa.Column("org_id", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("resource_id", sa.String(), nullable=False),
        sa.Column("resource_name", sa.String(), nullable=False),
        sa.Column("resource_type", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("category", sa.String(), nullable=False),
        sa.Column("severity", sa.String(), nullable=False),
        sa.Column("basis", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("summary", sa.String(), nullable=False),
        sa.Column("evidence", sa.String(), nullable=False),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("limit", sa.Float(), nullable=True),
        sa.Column("limit_source", sa.String(), nullable=False),
        sa.Column("facts", sa.String(), nullable=False),
        sa.Column("tool_call_id", sa.String(), nullable=False),
        sa.Column("first_seen_at", _INSTANT, nullable=False),
        sa.Column("last_seen_at", _INSTANT, nullable=False),
        sa.Column("resolved_at", _INSTANT, nullable=True),
        sa.Column("resolve_reason", sa.String(), nullable=True),
        sa.Column("times_raised", sa.Integer(), nullable=False),
        sa.Column("raise_count", sa.Integer(), nullable=False),
        sa.Column("regression_count", sa.Integer(), nullable=False),
        sa.Column("last_regression_at", _INSTANT, nullable=True),
        sa.Column("clear_streak", sa.Integer(), nullable=False),
        sa.Column("last_run_id", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("acknowledged_at", _INSTANT, nullable=True),
        sa.Column("acknowledged_facts", sa.String(), nullable=False),
        sa.Column("snoozed_until", _INSTANT, nullable=True),
        sa.Column("dismissed_reason", sa.String(), nullable=True),
        sa.Column("suppressed", sa.Boolean(), nullable=False),
        sa.Column("investigation_status", sa.String(), nullable=True),
        sa.Column("investigation_outcome", sa.String(), nullable=True),
        sa.Column("investigation_attempts", sa.Integer(), nullable=False),
        sa.Column("last_investigated_at", _INSTANT, nullable=True),
        sa.Column("parent_finding", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_finding")),
        sa.UniqueConstraint("org_id", "key", name=op.f("uq_finding_org_id_key")),
    )
    op.create_index(op.f("ix_finding_org_id_resource_id"), "finding", ["org_id", "resource_id"])
    op.create_index(op.f("ix_finding_org_id_state"), "finding", ["org_id", "state"])


def _run() -> None:
    op.create_table(
        "run",
        sa.Column("org_id", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("type", sa.String(), nullable=False),
        sa.Column("trigger_reason", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("complete", sa.Boolean(), nullable=False),
        sa.Column("model_state", sa.String(), nullable=False),
        sa.Column("started_at", _INSTANT, nullable=False),
        sa.Column("completed_at", _INSTANT, nullable=True),
        sa.Column("lease_owner", sa.String(), nullable=False),
        sa.Column("lease_expires_at", _INSTANT, nullable=True),
        sa.Column("resources_checked", sa.Integer(), nullable=True),
        sa.Column("new_findings", sa.Integer(), nullable=True),
        sa.Column("existing_findings", sa.Integer(), nullable=True),
        sa.Column("regressed_findings", sa.Integer(), nullable=True),
        sa.Column("resolved_findings", sa.Integer(), nullable=True),
        sa.Column("error_summary", sa.String(), nullable=False),
        sa.Column("gaps", sa.String(), nullable=False),
        sa.Column("checks_off", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("alert_settings_source", sa.String(), nullable=False),
        sa.Column("alert_settings_hash", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_run")),
    )
    op.create_index(op.f("ix_run_org_id_started_at"), "run", ["org_id", "started_at"])
    op.create_index(op.f("ix_run_org_id_status"), "run", ["org_id", "status"])


def _sight() -> None:
    op.create_table(
        "sight",
        sa.Column("org_id", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("topic", sa.String(), nullable=False),
        sa.Column("resource_id", sa.String(), nullable=False),
        sa.Column("last_read_at", _INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("org_id", "source", "topic", "resource_id", name=op.f("pk_sight")),
        sqlite_with_rowid=False,
    )


def _tool_call() -> None:
    op.create_table(
        "tool_call",
        sa.Column("org_id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("tool_name", sa.String(), nullable=False),
        sa.Column("input", sa.String(), nullable=False),
        sa.Column("success", sa.Boolean(), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("started_at", _INSTANT, nullable=False),
        sa.Column("duration_seconds", sa.Float(), nullable=False),
        sa.Column("output_bytes", sa.Integer(), nullable=False),
        sa.Column("output_sha256", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "run_id"], ["run.org_id", "run.id"], name=op.f("fk_tool_call_run"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("org_id", "run_id", "seq", name=op.f("pk_tool_call")),
    )


def _transition() -> None:
    op.create_table(
        "transition",
        sa.Column("org_id", sa.String(), nullable=False),
        sa.Column("finding_id", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("old_state", sa.String(), nullable=True),
        sa.Column("new_state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("resolve_reason", sa.String(), nullable=True),
        sa.Column("old_severity", sa.String(), nullable=True),
        sa.Column("new_severity", sa.String(), nullable=False),
        sa.Column("at", _INSTANT, nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "finding_id"],
            ["finding.org_id", "finding.id"],
            name=op.f("fk_transition_finding"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("org_id", "finding_id", "version", name=op.f("pk_transition")),
    )
    op.create_index(op.f("ix_transition_org_id_run_id"), "transition", ["org_id", "run_id"])
