"""How often somebody may ask."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from patrol.api.rates import REMEMBERED, Limiter, Rate

NOW = datetime(2026, 11, 29, tzinfo=UTC)
SIX = Rate(name="runs", count=6, per=timedelta(minutes=1))


def test_so_many_at_once_and_then_one_after_the_other() -> None:
    limiter = Limiter()
    assert [limiter.take(SIX, "a", NOW) for _ in range(7)] == [None] * 6 + [timedelta(seconds=10)]
    assert limiter.take(SIX, "a", NOW + timedelta(seconds=9)) == timedelta(seconds=1)
    assert limiter.take(SIX, "a", NOW + timedelta(seconds=10)) is None
    assert limiter.take(SIX, "a", NOW + timedelta(seconds=10)) == timedelta(seconds=10)


def test_each_has_a_limit_of_its_own_and_each_kind_of_request_too() -> None:
    limiter = Limiter()
    for _ in range(6):
        limiter.take(SIX, "a", NOW)
    assert limiter.take(SIX, "b", NOW) is None
    assert limiter.take(Rate(name="logins", count=1, per=timedelta(hours=1)), "a", NOW) is None


def test_a_clock_that_was_set_back_locks_nobody_out() -> None:
    limiter = Limiter()
    for _ in range(6):
        limiter.take(SIX, "a", NOW)
    assert limiter.take(SIX, "a", NOW - timedelta(hours=1)) is None


def test_a_million_callers_take_no_more_room_than_some_thousand() -> None:
    limiter = Limiter()
    for number in range(REMEMBERED + 500):
        limiter.take(SIX, str(number), NOW)
    assert len(limiter._full_at) == REMEMBERED


@given(st.lists(st.floats(min_value=0, max_value=30), max_size=80))
def test_in_no_minute_are_there_more_than_twice_the_count(gaps: list[float]) -> None:
    limiter, now, passed = Limiter(), NOW, []
    for gap in gaps:
        now += timedelta(seconds=gap)
        if limiter.take(SIX, "a", now) is None:
            passed.append(now)
    for start in passed:
        assert sum(start <= at < start + SIX.per for at in passed) <= 2 * SIX.count


@given(st.integers(min_value=1, max_value=20))
def test_who_waits_as_long_as_told_is_let_in(tries: int) -> None:
    limiter, now = Limiter(), NOW
    for _ in range(tries):
        waited = limiter.take(SIX, "a", now)
        if waited is not None:
            now += waited
            assert limiter.take(SIX, "a", now) is None
