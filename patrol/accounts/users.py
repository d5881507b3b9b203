"""Users in a database, and their roles in organisations."""

from datetime import datetime

from sqlalchemy import Connection, RowMapping, select

from findings.rows import storable
from patrol.accounts.hashing import (
    PASSWORD_CHARACTERS,
    SHORTEST_PASSWORD,
    RandomBytes,
    nobodys_hash,
    password_hash,
    password_matches,
)
from patrol.accounts.model import REALM, Role, User, parse_name
from patrol.accounts.tables import ACCOUNTS, MEMBERSHIPS, SESSIONS


class UnknownUserError(LookupError):
    """There is no user of this name."""


class UserExistsError(ValueError):
    """There is a user of this name already."""


class UserStore:
    """All users, on a connection whose transaction the caller owns. Hash passwords before you open it: that is slow."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, name: str, kept: str, *, is_administrator: bool, now: datetime, author: str) -> User:
        """Adds a user; `kept`: `hashing.password_hash` of the password. Raises ValueError for a name that cannot be,
        UserExistsError.
        """
        name = parse_name(name)
        where = (ACCOUNTS.c.org_id == REALM, ACCOUNTS.c.name == name)
        before = self._connection.execute(select(ACCOUNTS.c.removed_at).where(*where)).first()
        if before is not None and before[0] is None:
            raise UserExistsError(f"there is a user {name} already")
        if before is not None:
            self._connection.execute(ACCOUNTS.delete().where(*where))
        cells = {
            "org_id": REALM,
            "name": name,
            "password_hash": kept,
            "is_administrator": is_administrator,
            "created_at": now,
            "created_by": storable(author),
            "password_at": now,
            "removed_at": None,
            "removed_by": "",
        }
        self._connection.execute(ACCOUNTS.insert(), cells)
        return self.get(name)

    def find(self, name: str) -> User | None:
        """The user of this name, in letters of any case; None if there is none."""
        row = self._row(name)
        return self._user(row) if row is not None else None

    def get(self, name: str) -> User:
        """The user of this name. Raises UnknownUserError."""
        found = self.find(name)
        if found is None:
            raise UnknownUserError(f"there is no user {name}")
        return found

    def list_users(self) -> list[User]:
        """All users, by name."""
        statement = select(ACCOUNTS).where(ACCOUNTS.c.org_id == REALM, ACCOUNTS.c.removed_at.is_(None))
        rows = self._connection.execute(statement.order_by(ACCOUNTS.c.name)).mappings().all()
        return [self._user(row) for row in rows]

    def kept_password(self, name: str) -> str:
        """The hash of a user's password; "" where there is no such user."""
        row = self._row(name)
        return row["password_hash"] if row is not None else ""

    def set_password(self, name: str, kept: str, *, now: datetime) -> User:
        """Gives a user another password, and ends all sessions of the user. Raises UnknownUserError."""
        user = self.get(name)
        self._update(user.name, password_hash=kept, password_at=now)
        self._end_sessions(user.name)
        return self.get(name)

    def set_role(self, name: str, organisation: str, role: Role | None, *, now: datetime, author: str) -> User:
        """What a user is in an organisation from now on; None: nothing. Raises UnknownUserError."""
        user = self.get(name)
        held = (
            MEMBERSHIPS.c.org_id == REALM,
            MEMBERSHIPS.c.name == user.name,
            MEMBERSHIPS.c.organisation == organisation,
        )
        self._connection.execute(MEMBERSHIPS.delete().where(*held))
        if role is not None:
            cells = {"org_id": REALM, "name": user.name, "organisation": organisation, "role": str(role)}
            self._connection.execute(MEMBERSHIPS.insert(), {**cells, "since": now, "given_by": storable(author)})
        return self.get(name)

    def remove(self, name: str, *, now: datetime, author: str) -> User:
        """Takes a user's access away for good, with roles and sessions. Raises UnknownUserError."""
        user = self.get(name)
        self._update(user.name, removed_at=now, removed_by=storable(author), password_hash="")
        mine = MEMBERSHIPS.c.org_id == REALM, MEMBERSHIPS.c.name == user.name
        self._connection.execute(MEMBERSHIPS.delete().where(*mine))
        self._end_sessions(user.name)
        return user

    def _end_sessions(self, name: str) -> None:
        self._connection.execute(SESSIONS.delete().where(SESSIONS.c.org_id == REALM, SESSIONS.c.name == name))

    def _update(self, name: str, **cells: object) -> None:
        statement = ACCOUNTS.update().where(ACCOUNTS.c.org_id == REALM, ACCOUNTS.c.name == name)
        self._connection.execute(statement.values(**cells))

    def _row(self, name: str) -> RowMapping | None:
        known = storable(name).strip().lower()
        statement = select(ACCOUNTS).where(ACCOUNTS.c.org_id == REALM, ACCOUNTS.c.name == known)
        return self._connection.execute(statement.where(ACCOUNTS.c.removed_at.is_(None))).mappings().first()

    def _user(self, row: RowMapping) -> User:
        mine = MEMBERSHIPS.c.org_id == REALM, MEMBERSHIPS.c.name == row["name"]
        roles = self._connection.execute(select(MEMBERSHIPS.c.organisation, MEMBERSHIPS.c.role).where(*mine))
        return User(
            name=row["name"],
            is_administrator=row["is_administrator"],
            roles={organisation: Role(role) for organisation, role in roles},
            created_at=row["created_at"],
            created_by=row["created_by"],
            password_at=row["password_at"],
        )


def keep_password(password: str, random_bytes: RandomBytes) -> str:
    """What is kept of a new password. Raises ValueError for one that is too short or too long."""
    if not SHORTEST_PASSWORD <= len(password) <= PASSWORD_CHARACTERS:
        raise ValueError(f"a password has {SHORTEST_PASSWORD} to {PASSWORD_CHARACTERS} characters")
    return password_hash(password, random_bytes)


def is_password(password: str, kept: str) -> bool:
    """Whether it is the password of which `kept` was kept. "" (no such user) takes the same time, and is never it."""
    if len(password) > PASSWORD_CHARACTERS:
        return False
    return password_matches(password, kept or nobodys_hash()) and bool(kept)
