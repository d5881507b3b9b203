"""What can be wrong with the database, each with its place and what to do about it.

Foreign errors are translated here, and only here; the cause is kept.
"""

import sqlite3

from sqlalchemy.exc import DBAPIError, OperationalError


class StorageError(Exception):
    """The database cannot be used. The message names the place, what is wrong, and the remedy."""

    def __init__(self, place: str, wrong: str, remedy: str) -> None:
        super().__init__(f"{place}: {wrong}. {remedy}")
        self.place = place
        self.wrong = wrong
        self.remedy = remedy


class DatabaseUrlError(StorageError):
    """The URL is not one of a database that Patrol can use."""


class DatabasePlaceError(StorageError):
    """The file or server cannot be reached, read or written as it is."""


class DatabaseWriteError(DatabasePlaceError):
    """There was no room, or the disk failed. The step was not stored; the place itself is right."""


class DatabaseUnreachableError(DatabasePlaceError):
    """The server does not answer, or lets nobody in. It may be started later than whoever needs it."""


class DatabaseCorruptError(StorageError):
    """The file is no database, or a damaged one."""


class ForeignSchemaError(StorageError):
    """The database belongs to another program."""


class NewerSchemaError(StorageError):
    """The database was written by a newer Patrol."""


class DatabaseBusyError(StorageError):
    """Somebody else held the database for longer than was waited. Trying again can help."""


class DatabaseClosedError(StorageError):
    """There is nobody in this process any more who writes to the database."""


class DatabaseConflictError(DatabaseBusyError):
    """Somebody else changed what this transaction read: it has to be done again from its start."""


_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_CORRUPT = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_PLACE: dict[int, tuple[str, str]] = {
    sqlite3.SQLITE_READONLY: (
        "the file cannot be written",
        "Make the file and its folder writable for this user, or set another [storage] url",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "the file cannot be opened",
        "Check that it is a file in a folder that this user may enter and write to, with room for new files (df -i)",
    ),
    sqlite3.SQLITE_PERM: ("access was refused", "Make the file and its folder writable for this user"),
    sqlite3.SQLITE_FULL: ("the disk is full", "Make room on its file system; nothing of this step was stored"),
    sqlite3.SQLITE_IOERR: (
        "reading or writing failed; nothing of this step was stored",
        "Look for a full disk or quota (df -h, quota), a limit of file sizes (ulimit -f), errors of the disk (dmesg)",
    ),
}
_NO_ROOM = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR})
_NO_ROOM_THERE = frozenset({"53100", "53", "57P", "58", "08"})
_CONFLICTS = frozenset({"40001", "40P01"})  # serialization failure, deadlock
_WAITED = frozenset({"55P03"})  # the lock time-out
_SERVER: dict[str, tuple[str, str]] = {
    "25006": ("the server only reads", "Name the primary server in [storage] url"),
    "42501": ("the user lacks a right", "GRANT it: the user needs CREATE on the schema, or to own the tables"),
    "53100": ("the disk of the server is full", "Make room on it; nothing of this step was stored"),
    "53": ("the server has no room for this", "Look into its log for memory and max_connections"),
    "57P": ("the server is stopping or starting", "Try again when it is up"),
    "58": ("the server could not read or write", "Look into its log, and for errors of its disk"),
    "08": ("the connection broke", "Check that the server runs and the network holds"),
    "XX001": ("the server's data are damaged", "Restore a dump of it"),
    "XX002": ("an index of the server is damaged", "REINDEX the database"),
}
"""By SQLSTATE or the beginning of one; the longest that fits holds."""


def translated(error: DBAPIError, place: str) -> StorageError | None:
    """Our error for one of the database driver; None where it is about a statement and not about the database."""
    cause = error.orig
    if isinstance(cause, sqlite3.Error):
        return of_sqlite(cause, place)
    return _of_server(error, getattr(cause, "sqlstate", None) or "", place)


def _of_server(error: DBAPIError, state: str, place: str) -> StorageError | None:
    if state in _CONFLICTS:
        return DatabaseConflictError(place, "another process changed the same records at the same time", "Try again")
    if state in _WAITED:
        return DatabaseBusyError(place, "another process holds the records", "Wait for it to end, or try again")
    for length in (5, 3, 2):
        if state[:length] in _SERVER:
            kind = DatabaseWriteError if state[:length] in _NO_ROOM_THERE else DatabasePlaceError
            return kind(place, *_SERVER[state[:length]])
    # A server that cannot be reached, or that lets nobody in, gives no state.
    if error.connection_invalidated or (isinstance(error, OperationalError) and not state):
        said = next(iter(str(error.orig).splitlines()), "").strip()
        return DatabaseUnreachableError(
            place,
            "the server cannot be reached" + (f" ({said})" if said else ""),
            "Check that it runs, that the database and its user exist, and that [storage] url is right",
        )
    return None


def of_sqlite(error: sqlite3.Error, place: str) -> StorageError | None:
    """Our error for one of SQLite; None where it is about a statement."""
    said = getattr(error, "sqlite_errorcode", 0)
    # The higher bits say more of the same, but for this one: no room for the file that readers and writers share.
    code = sqlite3.SQLITE_FULL if said == sqlite3.SQLITE_IOERR_SHMSIZE else said & 0xFF
    if code in _BUSY:
        return DatabaseBusyError(place, "another process holds the database", "Wait for it to end, or try again")
    if code in _CORRUPT:
        return corrupt(place)
    if code in _PLACE:
        kind = DatabaseWriteError if code in _NO_ROOM else DatabasePlaceError
        return kind(place, *_PLACE[code])
    return None


def corrupt(place: str, detail: str = "") -> DatabaseCorruptError:
    """The error for a file that is no database, or whose pages contradict each other."""
    wrong = "the file is damaged or no SQLite database" + (f" ({detail})" if detail else "")
    remedy = (
        f"Restore a copy of it, or move it aside to start afresh: mv {place} {place}.damaged; "
        "Patrol never replaces it by itself"
    )
    return DatabaseCorruptError(place, wrong, remedy)
