"""`patrol db`: brings the database up to date, copies it, puts a copy back, checks it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from sqlalchemy import Connection

from patrol.accounts.presence import has_credential
from patrol.accounts.tokens import TokenStore
from patrol.accounts.users import UserStore
from patrol.cli.app import COMMANDS
from patrol.cli.configuration import ConfigOption, load
from patrol.cli.exit_codes import CommandError, ExitCode
from patrol.cli.options import JsonOption, StorageOption
from patrol.cli.output import note, visible, write, write_json
from patrol.cli.records import this_command
from patrol.daemon.sole import daemon_with
from patrol.database import (
    Database,
    DatabaseBusyError,
    ForeignSchemaError,
    NewerSchemaError,
    StorageError,
    owner_refusal,
)
from patrol.database.checkup import Checkup, check_up
from patrol.database.copies import copy_database, keep_copy
from patrol.database.place import file_of, parse_url, shown
from patrol.database.restoring import restore as put_back
from patrol.database.schema import known_revision
from patrol.database.schema import upgrade as migrate
from patrol.migrations import REVISIONS
from patrol.run.lease import running_now

db = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

NEWEST = REVISIONS[-1]


def register(app: typer.Typer) -> None:
    """Adds the group."""
    app.add_typer(db, name="db", help=COMMANDS["db"])


@db.command("upgrade")
def upgrade(config_file: ConfigOption = None, storage: StorageOption = "") -> None:
    """Brings the schema up to date. A file is copied beside itself first; the newest three copies stay."""
    with _as_it_is(config_file, storage) as database:
        revision = known_revision(database.engine)
        if revision == NEWEST:
            write(f"{database.place}: the schema is {NEWEST}, nothing to do")
            return
        copy = keep_copy(database.engine, revision, _now()) if revision is not None else None
        migrate(database.engine)
        write(f"{database.place}: the schema is {NEWEST} now, it was {revision or 'not there'}")
        if copy is not None:
            write(f"The copy from before: {copy}")


@db.command("backup")
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The copy to make; nothing is overwritten.")],
    config_file: ConfigOption = None,
    storage: StorageOption = "",
) -> None:
    """Copies the database to a file, whole and consistent, also while a run writes."""
    with _as_it_is(config_file, storage) as database:
        if database.path is None:
            raise CommandError(f"{database.place} is a server: copy it with pg_dump --format=custom --file={file}")
        revision = known_revision(database.engine)
        if revision is None:
            raise CommandError(f"{database.place} holds nothing yet: `patrol run` fills it", ExitCode.FAILED)
        copy_database(database.engine, file.absolute())
        write(f"{visible(str(file))}: {file.stat().st_size} bytes, schema {revision}")


@db.command("restore")
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A copy that `patrol db backup` made.")],
    config_file: ConfigOption = None,
    storage: StorageOption = "",
) -> None:
    """Puts a copy in the place of the database, after checking it. The old file is kept beside it."""
    url = storage or load(config_file).database_url
    path = _owned(url)
    if path is None:
        raise CommandError(f"{shown(parse_url(url))} is no file: use pg_restore --clean --if-exists")
    try:
        aside = put_back(file.absolute(), path, in_use=_in_use, now=_now())
    except StorageError as error:
        raise _refused(error, path) from error
    write(f"{path}: now what {visible(str(file))} holds")
    write(_who_is_let_in(path))
    if aside is not None:
        write(f"What was there before: {aside} (delete it when it is not needed any more; nothing else does)")


def _who_is_let_in(path: Path) -> str:
    """What a copy means for tokens and users: what was taken from them since it was made is theirs again."""
    database = Database(parse_url(f"sqlite:///{path}"))
    try:
        if known_revision(database.engine) != NEWEST:
            return "Tokens and users are those of the copy: revoke and remove again what was since"
        with database.read() as connection:
            valid = sum(each.is_valid(_now()) for each in TokenStore(connection).list_tokens())
            users = len(UserStore(connection).list_users())
            anybody = has_credential(connection)
    finally:
        database.close()
    if not anybody:
        return "The copy knows no token and no user: the daemon serves only this machine, without a credential"
    return f"Tokens and users are those of the copy ({valid} valid, {users}): revoke and remove again what was since"


@db.command("check")
def check(
    *,
    full: Annotated[bool, typer.Option("--full", help="Also compare every index with its table; slower.")] = False,
    config_file: ConfigOption = None,
    storage: StorageOption = "",
    as_json: JsonOption = False,
) -> None:
    """Reads all of the database. Exit code 0: whole. 1: damaged. 2: not Patrol's, newer, or not this user's."""
    with _as_it_is(config_file, storage) as database:
        found = check_up(database, full=full, newest=NEWEST)
    if as_json:
        write_json(_document(found))
    else:
        _print(found)
    if not found.is_whole:
        raise typer.Exit(ExitCode.FAILED)


def _document(found: Checkup) -> dict[str, object]:
    return {
        "database": found.place,
        "schema": found.revision,
        "newest_schema": NEWEST,
        "whole": found.is_whole,
        "damage": list(found.damage),
        "lost_parents": list(found.lost_parents),
        "rows": dict(found.counts),
        "orphan_pages": found.orphan_pages,
    }


def _print(found: Checkup) -> None:
    known = found.revision == NEWEST
    write(f"{found.place}: {'whole' if found.is_whole else 'DAMAGED'}")
    write(f"schema {found.revision or 'none yet'}{'' if known else f', newest {NEWEST}: patrol db upgrade'}")
    for each in (*found.damage, *found.lost_parents):
        write(f"damage: {visible(each)}")
    for name, count in found.counts.items():
        write(f"{name}: {count}")
    if found.orphan_pages:
        write(f"evidence pages that nothing refers to: {found.orphan_pages} (no damage, only room)")
    if not found.is_whole:
        write("Remedy: patrol db restore FILE with a good copy; the damaged file is kept beside it")


@contextmanager
def _as_it_is(config_file: Path | None, storage: str) -> Iterator[Database]:
    """The database without making or migrating anything. Raises CommandError."""
    url = storage or load(config_file).database_url
    path = _owned(url)
    if path is not None and not path.exists():
        raise CommandError(f"{path} does not exist yet: `patrol run` makes it", ExitCode.FAILED)
    try:
        database = Database(parse_url(url))
        try:
            known_revision(database.engine)
            note(f"patrol: database {database.place}")
            yield database
        finally:
            database.close()
    except StorageError as error:
        raise _refused(error, path) from error


def _refused(error: StorageError, path: Path | None) -> CommandError:
    """The error for people; where a daemon has the file, with that daemon and how to stop it."""
    text = str(error)
    if isinstance(error, DatabaseBusyError) and path is not None:
        daemon = daemon_with(path)
        if daemon is not None:
            text = f"{error.place}: {error.wrong}. That is the daemon ({daemon}): systemctl stop patrol, or end it"
    return CommandError(text, _code(error))


def _code(error: StorageError) -> ExitCode:
    """What is damaged or in the way is a failure; what is not Patrol's, or newer, was a wrong choice."""
    return ExitCode.USAGE if isinstance(error, ForeignSchemaError | NewerSchemaError) else ExitCode.FAILED


def _owned(url: str) -> Path | None:
    """The file of a URL, if there is one; only for its owner. Raises CommandError."""
    try:
        path = file_of(parse_url(url))
    except StorageError as error:
        raise CommandError(str(error)) from error
    refusal = owner_refusal(path, os.geteuid(), this_command()) if path is not None else None
    if refusal is not None:
        raise CommandError(refusal)
    return path


def _in_use(connection: Connection) -> str | None:
    return running_now(connection, _now())


def _now() -> datetime:
    return datetime.now(UTC)
