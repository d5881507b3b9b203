"""Puts a copy in the place of a database. At every instant the place holds the one or the other, whole."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection

from patrol.database.copies import (
    SIDE_FILES,
    part_of,
    quick_check,
    sync,
    translated_sqlite,
    unwritable,
)
from patrol.database.errors import (
    DatabaseBusyError,
    DatabaseCorruptError,
    DatabasePlaceError,
    ForeignSchemaError,
    NewerSchemaError,
)
from patrol.database.peek import revision_of_file
from patrol.database.place import parse_url
from patrol.database.transactions import Database

_REMEDY = "Name another copy; nothing was changed"

InUse = Callable[[Connection], str | None]
"""Who uses a database now, in words; None if nobody does."""


def restore(copy: Path, target: Path, *, in_use: InUse, now: datetime) -> Path | None:
    """Replaces the database at `target` by a copy, and returns where the old one lies now (None: there was none).

    The copy is checked whole first, and stays as it is. Raises StorageError: for a copy that is damaged, of another
    program or of a newer Patrol; while anybody uses the database; where `target` belongs to another program.
    """
    try:
        with part_of(target) as part:
            _take(copy, part)
            aside = _move_aside(target, in_use, now) if target.exists() else None
            for suffix in SIDE_FILES:  # of a file that is gone: SQLite would believe that they belong to the copy
                Path(f"{target}{suffix}").unlink(missing_ok=True)
            part.replace(target)
            sync(target.parent)
    except OSError as error:
        raise unwritable(target, error) from error
    return aside


def _take(copy: Path, part: Path) -> None:
    """The copy, with what its log holds if it was made by copying files, as one file that is known to be whole."""
    if not copy.is_file():
        raise DatabasePlaceError(str(copy), "it is not there, or no file", _REMEDY)
    shutil.copyfile(copy, part)
    log = Path(f"{copy}-wal")
    if log.is_file():
        shutil.copyfile(log, f"{part}-wal")
    try:
        quick_check(part, "integrity_check")
        revision = revision_of_file(part)
        with closing(sqlite3.connect(part, isolation_level=None)) as connection, translated_sqlite(str(copy)):
            connection.execute("PRAGMA journal_mode = DELETE")
    except (DatabaseCorruptError, ForeignSchemaError, NewerSchemaError) as error:
        raise type(error)(str(copy), error.wrong, _REMEDY) from error
    if revision is None:
        raise ForeignSchemaError(str(copy), "it holds nothing", _REMEDY)
    sync(part)


def _move_aside(target: Path, in_use: InUse, now: datetime) -> Path:
    """Gives the old file a second name. Its log is written into it first, so that it needs no other file."""
    try:
        _close_to_others(target, in_use)
        suffixes = [""]
    except DatabaseCorruptError:
        suffixes = ["", *SIDE_FILES]  # nothing of it can be asked; all of it is kept for whoever wants to mend it
    aside = Path(f"{target}.{now:%Y%m%dT%H%M%SZ}.replaced")
    number = 1
    while aside.exists():
        number += 1
        aside = Path(f"{target}.{now:%Y%m%dT%H%M%SZ}-{number}.replaced")
    for suffix in suffixes:
        old = Path(f"{target}{suffix}")
        if old.exists():
            _second_name(old, Path(f"{aside}{suffix}"))
    return aside


def _close_to_others(target: Path, in_use: InUse) -> None:
    try:
        empty = revision_of_file(target) is None
    except NewerSchemaError:
        empty = False  # a step back to an older version is what copies are for
    if not empty:
        database = Database(parse_url(f"sqlite:///{target}"))
        try:
            with database.read() as connection:
                user = in_use(connection)
        finally:
            database.close()
        if user is not None:
            raise DatabaseBusyError(str(target), user, "Wait for its end, or stop it")
    # Needs the file for itself alone: whoever has it open would go on writing into what was moved away.
    with translated_sqlite(str(target)), closing(sqlite3.connect(target, isolation_level=None, timeout=1)) as alone:
        alone.execute("PRAGMA journal_mode = DELETE").fetchone()


def _second_name(old: Path, aside: Path) -> None:
    try:
        os.link(old, aside)
    except OSError:  # a file system without links
        shutil.copyfile(old, aside)
        sync(aside)
