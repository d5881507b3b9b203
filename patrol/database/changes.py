"""Whether anything changed in a file since it was looked at: for a few microseconds, whoever changed it."""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


class Changes:
    """Asks SQLite on a connection that never writes: its number is another one after each commit, of any process.

    `path`: None where there is no file. Never waits for anybody: where it would have to, nothing is known.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def mark(self) -> int | None:
        """Two equal numbers: nothing was committed between them. None: nobody knows. Raises sqlite3.Error."""
        if self._path is None:
            return None
        with self._lock:
            try:
                return self._asked(self._path)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF in _BUSY:  # the lower byte; above it is why
                    return None
                raise

    def close(self) -> None:
        """Lets go of the file. May be called twice; a question after it opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _asked(self, path: Path) -> int:
        if self._connection is None:
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=rw",
                uri=True,
                timeout=0,
                check_same_thread=False,
                isolation_level=None,
            )
        with closing(self._connection.execute("PRAGMA data_version")) as cursor:
            [number] = cursor.fetchone()
        return int(number)
