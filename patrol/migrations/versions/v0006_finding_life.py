"""What a finding remembers of its life: loop state, last fix, reminders, storms."""

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds what this revision is about."""


def downgrade() -> None:
    """Takes it away again."""
