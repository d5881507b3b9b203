"""A PostgreSQL server for tests: private, on a socket in a temporary folder, gone afterwards."""

import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg.sql import SQL, Identifier

BLANK = "template0"
_USER = "patrol"
_START_SECONDS = 30.0
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",  # what is tested here is not the disk of this machine
    "full_page_writes": "off",
    "max_connections": "40",
    "shared_buffers": "16MB",
    "timezone": "Asia/Kathmandu",  # a zone that shows where an instant is taken for local time
}


def find_programs() -> Path | None:
    """The folder of the newest installed server's programs, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda each: int(each.parts[-3]))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


def _unprivileged() -> int | None:
    """The user to run the server as: it refuses to run as root. None: the one who runs the tests."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_uid
        except KeyError:
            continue
    return 65534


@dataclass(slots=True)
class Server:
    """A running server. Each test gets a database of its own on it."""

    sockets: Path
    template: str = ""  # name of a database to copy, once somebody made one
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def url(self, database: str) -> str:
        return f"postgresql://{_USER}@/{database}?host={self.sockets}"

    @contextmanager
    def database(self, template: str = BLANK) -> Iterator[str]:
        """The URL of a new database, dropped at the end of the block."""
        name = f"test{next(self._numbers)}"
        self.create(name, template)
        try:
            yield self.url(name)
        finally:
            self.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))

    def create(self, name: str, template: str = BLANK) -> None:
        self.execute(SQL("CREATE DATABASE {} TEMPLATE {}").format(Identifier(name), Identifier(template)))

    def execute(self, statement: SQL | str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)


@contextmanager
def private_server(programs: Path) -> Iterator[Server]:
    """Starts a server of its own in a temporary folder; stops and removes it at the end of the block."""
    user = _unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="patrol-pg-"))
    try:
        if user is not None:
            os.chown(folder, user, -1)
        options = {"user": user, "cwd": folder, "stdin": subprocess.DEVNULL}
        made = [programs / "initdb", "--no-sync", "--auth=trust", f"--username={_USER}", "--encoding=UTF8"]
        subprocess.run([*made, "--locale=C.UTF-8", folder / "data"], check=True, capture_output=True, **options)
        settings = itertools.chain.from_iterable(("-c", f"{name}={value}") for name, value in _SETTINGS.items())
        command = [*_dies_with_us(), programs / "postgres", "-D", folder / "data", "-k", folder, *settings]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, **options)
        try:
            server = Server(folder)
            _wait_for(server, process, folder / "log")
            yield server
        finally:
            process.send_signal(signal.SIGQUIT)  # at once: nothing of it is kept
            process.wait()
    finally:
        shutil.rmtree(folder)


def _dies_with_us() -> list[str]:
    """Before a command: it is ended when the tests are killed and cannot end it themselves."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "QUIT"] if setpriv else []


def _wait_for(server: Server, process: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + _START_SECONDS
    while True:
        try:
            server.execute("SELECT 1")
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the server did not start: {log.read_text(errors='replace')}") from None
            time.sleep(0.05)
        else:
            return
