"""The database: where it lies, how it is opened, its schema, and transactions on it."""

from patrol.database.errors import (
    DatabaseBusyError,
    DatabaseClosedError,
    DatabaseConflictError,
    DatabaseCorruptError,
    DatabasePlaceError,
    DatabaseUnreachableError,
    DatabaseUrlError,
    DatabaseWriteError,
    ForeignSchemaError,
    NewerSchemaError,
    StorageError,
)
from patrol.database.opening import open_database
from patrol.database.place import owner_refusal
from patrol.database.schema import upgrade
from patrol.database.transactions import Database

__all__ = [
    "Database",
    "DatabaseBusyError",
    "DatabaseClosedError",
    "DatabaseConflictError",
    "DatabaseCorruptError",
    "DatabasePlaceError",
    "DatabaseUnreachableError",
    "DatabaseUrlError",
    "DatabaseWriteError",
    "ForeignSchemaError",
    "NewerSchemaError",
    "StorageError",
    "open_database",
    "owner_refusal",
    "upgrade",
]
