"""A transcript read back: recorded calls in, decoded pages out.

Inside a run the outputs are structs already and nothing is decoded. Recorded outputs are JSON text, text
around JSON, or a document that was cut off; `signals.recovery` and `signals.salvage` say what becomes of
those. A page that was not exactly what its struct says is never complete.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import msgspec

from signals.backup_evidence import BackupsOutput, BackupTasksOutput, PbsJobsOutput
from signals.ceph_evidence import CephDetailsOutput, CephOutput
from signals.detector import EvidencePage, Sweep
from signals.evidence import DisksOutput, HealthOutput, InventoryOutput, PerformanceOutput, TemperaturesOutput
from signals.model import Origin, Problem, ToolCall
from signals.pages import Page
from signals.protection_evidence import ReplicationOutput, SnapshotsOutput
from signals.recovery import Recovered, recover
from signals.salvage import salvage_page
from signals.storage_evidence import DiskHealthOutput, PoolsOutput, RaidOutput, ResourceDisksOutput
from signals.traffic_evidence import DiskIoOutput, NetworkOutput
from signals.wrappers import inner_documents, is_known, list_of, said_fields, says_something, text_inside

_OUTPUTS: dict[tuple[str, str], type[Page]] = {
    ("pulse_query", "inventory"): InventoryOutput,
    ("pulse_query", "health"): HealthOutput,
    ("pulse_metrics", "performance"): PerformanceOutput,
    ("pulse_metrics", "disks"): DisksOutput,
    ("pulse_metrics", "temperatures"): TemperaturesOutput,
    ("pulse_storage", "pools"): PoolsOutput,
    ("pulse_storage", "disk_health"): DiskHealthOutput,
    ("pulse_storage", "raid"): RaidOutput,
    ("pulse_storage", "resource_disks"): ResourceDisksOutput,
    ("pulse_storage", "backup_tasks"): BackupTasksOutput,
    ("pulse_storage", "backups"): BackupsOutput,
    ("pulse_storage", "pbs_jobs"): PbsJobsOutput,
    ("pulse_storage", "snapshots"): SnapshotsOutput,
    ("pulse_storage", "replication"): ReplicationOutput,
    ("pulse_storage", "ceph"): CephOutput,
    ("pulse_storage", "ceph_details"): CephDetailsOutput,
    ("pulse_metrics", "network"): NetworkOutput,
    ("pulse_metrics", "diskio"): DiskIoOutput,
}
_UNTYPED: dict[str, tuple[type[Page], ...]] = {
    # A recorded call without its selector may hold any of these.
    "pulse_storage": (DiskHealthOutput, PoolsOutput, BackupTasksOutput, BackupsOutput),
    "pulse_metrics": (PerformanceOutput, DisksOutput),
}
_SELECTORS = {"pulse_query": "action", "pulse_metrics": "type", "pulse_storage": "type"}
_PAGING = frozenset({"limit", "offset"})


class _CallLine(msgspec.Struct, kw_only=True):
    """One line of a file of tool calls. The output stays raw until its type is known."""

    id: str | int
    tool_name: str
    input: dict[str, object] | str | None = None
    output: msgspec.Raw = msgspec.Raw(b"null")
    success: bool = True
    origin: Origin = Origin.MODEL


_line_decoder = msgspec.json.Decoder(_CallLine)
_text_decoder = msgspec.json.Decoder(str)


@lru_cache
def _decoder(page_type: type[Page]) -> msgspec.json.Decoder[Page]:
    return msgspec.json.Decoder(page_type)


def parse_tool_call(line: bytes | str) -> ToolCall:
    """One line of a recording; raises ValueError that says what is wrong with it."""
    try:
        read = _line_decoder.decode(line)
        raw = bytes(read.output)
        output: object = _text_decoder.decode(raw) if raw[:1] == b'"' else raw
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from error
    return ToolCall(
        id=str(read.id),
        tool_name=read.tool_name,
        input=read.input,
        output=output,
        success=read.success,
        origin=read.origin,
    )


def parse_arguments(value: Mapping[str, object] | str | None) -> Mapping[str, object]:
    """A call's arguments; an input that is no JSON object has none."""
    if not isinstance(value, str):
        return value or {}
    try:
        return msgspec.json.decode(value, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return {}


class _Read(NamedTuple):
    """A page, and whether it is all that was recorded of it."""

    output: Page
    intact: bool = True


class Transcript:
    """The pages of some calls, decoded one at a time; what could not be read is kept in `problems`.

    To be read once: first `inventory` to its end, then `pages`. A call is forgotten as soon as it was read.
    """

    def __init__(self, calls: Iterable[ToolCall], *, inventory_first: bool = False) -> None:
        """`inventory_first`: once Patrol's own calls turn to something else, no call asks for the inventory any more.

        Then the calls behind that are taken one at a time, while their pages are judged: nobody holds them all.
        """
        # What a model called after the detectors had judged was no part of what they read, in whatever recording.
        self._calls = (call for call in calls if call.origin is not Origin.LATER)
        self._inventory_first = inventory_first
        self._waiting: deque[tuple[ToolCall, Mapping[str, object]]] = deque()
        self.problems: list[Problem] = []
        self.lists_resources = False
        """Whether Patrol's own calls asked which resources there are, whatever came of it."""

    def inventory(self) -> Iterator[EvidencePage[InventoryOutput]]:
        """The pages that say which id means which resource: needed before any other."""
        for call in self._calls:
            arguments = parse_arguments(call.input)
            is_own = call.origin is Origin.PATROL
            if _is_inventory(call, arguments):
                self.lists_resources = self.lists_resources or is_own
                for page in self._read(call, arguments):
                    if isinstance(page.output, InventoryOutput):
                        yield page  # type: ignore[misc]  # narrowed by the line above
            else:
                self._waiting.append((call, arguments))
                if is_own and self._inventory_first:
                    return

    def pages(self) -> Iterator[EvidencePage[Page]]:
        """All other pages, in transcript order. Raises ValueError where the inventory was not first after all."""
        while self._waiting:
            yield from self._read(*self._waiting.popleft())
        for call in self._calls:
            arguments = parse_arguments(call.input)
            if _is_inventory(call, arguments):
                raise ValueError(f"the call {call.id} asks for the inventory after other pages were judged")
            yield from self._read(call, arguments)

    def _read(self, call: ToolCall, arguments: Mapping[str, object]) -> Iterator[EvidencePage[Page]]:
        selector_name = _SELECTORS.get(call.tool_name)
        if selector_name is None or not call.success:
            return
        selector = arguments.get(selector_name)
        selector = selector if isinstance(selector, str) else ""
        page_types = _page_types(call.tool_name, selector)
        if not page_types:
            return
        sweep = Sweep(call.tool_name, selector, _filters(arguments, selector_name))
        for read in self._outputs(call, page_types):
            yield EvidencePage(
                call.id,
                read.output,
                call.origin,
                sweep,
                selector,
                arguments,
                read.intact,
                read.output is not call.output,
            )

    def _outputs(self, call: ToolCall, page_types: tuple[type[Page], ...]) -> Iterator["_Read"]:
        output = call.output
        if isinstance(output, Page):
            yield _Read(output)
            return
        if isinstance(output, (dict, list)):
            yield from self._unwrapped(call, Recovered(output, cut=False), page_types)
            return
        if not isinstance(output, (str, bytes)) or not output.strip() or output == b"null":
            self._tell(call, "output", "there is none: nothing of this call was judged")
            return
        if len(page_types) == 1 and _begins_object(output):
            try:
                page = _decoder(page_types[0]).decode(output)
            except (msgspec.DecodeError, RecursionError, UnicodeError):
                pass  # the tolerant way below reads the same text and tells what was wrong with it
            else:
                if says_something(page):  # of a document without a known field, the tolerant way says so
                    yield _Read(page)
                    return
        text = output.decode("utf-8", "replace") if isinstance(output, bytes) else output
        yield from self._recovered(call, text_inside(text), page_types)

    def _recovered(self, call: ToolCall, text: str, page_types: tuple[type[Page], ...]) -> Iterator["_Read"]:
        documents = recover(text)
        if not documents:
            self._tell(call, "output", "holds no JSON document")
        for document in documents:
            if document.cut:
                self._tell(call, "output", "ends in the middle of its document")
            yield from self._unwrapped(call, document, page_types)

    def _unwrapped(self, call: ToolCall, outer: Recovered, page_types: tuple[type[Page], ...]) -> Iterator["_Read"]:
        is_found = False
        for inner in inner_documents(outer.value, page_types, cut=outer.cut):
            is_found = True
            if inner.cut and not outer.cut:
                self._tell(call, "output", "ends in the middle of its document")
            yield from self._salvaged(call, inner.value, page_types, cut=inner.cut)
        if not is_found:
            self._tell(call, "output", "holds no JSON document")

    def _salvaged(
        self, call: ToolCall, document: object, page_types: tuple[type[Page], ...], *, cut: bool
    ) -> Iterator["_Read"]:
        is_page = is_known(document, page_types)
        if not (is_page or cut):
            message = f"has none of the fields of such a page: {said_fields(page_types)}"
            if self.problems[-1:] != [Problem(tool_call_id=call.id, place="output", message=message)]:
                self._tell(call, "output", message)  # once, for all the small documents of a log
        if not is_page:
            return
        for page_type in page_types:
            members = document
            if isinstance(document, list) and (name := list_of(page_type, page_types)) is not None:
                members = {name: document}
            if not isinstance(members, dict):
                continue
            before = len(self.problems)
            page = salvage_page(members, page_type, lambda place, message: self._tell(call, place, message))
            intact = not cut and len(self.problems) == before
            page.complete = page.complete and intact
            yield _Read(page, intact)

    def _tell(self, call: ToolCall, place: str, message: str) -> None:
        self.problems.append(Problem(tool_call_id=call.id, place=place, message=message))


def _is_inventory(call: ToolCall, arguments: Mapping[str, object]) -> bool:
    return call.tool_name == "pulse_query" and arguments.get("action") == "inventory"


_BEGINS_OBJECT = re.compile(r"\s*\{")
_BEGINS_OBJECT_BYTES = re.compile(rb"\s*\{")


def _begins_object(output: str | bytes) -> bool:
    pattern = _BEGINS_OBJECT_BYTES if isinstance(output, bytes) else _BEGINS_OBJECT
    return pattern.match(output) is not None  # type: ignore[arg-type]  # str and bytes each have their own


def _page_types(tool_name: str, selector: str) -> tuple[type[Page], ...]:
    if selector:
        known = _OUTPUTS.get((tool_name, selector))
        return (known,) if known else ()
    return _UNTYPED.get(tool_name, ())


def _filters(arguments: Mapping[str, object], selector_name: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        sorted(
            (name, repr(value))
            for name, value in arguments.items()
            if name != selector_name and name not in _PAGING and value not in (None, "")
        )
    )
