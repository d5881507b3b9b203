"""Rows of tokens, users, roles and sessions."""

from datetime import datetime

from sqlalchemy import ForeignKeyConstraint, Index, Table, UniqueConstraint
from sqlmodel import Field

from findings.tables import StoredRow


class TokenRow(StoredRow, table=True):
    """An API token (`patrol.accounts.model.Token`). `scopes`: words with a blank between them. Kept when revoked."""

    __tablename__ = "api_token"
    __table_args__ = (UniqueConstraint("org_id", "secret_hash"),)

    org_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    name: str
    secret_hash: str
    prefix: str
    scopes: str
    bound_to: str
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    revoked_by: str


class AccountRow(StoredRow, table=True):
    """A user. Kept when removed: where one was ever known, nobody is let in without a name."""

    __tablename__ = "account"

    org_id: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    password_hash: str
    is_administrator: bool
    created_at: datetime
    created_by: str
    password_at: datetime
    removed_at: datetime | None
    removed_by: str


class MembershipRow(StoredRow, table=True):
    """What a user is in an organisation (`organisation`)."""

    __tablename__ = "membership"
    __table_args__ = (ForeignKeyConstraint(["org_id", "name"], ["account.org_id", "account.name"], ondelete="CASCADE"),)

    org_id: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    organisation: str = Field(primary_key=True)
    role: str
    since: datetime
    given_by: str


class SessionRow(StoredRow, table=True):
    """A session of a user. Gone when it ends."""

    __tablename__ = "session"
    __table_args__ = (
        ForeignKeyConstraint(["org_id", "name"], ["account.org_id", "account.name"], ondelete="CASCADE"),
        Index(None, "org_id", "name", "created_at"),
    )

    org_id: str = Field(primary_key=True)
    secret_hash: str = Field(primary_key=True)
    name: str
    created_at: datetime
    seen_at: datetime
    expires_at: datetime


TOKENS: Table = StoredRow.metadata.tables["api_token"]
ACCOUNTS: Table = StoredRow.metadata.tables["account"]
MEMBERSHIPS: Table = StoredRow.metadata.tables["membership"]
SESSIONS: Table = StoredRow.metadata.tables["session"]
