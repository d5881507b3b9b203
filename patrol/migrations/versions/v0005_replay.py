"""What a run needs to be detected again, exactly; and when upkeep was last done."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Adds what a detection read and said, and the times of upkeep. Runs of before have no such row."""
    op.create_table(
        "detection",
        sa.Column("org_id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("now", _INSTANT, nullable=False),
        sa.Column("options", sa.String(), nullable=False),
        sa.Column("alert_settings_sha256", sa.String(), nullable=False),
        sa.Column("signals_sha256", sa.String(), nullable=False),
        sa.Column("looks_sha256", sa.String(), nullable=False),
        sa.Column("evidence_expired_at", _INSTANT, nullable=True),
        sa.ForeignKeyConstraint(
            ["org_id", "run_id"], ["run.org_id", "run.id"], name=op.f("fk_detection_run"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("org_id", "run_id", name=op.f("pk_detection")),
    )
    op.create_table(
        "upkeep",
        sa.Column("org_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("begun_at", _INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("org_id", "name", name=op.f("pk_upkeep")),
    )


def downgrade() -> None:
    """Takes them away again."""
    op.drop_table("upkeep")
    op.drop_table("detection")
