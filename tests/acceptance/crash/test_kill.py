"""A run that is killed at any instant leaves a whole database, and the next run carries on."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from patrol.run.record_model import RunStatus
from tests.acceptance.crash.estates import Place, failed_units
from tests.acceptance.crash.invariants import check, run_on
from tests.acceptance.crash.warm import ROOT, Warm


def usual_seconds(warm: Warm, place: Place) -> float:
    """How long an undisturbed run takes here, opening and closing included: the second fastest of four.

    The first one waits until the warm process is warm.
    """
    took = []
    for step in range(4):
        began = time.monotonic()
        warm.order(place, step)
        assert warm.ended() == 0
        took.append(time.monotonic() - began)
    return sorted(took)[1]


@pytest.mark.parametrize("kills", [12, pytest.param(300, marks=pytest.mark.long)])
def test_a_run_killed_at_any_instant_leaves_no_half_run_and_the_next_one_carries_on(
    warm: Warm, place: Place, kills: int
) -> None:
    chance = random.Random(kills)
    seconds = usual_seconds(warm, place)
    killed = crashed = number = 0
    while number < kills or (crashed == 0 and number < kills * 5):  # where other work makes runs longer, later ones
        step = 4 + number * 2
        number += 1
        ended = warm.kill_after((number + chance.random()) % kills * seconds / kills, place, step)
        assert ended in (0, -signal.SIGKILL)
        killed += ended != 0
        before = check(place)
        left = {run.id for run in before if run.status is RunStatus.RUNNING}
        assert len(left) <= 1
        assert ended != 0 or not left
        run_on(place, step + 1, f"next-{number}")
        after = check(place)
        assert {run.id for run in after if run.status is RunStatus.CRASHED} >= left
        assert len(after) == len(before) + 1
        crashed += len(left)
    assert killed > number // 3, "most delays must lie within a run"
    assert crashed > 0


def test_a_killed_process_of_the_command_line_is_caught_up_on(file: Path, tmp_path: Path) -> None:
    units = [{"name": name, "state": "failed", "result": "exit-code"} for name in failed_units(0)]
    host = {"id": "agent:local:hosta", "type": "agent", "name": "hosta", "status": "online", "units": units}
    document = tmp_path / "estate.json"
    document.write_text(json.dumps({"version": 1, "resources": [host]}), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "patrol",
        "run",
        "--snapshot",
        document,
        "--storage",
        f"sqlite:///{file}",
        "--json",
    ]
    chance = random.Random(3)
    crashed = 0
    for _ in range(3):
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _wait_for_run(file, process)
        time.sleep(chance.uniform(0, 0.02))
        process.kill()
        process.wait()
        crashed += sum(run.status is RunStatus.RUNNING for run in check(file))
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, text=True)
        document_out = json.loads(done.stdout)
        assert done.returncode in (0, 4), done.stderr
        assert len(document_out["findings"]) == len(units)
        assert not [run for run in check(file) if run.status is RunStatus.RUNNING]
    assert crashed > 0


def _wait_for_run(file: Path, process: "subprocess.Popen[bytes]") -> None:
    """Until the run of a process is in the database."""
    while process.poll() is None:
        try:
            with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
                if connection.execute("SELECT 1 FROM run WHERE status = 'running'").fetchone():
                    return
        except sqlite3.Error:
            pass  # not made yet
        time.sleep(0.002)


# --- power cuts


def copied(file: Path, folder: Path) -> Path:
    """The files as a power cut at this moment would leave them: the shared index of the log is not on disk."""
    folder.mkdir()
    for suffix in ("", "-wal"):
        if Path(f"{file}{suffix}").exists():
            shutil.copyfile(f"{file}{suffix}", folder / f"{file.name}{suffix}")
    return folder / file.name


@pytest.mark.parametrize("cuts", [12, pytest.param(120, marks=pytest.mark.long)])
def test_power_that_goes_at_any_moment_leaves_an_earlier_whole_state(
    warm: Warm, file: Path, tmp_path: Path, cuts: int
) -> None:
    chance = random.Random(cuts)
    seconds = usual_seconds(warm, file)
    victim = warm.order(file, 4, runs=100_000)
    ended: list[int] = []
    try:
        for number in range(cuts):
            time.sleep(chance.uniform(0, seconds))
            os.kill(victim, signal.SIGSTOP)  # a copy takes time: the files must stand still like those on a dead disk
            try:
                _wait_until_stopped(victim)
                copy = copied(file, tmp_path / f"cut{number}")
            finally:
                os.kill(victim, signal.SIGCONT)
            ended.append(sum(run.completed_at is not None for run in check(copy)))
            run_on(copy, 50 + number, "after-power", lease_over=True)
            shutil.rmtree(copy.parent)
    finally:
        os.kill(victim, signal.SIGKILL)
        assert warm.ended() == -signal.SIGKILL
    assert ended == sorted(ended)
    assert ended[-1] > ended[0] >= 4


def _wait_until_stopped(process: int) -> None:
    while Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "Tt":
        time.sleep(0.0005)


@pytest.mark.parametrize("cuts", [25, pytest.param(400, marks=pytest.mark.long)])
def test_a_log_that_ends_anywhere_leaves_an_earlier_whole_state(
    warm: Warm, file: Path, tmp_path: Path, cuts: int
) -> None:
    """With what power cuts do to the last sectors: cut short, or filled with something else."""
    chance = random.Random(cuts)
    warm.order(file, 0)
    assert warm.ended() == 0
    warm.order(file, 1, runs=3, keep_log=True)
    assert warm.ended() == -signal.SIGKILL
    log = Path(f"{file}-wal").read_bytes()
    seen: dict[int, tuple[int, int]] = {}
    for number in range(cuts):
        length = chance.randrange(len(log) + 1)
        tail = chance.choice((b"", b"\0" * 4096, chance.randbytes(5000)))
        copy = copied(file, tmp_path / f"cut{number}")
        Path(f"{copy}-wal").write_bytes(log[:length] + tail)
        runs = check(copy)
        seen[length] = len(runs), sum(run.completed_at is not None for run in runs)
        if number % 5 == 0:
            run_on(copy, 9, "after-power", lease_over=True)
        shutil.rmtree(copy.parent)
    states = [seen[length] for length in sorted(seen)]
    assert states == sorted(states)
    assert states[0] < states[-1]
