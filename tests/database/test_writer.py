"""One writer in each process: who asks gets the answer, in the order of asking, and nobody waits for ever."""

import ctypes
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection, event

from patrol.database import Database, DatabaseBusyError, DatabaseClosedError, open_database
from tests.run.builders import House, estate, host

ROOT = Path(__file__).resolve().parents[2]
COUNT = sa.text("UPDATE alert_settings SET text = :text")
ADD = sa.text("INSERT INTO alert_settings VALUES (:org, :text, '', '2026-01-01Z')")
ALL = sa.text("SELECT text FROM alert_settings ORDER BY org_id")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "patrol.db"


@contextmanager
def opened(file: Path, *, busy_timeout_seconds: float = 5.0) -> Iterator[Database]:
    database = open_database(f"sqlite:///{file}", busy_timeout_seconds=busy_timeout_seconds)
    try:
        yield database
    finally:
        database.close()


def add(text: str) -> Callable[[Connection], str]:
    def work(connection: Connection) -> str:
        connection.execute(ADD, {"org": text, "text": text})
        return text

    return work


def count_up(connection: Connection) -> int:
    [text] = connection.execute(ALL).scalars()
    connection.execute(COUNT, {"text": str(int(text) + 1)})
    return int(text) + 1


def stored(database: Database) -> list[str]:
    with database.read() as connection:
        return list(connection.execute(ALL).scalars())


@contextmanager
def held(database: Database) -> Iterator[Callable[[], None]]:
    """A step that is under way until the end of the block, or until it is let go."""
    begun, go = threading.Event(), threading.Event()

    def work(connection: Connection) -> None:
        add("held")(connection)
        begun.set()
        go.wait()

    thread = threading.Thread(target=database.transact, args=(work,))
    thread.start()
    try:
        assert begun.wait(10)
        yield go.set
    finally:
        go.set()
        thread.join()


def until_waiting(database: Database, steps: int) -> None:
    """Returns when so many steps wait for their turn, which other threads are about to ask for."""
    end = time.monotonic() + 20
    while database._writer._steps.qsize() != steps:
        assert time.monotonic() < end
        time.sleep(0.001)


# --- one thread, one kind of transaction


def test_every_write_is_made_by_one_thread_in_a_transaction_that_was_begun_for_writing(file: Path) -> None:
    """A whole run is watched: its lease, its tool calls, its results, and what is tidied up after it."""
    seen: list[tuple[int, str, str]] = []
    with opened(file) as database:

        def watch(made: sqlite3.Connection, _: object) -> None:
            made.set_trace_callback(
                lambda statement: seen.append((id(made), threading.current_thread().name, statement.split("(")[0]))
            )

        event.listen(database.engine, "connect", watch)
        database.engine.dispose()
        house = House(database)
        house.run(estate(host(97)))
        house.run(estate(host(40)))
    begun: dict[int, str] = {}
    writers: set[str] = set()
    changes = 0
    for connection, thread, statement in seen:
        word = statement.split()[0].upper()
        if word == "BEGIN":
            begun[connection] = statement
        elif word in ("INSERT", "UPDATE", "DELETE", "REPLACE"):
            changes += 1
            assert begun[connection] == "BEGIN IMMEDIATE", statement
            writers.add(thread)
    assert writers == {"patrol-writer"}
    assert changes > 20


def test_threads_of_two_processes_lose_no_update(file: Path) -> None:
    program = (
        "import sys; from patrol.database import open_database; from tests.database.test_writer import count_up\n"
        "database = open_database(sys.argv[1])\n"
        "for _ in range(60): database.transact(count_up)\n"
        "database.close()\n"
    )
    with opened(file) as database:
        database.transact(add("0"))
        with subprocess.Popen([sys.executable, "-c", program, f"sqlite:///{file}"], cwd=ROOT) as other:
            with ThreadPoolExecutor(4) as pool:
                answers = list(pool.map(lambda _: database.transact(count_up), range(100)))
            assert other.wait() == 0
        assert stored(database) == ["160"]
    assert len(set(answers)) == 100  # each asker was told what its own step did


def test_everybody_gets_the_answer_or_the_error_of_what_they_asked_for(any_database: Database) -> None:
    class OddError(Exception):
        pass

    def work(number: int) -> Callable[[Connection], int]:
        def one(connection: Connection) -> int:
            add(f"{number:02}")(connection)
            if number % 2:
                raise OddError(number)
            return number

        return one

    def ask(number: int) -> object:
        try:
            return any_database.transact(work(number))
        except OddError as error:
            return error.args[0] * -1

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(ask, range(20))) == [-number if number % 2 else number for number in range(20)]
    assert stored(any_database) == [f"{number:02}" for number in range(0, 20, 2)]


def test_steps_are_taken_in_the_order_they_came(file: Path) -> None:
    order: list[int] = []
    with opened(file) as database, ThreadPoolExecutor(8) as pool:
        with held(database):
            for number in range(8):
                pool.submit(database.transact, lambda _connection, number=number: order.append(number))
                until_waiting(database, number + 1)  # one after the other
        pool.shutdown()
    assert order == list(range(8))


# --- nobody waits for ever


def test_a_step_whose_turn_does_not_come_is_given_up_and_never_done(file: Path) -> None:
    with opened(file, busy_timeout_seconds=0.02) as database:
        with held(database), pytest.raises(DatabaseBusyError, match="another step of this process"):
            database.transact(add("late"))
        database.transact(add("next"))
        assert stored(database) == ["held", "next"]


def test_a_step_may_take_longer_than_others_would_wait_for_it(file: Path) -> None:
    def slow(connection: Connection) -> str:
        time.sleep(0.1)
        return add("slow")(connection)

    with opened(file, busy_timeout_seconds=0.01) as database:
        assert database.transact(slow) == "slow"


def test_a_step_inside_a_step_is_refused_at_once_and_rolls_both_back(any_database: Database) -> None:
    def outer(connection: Connection) -> None:
        add("outer")(connection)
        any_database.transact(add("inner"))

    began = time.monotonic()
    with pytest.raises(DatabaseBusyError, match="another step of this process"):
        any_database.transact(outer)
    assert time.monotonic() - began < 2
    assert stored(any_database) == []


def test_who_is_interrupted_leaves_and_what_had_begun_is_completed(file: Path) -> None:
    class StoppedError(Exception):
        pass

    def stop(*_: object) -> None:
        raise StoppedError

    def slow(connection: Connection) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        time.sleep(0.3)
        add("begun")(connection)

    before = signal.signal(signal.SIGALRM, stop)
    try:
        with opened(file) as database:
            with pytest.raises(StoppedError):
                database.transact(slow)
            with held(database):
                signal.setitimer(signal.ITIMER_REAL, 0.3)
                with pytest.raises(StoppedError):
                    database.transact(add("waiting"))
            database.transact(add("next"))
            assert stored(database) == ["begun", "held", "next"]
    finally:
        signal.signal(signal.SIGALRM, before)


# --- the end


def test_closing_makes_what_was_asked_for_before_and_refuses_the_rest(any_database: Database) -> None:
    with ThreadPoolExecutor(5) as pool:
        with held(any_database) as let_go:
            asked = [pool.submit(any_database.transact, add(f"i{number}")) for number in range(4)]
            until_waiting(any_database, 4)
            closing = pool.submit(any_database.close)
            until_waiting(any_database, 5)
            assert not closing.done()
            with pytest.raises(DatabaseClosedError, match="it was closed"):
                any_database.transact(add("too late"))
            let_go()
        closing.result()
        assert [each.result() for each in asked] == [f"i{number}" for number in range(4)]
    with pytest.raises(DatabaseClosedError):
        any_database.transact(add("too late"))
    any_database.close()


def test_what_was_drained_is_on_disk(file: Path) -> None:
    with opened(file) as database, ThreadPoolExecutor(20) as pool:
        asked = [pool.submit(database.transact, add(f"{number:02}")) for number in range(20)]
        database.close()
        kept = [each.result() for each in asked if each.exception() is None]
    with opened(file) as database:
        assert stored(database) == sorted(kept)


def test_an_end_that_would_take_too_long_refuses_who_waits(file: Path) -> None:
    with opened(file) as database, held(database), ThreadPoolExecutor(1) as pool:
        asked = pool.submit(database.transact, add("waiting"))
        until_waiting(database, 1)
        database._writer.close(drain_seconds=0.05)
        with pytest.raises(DatabaseClosedError, match="it was closed"):
            asked.result(5)
    with opened(file) as database:
        assert stored(database) == ["held"]


def test_a_process_that_was_forked_off_has_no_writer_and_is_told_so(file: Path) -> None:
    with opened(file) as database:
        database.transact(add("parent"))
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            said = "stored"
            try:
                database.transact(add("child"))
            except DatabaseClosedError as error:
                said = str(error)
            finally:
                os.write(writing, said.encode())
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as stream:
            assert "the thread that writes to it is gone" in stream.read()
        os.waitpid(child, 0)
        database.transact(add("second"))
        assert stored(database) == ["parent", "second"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # that it dies is the point
def test_a_writer_that_died_is_an_error_for_those_who_come_and_those_who_wait(file: Path) -> None:
    with opened(file) as database:
        database.transact(add("before"))
        writer = database._writer._thread
        assert writer is not None
        assert writer.ident is not None
        # As a lack of memory would end it: between two steps, outside of anybody's work.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(writer.ident), ctypes.py_object(SystemExit))
        with ThreadPoolExecutor(3) as pool:
            asked = [pool.submit(database.transact, add(f"i{number}")) for number in range(3)]
            assert {type(each.exception(10)) for each in asked} == {DatabaseClosedError}
        writer.join(5)
        with pytest.raises(DatabaseClosedError, match=r"is gone.*Open it again"):
            database.transact(add("after"))
        assert stored(database) == ["before"]


def test_what_a_step_raises_never_ends_the_writer(any_database: Database) -> None:
    def leave(_connection: Connection) -> None:
        raise SystemExit(3)

    for _ in range(2):
        with pytest.raises(SystemExit):
            any_database.transact(leave)
    assert any_database.transact(add("still here")) == "still here"


# --- lent to a block


def test_a_block_is_a_step_like_any_other(any_database: Database) -> None:
    with any_database.write() as connection:
        add("block")(connection)

    def fail() -> None:
        with any_database.write() as connection:
            add("lost")(connection)
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    assert stored(any_database) == ["block"]
    any_database.close()
    with pytest.raises(DatabaseClosedError), any_database.write():
        pass
