"""`patrol db`: upgrade, backup, restore, check; and whose database a command opens."""

import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from findings.store import FindingStore
from patrol.__main__ import main
from patrol.daemon.sole import FilePlace
from patrol.database import Database, open_database
from patrol.database.copies import COPIES_KEPT, copy_database, keep_copy, kept_copies
from patrol.database.place import parse_url
from patrol.database.restoring import restore as put_back
from patrol.database.schema import upgrade
from patrol.database.transactions import make_engine
from patrol.migrations import REVISIONS
from patrol.run.lease import lease_owner
from patrol.run.record_model import RunRecord
from patrol.run.store import RunStore
from tests.databases import POSTGRESQL, fresh_url
from tests.run.builders import House, estate, host

Answer = tuple[int, str, str]
NEWEST = REVISIONS[-1]
NOW = datetime(2026, 11, 29, 21, 0, tzinfo=UTC)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "patrol.db"


@pytest.fixture
def patrol(file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    monkeypatch.setenv("HOME", str(file.parent))
    monkeypatch.delenv("PATROL_CONFIG", raising=False)

    def run(*arguments: str | Path, storage: str = f"sqlite:///{file}") -> Answer:
        code = main([str(each) for each in arguments] + ["--storage", storage])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def filled(file: Path) -> Path:
    """A database with a run and a finding."""
    database = open_database(f"sqlite:///{file}")
    House(database).run(estate(host(97)))
    database.close()
    return file


def contents(path: Path) -> list[str]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return list(connection.iterdump())


def older(path: Path, revision: str = "0001") -> None:
    """As an older version left it: the marker is what a version goes by."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (revision,))


def snapshot(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()}


# --- backup


def test_a_backup_holds_everything_is_private_and_opens(patrol, filled, tmp_path):
    copy = tmp_path / "copy.db"
    code, out, err = patrol("db", "backup", copy)
    assert (code, "patrol: database" in err) == (0, True)
    assert f"schema {NEWEST}" in out
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert sorted(each.name for each in tmp_path.iterdir()) == ["copy.db", "patrol.db"]
    assert contents(copy) == contents(filled)


@pytest.mark.parametrize("name", ["copy.db", "link.db", "patrol.db"])
def test_a_backup_overwrites_nothing(patrol, filled, tmp_path, name):
    (tmp_path / "copy.db").write_text("precious")
    (tmp_path / "link.db").symlink_to(tmp_path / "nowhere")
    before = filled.read_bytes()
    code, _, err = patrol("db", "backup", tmp_path / name)
    assert code == 1
    assert "there is such a file already" in err
    assert (tmp_path / "copy.db").read_text() == "precious"
    assert filled.read_bytes() == before
    assert not (tmp_path / "nowhere").exists()


def test_a_backup_into_a_folder_that_is_not_there_says_so(patrol, filled, tmp_path):
    code, _, err = patrol("db", "backup", tmp_path / "none" / "copy.db")
    assert code == 1
    assert "No such file or directory" in err


def test_a_backup_beside_a_writer_is_of_one_moment(patrol, filled, tmp_path):
    database = open_database(f"sqlite:///{filled}")
    with database.write() as connection:
        connection.exec_driver_sql("CREATE TABLE pair (one INTEGER, other INTEGER)")
        connection.exec_driver_sql("INSERT INTO pair VALUES (0, 0)")
    over = threading.Event()

    def write_on() -> None:
        while not over.is_set():
            with database.write() as connection:
                connection.exec_driver_sql("UPDATE pair SET one = one + 1")
                connection.exec_driver_sql("UPDATE pair SET other = other + 1")

    writer = threading.Thread(target=write_on)
    writer.start()
    try:
        for number in range(8):
            assert patrol("db", "backup", tmp_path / f"copy{number}")[0] == 0
    finally:
        over.set()
        writer.join()
        database.close()
    pairs = []
    for number in range(8):
        with closing(sqlite3.connect(tmp_path / f"copy{number}")) as connection:
            pairs += connection.execute("SELECT one, other FROM pair").fetchall()
    assert all(one == other for one, other in pairs)
    assert pairs == sorted(pairs)
    assert pairs[-1][0] > 0


# --- upgrade


def test_an_upgrade_keeps_a_copy_first_named_by_time_and_revision(patrol, filled, file):
    assert "nothing to do" in patrol("db", "upgrade")[1]
    assert kept_copies(file) == []
    migrated = file.with_name("migrated.db")
    from_first(migrated)
    code, out, _ = patrol("db", "upgrade", storage=f"sqlite:///{migrated}")
    [copy] = kept_copies(migrated)
    assert code == 0
    assert str(copy) in out
    assert copy.name.endswith(".0001.copy")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == ("0001",)
        assert connection.execute("SELECT text FROM alert_settings").fetchall() == [("kept",)]
    with closing(sqlite3.connect(migrated)) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == (NEWEST,)
        assert connection.execute("SELECT text FROM alert_settings").fetchall() == [("kept",)]


def from_first(path: Path) -> None:
    """A database that the first version made, with a row in it."""
    engine = make_engine(parse_url(f"sqlite:///{path}"))
    upgrade(engine, "0001")
    engine.dispose()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO alert_settings VALUES ('default', 'kept', '', '2026-01-01')")


def test_opening_an_older_database_upgrades_it_after_a_copy_too(file):
    from_first(file)
    open_database(f"sqlite:///{file}", clock=lambda: NOW).close()
    assert [each.name for each in kept_copies(file)] == ["patrol.db.20261129T210000Z.0001.copy"]


def test_the_newest_three_copies_stay_and_nothing_else_is_touched(filled, file):
    other = file.with_name("patrol.db.before-my-holiday.copy")
    other.write_text("mine")
    database = Database(open_database(f"sqlite:///{file}").url)
    for number in range(COPIES_KEPT + 2):
        keep_copy(database.engine, "0001", NOW + timedelta(seconds=number))
    database.close()
    assert [each.name[10:26] for each in kept_copies(file)] == [f"20261129T21000{number}Z" for number in (2, 3, 4)]
    assert other.read_text() == "mine"


def test_without_a_copy_nothing_is_upgraded(file, tmp_path):
    from_first(file)
    (tmp_path / f".patrol.db.20261129T210000Z.0001.copy.{os.getpid()}.part").mkdir()  # in its way
    with pytest.raises(Exception, match="cannot be written"):
        open_database(f"sqlite:///{file}", clock=lambda: NOW)
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == ("0001",)


# --- restore


def test_a_restore_brings_everything_back_and_keeps_what_was_there(patrol, filled, file, tmp_path):
    copy = tmp_path / "copy.db"
    patrol("db", "backup", copy)
    good = contents(copy)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("DELETE FROM transition")
        connection.execute("DELETE FROM finding")
    code, out, _ = patrol("db", "restore", copy)
    [aside] = tmp_path.glob("*.replaced")
    assert (code, str(aside) in out) == (0, True)
    assert contents(file) == good
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with closing(sqlite3.connect(aside)) as connection:
        assert connection.execute("SELECT count(*) FROM finding").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM run").fetchone() == (1,)
    database = open_database(f"sqlite:///{file}")
    assert len(RunStore(database).list_runs()) == 1
    database.close()


def test_a_copy_made_by_copying_files_is_taken_with_its_log(patrol, filled, file, tmp_path):
    database = open_database(f"sqlite:///{file}")
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE run SET error_summary = 'only in the log'")
    (tmp_path / "elsewhere").mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(f"{file}{suffix}", tmp_path / "elsewhere" / f"raw.db{suffix}")
    database.close()
    before = snapshot(tmp_path / "elsewhere")
    target = tmp_path / "new.db"
    assert patrol("db", "restore", tmp_path / "elsewhere" / "raw.db", storage=f"sqlite:///{target}")[0] == 0
    with closing(sqlite3.connect(target)) as connection:
        assert connection.execute("SELECT error_summary FROM run").fetchone() == ("only in the log",)
    assert snapshot(tmp_path / "elsewhere") == before


def note(path: Path) -> None:
    path.write_text("not a database\n" * 100)


def damaged(path: Path) -> None:
    open_database(f"sqlite:///{path}").close()
    data = bytearray(path.read_bytes())
    data[4096 * 3 : 4096 * 4] = b"\xff" * 4096
    path.write_bytes(data)


def foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE moz_places (id INTEGER)")


def newer(path: Path) -> None:
    open_database(f"sqlite:///{path}").close()
    older(path, "9999")


BAD = [
    (note, 1, "damaged or no SQLite database"),
    (damaged, 1, "damaged"),
    (foreign, 2, "tables of another program"),
    (newer, 2, "9999"),
    (lambda path: path.touch(), 2, "it holds nothing"),
    (lambda path: None, 1, "copy.db: it is not there"),
    (lambda path: path.mkdir(), 1, "copy.db: it is not there, or no file"),
]


@pytest.mark.parametrize(("make", "expected", "said"), BAD)
def test_a_copy_that_is_no_good_changes_nothing(patrol, filled, tmp_path, make, expected, said):
    (tmp_path / "bad").mkdir()
    bad = tmp_path / "bad" / "copy.db"
    make(bad)
    before, bad_before = snapshot(tmp_path), snapshot(tmp_path / "bad")
    code, _, err = patrol("db", "restore", bad)
    assert (code, said in err) == (expected, True), err
    assert (snapshot(tmp_path), snapshot(tmp_path / "bad")) == (before, bad_before)


def test_nothing_is_restored_while_a_run_is_under_way(patrol, filled, file, tmp_path):
    copy = tmp_path / "copy.db"
    patrol("db", "backup", copy)
    database = open_database(f"sqlite:///{file}")
    now = datetime.now(UTC)
    run = RunRecord(
        org_id="default",
        id="now",
        trigger_reason="manual",
        started_at=now,
        lease_owner=lease_owner(),
        lease_expires_at=now + timedelta(minutes=1),
    )
    RunStore(database).begin(run)
    code, _, err = patrol("db", "restore", copy)
    assert (code, "the run now of" in err) == (1, True)
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE run SET lease_expires_at = '2026-01-01'")
    code, _, err = patrol("db", "restore", copy)  # the run is over, but its process has the file open
    assert (code, "another process holds the database" in err) == (1, True)
    database.close()
    assert list(tmp_path.glob("*.replaced")) == []
    assert patrol("db", "restore", copy)[0] == 0


@pytest.mark.parametrize("make", [note, damaged, newer])
def test_a_good_copy_replaces_what_cannot_be_used_and_that_is_kept(patrol, tmp_path, make, filled):
    copy, target = tmp_path / "copy.db", tmp_path / "state" / "bad.db"
    patrol("db", "backup", copy)
    target.parent.mkdir()
    make(target)
    before = target.read_bytes()
    assert patrol("db", "restore", copy, storage=f"sqlite:///{target}")[0] == 0
    [aside] = target.parent.glob("*.replaced")
    assert make is not note or aside.read_bytes() == before
    open_database(f"sqlite:///{target}").close()


def test_a_database_of_another_program_is_never_replaced(patrol, filled, tmp_path):
    copy, target = tmp_path / "copy.db", tmp_path / "places.sqlite"
    patrol("db", "backup", copy)
    foreign(target)
    before = snapshot(tmp_path)
    code, _, err = patrol("db", "restore", copy, storage=f"sqlite:///{target}")
    assert (code, "another program" in err) == (2, True)
    assert snapshot(tmp_path) == before


# --- check


def test_a_whole_database_is_whole(patrol, filled):
    code, out, _ = patrol("db", "check", "--full", "--json")
    document = json.loads(out)
    assert (code, document["whole"], document["schema"], document["orphan_pages"]) == (0, True, NEWEST, 0)
    assert (document["rows"]["run"], document["rows"]["finding"]) == (1, 1)
    assert "whole" in patrol("db", "check")[1]


def test_damage_is_found_and_named_with_its_remedy(patrol, filled, file):
    with closing(sqlite3.connect(file)) as connection:
        [page] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'tool_call'").fetchone()
        connection.execute("PRAGMA journal_mode = DELETE")
    data = bytearray(file.read_bytes())
    data[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
    file.write_bytes(data)
    code, out, err = patrol("db", "check")
    assert code == 1
    assert "restore" in (out + err).lower()
    assert file.read_bytes() == bytes(data)


def test_rows_without_their_parent_are_damage(patrol, filled, file):
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("DELETE FROM run")
    code, out, _ = patrol("db", "check")
    assert (code, "rows of tool_call without their run" in out) == (1, True)


def test_pages_that_nothing_refers_to_are_counted_and_no_damage(patrol, filled, file):
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("INSERT INTO evidence_page VALUES ('default', 'ab', '2026-01-01', x'00')")
        connection.execute(
            "INSERT INTO evidence_page SELECT 'other', sha256, stored_at, data FROM evidence_page LIMIT 1"
        )
    code, out, _ = patrol("db", "check")
    assert (code, "nothing refers to: 2" in out) == (0, True)


def test_an_older_schema_is_checked_as_it_is(patrol, file):
    from_first(file)
    code, out, _ = patrol("db", "check")
    assert (code, f"schema 0001, newest {NEWEST}: patrol db upgrade" in out) == (0, True)
    assert kept_copies(file) == []


@pytest.mark.parametrize("command", ["upgrade", "backup", "check"])
@pytest.mark.parametrize(("make", "expected", "said"), [BAD[0], *BAD[2:4]])
def test_what_is_not_usable_is_refused_by_every_command_and_stays(patrol, file, command, make, expected, said):
    make(file)
    before = snapshot(file.parent)
    code, _, err = patrol("db", command, *([file.parent / "copy"] if command == "backup" else []))
    assert (code, said in err, str(file) in err) == (expected, True, True)
    assert snapshot(file.parent) == before


def test_a_foreign_database_in_use_stays_byte_identical_with_its_log(patrol, file):
    """Closing the last connection would write its log into it."""
    with closing(sqlite3.connect(file, isolation_level=None)) as theirs:
        theirs.execute("PRAGMA journal_mode = WAL")
        theirs.execute("CREATE TABLE moz_places (id INTEGER)")
        log = Path(f"{file}-wal").read_bytes()
        left = {file.name: file.read_bytes(), f"{file.name}-wal": log}
    for name, data in left.items():  # as a crash of that program would leave them
        (file.parent / name).write_bytes(data)
    for command in (("db", "check"), ("findings", "list"), ("run", "--no-model")):
        assert patrol(*command)[0] == 2
    assert {name: (file.parent / name).read_bytes() for name in left} == left


def test_commands_on_nothing_say_what_makes_it(patrol, file):
    for command in (("upgrade",), ("check",), ("backup", file.parent / "copy")):
        code, _, err = patrol("db", *command)
        assert (code, "does not exist yet" in err) == (1, True)
    assert list(file.parent.glob("*.db*")) == []


def test_a_server_is_copied_by_its_own_programs(patrol, tmp_path):
    url = "postgresql://nobody:secret@/none?host=/nonexistent"
    for command, program in (("backup", "cannot be reached"), ("restore", "pg_restore")):
        code, out, err = patrol("db", command, tmp_path / "copy", storage=url)
        assert (code in (1, 2), program in err, "secret" in out + err) == (True, True, False), err


# --- whose database


def test_another_users_database_is_refused_with_the_command_to_use_and_no_trace(file):
    if os.geteuid() == 0:
        open_database(f"sqlite:///{file}").close()
        os.chown(file, 65534, 65534)
    else:
        file = Path("/etc/passwd")
    before = sorted(each.name for each in file.parent.glob(f"{file.name}*")), file.read_bytes()
    for command in (["findings", "list"], ["run"], ["db", "check"], ["db", "upgrade"], ["runs", "list"]):
        line = [*command, "--storage", f"sqlite:///{file}"]
        done = subprocess.run([sys.executable, "-m", "patrol", *line], check=False, capture_output=True, text=True)
        assert done.returncode == 2
        assert "sudo -u '" in done.stderr
        assert f"patrol {' '.join(command)} --storage" in done.stderr
    assert (sorted(each.name for each in file.parent.glob(f"{file.name}*")), file.read_bytes()) == before


def test_a_log_that_another_user_left_is_named_with_the_command_that_mends_it(patrol, filled, file):
    if os.geteuid() != 0:
        Path(f"{file}-wal").symlink_to("/etc/passwd")
    else:
        Path(f"{file}-wal").touch()
        os.chown(f"{file}-wal", 65534, 65534)
    code, _, err = patrol("findings", "list")
    assert (code, "sudo chown" in err) == (2, True)


HAMMER = """
import sys
from patrol.database import open_database
from patrol.database.opening import utc_now
from patrol.run import RunRequest
from patrol.run.store import RunInProgressError
from tests.run.builders import GivenSource, House, estate, host
database = open_database(sys.argv[1])
house = House(database, _ids=lambda numbers=iter(range(10**6)): f"{sys.argv[2]}-{next(numbers)}")
house.clock = utc_now
ended = 0
while ended < int(sys.argv[3]):
    try:
        house.patrol(GivenSource([estate(host(97 if ended % 2 else 40))])).run(RunRequest())
        ended += 1
    except RunInProgressError:
        pass
database.close()
"""


def test_two_processes_that_hammer_one_database_never_harm_each_other(filled, patrol, file):
    """Runs of two processes, and commands of a third that read and copy all the while."""
    program = [sys.executable, "-c", HAMMER, f"sqlite:///{file}"]
    hammers = [subprocess.Popen([*program, name, "15"], cwd=Path(__file__).parents[1]) for name in ("a", "b")]
    copies = 0
    while any(each.poll() is None for each in hammers):
        assert patrol("findings", "list", "--json")[0] == 0
        assert patrol("db", "backup", file.with_name(f"copy{copies}"))[0] == 0
        copies += 1
    assert [each.returncode for each in hammers] == [0, 0]
    assert patrol("db", "check", "--full")[0] == 0
    database = open_database(f"sqlite:///{file}")
    runs = RunStore(database).list_runs(100)
    assert len(runs) == 31
    assert {str(run.status) for run in runs} <= {"issues_found", "critical", "incomplete", "healthy"}
    with database.read() as connection:
        [finding] = FindingStore(connection, "default").list_findings()
        moves = FindingStore(connection, "default").transitions(finding.id)
    assert [each.new_state for each in moves][::2] == ["open"] * len(moves[::2])
    database.close()
    for number in range(copies):
        with closing(sqlite3.connect(file.with_name(f"copy{number}"))) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_commands_work_on_a_server_as_far_as_they_can(patrol, tmp_path, postgresql):
    with fresh_url(POSTGRESQL, tmp_path, postgresql) as url:
        engine = make_engine(parse_url(url))
        upgrade(engine, "0001")
        engine.dispose()
        code, out, _ = patrol("db", "check", storage=url)
        assert (code, f"schema 0001, newest {NEWEST}" in out) == (0, True)
        code, out, _ = patrol("db", "upgrade", storage=url)
        assert (code, f"the schema is {NEWEST} now, it was 0001" in out, "copy" in out) == (0, True, False)
        assert json.loads(patrol("db", "check", "--json", storage=url)[1])["whole"]
        code, _, err = patrol("db", "backup", tmp_path / "copy", storage=url)
        assert (code, "pg_dump --format=custom" in err) == (2, True)
        assert "findings" in patrol("findings", "list", "--json", storage=url)[1]


def test_an_upgrade_of_an_empty_file_makes_the_schema_and_a_backup_of_one_says_so(patrol, file):
    file.touch()
    assert patrol("db", "backup", file.with_name("copy"))[0] == 1
    code, out, _ = patrol("db", "upgrade")
    assert (code, "it was not there" in out) == (0, True)
    assert patrol("db", "check")[0] == 0


def test_the_daemon_that_holds_the_file_is_named_with_how_to_stop_it(patrol, filled, file, tmp_path):
    copy = tmp_path / "copy.db"
    patrol("db", "backup", copy)
    database = open_database(f"sqlite:///{file}")
    place = FilePlace(file, "4711 on nas since 2026-03-01T12:00:00+00:00")
    code, _, err = patrol("db", "restore", copy)
    assert code == 1
    assert "(process 4711 on nas, since 2026-03-01 12:00 UTC): systemctl stop patrol" in err
    place.leave()
    code, _, err = patrol("db", "restore", copy)
    assert (code, "Wait for it to end" in err, "4711" in err) == (1, True, False)
    database.close()


def test_a_restore_says_whom_the_copy_lets_in(patrol, filled, file, tmp_path):
    patrol("db", "backup", tmp_path / "before.db")
    made = json.loads(patrol("token", "create", "old", "--scope", "*", "--json")[1])["token"]["id"]
    patrol("db", "backup", tmp_path / "after.db")
    patrol("token", "revoke", made)
    assert "(1 valid, 0): revoke and remove again what was since" in patrol("db", "restore", tmp_path / "after.db")[1]
    assert "knows no token and no user" in patrol("db", "restore", tmp_path / "before.db")[1]


def test_two_restores_of_one_second_keep_both_files(filled, file):
    copy = file.with_name("copy.db")
    database = Database(parse_url(f"sqlite:///{file}"))
    copy_database(database.engine, copy)
    database.close()
    asides = [put_back(copy, file, in_use=lambda _connection: None, now=NOW) for _ in range(2)]
    assert [each.name[26:] for each in asides] == [".replaced", "-2.replaced"]
    assert all(contents(each) == contents(file) for each in asides)


def test_what_is_missing_in_place_of_a_database_url_is_said(patrol):
    code, _, err = patrol("db", "check", storage="mysql://u:secret@db/x")
    assert (code, "Use sqlite:///PATH" in err, "secret" in err) == (2, True, False)
