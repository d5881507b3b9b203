"""What the tests of storage detectors share: pages by hand, limits that are the same for everything."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from findings.kinds import Kind
from findings.model import Look
from signals.detector import Context, Detector, EvidencePage, Notes, Sweep
from signals.evidence import InventoryOutput, InventoryRow
from signals.inventory import Inventory
from signals.model import Origin, Signal
from signals.pages import Page
from signals.thresholds import Limit, Limited

LIMIT = Limit(trigger=85, clear=80, critical=90, provenance="test")


@dataclass
class SameLimits:
    """Thresholds with one limit for all; `off` lists what is switched off, `by_disk_type` what differs."""

    off: frozenset[tuple[str, Limited]] = frozenset()
    by_disk_type: dict[str, Limit] = field(default_factory=dict)

    def limit(self, resource: InventoryRow, metric: Limited, *, disk_type: str = "") -> Limit | None:
        return None if (resource.id, metric) in self.off else self.by_disk_type.get(disk_type, LIMIT)

    def window_seconds(self, resource: InventoryRow, metric: Limited) -> float:
        return 0

    def offline_expected(self, resource: InventoryRow) -> bool:
        return False


class Judged:
    """What a family said about some pages of one sweep."""

    def __init__(
        self,
        family: type[Detector],
        *outputs: Page,
        thresholds: SameLimits | None = None,
        known: tuple[InventoryRow, ...] = (),
        complete: bool = True,
        origin: Origin = Origin.PATROL,
    ) -> None:
        context = Context(
            thresholds or SameLimits(),
            Inventory([InventoryOutput(resources=list(known))], complete=True),
            datetime(2026, 3, 1, tzinfo=UTC),
        )
        self.notes = Notes()
        sweep = Sweep("pulse_storage", "any", ())
        detector = family(context, self.notes)
        for number, output in enumerate(outputs):
            detector.read(EvidencePage(f"call-{number}", output, origin, sweep, "any", {}))
        detector.finish()
        self.notes.settle([sweep] if complete else [])
        self.signals = list(self.notes.signals.values())

    def look(self, kind: Kind, resource_id: str, subject: str = "") -> Look | None:
        return self.notes.examined.look(kind, resource_id, subject)

    def told(self) -> set[tuple[str, str, str, str]]:
        """Type, severity, resource and subject of every signal."""
        return {(str(s.signal_type), str(s.severity), s.resource_id, s.subject) for s in self.signals}

    def one(self, kind: Kind) -> Signal:
        [signal] = [signal for signal in self.signals if signal.signal_type is kind]
        return signal
