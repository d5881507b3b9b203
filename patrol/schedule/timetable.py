"""Wakes jobs when they are due. The one module that knows APScheduler, which only wakes: what is due is decided here.

What its defaults would do, and what is set instead: a job more than a second late is dropped (here it is begun
however late, once); jobs under way are cancelled at the end (here they are waited for, up to a bound, and none is
one of its own); timers stand still while a machine sleeps (here somebody looks after them twice a minute).
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Protocol

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from sqlalchemy import Connection

from patrol.database import Database, StorageError
from patrol.schedule.jobs import HARMLESS_LATE, Job, JobName
from patrol.schedule.model import JobState, Occurrence
from patrol.schedule.store import JobStore
from patrol.schedule.times import put_off

LOOKED_AFTER_SECONDS = 30.0
RETRY = timedelta(minutes=1)
_SOONEST = timedelta(seconds=1)
_WENT_BACK = timedelta(seconds=5)


class Told(Protocol):
    """Told what an operator may want to know of a job: late, missed, failed."""

    def __call__(self, job: str, text: str, *, is_harmless: bool = False) -> None: ...


class Timetable:
    """The jobs of a process, on its event loop. `seed`: what makes this host's jitter its own.

    Invariant: a job is begun again only after its last time has ended; a time that came meanwhile is made up for once.
    """

    def __init__(
        self,
        jobs: Iterable[Job],
        *,
        database: Database,
        org_id: str,
        clock: Callable[[], datetime],
        seed: str,
        told: Told,
        looked_after_seconds: float = LOOKED_AFTER_SECONDS,
    ) -> None:
        self._jobs = {job.name: job for job in jobs}
        self._database = database
        self._org_id = org_id
        self._clock = clock
        self._seed = seed
        self._told = told
        self._looked_after_seconds = looked_after_seconds
        self._states: dict[JobName, JobState] = {}
        self._under_way: dict[JobName, asyncio.Task[Occurrence | None]] = {}
        self._looking_after: asyncio.Task[None] | None = None
        self._stops = False
        logging.getLogger("apscheduler").setLevel(logging.WARNING)  # else two lines for each time of each job
        self._scheduler = AsyncIOScheduler(
            timezone=UTC, job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1}
        )

    @property
    def states(self) -> dict[JobName, JobState]:
        """Where each job stands, as far as this process knows."""
        return dict(self._states)

    def next_at(self, name: JobName) -> datetime | None:
        """When a job is begun next; None for one that is not planned."""
        state = self._states.get(name)
        return self._acted_at(state) if state is not None and name in self._jobs else None

    async def plan(self) -> dict[JobName, JobState]:
        """Finds out where each job stands, before anything is begun. Raises StorageError."""
        now = self._clock()
        for job in self._jobs.values():
            self._states[job.name] = await asyncio.to_thread(self._planned, job, now)
        return self.states

    async def start(self, *, delay: timedelta) -> None:
        """Begins. Nothing that is overdue is begun before `delay`: the machine may be starting as well."""
        if not self._states:
            await self.plan()
        self._scheduler.start()
        earliest = self._clock() + delay
        for name in self._jobs:
            self._wake(name, earliest)
        self._looking_after = asyncio.create_task(self._look_after(self._clock()))

    async def reload(self, jobs: Iterable[Job]) -> None:
        """Other jobs or schedules from now on. Who keeps its schedule keeps its phase. Raises StorageError."""
        wanted = {job.name: job for job in jobs}
        now = self._clock()
        states = {name: await asyncio.to_thread(self._planned, job, now) for name, job in wanted.items()}
        for name in self._jobs.keys() - wanted.keys():
            if self._scheduler.get_job(name) is not None:
                self._scheduler.remove_job(name)
        self._jobs = wanted
        self._states = states
        for name in wanted:
            self._wake(name, now)

    async def stop(self, seconds: float) -> list[JobName]:
        """Begins nothing more, and waits that long for what is under way; returns what is under way still.

        May be called twice.
        """
        first, self._stops = not self._stops, True
        if self._looking_after is not None:
            self._looking_after.cancel()
        if first and self._scheduler.running:
            self._scheduler.shutdown(wait=False)
        under_way = list(self._under_way.values())
        if under_way:
            await asyncio.wait(under_way, timeout=seconds)
        return sorted(self._under_way)

    async def begin(self, name: JobName) -> Occurrence | None:
        """Begins a job, if it is due, and waits for its end; None if it is not due, or under way already."""
        task = self._launched(name)
        return await task if task is not None else None

    # --- one time of one job ---

    def _launched(self, name: JobName) -> "asyncio.Task[Occurrence | None] | None":
        job = self._jobs.get(name)
        if job is None or name in self._under_way or self._stops:
            return None
        task = asyncio.create_task(self._go(job))
        self._under_way[name] = task
        return task

    async def _go(self, job: Job) -> Occurrence | None:
        try:
            return await self._begin(job)
        finally:
            del self._under_way[job.name]

    async def _begin(self, job: Job) -> Occurrence | None:
        now = self._clock()
        try:
            state, occurrence = await asyncio.to_thread(self._taken, job, now)
        except Exception as error:  # noqa: BLE001 - told; what was not taken is due still, and other jobs go on
            self._told(job.name, f"could not be begun, and is tried again in a minute: {_said(error)}")
            self._wake(job.name, self._clock() + RETRY)
            return None
        self._states[job.name] = state
        if occurrence is not None:
            if occurrence.missed:
                times = "once" if occurrence.missed == 1 else f"{occurrence.missed} times"
                text = f"missed {times}: Patrol did not run, or could not begin it; this one makes up for it"
                self._told(job.name, text, is_harmless=job.name in HARMLESS_LATE)
            await self._do(job, occurrence, failed_before=bool(state.last_error))
        await self._go_on(job)
        return occurrence

    async def _go_on(self, job: Job) -> None:
        """To its next time; of the schedule that is in force by now."""
        current = self._jobs.get(job.name)
        if current is None:
            self._states.pop(job.name, None)
            return
        earliest = self._clock() + _SOONEST
        if current is not job:
            try:
                self._states[job.name] = await asyncio.to_thread(self._planned, current, self._clock())
            except StorageError as error:
                self._told(job.name, f"its new schedule could not be kept, and is tried again in a minute: {error}")
                earliest += RETRY
        self._wake(job.name, earliest)

    async def _do(self, job: Job, occurrence: Occurrence, *, failed_before: bool) -> None:
        if job.duty is None:
            return
        error = ""
        try:
            await asyncio.to_thread(job.duty, occurrence)
        except Exception as failed:  # noqa: BLE001 - counted and told: a job that fails stops no other, nor itself
            error = _said(failed)
            self._told(job.name, f"failed: {error}")
        if not error and not failed_before:
            return
        try:
            self._states[job.name] = await asyncio.to_thread(self._ended, job, error)
        except StorageError as unwritten:
            self._told(job.name, f"how it ended could not be kept: {unwritten}")

    # --- in the database, on other threads ---

    def _planned(self, job: Job, now: datetime) -> JobState:
        def work(connection: Connection) -> JobState:
            return JobStore(connection, self._org_id).plan(job.name, job.schedule, now, after=job.first_after)

        return self._database.transact(work)

    def _taken(self, job: Job, now: datetime) -> tuple[JobState, Occurrence | None]:
        def work(connection: Connection) -> tuple[JobState, Occurrence | None]:
            state, occurrence = JobStore(connection, self._org_id).take(job.name, job.schedule, now)
            if occurrence is not None and job.enqueue is not None:
                job.enqueue(connection, occurrence)
            return state, occurrence

        return self._database.transact(work)

    def _ended(self, job: Job, error: str) -> JobState:
        return self._database.transact(lambda connection: JobStore(connection, self._org_id).note_end(job.name, error))

    # --- waking ---

    def _acted_at(self, state: JobState) -> datetime:
        return put_off(self._jobs[JobName(state.name)].schedule, state.name, state.due_at, self._seed)

    def _wake(self, name: JobName, earliest: datetime) -> None:
        """Has the job begun when it is due, and not before `earliest`."""
        if self._stops or name not in self._jobs or not self._scheduler.running:
            return
        at = max(self._acted_at(self._states[name]), earliest)
        self._scheduler.add_job(self._woken, "date", run_date=at, args=[name], id=name, replace_existing=True)

    async def _woken(self, name: JobName) -> None:
        # A task of its own: those of the scheduler are cancelled when it is shut down.
        self._launched(name)

    async def _look_after(self, before: datetime) -> None:
        """Notices that the machine slept, or that its clock was set back: timers see neither."""
        while True:
            await asyncio.sleep(self._looked_after_seconds)
            now = self._clock()
            if now < before - _WENT_BACK:
                try:
                    await self.reload(self._jobs.values())
                except StorageError as error:
                    self._told("schedule", f"the clock went back, and jobs could not be planned anew: {error}")
                    continue
            before = now
            self._scheduler.wakeup()


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
