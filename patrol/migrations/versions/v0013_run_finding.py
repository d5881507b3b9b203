"""The finding that a run looks into, with the run: the work that told it is kept for two weeks only."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the column. Of the runs before it is not known any more."""
    op.add_column("run", sa.Column("finding_id", sa.String(), nullable=False, server_default=sa.text("''")))


def downgrade() -> None:
    """Takes it away again."""
    op.drop_column("run", "finding_id")
