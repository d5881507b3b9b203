"""The tools of a model in one run: the read tools over the collected estate, and what it may say of findings.

Every call is recorded as it ends, with the very text that the model was given: what it cites, what the detectors
judge and what a replay reads are one and the same.
"""

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from patrol.agent.model import ToolRequest, ToolSpec
from patrol.agent.toolset import Answer, Purpose
from patrol.run.evidence import output_page
from patrol.run.follower import Follower
from patrol.tools.finding_desk import FindingDesk
from patrol.tools.model import ErrorCode, ToolError
from signals.model import Origin, ToolCall
from signals.pages import Page

SHOWN_CHARACTERS = 16_000
"""Longest answer that a model is given. A longer page is asked for again with fewer rows, never cut in a row."""
_SMALLER_PAGES = 6
LARGEST_ANSWER = 4 * SHOWN_CHARACTERS
"""What cannot be made smaller (one row of one resource) may be this long."""

_PURPOSES = {
    "patrol_get_findings": Purpose.FINDINGS_READ,
    "patrol_report_finding": Purpose.FINDINGS_WRITE,
    "patrol_assess_finding": Purpose.FINDINGS_WRITE,
    "patrol_resolve_finding": Purpose.FINDINGS_WRITE,
}


class ReadTools(Protocol):
    """The read tools."""

    def call(self, tool_name: str, arguments: Mapping[str, object]) -> Page:
        """One answer. Raises ToolError."""
        ...

    def specs(self) -> Collection[ToolSpec]:
        """What a model is told of each."""
        ...


@dataclass(slots=True)
class CallBook:
    """The calls that the model made in this run, by their id. Read from the threads of tools."""

    calls: dict[str, ToolCall] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, call: ToolCall) -> None:
        """One more call, with its output as it was recorded."""
        with self._lock:
            self.calls[call.id] = call

    def find(self, call_id: str) -> ToolCall | None:
        """The answered call of this id, None where there is none or it failed."""
        with self._lock:
            call = self.calls.get(call_id)
        return call if call is not None and call.success else None

    def all(self) -> list[ToolCall]:
        """All of them, in the order in which they were made."""
        with self._lock:
            return list(self.calls.values())


class RunTools:
    """All tools of one pass. `record` writes a finished call down and returns it as it was recorded.

    `follower`: is told of calls and of what is refused. `only`: the names of the tools of this pass, None for all.
    """

    def __init__(
        self,
        reads: ReadTools,
        desk: FindingDesk,
        book: CallBook,
        record: Callable[[ToolCall, float], ToolCall],
        *,
        follower: Follower,
        only: frozenset[str] | None = None,
    ) -> None:
        self._reads = reads
        self._desk = desk
        self._book = book
        self._record = record
        self._follower = follower
        offered: list[ToolSpec] = [*reads.specs(), *desk.specs()]
        self._names = [spec.name for spec in offered]
        self._specs = [spec for spec in offered if only is None or spec.name in only]

    def specs(self) -> list[ToolSpec]:
        """All tools of this pass."""
        return self._specs

    def names(self) -> list[str]:
        """Every tool of the run."""
        return self._names

    def purpose(self, name: str) -> Purpose:
        """What a tool is for."""
        return _PURPOSES.get(name, Purpose.EVIDENCE)

    def call(self, request: ToolRequest) -> Answer:
        """Answers one call; a call that cannot be answered says why and what would be right."""
        arguments = request.arguments if request.arguments is not None else {}
        try:
            if request.name in _PURPOSES:
                said = self._desk.call(request.name, arguments, request.id)
                return Answer(content=msgspec.to_builtins(said))
            return Answer(content=self._page(request.name, arguments))
        except ToolError as error:
            if self.purpose(request.name) is Purpose.FINDINGS_WRITE:
                self._follower.finding_rejected(f"{error.code}: {error.message}")
            return Answer(content=msgspec.to_builtins(error.as_output()), is_error=True, code=str(error.code))

    def began(self, request: ToolRequest) -> None:
        """Tells that it is made."""
        self._follower.tool_started(request.id, request.name, _input_of(request))

    def finished(self, request: ToolRequest, answer: Answer, seconds: float) -> None:
        """Writes the call down, and tells what came of it."""
        call = ToolCall(
            id=request.id,
            tool_name=request.name,
            input=_input_of(request),
            output=answer.content,
            success=not answer.is_error,
            origin=Origin.MODEL,
        )
        self._book.add(self._record(call, seconds))
        self._follower.tool_ended(request.id, request.name, answer.content, success=not answer.is_error)

    def _page(self, name: str, arguments: Mapping[str, object]) -> object:
        """A page that fits: rows are what gives way, and the page says how many there are."""
        asked = dict(arguments)
        page = self._reads.call(name, asked)
        text = output_page(page)
        for _ in range(_SMALLER_PAGES):
            shown = page.pagination.limit if page.pagination is not None else 0
            if len(text) <= SHOWN_CHARACTERS or shown <= 1:
                break
            asked["limit"] = max(1, shown * SHOWN_CHARACTERS * 9 // (len(text) * 10))
            page = self._reads.call(name, asked)
            text = output_page(page)
        if len(text) > LARGEST_ANSWER:
            raise ToolError(
                ErrorCode.TOO_LARGE, f"the answer has {len(text)} characters: ask for less, by a filter or one resource"
            )
        return msgspec.json.decode(text)


def _input_of(request: ToolRequest) -> dict[str, object]:
    return dict(request.arguments) if request.arguments is not None else {"unreadable": request.problem}
