"""Who may do what: tokens, users, roles and sessions."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Adds them. Nobody was known before."""
    op.create_table(
        "api_token",
        *(sa.Column(name, sa.String(), nullable=False) for name in ("org_id", "id", "name", "secret_hash")),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("prefix", "scopes", "bound_to")),
        sa.Column("created_at", _INSTANT, nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        *(sa.Column(name, _INSTANT, nullable=True) for name in ("expires_at", "last_used_at", "revoked_at")),
        sa.Column("revoked_by", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_api_token")),
        sa.UniqueConstraint("org_id", "secret_hash", name=op.f("uq_api_token_org_id_secret_hash")),
    )
    op.create_table(
        "account",
        *(sa.Column(name, sa.String(), nullable=False) for name in ("org_id", "name", "password_hash")),
        sa.Column("is_administrator", sa.Boolean(), nullable=False),
        sa.Column("created_at", _INSTANT, nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("password_at", _INSTANT, nullable=False),
        sa.Column("removed_at", _INSTANT, nullable=True),
        sa.Column("removed_by", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "name", name=op.f("pk_account")),
    )
    op.create_table(
        "membership",
        *(sa.Column(name, sa.String(), nullable=False) for name in ("org_id", "name", "organisation", "role")),
        sa.Column("since", _INSTANT, nullable=False),
        sa.Column("given_by", sa.String(), nullable=False),
        _of_an_account("membership"),
        sa.PrimaryKeyConstraint("org_id", "name", "organisation", name=op.f("pk_membership")),
    )
    op.create_table(
        "session",
        *(sa.Column(name, sa.String(), nullable=False) for name in ("org_id", "secret_hash", "name")),
        *(sa.Column(name, _INSTANT, nullable=False) for name in ("created_at", "seen_at", "expires_at")),
        _of_an_account("session"),
        sa.PrimaryKeyConstraint("org_id", "secret_hash", name=op.f("pk_session")),
    )
    op.create_index("ix_session_org_id_name_created_at", "session", ["org_id", "name", "created_at"])


def _of_an_account(table: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_account")
    return sa.ForeignKeyConstraint(
        ["org_id", "name"], ["account.org_id", "account.name"], name=name, ondelete="CASCADE"
    )


def downgrade() -> None:
    """Takes them away again."""
    for table in ("session", "membership", "account", "api_token"):
        op.drop_table(table)
