"""What may be spent: a limit always exists, is asked before spending, and says which it is and when there is room."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patrol.agent.budget import (
    DAY_TOKENS,
    MONTH_TOKENS,
    NOTHING,
    RUN_TOKENS,
    Cap,
    Limits,
    Spent,
    Unit,
    Window,
    budget_refusal,
    day_start,
    limits_of,
    limits_text,
    month_start,
)
from patrol.settings.model import BudgetSection

NOW = datetime(2026, 11, 30, 21, 15, tzinfo=UTC)
WIDE = Cap(tokens=10**12)


def limits(run: Cap = WIDE, day: Cap = WIDE, month: Cap = WIDE) -> Limits:
    return Limits(run=run, day=day, month=month)


def refused(given_limits: Limits, *, run=NOTHING, day=NOTHING, month=NOTHING, expected=NOTHING, now=NOW):
    return budget_refusal(given_limits, run, day, month, expected, now)


# --- limits


def test_without_settings_there_is_a_limit_of_tokens_in_every_window_and_none_of_money():
    assert limits_of(BudgetSection()) == Limits(
        run=Cap(tokens=RUN_TOKENS), day=Cap(tokens=DAY_TOKENS), month=Cap(tokens=MONTH_TOKENS)
    )
    assert (RUN_TOKENS, DAY_TOKENS, MONTH_TOKENS) == (300_000, 3_000_000, 60_000_000)


def test_the_settings_say_what_is_built_in():
    for name, built_in in (("run", RUN_TOKENS), ("day", DAY_TOKENS), ("month", MONTH_TOKENS)):
        assert f"Unset: {built_in}." in BudgetSection.model_fields[f"{name}_tokens"].description


def test_zero_is_a_limit_of_nothing_never_no_limit():
    told = limits_of(BudgetSection(run_tokens=0, day_usd=0))
    assert (told.run.tokens, told.day.usd) == (0, 0)
    tokens = refused(limits(run=Cap(tokens=0)))
    money = refused(limits(day=Cap(tokens=10, usd=0.0)))
    assert (tokens.unit, tokens.next_at) == (Unit.TOKENS, None)
    assert (money.unit, money.next_at) == (Unit.USD, None)
    assert money.sentence == "[budget] day_usd = 0: nothing may be spent on the model"


# --- refusals


def test_what_has_room_is_not_refused_and_exactly_full_is_allowed():
    cap = Cap(tokens=1_000, usd=1.0)
    used, more = Spent(tokens=900, usd=0.75), Spent(tokens=100, usd=0.25)
    assert refused(limits(cap, cap, cap), run=used, day=used, month=used, expected=more) is None
    assert refused(limits(cap), run=used, expected=Spent(tokens=101)) is not None
    assert refused(limits(cap), run=used, expected=Spent(usd=0.26)) is not None


def test_a_limit_that_was_reached_refuses_whatever_comes_next():
    refusal = refused(limits(day=Cap(tokens=10**9, usd=1.0)), day=Spent(tokens=5, usd=1.02))
    assert (refusal.window, refusal.unit, refusal.spent, refusal.limit) == (Window.DAY, Unit.USD, 1.02, 1.0)
    assert refusal.sentence == "1.02 of 1.00 USD of today are spent; the model joins again after 2026-12-01 00:00 UTC"


def test_the_next_request_is_counted_before_it_is_sent():
    refusal = refused(limits(run=Cap(tokens=100_000)), run=Spent(tokens=90_000), expected=Spent(tokens=20_000))
    assert refusal.next_at is None
    assert refusal.sentence == (
        "90,000 of 100,000 tokens of this run are spent and the next request needs about 20,000; "
        "the model joins again in the next run"
    )


def test_one_request_larger_than_the_limit_says_that_no_time_helps():
    refusal = refused(limits(day=Cap(tokens=5_000)), expected=Spent(tokens=8_000))
    assert refusal.is_never
    assert refusal.next_at is None
    assert refusal.sentence == "one request needs about 8,000 tokens, and [budget] day_tokens allows 5,000 tokens"


def test_of_several_limits_the_one_that_holds_longest_is_told():
    full = Cap(tokens=10, usd=1.0)
    used = Spent(tokens=11, usd=2.0)
    refusal = refused(
        limits(full, full, full), run=used, day=used, month=used, now=datetime(2026, 11, 3, 5, tzinfo=UTC)
    )
    assert (refusal.window, refusal.unit) == (Window.MONTH, Unit.USD)
    assert refusal.next_at == datetime(2026, 12, 1, tzinfo=UTC)
    refusal = refused(limits(full, full), run=used, day=used)
    assert refusal.window is Window.DAY
    refusal = refused(limits(Cap(tokens=0), full, full), day=used, month=used)
    assert refusal.window is Window.RUN, "waiting for another month does not help"


def test_small_sums_of_money_are_not_rounded_to_nothing():
    refusal = refused(limits(run=Cap(tokens=10**9, usd=0.005)), run=Spent(usd=0.0051))
    assert "0.0051 of 0.005 USD" in refusal.sentence


@pytest.mark.parametrize(
    ("now", "day", "next_day", "next_month"),
    [
        ("2026-11-30T23:59:59+00:00", "2026-11-30", "2026-12-01", "2026-12-01"),
        ("2026-12-31T12:00:00+00:00", "2026-12-31", "2027-01-01", "2027-01-01"),
        ("2028-02-29T00:00:00+00:00", "2028-02-29", "2028-03-01", "2028-03-01"),
        ("2026-11-30T23:30:00-05:00", "2026-12-01", "2026-12-02", "2027-01-01"),  # a zone plays no part
    ],
)
def test_days_and_months_are_those_of_the_calendar_in_utc(now, day, next_day, next_month):
    at = datetime.fromisoformat(now)
    assert day_start(at).isoformat() == f"{day}T00:00:00+00:00"
    assert month_start(at) == day_start(at).replace(day=1)
    full, used = Cap(tokens=1), Spent(tokens=1)
    assert refused(limits(day=full), day=used, now=at).next_at.date().isoformat() == next_day
    assert refused(limits(month=full), month=used, now=at).next_at.date().isoformat() == next_month


# --- sums


@pytest.mark.parametrize("usd", [float("nan"), float("inf"), float("-inf"), -0.01])
def test_what_cannot_be_added_never_enters_a_sum(usd):
    with pytest.raises(ValueError, match="nothing that can be spent"):
        Spent(usd=usd)


def test_less_than_no_tokens_cannot_be_spent():
    with pytest.raises(ValueError, match="nothing that can be spent"):
        Spent(tokens=-1)


amounts = st.builds(Spent, tokens=st.integers(0, 10_000), usd=st.floats(0, 10))
caps = st.builds(Cap, tokens=st.integers(0, 10_000), usd=st.none() | st.floats(0, 10))


@given(st.builds(Limits, run=caps, day=caps, month=caps), amounts, amounts, amounts, amounts)
def test_nothing_that_is_allowed_passes_any_limit(given_limits, run, day, month, expected):
    refusal = budget_refusal(given_limits, run, day, month, expected, NOW)
    windows = ((given_limits.run, run), (given_limits.day, day), (given_limits.month, month))
    fits = all(
        (spent + expected).tokens <= cap.tokens and (cap.usd is None or (spent + expected).usd <= cap.usd)
        for cap, spent in windows
    )
    if refusal is None:
        assert fits
        return
    assert refusal.sentence
    if refusal.next_at is not None:
        assert NOW < refusal.next_at <= NOW + timedelta(days=31)
        assert not refusal.is_never


def test_what_is_in_force_is_told_in_one_line():
    told = limits_text(limits_of(BudgetSection(day_usd=5, run_tokens=1_000)))
    assert told == "at most 1,000 tokens in a run, 3,000,000 tokens and 5.00 USD a day, 60,000,000 tokens a month"
