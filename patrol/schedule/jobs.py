"""The jobs of a daemon: what each does when it is due, and when that is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta, tzinfo
from enum import StrEnum

from sqlalchemy import Connection

from patrol.schedule.model import Occurrence
from patrol.schedule.times import At, Every, Schedule
from patrol.settings.model import Settings


class JobName(StrEnum):
    """The jobs there are."""

    PATROL = "patrol"  # the scheduled run
    SAMPLER = "sampler"  # light metrics between the runs
    REMINDERS = "reminders"  # findings that an operator wants to hear of again by now
    RETENTION = "retention"  # deletes what is old enough
    ALERTS = "alerts"  # alerts of other systems that ended without a word
    RECOVERY = "recovery"  # runs and claims whose process is gone, and records that are owed


HARMLESS_LATE = frozenset({JobName.SAMPLER, JobName.ALERTS, JobName.RECOVERY})
"""Due each minute or so: after every restart some time of them was missed, and the next one does all that is to do."""

Enqueue = Callable[[Connection, Occurrence], None]
Duty = Callable[[Occurrence], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What follows a schedule.

    `enqueue`: written in the transaction in which the time is taken, so that neither happens without the other. It may
    be called again where that transaction is. `duty`: done after it, on a thread of its own; while it lasts, the job
    is not begun again. `first_after`: the first time ever, where that is not a whole interval away.
    """

    name: JobName
    schedule: Schedule
    enqueue: Enqueue | None = None
    duty: Duty | None = None
    first_after: timedelta | None = None


MINUTE = timedelta(minutes=1)
MOST_JITTER = MINUTE
REMINDERS_FIRST = timedelta(seconds=30)


def schedules(settings: Settings, zone: tzinfo) -> Mapping[JobName, Schedule]:
    """When each job is due under these settings. `zone`: the one that cron is meant in.

    A run by interval is put off by up to a minute, by at most a sixtieth of the interval: hosts that were set up
    together do not ask a server together. Who writes a time of day means it.
    """
    interval = settings.patrol.interval
    found: dict[JobName, Schedule] = {
        JobName.PATROL: At(settings.patrol.cron, zone)
        if settings.patrol.cron
        else Every(interval, min(MOST_JITTER, interval / 60)),
        JobName.REMINDERS: Every(60 * MINUTE),
        JobName.RETENTION: Every(60 * MINUTE),
        JobName.ALERTS: Every(MINUTE),
        JobName.RECOVERY: Every(MINUTE),
    }
    if settings.sampling.seconds:
        found[JobName.SAMPLER] = Every(timedelta(seconds=settings.sampling.seconds))
    return found
