"""Resources with memory: minted ids, aliases, presence, merges."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Adds resources and their aliases. The first run afterwards mints what is there then."""
    op.create_table(
        "resource",
        sa.Column("org_id", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("type", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("parent", sa.String(), nullable=False),
        sa.Column("place", sa.String(), nullable=False),
        sa.Column("first_seen_at", _INSTANT, nullable=False),
        sa.Column("last_seen_at", _INSTANT, nullable=False),
        sa.Column("presence", sa.String(), nullable=False),
        sa.Column("absent_runs", sa.Integer(), nullable=False),
        sa.Column("removed_at", _INSTANT, nullable=True),
        sa.Column("removed_by", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_resource")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "resource_alias",
        sa.Column("org_id", sa.String(), nullable=False),
        sa.Column("resource_id", sa.String(), nullable=False),
        sa.Column("alias", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("strength", sa.String(), nullable=False),
        sa.Column("first_seen_at", _INSTANT, nullable=False),
        sa.Column("last_seen_at", _INSTANT, nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "resource_id"],
            ["resource.org_id", "resource.id"],
            name=op.f("fk_resource_alias_resource"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("org_id", "resource_id", "alias", name=op.f("pk_resource_alias")),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    """Forgets resources and aliases; findings keep the ids that they have."""
    op.drop_table("resource_alias")
    op.drop_table("resource")
