"""Samples of metrics, raw and downsampled."""

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds what this revision is about."""


def downgrade() -> None:
    """Takes it away again."""
