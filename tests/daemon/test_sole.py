"""One daemon on a database: a second one is refused by name, and whatever ends the first lets the next one in."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import make_url, text
from structlog.testing import capture_logs

from patrol.cli.exit_codes import ExitCode
from patrol.daemon.sole import FilePlace, OtherDaemonError, keep, take_place
from patrol.database import Database, StorageError
from patrol.run.lease import lease_owner
from tests.daemon.builders import now
from tests.daemon.supervisor import documented, supervised
from tests.databases import FILE, POSTGRESQL, fresh_database, fresh_url
from tests.postgresql import Server
from tests.run.builders import host

SETTINGS = """
[patrol]
startup_delay = "1h"
[sampling]
seconds = 0
[api]
listen = "127.0.0.1:0"
[storage]
url = "{url}"
"""


@pytest.fixture(params=[FILE, POSTGRESQL])
def url(request: pytest.FixtureRequest, tmp_path: Path, postgresql: Callable[[], Server]) -> Iterator[str]:
    with fresh_url(request.param, tmp_path, postgresql, made=True) as made:
        yield made


@pytest.fixture
def database(tmp_path: Path, postgresql: Callable[[], Server]) -> Iterator[Database]:
    with fresh_database(POSTGRESQL, tmp_path, postgresql) as made:
        yield made


def settings_of(url: str, home: Path) -> str:
    home.mkdir()
    return SETTINGS.format(url=url) + documented(home, host())


def test_a_second_daemon_is_refused_by_name_and_a_killed_one_lets_the_next_in_at_once(tmp_path, url):
    homes = (tmp_path / name for name in "abcd")
    settings = [(home, settings_of(url, home)) for home in homes]
    with supervised(*settings[0]) as first:
        first.hear("READY=1")
        with supervised(*settings[1]) as second:
            assert second.ends() == ExitCode.FAILED
        said = second.log.read_text()
        assert "another daemon works with it already" in said
        assert f"process {first.process.pid} on {os.uname().nodename}, since 2" in said
        assert "systemctl stop patrol" in said
        assert "[storage] url" in said
        assert "Traceback" not in said
        assert first.process.poll() is None
        first.signal(signal.SIGKILL)
        first.ends()
        with supervised(*settings[2]) as third:
            third.hear("READY=1")
            third.signal(signal.SIGTERM)
            assert third.ends() == 0
        with supervised(*settings[3]) as fourth:
            fourth.hear("READY=1")


def test_a_file_known_by_two_names_has_one_daemon(tmp_path):
    (tmp_path / "patrol.db").touch()
    (tmp_path / "link.db").symlink_to("patrol.db")
    place = FilePlace(tmp_path / "patrol.db", "1 on here since 2026-03-01T12:00:00+00:00")
    with pytest.raises(OtherDaemonError, match=r"process 1 on here, since 2026-03-01 12:00 UTC"):
        FilePlace(tmp_path / "link.db", "2 on here")
    place.leave()
    place.leave()
    FilePlace(tmp_path / "link.db", "2 on here").leave()


@pytest.mark.parametrize(
    "said", ["", "\x1b[31m", "1 on here since never", "1 on here since 2026-99-99T12:00", "x" * 999]
)
def test_what_the_file_says_may_be_anything(tmp_path, said):
    place = FilePlace(tmp_path / "patrol.db", said)
    with pytest.raises(OtherDaemonError, match="it did not say which one"):
        FilePlace(tmp_path / "patrol.db", "2 on here")
    place.leave()


def test_a_file_that_cannot_be_made_is_named_with_what_helps(tmp_path):
    (tmp_path / "patrol.db-daemon").mkdir()
    with pytest.raises(StorageError, match=r"patrol\.db-daemon: .* Make the file and its folder writable"):
        FilePlace(tmp_path / "patrol.db", "1 on here")


def test_a_file_that_was_removed_is_made_anew_unless_another_daemon_was_faster(tmp_path):
    place = FilePlace(tmp_path / "patrol.db", "1 on here")
    (tmp_path / "patrol.db-daemon").unlink()
    with capture_logs() as told:
        place.look()
        place.look()
    assert [each["event"] for each in told] == ["the file that keeps other daemons out was removed, and is made anew"]
    with pytest.raises(OtherDaemonError):
        FilePlace(tmp_path / "patrol.db", "2 on here")
    (tmp_path / "patrol.db-daemon").unlink()
    other = FilePlace(tmp_path / "patrol.db", "2 on here")
    with capture_logs(), pytest.raises(OtherDaemonError):
        place.look()
    place.leave()
    other.leave()


def cut(database: Database) -> None:
    """The server ends the connection that holds the place."""
    with database.read() as connection:
        connection.execute(
            text("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name LIKE 'patrol s%'")
        )


def test_a_lost_connection_is_told_and_the_place_taken_again(database):
    place = take_place(database, lease_owner(), now())
    cut(database)
    with capture_logs() as told:
        place.look()
        place.look()
    assert [each["log_level"] for each in told] == ["error", "warning"]
    with pytest.raises(OtherDaemonError, match=f"process {os.getpid()} on "):
        take_place(database, "elsewhere:7", now())
    place.leave()
    take_place(database, "elsewhere:7", now()).leave()


def test_a_daemon_whose_place_was_taken_meanwhile_is_not_kept(database):
    place = take_place(database, lease_owner(), now())
    cut(database)
    other = take_place(database, "elsewhere:7", now())
    with capture_logs(), pytest.raises(OtherDaemonError, match="process 7 on elsewhere"):
        asyncio.run(keep(place, every_seconds=0.01))
    place.leave()
    other.leave()


def test_two_schemas_of_one_server_have_a_daemon_each(database):
    with database.write() as connection:
        connection.execute(text("CREATE SCHEMA other"))
    elsewhere = Database(database.url.update_query_dict({"options": "-c search_path=other"}))
    places = [take_place(each, lease_owner(), now()) for each in (database, elsewhere)]
    for each in places:
        each.leave()
    elsewhere.close()


def test_databases_in_memory_are_everybodys_own():
    for _ in range(2):
        take_place(Database(make_url("sqlite://")), lease_owner(), now()).look()


def test_what_cannot_be_known_is_told_once_until_it_is_known_again():
    class Unsteady:
        def __init__(self) -> None:
            self.away = {1, 2, 5}  # these times it is not known
            self.looked = 0

        def look(self) -> None:
            self.looked += 1
            if self.looked in self.away:
                raise StorageError("the server", "it is away", "Wait")

        def leave(self) -> None:
            raise AssertionError("whoever took it leaves it")

    async def life() -> None:
        place = Unsteady()
        keeping = asyncio.create_task(keep(place, every_seconds=0.001))
        while place.looked < 8:
            assert not keeping.done()
            await asyncio.sleep(0.001)
        keeping.cancel()

    with capture_logs() as told:
        asyncio.run(life())
    assert [each["log_level"] for each in told] == ["error", "info", "error", "info"]
