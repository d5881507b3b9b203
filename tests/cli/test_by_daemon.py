"""Commands that a daemon answers: they print what they print without it, and only whom the kernel names may ask.

The daemon is the real one in a process of its own; where the tests run as root it is that of a user without rights, as
it is on a machine, and the commands are root's.
"""

import io
import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from importlib.metadata import version
from pathlib import Path
from socketserver import ThreadingUnixStreamServer
from typing import Any, Protocol

import pytest

from patrol.__main__ import main
from tests.daemon.supervisor import PATIENCE, documented
from tests.run.builders import disk, host

ROOT = Path(__file__).resolve().parents[2]
IS_ROOT = os.geteuid() == 0
THE_DAEMONS, SOMEBODY = 65534, 65533
as_root = pytest.mark.skipif(not IS_ROOT, reason="only root can be several users")

Answer = tuple[int, str, str]


class Patrol(Protocol):
    """A command line, carried out in this process."""

    def __call__(self, *arguments: str, typed: str = "") -> Answer: ...


def as_user(user: int, *command: str) -> list[str]:
    given = [] if user == os.geteuid() else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    return [*given, sys.executable, "-m", "patrol", *command]


def environment(home: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PATROL_")}
    for name in ("STATE_DIRECTORY", "CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET", "JOURNAL_STREAM"):
        kept.pop(name, None)
    return {**kept, "HOME": str(home), "PYTHONPATH": str(ROOT), "COLUMNS": "400", **more}


@dataclass(frozen=True)
class House:
    """A machine with a daemon. `home`: everybody's; `state`: the daemon's; `copy`: the database of before, as ours."""

    home: Path

    @property
    def state(self) -> Path:
        return self.home / "state"

    @property
    def socket(self) -> Path:
        return self.state / "api.sock"

    @property
    def url(self) -> str:
        return f"sqlite:///{self.state / 'patrol.db'}"

    @property
    def config(self) -> str:
        return str(self.home / "patrol.toml")

    @property
    def copy(self) -> str:
        return f"sqlite:///{self.home / 'copy.db'}"

    def as_user(self, user: int, *command: str, **more: str) -> Answer:
        told = [*command, "--config", self.config]
        given = environment(self.home, **more)
        done = subprocess.run(
            as_user(user, *told), env=given, cwd="/", capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        return done.returncode, done.stdout, done.stderr


@contextmanager
def daemon(house: House, user: int) -> Iterator[None]:
    with (house.home / "log").open("ab") as log:
        command = as_user(user, "serve", "--config", house.config)
        given = environment(house.home, STATE_DIRECTORY=str(house.state))
        process = subprocess.Popen(command, env=given, cwd="/", stdout=log, stderr=log)
    try:
        until = time.monotonic() + PATIENCE
        while '"event":"run"' not in (said := (house.home / "log").read_text().replace('": "', '":"')):
            assert process.poll() is None, said
            assert time.monotonic() < until, said
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    with tempfile.TemporaryDirectory() as folder:
        made = House(Path(folder))
        made.home.chmod(0o755)
        made.state.mkdir(mode=0o755)
        sources = documented(made.home, host(usage=97), disk("FAILED"))
        settings = f'[patrol]\nstartup_delay = "0"\n[sampling]\nseconds = 0\n[api]\nlisten = "unix:{made.socket}"\n'
        Path(made.config).write_text(settings + sources, encoding="utf-8")
        user = THE_DAEMONS if IS_ROOT else os.geteuid()
        if IS_ROOT:
            os.chown(made.state, user, user)
        with daemon(made, user):
            with sqlite3.connect(f"file:{made.state / 'patrol.db'}?mode=ro", uri=True) as connection:
                connection.execute("VACUUM INTO ?", (str(made.home / "copy.db"),))
            connection.close()
            yield made


@pytest.fixture
def patrol(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, house: House) -> Patrol:
    for name in ("PATROL_CONFIG", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(house.home / "nobody is at home"))
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.chdir("/")

    def run(*arguments: str, typed: str = "") -> Answer:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        code = main([*arguments, "--config", house.config])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


# --- the same both ways -------------------------------------------------------------------------------------------

PASSWORD = "correct horse battery\n"
FIRST: dict[str, tuple[tuple[str, ...], Callable[[Any], str]]] = {
    "finding": (("findings", "list", "--json"), lambda told: told["findings"][0]["id"]),
    "other": (("findings", "list", "--json"), lambda told: told["findings"][1]["id"]),
    "run": (("runs", "list", "--json"), lambda told: told["runs"][0]["id"]),
    "resource": (("resources", "list", "--json"), lambda told: told["resources"][0]["id"]),
}
"""What later commands name, and where it is read."""

SCRIPT: Sequence[tuple[str, ...]] = (
    ("findings", "list", "--json"),
    ("findings", "list"),
    ("findings", "list", "--state", "active", "--severity", "critical", "--json"),
    ("findings", "list", "--state", "silenced"),
    ("findings", "show", "{finding}", "--json"),
    ("findings", "show", "{finding}"),
    ("findings", "show", "nothing"),
    ("findings", "ack", "{finding}", "--note", "seen", "--json"),
    ("findings", "ack", "{finding}"),
    ("findings", "snooze", "{other}", "--until", "2998-01-01T00:00:00+00:00", "--json"),
    ("findings", "snooze", "{other}", "--until", "2001-01-01"),
    ("findings", "dismiss", "{finding}", "{other}", "--reason", "will_fix_later", "--json"),
    ("findings", "suppress", "{other}"),
    ("findings", "note", "{other}", "--note", "ask\x1b[31m ann", "--json"),
    ("findings", "undo", "{other}", "--json"),
    ("findings", "undo", "{other}", "--what", "snooze"),
    ("findings", "undo", "{finding}", "nothing00"),
    ("findings", "resolve", "{other}", "--json"),
    ("findings", "list", "--state", "all", "--json"),
    ("silence", "add", "--resource", "{resource}", "--offline", "--reason", "at the shop", "--json"),
    ("silence", "add", "--resource", "nothing like it", "--offline", "--reason", "x"),
    ("silence", "add", "--kind", "high_memory", "--suppress", "--reason", "", "--json"),
    ("silence", "list", "--json"),
    ("silence", "list"),
    ("findings", "list", "--json"),
    ("silence", "end", "{silence}", "--json"),
    ("silence", "end", "{silence}"),
    ("silence", "end", "nothing"),
    ("silence", "list", "--all", "--json"),
    ("pause", "--show", "--json"),
    ("pause", "--reason", "new disks", "--for", "2h", "--json"),
    ("pause", "--until", "2001-01-01"),
    ("pause", "--show"),
    ("resume", "--json"),
    ("resume",),
    ("runs", "list", "--json"),
    ("runs", "list", "--limit", "1"),
    ("runs", "show", "{run}", "--tool-calls", "--json"),
    ("runs", "show", "{run}", "--tool-calls"),
    ("runs", "show", "nothing"),
    ("resources", "list", "--json"),
    ("resources", "list"),
    ("resources", "remove", "nothing"),
    ("resources", "remove", "{resource}", "--json"),
    ("resources", "remove", "{resource}"),
    ("resources", "list", "--removed", "--json"),
    ("token", "create", "prometheus", "--scope", "metrics:read", "--scope", "ai:execute", "--for", "90d", "--json"),
    ("token", "create", "x", "--scope", "*", "--org", "moon"),
    ("token", "create", "x", "--scope", "*", "--until", "2001-01-01"),
    ("token", "list", "--json"),
    ("token", "revoke", "{token}"),
    ("token", "revoke", "nothing"),
    ("token", "list", "--all", "--json"),
    ("user", "add", "ann", "--admin", "--json"),
    ("user", "add", "ann"),
    ("user", "add", "ben", "--org", "moon"),
    ("user", "role", "ann", "--role", "owner", "--json"),
    ("user", "role", "nobody"),
    ("user", "passwd", "ann", "--json"),
    ("user", "passwd", "nobody"),
    ("user", "list", "--json"),
    ("user", "list"),
    ("user", "remove", "ann"),
    ("user", "remove", "ann"),
)
_SUMMARY = {"silence": "silence", "token": "token"}


@dataclass
class Played:
    """The script, carried out in one of the two ways."""

    patrol: Patrol
    options: tuple[str, ...] = ()
    names: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def all(self) -> list[tuple[str, int, str, str]]:
        for name, (command, read) in FIRST.items():
            self.names[name] = read(json.loads(self.patrol(*command, *self.options)[1]))
        return [self.one(command) for command in SCRIPT]

    def one(self, command: tuple[str, ...]) -> tuple[str, int, str, str]:
        asked = [each.format(**self.names) if each.startswith("{") else each for each in command]
        code, out, err = self.patrol(*asked, *self.options, typed=PASSWORD)
        first, _, rest = err.partition("\n")
        self.notes.append(first)
        if "--json" in command and code == 0:
            for name, key in _SUMMARY.items():
                document = json.loads(out)
                if key in document and name not in self.names:
                    self.names[name] = document[key]["id"]
        return " ".join(command), code, masked(out), masked(rest)


def masked(text: str) -> str:
    """The text without what is another one each time: times, ids that were made, secrets."""
    text = re.sub(r"20\d\d-\d\d-\d\d[T ][\d:.]+(Z|\+00:00)?( UTC)?", "TIME", text)
    text = re.sub(r"patrol_[\w-]+", "SECRET", text)
    text = re.sub(r"\b[0-9a-f]{16,32}\b", "ID", text)
    return re.sub(r" +$", "", re.sub(r"  +", "  ", text), flags=re.MULTILINE)


def test_every_command_prints_the_same_with_a_daemon_and_without(patrol: Patrol, house: House) -> None:
    asking, opening = Played(patrol), Played(patrol, ("--storage", house.copy))
    asked, opened = asking.all(), opening.all()
    assert asked == opened
    assert {code for _, code, *_ in asked} == {0, 1, 2}
    assert set(asking.notes) == {f"patrol: daemon at {house.socket}, database {house.state / 'patrol.db'}"}
    assert set(opening.notes) == {f"patrol: database {house.home / 'copy.db'}, settings {house.config}"}


def test_the_daemon_takes_up_at_once_what_was_said(patrol: Patrol, house: House) -> None:
    assert patrol("pause", "--reason", "quiet now")[0] == 0
    until = time.monotonic() + 5  # by itself it looks every ten seconds
    while "stored settings" not in (house.home / "log").read_text().rpartition("started")[2]:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert patrol("resume")[0] == 0


# --- which database ------------------------------------------------------------------------------------------------


def test_another_database_that_the_settings_name_is_opened_here(
    patrol: Patrol, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATROL_STORAGE__URL", house.copy)
    code, _, err = patrol("runs", "list")
    assert (code, err) == (0, f"patrol: database {house.home / 'copy.db'}, settings {house.config}\n")
    monkeypatch.setenv("PATROL_STORAGE__URL", "nonsense")
    assert "this is not the URL of a database" in patrol("runs", "list")[2]


def test_the_daemons_own_is_asked_of_it_also_where_it_is_named_by_another_path(
    patrol: Patrol, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = house.home / "beside"
    beside.symlink_to(house.state)
    for url in (house.url, f"sqlite:///{beside / 'patrol.db'}"):
        monkeypatch.setenv("PATROL_STORAGE__URL", url)
        code, _, err = patrol("runs", "list")
        assert (code, "patrol: daemon at" in err) == (0, True)


# --- who may ask -----------------------------------------------------------------------------------------------------


@as_root
def test_root_asks_and_may_not_open_what_belongs_to_the_daemon(patrol: Patrol, house: House) -> None:
    made = json.loads(patrol("silence", "add", "--kind", "high_cpu", "--suppress", "--reason", "x", "--json")[1])
    assert made["silence"]["author"] == "root"
    code, _, err = patrol("runs", "list", "--storage", house.url)
    assert (code, "sudo -u" in err) == (2, True)
    code, _, err = patrol("run", "--storage", house.url)
    assert (code, "sudo -u" in err, "patrol investigate --resource NAME" in err) == (2, True, True)
    assert house.as_user(THE_DAEMONS, "runs", "list", "--json")[1] == patrol("runs", "list", "--json")[1]


def test_the_doctor_names_the_daemon_and_its_database(patrol: Patrol, house: House, monkeypatch) -> None:
    held, mine = house.state / "patrol.db", version("patrold")
    strays = [house.state / "patrol.db-wal", house.state / "patrol.db-shm"]
    before = [each.stat().st_uid for each in strays if each.exists()]
    for url in (None, house.url):
        if url is not None:
            monkeypatch.setenv("PATROL_STORAGE__URL", url)
        checks = {each["name"]: each for each in json.loads(patrol("doctor", "--json")[1])["checks"]}
        assert checks["daemon"]["detail"] == f"answers at {house.socket}, version {mine}, database {held}"
        assert [checks[name]["health"] for name in ("daemon", "database")] == ["ok", "ok"]
        if IS_ROOT or url is None:
            assert checks["database"]["detail"] == f"{held}: the daemon holds it and reads it"
    assert [each.stat().st_uid for each in strays if each.exists()] == before


@as_root
def test_others_are_not_let_in_and_are_told_so_where_they_cannot_open_the_database_either(house: House) -> None:
    code, out, err = house.as_user(SOMEBODY, "runs", "list")
    assert (code, out) == (1, "")
    assert "does not exist yet" in err
    assert f"{house.socket}: a daemon there is asked by root and its own user only" in err
    code, out, err = house.as_user(SOMEBODY, "pause", PATROL_STORAGE__URL=house.url)
    assert (code, out) == (2, "")
    assert "sudo -u" in err
    assert str(house.socket) in err
    code, out, err = house.as_user(SOMEBODY, "token", "list", PATROL_STORAGE__URL=f"sqlite:///{house.home}/mine.db")
    assert (code, out) == (2, "")
    before = house.socket.stat().st_mode
    house.socket.chmod(0o666)  # whoever may connect is not thereby let in
    try:
        code, out, err = house.as_user(SOMEBODY, "user", "list", PATROL_STORAGE__URL=house.url)
    finally:
        house.socket.chmod(before)
    assert (code, out) == (2, "")
    assert f"{house.socket}: " in err
    assert "sudo -u" in err


# --- daemons that do not answer --------------------------------------------------------------------------------


@dataclass
class Door:
    """A socket with somebody behind it who says what a test wants; `later`: from the second time on, if anything else.
    `heard`: what was asked.
    """

    path: Path
    status: int = 200
    body: bytes = b""
    later: tuple[int, bytes] | None = None
    heard: list[dict[str, Any]] = field(default_factory=list)

    def reply(self, **more: Any) -> None:
        told = {"version": version("patrold"), "database": "/x/patrol.db", "refusal": None, "answer": None}
        self.status, self.body = 200, json.dumps({**told, **more}).encode()


@pytest.fixture
def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    made = Door(tmp_path / "api.sock")

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            made.heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            if made.later is not None and len(made.heard) > 1:
                made.status, made.body = made.later
            self.send_response(made.status)
            self.send_header("Content-Length", str(len(made.body)))
            self.end_headers()
            if made.body:  # who has read an empty answer may be gone already
                self.wfile.write(made.body)

        def address_string(self) -> str:
            return "somebody"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            """Nothing."""

    monkeypatch.setenv("PATROL_API__LISTEN", f"unix:{made.path}")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with ThreadingUnixStreamServer(str(made.path), Answering) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield made
        server.shutdown()
        thread.join()


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> Answer:
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_daemon_of_another_version_is_to_be_restarted_and_asked_nothing(capsys, door: Door) -> None:
    door.reply(version="9.9.9")
    code, out, err = said(capsys, "pause")
    assert (code, out) == (2, "")
    mine = version("patrold")
    assert f"runs 9.9.9, this command is {mine}: restart the daemon (systemctl restart patrol)" in err
    assert [each["question"] for each in door.heard] == [None]
    door.status, door.body = 404, b'{"error": "not_found", "code": "not_found", "message": "no"}'
    assert "an older version" in said(capsys, "pause")[2]


def test_another_database_goes_before_another_version(capsys, door: Door, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("PATROL_STORAGE__URL", f"sqlite:///{tmp_path}/mine.db")
    (tmp_path / "mine.db").touch()
    door.reply(version="9.9.9")
    assert said(capsys, "runs", "list")[:2] == (0, "No runs.\n")


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (503, b'{"message": "The database is busy: try again in 5 s"}', "The database is busy"),
        (500, b'{"message": "Something went wrong"}', "Something went wrong"),
        (200, b"<html>", "is no Patrol"),
        (200, b'{"version": 1}', "is no Patrol"),
        (502, b"", "is no Patrol"),
    ],
)
def test_an_error_of_the_daemon_is_told_and_not_gone_around(capsys, door: Door, status, body, words) -> None:
    door.status, door.body = status, body
    code, out, err = said(capsys, "runs", "list")
    assert (code, out, words in err) == (1, "", True)
    assert "does not exist yet" not in err


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, b"Internal Server Error"),  # how the library ends what goes on beyond the end of a daemon
        (500, b'{"message": "Something went wrong"}'),
        (200, b'{"version": '),
        (200, b'{"version": "%s", "database": "/x/patrol.db", "answer": %s}' % (version("patrold").encode(), b"[" * 9)),
        (200, b'{"version": "%s", "database": "/x/patrol.db", "answer": [1]}' % version("patrold").encode()),
        (200, b"[" * 100_000),
    ],
)
def test_what_may_have_been_changed_is_never_told_as_if_nobody_had_heard(capsys, door: Door, status, body) -> None:
    door.reply()
    door.later = (status, body)
    code, out, err = said(capsys, "pause")
    assert (code, out, len(door.heard)) == (1, "", 2)
    assert "what was to be changed may have been: look before you try again" in err


@pytest.mark.parametrize("status", [401, 403])
def test_where_the_daemon_lets_nobody_in_the_database_is_opened_here(capsys, door: Door, status: int) -> None:
    door.status, door.body = status, b'{"message": "only root"}'
    code, _, err = said(capsys, "runs", "list")
    assert (code, "does not exist yet" in err, f"{door.path}: only root" in err) == (1, True, True)


def test_what_a_daemon_says_is_shown_and_not_obeyed(capsys, door: Door) -> None:
    door.reply(database="/x/\x1b[31m", refusal={"code": 1, "text": "no\x1b[2J\nsecond line"})
    code, _, err = said(capsys, "runs", "list")
    assert (code, "\x1b" in err) == (1, False)
    assert "patrol: second line" in err


def test_a_socket_that_was_left_behind_and_one_that_is_none_are_nobody(capsys, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / "left.sock"))
    left.close()
    (tmp_path / "file").touch()
    for name in ("left.sock", "file", "missing", "x" * 200):
        monkeypatch.setenv("PATROL_API__LISTEN", f"unix:{tmp_path / name}")
        code, out, err = said(capsys, "runs", "list")
        assert (code, out) == (1, "")
        assert err.strip().endswith("does not exist yet: `patrol run` makes it")


def test_somebody_who_takes_no_calls_is_told(capsys, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("patrol.cli.records.CONNECT_SECONDS", 0.2)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATROL_API__LISTEN", f"unix:{tmp_path / 'api.sock'}")
    with socket.socket(socket.AF_UNIX) as busy, socket.socket(socket.AF_UNIX) as first:
        busy.bind(str(tmp_path / "api.sock"))
        busy.listen(0)
        first.connect(str(tmp_path / "api.sock"))
        code, _, err = said(capsys, "runs", "list")
    assert (code, "takes no calls now" in err) == (1, True)


def test_without_a_daemon_nothing_of_http_is_loaded() -> None:
    code = (
        "import sys\nfrom patrol.__main__ import main\nimport patrol.cli.runs\nbefore = set(sys.modules)\n"
        "main(['runs', 'list'])\nprint(*sorted(set(sys.modules) - before))"
    )
    home = tempfile.mkdtemp()
    try:
        given = environment(Path(home), PATROL_API__LISTEN=f"unix:{home}/api.sock")
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=given, cwd=home, capture_output=True, text=True, check=False)
    finally:
        shutil.rmtree(home)
    assert done.returncode == 0, done.stderr
    assert not {"http.client", "patrol.cli.daemon_records", "fastapi", "uvicorn"} & set(done.stdout.split())
