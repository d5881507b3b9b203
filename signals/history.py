"""Samples from outside a transcript: what makes an average of values of the moment.

A recording often holds CPU use as it was at one instant, which says nothing. Samples of the minutes before
it do: they become a page of averages with their windows, which the detectors read like any other.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import NamedTuple

import msgspec

from signals.evidence import PerformanceOutput, PerformanceRow
from signals.model import ToolCall
from signals.pages import Time
from signals.times import parse_time

WANTED_WINDOW_SECONDS = 300.0
"""An average is made over the newest samples that span at least this (rules: CPU needs 300 s)."""
_LARGEST_HOLE = 2.5
"""A hole of more than this many steps ends the samples that belong together."""


class SampleLine(msgspec.Struct, kw_only=True):
    """One line of a history file. `metric`: cpu or memory, in percent; others are left alone."""

    resource_id: str
    metric: str
    at: Time
    value: float


class _Sample(NamedTuple):
    at: datetime
    value: float


class Average(NamedTuple):
    """A mean and the time it stands for: each sample stands for the step before it."""

    value: float
    window_seconds: float


_decoder = msgspec.json.Decoder(SampleLine)


def parse_sample(line: bytes | str) -> SampleLine:
    """One line of a history file; raises ValueError that says what is wrong with it."""
    try:
        sample = _decoder.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise ValueError(str(error)) from error
    if parse_time(sample.at, "") is None:
        raise ValueError(f"at: {sample.at!r} is no time; write it like 2026-03-01T12:00:00Z")
    return sample


def history_call(lines: Iterable[SampleLine], now: datetime) -> ToolCall:
    """The samples up to `now` as the call of `pulse_metrics` that would have answered with their averages."""
    series: dict[tuple[str, str], list[_Sample]] = {}
    for line in lines:
        at = parse_time(line.at, "")
        if at is not None and at <= now:
            series.setdefault((line.resource_id, line.metric), []).append(_Sample(at, line.value))
    rows: dict[str, PerformanceRow] = {}
    for (resource_id, metric), samples in sorted(series.items()):
        average = newest_average(samples, now)
        row = rows.setdefault(resource_id, PerformanceRow(resource_id=resource_id, cpu_window_seconds=0))
        if metric == "cpu" and average is not None:
            row.avg_cpu, row.cpu_window_seconds = average
        elif metric == "memory":
            row.avg_memory = max(samples).value
    return ToolCall(
        id="history",
        tool_name="pulse_metrics",
        input={"type": "performance"},
        output=PerformanceOutput(period="history", summary=rows),
    )


def newest_average(samples: Sequence[_Sample], now: datetime) -> Average | None:
    """The mean of the newest samples that belong together; None where there is no window, or it is long past."""
    ordered = sorted(samples)
    if len(ordered) < 2 or (now - ordered[-1].at).total_seconds() > WANTED_WINDOW_SECONDS:
        return None
    step = median((later.at - earlier.at).total_seconds() for earlier, later in pairwise(ordered))
    if step <= 0:
        return None
    kept = [ordered[-1]]
    for earlier in reversed(ordered[:-1]):
        hole = (kept[-1].at - earlier.at).total_seconds()
        if hole > _LARGEST_HOLE * step or _window(kept) >= WANTED_WINDOW_SECONDS:
            break
        kept.append(earlier)
    window = _window(kept)
    return Average(sum(sample.value for sample in kept) / len(kept), window) if window else None


def _window(newest_first: Sequence[_Sample]) -> float:
    """The time that the samples stand for: their span, and one step more for the first of them."""
    if len(newest_first) < 2:
        return 0
    span = (newest_first[0].at - newest_first[-1].at).total_seconds()
    return span * len(newest_first) / (len(newest_first) - 1)
