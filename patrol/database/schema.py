"""The schema of the database: made at once where there is none, migrated where it is older, else refused.

`patrol/migrations` holds the steps; tests hold that they lead to the tables in `TABLE_MODULES`.
"""

from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import Connection, Engine, MetaData
from sqlalchemy.exc import DBAPIError

from findings.tables import StoredRow
from patrol.database.copies import keep_copy
from patrol.database.errors import ForeignSchemaError, translated
from patrol.database.peek import VERSION_TABLE, check_ours, checked_revision, revision_of_file
from patrol.database.place import file_of, shown
from patrol.database.transactions import READS, keep_as_ours
from patrol.migrations import REVISIONS

MIGRATIONS = Path(__file__).parents[1] / "migrations"

TABLE_MODULES = (
    "findings.tables",
    "patrol.run.tables",
    "patrol.run.model_work.tables",
    "patrol.estate.memory.tables",
    "patrol.history.tables",
    "patrol.work.tables",
    "patrol.schedule.tables",
    "patrol.accounts.tables",
    "patrol.alerts.tables",
    "patrol.overrides.tables",
)
"""Every module with tables. Looked up when a schema is made: those of `patrol` import this package themselves."""

_VERSION = sa.Table(VERSION_TABLE, MetaData(), sa.Column("version_num", sa.String(32), primary_key=True))


def all_tables() -> MetaData:
    """The tables of all modules."""
    for module in TABLE_MODULES:
        import_module(module)
    return StoredRow.metadata


def prepare(engine: Engine, clock: Callable[[], datetime]) -> None:
    """Brings the database to the schema of this version; keeps a copy of a file that changes for it.

    Raises ForeignSchemaError for the database of another program, NewerSchemaError for one of a newer Patrol.
    """
    revision = known_revision(engine)
    keep_as_ours(engine)
    if revision is None:
        with engine.begin() as connection:
            _alone(connection)
            if find_revision(connection, shown(engine.url)) is None:  # not made by another process meanwhile
                create(connection)
    elif revision != REVISIONS[-1]:
        keep_copy(engine, revision, clock())
        upgrade(engine)


def known_revision(engine: Engine) -> str | None:
    """The revision of the schema; None for an empty database. What turns out to be somebody else's stays as it is.

    Raises StorageError.
    """
    path = file_of(engine.url)
    if path is not None:
        return revision_of_file(path)
    place = shown(engine.url)
    try:
        with engine.connect().execution_options(**{READS: True}) as connection:
            return find_revision(connection, place)
    except DBAPIError as error:
        known = translated(error, place)
        if known is None:
            raise
        raise known from error


def find_revision(connection: Connection, place: str) -> str | None:
    """The revision of the schema that a transaction sees; None for an empty database. Raises StorageError."""
    names = sa.inspect(connection).get_table_names()
    if not names:
        return None
    check_ours(place, names)
    return checked_revision(place, connection.execute(sa.select(_VERSION.c.version_num)).scalar_one_or_none())


_SCHEMA_LOCK = 0x7061_7472_6F6C
"""Any number that no other program is likely to lock."""


def _alone(connection: Connection) -> None:
    """Keeps out of this transaction every other one that makes or changes the schema."""
    if connection.dialect.name == "postgresql":  # SQLite's writers are alone anyway
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_SCHEMA_LOCK)))


def create(connection: Connection) -> None:
    """Makes all tables of an empty database, marked with the newest revision."""
    all_tables().create_all(connection, checkfirst=False)
    _VERSION.create(connection, checkfirst=False)
    connection.execute(_VERSION.insert(), {"version_num": REVISIONS[-1]})


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Runs the migrations that are missing, all or none of them."""
    # On demand: alembic costs a third of a second, and most starts have nothing to migrate.
    command = import_module("alembic.command")
    config = import_module("alembic.config").Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    with engine.connect() as connection:
        sqlite = connection.dialect.name == "sqlite"
        if sqlite:
            _foreign_keys(connection, on=False)  # a rebuilt table is dropped, which must not empty its children
        try:
            with connection.begin():
                _alone(connection)
                config.attributes["connection"] = connection
                command.upgrade(config, revision)
                if sqlite and (broken := connection.exec_driver_sql("PRAGMA foreign_key_check").first()):
                    raise ForeignSchemaError(
                        shown(engine.url), f"rows without their parent in {broken[0]}", "Restore a copy of it"
                    )
        finally:
            if sqlite:
                _foreign_keys(connection, on=True)


def _foreign_keys(connection: Connection, *, on: bool) -> None:
    """Outside of a transaction: inside one SQLite ignores the switch."""
    cursor = connection.connection.cursor()
    cursor.execute(f"PRAGMA foreign_keys = {'ON' if on else 'OFF'}")
    cursor.close()
