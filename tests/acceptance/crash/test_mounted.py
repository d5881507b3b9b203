"""Real file systems that are full, have no room for another file, or are mounted to be read only.

They are mounted in memory, seen by nobody but a child of this process. Where that is not permitted, as in most
containers, the same is proved by what comes nearest to it: a bound that SQLite itself keeps, and the rights of a user
without privileges. These means are tried everywhere, so that they work where they are needed.
"""

import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path

import pytest

from patrol.database import Database, DatabasePlaceError, DatabaseWriteError
from patrol.run.lease import LEASE
from patrol.run.record_model import RunStatus
from patrol.run.store import RunStore
from tests.acceptance.crash.estates import run_at, utc_now
from tests.acceptance.crash.invariants import check, run_on
from tests.acceptance.crash.mounts import are_permitted, have_own_mounts, in_a_child, mount_in_memory, remount
from tests.acceptance.crash.places import (
    NOBODY,
    PAGE,
    all_but,
    as_plain_user,
    bounded,
    open_after,
    page_count,
    place_of,
)
from tests.acceptance.crash.warm import ROOT

SIZE = "size=4m"
MEANS = pytest.mark.parametrize("mounted", [True, False], ids=["mounted", "without mounting"])


@cache
def may_mount() -> bool:
    return are_permitted()


def command(path: Path) -> "subprocess.CompletedProcess[str]":
    """`patrol run` over an empty estate that lies elsewhere, with its records in this file."""
    program = "import sys; from patrol.__main__ import main; sys.exit(main(sys.argv[1:]))"
    document = '{"version": 1, "resources": []}'
    line = [sys.executable, "-c", program, "run", "--snapshot", "/dev/stdin", "--storage", f"sqlite:///{path}"]
    return subprocess.run(line, cwd=ROOT, input=document, capture_output=True, check=False, text=True)


# --- full


def filled_to_every_byte(
    path: Path, limited: Callable[[Path, int], AbstractContextManager[Database]], distance: int
) -> list[str]:
    """Runs with ever more room, from none to enough; how each ended. After each of them the database is whole."""
    with open_after(path) as database:
        for step in range(3):
            run_at(database, step, f"before-{step}")
    ends: list[str] = []
    step = 3
    while not ends or ends[-1] != "ran":
        known = len(check(path))
        ends.append(_end_of_run(limited, path, len(ends) * distance, step))
        assert ends[-1] == "ran" or ("the disk is full" in ends[-1] and str(path) in ends[-1]), ends[-1]
        unfinished = check(path)[known:]
        assert ends[-1] == "ran" or {run.status for run in unfinished} <= {RunStatus.RUNNING, RunStatus.ERROR}
        with open_after(path) as database:  # this process lives on: only the end of its lease shows that the run ended
            RunStore(database).close_crashed(utc_now() + LEASE)
        step += 2
    run_on(path, step, "room-again")
    check(path)
    return ends


def _end_of_run(
    limited: Callable[[Path, int], AbstractContextManager[Database]], path: Path, free: int, step: int
) -> str:
    try:
        with limited(path, free) as database:
            run_at(database, step, f"full-{step}")
    except DatabaseWriteError as error:
        return str(error)
    return "ran"


@MEANS
def test_a_full_file_system_ends_the_run_clearly_wherever_it_happens(file: Path, *, mounted: bool) -> None:
    def on_a_file_system_of_its_own() -> str:
        assert have_own_mounts()
        mount_in_memory(file.parent, SIZE)
        return str(len(filled_to_every_byte(file, all_but, 6 * PAGE)))

    if mounted and may_mount():
        assert int(in_a_child(on_a_file_system_of_its_own)) > 5
    else:
        ends = filled_to_every_byte(file, lambda path, free: bounded(path, page_count(path) + free // PAGE), PAGE)
        assert len(ends) > 1


@MEANS
def test_a_command_without_room_ends_with_code_1_and_nothing_half_made(file: Path, *, mounted: bool) -> None:
    def without_room() -> str:
        assert have_own_mounts()
        mount_in_memory(file.parent, "size=8k")
        return told(command(file))

    def without_a_file_more() -> str:
        assert have_own_mounts()
        mount_in_memory(file.parent, f"{SIZE},nr_inodes=2")  # the folder, and the database without its log
        return told(command(file))

    def told(ended: "subprocess.CompletedProcess[str]") -> str:
        assert ended.returncode in (1, 2), ended.stderr
        assert str(file) in ended.stderr
        assert "Traceback" not in ended.stderr
        return ended.stderr

    if mounted and may_mount():
        assert "Make room" in in_a_child(without_room)
        assert "df -i" in in_a_child(without_a_file_more)
    else:
        with pytest.raises(DatabaseWriteError, match="Make room"), bounded(file, 1) as database:
            run_at(database, 0, "full")
    assert command(file).returncode == 4  # nothing to see, but recorded


# --- read-only


@MEANS
def test_a_file_system_that_is_only_read_is_named_and_stays_as_it_is(*, mounted: bool) -> None:
    def on_a_file_system_of_its_own() -> str:
        assert have_own_mounts()
        mount_in_memory(folder, SIZE)
        with open_after(path) as database:
            run_at(database, 0, "before")
        before = path.read_bytes()
        remount(folder, SIZE, read_only=True)
        with pytest.raises(DatabasePlaceError) as caught, open_after(path) as database:
            run_at(database, 1, "read-only")
        ended = command(path)
        assert (ended.returncode, str(path) in ended.stderr) == (2, True)
        assert "Traceback" not in ended.stderr
        assert not list(folder.glob("patrol.db?*"))
        assert path.read_bytes() == before
        with pytest.raises(DatabasePlaceError), open_after(folder / "another.db"):
            pass
        remount(folder, SIZE, read_only=False)
        run_on(path, 2, "writable-again")
        check(path)
        return str(caught.value)

    with place_of(NOBODY) as folder:
        path = folder / "patrol.db"
        if mounted and may_mount():
            said = in_a_child(on_a_file_system_of_its_own)
            assert "Mount its file system for writing" in said
        else:
            assert as_plain_user(path, "run") == "ran"
            path.chmod(stat.S_IRUSR)
            before = path.read_bytes()
            said = as_plain_user(path, "lock")
            assert "writable for this user" in said
            assert path.read_bytes() == before
            path.chmod(stat.S_IRUSR | stat.S_IWUSR)
            folder.chmod(0o700)
            assert as_plain_user(path, "again") == "ran"
            check(path)
        assert str(path) in said
