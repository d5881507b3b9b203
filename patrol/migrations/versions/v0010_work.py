"""What is to be done and what became of it, when jobs are due, and pauses."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Adds them. Nothing was to be done before."""
    op.create_table(
        "work",
        *(sa.Column(name, sa.String(), nullable=False) for name in ("org_id", "id", "kind", "key", "state")),
        sa.Column("priority", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("payload", "run_id")),
        sa.Column("enqueued_at", _INSTANT, nullable=False),
        sa.Column("not_before", _INSTANT, nullable=True),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("attempts", "most_attempts")),
        sa.Column("lease_owner", sa.String(), nullable=False),
        *(sa.Column(name, _INSTANT, nullable=True) for name in ("lease_expires_at", "started_at", "ended_at")),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("reason", "detail")),
        sa.Column("times", sa.Integer(), nullable=False),
        sa.Column("record_owed", sa.Boolean(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_work")),
    )
    op.create_index("ix_work_org_id_kind_state_ended_at", "work", ["org_id", "kind", "state", "ended_at"])
    op.create_index("ix_work_org_id_key", "work", ["org_id", "key"])
    op.create_index("ix_work_org_id_run_id", "work", ["org_id", "run_id"])
    op.create_table(
        "work_change",
        *(sa.Column(name, sa.String(), nullable=False) for name in ("org_id", "work_id")),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("old_state", sa.String(), nullable=True),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("new_state", "reason")),
        sa.Column("at", _INSTANT, nullable=False),
        sa.Column("detail", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "work_id"], ["work.org_id", "work.id"], name=op.f("fk_work_change_work"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("org_id", "work_id", "version", name=op.f("pk_work_change")),
    )
    op.create_table(
        "job",
        *(sa.Column(name, sa.String(), nullable=False) for name in ("org_id", "name", "schedule")),
        *(sa.Column(name, _INSTANT, nullable=False) for name in ("phase_at", "due_at")),
        sa.Column("begun_at", _INSTANT, nullable=True),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("begun", "missed", "failures")),
        sa.Column("last_error", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "name", name=op.f("pk_job")),
    )
    op.create_table(
        "pause",
        *(sa.Column(name, sa.String(), nullable=False) for name in ("org_id", "id")),
        *(sa.Column(name, _INSTANT, nullable=False) for name in ("since", "set_at")),
        sa.Column("until", _INSTANT, nullable=True),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("reason", "author")),
        sa.Column("ended_at", _INSTANT, nullable=True),
        sa.Column("ended_by", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_pause")),
    )
    op.create_index("ix_pause_org_id_ended_at", "pause", ["org_id", "ended_at"])


def downgrade() -> None:
    """Takes them away again."""
    for table in ("pause", "job", "work_change", "work"):
        op.drop_table(table)
