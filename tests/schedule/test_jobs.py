"""Jobs: a restart goes on where the process before it was, and what is late is done once."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patrol.schedule.model import FirstRun, first_run, first_state, planned, taken
from patrol.schedule.store import JobStore
from patrol.schedule.times import At, Every, next_after

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
HOURLY, DAILY = Every(HOUR), Every(DAY)


def state(schedule=HOURLY, *, after=None):
    return first_state("default", "patrol", schedule, NOW, after=after)


def test_after_a_long_night_there_is_one_run_that_says_what_was_missed():
    after, occurrence = taken(state(), HOURLY, NOW + timedelta(hours=10, minutes=30))
    assert (occurrence.missed, occurrence.late) == (9, 30 * MINUTE)
    assert after.due_at == NOW + 11 * HOUR
    assert taken(after, HOURLY, NOW + timedelta(hours=10, minutes=30)) is None


@given(st.lists(st.integers(1, 200), min_size=1, max_size=30))
def test_each_time_of_the_schedule_is_either_begun_or_counted_as_missed(sleeps):
    """However long the machine sleeps between two looks: no burst, nothing dropped."""
    current, now = state(), NOW
    for minutes in sleeps:
        now += minutes * MINUTE
        begun = 0
        while (found := taken(current, HOURLY, now)) is not None:
            current, begun = found[0], begun + 1
        assert begun <= 1
        assert current.begun + current.missed == (now - NOW) // HOUR


@settings(max_examples=30)
@given(
    sleeps=st.lists(st.integers(1, 100), min_size=1, max_size=20),
    cron=st.sampled_from(["30 2 * * *", "0,30 2 * * *", "0 6 * * 1", "15 */4 * * *"]),
    start=st.sampled_from([datetime(2026, 3, 27, 12, tzinfo=UTC), datetime(2026, 10, 23, 12, tzinfo=UTC)]),
)
def test_each_time_of_the_clock_is_begun_or_missed_also_where_clocks_change(sleeps, cron, start):
    by_clock = At(cron, ZoneInfo("Europe/Berlin"))
    current, now = first_state("default", "patrol", by_clock, start, after=None), start
    expected, due = 0, next_after(by_clock, None, start)
    for hours in sleeps:
        now += hours * HOUR
        while due <= now:
            expected, due = expected + 1, next_after(by_clock, due, due)
        found = taken(current, by_clock, now)
        current = found[0] if found else current
        assert taken(current, by_clock, now) is None
        assert (current.begun + current.missed, current.due_at) == (expected, due)


def test_a_daemon_that_is_restarted_each_day_still_runs_its_daily_job():
    current = state(DAILY)
    for hours in (20, 23):
        current = planned(current, DAILY, NOW + timedelta(hours=hours))
    assert current.due_at == NOW + DAY
    overdue = planned(current, DAILY, NOW + timedelta(hours=25))
    _, occurrence = taken(overdue, DAILY, NOW + timedelta(hours=25))
    assert (occurrence.late, occurrence.missed) == (HOUR, 0)


def test_a_reload_that_changes_nothing_keeps_the_phase():
    current = state()
    assert planned(current, HOURLY, NOW + 20 * MINUTE) == current


def test_another_interval_counts_from_the_last_time():
    assert planned(state(), DAILY, NOW + 20 * MINUTE).due_at == NOW + DAY
    assert planned(state(DAILY), HOURLY, NOW + timedelta(hours=5, minutes=1)).due_at == NOW + 6 * HOUR


def test_a_schedule_by_the_clock_takes_over_at_its_next_time():
    by_clock = At("0 6 * * *", ZoneInfo("Europe/Berlin"))
    assert planned(state(), by_clock, NOW + HOUR).due_at == datetime(2026, 3, 2, 5, tzinfo=UTC)


def test_a_time_that_a_wrong_clock_computed_is_computed_again():
    ahead = first_state("default", "patrol", HOURLY, NOW + 300 * DAY, after=None)
    assert planned(ahead, HOURLY, NOW).due_at == NOW + HOUR


def test_the_first_time_of_a_new_job_may_be_sooner():
    assert state(after=timedelta(seconds=30)).due_at == NOW + timedelta(seconds=30)


@pytest.mark.parametrize(
    ("due_in", "success_ago", "expected"),
    [
        (HOUR, None, FirstRun.STARTUP),
        (HOUR, 59 * MINUTE, FirstRun.NOT_NEEDED),
        (HOUR, 60 * MINUTE, FirstRun.STARTUP),
        (HOUR, -MINUTE, FirstRun.STARTUP),  # a success in the future is of a clock that was wrong
        (-MINUTE, MINUTE, FirstRun.CATCH_UP),
        (timedelta(), None, FirstRun.CATCH_UP),
    ],
)
def test_the_first_run_is_one_or_none(due_in, success_ago, expected):
    assert first_run(NOW + due_in, NOW - success_ago if success_ago is not None else None, NOW) is expected


# --- in the database ---


def in_store(database, act):
    return database.transact(lambda connection: act(JobStore(connection, "default")))


def test_a_job_goes_on_after_a_restart(any_database):
    in_store(any_database, lambda store: store.plan("patrol", DAILY, NOW))
    in_store(any_database, lambda store: store.plan("patrol", DAILY, NOW + 23 * HOUR))
    current, occurrence = in_store(any_database, lambda store: store.take("patrol", DAILY, NOW + 25 * HOUR))
    assert occurrence.due_at == NOW + DAY
    assert in_store(any_database, lambda store: store.find("patrol")) == current
    assert (current.due_at, current.begun) == (NOW + 2 * DAY, 1)


def test_two_processes_on_one_database_do_not_both_begin_what_is_due(any_database):
    in_store(any_database, lambda store: store.plan("patrol", HOURLY, NOW))
    taken_by = [in_store(any_database, lambda store: store.take("patrol", HOURLY, NOW + HOUR))[1] for _ in range(2)]
    assert [each is not None for each in taken_by] == [True, False]


def test_how_a_job_ended_is_kept(any_database):
    in_store(any_database, lambda store: store.plan("sampler", HOURLY, NOW))
    in_store(any_database, lambda store: store.note_end("sampler", "disk full"))
    current = in_store(any_database, lambda store: store.find("sampler"))
    assert (current.failures, current.last_error) == (1, "disk full")
    in_store(any_database, lambda store: store.note_end("sampler", ""))
    current = in_store(any_database, lambda store: store.find("sampler"))
    assert (current.failures, current.last_error) == (1, "")


@given(steps=st.lists(st.tuples(st.integers(0, 300), st.booleans()), max_size=20))
@settings(max_examples=20)
def test_restarts_and_reloads_neither_repeat_nor_lose_a_time(steps):
    current, now = state(), NOW
    for minutes, restarts in steps:
        now += minutes * MINUTE
        if restarts:
            current = planned(current, HOURLY, now)
        found = taken(current, HOURLY, now)
        current = found[0] if found else current
        assert current.begun + current.missed == (now - NOW) // HOUR
