"""Whether anything changed: told after each commit of anybody, and after nothing else."""

import subprocess
import sys

from sqlalchemy import text

from patrol.database import open_database


def test_each_commit_is_told_and_no_read_or_step_back(tmp_path):
    database = open_database(f"sqlite:///{tmp_path / 'patrol.db'}")
    database.transact(lambda connection: connection.execute(text("CREATE TABLE kept (value)")))
    before = database.change_mark()
    with database.read() as connection:
        connection.execute(text("SELECT * FROM kept")).all()
    assert database.change_mark() == before is not None
    seen = {before}
    for number in range(3):
        database.transact(
            lambda connection, number=number: connection.execute(text(f"INSERT INTO kept VALUES ({number})"))
        )
        seen.add(database.change_mark())
    assert len(seen) == 4
    database.close()


def test_a_commit_of_another_process_is_told(tmp_path):
    path = tmp_path / "patrol.db"
    database = open_database(f"sqlite:///{path}")
    before = database.change_mark()
    program = (
        f"import sqlite3; c = sqlite3.connect({str(path)!r}); c.execute('CREATE TABLE theirs (value)'); c.commit()"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert database.change_mark() != before
    database.close()


def test_while_somebody_writes_it_is_the_state_before(tmp_path):
    database = open_database(f"sqlite:///{tmp_path / 'patrol.db'}")
    before = database.change_mark()
    with database.write() as connection:
        connection.execute(text("CREATE TABLE kept (value)"))
        assert database.change_mark() == before
    assert database.change_mark() != before
    database.close()


def test_in_memory_nobody_knows():
    database = open_database("sqlite://")
    assert database.change_mark() is None
    database.close()
