"""No room left at any write of a run: it ends with a clear error, nothing is half written, the next run carries on."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from patrol.database import Database, DatabasePlaceError, open_database
from patrol.run.lease import LEASE
from patrol.run.record_model import RunStatus
from patrol.run.store import RunStore
from tests.acceptance.crash.estates import run_at, utc_now
from tests.acceptance.crash.invariants import check, run_on
from tests.acceptance.crash.places import NOBODY, PAGE, as_plain_user, bounded, open_after, page_count, place_of
from tests.acceptance.crash.victim import STORAGE_ERROR
from tests.acceptance.crash.warm import ROOT, Warm


def test_a_database_that_may_not_grow_ends_the_run_clearly_wherever_it_happens(file: Path) -> None:
    """Every page that a run adds is once the one that does not fit any more."""
    open_database(f"sqlite:///{file}").close()
    step, ends = 0, list[str]()
    while not ends or ends[-1] != "ran":
        step += 1
        with bounded(file, page_count(file) + step - 1) as database:
            ends.append(_end_of_run(database, step))
        assert ends[-1] == "ran" or ("the disk is full" in ends[-1] and str(file) in ends[-1])
        statuses = [run.status for run in check(file)]
        assert ends[-1] == "ran" or set(statuses) <= {RunStatus.RUNNING, RunStatus.ERROR, RunStatus.CRASHED}
        with open_after(file) as database:  # this process lives on, so nobody but the lease can tell that the run ended
            RunStore(database).close_crashed(utc_now() + LEASE)
    assert len(ends) > 3
    with open_after(file) as database:
        run_at(database, step, "room-again")
    run_on(file, step + 1, "and-on")
    check(file)


def _end_of_run(database: Database, step: int) -> str:
    try:
        run_at(database, step, f"full-{step}")
    except DatabasePlaceError as error:
        return str(error)
    return "ran"


@pytest.mark.parametrize("distance", [24 * 1024, pytest.param(PAGE, marks=pytest.mark.long)])
def test_a_file_that_may_not_grow_ends_the_run_clearly_wherever_it_happens(
    warm: Warm, file: Path, distance: int
) -> None:
    """The system itself refuses the write: to the log, at the end of a step, and when the log is written back."""
    for step in range(3):
        warm.order(file, step)
        assert warm.ended() == 0
    limit, step, ends = 0, 3, []
    while not ends or ends[-1] != 0:
        warm.order(file, step, file_bytes=limit)
        ends.append(warm.ended())
        assert ends[-1] in (0, STORAGE_ERROR)
        check(file)
        if len(ends) % 4 == 0:
            run_on(file, step + 1, f"room-again-{step}")
        limit += distance
        step += 2
    assert len(ends) > 3
    run_on(file, step, "room-again")
    assert not {run.status for run in check(file)} & {RunStatus.RUNNING}


def test_the_command_ends_with_code_1_and_says_what_is_full(file: Path) -> None:
    document = file.with_name("estate.json")
    document.write_text('{"version": 1, "resources": []}')
    line = [sys.executable, "-m", "patrol", "run", "--snapshot", document, "--storage", f"sqlite:///{file}"]
    assert subprocess.run(line, cwd=ROOT, capture_output=True, check=False).returncode == 4  # nothing to see
    bound = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))\n"
    program = f"{bound}import sys; from patrol.__main__ import main; sys.exit(main(sys.argv[1:]))"
    ended = subprocess.run(
        [sys.executable, "-c", program, *line[3:]], cwd=ROOT, capture_output=True, check=False, text=True
    )
    assert ended.returncode == 1
    assert str(file) in ended.stderr
    assert "nothing of this step was stored" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert subprocess.run(line, cwd=ROOT, capture_output=True, check=False).returncode == 4  # nothing to see


# --- places that cannot be written


def test_a_file_or_folder_that_only_reads_is_named_with_its_remedy() -> None:
    with place_of(NOBODY) as folder:
        path = folder / "patrol.db"
        assert as_plain_user(path, "make") == "made"
        assert as_plain_user(path, "run") == "ran"
        path.chmod(0o400)
        before = path.read_bytes()
        assert str(path) in (said := as_plain_user(path, "run"))
        assert "writable for this user" in said
        assert path.read_bytes() == before
        path.chmod(stat.S_IRUSR | stat.S_IWUSR)
        said = as_plain_user(path, "lock")  # the log cannot be made in such a folder
        assert str(path) in said
        assert "folder" in said
        folder.chmod(0o700)
        assert as_plain_user(path, "again") == "ran"
        check(path)


def test_a_folder_that_cannot_be_made_is_named() -> None:
    with place_of(0) as folder:
        folder.chmod(0o555)
        said = as_plain_user(folder / "state" / "patrol.db", "run")
        assert "mkdir -m 700 -p" in said
