import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from patrol.database import (
    Database,
    DatabaseBusyError,
    DatabaseConflictError,
    DatabaseCorruptError,
    DatabasePlaceError,
    DatabaseUnreachableError,
    DatabaseUrlError,
    DatabaseWriteError,
    ForeignSchemaError,
    NewerSchemaError,
    StorageError,
    open_database,
    owner_refusal,
    upgrade,
)
from patrol.database.errors import translated
from patrol.database.place import parse_url, shown
from patrol.database.schema import MIGRATIONS, all_tables
from patrol.database.transactions import make_engine
from patrol.migrations import REVISIONS


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "patrol.db"


def url_of(path: Path) -> str:
    return f"sqlite:///{path}"


@pytest.fixture
def opened(file):
    """Opens databases and closes them at the end."""
    held: list[Database] = []

    def _open(url: str = url_of(file), **options) -> Database:
        held.append(open_database(url, **options))
        return held[-1]

    yield _open
    for database in held:
        database.close()


def remember(connection, text="x", org="default"):
    statement = "INSERT INTO alert_settings (org_id, text, sha256, stored_at) VALUES (?, ?, '', '2026-01-01')"
    connection.exec_driver_sql(statement, (org, text))


def remembered(connection) -> list[str]:
    return list(connection.exec_driver_sql("SELECT text FROM alert_settings ORDER BY org_id").scalars())


# --- schema


def schema_of(connection) -> list[tuple[str, ...]]:
    """Every table with its columns, keys and indexes, without regard to spelling."""
    shape = []
    for (table,) in connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        for pragma in ("table_info", "index_list", "foreign_key_list"):
            rows = connection.exec_driver_sql(f"PRAGMA {pragma}({table})").fetchall()
            shape += [(table, pragma, *map(str, row[1:] if pragma == "index_list" else row)) for row in rows]
        for row in connection.exec_driver_sql(f"PRAGMA index_list({table})").fetchall():
            columns = connection.exec_driver_sql(f"PRAGMA index_info({row[1]})").fetchall()
            shape.append((table, row[1], *(column[2] for column in columns)))
    without_rowid = "SELECT name FROM sqlite_master WHERE sql LIKE '%WITHOUT ROWID%'"
    shape += [("without rowid", *row) for row in connection.exec_driver_sql(without_rowid).fetchall()]
    return sorted(shape)


@pytest.fixture
def migrated(file):
    engine = make_engine(parse_url(url_of(file)))
    upgrade(engine)
    yield engine
    engine.dispose()


def test_the_migrations_lead_to_the_tables_of_the_code(migrated):
    with migrated.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, all_tables()) == []


def test_a_database_made_at_once_equals_a_migrated_one(migrated, opened):
    with migrated.connect() as connection, opened("sqlite://").read() as made:
        expected = schema_of(connection)
        assert schema_of(made) == expected
        assert len(expected) > 100


def test_the_list_of_revisions_is_what_lies_in_the_folder():
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    scripts = ScriptDirectory.from_config(config)
    assert tuple(script.revision for script in scripts.walk_revisions())[::-1] == REVISIONS
    assert scripts.get_heads() == [REVISIONS[-1]]


def test_a_migrated_database_opens_and_an_upgrade_of_a_current_one_does_nothing(migrated, opened):
    upgrade(migrated)
    with opened().read() as connection:
        assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalars().all() == [REVISIONS[-1]]


def test_every_table_starts_its_key_with_the_organisation():
    for table in all_tables().sorted_tables:
        assert next(iter(table.primary_key.columns)).name == "org_id", table.name
        for constraint in table.constraints:
            if isinstance(constraint, sa.UniqueConstraint | sa.ForeignKeyConstraint):
                assert next(iter(constraint.columns)).name == "org_id", constraint.name
        for index in table.indexes:
            assert next(iter(index.columns)).name == "org_id", index.name


def test_a_failed_migration_leaves_nothing_behind(file):
    engine = make_engine(parse_url(url_of(file)))
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE tool_call (x)")  # in the way of a late step of the first migration
    with pytest.raises(sa.exc.OperationalError):
        upgrade(engine)
    with engine.begin() as connection:
        assert sa.inspect(connection).get_table_names() == ["tool_call"]
        connection.exec_driver_sql("DROP TABLE tool_call")
    upgrade(engine)
    engine.dispose()


def test_an_upgrade_switches_the_foreign_keys_on_again(migrated):
    with migrated.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1


# --- opening


def test_a_new_file_is_private_and_its_folders_too(tmp_path, opened):
    path = tmp_path / "state" / "patrol" / "patrol.db"
    database = opened(url_of(path), make_folder=True)
    with database.write() as connection:
        remember(connection)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(Path(f"{path}-wal").stat().st_mode) == 0o600
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, path.parent.parent)] == [0o700, 0o700]


def test_what_was_committed_is_there_after_opening_again(opened):
    with opened().write() as connection:
        remember(connection, "kept")
    with opened().read() as connection:
        assert remembered(connection) == ["kept"]


def test_databases_in_memory_are_private(opened):
    one, other = opened("sqlite://"), opened("sqlite:///:memory:")
    with one.write() as connection:
        remember(connection)
    with other.read() as connection:
        assert remembered(connection) == []
    assert one.path is None


def test_the_settings_that_protect_the_data_are_in_force(opened):
    with opened().read() as connection:
        values = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout", "auto_vacuum", "trusted_schema")
        }
    assert values == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 5000,
        "auto_vacuum": 2,
        "trusted_schema": 0,
    }


def broken(path: Path, how: str) -> None:
    if how == "no database":
        path.write_bytes(b"this is not a database, but a note that somebody left here\n" * 40)
    elif how == "newer":
        open_database(url_of(path)).close()
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.close()
    elif how == "other program":
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE moz_places (id INTEGER)")
        connection.close()
    elif how == "other program with migrations":
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
            connection.execute("CREATE TABLE wiki_pages (id INTEGER)")
        connection.close()
    elif how == "no revision":
        open_database(url_of(path)).close()
        with sqlite3.connect(path) as connection:
            connection.execute("DELETE FROM alembic_version")
        connection.close()
    elif how == "folder":
        path.mkdir()
    elif how == "no folder":
        path.parent.rmdir()
    else:
        open_database(url_of(path)).close()
        data = bytearray(path.read_bytes())
        data[100:4096] = os.urandom(3996)  # the page that lists the tables
        path.write_bytes(data)


@pytest.mark.parametrize(
    ("how", "error", "remedy"),
    [
        ("no database", DatabaseCorruptError, "Restore a copy of it, or move it aside"),
        ("damaged", DatabaseCorruptError, "Restore a copy of it, or move it aside"),
        ("newer", NewerSchemaError, "Install the version of Patrol that wrote it"),
        ("other program", ForeignSchemaError, "Set another [storage] url"),
        ("other program with migrations", ForeignSchemaError, "Set another [storage] url"),
        ("no revision", NewerSchemaError, "restore the copy"),
        ("folder", DatabasePlaceError, "name another"),
        ("no folder", DatabasePlaceError, "mkdir -m 700 -p"),
    ],
)
def test_what_cannot_be_used_is_refused_with_file_and_remedy_and_left_as_it_is(tmp_path, how, error, remedy):
    path = tmp_path / "state" / "patrol.db"
    path.parent.mkdir()
    broken(path, how)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(error) as caught:
        open_database(url_of(path))
    assert str(path) in str(caught.value)
    assert remedy in str(caught.value)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_page_damaged_in_the_middle_is_found_by_the_check_and_never_replaced(file, opened):
    database = opened()
    with database.write() as connection:
        for number in range(1600):  # so many that the middle of the file is theirs, and not the schema's
            remember(connection, "y" * 500, f"org-{number:04}")
    database.check()
    with database.engine.connect() as connection:
        connection.connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    size = file.stat().st_size
    with file.open("r+b") as stream:
        stream.seek(size // 4096 // 2 * 4096)
        stream.write(b"\xff" * 4096)
    damaged = opened()
    with pytest.raises(DatabaseCorruptError, match=r"damaged.*Restore a copy"):
        damaged.check()
    assert file.stat().st_size == size


def test_a_check_of_what_is_no_file_of_ours_says_nothing(opened):
    opened("sqlite://").check()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sqlite:////var/lib/patrol/patrol.db", "/var/lib/patrol/patrol.db"),
        ("sqlite://", "sqlite://"),
        ("postgres://u:secret@db/patrol", "postgresql+psycopg://u:***@db/patrol"),
        ("postgresql://db/patrol", "postgresql+psycopg://db/patrol"),
    ],
)
def test_urls_are_read_and_shown_without_their_password(text, expected):
    assert shown(parse_url(text)) == expected


@pytest.mark.parametrize("text", ["", "patrol.db", "mysql://u:secret@db/x", "sqlite+aiosqlite://", "//u:secret@host"])
def test_other_urls_are_refused_without_repeating_a_password(text):
    with pytest.raises(DatabaseUrlError, match="Use sqlite:///PATH") as caught:
        parse_url(text)
    assert "secret" not in str(caught.value)


def test_a_server_without_its_driver_names_the_extra_to_install():
    # In a process where the driver cannot be imported, whatever is installed here.
    program = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from patrol.database import DatabaseUrlError, open_database\n"
        "try: open_database('postgresql://u:secret@localhost/x')\n"
        "except DatabaseUrlError as error: print(error)\n"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "patrold[postgres]" in output
    assert "secret" not in output


# --- whose file


def test_only_the_owner_opens_the_file(file):
    file.touch()
    owner = file.stat().st_uid
    assert owner_refusal(file, owner) is None
    refusal = owner_refusal(file, owner + 1)
    assert refusal is not None
    assert str(file) in refusal
    assert "sudo -u" in refusal


def test_a_file_that_is_not_there_may_be_made(file):
    assert owner_refusal(file, 12345) is None


def test_what_is_no_file_or_cannot_be_looked_at_is_refused(tmp_path):
    assert "not a file" in str(owner_refusal(tmp_path, tmp_path.stat().st_uid))
    (tmp_path / "plain").touch()
    assert "cannot be looked at" in str(owner_refusal(tmp_path / "plain" / "patrol.db", 0))


def said_to(user_id: int, ask: Callable[[], str | None]) -> str:
    """What a process of another user is answered. Only root can ask for one."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.setgroups([])
        os.setgid(user_id)
        os.setuid(user_id)
        os.write(writing, str(ask()).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        said = answer.read().decode()
    os.waitpid(child, 0)
    return said


def test_a_folder_that_another_user_has_closed_is_named_with_its_owner(file):
    if os.getuid():
        file.parent.chmod(0)
        refusal = str(owner_refusal(file, os.getuid()))
        file.parent.chmod(0o700)
        assert f"open the folder {file.parent} for yourself" in refusal
    else:
        file.parent.chmod(0o700)
        refusal = said_to(65534, lambda: owner_refusal(file, 65534, "patrol run"))
        assert "belongs to the user root" in refusal
        assert "sudo -u 'root' patrol run" in refusal
        assert "--storage" in refusal


# --- transactions


@pytest.fixture(params=["file", "memory"])
def database(request, file, opened):
    return opened(url_of(file) if request.param == "file" else "sqlite://")


def test_a_write_commits_at_its_end_and_rolls_back_on_an_error(database):
    with database.write() as connection:
        remember(connection, "kept", "a")

    def fail():
        with database.write() as connection:
            remember(connection, "lost", "b")
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    with database.read() as connection:
        assert remembered(connection) == ["kept"]


def test_a_read_cannot_write_and_the_next_write_can(database):
    def write_in_a_read():
        with database.read() as connection:
            remember(connection)

    with pytest.raises(DatabasePlaceError):
        write_in_a_read()
    with database.write() as connection:
        remember(connection)


def test_a_reader_sees_one_snapshot_beside_a_writer(opened):
    database = opened()
    with database.read() as reader:
        assert remembered(reader) == []
        with database.write() as writer:
            remember(writer)
        assert remembered(reader) == []
    with database.read() as reader:
        assert remembered(reader) == ["x"]


def test_read_modify_write_loses_no_update(database):
    with database.write() as connection:
        remember(connection, "0")

    def count():
        for _ in range(25):
            with database.write() as connection:
                [value] = remembered(connection)
                connection.exec_driver_sql("UPDATE alert_settings SET text = ?", (str(int(value) + 1),))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.read() as connection:
        assert remembered(connection) == ["100"]


def test_a_database_held_by_another_process_is_waited_for_and_then_reported(file, opened):
    database = opened(busy_timeout_seconds=0.02)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    def write():
        with database.write() as connection:
            remember(connection)

    with pytest.raises(DatabaseBusyError, match="another process holds the database"):
        write()
    with database.read() as connection:
        assert remembered(connection) == []  # reading goes on
    other.execute("ROLLBACK")
    write()
    other.close()


def test_a_writer_that_ends_in_time_is_waited_for(file, opened):
    database = opened(busy_timeout_seconds=5)
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.1, other.execute, ("ROLLBACK",))
    timer.start()
    with database.write() as connection:
        remember(connection)
    timer.join()
    other.close()


def test_a_write_inside_a_write_is_refused_after_a_while(opened):
    database = opened(busy_timeout_seconds=0.01)

    def nest():
        with database.write(), database.write():
            pass

    with pytest.raises(DatabaseBusyError, match="another step of this process"):
        nest()


def test_errors_of_statements_stay_what_they_are(database):
    def twice():
        with database.write() as connection:
            remember(connection)
            remember(connection)

    with pytest.raises(sa.exc.IntegrityError):
        twice()


class ConflictError(Exception):
    def __init__(self, sqlstate):
        super().__init__(sqlstate)
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("state", "failures", "runs"), [("40001", 2, 3), ("40P01", 1, 2), ("40001", 99, 10), ("23505", 9, 1)]
)
def test_a_transaction_that_a_server_wants_redone_is_redone_from_the_start(opened, state, failures, runs):
    tried = []

    def work(connection):
        tried.append(1)
        remember(connection)
        if len(tried) <= failures:
            raise sa.exc.DBAPIError("INSERT", {}, ConflictError(state))
        return "done"

    database = opened("sqlite://")
    if failures < runs:
        assert database.transact(work) == "done"
    else:
        with pytest.raises(DatabaseConflictError if state == "40001" else sa.exc.DBAPIError):
            database.transact(work)
    assert len(tried) == runs
    with database.read() as connection:
        assert len(remembered(connection)) == (failures < runs)


def test_closing_twice_is_allowed(opened):
    database = opened()
    database.close()
    database.close()


def sqlite_error(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("as SQLite says it")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("cause", "expected", "remedy"),
    [
        (sqlite_error(sqlite3.SQLITE_BUSY_SNAPSHOT), DatabaseBusyError, "try again"),
        (sqlite_error(sqlite3.SQLITE_CORRUPT_INDEX), DatabaseCorruptError, "move it aside"),
        (sqlite_error(sqlite3.SQLITE_FULL), DatabaseWriteError, "Make room"),
        (sqlite_error(sqlite3.SQLITE_IOERR_FSYNC), DatabaseWriteError, "dmesg"),
        (sqlite_error(sqlite3.SQLITE_READONLY_DBMOVED), DatabasePlaceError, "writable"),
        (sqlite_error(sqlite3.SQLITE_ERROR), None, ""),
        (ConflictError(""), DatabaseUnreachableError, "Check that it runs"),
        (ConflictError("42P01"), None, ""),
        (ConflictError("53100"), DatabaseWriteError, "Make room"),
        (ConflictError("53300"), DatabaseWriteError, "max_connections"),
        (ConflictError("57P03"), DatabaseWriteError, "when it is up"),
        (ConflictError("42501"), DatabasePlaceError, "GRANT"),
        (ConflictError("25006"), DatabasePlaceError, "primary"),
        (ConflictError("XX001"), DatabasePlaceError, "dump"),
        (ConflictError("55P03"), DatabaseBusyError, "try again"),
        (ConflictError("40P01"), DatabaseConflictError, "Try again"),
    ],
)
def test_errors_of_the_driver_are_told_apart_by_their_code(cause, expected, remedy):
    error = translated(sa.exc.OperationalError("SELECT 1", {}, cause), "/var/lib/patrol/patrol.db")
    assert type(error) is (expected or type(None))
    assert error is None or ("/var/lib/patrol/patrol.db" in str(error) and remedy in str(error))


def test_every_refusal_is_a_storage_error():
    kinds = [DatabaseBusyError, DatabaseCorruptError, DatabasePlaceError, DatabaseUrlError, ForeignSchemaError]
    assert all(issubclass(kind, StorageError) for kind in [*kinds, NewerSchemaError])
