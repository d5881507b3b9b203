"""How fast triggers become runs: the gaps between two runs, shorter while much happens. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from patrol.triggers.model import Slot, TriggerScope


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of the queue.

    `resource_gap`: between two runs about one resource. `global_gap`: between any two, at the pace of `base`; with the
    pace it moves between `least_gap` and `most_gap`. `ages_every`: the time that makes a waiting trigger one point
    more urgent. `longest_put_back`: what was put back for longer was so by a clock that was wrong.
    """

    most_pending: int = 10
    resource_gap: timedelta = timedelta(minutes=2)
    global_gap: timedelta = timedelta(seconds=30)
    least_gap: timedelta = timedelta(seconds=10)
    most_gap: timedelta = timedelta(minutes=2)
    base: timedelta = timedelta(minutes=15)
    busy: timedelta = timedelta(minutes=5)
    quiet: timedelta = timedelta(minutes=30)
    busy_events: int = 5
    event_window: timedelta = timedelta(minutes=5)
    ages_every: timedelta = timedelta(seconds=10)
    longest_put_back: timedelta = timedelta(minutes=10)


LIMITS = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """A run that was started out of the queue. `ended_at` None: it is under way."""

    scope: TriggerScope
    started_at: datetime
    ended_at: datetime | None = None
    slot: Slot = Slot.FULL


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What happened before now. `events`: when those came that wait or were served."""

    runs: Sequence[PastRun] = ()
    events: Sequence[datetime] = ()

    @property
    def is_running(self) -> bool:
        """Whether a run is under way."""
        return bool(self.taken)

    @property
    def taken(self) -> frozenset[Slot]:
        """The slots in which a run is under way."""
        return frozenset(run.slot for run in self.runs if run.ended_at is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast it goes now. `interval`: what the gap follows; the schedule has its own and knows nothing of it."""

    interval: timedelta
    gap: timedelta
    recent_events: int
    is_busy: bool


def pace(events: Sequence[datetime], now: datetime, limits: Limits = LIMITS) -> Pace:
    """The pace that the events of the last minutes set. Asking does not change it."""
    recent = sum(now - limits.event_window < at <= now for at in events)
    is_busy = recent >= limits.busy_events
    interval = limits.busy if is_busy else limits.base if recent else limits.quiet
    gap = limits.global_gap * (interval / limits.base)
    return Pace(
        interval=interval,
        gap=min(max(gap, limits.least_gap), limits.most_gap),
        recent_events=recent,
        is_busy=is_busy,
    )


def free_at(scope: TriggerScope, past: Past, now: datetime, limits: Limits = LIMITS) -> datetime:
    """From when a run about this scope keeps its distance to those before it; `now` where it does already.

    Distance is counted from the end of a run. An end in the future is of a clock that went back: it counts for nothing.
    """
    free = now
    gap = pace(past.events, now, limits).gap
    for run in past.runs:
        if run.ended_at is not None and run.ended_at <= now:
            near = scope.touches(run.scope)
            free = max(free, run.ended_at + (max(gap, limits.resource_gap) if near else gap))
    return free
