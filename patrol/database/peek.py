"""What a database is, found out without changing a byte of it: whose, and of which schema."""

import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from patrol.database.errors import DatabaseCorruptError, ForeignSchemaError, NewerSchemaError, of_sqlite
from patrol.migrations import REVISIONS

VERSION_TABLE = "alembic_version"
OURS = frozenset({VERSION_TABLE, "finding"})
"""Tables that every database of Patrol has, whatever its version."""

_WAL = b"\2\2"  # bytes 18 and 19 of the header: https://www.sqlite.org/fileformat.html#the_database_header


def revision_of_file(path: Path) -> str | None:
    """The revision of a file's schema; None for an empty one.

    Closing a connection can write what a log holds into the file. Here the file is opened so that it cannot.
    Raises ForeignSchemaError, NewerSchemaError, DatabaseCorruptError, other StorageErrors, OSError.
    """
    with path.open("rb") as stream:
        header = stream.read(20)
    if not header:
        return None
    # Without a log there is nothing to share with others, and no files to make for the sharing.
    alone = header[18:20] == _WAL and not Path(f"{path}-wal").exists()
    try:
        return _read(path, "&immutable=1" if alone else "")
    except DatabaseCorruptError:
        if not alone:
            raise
        return _read(path, "")  # somebody may have begun to write in this moment


def _read(path: Path, option: str) -> str | None:
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro{option}", uri=True, timeout=5)) as connection:
            names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not names:
                return None
            check_ours(str(path), names)
            found = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()  # noqa: S608 - a constant
    except sqlite3.Error as error:
        known = of_sqlite(error, str(path))
        if known is None:
            raise
        raise known from error
    return checked_revision(str(path), found[0] if found else None)


def check_ours(place: str, names: Collection[str]) -> None:
    """Raises ForeignSchemaError if the tables are those of another program."""
    if not OURS.issubset(names):
        some = ", ".join(sorted(names)[:3])
        raise ForeignSchemaError(place, f"it holds tables of another program ({some})", "Set another [storage] url")


def checked_revision(place: str, found: str | None) -> str:
    """A revision that this version knows. Raises NewerSchemaError for any other."""
    if found in REVISIONS:
        return found
    raise NewerSchemaError(
        place,
        f"it has the schema {found or 'without a number'}, this version of Patrol knows up to {REVISIONS[-1]}",
        "Install the version of Patrol that wrote it, restore the copy made before its upgrade, or set another "
        "[storage] url",
    )
