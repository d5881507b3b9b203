"""Whether what only a model says was confirmed, and how many runs could have done so and did not."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds both. What a model said before is not confirmed, and has all its time still."""
    op.add_column("finding", sa.Column("confirmed_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("finding", sa.Column("unconfirmed_runs", sa.Integer(), nullable=False, server_default=sa.text("0")))


def downgrade() -> None:
    """Takes them away again."""
    op.drop_column("finding", "unconfirmed_runs")
    op.drop_column("finding", "confirmed_at")
