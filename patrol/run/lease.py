"""A run's lease: proof that its process is alive, renewed while it is."""

import hashlib
import os
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import Connection, select

from patrol.database.errors import StorageError
from patrol.run.record_model import RunStatus
from patrol.run.store import RunEndedError, RunStore
from patrol.run.tables import RUNS

LEASE = timedelta(seconds=45)
"""How long a run is taken for alive without a renewal. A crashed run keeps others waiting no longer than this."""
RENEWED_EVERY_SECONDS = 10.0

PROC = Path("/proc")
_OWNER = re.compile(r"(?P<host>.+):(?P<pid>[1-9][0-9]*)@(?P<world>[0-9a-f]{8})\.(?P<born>[0-9]+)")
_STATE, _BORN = 0, 19  # in /proc/PID/stat, counted from behind the name: proc_pid_stat(5), fields 3 and 22
_DEAD = frozenset("ZXx")  # a zombie holds nothing any more


def lease_owner(proc: Path = PROC) -> str:
    """Whose process this is: `host:pid` for people, and behind it what lets `owner_is_gone` be certain."""
    name = f"{socket.gethostname()}:{os.getpid()}"
    world, born = _world(proc), _born(proc, os.getpid())
    return f"{name}@{world}.{born}" if world and born else name


def owner_is_gone(owner: str, proc: Path = PROC) -> bool:
    """Whether the process of this lease is certain not to run any more.

    Only a process of this very boot and this space of process ids can be known to be gone: another container or
    another host of the same name has other processes under the same numbers. False wherever it is not certain.
    """
    match = _OWNER.fullmatch(owner)
    if match is None or match["host"] != socket.gethostname() or match["world"] != _world(proc):
        return False
    pid = int(match["pid"])
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):  # it runs, for another user; or the number is none
        return False
    born = _born(proc, pid)
    return born == "" or (born is not None and born != match["born"])


def running_now(connection: Connection, now: datetime) -> str | None:
    """Which run of any organisation is under way, in words; None if there is none.

    Asks only for columns that every version of the table has.
    """
    columns = (RUNS.c.id, RUNS.c.lease_owner, RUNS.c.lease_expires_at)
    for run_id, owner, until in connection.execute(select(*columns).where(RUNS.c.status == str(RunStatus.RUNNING))):
        if until is not None and until > now and not owner_is_gone(owner):
            return f"the run {run_id} of {owner} is under way (lease until {until:%H:%M:%S} UTC)"
    return None


def _world(proc: Path) -> str | None:
    """What a process id means something in: this boot of this kernel, and the namespace of process ids."""
    try:
        boot = (proc / "sys/kernel/random/boot_id").read_bytes().strip()
        space = bytes((proc / "self/ns/pid").readlink())
    except OSError:
        return None
    return hashlib.sha256(boot + space).hexdigest()[:8]


def _born(proc: Path, pid: int) -> str | None:
    """When a process started, in ticks of its boot: numbers are used again. "" for a dead one, None if unknown."""
    try:
        stat = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()  # the name before it may hold anything
    if len(fields) <= _BORN:
        return None
    return "" if fields[_STATE] in _DEAD else fields[_BORN]


@contextmanager
def kept_alive(runs: RunStore, run_id: str, clock: Callable[[], datetime]) -> Iterator[None]:
    """Renews the lease until the block ends.

    A run that was taken for crashed meanwhile finds out when it is written.
    """
    over = threading.Event()

    def renew() -> None:
        while not over.wait(RENEWED_EVERY_SECONDS):
            try:
                runs.extend_lease(run_id, clock() + LEASE)
            except StorageError:
                continue  # busy, or full for a moment: the next renewal comes well before the lease is over
            except RunEndedError:
                return

    keeper = threading.Thread(target=renew, name="patrol-lease", daemon=True)
    keeper.start()
    try:
        yield
    finally:
        over.set()
        keeper.join()
