"""Where runs tell what happens and listeners hear it. Runs publish from their threads, listeners wait in event loops.

A listener has no queue of its own: it knows how far it has heard, and reads on in what is remembered of each run. A
slow one therefore costs nothing and delays nobody; what it cannot hear any more is made up for by a snapshot.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from findings.model import DEFAULT_ORG
from patrol.agent.redact import redact
from patrol.api.live.documents import shown_document
from patrol.api.live.events import TEXT_BYTES, Event, EventType, ResyncReason, RunTrace
from patrol.run.observer import NoObserver
from patrol.run.record_model import RunRecord, RunStatus
from patrol.run.request import RunReport

REMEMBERED_RUNS = 16
REMEMBERED = timedelta(minutes=10)
"""How many runs that are over can still be heard, and how long."""
MOST_RUNS = 64
PIECE_CHARACTERS = TEXT_BYTES // 4
AT_ONCE = 8
"""Events of a run that a listener is given at once."""
NO_RESULTS = frozenset({RunStatus.CRASHED, RunStatus.CANCELLED, RunStatus.DROPPED, RunStatus.SKIPPED, RunStatus.ERROR})
"""Runs that ended so have the last event `error`; all others have `complete`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How a stream goes, in seconds. `heartbeat`: the longest silence. `look_up`: how soon the end of a run is noticed
    that another process carries out, or that never began. `check`: how soon somebody hears no more who was shut out.
    """

    heartbeat: float = 15.0
    look_up: float = 5.0
    check: float = 60.0


PACE = Pace()


@dataclass(frozen=True, slots=True)
class LastHeard:
    """The last event that a listener has heard. `run_id` "": it did not say of which run."""

    run_id: str
    seq: int


class LiveRun:
    """What a run tells; is a `patrol.run.follower.Follower`.

    Every method may be called from any thread, is quick, and raises nothing.
    """

    def __init__(self, hub: "StreamHub", trace: RunTrace) -> None:
        self._hub = hub
        self._trace = trace

    def progress(self, stage: str, detail: str) -> None:
        """Is a `patrol.run.request.Progress`."""
        self.tell({"type": EventType.PHASE, "phase": stage, "content": detail})

    def text(self, piece: str) -> None:
        """A piece of what the model says, after the leak guard. None of it is cut off: a long one is told in parts."""
        for start in range(0, len(piece), PIECE_CHARACTERS):
            self.tell({"type": EventType.CONTENT, "content": piece[start : start + PIECE_CHARACTERS]})

    def tool_started(self, call_id: str, name: str, arguments: object) -> None:
        """A call begins."""
        shown = shown_document(arguments, self._hub.secrets())
        self.tell({"type": EventType.TOOL_START, "tool_id": call_id, "tool_name": name, "tool_input": shown})

    def tool_ended(self, call_id: str, name: str, output: object, *, success: bool) -> None:
        """A call has its answer."""
        self.tell(
            {
                "type": EventType.TOOL_END,
                "tool_id": call_id,
                "tool_name": name,
                "tool_output": shown_document(output, self._hub.secrets()),
                "tool_success": success,
            }
        )

    def finding_rejected(self, why: str) -> None:
        """A report or a verdict of the model is not taken."""
        self.tell({"type": EventType.FINDING_REJECTED, "content": redact(why, self._hub.secrets())})

    def complete(self, status: str, text: str) -> None:
        """The run has ended with results. Only the first of all ends is told."""
        self.tell({"type": EventType.COMPLETE, "status": status, "content": text})

    def fail(self, status: str, text: str) -> None:
        """The run has ended without results."""
        self.tell({"type": EventType.ERROR, "status": status, "content": text})

    def tell(self, event: Event) -> None:
        """Anything."""
        self._hub.publish(self._trace, event)


class StreamHub:
    """All runs that are followed live in this process. `clock` gives aware UTC; `secrets`: what no event may show."""

    def __init__(
        self, clock: Callable[[], datetime], *, pace: Pace = PACE, secrets: Callable[[], Iterable[str]] = lambda: ()
    ) -> None:
        self.pace = pace
        self.secrets = secrets
        self._clock = clock
        self._lock = threading.Lock()
        self._traces: dict[tuple[str, str], RunTrace] = {}
        self._bells: set[Bell] = set()
        self._is_closed = False

    # --- for runs ---

    def begin(self, run_id: str, org_id: str = DEFAULT_ORG) -> LiveRun:
        """A run begins to tell. One that began already goes on."""
        with self._lock:
            known = self._traces.get((org_id, run_id))
            trace = known or self._traces.setdefault((org_id, run_id), RunTrace(org_id, run_id))
            self._forget()
        live = LiveRun(self, trace)
        if known is None:
            live.tell({"type": EventType.PHASE, "phase": "analyzing"})
            live.tell({"type": EventType.START})
        return live

    def publish(self, trace: RunTrace, event: Event) -> None:
        """Adds an event to a run, and wakes who listens."""
        with self._lock:
            trace.append(event, self._clock())
            bells = [bell for bell in self._bells if bell.hears(trace)]
        for bell in bells:
            bell.ring()

    def end(self, run: RunRecord) -> None:
        """A run has its record as ended: its last event, where it has not told that itself. Also of one never begun."""
        with self._lock:
            trace = self._traces.get((run.org_id, run.id))
            if trace is None:
                trace = self._traces[(run.org_id, run.id)] = RunTrace(run.org_id, run.id)
                self._forget()
        self.publish(trace, terminal_of(run))

    # --- for listeners ---

    @property
    def listeners(self) -> int:
        """How many listen now."""
        return len(self._bells)

    def knows(self, run_id: str, org_id: str = DEFAULT_ORG) -> bool:
        """Whether this run is told, or was a short time ago."""
        return (org_id, run_id) in self._traces

    def listen(self, org_id: str = DEFAULT_ORG, *, run_id: str = "", last: LastHeard | None = None) -> "Listener":
        """Begins to listen, in a running event loop; to one run, or "" to all. To be used as a context."""
        return Listener(self, org_id, run_id, last)

    def close(self) -> None:
        """Ends every listening: nothing will be told any more. May be called twice, from any thread."""
        with self._lock:
            self._is_closed = True
            bells = list(self._bells)
        for bell in bells:
            bell.ring()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._is_closed

    def add(self, bell: "Bell") -> None:
        """Somebody wants to be woken."""
        with self._lock:
            self._bells.add(bell)

    def discard(self, bell: "Bell") -> None:
        """Somebody does not any more."""
        with self._lock:
            self._bells.discard(bell)

    def hear(self, places: dict[str, int | None], org_id: str, run_id: str, reason: ResyncReason) -> list[Event]:
        """What is new since these places, which are moved on: the number of the last event heard, by run.

        None: of this run only a snapshot can be told, for `reason`. A run that is not there begins after all of them:
        it is told from its beginning. Not all at once: who reads slowly must not hold much of what is forgotten here.
        """
        with self._lock:
            heard: list[Event] = []
            now = self._clock()
            for trace in self._traces.values():
                if trace.org_id == org_id and run_id in ("", trace.run_id):
                    news = _news(trace, places.get(trace.run_id, 0), reason, now)[:AT_ONCE]
                    heard.extend(news)
                    places[trace.run_id] = news[-1]["seq"] if news else trace.last_seq
            return heard

    def places(self, org_id: str, *, with_ended: bool) -> dict[str, int | None]:
        """Where somebody begins who comes now: runs under way by a snapshot, those that are over not any more."""
        with self._lock:
            return {
                trace.run_id: trace.last_seq if trace.is_over and not with_ended else None
                for trace in self._traces.values()
                if trace.org_id == org_id
            }

    def _forget(self) -> None:
        """Lets go of runs that were over long ago, or before too many others."""
        over = sorted(
            ((trace.ended_at, key) for key, trace in self._traces.items() if trace.ended_at is not None),
            reverse=True,
        )
        now = self._clock()
        for position, (ended_at, key) in enumerate(over):
            if position >= REMEMBERED_RUNS or now - ended_at > REMEMBERED:
                del self._traces[key]
        while len(self._traces) > MOST_RUNS:  # ends that nobody told
            del self._traces[next(iter(self._traces))]


def _news(trace: RunTrace, seq: int | None, reason: ResyncReason, now: datetime) -> list[Event]:
    if seq is None:
        shown = [trace.snapshot(reason, now)]
    else:
        missed = trace.missed(seq)
        if missed.is_whole:
            return missed.events
        stale = ResyncReason.STALE_LAST_EVENT_ID if seq > trace.last_seq else ResyncReason.BUFFER_ROTATED
        shown = [trace.snapshot(stale, now)]
    if trace.terminal is not None:
        shown.append(trace.terminal)
    return shown


class Bell:
    """Wakes one listener from any thread. However often it is rung before the listener wakes, it wakes once."""

    def __init__(self, org_id: str, run_id: str) -> None:
        self._org_id = org_id
        self._run_id = run_id
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        self._is_ringing = False

    def hears(self, trace: RunTrace) -> bool:
        """Whether it is to be rung for this run."""
        return trace.org_id == self._org_id and self._run_id in ("", trace.run_id)

    def ring(self) -> None:
        """Wakes the listener."""
        if self._is_ringing:
            return
        self._is_ringing = True
        with suppress(RuntimeError):  # its loop has ended, and the listener with it
            self._loop.call_soon_threadsafe(self._event.set)

    async def wait(self, seconds: float) -> bool:
        """Waits until it is rung; False where it was not within that time."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return False
        return True

    def reset(self) -> None:
        """What is rung from now on wakes again."""
        self._event.clear()
        self._is_ringing = False


class Listener:
    """Somebody who listens, as a context: at its end nothing is left of it."""

    def __init__(self, hub: StreamHub, org_id: str, run_id: str, last: LastHeard | None) -> None:
        self._hub = hub
        self._org_id = org_id
        self._run_id = run_id
        self._bell = Bell(org_id, run_id)
        self._places = hub.places(org_id, with_ended=bool(run_id))
        self._reason = ResyncReason.LATE_JOINER
        if last is None:
            return
        # A number alone may be of any run: where things stand is all that can be told then.
        if last.run_id and hub.knows(last.run_id, org_id):
            self._places[last.run_id] = last.seq
        else:
            self._reason = ResyncReason.STALE_LAST_EVENT_ID

    def __enter__(self) -> Self:
        """Begins to be woken."""
        self._hub.add(self._bell)
        return self

    def __exit__(self, *_: object) -> None:
        """Ends it."""
        self._hub.discard(self._bell)

    @property
    def is_over(self) -> bool:
        """Whether nothing will come any more."""
        return self._hub.is_closed

    async def next(self, seconds: float) -> list[Event]:
        """The next events, in their order; none where nothing happened in that time."""
        await asyncio.sleep(0)  # who has much to catch up with keeps nobody else from listening
        self._bell.reset()
        events = self._take()
        if not events and not self._hub.is_closed and await self._bell.wait(seconds):
            self._bell.reset()
            events = self._take()
        return events

    def _take(self) -> list[Event]:
        events = self._hub.hear(self._places, self._org_id, self._run_id, self._reason)
        self._reason = ResyncReason.LATE_JOINER
        return events


def terminal_of(run: RunRecord) -> Event:
    """The last event of a run, by its record."""
    kind = EventType.ERROR if run.status in NO_RESULTS else EventType.COMPLETE
    return {"type": kind, "status": str(run.status), "content": run.status_text or run.error_summary}


class RunFeed(NoObserver):
    """An observer of runs that makes each of them heard, and its end, whatever that is."""

    def __init__(self, hub: StreamHub) -> None:
        self._hub = hub

    def run_began(self, run: RunRecord) -> None:
        """It can be heard from here on."""
        self._hub.begin(run.id, run.org_id)

    def run_ended(self, run: RunRecord, report: RunReport | None) -> None:  # noqa: ARG002 - the observer's signature
        """Its last event."""
        self._hub.end(run)
