"""Silences; what operators say of a finding, with its author; what the resource of a finding lives on."""

from datetime import datetime
from typing import TypeAlias

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_INSTANT = sa.DateTime(timezone=True)
_Column: TypeAlias = sa.Column[str] | sa.Column[int] | sa.Column[datetime]


def upgrade() -> None:
    """Adds them. What was snoozed, dismissed or suppressed before has no author."""
    for column in _of_finding():
        op.add_column("finding", column)
    for column in _of_transition():
        op.add_column("transition", column)
    _silence()


def downgrade() -> None:
    """Takes them away again."""
    op.drop_table("silence")
    for column in reversed(_of_transition()):
        op.drop_column("transition", column.name)
    for column in reversed(_of_finding()):
        op.drop_column("finding", column.name)


def _of_finding() -> list[_Column]:
    return [
        sa.Column("lives_on", sa.String(), nullable=False, server_default=sa.text("'[]'")),
        sa.Column("acknowledged_by", sa.String(), nullable=False, server_default=sa.text("''")),
        sa.Column("silenced_at", _INSTANT, nullable=True),
        sa.Column("silenced_by", sa.String(), nullable=False, server_default=sa.text("''")),
        sa.Column("silence_note", sa.String(), nullable=False, server_default=sa.text("''")),
        sa.Column("remind_at", _INSTANT, nullable=True),
        sa.Column("remind_count", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("user_note", sa.String(), nullable=False, server_default=sa.text("''")),
    ]


def _of_transition() -> list[_Column]:
    return [
        sa.Column("old_quiet", sa.String(), nullable=True),
        sa.Column("new_quiet", sa.String(), nullable=True),
        sa.Column("author", sa.String(), nullable=False, server_default=sa.text("''")),
        sa.Column("note", sa.String(), nullable=False, server_default=sa.text("''")),
        sa.Column("until", _INSTANT, nullable=True),
        sa.Column("dismissed_reason", sa.String(), nullable=True),
    ]


def _silence() -> None:
    op.create_table(
        "silence",
        sa.Column("org_id", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("resource_id", sa.String(), nullable=False),
        sa.Column("resource_name", sa.String(), nullable=False),
        sa.Column("finding_kind", sa.String(), nullable=False),
        sa.Column("starts_at", _INSTANT, nullable=False),
        sa.Column("ends_at", _INSTANT, nullable=True),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("created_at", _INSTANT, nullable=False),
        sa.Column("ended_at", _INSTANT, nullable=True),
        sa.Column("ended_by", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_silence")),
    )
    op.create_index(op.f("ix_silence_org_id_created_at"), "silence", ["org_id", "created_at"])
