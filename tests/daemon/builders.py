"""A house in which an executor lives: a database, runs over what the test says, and a queue to put wishes in."""

import itertools
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from patrol.daemon.executor import Executor
from patrol.daemon.pulse import Pulse
from patrol.database import Database
from patrol.estate.model import Estate
from patrol.estate.sources.model import Collected, CollectRequest
from patrol.run import Patrol
from patrol.run.analyst import Analysts, NoModel
from patrol.run.cancel import Cancel
from patrol.run.collect import BoundedSource
from patrol.run.observer import NoObserver, Observer
from patrol.run.record_model import RunRecord
from patrol.run.request import RunReport
from patrol.run.store import RunStore
from patrol.settings.model import Settings, TriggersSection
from patrol.triggers.model import Trigger
from patrol.triggers.queue import Decision
from patrol.work.model import Work, WorkKind, WorkState
from patrol.work.queue import Offered, RunQueue
from patrol.work.store import WorkStore
from tests.run.builders import House as RunHouse
from tests.run.builders import estate, host
from tests.triggers.builders import OPEN

ORG = "default"


class Gated:
    """A source that answers when the test lets it."""

    name = "local"
    type = "given"

    def __init__(self) -> None:
        self.asked, self.let_go = threading.Event(), threading.Event()

    def collect(self, request: CollectRequest) -> Collected:
        self.asked.set()
        assert self.let_go.wait(30)
        return Collected(estate=self.estate())

    def estate(self) -> Estate:
        return estate(host())


class Told(NoObserver):
    """Remembers how runs ended and what became of triggers."""

    def __init__(self) -> None:
        self.ended: list[RunRecord] = []
        self.decisions: list[Decision] = []

    def run_ended(self, run: RunRecord, report: RunReport | None) -> None:
        self.ended.append(run)

    def trigger(self, trigger: Trigger, decision: Decision) -> None:
        self.decisions.append(decision)


class ExecutorHouse:
    """What an executor is given. `run`: what carries a run out in place of a real one, if the test says so."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.settings = Settings()
        self.triggers = TriggersSection()
        self.told = Told()
        self.source = Gated()
        self.source.let_go.set()
        self.silence = timedelta(minutes=5)
        self.clock: Callable[[], datetime] = now
        self.analysts: Analysts = NoModel()
        self.broken: Callable[[], None] = lambda: None
        self._ids = itertools.count(1)

    @property
    def observer(self) -> Observer:
        return self.told

    def pulse(self) -> Pulse:
        return Pulse(self.silence)

    def patrol(self, run_id: str, cancel: Cancel, pulse: Pulse) -> Patrol:
        self.broken()
        house = RunHouse(self.database, settings=self.settings)
        return replace(
            house.patrol(),
            sources=[BoundedSource(source=self.source, timeout_seconds=60)],
            clock=self.clock,
            ids=self.ids,
            analysts=self.analysts,
            cancel=cancel,
            beat=pulse.beat,
            progress=pulse.progress,
            observer=self.observer,
        )

    def ids(self) -> str:
        return f"id{next(self._ids)}"

    def executor(self, **more: object) -> Executor:
        given = {"owner": "me", "polled_every": timedelta(seconds=0.05), "retry": timedelta(seconds=0.1), **more}
        return Executor(self, database=self.database, org_id=ORG, clock=self.clock, **given)

    def offer(self, trigger: Trigger) -> Offered:
        return self.database.transact(
            lambda connection: RunQueue(connection, ORG).offer(trigger, now(), OPEN, self.ids)
        )

    def run_of(self, offered: Offered) -> RunRecord | None:
        return RunStore(self.database).find(offered.work.run_id)

    def work_of(self, offered: Offered) -> Work:
        with self.database.read() as connection:
            found = WorkStore(connection, ORG).find(offered.work.id)
        assert found is not None
        return found

    def works(self, *states: WorkState) -> list[Work]:
        with self.database.read() as connection:
            return WorkStore(connection, ORG).list_work(WorkKind.RUN, states)


def now() -> datetime:
    return datetime.now(UTC)
