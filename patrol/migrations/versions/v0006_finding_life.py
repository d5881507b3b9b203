"""What a run keeps of the storms it was part of. All else of a finding's life follows from what is stored already."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds it. Runs of before were part of none."""
    op.add_column("run", sa.Column("storms", sa.String(), nullable=False, server_default=sa.text("'[]'")))


def downgrade() -> None:
    """Takes it away again."""
    op.drop_column("run", "storms")
