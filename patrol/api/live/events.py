"""One event of a run, and what is remembered of a run for those who come late. Pure: no thread, no loop."""

from collections import deque
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import TypedDict

BUFFERED = 200
"""Events of a run that can be told again."""
TEXT_BYTES = 8_192
TAIL_BYTES = 65_536
"""What a snapshot shows of the text that a model has written so far, at most: the end of it."""
NAME_BYTES = 256
"""Of what names something: a model may call a tool by any name."""
CUT = "...[truncated]"


class EventType(StrEnum):
    """What an event tells."""

    SNAPSHOT = "snapshot"  # where things stand, for who has missed something; the next event follows on it
    START = "start"
    PHASE = "phase"  # the run has come to its next stage
    CONTENT = "content"  # a piece of what the model says; what it thinks is told nowhere
    TOOL_START = "tool_start"
    TOOL_END = "tool_end"
    FINDING_REJECTED = "finding_rejected"  # a report or a verdict of the model is not taken
    COMPLETE = "complete"  # the run has ended with results
    ERROR = "error"  # the run has ended without


TERMINAL = frozenset({EventType.COMPLETE, EventType.ERROR})


class ResyncReason(StrEnum):
    """Why a listener gets a snapshot."""

    LATE_JOINER = "late_joiner"  # it came when the run was under way
    BUFFER_ROTATED = "buffer_rotated"  # what it missed is not remembered any more
    STALE_LAST_EVENT_ID = "stale_last_event_id"  # it names an event that is none of a run under way


class Event(TypedDict, total=False):
    """One event as it is sent. What does not apply to its type is absent."""

    run_id: str
    seq: int
    ts_ms: int
    type: str
    content: str
    phase: str
    status: str
    tool_id: str
    tool_name: str
    tool_input: str
    tool_output: str
    tool_success: bool
    resync_reason: str
    buffer_start_seq: int
    buffer_end_seq: int
    content_truncated: bool


def cut(text: str, most: int = TEXT_BYTES) -> str:
    """A text of at most so many bytes; what is cut off is marked. Half a character is none."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= most:
        return encoded.decode("utf-8")
    return encoded[: most - len(CUT)].decode("utf-8", "ignore") + CUT


@dataclass(frozen=True, slots=True)
class Missed:
    """The events after a place. `is_whole`: none between is forgotten."""

    events: list[Event]
    is_whole: bool


class RunTrace:
    """What is remembered of one run: its last events, where it stands, and the end of what was written.

    Events are counted from 1. Whoever uses it from several threads locks around it.
    """

    def __init__(self, org_id: str, run_id: str) -> None:
        self.org_id = org_id
        self.run_id = run_id
        self.ended_at: datetime | None = None
        self.last_seq = 0
        self._events: deque[Event] = deque(maxlen=BUFFERED)
        self._tail = bytearray()
        self._is_cut = False
        self._phase = ""
        self._tools: dict[str, str] = {}

    @property
    def is_over(self) -> bool:
        """Whether its last event is told."""
        return self.ended_at is not None

    @property
    def start_seq(self) -> int:
        """The number of the oldest event that is remembered; 0 if there is none."""
        return self._events[0]["seq"] if self._events else 0

    def append(self, event: Event, at: datetime) -> None:
        """Adds an event. After the last one nothing is added: a run ends once."""
        if self.is_over:
            return
        self.last_seq += 1
        numbered: Event = {"run_id": self.run_id, "seq": self.last_seq, "ts_ms": int(at.timestamp() * 1000), **event}
        for text in ("content", "tool_input", "tool_output"):
            if text in numbered:
                numbered[text] = cut(numbered[text])
        for name in ("phase", "tool_id", "tool_name"):
            if name in numbered:
                numbered[name] = cut(numbered[name], NAME_BYTES)
        self._events.append(numbered)
        self._remember(numbered)
        if event["type"] in TERMINAL:
            self.ended_at = at

    def missed(self, seq: int) -> Missed:
        """The events after the one of this number."""
        if seq >= self.last_seq:
            return Missed([], is_whole=seq == self.last_seq)
        first = max(seq + 1, self.start_seq)
        return Missed(list(islice(self._events, first - self.start_seq, None)), is_whole=first == seq + 1)

    def snapshot(self, reason: ResyncReason, at: datetime) -> Event:
        """Where it stands. Its number is that of the last event."""
        text = bytes(self._tail).decode("utf-8", "ignore")
        event: Event = {
            "run_id": self.run_id,
            "seq": self.last_seq,
            "ts_ms": int(at.timestamp() * 1000),
            "type": EventType.SNAPSHOT,
            "resync_reason": reason,
            "buffer_start_seq": self.start_seq,
            "buffer_end_seq": self.last_seq,
            "phase": self._phase,
            "content": text,
        }
        if self._is_cut:
            event["content_truncated"] = True
        if self._tools:
            event["tool_name"] = next(reversed(self._tools.values()))
        return event

    @property
    def terminal(self) -> Event | None:
        """Its last event, once it is over."""
        return self._events[-1] if self.is_over else None

    def _remember(self, event: Event) -> None:
        kind = event["type"]
        if kind == EventType.PHASE:
            self._phase = event.get("phase", "")
            self._tools.clear()  # calls that a bound of the stage before ended
        elif kind == EventType.TOOL_START:
            self._tools[event.get("tool_id", "")] = event.get("tool_name", "")
        elif kind == EventType.TOOL_END:
            self._tools.pop(event.get("tool_id", ""), None)
        elif kind == EventType.CONTENT:
            self._tail += event.get("content", "").encode("utf-8", "replace")
            if len(self._tail) > TAIL_BYTES:
                del self._tail[: len(self._tail) - TAIL_BYTES]
                self._is_cut = True
                while self._tail and self._tail[0] & 0xC0 == 0x80:  # the rest of a character that was cut
                    del self._tail[0]
