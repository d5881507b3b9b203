"""Samples make an average only where they belong together, span the window, and are not long past."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.kinds import Kind
from findings.model import Look
from signals.detect import detect
from signals.history import SampleLine, history_call, parse_sample
from signals.thresholds import AlertThresholds

NOW = datetime(2026, 11, 29, 21, 0, tzinfo=UTC)


def samples(values: list[float | None], step_seconds: float = 60, metric: str = "cpu") -> list[SampleLine]:
    """One sample each step, the last of them now; None is a hole."""
    times = [NOW - timedelta(seconds=step_seconds * back) for back in reversed(range(len(values)))]
    return [
        SampleLine(resource_id="node-1", metric=metric, at=at.isoformat(), value=value)
        for at, value in zip(times, values, strict=True)
        if value is not None
    ]


def look(lines: list[SampleLine], kind: Kind = Kind.HIGH_CPU) -> Look | None:
    detection = detect([history_call(lines, NOW)], AlertThresholds(), NOW)
    return detection.examined.look(kind, "node-1")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (samples([12, 100, 14, 11, 12]), None),  # a spike is no average; a model's page clears nothing
        (samples([95] * 4), Look.BLIND),  # four minutes are no window
        (samples([95] * 5), Look.PRESENT),
        (samples([95] * 30, step_seconds=10), Look.PRESENT),
        (samples([10] * 20 + [95] * 5), Look.PRESENT),  # the newest window counts
        (samples([95, 95, 95, None, None, None, 95, 95]), Look.BLIND),  # a hole ends it
        (samples([95, 95, None, 95, 95, 95]), Look.PRESENT),  # one sample missing does not
        (samples([95] * 2, step_seconds=3600), Look.PRESENT),  # hourly data has hourly windows
        (samples([95]), Look.BLIND),
        ([], None),
    ],
)
def test_cpu_is_judged_over_a_window_of_samples(lines: list[SampleLine], expected: Look | None) -> None:
    assert look(lines) is expected


def test_samples_of_the_future_and_of_long_ago_do_not_count() -> None:
    late = [SampleLine(resource_id="node-1", metric="cpu", at="2026-11-29T21:00:01Z", value=99)] * 6
    assert look(late) is None
    old = datetime(2026, 11, 28, tzinfo=UTC)
    lines = [
        SampleLine(resource_id="node-1", metric="cpu", at=(old + timedelta(minutes=each)).isoformat(), value=99)
        for each in range(9)
    ]
    assert look(lines) is Look.BLIND


def test_memory_is_judged_by_its_newest_sample() -> None:
    assert look(samples([99, 10], metric="memory"), Kind.HIGH_MEMORY) is None
    assert look(samples([10, 99], metric="memory"), Kind.HIGH_MEMORY) is Look.PRESENT


def test_equal_times_make_no_window() -> None:
    assert look([SampleLine(resource_id="node-1", metric="cpu", at=NOW.isoformat(), value=99)] * 5) is Look.BLIND


@given(st.lists(st.floats(0, 100), min_size=2, max_size=40), st.integers(1, 4000))
def test_an_average_lies_between_its_samples(values: list[float], step: int) -> None:
    output = history_call(samples(list(values), step_seconds=step), NOW).output
    (row,) = output.summary.values()  # type: ignore[attr-defined]
    if row.avg_cpu is not None:
        assert min(values) - 1e-9 <= row.avg_cpu <= max(values) + 1e-9
        assert row.cpu_window_seconds > 0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"resource_id": "a", "metric": "cpu", "at": "soon", "value": 1}', "at: 'soon' is no time"),
        ('{"resource_id": "a", "metric": "cpu", "at": 0, "value": "x"}', "value"),
        ('{"metric": "cpu"}', "resource_id"),
        ("[]", "object"),
        ("", "."),
    ],
)
def test_a_line_that_is_no_sample_is_refused_with_the_reason(line: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_sample(line)


def test_a_sample_is_read() -> None:
    line = b'{"resource_id": "a", "metric": "cpu", "at": "2026-11-29T21:00:00Z", "value": 1.5}'
    assert parse_sample(line).value == 1.5
