"""The records as a command reaches them: by the daemon of this machine, or in the database, as its owner."""

import errno
import os
import shlex
import socket
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, TypeVar

from findings.model import DEFAULT_ORG
from patrol.cli.author import author
from patrol.cli.exit_codes import CommandError, ExitCode
from patrol.cli.output import note
from patrol.database import (
    Database,
    DatabaseBusyError,
    DatabasePlaceError,
    DatabaseUnreachableError,
    DatabaseWriteError,
    StorageError,
    open_database,
    owner_refusal,
)
from patrol.database.place import file_of, is_same, parse_url, shown
from patrol.records.desk import Answerable, Desk, QuestionRefusedError
from patrol.settings.interface import SOCKET, parse_listen
from patrol.settings.load import LoadedSettings
from patrol.settings.places import default_database_url

ORG = DEFAULT_ORG
"""The command line works on the one organisation that a single house is."""
CONNECT_SECONDS = 10.0

Kind = TypeVar("Kind")


class NoRecordsYetError(CommandError):
    """No daemon answers, and the database has not been made yet: nothing was ever recorded."""


class Records(Protocol):
    """Where a command's questions are answered."""

    def ask(self, question: Answerable[Kind], kind: type[Kind], /) -> Kind:
        """The answer, which is of this kind. Raises CommandError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedRecords:
    """Records in a database that this process has opened."""

    desk: Desk

    def ask(self, question: Answerable[Kind], _kind: type[Kind], /) -> Kind:
        """The answer. Raises CommandError, StorageError."""
        try:
            return question.answer(self.desk)
        except QuestionRefusedError as error:
            raise CommandError(str(error), ExitCode(error.refusal.code)) from error


@contextmanager
def records(loaded: LoadedSettings, storage: str = "", *, must_exist: bool = True) -> Iterator[Records]:
    """The records; says on standard error whose they are.

    Those of the daemon that answers on this machine, unless another database is named: by `storage`, or by a [storage]
    url of the settings. `must_exist`: without a daemon, no database is made. Raises CommandError.
    """
    found, why_not = (None, "") if storage else _by_daemon(loaded)
    if found is not None:
        yield found
        return
    with database_of(loaded, storage, must_exist=must_exist, otherwise=lambda: why_not) as database:
        yield OpenedRecords(
            desk=Desk(
                database=database,
                org_id=ORG,
                author=author(),
                clock=lambda: datetime.now(UTC),
                ids=lambda: uuid.uuid4().hex,
                random_bytes=os.urandom,
                organisations=loaded.settings.api.organisations,
            )
        )


@contextmanager
def database_of(
    loaded: LoadedSettings, storage: str = "", *, must_exist: bool = True, otherwise: Callable[[], str] = str
) -> Iterator[Database]:
    """The database that holds the records, opened here; says on standard error which one it is."""
    with opened(storage or loaded.database_url, must_exist=must_exist, otherwise=otherwise) as database:
        note(f"patrol: database {shown(database.url)}, settings {loaded.file or 'built-in'}")
        yield database


def _by_daemon(loaded: LoadedSettings) -> tuple[Records | None, str]:
    """The records of the daemon of this machine. None: nobody is there, or the settings name another database; or
    whoever is there lets this user not in, and says why. Raises CommandError for a daemon that answers otherwise.
    """
    connection, why_not = reach_daemon(loaded)
    if connection is None:
        return None, why_not
    # On demand: HTTP is loaded only where somebody is there to speak to.
    from patrol.cli.daemon_records import DaemonRecords, NotLetInError  # noqa: PLC0415

    try:
        with connection:
            found = DaemonRecords.met(connection)
    except NotLetInError as error:
        return None, str(error)
    if not is_meant(loaded, found.database):
        return None, ""
    found.check_version()
    note(f"patrol: daemon at {found.path}, database {found.database}")
    return found, ""


def is_meant(loaded: LoadedSettings, database: str) -> bool:
    """Whether the settings mean the database of this name, or none by name."""
    if loaded.settings.storage.url is None:
        return True
    try:
        return is_same(shown(parse_url(loaded.database_url)), database)
    except StorageError:  # said when it is opened
        return False


def reach_daemon(loaded: LoadedSettings) -> tuple[socket.socket | None, str]:
    """A connection to the daemon of this machine. None: nobody is there, or this user may not come in, and why.

    Raises CommandError where somebody is there who does not come to the door.
    """
    listen = parse_listen(loaded.settings.api.listen).path
    why_not = ""
    for path in dict.fromkeys(filter(None, (listen, str(SOCKET)))):
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.settimeout(CONNECT_SECONDS)
        try:
            made.connect(path)
        except (TimeoutError, BlockingIOError) as error:
            made.close()
            raise CommandError(
                f"the daemon at {path} takes no calls now: journalctl -u patrol says what it does", ExitCode.FAILED
            ) from error
        except OSError as error:  # nothing there, or left there by one that was killed
            made.close()
            if error.errno in {errno.EACCES, errno.EPERM}:
                why_not = f"{path}: a daemon there is asked by root and its own user only"
        else:
            return made, ""
    return None, why_not


def this_command() -> str:
    """The command line as it was typed, for a message that says how else to run it."""
    program = Path(sys.argv[0]).name
    typed = shlex.join(["patrol", *sys.argv[1:]]) if program in {"patrol", "__main__.py"} else "patrol ..."
    named = os.environ.get("PATROL_CONFIG")  # sudo hands no variables on
    return f"env {shlex.quote(f'PATROL_CONFIG={Path(named).expanduser().absolute()}')} {typed}" if named else typed


@contextmanager
def opened(
    url: str,
    *,
    must_exist: bool = False,
    otherwise: Callable[[], str] = str,
    place_code: ExitCode = ExitCode.USAGE,
) -> Iterator[Database]:
    """The database of a URL. `must_exist`: a command that only reads makes none. `otherwise`: what is said beside the
    refusal of a database that cannot be opened here, "" for nothing. `place_code`: what a place ends with that cannot
    be used as it is.

    Raises CommandError: another user's file, a foreign or newer schema, a damaged file, no such file.
    """
    try:
        parsed = parse_url(url)
        path = file_of(parsed)
        if path is not None:
            refusal = owner_refusal(path, os.geteuid(), this_command())
            if refusal is not None:
                raise CommandError(_joined(refusal, otherwise()))
            if must_exist and not path.exists():
                missing, why_not = f"{path} does not exist yet: `patrol run` makes it", otherwise()
                kind = CommandError if why_not else NoRecordsYetError
                raise kind(_joined(missing, why_not), ExitCode.FAILED)
        # Only where records lie by themselves: a name that was typed wrong must not become folders.
        is_own_place = url == default_database_url(os.environ, Path.home(), os.geteuid())
        database = open_database(url, make_folder=is_own_place)
    except (DatabaseBusyError, DatabaseUnreachableError, DatabaseWriteError) as error:
        raise CommandError(str(error), ExitCode.FAILED) from error
    except DatabasePlaceError as error:
        raise CommandError(_joined(str(error), otherwise()), place_code) from error
    except StorageError as error:
        raise CommandError(_joined(str(error), otherwise())) from error
    try:
        yield database
    except StorageError as error:
        raise CommandError(str(error), ExitCode.FAILED) from error
    finally:
        database.close()


def _joined(text: str, more: str) -> str:
    return f"{text}\n{more}" if more else text
