"""Samples of metrics, raw and downsampled."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Adds series, their samples in blocks, and how far these are downsampled."""
    op.create_table(
        "series",
        sa.Column("org_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("resource_id", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("last_at", _INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("org_id", "number", name=op.f("pk_series")),
    )
    op.create_index(op.f("ix_series_org_id_resource_id"), "series", ["org_id", "resource_id"])
    op.create_table(
        "sample_block",
        sa.Column("org_id", sa.String(), nullable=False),
        sa.Column("resolution", sa.Integer(), nullable=False),
        sa.Column("shard", sa.Integer(), nullable=False),
        sa.Column("begin_at", _INSTANT, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "resolution", "shard", "begin_at", name=op.f("pk_sample_block")),
    )
    op.create_table(
        "sample_progress",
        sa.Column("org_id", sa.String(), nullable=False),
        sa.Column("resolution", sa.Integer(), nullable=False),
        sa.Column("shard", sa.Integer(), nullable=False),
        sa.Column("done_until", _INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("org_id", "resolution", "shard", name=op.f("pk_sample_progress")),
    )


def downgrade() -> None:
    """Forgets all samples."""
    op.drop_table("sample_progress")
    op.drop_table("sample_block")
    op.drop_index(op.f("ix_series_org_id_resource_id"), "series")
    op.drop_table("series")
