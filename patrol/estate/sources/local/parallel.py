"""Reading several parts of a host side by side, none of them longer than the deadline."""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from findings.model import Gap, GapReason, Sight, Topic
from patrol.estate.sources.local.host import Host, Part, Where, reason_of
from patrol.estate.sources.model import CollectRequest

AT_ONCE = 4
"""Parts that are read at the same time: they wait for disks and programs, not for the processor."""

# Topics about the host itself. The others are about things of their own, whose ids a lost read does not tell.
_OF_THE_HOST = frozenset(
    {Topic.CPU, Topic.MEMORY, Topic.SWAP, Topic.PRESSURE, Topic.FILESYSTEMS, Topic.UNITS, Topic.TEMPERATURES}
)

_SHOW_HANGING = "find what hangs: ps -eo state,pid,args | grep '^D'"
_REPORT_BUG = "report this as a bug of patrol, with the line above"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Reads one part of the host. `label`: what a person who waits is told. `read` may raise OSError."""

    label: str
    topics: tuple[Topic, ...]
    read: Callable[[Host, Where, CollectRequest], Part]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ended:
    """The report of a thread that a part was read. Its other reports are lines of progress."""

    reader: Reader
    part: Part


@dataclass(slots=True, kw_only=True)
class _Round:
    """One collection under way. Each round has its own queues, so that a late answer finds nobody who listens."""

    host: Host
    where: Where
    request: CollectRequest
    waiting: "queue.SimpleQueue[Reader]" = field(default_factory=queue.SimpleQueue)
    reports: "queue.SimpleQueue[_Ended | str]" = field(default_factory=queue.SimpleQueue)
    threads: dict[str, threading.Thread] = field(default_factory=dict)  # by the label of what each began last
    over: threading.Event = field(default_factory=threading.Event)


class ParallelReaders:
    """Runs readers in threads, at most four at once.

    A thread that waits for a dead disk cannot be ended: it is left behind at the deadline, and its part is not
    begun again before it has returned, so that such threads never pile up.
    """

    def __init__(self, readers: Sequence[Reader]) -> None:
        self.readers = tuple(readers)
        self._left_behind: dict[str, threading.Thread] = {}

    def read(self, host: Host, where: Where, request: CollectRequest) -> list[tuple[Reader, Part]]:
        """One part for each reader, in their order: its own, or gaps in its place. Progress is told in this thread."""
        until = time.monotonic() + request.deadline_seconds
        work = _Round(host=host, where=where, request=request)
        parts = {reader.label: _still_hanging(where, reader) for reader in self.readers if self._hangs(reader)}
        for reader in self.readers:
            if reader.label not in parts:
                work.waiting.put(reader)
        missing = {reader.label for reader in self.readers} - parts.keys()
        for _ in range(min(AT_ONCE, len(missing))):
            threading.Thread(target=_read_waiting, args=(work,), name="patrol-local", daemon=True).start()
        try:
            self._listen(work, missing, parts, until)
        finally:
            work.over.set()
        for label in missing & work.threads.keys():
            self._left_behind[label] = work.threads[label]
        return [(reader, parts.get(reader.label) or _timed_out(where, reader, request)) for reader in self.readers]

    def _hangs(self, reader: Reader) -> bool:
        thread = self._left_behind.get(reader.label)
        return thread is not None and thread.is_alive()

    @staticmethod
    def _listen(work: _Round, missing: set[str], parts: dict[str, Part], until: float) -> None:
        while missing:
            try:
                report = work.reports.get(timeout=max(until - time.monotonic(), 0))
            except queue.Empty:
                return
            if isinstance(report, str):
                work.request.progress(report)
            else:
                parts[report.reader.label] = report.part
                missing.discard(report.reader.label)


def _read_waiting(work: _Round) -> None:
    """The life of one thread: reads what waits until nothing does, or the round is over."""
    request = replace(work.request, progress=work.reports.put)
    while not work.over.is_set():
        try:
            reader = work.waiting.get_nowait()
        except queue.Empty:
            return
        work.threads[reader.label] = threading.current_thread()
        request.progress(f"{work.where.hostname}: {reader.label}")
        work.reports.put(_Ended(reader=reader, part=_read_one(reader, work.host, work.where, request)))


def _read_one(reader: Reader, host: Host, where: Where, request: CollectRequest) -> Part:
    try:
        return reader.read(host, where, request)
    except OSError as error:
        return _lost(where, reader, reason_of(error), f"{reader.label}: {error}")
    except Exception as error:  # noqa: BLE001 - a bug in one part must cost that part only, and be seen: it is the gap
        detail = f"{reader.label}: {type(error).__name__}: {error}"
        return _lost(where, reader, GapReason.FAILED, detail, fix=_REPORT_BUG)


def _still_hanging(where: Where, reader: Reader) -> Part:
    detail = f"{reader.label}: a read that was begun earlier has not returned yet"
    return _lost(where, reader, GapReason.TIMED_OUT, detail, fix=_SHOW_HANGING)


def _timed_out(where: Where, reader: Reader, request: CollectRequest) -> Part:
    detail = f"{reader.label}: not read within {request.deadline_seconds:g} s"
    return _lost(where, reader, GapReason.TIMED_OUT, detail, fix=_SHOW_HANGING)


def _lost(where: Where, reader: Reader, reason: GapReason, detail: str, *, fix: str = "") -> Part:
    gaps = [
        Gap(
            source=where.source,
            topic=topic,
            reason=reason,
            detail=detail,
            resource_id=where.host_id if topic in _OF_THE_HOST else None,
            fix=fix,
            sight=Sight.LOST,
        )
        for topic in reader.topics
    ]
    return Part(gaps=gaps, complete=False)
