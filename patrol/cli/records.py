"""The database as a command opens it: only by its owner, in words for the person at the terminal."""

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from findings.model import DEFAULT_ORG
from patrol.cli.exit_codes import CommandError, ExitCode
from patrol.cli.output import note
from patrol.database import (
    Database,
    DatabaseBusyError,
    DatabaseWriteError,
    StorageError,
    open_database,
    owner_refusal,
)
from patrol.database.place import file_of, parse_url, shown
from patrol.settings.load import LoadedSettings

ORG = DEFAULT_ORG
"""The command line works on the one organisation that a single house is."""


def this_command() -> str:
    """The command line as it was typed, for a message that says how else to run it."""
    program = Path(sys.argv[0]).name
    return shlex.join(["patrol", *sys.argv[1:]]) if program in {"patrol", "__main__.py"} else "patrol ..."


@contextmanager
def opened(url: str, *, must_exist: bool = False) -> Iterator[Database]:
    """The database of a URL. `must_exist`: a command that only reads makes none.

    Raises CommandError: another user's file, a foreign or newer schema, a damaged file, no such file.
    """
    try:
        parsed = parse_url(url)
        path = file_of(parsed)
        if path is not None:
            refusal = owner_refusal(path, os.geteuid(), this_command())
            if refusal is not None:
                raise CommandError(refusal)
            if must_exist and not path.exists():
                raise CommandError(f"{path} does not exist yet: `patrol run` makes it", ExitCode.FAILED)
        database = open_database(url, make_folder=True)
    except (DatabaseBusyError, DatabaseWriteError) as error:
        raise CommandError(str(error), ExitCode.FAILED) from error
    except StorageError as error:
        raise CommandError(str(error)) from error
    try:
        yield database
    except StorageError as error:
        raise CommandError(str(error), ExitCode.FAILED) from error
    finally:
        database.close()


@contextmanager
def records(loaded: LoadedSettings, storage: str = "") -> Iterator[Database]:
    """The database that holds the records, for commands that show them; says on standard error which one it is."""
    url = storage or loaded.database_url
    with opened(url, must_exist=True) as database:
        note(f"patrol: database {shown(database.url)}, settings {loaded.file or 'built-in'}")
        yield database
