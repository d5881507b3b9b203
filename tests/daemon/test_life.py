"""A daemon in this process: when it is alive for the watchdog, and what becomes of it when a part of it dies."""

import asyncio
import itertools
import threading
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from patrol.daemon.life import Bounds, Daemon, DeadPartError
from patrol.daemon.notify import Supervision
from patrol.daemon.pulse import Pulse
from patrol.database import Database, open_database
from patrol.logs import Redaction
from patrol.run.cancel import Cancel
from patrol.settings.load import LoadedSettings
from patrol.settings.model import Settings
from patrol.work.model import WorkState
from tests.daemon.builders import ExecutorHouse, Gated, now
from tests.daemon.test_executor import until

SETTINGS = Settings.model_validate({"patrol": {"startup_delay": "0s"}, "sampling": {"seconds": 0}})


@dataclass
class Ears:
    """Hears what a daemon tells systemd."""

    address: str = "somewhere"
    heard: list[str] = field(default_factory=list)

    def __call__(self, *states: str) -> None:
        self.heard.extend(states)

    def count(self, state: str) -> int:
        return sum(each.startswith(state) for each in self.heard)


@pytest.fixture
def database(tmp_path: Path):
    database = open_database(f"sqlite:///{tmp_path / 'patrol.db'}")
    yield database
    database.close()


WATCHED = timedelta(seconds=0.2)


def daemon_of(
    database: Database, ears: Ears, source: Gated, silence: timedelta, watchdog: timedelta | None = WATCHED
) -> Daemon:
    loaded = LoadedSettings(settings=SETTINGS, file=None, database_url=str(database.url), origins={})
    ids = itertools.count(1)
    daemon = Daemon(
        config=None,
        loaded=loaded,
        database=database,
        supervision=Supervision(notifier=ears, watchdog=watchdog),
        redaction=Redaction(),
        clock=now,
        ids=lambda: f"id{next(ids)}",
        org_id="default",
        bounds=Bounds(finish=5, cancel=5, jobs=5, http=5, hung=0.2),
    )
    house = ExecutorHouse(database)
    house.source = source

    class Slow:
        """The daemon's own settings, with a source that the test holds."""

        triggers, settings, observer, ids = house.triggers, SETTINGS, house.told, house.ids

        def pulse(self) -> Pulse:
            return Pulse(silence)

        def patrol(self, run_id: str, cancel: Cancel, pulse: Pulse) -> object:
            return house.patrol(run_id, cancel, pulse)

    daemon.executor._house = Slow()
    return daemon


def test_a_long_run_that_goes_on_feeds_the_watchdog(database):
    async def life() -> None:
        ears, source = Ears(), Gated()
        daemon = daemon_of(database, ears, source, timedelta(minutes=5))
        living = asyncio.create_task(daemon.run())
        await until(source.asked.is_set)
        before = ears.count("WATCHDOG")
        await until(lambda: ears.count("WATCHDOG") >= before + 3)
        assert daemon.waits_for() == []
        source.let_go.set()
        daemon.stop()
        await living
        assert ears.count("STOPPING") == 1

    asyncio.run(life())


def test_a_run_that_hangs_does_not(database):
    async def life() -> None:
        ears, source = Ears(), Gated()
        daemon = daemon_of(database, ears, source, timedelta(seconds=0.01))
        living = asyncio.create_task(daemon.run())
        await until(source.asked.is_set)
        await asyncio.sleep(0.1)
        before = ears.count("WATCHDOG")
        await asyncio.sleep(0.3)
        assert ears.count("WATCHDOG") <= before + 1
        assert "a run does nothing any more" in daemon.waits_for()
        source.let_go.set()
        await until(lambda: ExecutorHouse(database).works(WorkState.DONE))
        await until(lambda: ears.count("WATCHDOG") >= before + 2)
        daemon.stop()
        await living

    asyncio.run(life())


def test_a_run_that_hangs_where_nobody_watches_ends_the_daemon_so_that_the_next_one_looks_again(database):
    async def life() -> None:
        ears, source = Ears(address=""), Gated()
        daemon = daemon_of(database, ears, source, timedelta(seconds=0.01), watchdog=None)
        daemon.bounds = replace(daemon.bounds, finish=0.1, cancel=0.1)
        with pytest.raises(DeadPartError, match="does nothing any more"):
            await daemon.run()
        assert source.asked.is_set()
        source.let_go.set()

    asyncio.run(life())


def test_a_part_that_dies_ends_the_daemon_so_that_systemd_starts_another(database):
    async def life() -> None:
        source = Gated()
        source.let_go.set()
        daemon = daemon_of(database, Ears(), source, timedelta(minutes=5))

        async def dies() -> None:
            raise RuntimeError("a fault of its own")

        daemon.executor.work = dies
        with pytest.raises(DeadPartError, match="a fault of its own"):
            await daemon.run()

    asyncio.run(life())


def test_who_follows_a_run_that_does_not_end_with_the_daemon_hears_that_it_is_lost(database):
    async def life() -> None:
        hangs, let_go = threading.Event(), threading.Event()
        daemon = daemon_of(database, Ears(), Gated(), timedelta(minutes=5))
        daemon.bounds = Bounds(finish=0.1, cancel=0.1, jobs=5, http=5)

        def patrol(run_id: str, cancel: Cancel, pulse: Pulse) -> object:
            hangs.set()
            assert let_go.wait(30)
            raise RuntimeError("too late")

        daemon.executor._house.patrol = patrol
        living = asyncio.create_task(daemon.run())
        await until(hangs.is_set)
        [run_id] = daemon._run_ids()
        with daemon.live.listen(run_id=run_id) as listener:
            daemon.stop()
            await living
            *_, last = await listener.next(1)
            assert (last["type"], last["status"]) == ("error", "crashed")
            let_go.set()
            await until(lambda: not daemon._run_ids())

    asyncio.run(life())
