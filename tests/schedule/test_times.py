"""When things are due: cron by Debian's rules in a time zone, intervals that keep their phase, and clocks that jump."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patrol.schedule.times import MOST_COUNTED, At, Every, latest, next_after, put_off
from patrol.schedule.zone import find_zone

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
STARTS = st.datetimes(datetime(2009, 1, 1), datetime(2030, 1, 1)).map(lambda naive: naive.replace(tzinfo=UTC))  # noqa: DTZ001 - asked for so
ZONES = [
    *("UTC", "Europe/Berlin", "America/New_York", "America/Chicago", "Australia/Lord_Howe", "Pacific/Apia"),
    *("Asia/Kathmandu", "America/Sao_Paulo", "Africa/Casablanca", "Asia/Beirut"),
]


def at(cron: str, zone: str = "UTC") -> At:
    return At(cron, ZoneInfo(zone))


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def times(schedule: At, start: str, count: int) -> list[str]:
    """The next times, as clocks in the schedule's zone show them."""
    found, last = [], instant(start)
    for _ in range(count):
        last = next_after(schedule, last, last)
        found.append(last.astimezone(schedule.zone).strftime("%m-%d %H:%M %z"))
    return found


@pytest.mark.parametrize(
    ("cron", "zone", "now", "expected"),
    [
        ("0 0 * * 0-4", "America/Chicago", "2021-03-12T12:00:00-06:00", "2021-03-14T00:00:00-06:00"),
        ("0 0 * * 1-5", "America/Chicago", "2021-03-13T12:00:00-06:00", "2021-03-15T00:00:00-05:00"),
        ("0 3 * * 0", "UTC", "2026-06-22T00:00:00+00:00", "2026-06-28T03:00:00+00:00"),
        ("0 13 * * 1", "UTC", "2026-06-22T00:00:00+00:00", "2026-06-22T13:00:00+00:00"),
        ("0 3 * * 7", "UTC", "2026-06-22T00:00:00+00:00", "2026-06-28T03:00:00+00:00"),
        ("15 10,12 * * 1,7", "UTC", "2026-06-22T11:00:00+00:00", "2026-06-22T12:15:00+00:00"),
        ("15 10,12 * * 1,7", "UTC", "2026-06-22T13:00:00+00:00", "2026-06-28T10:15:00+00:00"),
        ("0 0 29 2 *", "UTC", "2026-03-01T00:00:00+00:00", "2028-02-29T00:00:00+00:00"),
        ("0 0 13 * 5", "UTC", "2026-03-01T00:00:00+00:00", "2026-03-06T00:00:00+00:00"),  # the 13th, and each Friday
    ],
)
def test_cron_means_what_debian_means(cron, zone, now, expected):
    assert next_after(at(cron, zone), None, instant(now)) == instant(expected)


def test_a_time_that_does_not_exist_is_due_once_right_after_the_gap():
    assert times(at("30 2 * * *", "America/New_York"), "2013-03-09T12:00:00-05:00", 3) == [
        "03-10 03:00 -0400",
        "03-11 02:30 -0400",
        "03-12 02:30 -0400",
    ]


def test_several_times_in_one_gap_are_due_once():
    assert times(at("0,30 2 * * *", "Europe/Berlin"), "2026-03-28T12:00:00+01:00", 2) == [
        "03-29 03:00 +0200",
        "03-30 02:00 +0200",
    ]


def test_a_time_that_comes_twice_is_due_once():
    assert times(at("30 1 * * *", "America/New_York"), "2013-11-02T12:00:00-04:00", 2) == [
        "11-03 01:30 -0400",
        "11-04 01:30 -0500",
    ]


def test_a_start_in_the_second_of_two_equal_hours_does_not_repeat_the_first():
    in_the_second = datetime(2013, 11, 3, 1, 10, tzinfo=ZoneInfo("America/New_York"), fold=1)
    due = next_after(at("30 1 * * *", "America/New_York"), None, in_the_second.astimezone(UTC))
    assert due == instant("2013-11-04T01:30:00-05:00")


def test_hours_with_a_star_follow_the_clock_through_gap_and_fold():
    hourly = at("0 * * * *", "America/New_York")
    assert times(hourly, "2013-03-10T00:30:00-05:00", 3) == [
        "03-10 01:00 -0500",
        "03-10 03:00 -0400",
        "03-10 04:00 -0400",
    ]
    assert times(hourly, "2013-11-03T00:30:00-04:00", 3) == [
        "11-03 01:00 -0400",
        "11-03 01:00 -0500",
        "11-03 02:00 -0500",
    ]


def test_a_day_that_a_country_left_out_has_its_run_at_the_first_moment_after_it():
    assert times(at("0 12 * * *", "Pacific/Apia"), "2011-12-29T08:00:00-10:00", 3) == [
        "12-29 12:00 -1000",
        "12-31 00:00 +1400",
        "12-31 12:00 +1400",
    ]


CHANGES = [  # forward and back: by an hour at night and at midnight, by half an hour, by two, at a minute past midnight
    ("Europe/Berlin", "2026-03-29T01:00"),
    ("Europe/Berlin", "2026-10-25T01:00"),
    ("Asia/Beirut", "2026-03-28T22:00"),
    ("Asia/Beirut", "2026-10-24T21:00"),
    ("Australia/Lord_Howe", "2026-10-03T15:30"),
    ("Australia/Lord_Howe", "2026-04-04T15:00"),
    ("Antarctica/Troll", "2026-03-29T01:00"),
    ("Antarctica/Troll", "2026-10-25T01:00"),
    ("America/Sao_Paulo", "2018-11-04T03:00"),
    ("America/St_Johns", "2010-03-14T03:31"),
    ("America/St_Johns", "2010-11-07T02:31"),
    ("Asia/Pyongyang", "2018-05-04T15:00"),
    ("Pacific/Apia", "2011-12-30T10:00"),
]


@pytest.mark.parametrize(("zone", "change"), CHANGES)
@pytest.mark.parametrize(
    ("cron", "minutes", "hours"),
    [
        ("*/15 5 * * *", range(0, 60, 15), {5}),
        ("0 */6 * * *", {0}, range(0, 24, 6)),
        ("30 */2 * * *", {30}, range(0, 24, 2)),
        ("*/20 0,1 * * *", range(0, 60, 20), {0, 1}),
        ("* 2 * * *", range(60), {2}),
        ("7 * * * *", {7}, range(24)),
    ],
)
def test_hours_or_minutes_with_a_star_are_due_whenever_a_clock_shows_them_and_never_else(
    zone, change, cron, minutes, hours
):
    schedule, around = at(cron, zone), instant(f"{change}+00:00")
    passed = [around + timedelta(minutes=minute) for minute in range(-24 * 60, 24 * 60 + 1)]
    clocks = [each.astimezone(schedule.zone) for each in passed]
    assert len({clock.utcoffset() for clock in clocks}) == 2
    shown = [
        each for each, clock in zip(passed, clocks, strict=True) if clock.minute in minutes and clock.hour in hours
    ]
    found = [passed[0] - timedelta(seconds=1)]
    while found[-1] <= passed[-1]:
        found.append(next_after(schedule, None, found[-1]))
    assert found[1:-1] == shown
    assert latest(schedule, shown[0], passed[-1]) == (shown[-1], len(shown) - 1)


@settings(max_examples=25)
@given(
    zone=st.sampled_from(ZONES),
    start=STARTS,
    hour=st.integers(0, 23),
    minute=st.integers(0, 59),
)
def test_a_fixed_time_is_due_once_on_each_day_that_exists(zone, start, hour, minute):
    schedule = at(f"{minute} {hour} * * *", zone)
    last = start
    found = []
    for _ in range(200):  # half a year: a gap or a fold lies in it, wherever there is one
        last = next_after(schedule, last, last)
        found.append(last)
    assert all(earlier < later for earlier, later in pairwise(found))
    days = [each.astimezone(schedule.zone).date() for each in found]
    # A time in a gap at midnight moves to the next day; its day has none then, and no day has a third one.
    assert max(days.count(day) for day in set(days)) <= 2
    assert len(set(days)) >= (days[-1] - days[0]).days
    on_the_clock = [each.astimezone(schedule.zone).strftime("%H:%M") for each in found]
    assert sum(clock != f"{hour:02}:{minute:02}" for clock in on_the_clock) <= 3


@given(
    zone=st.sampled_from(ZONES),
    start=STARTS,
    cron=st.sampled_from(
        ["0 * * * *", "*/15 * * * *", "0 */6 * * *", "*/30 3 * * 1", "5 4 1 * 1", "0 0 L * *", "*/10 * 29 2 *"]
    ),
)
def test_what_is_due_next_lies_ahead_and_does_not_depend_on_when_it_is_asked(zone, start, cron):
    schedule = at(cron, zone)
    due = next_after(schedule, None, start)
    assert due > start
    assert due.tzinfo is UTC
    assert next_after(schedule, start, start) == due
    assert next_after(schedule, None, due - timedelta(microseconds=1)) == due


# --- intervals ---


def test_an_interval_keeps_its_phase_however_late_it_was():
    assert next_after(Every(HOUR), NOW, NOW + timedelta(minutes=59)) == NOW + HOUR
    assert next_after(Every(HOUR), NOW, NOW + HOUR) == NOW + 2 * HOUR
    assert next_after(Every(HOUR), NOW, NOW + timedelta(hours=9, minutes=30)) == NOW + 10 * HOUR
    assert next_after(Every(HOUR), None, NOW) == NOW + HOUR


@given(minutes=st.integers(10, 10_080), late=st.integers(0, 10**7))
def test_the_next_time_of_an_interval_is_ahead_less_than_one_interval(minutes, late):
    interval = timedelta(minutes=minutes)
    now = NOW + timedelta(seconds=late)
    due = next_after(Every(interval), NOW, now)
    assert timedelta() < due - now <= interval
    assert (due - NOW) % interval == timedelta()


@pytest.mark.parametrize("hours", [1.1, 3, 14, 24 * 365])
def test_a_clock_that_went_back_does_not_stop_a_schedule(hours):
    ahead = NOW + hours * HOUR
    assert next_after(Every(HOUR), ahead, NOW) == NOW + HOUR
    assert next_after(at("0 * * * *"), ahead, NOW) == NOW + HOUR
    assert next_after(at("0 6 * * *"), ahead, NOW) == instant("2026-03-02T06:00:00+00:00")


def test_a_clock_that_went_back_a_little_makes_nothing_due_twice():
    six = instant("2026-03-02T06:00:00+00:00")
    assert next_after(at("0 6 * * *"), six, six - timedelta(minutes=30)) == six + timedelta(days=1)


@pytest.mark.parametrize(("interval", "jitter"), [(0, 0), (-1, 0), (60, 60), (60, -1)])
def test_an_interval_that_gets_nowhere_is_refused(interval, jitter):
    with pytest.raises(ValueError, match="interval"):
        Every(timedelta(seconds=interval), timedelta(seconds=jitter))


# --- what was missed, and jitter ---


def test_what_was_missed_is_counted():
    assert latest(Every(HOUR), NOW, NOW + timedelta(hours=9, minutes=30)) == (NOW + 9 * HOUR, 9)
    assert latest(Every(HOUR), NOW, NOW) == (NOW, 0)
    six = instant("2026-03-02T06:00:00+00:00")
    assert latest(at("0 6 * * *"), six, six + timedelta(days=3, hours=1)) == (six + timedelta(days=3), 3)
    assert latest(at("0 6 * * *"), six, six) == (six, 0)


def test_counting_ends_where_it_says_nothing_any_more():
    assert latest(at("* * * * *"), NOW, NOW + timedelta(days=365))[1] == MOST_COUNTED


@given(seed=st.text(max_size=8), hours=st.integers(0, 10_000))
def test_jitter_is_small_equal_for_equal_questions_and_moves_nothing_after_it(seed, hours):
    schedule = Every(HOUR, timedelta(minutes=1))
    due = NOW + hours * HOUR
    assert due <= put_off(schedule, "patrol", due, seed) < due + timedelta(minutes=1)
    assert put_off(schedule, "patrol", due, seed) == put_off(schedule, "patrol", due, seed)
    assert put_off(Every(HOUR), "patrol", due, seed) == due


def test_jitter_parts_hosts():
    assert len({put_off(Every(HOUR, timedelta(minutes=1)), "patrol", NOW, host) for host in "abcdefgh"}) == 8


# --- the zone of the host ---


def test_the_zone_is_the_named_one_then_that_of_the_environment_then_that_of_the_host(tmp_path):
    berlin = tmp_path / "zoneinfo" / "Europe" / "Berlin"
    berlin.parent.mkdir(parents=True)
    berlin.write_bytes(b"")
    link = tmp_path / "localtime"
    link.symlink_to(berlin)
    assert str(find_zone("Asia/Tokyo", {"TZ": "Europe/Paris"}, link)) == "Asia/Tokyo"
    assert str(find_zone("", {"TZ": ":Europe/Paris"}, link)) == "Europe/Paris"
    assert str(find_zone("", {"TZ": "nowhere"}, link)) == "Europe/Berlin"
    assert str(find_zone("", {}, link)) == "Europe/Berlin"
    assert find_zone("", {}, tmp_path / "absent") is UTC


def test_a_zone_whose_rules_have_gone_is_told_by_the_setting_that_names_it(tmp_path):
    with pytest.raises(ValueError, match=r"\[patrol\] time_zone Mars/Olympus: .*tzdata"):
        find_zone("Mars/Olympus", {}, tmp_path / "absent")
