"""What the system says against a place, in words for whoever has to act."""

import errno
import os
import sqlite3
from pathlib import Path

import pytest

from patrol.database import DatabasePlaceError, DatabaseWriteError
from patrol.database.errors import of_sqlite
from patrol.database.place import place_error


@pytest.mark.parametrize(
    ("number", "kind", "remedy"),
    [
        (errno.ENOSPC, DatabaseWriteError, "df -i"),
        (errno.EDQUOT, DatabaseWriteError, "Make room"),
        (errno.EROFS, DatabasePlaceError, "Mount its file system for writing"),
        (errno.EACCES, DatabasePlaceError, "writable for this user"),
        (errno.EISDIR, DatabasePlaceError, "or name another"),
    ],
)
def test_a_file_that_cannot_be_opened_is_named_with_what_to_do(
    number: int, kind: type[DatabasePlaceError], remedy: str
) -> None:
    error = place_error(Path("/srv/patrol.db"), OSError(number, os.strerror(number)))
    assert type(error) is kind
    assert "/srv/patrol.db" in str(error)
    assert os.strerror(number) in str(error)
    assert remedy in str(error)


def test_no_room_for_what_readers_and_writers_share_is_a_full_disk() -> None:
    cause = sqlite3.OperationalError("disk I/O error")
    cause.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
    error = of_sqlite(cause, "/srv/patrol.db")
    assert isinstance(error, DatabaseWriteError)
    assert "the disk is full" in str(error)
