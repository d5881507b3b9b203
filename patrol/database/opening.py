"""Opens a database: finds or makes its file, checks what it is, and brings its schema up to date."""

from collections.abc import Callable
from datetime import UTC, datetime

from sqlalchemy.exc import DBAPIError

from patrol.database.copies import translated_sqlite
from patrol.database.errors import DatabaseUrlError, translated
from patrol.database.place import parse_url, prepare_file, shown
from patrol.database.schema import prepare
from patrol.database.transactions import BUSY_TIMEOUT_SECONDS, Database


def utc_now() -> datetime:
    """The time."""
    return datetime.now(UTC)


def open_database(
    url: str,
    *,
    make_folder: bool = False,
    busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS,
    clock: Callable[[], datetime] = utc_now,
) -> Database:
    """The database of a URL, ready for use.

    `sqlite:///PATH`: a file, made if there is none (`make_folder`: with its folders). `sqlite://`: private and in
    memory. `postgresql://...`: a server, with the extra `patrold[postgres]`. `clock` names the copy of an older file.
    Raises StorageError, whose subclasses say who must act; the message names place and remedy.
    """
    parsed = parse_url(url)
    place = shown(parsed)
    try:
        database = Database(parsed, busy_timeout_seconds=busy_timeout_seconds)
    except ModuleNotFoundError as error:
        raise DatabaseUrlError(
            place, f"the driver {error.name} is not installed", "Install it: pip install 'patrold[postgres]'"
        ) from error
    if database.path is not None:
        prepare_file(database.path, make_folder=make_folder)
    try:
        with translated_sqlite(place):  # what is set on a file itself goes past SQLAlchemy
            prepare(database.engine, clock)
    except DBAPIError as error:
        database.close()
        known = translated(error, place)
        if known is None:
            raise
        raise known from error
    except BaseException:
        database.close()
        raise
    return database
