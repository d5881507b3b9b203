"""Reasons to stay quiet, each with its end and its author."""

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds what this revision is about."""


def downgrade() -> None:
    """Takes it away again."""
