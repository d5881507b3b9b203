"""A server instead of a file: the same promises, kept by other means."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from findings.lifecycle import Advance, Change
from findings.model import DEFAULT_ORG, DismissedReason
from findings.store import FindingConflictError, FindingStore
from patrol.database import (
    Database,
    DatabaseConflictError,
    DatabasePlaceError,
    ForeignSchemaError,
    NewerSchemaError,
    open_database,
    upgrade,
)
from patrol.database.checkup import check_up
from patrol.database.place import parse_url
from patrol.database.schema import all_tables, known_revision
from patrol.database.transactions import make_engine
from patrol.migrations import REVISIONS
from patrol.run.record_model import RunRecord, RunStatus
from patrol.run.store import RunInProgressError, RunStore
from tests.databases import POSTGRESQL, fresh_database, fresh_url
from tests.postgresql import Server
from tests.run.builders import House, estate, host

NOW = datetime(2026, 11, 29, 21, tzinfo=UTC)


@pytest.fixture
def url(tmp_path, postgresql: Callable[[], Server]) -> Iterator[str]:
    with fresh_url(POSTGRESQL, tmp_path, postgresql) as made:
        yield made


@pytest.fixture
def database(tmp_path, postgresql: Callable[[], Server]) -> Iterator[Database]:
    with fresh_database(POSTGRESQL, tmp_path, postgresql) as made:
        yield made


def remember(connection, text: str, org: str = "default") -> None:
    row = {"org": org, "text": text}
    connection.execute(sa.text("INSERT INTO alert_settings VALUES (:org, :text, '', '2026-01-01Z')"), row)


def remembered(connection) -> list[str]:
    return list(connection.execute(sa.text("SELECT text FROM alert_settings ORDER BY org_id")).scalars())


def parallel(count: int, work: Callable[[int], object]) -> list[object]:
    """What `work` returned or raised in threads that start together."""
    gate = threading.Barrier(count)

    def one(number: int) -> object:
        gate.wait()
        try:
            return work(number)
        except Exception as error:  # noqa: BLE001 - the test looks at every answer
            return error

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


# --- schema


def test_the_migrations_lead_to_the_tables_of_the_code(url):
    engine = make_engine(parse_url(url))
    upgrade(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, all_tables()) == []
    assert known_revision(engine) == REVISIONS[-1]
    engine.dispose()
    open_database(url).close()


def test_of_many_who_open_a_new_database_one_makes_it(url):
    def open_and_close(_number: int) -> None:
        open_database(url).close()

    assert parallel(6, open_and_close) == [None] * 6


def test_of_many_who_open_an_older_database_one_upgrades_it(url):
    engine = make_engine(parse_url(url))
    upgrade(engine, "0001")

    def migrate(_number: int) -> str | None:
        other = make_engine(parse_url(url))
        upgrade(other)
        other.dispose()
        return known_revision(engine)

    assert parallel(3, migrate) == [REVISIONS[-1]] * 3
    engine.dispose()


def test_a_failed_migration_leaves_nothing_behind(url):
    engine = make_engine(parse_url(url))
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE tool_call (x int)"))  # in the way of a late step of the first one
    with pytest.raises(sa.exc.ProgrammingError):
        upgrade(engine)
    assert sa.inspect(engine).get_table_names() == ["tool_call"]
    engine.dispose()


@pytest.mark.parametrize(
    ("statement", "error", "said"),
    [
        ("CREATE TABLE wiki_pages (id int)", ForeignSchemaError, "wiki_pages"),
        ("CREATE TABLE alembic_version (version_num text)", ForeignSchemaError, "alembic_version"),
        ("UPDATE alembic_version SET version_num = '9999'", NewerSchemaError, "9999"),
    ],
)
def test_what_is_not_ours_or_newer_is_refused(url, statement, error, said):
    if statement.startswith("UPDATE"):
        open_database(url).close()
    engine = make_engine(parse_url(url))
    with engine.begin() as connection:
        connection.execute(sa.text(statement))
    engine.dispose()
    with pytest.raises(error, match=said):
        open_database(url)


@pytest.mark.parametrize("change", [("/test", "/absent"), ("patrol@", "stranger:secret@"), ("host=", "host=/none")])
def test_a_server_or_database_that_is_not_there_is_named_without_a_password(url, change):
    with pytest.raises(DatabasePlaceError, match="cannot be reached") as caught:
        open_database(url.replace(*change))
    assert "secret" not in str(caught.value)


def test_a_checkup_counts_and_finds_orphans(database):
    House(database).run(estate(host(97)))
    with database.write() as connection:
        connection.execute(sa.text("INSERT INTO evidence_page VALUES ('default', 'ab', '2026-01-01Z', '\\x00')"))
    found = check_up(database, full=True, newest=REVISIONS[-1])
    assert (found.is_whole, found.orphan_pages, found.counts["run"], found.counts["finding"]) == (True, 1, 1, 1)


# --- transactions


def test_a_read_is_one_snapshot_and_cannot_write(database):
    with database.read() as reader:
        assert remembered(reader) == []
        with database.write() as writer:
            remember(writer, "x")
        assert remembered(reader) == []
        with pytest.raises(sa.exc.InternalError):
            remember(reader, "y", "other")
    with database.read() as reader:
        assert remembered(reader) == ["x"]


def test_instants_come_back_in_utc_whatever_the_server_is_set_to(database):
    with database.read() as connection:
        assert connection.execute(sa.text("SHOW timezone")).scalar_one() == "UTC"


def test_a_server_that_falls_silent_is_given_up_after_a_minute_and_the_url_may_say_otherwise(url):
    for more, idle in (("", "30"), ("&keepalives_idle=7", "7")):
        engine = make_engine(parse_url(url + more))
        with engine.connect() as connection:
            asked = connection.connection.driver_connection.info.get_parameters()
        engine.dispose()
        assert asked["keepalives_idle"] == idle
        assert int(asked["keepalives_idle"]) + int(asked["keepalives_interval"]) * int(asked["keepalives_count"]) <= 60
        assert asked["tcp_user_timeout"] == "60000"


def test_read_modify_write_of_several_processes_loses_no_update(database):
    """Each engine stands for a process of its own: they share no line to wait in."""
    with database.write() as connection:
        remember(connection, "0")

    def count(_number: int) -> None:
        other = Database(database.url)
        for _ in range(10):
            other.transact(_count_up, attempts=200)
        other.close()

    assert parallel(4, count) == [None] * 4
    with database.read() as connection:
        assert remembered(connection) == ["40"]


def _count_up(connection: sa.Connection) -> None:
    [value] = remembered(connection)
    connection.execute(sa.text("UPDATE alert_settings SET text = :text"), {"text": str(int(value) + 1)})


def test_a_write_that_somebody_came_in_between_says_so(database):
    with database.write() as connection:
        remember(connection, "0")
    other = Database(database.url)

    def meet() -> None:
        with database.write() as one:
            remembered(one)
            with other.write() as two:
                _count_up(two)
            _count_up(one)

    with pytest.raises(DatabaseConflictError, match="Try again"):
        meet()
    other.close()
    with database.read() as connection:
        assert remembered(connection) == ["1"]


# --- runs and findings


def run_of(number: int) -> RunRecord:
    return RunRecord(
        org_id=DEFAULT_ORG,
        id=f"run-{number}",
        trigger_reason="scheduled",
        started_at=NOW,
        lease_owner=f"web{number}:1",
        lease_expires_at=NOW + timedelta(minutes=1),
    )


@pytest.mark.parametrize("attempt", range(3))
def test_of_many_processes_that_begin_a_run_at_once_exactly_one_does(database, attempt):
    others = [Database(database.url) for _ in range(8)]
    answers = parallel(8, lambda number: RunStore(others[number]).begin(run_of(number)))
    assert sum(answer is None for answer in answers) == 1
    assert all(answer is None or isinstance(answer, RunInProgressError) for answer in answers), answers
    assert [run.status for run in RunStore(database).list_runs()] == [RunStatus.RUNNING]
    for other in others:
        other.close()


def test_an_operators_change_during_the_final_transaction_is_met_not_lost(database):
    """The run reads, an operator dismisses, the run writes: it is redone on what the operator left."""
    house = House(database)
    house.run(estate(host(97)))
    operator = Database(database.url)
    calls = []

    def work(connection: sa.Connection) -> None:
        store = FindingStore(connection, DEFAULT_ORG)
        [finding] = store.list_findings()
        calls.append(finding.dismissed_reason)
        if len(calls) == 1:
            with operator.write() as theirs:
                dismissed = replace(
                    finding, dismissed_reason=DismissedReason.EXPECTED_BEHAVIOR, version=finding.version + 1
                )
                FindingStore(theirs, DEFAULT_ORG).apply(
                    Advance(changes=(Change(finding, dismissed),), transitions=(), outcomes={})
                )
        raised = replace(finding, times_raised=7, version=finding.version + 1)
        store.apply(Advance(changes=(Change(finding, raised),), transitions=(), outcomes={}))

    database.transact(work)
    with database.read() as connection:
        [found] = FindingStore(connection, DEFAULT_ORG).list_findings()
    assert calls == [None, DismissedReason.EXPECTED_BEHAVIOR]
    assert (found.times_raised, found.dismissed_reason) == (7, DismissedReason.EXPECTED_BEHAVIOR)
    operator.close()


def test_a_conflict_of_versions_is_redone_as_well(database):
    tried = []

    def work(_connection: sa.Connection) -> str:
        tried.append(1)
        if len(tried) < 3:
            raise FindingConflictError(["f"])
        return "done"

    assert database.transact(work) == "done"
    with pytest.raises(FindingConflictError):
        database.transact(lambda _connection: (_ for _ in ()).throw(FindingConflictError(["f"])), attempts=2)
