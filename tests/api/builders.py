"""An application over a private database, and credentials to call it with."""

import base64
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import Connection

from patrol.accounts.model import Role, Scope, User
from patrol.accounts.sessions import SessionStore
from patrol.accounts.tokens import TokenStore, TokenWish
from patrol.accounts.users import UserStore
from patrol.api.app import create_app
from patrol.api.guards import csrf_token
from patrol.api.live.hub import StreamHub
from patrol.api.services import Services
from patrol.database import Database, StorageError, open_database
from patrol.settings.interface import ApiSection
from patrol.settings.load import LoadedSettings
from patrol.settings.model import Settings

START = datetime(2026, 11, 29, 12, tzinfo=UTC)
PASSWORD = "correct horse battery"
# scrypt of PASSWORD at a cost that tests can afford: the cost stands in the text.
CHEAP = "$scrypt$16$1$1$AAAAAAAAAAAAAAAAAAAAAA==$KE1MxdSCDn9oLXJHauJuDjAGPRK8o7fvbCJVUktsnKk="
LOOPBACK, OUTSIDE, PROXY = "127.0.0.1", "203.0.113.9", "10.0.0.5"


@dataclass
class LostDatabase:
    """A database that cannot be read."""

    error: StorageError

    def read(self) -> NoReturn:
        raise self.error

    def change_mark(self) -> NoReturn:
        raise self.error


@dataclass
class House:
    """An installation: its database, its settings and its clock, which tests set."""

    database: Database
    api: ApiSection = field(default_factory=ApiSection)
    now: datetime = START
    not_ready: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._numbers = itertools.count(1)
        self._loaded: LoadedSettings | None = None
        self.stream = StreamHub(lambda: self.now)
        self.app: FastAPI = create_app(self.services)

    @property
    def services(self) -> Services:
        return Services(
            database=self.database,
            settings=self._settings,
            clock=lambda: self.now,
            ids=self._id,
            random_bytes=self._bytes,
            user_id=1000,
            not_ready=lambda: self.not_ready,
            stream=self.stream,
        )

    def _settings(self) -> LoadedSettings:
        if self._loaded is None or self._loaded.settings.api is not self.api:
            settings = Settings(api=self.api)
            self._loaded = LoadedSettings(settings=settings, file=None, database_url="sqlite://", origins={})
        return self._loaded

    def _id(self) -> str:
        return f"{next(self._numbers):032x}"

    def _bytes(self, count: int) -> bytes:
        return next(self._numbers).to_bytes(count, "big")

    def lose_database(self, error: StorageError) -> None:
        """From now on every look into the database fails."""
        self.not_ready = ()
        self.app = create_app(replace(self.services, database=LostDatabase(error)))

    def set_api(self, **settings: Any) -> None:
        self.api = ApiSection(**settings)

    def pass_by(self, time: timedelta) -> None:
        self.now += time

    def token(self, *scopes: Scope, bound_to: str = "default", expires_at: datetime | None = None) -> str:
        """The text of a new token."""
        wish = TokenWish(name="t", scopes=frozenset(scopes), bound_to=bound_to, expires_at=expires_at)
        return self.database.transact(
            lambda connection: TokenStore(connection).create(
                wish, now=self.now, author="me", ids=self._id, random_bytes=self._bytes
            )
        ).secret

    def user(self, name: str, *, administrator: bool = False, **roles: Role) -> User:
        def work(connection: Connection) -> User:
            store = UserStore(connection)
            store.add(name, CHEAP, is_administrator=administrator, now=self.now, author="me")
            for organisation, role in roles.items():
                store.set_role(name, organisation, role, now=self.now, author="me")
            return store.get(name)

        return self.database.transact(work)

    def session(self, user: User) -> str:
        """The cookie of a new session."""
        return self.database.transact(
            lambda connection: SessionStore(connection).begin(user, now=self.now, random_bytes=self._bytes)
        )[0]

    def client(self, address: str = OUTSIDE, *, base_url: str = "http://192.0.2.1:7667") -> TestClient:
        return TestClient(self.app, base_url=base_url, client=(address, 4711), raise_server_exceptions=False)


@contextmanager
def house(**api: Any) -> Iterator[House]:
    database = open_database("sqlite://")
    try:
        yield House(database=database, api=ApiSection(**api))
    finally:
        database.close()


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def basic(name: str, password: str = PASSWORD) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


def cookies(secret: str) -> dict[str, str]:
    """The headers of a browser with a session, and of a page that is ours."""
    return {"Cookie": f"patrol_session={secret}", "X-CSRF-Token": csrf_token(secret)}


def is_envelope(answer: Any) -> bool:
    body = answer.json()
    return {"error", "code", "message"} <= set(body) <= {"error", "code", "message", "details"} and (
        body["error"] == body["code"]
    )
