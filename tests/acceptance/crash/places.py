"""Places that are too small for a database, or that may not be written."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import event

from patrol.database import Database, DatabasePlaceError, open_database
from tests.acceptance.crash.estates import run_at
from tests.acceptance.crash.mounts import in_a_child

PAGE = 4096
NOBODY = 65534


@contextmanager
def open_after(path: Path) -> Iterator[Database]:
    database = open_database(f"sqlite:///{path}")
    try:
        yield database
    finally:
        database.close()


@contextmanager
def bounded(path: Path, pages: int) -> Iterator[Database]:
    """A database that may not grow beyond this many pages: to SQLite the same as a full disk."""
    with open_after(path) as database:
        event.listen(database.engine, "connect", lambda made, _: made.execute(f"PRAGMA max_page_count = {pages}"))
        database.engine.dispose()
        yield database


@contextmanager
def all_but(path: Path, free: int) -> Iterator[Database]:
    """A database on a file system of which all but this many bytes are taken, until the end of the block."""
    ballast = path.with_name("ballast")
    there = os.statvfs(path.parent)
    taken = there.f_bavail * there.f_frsize - free
    with ballast.open("wb") as stream:
        os.posix_fallocate(stream.fileno(), 0, taken)
    try:
        with open_after(path) as database:
            yield database
    finally:
        ballast.unlink()


def page_count(path: Path) -> int:
    return path.stat().st_size // PAGE


@contextmanager
def place_of(user: int) -> Iterator[Path]:
    """A folder that this user may enter, wherever the tests run."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        inner = Path(folder) / "state"
        inner.mkdir(mode=0o700)
        if os.geteuid() == 0:
            os.chown(inner, user, user)
        yield inner


def as_plain_user(path: Path, order: str) -> str:
    """What `open_database` and a run say to a user without privileges, in a child of this process."""

    def work() -> str:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        return _said(path, order)

    return in_a_child(work)


def _said(path: Path, order: str) -> str:
    if order == "make":
        open_database(f"sqlite:///{path}").close()
        return "made"
    if order == "lock":
        path.parent.chmod(0o500)
    try:
        with open_after(path) as database:
            run_at(database, 1, order)
    except DatabasePlaceError as error:
        return str(error)
    return "ran"
