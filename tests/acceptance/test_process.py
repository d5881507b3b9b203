"""The product as people and scripts meet it: as a process, with real files, pipes and signals."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from random import Random

import msgspec
import pytest

from findings.model import GapReason
from patrol.estate.model import Estate
from tests.acceptance.estates import Plan, Planting
from tests.acceptance.faults import FAULTS
from tests.acceptance.recordings import line_of, swept
from tests.acceptance.things import CLUSTERS, THINGS

ROOT = Path(__file__).resolve().parents[2]
BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f"


def everything_broken() -> Estate:
    """An estate with every fault of the catalogue, and things with hostile names."""
    random = Random(11)
    plantings = [
        Planting(thing, random.choice(CLUSTERS), random.randrange(1 << 16), fault)
        for thing in THINGS
        for fault in (None, *FAULTS.get(thing, ()))
    ]
    return Plan(tuple(plantings), junk=("many names",)).estate()


def small() -> Estate:
    """Nodes, hosts and a backup server, all well."""
    return Plan(()).estate()


class Shell:
    """A place of its own to run commands in: nothing of this machine's settings is seen."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.database = home / "patrol.db"
        self.storage = f"sqlite:///{self.database}"

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PATROL_")}
        for name in ("STATE_DIRECTORY", "CREDENTIALS_DIRECTORY", "COLUMNS"):
            kept.pop(name, None)
        return {**kept, "HOME": str(self.home), "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8", **more}

    def patrol(
        self, *arguments: str, given: bytes = b"", stdout: int = subprocess.PIPE, **environment: str
    ) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "patrol", *arguments]
        return subprocess.run(
            command,
            input=given,
            stdout=stdout,
            stderr=subprocess.PIPE,
            cwd=self.home,
            env=self.environment(**environment),
            timeout=120,
            check=False,
        )

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "patrol", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.home,
            env=self.environment(),
        )

    def snapshot(self, estate: Estate, name: str = "estate.json") -> str:
        file = self.home / name
        file.write_bytes(msgspec.json.encode(estate))
        return str(file)

    def run(self, estate: Estate, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return self.patrol("run", "--snapshot", self.snapshot(estate), "--storage", self.storage, *arguments)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> tuple[Shell, subprocess.CompletedProcess[bytes]]:
    """A run over everything that can be broken, for tests that only look at what it left."""
    shell = Shell(tmp_path_factory.mktemp("broken"))
    return shell, shell.run(everything_broken(), "--json")


Broken = tuple[Shell, subprocess.CompletedProcess[bytes]]


def is_harmless(output: bytes) -> bool:
    """Whether a terminal obeys nothing in it: one way to write lines, no control and no direction characters."""
    text = output.decode()
    return all(character == "\n" or (character.isprintable() and character not in BIDI) for character in text)


def test_the_document_of_a_run_is_one_json_with_every_part(broken: Broken) -> None:
    _, done = broken
    document = json.loads(done.stdout)
    assert set(document) >= {"run", "findings", "signals", "gaps", "problems", "checks_off", "looks", "resources"}
    assert set(document["run"]) >= {"id", "status", "model", "complete", "resources_checked", "new_findings"}
    assert (document["run"]["status"], document["run"]["model"]) == ("critical", "none")
    assert done.returncode == 0
    assert len(document["findings"]) == len(document["signals"]) == document["run"]["new_findings"] > 30
    for finding in document["findings"]:
        assert finding["evidence"]
        assert finding["limit"] is None or finding["limit_source"] or finding["limit"] == 0
    assert b"Traceback" not in done.stderr


def test_what_a_run_left_is_shown_by_the_other_commands(broken: Broken) -> None:
    shell, done = broken
    document = json.loads(done.stdout)
    listed = json.loads(shell.patrol("findings", "list", "--storage", shell.storage, "--json").stdout)
    assert {each["id"] for each in listed["findings"]} == {each["id"] for each in document["findings"]}
    one = document["findings"][0]
    shown = json.loads(shell.patrol("findings", "show", one["id"], "--storage", shell.storage, "--json").stdout)
    assert shown["finding"]["summary"] == one["summary"]
    assert [change["reason"] for change in shown["transitions"]] == ["filed"]
    runs = json.loads(shell.patrol("runs", "list", "--storage", shell.storage, "--json").stdout)
    assert [run["id"] for run in runs["runs"]] == [document["run"]["id"]]
    run = shell.patrol(
        "runs", "show", document["run"]["id"], "--tool-calls", "--storage", shell.storage, "--json"
    ).stdout
    calls = json.loads(run)["tool_calls"]
    assert len(calls) >= 11
    assert {call["origin"] for call in calls} == {"patrol"}


def test_no_name_from_outside_reaches_the_terminal_as_it_is(broken: Broken) -> None:
    shell, done = broken
    document = json.loads(done.stdout)
    hostile = [each["id"] for each in document["findings"] if not each["summary"].isprintable()][:1]
    for arguments in (
        ("run", "--snapshot", str(shell.home / "estate.json")),
        ("findings", "list", "--storage", shell.storage),
        ("findings", "show", *hostile, "--storage", shell.storage),
        ("runs", "show", document["run"]["id"], "--tool-calls", "--storage", shell.storage),
    ):
        shown = shell.patrol(*arguments)
        assert shown.stdout
        assert is_harmless(shown.stdout), arguments
        assert is_harmless(shown.stderr), arguments
    assert is_harmless(done.stdout)


def test_detection_reads_standard_input_and_its_output_depends_on_nothing_else(shell: Shell) -> None:
    recording = b"\n".join(line_of(call) for call in swept(everything_broken()))
    arguments = ("detect", "--tool-calls", "-", "--now", "2026-11-29T21:00:00Z", "--examined", "--json")
    outputs = [
        shell.patrol(*arguments, given=recording, PYTHONHASHSEED=seed, TZ=zone)
        for seed, zone in (("1", "Asia/Tokyo"), ("4242", "America/New_York"))
    ]
    assert [done.returncode for done in outputs] == [0, 0]
    assert len({done.stdout for done in outputs}) == 1
    lines = [json.loads(line) for line in outputs[0].stdout.splitlines()]
    signals = [line for line in lines if "signal_type" in line]
    assert set(signals[0]) >= {
        *("signal_type", "resource_id", "resource_name", "resource_type", "severity", "category", "summary"),
        *("value", "limit", "limit_source", "evidence", "tool_call_id"),
    }
    assert {line["look"] for line in lines if "look" in line} >= {"present", "clear", "blind"}
    table = shell.patrol("detect", "--tool-calls", "-", given=recording)
    assert is_harmless(table.stdout)


def test_the_exit_code_is_the_worst_that_holds(shell: Shell) -> None:
    assert shell.run(small()).returncode == 0
    assert shell.run(everything_broken(), "--fail-on", "critical").returncode == 3
    broken = shell.home / "broken.json"
    broken.write_text("{")
    lost = shell.patrol("run", "--snapshot", str(broken), "--storage", shell.storage, "--json")
    assert lost.returncode == 4
    document = json.loads(lost.stdout)
    assert [gap["reason"] for gap in document["gaps"]] == [GapReason.UNREADABLE]
    assert document["run"]["resolved_findings"] == 0
    wrong = shell.patrol("run", "--snapshot", str(shell.home / "estate.json"), "--scope", "nobody")
    assert (wrong.returncode, wrong.stdout) == (2, b"")
    assert b"nobody" in wrong.stderr


@pytest.fixture
def hanging(shell: Shell) -> Iterator[subprocess.Popen[bytes]]:
    """A run that waits for a source that never delivers, far enough begun to have its record."""
    pipe = shell.home / "never"
    os.mkfifo(pipe)
    process = shell.start("run", "--snapshot", str(pipe), "--storage", shell.storage)
    until = time.monotonic() + 60
    while not _runs(shell.database) and time.monotonic() < until:
        assert process.poll() is None
        time.sleep(0.05)
    yield process
    process.kill()
    process.communicate()


def _runs(database: Path) -> list[tuple[str, str]]:
    with suppress(sqlite3.OperationalError), closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as known:
        return known.execute("SELECT id, status FROM run ORDER BY started_at").fetchall()
    return []


def test_a_second_run_is_refused_by_name_and_a_killed_one_is_closed_by_the_next(
    shell: Shell, hanging: subprocess.Popen[bytes]
) -> None:
    ((first, status),) = _runs(shell.database)
    assert status == "running"
    refused = shell.run(small())
    assert refused.returncode == 1
    assert first.encode() in refused.stderr
    assert f"{socket.gethostname()}:{hanging.pid}".encode() in refused.stderr
    hanging.send_signal(signal.SIGKILL)
    assert hanging.wait(timeout=30) == -signal.SIGKILL
    after = shell.run(small())
    assert after.returncode == 0, after.stderr
    assert [status for _, status in _runs(shell.database)] == ["crashed", "healthy"]


def test_a_run_that_is_told_to_stop_stops_and_says_so(shell: Shell, hanging: subprocess.Popen[bytes]) -> None:
    hanging.send_signal(signal.SIGINT)
    _, said = hanging.communicate(timeout=30)
    assert hanging.returncode not in {0, None}
    assert b"Traceback" not in said
    assert [status for _, status in _runs(shell.database)] == ["cancelled"]


def test_a_damaged_database_is_named_and_never_made_anew(shell: Shell) -> None:
    shell.run(small())
    whole = shell.database.read_bytes()
    middle = len(whole) // 2
    damaged = whole[:100] + b"\xff" * 4000 + whole[4100:middle] + b"\x00" * 8192 + whole[middle + 8192 :]
    shell.database.write_bytes(damaged)
    for name in ("-wal", "-shm"):
        Path(f"{shell.database}{name}").unlink(missing_ok=True)
    for arguments in (("findings", "list"), ("run", "--snapshot", str(shell.home / "estate.json"))):
        done = shell.patrol(*arguments, "--storage", shell.storage)
        assert done.returncode in {1, 2}, arguments
        assert str(shell.database).encode() in done.stderr
        assert b"Traceback" not in done.stderr
    assert shell.database.read_bytes()[:4100] == damaged[:4100]


_WITHOUT_OVERRIDE = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE: root obeys the modes of files, too
os.execv(sys.executable, [sys.executable, "-m", "patrol", *sys.argv[1:]])
"""


def test_a_database_that_may_not_be_written_is_named(shell: Shell) -> None:
    shell.run(small())
    shell.database.chmod(0o400)
    before = shell.database.read_bytes()
    try:
        done = subprocess.run(
            [sys.executable, "-c", _WITHOUT_OVERRIDE, "run", "--snapshot", "estate.json", "--storage", shell.storage],
            capture_output=True,
            cwd=shell.home,
            env=shell.environment(),
            timeout=120,
            check=False,
        )
    finally:
        shell.database.chmod(0o600)
    assert done.returncode == 2
    assert str(shell.database).encode() in done.stderr
    assert b"Traceback" not in done.stderr
    assert shell.database.read_bytes() == before


@pytest.mark.parametrize("as_json", [True, False])
def test_a_reader_that_goes_away_is_no_trouble(broken: Broken, as_json: bool) -> None:
    shell, _ = broken
    reading, writing = os.pipe()
    os.close(reading)
    arguments = ["findings", "list", "--storage", shell.storage, *(["--json"] if as_json else [])]
    try:
        done = shell.patrol(*arguments, stdout=writing)
    finally:
        os.close(writing)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr
