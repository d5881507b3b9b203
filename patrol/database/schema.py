"""The schema of the database: made at once where there is none, migrated where it is older, else refused.

`patrol/migrations` holds the steps; tests hold that they lead to the tables in `TABLE_MODULES`.
"""

from importlib import import_module
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import Connection, Engine, MetaData

from findings.tables import StoredRow
from patrol.database.errors import ForeignSchemaError, NewerSchemaError
from patrol.database.place import shown
from patrol.database.transactions import READS, keep_as_ours
from patrol.migrations import REVISIONS

MIGRATIONS = Path(__file__).parents[1] / "migrations"

TABLE_MODULES = ("findings.tables", "patrol.run.tables", "patrol.estate.memory.tables")
"""Every module with tables. Looked up when a schema is made: those of `patrol` import this package themselves."""

_VERSION = sa.Table("alembic_version", MetaData(), sa.Column("version_num", sa.String(32), primary_key=True))

_OURS = frozenset({_VERSION.name, "finding"})
"""Tables that every database of Patrol has, whatever its version."""


def all_tables() -> MetaData:
    """The tables of all modules."""
    for module in TABLE_MODULES:
        import_module(module)
    return StoredRow.metadata


def prepare(engine: Engine) -> None:
    """Brings the database to the schema of this version.

    Raises ForeignSchemaError for the database of another program, NewerSchemaError for one of a newer Patrol.
    """
    place = shown(engine.url)
    # Only a read: what turns out to be somebody else's is left exactly as it is.
    with engine.connect().execution_options(**{READS: True}) as connection:
        revision = _revision(connection, place)
        if revision is not None and revision not in REVISIONS:
            raise NewerSchemaError(
                place,
                f"it has the schema {revision}, this version of Patrol knows up to {REVISIONS[-1]}",
                "Install the version of Patrol that wrote it, restore the copy made before its upgrade, or set another "
                "[storage] url",
            )
    keep_as_ours(engine)
    if revision is None:
        with engine.begin() as connection:
            if _revision(connection, place) is None:  # not made by another process meanwhile
                create(connection)
    elif revision != REVISIONS[-1]:
        upgrade(engine)


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


def _revision(connection: Connection, place: str) -> str | None:
    """The revision of the schema; None for an empty database."""
    names = set(sa.inspect(connection).get_table_names())
    if not names:
        return None
    if not names >= _OURS:
        raise ForeignSchemaError(
            place, f"it holds tables of another program ({', '.join(sorted(names)[:3])})", "Set another [storage] url"
        )
    found = connection.execute(sa.select(_VERSION.c.version_num)).scalar_one_or_none()
    return found or "without a number"
