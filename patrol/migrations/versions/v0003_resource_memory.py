"""Resources with memory: minted ids, aliases, presence, merges."""

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds what this revision is about."""


def downgrade() -> None:
    """Takes it away again."""
