"""Connections and transactions: writes one after the other, readers on a snapshot.

On SQLite the driver's own transactions are switched off and BEGIN is issued here. A write begins with BEGIN
IMMEDIATE: with a plain BEGIN the read in a read-modify-write would lie outside of the transaction, and updates
would be lost without an error. A server gets the same promise by SERIALIZABLE: what could not have happened one
after the other is refused there, and `Database.transact` does it again.
"""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry, StaticPool

from findings.store import FindingConflictError
from patrol.database.changes import Changes
from patrol.database.copies import translated_sqlite
from patrol.database.errors import DatabaseBusyError, DatabaseConflictError, corrupt, translated
from patrol.database.place import file_of, shown
from patrol.database.writer import Writer, lent

Result = TypeVar("Result")

BUSY_TIMEOUT_SECONDS = 5.0
BEGIN_ATTEMPTS = 3
TRANSACT_ATTEMPTS = 10
_CACHE_KIB = 16_384
READS = "patrol_reads"
"""Execution option of a connection: its transactions only read."""
_SERVER_OPTIONS = f"-c timezone=UTC -c lock_timeout={int(BUSY_TIMEOUT_SECONDS * BEGIN_ATTEMPTS)}s"
_CONNECT_SECONDS = 10
_SILENCE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
"""A server without power says nothing: by itself a system waits two hours for it. In s; the last one in ms."""
_PAUSE_SECONDS = 0.01


def make_engine(url: URL, *, busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS) -> Engine:
    """An engine with the settings that every connection needs. Opens nothing yet."""
    if url.get_backend_name() != "sqlite":
        given = url.query.get("options", "")
        options = " ".join([_SERVER_OPTIONS, *((given,) if isinstance(given, str) else given)]).strip()
        asked = {name: value for name, value in _SILENCE.items() if name not in url.query}
        settings = {"options": options, "connect_timeout": _CONNECT_SECONDS, **asked}
        return create_engine(url, pool_pre_ping=True, connect_args=settings)
    path = file_of(url)
    if path is None:
        # One connection is the whole database; it may be used by several threads, one after the other.
        engine = create_engine(url, poolclass=StaticPool, connect_args={"check_same_thread": False})
    else:
        engine = create_engine(url.set(database=str(path)))
    event.listen(engine, "connect", _SqliteSettings(busy_timeout_seconds))
    event.listen(engine, "begin", _begin)
    return engine


class _SqliteSettings:
    """Settings of one SQLite connection, made when it is opened."""

    def __init__(self, busy_timeout_seconds: float) -> None:
        self._pragmas = (
            f"busy_timeout = {int(busy_timeout_seconds * 1000)}",
            "synchronous = FULL",  # a commit is on disk: with WAL, NORMAL may lose the last ones when power fails
            "foreign_keys = ON",
            "trusted_schema = OFF",  # a file from elsewhere runs no functions of its own
            f"cache_size = -{_CACHE_KIB}",
        )

    def __call__(self, connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in self._pragmas:
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()


def keep_as_ours(engine: Engine) -> None:
    """Sets what is kept in a file itself. Only for a file that is known to be Patrol's, and never in a transaction."""
    if file_of(engine.url) is None:
        return
    with engine.connect() as connection:
        cursor = connection.connection.cursor()
        cursor.execute("PRAGMA page_count")
        [pages] = cursor.fetchone() or (0,)
        if pages == 0:  # later it would be ignored, but written each time
            cursor.execute("PRAGMA auto_vacuum = INCREMENTAL")  # freed pages can be given back in small steps
        cursor.execute("PRAGMA journal_mode = WAL")  # readers and the writer do not wait for each other
        cursor.close()


def _begin(connection: Connection) -> None:
    reads = connection.get_execution_options().get(READS, False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


_OPTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {"sqlite": ({READS: False}, {READS: True})}
_SERVER_TRANSACTIONS: tuple[dict[str, Any], dict[str, Any]] = (
    {"isolation_level": "SERIALIZABLE"},
    {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True},
)
"""Options of a connection for writing, and for reading."""


class Database:
    """An open database, for all threads of a process. `path` is None in memory and on a server.

    Invariant: all writes of this process are made by one thread (`patrol.database.writer`), one after the other. In
    memory there is one connection, so reads wait in the same line.
    """

    def __init__(self, url: URL, *, busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS) -> None:
        self.url = url
        self.path: Path | None = file_of(url)
        self.place = shown(url)
        self.engine = make_engine(url, busy_timeout_seconds=busy_timeout_seconds)
        self._line = threading.Lock()
        self._wait_seconds = busy_timeout_seconds * BEGIN_ATTEMPTS
        self._one_connection = isinstance(self.engine.pool, StaticPool)
        self._options = _OPTIONS.get(url.get_backend_name(), _SERVER_TRANSACTIONS)
        self._writer = Writer(self.place, self._write_transaction, self._wait_seconds)
        self._changes = Changes(self.path)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A read-only transaction, on SQLite on one snapshot. Keep it short: a long one lets the log of a file grow.

        Raises StorageError.
        """
        if not self._one_connection:
            with self._transaction(reads=True) as connection:
                yield connection
            return
        with self._in_line(), self._transaction(reads=True) as connection:
            yield connection

    def transact(self, work: Callable[[Connection], Result], *, attempts: int = TRANSACT_ATTEMPTS) -> Result:
        """Runs `work` in a write transaction, again from the start where somebody else came in between.

        It runs on the writer's thread, and commits when `work` returns; any error of it rolls back and is raised here.
        `work` must change nothing but the database: it may run more than once, and goes on where the caller is
        interrupted. It cannot write by another call of this.

        Raises DatabaseBusyError where another process, or the steps before this one, did not end in time,
        DatabaseClosedError after `close`, FindingConflictError where the last attempt met one, else StorageError.
        """
        for attempt in range(1, attempts):
            try:
                return self._writer.carry_out(work)
            except (DatabaseConflictError, FindingConflictError):
                # Two that met may meet again if they start together; chance parts them.
                time.sleep(random.uniform(0, _PAUSE_SECONDS) * attempt)  # noqa: S311 - no secret
        return self._writer.carry_out(work)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A write transaction as a block: for one that is not a function. Not to be nested, and never done again.

        The writer lends its connection to this thread and waits for the end of the block, which commits; any error in
        it rolls back. Raises what `transact` raises, also DatabaseConflictError where somebody came in between.
        """
        with lent(self._writer) as connection:
            yield connection

    def change_mark(self) -> int | None:
        """Equal at two moments between which no process committed anything. None: nobody knows (memory, a server).

        Takes microseconds and waits for nobody. Raises StorageError.
        """
        with translated_sqlite(self.place):
            return self._changes.mark()

    def check(self) -> None:
        """Reads the whole file and raises DatabaseCorruptError if it is damaged: about 1 s for each GB."""
        if self.engine.dialect.name != "sqlite":
            return
        with self.read() as connection:
            found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()
        if found != "ok":
            raise corrupt(self.place, str(found).replace("\n", " "))

    def close(self) -> None:
        """Makes the writes that were asked for before, then closes all connections; may be called twice."""
        self._writer.close()
        self._changes.close()
        self.engine.dispose()

    @contextmanager
    def _in_line(self) -> Iterator[None]:
        if not self._line.acquire(timeout=self._wait_seconds):
            raise DatabaseBusyError(self.place, "another step of this process holds the database", "Try again")
        try:
            yield
        finally:
            self._line.release()

    @contextmanager
    def _write_transaction(self) -> Iterator[Connection]:
        if not self._one_connection:
            with self._transaction(reads=False) as connection:
                yield connection
            return
        with self._in_line(), self._transaction(reads=False) as connection:
            yield connection

    @contextmanager
    def _transaction(self, *, reads: bool) -> Iterator[Connection]:
        try:
            connection = self._begun(reads=reads)
            with connection, connection.get_transaction() or connection.begin():
                if reads and connection.dialect.name == "sqlite":
                    connection.exec_driver_sql("PRAGMA query_only = ON")
                    try:
                        yield connection
                    finally:
                        connection.exec_driver_sql("PRAGMA query_only = OFF")
                else:
                    yield connection
        except DBAPIError as error:
            known = translated(error, self.place)
            if known is None:
                raise
            raise known from error

    def _begun(self, *, reads: bool) -> Connection:
        """A connection with its transaction begun. Each attempt waits for the busy time-out of the connection."""
        for attempt in range(1, BEGIN_ATTEMPTS + 1):
            connection = self.engine.connect().execution_options(**self._options[reads])
            try:
                connection.begin()
            except DBAPIError as error:
                connection.close()
                if attempt == BEGIN_ATTEMPTS or not isinstance(translated(error, self.place), DatabaseBusyError):
                    raise
            else:
                return connection
        raise AssertionError("the last attempt returns or raises")
