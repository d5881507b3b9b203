"""The life of a daemon: what is built in which order, how new settings are taken up, how all of it ends in reverse."""

import asyncio
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib.metadata import version
from pathlib import Path

import structlog
from prometheus_client import CollectorRegistry

from patrol.api.live.hub import RunFeed, StreamHub
from patrol.daemon.executor import Executor
from patrol.daemon.first_round import ask_for_first, insist
from patrol.daemon.in_force import InForce, check_alert_settings, not_taken_up, secrets_of
from patrol.daemon.notify import Supervision, alive, ready, reloading, status, stopping
from patrol.daemon.observers import Observers
from patrol.daemon.run_line import job_line
from patrol.daemon.sole import alone_with
from patrol.daemon.standing import Standing, standing, status_text
from patrol.database import Database, StorageError
from patrol.logs import Redaction
from patrol.metrics import Metrics, RunCounts, StateReader
from patrol.overrides.store import OverrideStore
from patrol.run.lease import lease_owner, owner_is_gone
from patrol.run.limits import limits_in_force
from patrol.run.observer import Observer
from patrol.run.record_model import RunStatus
from patrol.run.request import Ids
from patrol.run.store import RunStore
from patrol.schedule.jobs import Job, JobName
from patrol.schedule.timetable import Timetable
from patrol.schedule.upcoming import FirstRound
from patrol.schedule.upkeep import Upkeep, recover
from patrol.schedule.zone import find_zone
from patrol.settings.load import LoadedSettings, load_settings
from patrol.settings.problems import SettingsProblemError

_log = structlog.stdlib.get_logger("patrol.daemon")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How long the steps of the end may take, in seconds: together less than the unit's TimeoutStopSec."""

    finish: float = 45.0  # for runs under way to come to their end
    cancel: float = 15.0  # for a cancelled run to be recorded
    jobs: float = 5.0
    http: float = 8.0
    hung: float = 90.0  # for a run that does nothing any more, where no watchdog ends the process: as long as there


class DeadPartError(Exception):
    """A part of the daemon that must go on for ever has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """Something of the daemon that was started: the task in which it goes on, and how it is ended."""

    task: "asyncio.Task[None]"
    end: Callable[[], Awaitable[None]]


Serve = Callable[["Daemon"], Awaitable[Served]]
"""Starts it."""


@dataclass(slots=True, kw_only=True, eq=False)
class Daemon:
    """One daemon, on its event loop. `config`: the settings file as it was given on the command line.

    `loaded`: of file and environment; what operators stored is laid over it. `observers`: are told how runs go.
    `serve`: starts the HTTP interface once everything else is there. `first_round`: the run of the start, until it is
    decided.
    """

    config: Path | None
    loaded: LoadedSettings
    database: Database
    supervision: Supervision
    redaction: Redaction
    clock: Callable[[], datetime]
    ids: Ids
    org_id: str
    observers: Sequence[Observer] = ()
    serve: Serve | None = None
    bounds: Bounds = field(default_factory=Bounds)
    load: Callable[[Path | None], LoadedSettings] = load_settings
    live: StreamHub = field(init=False)
    metrics: Metrics = field(init=False)
    in_force: InForce = field(init=False)
    executor: Executor = field(init=False)
    timetable: Timetable = field(init=False)
    first_round: FirstRound | None = field(default=None, init=False)
    _stop: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _hurry: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _reloads: set[asyncio.Task[None]] = field(default_factory=set, init=False)
    _loop: asyncio.AbstractEventLoop = field(init=False)
    _status: str = field(default="", init=False)
    _refused: str = field(default="", init=False)
    _standing: Standing = field(default_factory=Standing, init=False)
    _begun: bool = field(default=False, init=False)
    _told_at: float = field(default=0.0, init=False)
    is_ready: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Makes the parts; nothing is begun. Raises StorageError."""
        self._loop = asyncio.get_running_loop()
        self.live = StreamHub(self.clock, secrets=lambda: self.redaction.secrets)
        self.metrics = self._counted()
        self.in_force = InForce(
            given=self.loaded,
            loaded=self._with_stored(self.loaded),
            database=self.database,
            clock=self.clock,
            ids=self.ids,
            live=self.live,
            observer=Observers(
                [RunCounts(self.metrics, self.database, self.org_id), *self.observers, RunFeed(self.live)]
            ),
        )
        self.executor = Executor(
            self.in_force,
            database=self.database,
            org_id=self.org_id,
            owner=lease_owner(),
            clock=self.clock,
            ended=self._tell_status,
        )
        self.timetable = Timetable(
            self._jobs(self.in_force.loaded),
            database=self.database,
            org_id=self.org_id,
            clock=self.clock,
            seed=socket.gethostname(),
            told=job_line,
        )

    async def run(self) -> None:
        """Starts everything, goes on until it is told to stop, then ends all of it in reverse order.

        Raises OtherDaemonError where the database has a daemon, AlertSettingsError where there are no limits,
        StorageError where the start cannot read or write, DeadPartError where a part of it ended by itself.
        """
        async with AsyncExitStack() as ends:
            alone = await ends.enter_async_context(alone_with(self.database, lease_owner(), self.clock()))
            self._listen_to_signals()
            # Without any limits no run could check anything: rather no start than a daemon that looks alive.
            await asyncio.to_thread(limits_in_force, self.in_force.settings, self.database, self.clock())
            follows_crash = await asyncio.to_thread(self._recovered)
            await self.timetable.plan()
            working = asyncio.create_task(self.executor.work())
            feeding = asyncio.create_task(self._feed(working))
            parts = [working, feeding, alone]
            ends.push_async_callback(_end_task, feeding)  # also while the rest ends
            interface = await ends.enter_async_context(AsyncExitStack())  # ends after the runs: it tells how they end
            ends.push_async_callback(self._end_runs, working)
            delay = self.in_force.settings.patrol.startup_delay
            # As it was found: what is overdue is begun by the timetable after the same delay.
            due_at = self.timetable.states[JobName.PATROL].due_at
            first = FirstRound(at=self.clock() + delay, due_at=due_at, follows_crash=follows_crash)
            self.first_round = first
            await self.timetable.start(delay=delay)
            ends.push_async_callback(self._end_timetable)
            starting = asyncio.create_task(self._ask_for_first(first, delay))
            ends.push_async_callback(_end_task, starting)
            if self.serve is not None:
                served = await self.serve(self)
                interface.push_async_callback(served.end)
                parts.append(served.task)
            await self._look_around()
            self.is_ready = self._begun = True
            self._tell(ready())
            self._tell_status()
            _log.info("started", settings=str(self.loaded.file or "built-in"), database=self.database.place)
            try:
                await self._until_stopped(parts)
            finally:
                self.is_ready = False
                self._tell(stopping(), status("stopping"))

    def stop(self) -> None:
        """Ends it; said again a second later, without waiting for runs to finish."""
        now = asyncio.get_running_loop().time()
        if self._stop.is_set() and now - self._told_at > 1:
            self._hurry.set()
        if not self._stop.is_set():
            self._told_at = now
        self._stop.set()

    def nudge(self) -> None:
        """There is new work, or the pause has changed. From any thread."""
        self.executor.nudge()

    def waits_for(self) -> list[str]:
        """What is not there yet, as short sentences; empty when everything goes on."""
        waits = [] if self.is_ready else ["the daemon is starting or stopping"]
        if self.executor.is_locked_out:
            waits.append("the database does not let runs be claimed")
        if not self.executor.is_going_on():
            waits.append("a run does nothing any more")
        return waits

    def _counted(self) -> Metrics:
        reader = StateReader(
            database=self.database,
            settings=lambda: self.in_force.settings,
            clock=self.clock,
            subscribers=lambda: self.live.listeners,
            first_round=lambda: self.first_round,
            org_id=self.org_id,
        )
        return Metrics(CollectorRegistry(), version=version("patrold"), read_state=reader)

    # --- starting ---

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for which in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(which, self._signalled, which.name)
        loop.add_signal_handler(signal.SIGHUP, self._reload_soon)

    def _signalled(self, name: str) -> None:
        _log.info("told to stop", signal=name, again=self._stop.is_set())
        self.stop()

    def _recovered(self) -> bool:
        """Closes what the process before left open. Whether a run crashed, so that another one has to look again."""
        recover(self.database, self.org_id, self.clock(), owner_is_gone, self.in_force.observer)
        return RunStore(self.database, self.org_id).follows_crash(self.clock())

    async def _ask_for_first(self, first: FirstRound, delay: timedelta) -> None:
        """Has the run of a start decided, once the machine had its time to start as well."""
        await asyncio.sleep(delay.total_seconds())
        await insist(lambda: ask_for_first(self.database, self.org_id, first, self.clock(), self.in_force))
        self.first_round = None
        self.nudge()

    def _jobs(self, loaded: LoadedSettings) -> list[Job]:
        """The jobs that follow from settings. Raises what `find_zone` raises."""
        upkeep = Upkeep(
            database=self.database,
            org_id=self.org_id,
            settings=loaded.settings,
            ids=self.ids,
            is_gone=owner_is_gone,
            sample=self.in_force.sample,
            still_alive=self.executor.renew_all,
            observer=self.in_force.observer,
            wake=self.nudge,
        )
        return upkeep.jobs(find_zone(loaded.settings.patrol.time_zone))

    # --- going on ---

    async def _until_stopped(self, parts: Sequence["asyncio.Task[None]"]) -> None:
        stopped = asyncio.create_task(self._stop.wait())
        done, _ = await asyncio.wait({stopped, *parts}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        for part in done - {stopped}:
            if not self._stop.is_set():
                error = part.exception()
                _log.critical("a part of the daemon has ended", exc_info=error)
                raise DeadPartError(str(error)) from error

    async def _feed(self, working: "asyncio.Task[None]") -> None:
        """Tells systemd that this process is alive: only while this loop turns and every run goes on.

        Where nobody would end it for that, it ends by itself: a run that hangs would hold its slot for ever. Raises
        DeadPartError.
        """
        longest = self.supervision.watchdog
        every = min(longest.total_seconds() / 4 if longest is not None else self.bounds.hung, 10.0)
        went_on_at = self._loop.time()
        was_going_on = True
        while True:
            is_going_on = self.executor.is_going_on() and (self._stop.is_set() or not working.done())
            if self._begun and is_going_on and longest is not None:
                self._tell(alive())
            if was_going_on and not is_going_on:
                _log.error("a run does nothing any more; the watchdog is not fed", runs=self._run_ids())
            went_on_at = self._loop.time() if is_going_on else went_on_at
            if longest is None and self._loop.time() - went_on_at > self.bounds.hung:
                raise DeadPartError("a run does nothing any more; the next start closes it as crashed and looks again")
            was_going_on = is_going_on
            await self._look_around()
            self._tell_status()
            await asyncio.sleep(every)

    async def _look_around(self) -> None:
        try:
            self._standing = await asyncio.to_thread(self._stands)
        except StorageError as error:
            _log.debug("how Patrol stands cannot be read", error=str(error))

    def _stands(self) -> Standing:
        with self.database.read() as connection:
            return standing(connection, self.org_id, self.first_round, self.clock())

    def _run_ids(self) -> list[str]:
        return [each.claim.work.run_id for each in self.executor.under_way]

    def _tell(self, *states: str) -> None:
        try:
            self.supervision.notifier(*states)
        except OSError as error:
            _log.warning("systemd cannot be told", states=states, error=str(error))

    def _tell_status(self) -> None:
        if not self.is_ready:
            return
        planned_at = self.timetable.next_at(JobName.PATROL)
        at = self._standing.next_run_at if self.first_round is not None else planned_at
        text = status_text(self._run_ids(), at, self._standing, self._refused)
        if text != self._status:
            self._status = text
            self._tell(status(text))

    # --- new settings ---

    def _reload_soon(self) -> None:
        self._soon(self.reload())

    def _soon(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._reloads.add(task)
        task.add_done_callback(self._reloads.discard)

    async def reload(self) -> None:
        """Reads the settings anew. What is wrong changes nothing; what is right holds from the next run."""
        async with self._reading:
            self._tell(*reloading())
            try:
                given = await asyncio.to_thread(self.load, self.config)
                loaded = await asyncio.to_thread(self._with_stored, given)
                await asyncio.to_thread(check_alert_settings, self.in_force.settings, loaded.settings)
                await self.timetable.reload(self._jobs(loaded))
            except (SettingsProblemError, StorageError, OSError, ValueError) as error:
                self._refused = f"new settings were refused at {self.clock():%H:%M} UTC: see the log"
                _log.error("the new settings are refused, the old ones stay", problems=str(error).splitlines())
            else:
                later = not_taken_up(self.loaded.settings, given.settings)  # as the start found them
                self._refused = f"[{'], ['.join(later)}] changed: restart to take it up" if later else ""
                self.redaction.secrets = (*secrets_of(self.in_force.loaded), *secrets_of(loaded))
                self.in_force.given, self.in_force.loaded = given, loaded
                _log.info("new settings", settings=str(loaded.file or "built-in"), only_after_a_restart=later)
            self._tell(ready())
            self._tell_status()
            self.nudge()

    def settings_changed(self) -> None:
        """An operator stored settings, or paused or resumed. From any thread."""
        self._loop.call_soon_threadsafe(self._soon, self._take_up_stored())

    async def _take_up_stored(self) -> None:
        async with self._reading:
            try:
                loaded = await asyncio.to_thread(self._with_stored, self.in_force.given)
                await self.timetable.reload(self._jobs(loaded))
            except StorageError as error:
                _log.error("what operators stored cannot be taken up", error=str(error))
            else:
                self.in_force.loaded = loaded
                _log.info("stored settings", notes=list(loaded.notes))
            self._tell_status()
            self.nudge()

    def _with_stored(self, given: LoadedSettings) -> LoadedSettings:
        with self.database.read() as connection:
            return OverrideStore(connection, self.org_id).in_force(given)

    # --- the end ---

    async def _end_timetable(self) -> None:
        still = await self.timetable.stop(self.bounds.jobs)
        if still:
            _log.warning("jobs go on beyond the end", jobs=[str(each) for each in still])

    async def _end_runs(self, working: "asyncio.Task[None]") -> None:
        bounds = self.bounds
        still = await self.executor.stop(finish_seconds=bounds.finish, cancel_seconds=bounds.cancel, hurry=self._hurry)
        if still:
            _log.error("runs go on beyond the end; the next start closes them", runs=still)
            for run_id in still:
                self.live.begin(run_id).fail(RunStatus.CRASHED, "Patrol ended before the run did")
        await _end_task(working)
        _log.info("stopped", pid=os.getpid())


async def _end_task(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.wait({task})
