"""Findings in the order in which they are listed: a page of many costs what a page of few does."""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_OLD = "ix_finding_org_id_state"
_NEW = "ix_finding_org_id_state_severity_last_seen_at_id"


def upgrade() -> None:
    """One index takes the place of another that is its beginning."""
    op.create_index(_NEW, "finding", ["org_id", "state", "severity", "last_seen_at", "id"])
    op.drop_index(_OLD, "finding")


def downgrade() -> None:
    """The other way round."""
    op.create_index(_OLD, "finding", ["org_id", "state"])
    op.drop_index(_NEW, "finding")
