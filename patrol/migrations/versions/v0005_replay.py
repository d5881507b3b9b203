"""What a run needs to be detected again, exactly."""

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds what this revision is about."""


def downgrade() -> None:
    """Takes it away again."""
