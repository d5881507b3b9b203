"""INSERT that minds rows already there. SQLite and PostgreSQL spell it alike, SQLAlchemy keeps one class for each."""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import cast

from sqlalchemy import Table
from sqlalchemy.dialects import sqlite


def _insert(dialect: str, table: Table) -> sqlite.Insert:
    if dialect == "sqlite":
        return sqlite.insert(table)
    # On demand: the module of a server's dialect takes as long to load as all of SQLite's.
    return cast("sqlite.Insert", import_module(f"sqlalchemy.dialects.{dialect}").insert(table))


@cache
def insert_unless_there(dialect: str, table: Table) -> sqlite.Insert:
    """An insert that leaves a row with the same primary key as it is."""
    return _insert(dialect, table).on_conflict_do_nothing(index_elements=list(table.primary_key.columns))


@cache
def insert_or_replace(dialect: str, table: Table, columns: Sequence[str]) -> sqlite.Insert:
    """An insert that sets these columns of a row with the same primary key."""
    insert = _insert(dialect, table)
    return insert.on_conflict_do_update(
        index_elements=list(table.primary_key.columns),
        set_={name: insert.excluded[name] for name in columns},
    )
