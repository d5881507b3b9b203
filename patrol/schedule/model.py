"""Jobs that follow a schedule: where each stands, and what becomes of it as time goes on. Pure."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from patrol.schedule.times import Schedule, latest, next_after


@dataclass(frozen=True, slots=True, kw_only=True)
class JobState:
    """Where a job stands. `schedule`: the one that `due_at` was computed by, as text.

    `phase_at`: the time that was due last, or when the job was first known. `due_at`: the time that is due next; not
    put off by jitter. `begun`: how many times it was begun, `missed`: how many times went by without. `failures`: how
    often it went wrong, `last_error` the last time, "" where it went well since.
    """

    org_id: str
    name: str
    schedule: str
    phase_at: datetime
    due_at: datetime
    begun_at: datetime | None = None
    begun: int = 0
    missed: int = 0
    failures: int = 0
    last_error: str = ""
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One time that a job is begun. `missed`: how many times before this one went by and are made up for by it."""

    name: str
    due_at: datetime
    at: datetime
    missed: int

    @property
    def late(self) -> timedelta:
        """How long after its time."""
        return self.at - self.due_at


def first_state(org_id: str, name: str, schedule: Schedule, now: datetime, *, after: timedelta | None) -> JobState:
    """A job that was never known before. `after`: its first time, where that is not a whole interval away."""
    due_at = now + after if after is not None else next_after(schedule, None, now)
    return JobState(org_id=org_id, name=name, schedule=str(schedule), phase_at=now, due_at=due_at)


def planned(state: JobState, schedule: Schedule, now: datetime) -> JobState:
    """The state at a start, after a reload, or when the clock went back.

    With the same schedule it keeps its phase, and what is overdue stays overdue. Another schedule counts from the last
    time that was due; nothing of the old one is made up for.
    """
    if str(schedule) == state.schedule:
        if state.due_at <= now:
            return state
        # The same as it is, unless the clock that computed it was wrong.
        due_at = min(state.due_at, next_after(schedule, state.phase_at, now))
        return replace(state, due_at=due_at)
    return replace(state, schedule=str(schedule), due_at=next_after(schedule, state.phase_at, now))


def taken(state: JobState, schedule: Schedule, now: datetime) -> tuple[JobState, Occurrence] | None:
    """What is due at `now`, one occurrence however many times went by, and the state after it; None if nothing is."""
    if state.due_at > now:
        return None
    last, missed = latest(schedule, state.due_at, now)
    occurrence = Occurrence(name=state.name, due_at=last, at=now, missed=missed)
    after = replace(
        state,
        phase_at=last,
        due_at=next_after(schedule, last, now),
        begun_at=now,
        begun=state.begun + 1,
        missed=state.missed + missed,
    )
    return after, occurrence


RECENT = timedelta(hours=1)


class FirstRun(StrEnum):
    """What a daemon that has just started does about its first run."""

    STARTUP = "startup"  # it runs once, to know where things stand
    CATCH_UP = "catch_up"  # a scheduled run is overdue: that one is the first
    NOT_NEEDED = "not_needed"  # a full run succeeded a short while ago


def first_run(due_at: datetime, last_success_at: datetime | None, now: datetime) -> FirstRun:
    """Which it is. `last_success_at`: the end of the newest full run that succeeded; a failed one never counts."""
    if due_at <= now:
        return FirstRun.CATCH_UP
    if last_success_at is not None and timedelta() <= now - last_success_at < RECENT:
        return FirstRun.NOT_NEEDED
    return FirstRun.STARTUP
