"""Pages of backups and health as a sweep records them, and one detector run over them."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from findings.kinds import Kind
from findings.model import Look
from signals.coverage import Coverage
from signals.detector import Context, Detector, EvidencePage, Notes, Sweep
from signals.evidence import BackupStore, InventoryOutput, InventoryRow
from signals.inventory import Inventory
from signals.model import Origin, Signal
from signals.pages import Page
from signals.thresholds import Limit, Limited

NOW = datetime(2026, 2, 27, 8, 0, tzinfo=UTC)
DATASTORE = BackupStore(id="storage:pbs1:main", name="main")
NO_ANSWER = "not examined"


def ago(hours: float) -> str:
    return f"{NOW - timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}"


class Limits:
    """48 hours for every guest; `off` and `away` name those that the operator made exceptions for."""

    def __init__(self, hours: float = 48, clear: float | None = None, *, off: str = "", away: str = "") -> None:
        self._limit = Limit(trigger=hours, clear=hours if clear is None else clear, provenance="built-in")
        self._off, self._away = off, away

    def limit(self, resource: InventoryRow, metric: Limited, *, disk_type: str = "") -> Limit | None:
        assert metric is Limited.BACKUP_AGE
        return None if resource.id == self._off else self._limit

    def window_seconds(self, resource: InventoryRow, metric: Limited) -> float:
        return 0

    def offline_expected(self, resource: InventoryRow) -> bool:
        return resource.id == self._away


def page(
    output: Page,
    call: str = "c1",
    *,
    origin: Origin = Origin.PATROL,
    intact: bool = True,
    filters: tuple[tuple[str, str], ...] = (),
) -> EvidencePage[Page]:
    sweep = Sweep("tool", type(output).__name__, filters)
    return EvidencePage(call, output, origin, sweep, "", {}, intact)


def recorded(output: Page, call: str = "c1") -> EvidencePage[Page]:
    """A page of the documented shape: from a model, knowing neither `complete` nor gaps."""
    return page(output, call, origin=Origin.MODEL)


def guest(vmid: int = 101, instance: str = "lab", **more: object) -> InventoryRow:
    row = InventoryRow(id=f"vm:{instance}:{vmid}", type="vm", name=f"vm{vmid}", vmid=vmid, instance=instance)
    for name, value in more.items():
        setattr(row, name, value)
    return row


def world(*rows: InventoryRow, stores: Sequence[BackupStore] = (DATASTORE,), complete: bool = True) -> Inventory:
    return Inventory([InventoryOutput(resources=list(rows), backup_stores=list(stores))], complete=complete)


def run(
    detector: type[Detector],
    *pages: EvidencePage[Page],
    inventory: Inventory | None = None,
    limits: Limits | None = None,
) -> Notes:
    notes, coverage = Notes(), Coverage()
    view = Inventory() if inventory is None else inventory
    family = detector(Context(limits or Limits(), view, NOW), notes)
    for each in pages:
        coverage.add(each)
        family.read(each)
    family.finish()
    notes.settle(coverage.complete())
    return notes


def signals(notes: Notes) -> dict[str, Signal]:
    """By resource, and `resource/subject` where there is one."""
    return {f"{each.resource_id}/{each.subject}".rstrip("/"): each for each in notes.signals.values()}


def look(notes: Notes, kind: Kind, resource_id: str, subject: str = "") -> Look | str:
    return notes.examined.look(kind, resource_id, subject) or NO_ANSWER
