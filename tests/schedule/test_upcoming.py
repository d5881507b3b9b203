"""When the next full run is due: what is told is the time at which one is asked for, and a missed time stays."""

from datetime import timedelta

import pytest

from patrol.run.record_model import RunRecord, RunStatus, RunType
from patrol.run.store import RunStore
from patrol.schedule.jobs import JobName
from patrol.schedule.model import FirstRun
from patrol.schedule.pauses import pause, resume
from patrol.schedule.store import JobStore
from patrol.schedule.times import Every
from patrol.schedule.upcoming import FirstRound, next_run_at
from patrol.schedule.upkeep import full_round
from patrol.triggers.model import TriggerReason
from tests.triggers.builders import NOW, VM, manual, trigger
from tests.work.builders import ORG, Line

HOUR, DELAY = timedelta(hours=1), timedelta(seconds=30)


@pytest.fixture
def line(any_database):
    return Line(any_database)


def planned(line, due_in):
    """The scheduled run is due so long after the start; as the start found it."""
    line.database.transact(
        lambda connection: JobStore(connection, ORG).plan(JobName.PATROL, Every(HOUR), NOW, after=due_in)
    )
    return FirstRound(at=NOW + DELAY, due_at=NOW + due_in, follows_crash=False)


def taken(line):
    """The timetable takes what is due."""
    line.database.transact(lambda connection: JobStore(connection, ORG).take(JobName.PATROL, Every(HOUR), line.now))


def succeeded(line, ended_at):
    RunStore(line.database, ORG).record_unstarted(
        RunRecord(
            org_id=ORG,
            id="r1",
            type=RunType.FULL,
            status=RunStatus.HEALTHY,
            trigger_reason="manual",
            started_at=ended_at,
            completed_at=ended_at,
        )
    )


def told(line, first=None, org=ORG):
    with line.database.read() as connection:
        return next_run_at(connection, org, first, line.now)


def test_where_nothing_is_planned_nothing_is_told(line):
    assert told(line) is None
    planned(line, HOUR)
    assert told(line, org="acme") is None


def test_a_daemon_that_has_just_started_tells_the_run_of_its_start(line):
    first = planned(line, HOUR / 2)
    assert told(line, first) == NOW + DELAY
    assert told(line) == NOW + HOUR / 2


@pytest.mark.parametrize("ago", [timedelta(0), HOUR - DELAY - timedelta(seconds=1)])
def test_a_run_that_succeeded_a_short_while_ago_leaves_the_first_one_to_the_schedule(line, ago):
    first = planned(line, HOUR / 2)
    succeeded(line, NOW - ago)
    assert told(line, first) == NOW + HOUR / 2


def test_one_that_will_be_an_hour_old_by_then_does_not(line):
    first = planned(line, HOUR / 2)
    succeeded(line, NOW - HOUR + DELAY)
    assert told(line, first) == NOW + DELAY


def test_after_a_crash_the_run_of_the_start_comes_whatever_succeeded_before(line):
    ordinary = planned(line, HOUR / 2)
    first = FirstRound(at=ordinary.at, due_at=ordinary.due_at, follows_crash=True)
    succeeded(line, NOW)
    assert told(line, first) == NOW + DELAY
    assert first.wanted(NOW, NOW + DELAY) is FirstRun.STARTUP


@pytest.mark.parametrize("due_in", [-5 * HOUR, timedelta(0), DELAY])
def test_what_is_overdue_at_a_start_is_due_when_the_delay_is_over_and_gives_way_once_it_is_taken(line, due_in):
    first = planned(line, due_in)
    succeeded(line, NOW)
    assert told(line, first) == NOW + DELAY
    line.passes(30)
    taken(line)
    assert told(line, first) > NOW + DELAY


def test_a_first_run_that_cannot_be_asked_for_stays_missed(line):
    first = planned(line, HOUR)
    line.passes(1200)
    assert told(line, first) == NOW + DELAY


def test_a_time_that_nobody_takes_stays_where_it_was(line):
    planned(line, HOUR)
    line.passes(10 * 3600)
    assert told(line) == NOW + HOUR
    taken(line)
    assert told(line) == NOW + 11 * HOUR


def test_a_run_that_was_asked_for_and_has_not_begun_is_the_next_one_until_it_begins(line):
    planned(line, HOUR)
    line.passes(3600)
    taken(line)
    line.offer(full_round(TriggerReason.SCHEDULED, line.now))
    line.passes(1800)
    assert told(line) == NOW + HOUR
    line.claimed()
    assert told(line) == NOW + 2 * HOUR


def test_what_waits_about_one_thing_is_not_the_next_full_run(line):
    planned(line, HOUR)
    line.offer(manual(VM))
    assert told(line) == NOW + HOUR


def test_what_a_pause_holds_back_misses_nothing_but_what_somebody_asks_for_does(line):
    planned(line, HOUR)
    line.offer(full_round(TriggerReason.SCHEDULED, NOW))
    pause(line.database, ORG, now=NOW, until=None, reason="", author="ann", ids=line.ids)
    line.passes(60)
    assert told(line) == NOW + HOUR
    line.offer(manual())
    assert told(line) == NOW + timedelta(seconds=60)
    resume(line.database, ORG, now=line.now, author="ann")
    assert told(line) == NOW


def test_what_cannot_be_read_is_passed_over(line):
    planned(line, HOUR)
    offered = line.offer(trigger(TriggerReason.SCHEDULED))
    line.store(lambda store: store.revise(offered.work, NOW, payload="{", priority=0))
    assert told(line) == NOW + HOUR
