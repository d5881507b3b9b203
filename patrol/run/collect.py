"""Stage 2: all sources at once, each bounded. A source that fails is a gap; the others go on."""

import math
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from findings.model import Gap, GapReason, Sight, Topic
from patrol.estate.collect import merge_estates
from patrol.estate.model import Estate, SourceState
from patrol.estate.sources.model import Collected, CollectRequest, Counter, Source
from patrol.run.cancel import Cancel

GRACE_SECONDS = 2.0
"""How much longer than its own bound a source is waited for before it is left behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedSource:
    """A configured source and its bound."""

    source: Source
    timeout_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRead:
    """How one configured source did: whether it answered, and how long that took or was waited for."""

    name: str
    is_up: bool
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """The estate of one run, how each source did, and the counters for the next one.

    `was_cut_off`: the run's own time was over first.
    """

    estate: Estate
    counters: Mapping[tuple[str, str], Counter]
    reads: Sequence[SourceRead] = ()
    was_cut_off: bool = False


@dataclass(frozen=True, slots=True)
class _Ended:
    name: str
    collected: Collected
    seconds: float

    @property
    def read(self) -> SourceRead:
        """How it did. A document may tell of sources of its own: those are not this one."""
        states = [state for state in self.collected.estate.sources if state.name == self.name]
        return SourceRead(name=self.name, is_up=all(state.connected for state in states), seconds=self.seconds)


def collect(
    sources: Sequence[BoundedSource],
    *,
    now: datetime,
    previous: Mapping[tuple[str, str], Counter],
    progress: Callable[[str], None],
    deadline_seconds: float = math.inf,
    cancel: Cancel | None = None,
) -> Collection:
    """Reads all sources side by side. Each ends in its part of the estate, or in a gap about the whole source.

    `progress` is told from the sources' own threads. `deadline_seconds`: nothing is waited for longer, whatever the
    bounds of the sources. Raises RunCancelledError.
    """
    cancel = cancel or Cancel()
    reports: queue.SimpleQueue[_Ended | None] = queue.SimpleQueue()
    started = time.monotonic()
    for each in sources:
        request = CollectRequest(now=now, deadline_seconds=each.timeout_seconds, previous=previous, progress=progress)
        # A daemon thread: one that hangs on a dead disk must not keep the process from ending.
        threading.Thread(
            target=_collect_one, args=(each.source, request, reports), name=f"source-{each.source.name}", daemon=True
        ).start()
    with cancel.telling(lambda: reports.put(None)):
        ended = _wait(sources, reports, started, deadline_seconds, cancel)
    waited = time.monotonic() - started
    done = [
        ended.get(each.source.name) or _Ended(each.source.name, _left_behind(each, deadline_seconds), waited)
        for each in sources
    ]
    # Before the parts are merged: that uses them up.
    reads, parts = [each.read for each in done], [each.collected for each in done]
    counters: dict[tuple[str, str], Counter] = {}
    for part in parts:
        counters.update(part.counters)
    alone = parts[0].estate if len(parts) == 1 and parts[0].is_merged else None
    estate = alone if alone is not None else merge_estates([part.estate for part in parts])
    late = [each for each in sources if each.source.name not in ended]
    was_cut_off = any(deadline_seconds < each.timeout_seconds for each in late)
    return Collection(estate=estate, counters=counters, reads=reads, was_cut_off=was_cut_off)


def _wait(
    sources: Sequence[BoundedSource],
    reports: "queue.SimpleQueue[_Ended | None]",
    started: float,
    deadline_seconds: float,
    cancel: Cancel,
) -> dict[str, _Ended]:
    ended: dict[str, _Ended] = {}
    longest = max((each.timeout_seconds for each in sources), default=0) + GRACE_SECONDS
    until = started + min(longest, deadline_seconds)
    while len(ended) < len(sources):
        try:
            report = reports.get(timeout=max(until - time.monotonic(), 0))
        except queue.Empty:
            break
        if report is None:
            cancel.check()
            continue
        ended[report.name] = report
    return ended


def _collect_one(source: Source, request: CollectRequest, reports: "queue.SimpleQueue[_Ended | None]") -> None:
    started = time.monotonic()
    try:
        collected = source.collect(request)
    except Exception as error:  # noqa: BLE001 - a bug in one source must cost that source only: it becomes its gap
        collected = _failed(source, GapReason.FAILED, f"{type(error).__name__}: {error}", "report this as a bug")
    seconds = time.monotonic() - started
    for state in collected.estate.sources:
        state.duration_seconds = round(seconds, 3)
    reports.put(_Ended(source.name, collected, seconds))


def _left_behind(each: BoundedSource, deadline_seconds: float) -> Collected:
    if deadline_seconds < each.timeout_seconds:
        detail = f"did not answer before the run's own time of {deadline_seconds:g} s was over"
        return _failed(each.source, GapReason.TIMED_OUT, detail, "raise [patrol] run_deadline, or find what hangs")
    detail = f"did not answer within {each.timeout_seconds:g} s"
    return _failed(each.source, GapReason.TIMED_OUT, detail, "raise the source's timeout, or find what hangs")


def _failed(source: Source, reason: GapReason, detail: str, fix: str) -> Collected:
    gap = Gap(source=source.name, topic=Topic.INVENTORY, reason=reason, detail=detail, fix=fix, sight=Sight.LOST)
    state = SourceState(name=source.name, type=source.type, connected=False, detail=detail)
    return Collected(estate=Estate(gaps=[gap], sources=[state]))
