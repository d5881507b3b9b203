"""The databases that tests run on: each test of storage runs on all of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from patrol.database import Database, open_database
from tests.postgresql import BLANK, Server

MEMORY, FILE, POSTGRESQL = "memory", "file", "postgresql"
ALL = (MEMORY, FILE, POSTGRESQL)


class GetServer(Protocol):
    """Starts the server when it is asked for the first time."""

    def __call__(self) -> Server: ...


@contextmanager
def fresh_url(sort: str, folder: Path, server: GetServer, *, made: bool = False) -> Iterator[str]:
    """The URL of a database that holds nothing yet. `made`: its tables may be there (a server copies them faster)."""
    if sort == MEMORY:
        yield "sqlite://"
    elif sort == FILE:
        yield f"sqlite:///{folder / 'patrol.db'}"
    else:
        running = server()
        with running.database(_template(running) if made else BLANK) as url:
            yield url


def _template(server: Server) -> str:
    if not server.template:
        server.template = "patrol"
        server.create(server.template)
        open_database(server.url(server.template)).close()
    return server.template


@contextmanager
def fresh_database(sort: str, folder: Path, server: GetServer) -> Iterator[Database]:
    """An open database with all tables and no rows."""
    with fresh_url(sort, folder, server, made=True) as url:
        database = open_database(url)
        try:
            yield database
        finally:
            database.close()
