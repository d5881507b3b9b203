"""Copies of a database file: whole, consistent, private; made while others write.

`VACUUM INTO` reads one snapshot. What it writes is only safe once it was synced, and only its own once it has its
name; so it is written beside its place and gets the name at the end.
"""

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

from sqlalchemy import Engine

from patrol.database.errors import DatabasePlaceError, StorageError, corrupt, of_sqlite
from patrol.database.place import file_of, shown

COPIES_KEPT = 3
SIDE_FILES = ("-wal", "-shm", "-journal")
_TIME = "%Y%m%dT%H%M%SZ"


def copy_database(engine: Engine, target: Path) -> None:
    """Writes a copy of a SQLite database to a new file of mode 0600. Waits for nobody and blocks nobody.

    Raises DatabasePlaceError where there is such a file or none can be made, DatabaseCorruptError for a damaged one.
    """
    if target.exists() or target.is_symlink():
        raise _taken(target)
    with part_of(target) as part:
        with engine.connect() as connection, translated_sqlite(shown(engine.url), part):
            cursor = connection.connection.cursor()
            cursor.execute("VACUUM INTO ?", (str(part),))
            cursor.close()
        quick_check(part)
        sync(part)
        name_new(part, target)


def keep_copy(engine: Engine, revision: str, now: datetime) -> Path | None:
    """Copies the file beside itself before its schema changes: `NAME.TIME.REVISION.copy`, the newest three stay.

    None where there is no file. Raises DatabasePlaceError, e.g. for a full disk: then nothing may be changed.
    """
    path = file_of(engine.url)
    if path is None:
        return None
    target = path.with_name(f"{path.name}.{now.strftime(_TIME)}.{revision}.copy")
    if not target.exists():  # otherwise another process came first within this second
        copy_database(engine, target)
    for old in kept_copies(path)[:-COPIES_KEPT]:
        old.unlink(missing_ok=True)
    return target


def kept_copies(path: Path) -> list[Path]:
    """The copies that upgrades of this file left, oldest first."""
    form = re.compile(re.escape(path.name) + r"\.[0-9]{8}T[0-9]{6}Z\.\w+\.copy")
    return sorted(each for each in path.parent.iterdir() if form.fullmatch(each.name))


@contextmanager
def part_of(target: Path) -> Iterator[Path]:
    """An empty private file beside `target`, removed at the end of the block unless it was renamed."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise unwritable(target, error) from error
    try:
        yield part
    finally:
        for suffix in ("", *SIDE_FILES):
            Path(f"{part}{suffix}").unlink(missing_ok=True)


@contextmanager
def translated_sqlite(place: str, written: Path | None = None) -> Iterator[None]:
    """Errors of SQLite itself as ours. `written`: what a full disk or a refused write is about."""
    try:
        yield
    except sqlite3.Error as error:
        known = of_sqlite(error, place)
        if known is None:
            raise
        if written is not None and isinstance(known, DatabasePlaceError):
            raise type(known)(str(written.parent), known.wrong, known.remedy) from error
        raise known from error


def quick_check(path: Path, pragma: str = "quick_check") -> None:
    """Reads a whole file that nobody else uses. Raises DatabaseCorruptError."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection, translated_sqlite(str(path)):
        [found] = connection.execute(f"PRAGMA {pragma}(1)").fetchone()
    if found != "ok":
        raise corrupt(str(path), str(found).replace("\n", " "))


def name_new(part: Path, target: Path) -> None:
    """Gives a finished file its name, which must be free. Atomic, and on disk when it returns."""
    try:
        os.link(part, target)
    except FileExistsError as error:
        raise _taken(target) from error
    except OSError:  # a file system without links: between this look and the renaming nobody can be kept out
        if target.exists():
            raise _taken(target) from None
        part.replace(target)
    sync(target.parent)


def sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        os.close(descriptor)


def unwritable(path: Path, error: OSError) -> StorageError:
    """The error for a place where a file cannot be written."""
    wrong = f"it cannot be written ({error.strerror})"
    return DatabasePlaceError(str(path), wrong, "Name a file in a folder that this user may write to")


def _taken(target: Path) -> StorageError:
    return DatabasePlaceError(str(target), "there is such a file already", "Name another: nothing is overwritten")
