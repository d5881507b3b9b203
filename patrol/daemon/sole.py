"""One daemon on a database: the first one has a place there, and is out of it by ending, however it ends.

Two would both begin runs, sample, keep house and answer, each with settings of its own. Commands are not concerned.
"""

import asyncio
import fcntl
import os
import re
import time
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Protocol

import structlog
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from patrol.database import Database, StorageError
from patrol.database.errors import translated
from patrol.database.place import place_error

LOOKED_AFTER_SECONDS = 10.0
_PATIENCE_SECONDS = 10.0
"""A server takes a moment to notice that a process was killed; under load several seconds."""
_KEY = 0x50415452  # "PATR": what Patrol's advisory locks have in common
_HOLDER = re.compile(r"(?P<pid>[1-9][0-9]{0,9}) on (?P<host>[\w.-]{1,255}) since (?P<since>[0-9T:+.-]{10,32})")
_MINUTE = "%Y-%m-%d %H:%M UTC"

_log = structlog.stdlib.get_logger("patrol.daemon")


class OtherDaemonError(StorageError):
    """Another daemon works with this database. The message says which one."""

    def __init__(self, place: str, who: str) -> None:
        remedy = (
            "Stop that one first (systemctl stop patrol, or end its process), or give this one a database of its own: "
            "[storage] url"
        )
        super().__init__(place, f"another daemon works with it already: {who}", remedy)


class Place(Protocol):
    """The place of the one daemon."""

    def look(self) -> None:
        """Takes it again where it was lost. Raises OtherDaemonError, or StorageError where nobody can know now."""
        ...

    def leave(self) -> None:
        """Lets the next one in. May be called twice."""
        ...


def take_place(database: Database, owner: str, now: datetime) -> Place:
    """The place of the one daemon of a database. `owner`: that of its leases, `host:pid...`.

    Raises OtherDaemonError, StorageError.
    """
    host, _, pid = owner.partition("@")[0].rpartition(":")
    if database.path is not None:
        return FilePlace(database.path, f"{pid} on {host} since {now.isoformat(timespec='seconds')}")
    if database.engine.dialect.name == "sqlite":
        return MemoryPlace()
    return ServerPlace(database.engine, database.place, f"{pid} on {host}")


@asynccontextmanager
async def alone_with(database: Database, owner: str, now: datetime) -> AsyncIterator["asyncio.Task[None]"]:
    """Has the place while the block lasts. The task looks after it, and ends where it is lost to another daemon.

    Raises OtherDaemonError, StorageError.
    """
    place = await asyncio.to_thread(take_place, database, owner, now)
    keeping = asyncio.create_task(keep(place))
    try:
        yield keeping
    finally:
        keeping.cancel()
        await asyncio.wait({keeping})
        place.leave()


async def keep(place: Place, every_seconds: float = LOOKED_AFTER_SECONDS) -> None:
    """Looks after the place for ever. Raises OtherDaemonError where another daemon took it while it was lost."""
    is_known = True
    while True:
        await asyncio.sleep(every_seconds)
        try:
            await asyncio.to_thread(place.look)
        except OtherDaemonError:
            raise
        except StorageError as error:
            if is_known:
                _log.error("whether this daemon is alone with its database is not known", error=str(error))
            is_known = False
        else:
            if not is_known:
                _log.info("this daemon is alone with its database")
            is_known = True


class MemoryPlace:
    """That of a database in memory: nobody else can reach it."""

    def look(self) -> None:
        """It cannot be lost."""

    def leave(self) -> None:
        """There is nobody to let in."""


class FilePlace:
    """A lock of flock(2) on a file beside the database, which the kernel takes away with the process.

    Not on the database itself: there are SQLite's own locks, which a network file system cannot tell from this one.
    The file stays when the lock goes: one that is removed and made anew could be locked twice.
    """

    def __init__(self, database: Path, who: str) -> None:
        self._path = Path(f"{database.resolve()}-daemon")
        self._who = who
        self._file = self._taken()

    def look(self) -> None:
        """Whether the file is there still: whoever removed it would let another daemon in."""
        try:
            is_there = self._path.stat().st_ino == os.fstat(self._file).st_ino
        except FileNotFoundError:
            is_there = False
        except OSError as error:
            raise place_error(self._path, error) from error
        if not is_there:
            _log.error("the file that keeps other daemons out was removed, and is made anew", file=str(self._path))
            lost, self._file = self._file, self._taken()
            os.close(lost)

    def leave(self) -> None:
        """Lets go of the lock, and leaves the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _taken(self) -> int:
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise place_error(self._path, error) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(file, 0)
            os.pwrite(file, f"{self._who}\n".encode(), 0)
        except BlockingIOError as error:
            said = os.pread(file, 400, 0).decode("utf-8", "replace").strip()
            os.close(file)
            raise OtherDaemonError(str(self._path).removesuffix("-daemon"), _holder(said)) from error
        except OSError as error:
            os.close(file)
            raise place_error(self._path, error) from error
        return file


def daemon_with(database: Path) -> str | None:
    """Which daemon has its place at this file now, in words; None if none has. Makes and changes nothing."""
    try:
        file = os.open(f"{database.resolve()}-daemon", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (
        OSError
    ):  # none was ever there; or its file is not for this user, who then finds out by the database's own locks
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # gone with the file, which is closed at once
    except BlockingIOError:
        return _holder(os.pread(file, 400, 0).decode("utf-8", "replace").strip())
    except OSError:  # a file system without such locks
        return None
    finally:
        os.close(file)
    return None


def _holder(said: str) -> str:
    """Who the file says it is, in words; what it says may be anything."""
    match = _HOLDER.fullmatch(said)
    try:
        since = datetime.fromisoformat(match["since"]) if match is not None else None
    except ValueError:
        since = None
    if match is None or since is None:
        return "it did not say which one"
    return f"process {match['pid']} on {match['host']}, since {since:{_MINUTE}}"


class ServerPlace:
    """An advisory lock of PostgreSQL on a connection of its own, which the server takes away with the connection.

    By schema, so that one database can hold several of Patrol's.
    """

    def __init__(self, engine: Engine, place: str, name: str) -> None:
        self._engine = engine
        self._place = place
        self._name = name
        self._connection: Connection | None = self._taken()

    def look(self) -> None:
        """Whether the connection holds; else the place is taken again, if it is free."""
        if self._connection is not None:
            try:
                self._connection.execute(text("SELECT 1"))
            except DBAPIError as error:
                _log.error("the connection that keeps other daemons out was lost", error=str(error.orig).strip())
                self.leave()
            else:
                return
        self._connection = self._taken()
        _log.warning("the connection that keeps other daemons out is there again")

    def leave(self) -> None:
        """Ends the connection, and the lock with it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _taken(self) -> Connection:
        with self._translated():
            connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            connection.detach()  # closing it ends its session: nothing of it goes back to others
            try:
                self._lock(connection)
            except BaseException:
                connection.close()
                raise
            return connection

    def _lock(self, connection: Connection) -> None:
        name = f"patrol serve {self._name}"
        connection.execute(text("SELECT set_config('application_name', :name, false)"), {"name": name})
        # A host without power says nothing: the server gives it up after half a minute, instead of hours.
        for setting, seconds in (("idle", 15), ("interval", 5), ("count", 3)):
            connection.exec_driver_sql(f"SET tcp_keepalives_{setting} = {seconds}")
        schema = connection.execute(text("SELECT current_schema()")).scalar_one()
        key = {"key": _KEY, "schema": zlib.crc32(str(schema).encode()) & 0x7FFFFFFF}
        until = time.monotonic() + _PATIENCE_SECONDS
        while not connection.execute(text("SELECT pg_try_advisory_lock(:key, :schema)"), key).scalar_one():
            if time.monotonic() > until:
                raise OtherDaemonError(self._place, _session(connection, key))
            time.sleep(0.1)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            known = translated(error, self._place)
            if known is None:
                raise
            raise known from error


_SESSION = text("""
    SELECT activity.application_name, activity.backend_start
    FROM pg_locks AS held JOIN pg_stat_activity AS activity ON activity.pid = held.pid
    WHERE held.locktype = 'advisory' AND held.granted AND held.objsubid = 2
      AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND held.classid = :key AND held.objid = :schema
""")


def _session(connection: Connection, key: dict[str, int]) -> str:
    """Who has the lock, in words. A user of the server that is not this one's shows neither name nor time."""
    found = connection.execute(_SESSION, key).first()
    if found is None or found.backend_start is None:
        return "the server does not say which one"
    said = f"{str(found.application_name).removeprefix('patrol serve ')} since {found.backend_start.isoformat()}"
    return _holder(said)
