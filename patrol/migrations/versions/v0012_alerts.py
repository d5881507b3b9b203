"""Alerts of other systems, settings that operators store, and acknowledgements of autonomy."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Adds them. Nothing of it was kept before."""
    op.create_table(
        "alert",
        *(sa.Column(name, sa.String(), nullable=False) for name in ("org_id", "id", "system", "key", "type", "state")),
        sa.Column("severity", sa.String(), nullable=True),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("level", "resource_id", "resource_name")),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("called", "candidates", "message")),
        *(sa.Column(name, sa.Float(), nullable=True) for name in ("value", "threshold")),
        *(
            sa.Column(name, _INSTANT, nullable=False)
            for name in ("since", "first_reported_at", "reported_at", "expires_at")
        ),
        sa.Column("closed_at", _INSTANT, nullable=True),
        sa.Column("changes", sa.String(), nullable=False),
        sa.Column("flapping_since", _INSTANT, nullable=True),
        sa.Column("reports", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_alert")),
    )
    op.create_index("ix_alert_org_id_state_expires_at", "alert", ["org_id", "state", "expires_at"])
    op.create_table(
        "stored_setting",
        *(sa.Column(name, sa.String(), nullable=False) for name in ("org_id", "key", "value")),
        sa.Column("set_at", _INSTANT, nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "key", name=op.f("pk_stored_setting")),
    )
    op.create_table(
        "setting_change",
        *(sa.Column(name, sa.String(), nullable=False) for name in ("org_id", "id", "key")),
        *(sa.Column(name, sa.String(), nullable=True) for name in ("old", "new")),
        sa.Column("at", _INSTANT, nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_setting_change")),
    )
    op.create_index("ix_setting_change_org_id_key_at", "setting_change", ["org_id", "key", "at"])
    op.create_table(
        "autonomy_acknowledgement",
        *(sa.Column(name, sa.String(), nullable=False) for name in ("org_id", "id")),
        sa.Column("terms_version", sa.Integer(), nullable=False),
        sa.Column("given_at", _INSTANT, nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("withdrawn_at", _INSTANT, nullable=True),
        sa.Column("withdrawn_by", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_autonomy_acknowledgement")),
    )


def downgrade() -> None:
    """Takes them away again."""
    for table in ("autonomy_acknowledgement", "setting_change", "stored_setting", "alert"):
        op.drop_table(table)
