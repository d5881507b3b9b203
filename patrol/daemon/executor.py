"""Carries out the runs that wait: claims them from the table of work, one in each slot, each to a record.

The queue goes on taking triggers meanwhile; the runs have threads of their own, and this is the event loop's part.
"""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

import structlog
from sqlalchemy import Connection

from patrol.daemon.ending import Ending, close_work, put_back
from patrol.daemon.escalations import Offered, hand_on, rules_of, waits
from patrol.daemon.pulse import Pulse
from patrol.daemon.run_line import run_line
from patrol.database import Database, StorageError
from patrol.run import Patrol, RunReport
from patrol.run.cancel import Cancel
from patrol.run.observer import Observer
from patrol.run.request import Ids, RunRequest
from patrol.run.store import RunStore
from patrol.schedule.gates import gates_of
from patrol.schedule.pauses import find_pause
from patrol.settings.model import Settings, TriggersSection
from patrol.triggers.model import Slot, Trigger
from patrol.work.model import WorkKind, WorkState
from patrol.work.queue import Claim, Claimed, NothingDue, RunQueue
from patrol.work.store import LEASE, WorkLostError, WorkStore

POLLED_EVERY = timedelta(seconds=5)
"""How soon it is noticed what another process put into the table."""
RETRY = timedelta(seconds=10)
RENEWED_EVERY_SECONDS = 10.0

_log = structlog.stdlib.get_logger("patrol.daemon.executor")


@dataclass(slots=True, kw_only=True, eq=False)
class UnderWay:
    """A run under way. `result`: set once, by its thread."""

    claim: Claim
    pulse: Pulse
    cancel: Cancel = field(default_factory=Cancel)
    result: "asyncio.Future[RunReport | BaseException]"

    @property
    def slot(self) -> Slot:
        """Where it takes place."""
        return self.claim.trigger.slot


class House(Protocol):
    """What runs need of the daemon, by the settings that are in force when each begins."""

    @property
    def settings(self) -> Settings:
        """Those that are in force."""
        ...

    @property
    def triggers(self) -> TriggersSection:
        """What may start a run."""
        ...

    @property
    def ids(self) -> Ids:
        """Mints ids."""
        ...

    @property
    def observer(self) -> Observer:
        """Who is told how runs go."""
        ...

    def pulse(self) -> Pulse:
        """The pulse of a run that begins now."""
        ...

    def patrol(self, run_id: str, cancel: Cancel, pulse: Pulse) -> Patrol:
        """What carries that run out."""
        ...


class Executor:
    """The runs of one organisation, as long as `work` goes on. `ended`: told of each run when it is recorded.

    `is_locked_out`: the database did not let it claim when it last tried.

    Invariant: each claimed run ends in a record under its reserved id, whatever ends it; where nothing can be
    written, the next start does it.
    """

    def __init__(
        self,
        house: House,
        *,
        database: Database,
        org_id: str,
        owner: str,
        clock: Callable[[], datetime],
        ended: Callable[[], None] = lambda: None,
        polled_every: timedelta = POLLED_EVERY,
        retry: timedelta = RETRY,
    ) -> None:
        self._house = house
        self._database = database
        self._org_id = org_id
        self._owner = owner
        self._clock = clock
        self._ended = ended
        self._polled_every = polled_every
        self._retry = retry
        self._under_way: dict[Slot, UnderWay] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._stops = False
        self.is_locked_out = False

    @property
    def under_way(self) -> list[UnderWay]:
        """The runs that go on now."""
        return list(self._under_way.values())

    def nudge(self) -> None:
        """Says that there is something new, from any thread."""
        self._loop.call_soon_threadsafe(self._news.set)

    def is_going_on(self) -> bool:
        """Whether every run under way did something not long ago."""
        return all(each.pulse.is_going_on() or each.result.done() for each in self._under_way.values())

    async def work(self) -> None:
        """Claims and carries out, until `stop`."""
        while not self._stops:
            self._news.clear()
            found = await self._next()
            if isinstance(found, Claim):
                await self._begin(found)
                continue
            await self._wait(found.ask_at)

    async def stop(self, *, finish_seconds: float, cancel_seconds: float, hurry: asyncio.Event) -> list[str]:
        """Begins nothing more; lets runs finish for a while, or until `hurry`, then cancels them.

        Returns the ids of those that go on still. May be called twice.
        """
        self._stops = True
        self._news.set()
        hurried = asyncio.create_task(hurry.wait())
        ends_at = self._loop.time() + finish_seconds
        while self._tasks and not hurry.is_set() and self._loop.time() < ends_at:
            left = ends_at - self._loop.time()
            await asyncio.wait([*self._tasks, hurried], timeout=left, return_when=asyncio.FIRST_COMPLETED)
        hurried.cancel()
        for each in self._under_way.values():
            each.cancel.ask("Patrol was stopped before the run was done")
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=cancel_seconds)
        return [each.claim.work.run_id for each in self._under_way.values()]

    # --- claiming ---

    async def _next(self) -> Claimed:
        if len(self._under_way) == len(Slot):
            return NothingDue()
        now = self._clock()
        try:
            found = await asyncio.to_thread(self._claimed, now)
        except StorageError as error:
            if not self.is_locked_out:
                _log.warning("runs cannot be claimed, and are tried again", error=str(error))
            self.is_locked_out = True
            return NothingDue(ask_at=now + self._retry)
        if self.is_locked_out:
            _log.info("runs can be claimed again")
        self.is_locked_out = False
        return found

    def _claimed(self, now: datetime) -> Claimed:
        with self._database.read() as connection:
            # Most of the time nothing waits, and nothing need be written to know.
            runs = WorkStore(connection, self._org_id).list_work(WorkKind.RUN, (WorkState.WAITING,))
            if not runs and not waits(connection, self._org_id, now):
                return NothingDue()

        if self._under_way:
            # Whoever begins looks for what is not alive: a machine that slept has leases that ran out.
            self.renew_all(now)

        def work(connection: Connection) -> tuple[Claimed, list[Offered]]:
            gates = gates_of(self._house.triggers, find_pause(connection, self._org_id, now))
            rules = rules_of(self._house.settings)
            offered = hand_on(connection, self._org_id, self._owner, now, gates, rules, self._house.ids)
            return RunQueue(connection, self._org_id).claim(self._owner, now, gates), offered

        claimed, offered = self._database.transact(work)
        for trigger, decision in offered:
            self._house.observer.trigger(trigger, decision)
        return claimed

    def renew_all(self, now: datetime) -> None:
        """Says that all that is under way goes on: before anybody looks for what does not. Raises StorageError.

        A machine that slept has leases that ran out, of runs that are alive.
        """
        self._database.transact(lambda connection: self._renewed(connection, now))
        runs = RunStore(self._database, self._org_id)
        runs.revive([each.claim.work.run_id for each in self.under_way], now + LEASE)

    def _renewed(self, connection: Connection, now: datetime) -> None:
        store = WorkStore(connection, self._org_id)
        for each in self.under_way:
            try:
                store.renew(each.claim.work, now + LEASE)
            except WorkLostError:
                each.cancel.ask("another process was given this run")

    async def _wait(self, ask_at: datetime | None) -> None:
        seconds = self._polled_every.total_seconds()
        if self.is_locked_out and ask_at is not None:
            seconds = self._retry.total_seconds()
        elif ask_at is not None:
            seconds = min(seconds, max((ask_at - self._clock()).total_seconds(), 0.05))
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return

    # --- one run ---

    async def _begin(self, claim: Claim) -> None:
        if self._stops:
            await self._closed(claim, put_back(self._clock(), "Patrol stops"))
            return
        under = UnderWay(claim=claim, pulse=self._house.pulse(), result=self._loop.create_future())
        self._under_way[under.slot] = under
        task = asyncio.create_task(self._carry_out(under))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry_out(self, under: UnderWay) -> None:
        work, trigger = under.claim.work, under.claim.trigger
        _log.info("run begins", run_id=work.run_id, trigger=str(trigger.reason), slot=str(under.slot))
        # A thread of its own: one that hangs must not keep the process from ending.
        threading.Thread(target=self._run, args=(under,), name=f"run-{under.slot}", daemon=True).start()
        keeper = asyncio.create_task(self._keep(under))
        try:
            result = await under.result
            await self._closed(under.claim, Ending.of(result, self._clock(), self._retry))
            await self._tell(under, result)
        finally:
            keeper.cancel()
            del self._under_way[under.slot]
            self._news.set()
        self._ended()

    def _run(self, under: UnderWay) -> None:
        result: RunReport | BaseException
        try:
            patrol = self._house.patrol(under.claim.work.run_id, under.cancel, under.pulse)
            result = patrol.run(request_of(under.claim))
        except BaseException as error:  # noqa: BLE001 - whatever ends a run: it is told, recorded, and the next one begins
            result = error
        if not self._loop.is_closed():  # else the process ends, and the next start closes the run
            self._loop.call_soon_threadsafe(under.result.set_result, result)

    async def _keep(self, under: UnderWay) -> None:
        """Renews the claim while the run goes on."""
        while True:
            await asyncio.sleep(RENEWED_EVERY_SECONDS)
            now = self._clock()
            try:
                await asyncio.to_thread(
                    self._database.transact, lambda connection, now=now: self._renewed(connection, now)
                )
            except StorageError as error:
                # The next renewal comes well before the lease is over.
                _log.debug("a claim could not be renewed", run_id=under.claim.work.run_id, error=str(error))

    async def _closed(self, claim: Claim, ending: Ending) -> None:
        """Writes down how it ended; waits for the database as long as the daemon lives."""
        runs = RunStore(self._database, self._org_id)
        while True:
            try:
                records = await asyncio.to_thread(
                    self._database.transact,
                    lambda connection: close_work(connection, runs, self._org_id, claim.work, ending),
                )
            except WorkLostError:
                _log.warning("a run that another process was given has ended here", run_id=claim.work.run_id)
                return
            except StorageError as error:
                _log.error("the end of a run cannot be written", run_id=claim.work.run_id, error=str(error))
                if self._stops:
                    return
                await asyncio.sleep(self._retry.total_seconds())
            else:
                for record in records:
                    self._house.observer.run_ended(record, None)
                return

    async def _tell(self, under: UnderWay, result: RunReport | BaseException) -> None:
        """The one line of this run."""
        try:
            run = await asyncio.to_thread(RunStore(self._database, self._org_id).find, under.claim.work.run_id)
        except StorageError as error:
            _log.error("a run ended, and how cannot be read", run_id=under.claim.work.run_id, error=str(error))
            return
        run_line(run, under.claim, under.pulse.stages(), result)


def request_of(claim: Claim) -> RunRequest:
    """What a claimed trigger asks for."""
    trigger: Trigger = claim.trigger
    about = trigger.leading
    return RunRequest(
        reason=trigger.reason,
        scope=trigger.scope.resource_ids,
        resource_types=trigger.scope.resource_types,
        alert_id=about.alert_id,
        alert_type=about.alert_type,
        finding_id=about.finding_id,
        run_id=claim.work.run_id,
    )
