"""What the tests of detectors with several limits share: one limit for each metric, and one sweep of pages judged."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from findings.kinds import Kind
from findings.model import Look
from signals.detector import Context, Detector, EvidencePage, Notes, Sweep
from signals.evidence import InventoryOutput, InventoryRow
from signals.inventory import Inventory
from signals.model import Origin, Signal
from signals.pages import Page
from signals.thresholds import Limit, Limited

NOW = datetime(2026, 3, 2, 6, tzinfo=UTC)


def ago(hours: float) -> str:
    return (NOW - timedelta(hours=hours)).isoformat()


class ByMetric:
    """Limits by what they limit; a metric without one is off."""

    def __init__(self, limits: Mapping[Limited, Limit]) -> None:
        self._limits = limits

    def limit(self, resource: InventoryRow, metric: Limited, *, disk_type: str = "") -> Limit | None:
        return self._limits.get(metric)

    def window_seconds(self, resource: InventoryRow, metric: Limited) -> float:
        return 0

    def offline_expected(self, resource: InventoryRow) -> bool:
        return False


class Judged:
    """What a family said about the pages of one sweep."""

    def __init__(
        self,
        family: type[Detector],
        *outputs: Page,
        limits: Mapping[Limited, Limit],
        known: tuple[InventoryRow, ...] = (),
        complete: bool = True,
        origin: Origin = Origin.PATROL,
        filters: tuple[tuple[str, str], ...] = (),
    ) -> None:
        inventory = Inventory([InventoryOutput(resources=list(known))], complete=True)
        self.notes = Notes()
        sweep = Sweep("pulse", "any", filters)
        detector = family(Context(ByMetric(limits), inventory, NOW), self.notes)
        for number, output in enumerate(outputs):
            detector.read(EvidencePage(f"call-{number}", output, origin, sweep, "any", {}))
        detector.finish()
        self.notes.settle([sweep] if complete else [])
        self.signals: list[Signal] = list(self.notes.signals.values())

    def look(self, kind: Kind, resource_id: str, subject: str = "") -> Look | None:
        return self.notes.examined.look(kind, resource_id, subject)

    def reason(self, kind: Kind, resource_id: str, subject: str = "") -> str:
        return self.notes.examined.blind_reason(kind, resource_id, subject)

    def told(self) -> set[tuple[str, str, str, str]]:
        """Type, severity, resource and subject of every signal."""
        return {(str(s.signal_type), str(s.severity), s.resource_id, s.subject) for s in self.signals}
