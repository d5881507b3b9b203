"""A daemon killed at any instant loses nothing: each accepted run has its record, each finding is there once."""

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from findings.kinds import Kind
from findings.model import FindingState
from findings.store import FindingStore
from patrol.database import Database, open_database
from patrol.run.record_model import RunStatus
from patrol.run.store import RunStore
from patrol.triggers.model import Trigger
from patrol.triggers.queue import Accepted
from patrol.work.model import WorkKind
from patrol.work.queue import RunQueue
from patrol.work.store import WorkStore
from tests.daemon.builders import ORG, now
from tests.daemon.supervisor import ROOT, documented
from tests.run.builders import HOST, disk, host
from tests.triggers.builders import OPEN, manual

SETTINGS = """
[patrol]
startup_delay = "0"
[sampling]
seconds = 0
[api]
listen = "127.0.0.1:0"
"""


class Daemons:
    """Daemons of one home, one after the other."""

    def __init__(self, home: Path, warm: "subprocess.Popen[str]") -> None:
        self.config = home / "patrol.toml"
        self._warm = warm

    def start(self) -> int:
        assert self._warm.stdin is not None
        assert self._warm.stdout is not None
        self._warm.stdin.write(f"{self.config}\n")
        self._warm.stdin.flush()
        return int(self._warm.stdout.readline())

    def ended(self) -> int:
        """How the last one ended: its exit code, or the signal that killed it, negative."""
        assert self._warm.stdout is not None
        return os.waitstatus_to_exitcode(int(self._warm.stdout.readline()))


@contextmanager
def daemons(home: Path) -> Iterator[Daemons]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PATROL_")}
    environment = {**kept, "HOME": str(home), "STATE_DIRECTORY": str(home), "PYTHONPATH": str(ROOT)}
    with (home / "log").open("a") as log:
        warm = subprocess.Popen(
            [sys.executable, "-m", "tests.daemon.victim"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=environment,
            cwd=ROOT,
        )
        with warm:
            try:
                yield Daemons(home, warm)
            finally:
                warm.kill()


def accepted(database: Database, wish: Trigger, name: str) -> str:
    """The run id that a wish was promised; "" where another run serves it."""
    ids = (f"{name}-{number}" for number in itertools.count())
    offered = database.transact(lambda connection: RunQueue(connection, ORG).offer(wish, now(), OPEN, ids.__next__))
    return offered.work.run_id if isinstance(offered.decision, Accepted) else ""


def is_settled(database: Database) -> bool:
    with database.read() as connection:
        store = WorkStore(connection, ORG)
        return not store.list_work(WorkKind.RUN) and not store.list_owed()


@pytest.mark.parametrize("kills", [8, pytest.param(300, marks=pytest.mark.long)])
def test_no_accepted_run_is_missing_and_no_finding_is_lost_or_doubled(tmp_path, kills):
    chance = random.Random(kills)
    (tmp_path / "patrol.toml").write_text(SETTINGS + documented(tmp_path, host(usage=97), disk()))
    database = open_database(f"sqlite:///{tmp_path / 'patrol.db'}")
    promised: set[str] = set()
    killed_in_a_run = 0
    with daemons(tmp_path) as made:
        for number in range(kills):
            child = made.start()
            until = time.monotonic() + chance.uniform(0.05, 1.2)
            wishes = [manual(HOST), manual(), manual("disk:serial:S1")]
            chance.shuffle(wishes)
            for step, wish in enumerate(wishes):
                promised.add(accepted(database, wish, f"wish-{number}-{step}"))
                time.sleep(max(0.0, (until - time.monotonic()) / (len(wishes) - step)))
            os.kill(child, signal.SIGKILL)
            assert made.ended() == -signal.SIGKILL, (tmp_path / "log").read_text()
            database.check()
            running = [run for run in RunStore(database).list_runs() if run.status is RunStatus.RUNNING]
            assert len(running) <= 2
            killed_in_a_run += bool(running)
        child = made.start()
        promised.add(accepted(database, manual(), "last"))  # else it could be told to end before it listens
        until = time.monotonic() + 60
        while not is_settled(database):
            assert time.monotonic() < until, (tmp_path / "log").read_text()[-3000:]
            time.sleep(0.05)
        os.kill(child, signal.SIGTERM)
        assert made.ended() == 0
    promised.discard("")
    records = {run.id: run for run in RunStore(database).list_runs(limit=kills * 10 + 100)}
    assert promised <= records.keys()
    assert Counter(run.status is RunStatus.RUNNING for run in records.values())[True] == 0
    with database.read() as connection:
        found = FindingStore(connection, ORG).list_findings()
    assert [(each.kind, each.resource_id, each.state) for each in found] == [(Kind.HIGH_DISK, HOST, FindingState.OPEN)]
    database.close()
    assert killed_in_a_run > 0
