"""Where the database lies: its URL, its file, and whose file it is."""

import errno
import os
import pwd
import shlex
import stat
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from patrol.database.errors import DatabasePlaceError, DatabaseUrlError, DatabaseWriteError

_SQLITE = frozenset({"sqlite", "sqlite+pysqlite"})
_POSTGRESQL = frozenset({"postgres", "postgresql", "postgresql+psycopg"})
_FORMS = "Use sqlite:///PATH, sqlite:// (in memory) or postgresql://USER@HOST/NAME"


def parse_url(text: str) -> URL:
    """The URL with the driver that Patrol uses. Raises DatabaseUrlError, which never repeats a password."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        raise DatabaseUrlError("[storage] url", "this is not the URL of a database", _FORMS) from error
    if url.drivername in _SQLITE:
        return url.set(drivername="sqlite")
    if url.drivername in _POSTGRESQL:
        return url.set(drivername="postgresql+psycopg")
    raise DatabaseUrlError(shown(url), f"databases of the sort {url.drivername!r} are not supported", _FORMS)


_SECRETS = ("password", "sslpassword")
"""Parameters of a server's URL that hold one."""


def shown(url: URL) -> str:
    """What messages call the database: the path of a file, else the URL without its password."""
    path = file_of(url)
    return str(path) if path is not None else url.difference_update_query(_SECRETS).render_as_string(hide_password=True)


def is_same(one: str, other: str) -> bool:
    """Whether two names of databases (`shown`) mean the same one, as far as this process can tell."""
    if one.startswith("/") and other.startswith("/"):
        return Path(one).resolve() == Path(other).resolve()
    return one.replace(":***@", "@") == other.replace(":***@", "@")


def file_of(url: URL) -> Path | None:
    """The file of a SQLite database; None in memory or on a server."""
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        return None
    return Path(str(url.database)).absolute()


def prepare_file(path: Path, *, make_folder: bool) -> None:
    """Makes an empty database file (mode 0600) where there is none, and its folders (0700) if asked to.

    The file holds what the estate looks like from inside; its -wal and -shm files take its mode.
    Raises DatabasePlaceError.
    """
    if not path.parent.is_dir():
        if not make_folder:
            raise DatabasePlaceError(
                str(path), f"the folder {path.parent} does not exist", f"Make it: mkdir -m 700 -p {path.parent}"
            )
        _make_folders(path.parent, path)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise place_error(path, error) from error


def _make_folders(folder: Path, path: Path) -> None:
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        try:
            each.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise place_error(path, error) from error


_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})


def place_error(path: Path, error: OSError) -> DatabasePlaceError:
    """Our error for what the system says against a database file in this place."""
    wrong = f"it cannot be opened for writing ({error.strerror})"
    if error.errno in _NO_ROOM:
        return DatabaseWriteError(str(path), wrong, "Make room on its file system, also for new files (df -h, df -i)")
    if error.errno == errno.EROFS:
        remedy = "Mount its file system for writing (after an error of a disk it is read-only: dmesg), or name another"
        return DatabasePlaceError(str(path), wrong, remedy)
    return DatabasePlaceError(str(path), wrong, "Make the file and its folder writable for this user, or name another")


def owner_refusal(path: Path, user_id: int, command: str = "patrol ...") -> str | None:
    """Why this user must not open the database file; None if they may, also where there is no file yet.

    Only the owner opens it: a file that another user (root too) wrote beside it could not be used by the owner
    any more, and the records of others are not for everybody who can read the disk. `command` is what the owner
    can run instead.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"{path} cannot be looked at ({error.strerror}){_closed_folder(path, user_id, command)}"
    if not stat.S_ISREG(found.st_mode):
        return f"{path} is not a file"
    owner = _user_name(found.st_uid)
    if found.st_uid != user_id:
        return f"{path} belongs to the user {owner}: run the command as that user: sudo -u '{owner}' {command}"
    strays = [each for each in (f"{path}-wal", f"{path}-shm") if _owner_of(each) not in (None, user_id)]
    if strays:
        return f"{' and '.join(strays)} must belong to {owner} too: sudo chown '{owner}' {shlex.join(strays)}"
    return None


def _closed_folder(path: Path, user_id: int, command: str) -> str:
    """Whose folder closes the way to a file, and what helps; "" where that is not the reason."""
    seen = [each for each in path.parents if _owner_of(str(each)) is not None]
    if not seen or os.access(seen[0], os.X_OK):
        return ""
    owner = _owner_of(str(seen[0]))
    if owner is None or owner == user_id:
        return f": open the folder {seen[0]} for yourself: chmod u+rwx {shlex.quote(str(seen[0]))}"
    return (
        f": the folder {seen[0]} belongs to the user {_user_name(owner)}: run the command as that user"
        f" (sudo -u '{_user_name(owner)}' {command}), or name another database (--storage)"
    )


def _owner_of(path: str) -> int | None:
    try:
        return os.stat(path).st_uid  # noqa: PTH116 - it may vanish at any time: one call, no question before it
    except OSError:
        return None


def _user_name(user_id: int) -> str:
    try:
        return pwd.getpwuid(user_id).pw_name
    except KeyError:
        return f"#{user_id}"  # the form that sudo takes for an id without a name
