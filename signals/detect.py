"""The detection: all families of detectors over one transcript, in one fixed order."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Protocol

from findings.model import ResourceId, Severity
from signals.backups import BackupJobDetector, FailedBackupDetector, StaleBackupDetector
from signals.ceph import CephDetector
from signals.coverage import BLINDED_BY, Coverage
from signals.datastores import DatastoreDetector
from signals.detector import Context, Detector, EvidencePage, Notes
from signals.evidence import InventoryOutput, InventoryRow
from signals.filesystems import FilesystemDetector
from signals.garbage import paused_garbage_collection
from signals.hosts import HostDetector
from signals.inventory import Inventory
from signals.model import Detection, Signal, SignalType, ToolCall
from signals.pages import Page
from signals.pools import PoolDetector
from signals.raid import RaidDetector
from signals.reachability import ReachabilityDetector
from signals.replication import ReplicationDetector
from signals.smart import SmartDetector
from signals.snapshots import SnapshotDetector
from signals.thresholds import Thresholds
from signals.traffic import TrafficDetector
from signals.transcript import Transcript
from signals.usage import UsageDetector

DETECTORS: tuple[type[Detector], ...] = (
    SmartDetector,
    UsageDetector,
    FilesystemDetector,
    PoolDetector,
    DatastoreDetector,
    RaidDetector,
    FailedBackupDetector,
    StaleBackupDetector,
    BackupJobDetector,
    ReachabilityDetector,
    HostDetector,
    CephDetector,
    SnapshotDetector,
    ReplicationDetector,
    TrafficDetector,
)
"""The families in their order. A family is a file beside this one; the order decides nothing that is shown."""

_TYPE_ORDER = {signal_type: position for position, signal_type in enumerate(SignalType)}
_SEVERITY_ORDER = {severity: -severity.rank for severity in Severity}


class LimitSettings(Protocol):
    """Limits that do not yet know which resources there are."""

    def for_inventory(self, inventory: Inventory) -> Thresholds:
        """The limits, with the names that they use looked up among these resources."""
        ...


@paused_garbage_collection()
def detect(
    tool_calls: Iterable[ToolCall],
    thresholds: LimitSettings,
    now: datetime,
    *,
    inventory: InventoryOutput | None = None,
    inventory_first: bool = False,
    known: Mapping[ResourceId, InventoryRow] = MappingProxyType({}),
) -> Detection:
    """What the evidence shows, and what was looked at. A function of its arguments alone.

    `inventory`: a view of the world beside the transcript, for recordings that carry none. `inventory_first`: how
    the calls are ordered (see `Transcript`), so that they can be judged while they are made. `known`: rows by id; a
    recorded row that is equal to one of these is not kept beside it. Neither changes any answer.
    Equal input gives byte-equal output: signals by severity (critical first), type, resource and subject.
    """
    transcript = Transcript(tool_calls, inventory_first=inventory_first)
    coverage = Coverage()
    notes = Notes()
    view = _inventory(transcript, coverage, notes, inventory, known)
    context = Context(thresholds.for_inventory(view), view, now)
    families = [family(context, notes) for family in DETECTORS]
    readers: dict[type[Page], list[Detector]] = {}
    for family in families:
        for page_type in family.reads:
            readers.setdefault(page_type, []).append(family)
    for page in transcript.pages():
        coverage.add(page)
        _note_gaps(page, notes)
        for family in readers.get(type(page.output), ()):
            family.read(page)
    for family in families:
        family.finish()
    notes.settle(coverage.complete())
    return Detection(
        signals=tuple(sorted(notes.signals.values(), key=_order)),
        examined=notes.examined,
        problems=(*transcript.problems, *notes.problems),
        checks_off=tuple(notes.checks_off),
    )


def _order(signal: Signal) -> tuple[int, int, str, str]:
    return (
        _SEVERITY_ORDER[signal.severity],
        _TYPE_ORDER[signal.signal_type],
        signal.resource_id,
        signal.subject,
    )


def _inventory(
    transcript: Transcript,
    coverage: Coverage,
    notes: Notes,
    beside: InventoryOutput | None,
    known: Mapping[ResourceId, InventoryRow],
) -> Inventory:
    pages: list[EvidencePage[InventoryOutput]] = []
    for page in transcript.inventory():
        coverage.add(page)  # type: ignore[arg-type]  # a page of inventory is a page
        _note_gaps(page, notes)  # type: ignore[arg-type]
        if known:
            rows = page.output.resources
            rows[:] = [same if (same := known.get(row.id)) == row else row for row in rows]
        pages.append(page)
    outputs = [page.output for page in pages]
    # Whatever else a model looked up: one whole list names every resource.
    complete = any(not page.sweep.filters and coverage.is_complete(page.sweep) for page in pages)
    if beside is not None:
        outputs.append(beside)
        complete = complete or beside.complete
    return Inventory(outputs, complete=complete, has_holes=transcript.lists_resources and not complete)


def _note_gaps(page: EvidencePage[Page], notes: Notes) -> None:
    for gap in page.output.gaps:
        if gap.resource_id is not None:
            for kind in BLINDED_BY[gap.topic]:
                notes.gap(kind, gap.resource_id, gap.detail or gap.reason, gap.subject)
