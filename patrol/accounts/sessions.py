"""Sessions in a database: users who have logged in with a browser."""

from datetime import datetime, timedelta

from sqlalchemy import Connection, select

from patrol.accounts.hashing import RandomBytes, hashed, new_secret
from patrol.accounts.model import REALM, Session, User
from patrol.accounts.tables import SESSIONS
from patrol.accounts.users import UserStore

LASTING = timedelta(hours=24)
"""A session ends when it was not used for so long,"""
LONGEST = timedelta(days=30)
"""and when it is so old, whatever its use."""
MOST_OF_A_USER = 10


class SessionStore:
    """All sessions, on a connection whose transaction the caller owns."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def begin(self, user: User, *, now: datetime, random_bytes: RandomBytes) -> tuple[str, Session]:
        """Begins a session: its secret, for the cookie, and the session. Ends what is over, and the user's oldest."""
        self._connection.execute(SESSIONS.delete().where(SESSIONS.c.org_id == REALM, SESSIONS.c.expires_at <= now))
        mine = SESSIONS.c.org_id == REALM, SESSIONS.c.name == user.name
        newest_first = select(SESSIONS.c.secret_hash).where(*mine).order_by(SESSIONS.c.created_at.desc())
        for old in self._connection.execute(newest_first.offset(MOST_OF_A_USER - 1)).scalars().all():
            self._delete(old)
        secret = new_secret(random_bytes)
        made = Session(user=user, secret_hash=hashed(secret), created_at=now, seen_at=now, expires_at=now + LASTING)
        cells = {"org_id": REALM, "secret_hash": made.secret_hash, "name": user.name}
        times = {"created_at": now, "seen_at": now, "expires_at": made.expires_at}
        self._connection.execute(SESSIONS.insert(), {**cells, **times})
        return secret, made

    def find(self, secret: str, now: datetime) -> Session | None:
        """The session of a cookie, None if there is none or it is over."""
        found = SESSIONS.c.org_id == REALM, SESSIONS.c.secret_hash == hashed(secret)
        row = self._connection.execute(select(SESSIONS).where(*found, SESSIONS.c.expires_at > now)).mappings().first()
        user = UserStore(self._connection).find(row["name"]) if row is not None else None
        if row is None or user is None:
            return None
        times = {name: row[name] for name in ("created_at", "seen_at", "expires_at")}
        return Session(user=user, secret_hash=row["secret_hash"], **times)

    def note_use(self, secret_hash: str, now: datetime) -> None:
        """Moves the end of a session on, up to the age that none outlives."""
        found = SESSIONS.c.org_id == REALM, SESSIONS.c.secret_hash == secret_hash
        created = self._connection.execute(select(SESSIONS.c.created_at).where(*found)).scalar_one_or_none()
        if created is not None:
            end = min(now + LASTING, created + LONGEST)
            self._connection.execute(SESSIONS.update().where(*found).values(seen_at=now, expires_at=end))

    def end(self, secret: str) -> None:
        """Ends the session of a cookie, if there is one."""
        self._delete(hashed(secret))

    def _delete(self, secret_hash: str) -> None:
        found = SESSIONS.c.org_id == REALM, SESSIONS.c.secret_hash == secret_hash
        self._connection.execute(SESSIONS.delete().where(*found))
