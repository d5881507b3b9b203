import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from patrol.agent.breaker import LONGEST_PROBE, Breaker, BreakerState, fingerprint_of
from patrol.agent.causes import failure_of
from patrol.agent.failure import Cause, Failure
from patrol.settings.model import ModelSection

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
PERMANENT = [
    Cause.PROVIDER_AUTH,
    Cause.PROVIDER_BILLING,
    Cause.MODEL_UNAVAILABLE,
    Cause.MODEL_UNSUPPORTED_TOOLS,
    Cause.NO_TOOL_CAPABLE_ENDPOINT,
]
NOT_COUNTED = [Cause.INTERRUPTED, Cause.INTERNAL_ERROR, Cause.PHASE_TIMEOUT, Cause.PROVIDER_NOT_CONFIGURED]


def after(*causes: Cause, now: datetime = NOW) -> Breaker:
    breaker = Breaker()
    for cause in causes:
        breaker = breaker.failed(failure_of(cause), now)
    return breaker


def waits(breaker: Breaker, now: datetime = NOW) -> timedelta:
    refusal = breaker.refusal(now)
    return timedelta(seconds=refusal.retry_after or 0.0) if refusal else timedelta()


def test_three_failures_in_a_row_open_it() -> None:
    two = after(Cause.PROVIDER_TIMEOUT, Cause.EMPTY_ANSWER)
    assert two.refusal(NOW) is None
    assert waits(two.failed(failure_of(Cause.PROVIDER_ERROR), NOW)) == MINUTE


def test_a_success_between_them_starts_anew() -> None:
    breaker = after(Cause.PROVIDER_TIMEOUT, Cause.PROVIDER_TIMEOUT).succeeded()
    assert breaker == Breaker()


@pytest.mark.parametrize("cause", PERMANENT)
def test_what_only_the_operator_can_mend_opens_it_at_once_for_long(cause: Cause) -> None:
    assert waits(after(cause)) == HOUR


def test_a_rate_limit_opens_it_at_once_for_as_long_as_the_provider_asks() -> None:
    assert waits(after(Cause.PROVIDER_RATE_LIMITED)) == MINUTE
    limited = Breaker().failed(failure_of(Cause.PROVIDER_RATE_LIMITED, retry_after=5400.0), NOW)
    assert waits(limited) == 1.5 * HOUR


@pytest.mark.parametrize(("cause", "longest"), [(Cause.PROVIDER_AUTH, 24 * HOUR), (Cause.PROVIDER_TIMEOUT, HOUR)])
def test_each_opening_in_a_row_doubles_the_wait_up_to_a_bound(cause: Cause, longest: timedelta) -> None:
    breaker, now, seen = after(cause, cause, cause), NOW, []
    for _ in range(12):
        seen.append(waits(breaker, now))
        now += seen[-1]
        breaker = breaker.began(now).failed(failure_of(cause), now)
    doubled = [min(2 * before, longest) for before in seen]
    assert seen[1:] == doubled[:-1]
    assert seen[-1] == longest


@pytest.mark.parametrize("cause", NOT_COUNTED)
def test_what_says_nothing_of_the_model_never_counts(cause: Cause) -> None:
    assert after(cause, cause, cause, cause) == Breaker()


def test_after_the_wait_one_run_tries() -> None:
    breaker = after(Cause.PROVIDER_AUTH)
    later = NOW + HOUR
    assert breaker.refusal(later) is None
    trying = breaker.began(later)
    assert trying.state is BreakerState.HALF_OPEN
    assert trying.refusal(later + MINUTE) is not None


def test_a_trial_that_died_holds_nobody_back_for_ever() -> None:
    trying = after(Cause.PROVIDER_AUTH).began(NOW + HOUR)
    assert trying.refusal(NOW + HOUR + LONGEST_PROBE) is None


@pytest.mark.parametrize("cause", NOT_COUNTED)
def test_a_trial_that_says_nothing_lets_the_next_run_try(cause: Cause) -> None:
    later = NOW + HOUR
    breaker = after(Cause.PROVIDER_AUTH).began(later).failed(failure_of(cause), later)
    assert breaker.refusal(later) is None
    assert breaker.openings == 1


def test_another_key_model_or_address_is_another_matter() -> None:
    section = ModelSection(name="openai:gpt-5", api_key=SecretStr("sk-1"))
    breaker = Breaker(fingerprint=fingerprint_of(section)).failed(failure_of(Cause.PROVIDER_AUTH), NOW)
    for change in ({"api_key": SecretStr("sk-2")}, {"name": "openai:gpt-6"}, {"base_url": "http://gw.lan/v1"}):
        assert breaker.about(fingerprint_of(section.model_copy(update=change))).refusal(NOW) is None
    assert breaker.about(fingerprint_of(section)).refusal(NOW) is not None
    assert "sk-1" not in breaker.to_json()


def test_a_refusal_says_why_until_when_and_what_helps() -> None:
    refusal = after(Cause.PROVIDER_AUTH).refusal(NOW)
    assert refusal is not None
    assert refusal.cause is Cause.CIRCUIT_OPEN
    assert all(word in refusal.summary for word in ("2026-03-01 13:00 UTC", "provider_auth", "api_key_file"))


def test_a_clock_that_went_back_switches_nothing_off() -> None:
    assert after(Cause.PROVIDER_AUTH).refusal(NOW - timedelta(days=400)) is None


FAILURES = st.builds(
    failure_of,
    st.sampled_from(Cause),
    retry_after=st.none() | st.floats(min_value=0, max_value=1e7),
)
EVENTS = st.lists(st.tuples(st.sampled_from(["began", "succeeded", "failed"]), FAILURES, st.integers(0, 100_000)))


@given(EVENTS)
def test_whatever_happens_it_waits_at_most_a_day_and_can_be_stored(events: list[tuple[str, Failure, int]]) -> None:
    breaker, now = Breaker(), NOW
    for event, failure, seconds in events:
        now += timedelta(seconds=seconds)
        match event:
            case "began" if breaker.refusal(now) is None:
                breaker = breaker.began(now)
            case "succeeded":
                breaker = breaker.succeeded()
            case "failed":
                breaker = breaker.failed(failure, now)
        assert Breaker.from_json(breaker.to_json()) == breaker
        assert waits(breaker, now) <= 24 * HOUR
        assert breaker.refusal(now + 24 * HOUR) is None
        assert (breaker.state is BreakerState.CLOSED) == (breaker.retry_at is None)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["state", "failures", "retry_at", "cause", "x"]), inner, max_size=5)
    ),
    max_leaves=6,
)


@given(JSON.map(json.dumps) | st.text())
def test_a_memory_that_cannot_be_read_is_a_fresh_one(text: str) -> None:
    assert Breaker.from_json(text).refusal(NOW) is None or "retry_at" in text or "half_open" in text
