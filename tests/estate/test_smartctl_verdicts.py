"""From the document to the signal: what an operator is told of a disk, and what not."""

from datetime import UTC, datetime

import pytest

from findings.kinds import Kind
from findings.model import Look, Severity
from patrol.estate.smartctl import disk_row_from_smartctl
from signals.detector import Context, EvidencePage, Notes, Sweep
from signals.evidence import DisksOutput
from signals.inventory import Inventory
from signals.model import Origin
from signals.smart import SmartDetector
from signals.thresholds import Limit, Limited

SWEEP = Sweep("pulse_metrics", "disks", ())
CRITICAL, WARNING = Severity.CRITICAL, Severity.WARNING


class TwentyPercentLeft:
    """Wear above 80 % used is a signal, temperatures are not judged."""

    def limit(self, resource, metric, *, disk_type=""):
        return Limit(trigger=80, clear=75, provenance="test") if metric is Limited.DISK_WEAR else None


def told(*documents):
    notes = Notes()
    rows = [disk_row_from_smartctl(document) for document in documents]
    for position, row in enumerate(rows):
        row.node, row.device = "host", row.device or f"sd{'abcdefgh'[position]}"
    detector = SmartDetector(Context(TwentyPercentLeft(), Inventory(), datetime(2025, 1, 1, tzinfo=UTC)), notes)
    detector.read(EvidencePage("call", DisksOutput(disks=rows), Origin.PATROL, SWEEP, "disks", {}))
    notes.settle([SWEEP])
    return notes


def ata(*attributes, passed=None, exit_status=0, **more):
    table = [{"id": number, "raw": {"value": raw}, **fields} for number, raw, fields in attributes]
    status = {} if passed is None else {"smart_status": {"passed": passed}}
    return {"device": {"protocol": "ATA"}, "smartctl": {"exit_status": exit_status}, **status, **more} | (
        {"ata_smart_attributes": {"table": table}} if table else {}
    )


def nvme(*, passed, critical_warning, **log):
    whole = {"available_spare": 100, "available_spare_threshold": 10, "percentage_used": 3, "media_errors": 0}
    return {
        "device": {"name": "/dev/nvme0", "protocol": "NVMe"},
        "smart_status": {"passed": passed, "nvme": {"value": critical_warning}},
        "nvme_smart_health_information_log": {**whole, "critical_warning": critical_warning, **log},
    }


SECTORS = ((5, 2872, {}), (197, 624, {"thresh": 0}), (198, 624, {"thresh": 0}))


@pytest.mark.parametrize(
    ("document", "severity", "words"),
    [
        # no verdict, or a read that went wrong on the way
        ({"device": {"type": "megaraid,3"}, "smartctl": {"exit_status": 0}}, None, ()),
        (ata(exit_status=4), None, ()),
        (ata(exit_status=2), None, ()),
        (ata((9, 1, {}), exit_status=4, ata_smart_error_log={"summary": {}}), None, ()),
        # each bit of the exit status has its own weight
        (ata(exit_status=8), CRITICAL, ("FAILED",)),
        (ata(exit_status=128), WARNING, ("selfTestErrors=1",)),
        (ata(exit_status=136), CRITICAL, ("FAILED", "selfTestErrors=1")),
        (ata(exit_status=72), CRITICAL, ("FAILED",)),
        (ata(exit_status=64), None, ()),
        (ata(exit_status=32), None, ()),
        # a disk that passes and has lost sectors
        (
            ata(*SECTORS, passed=True),
            CRITICAL,
            ("pendingSectors=624", "offlineUncorrectable=624", "reallocatedSectors=2872"),
        ),
        (ata((5, 0, {}), (197, 0, {}), (198, 0, {}), passed=True), None, ()),
        # packed counters and history
        (ata((188, 4295032833, {"value": 100, "thresh": 0}), passed=True), None, ()),
        (ata((9, 1, {}), passed=True, ata_smart_error_log={"summary": {"count": 1693}}), None, ()),
        # NVMe
        (nvme(passed=True, critical_warning=0), None, ()),
        (
            nvme(passed=False, critical_warning=4, percentage_used=100),
            WARNING,
            ("endurance", "no media errors", "spare intact"),
        ),
        (nvme(passed=False, critical_warning=4, percentage_used=100, media_errors=1), CRITICAL, ("mediaErrors=1",)),
        (nvme(passed=False, critical_warning=5, available_spare=3), CRITICAL, ("spare",)),
        (nvme(passed=True, critical_warning=0, media_errors=7), CRITICAL, ("mediaErrors=7",)),
        # a worn SATA disk is worn, not broken
        (
            ata((202, 99, {"value": 1, "thresh": 1, "when_failed": "now"}), (5, 0, {}), (187, 0, {}), passed=False),
            WARNING,
            ("endurance", "99 % used", "attribute 202"),
        ),
        (
            ata((202, 99, {"value": 1, "thresh": 1, "when_failed": "now"}), (197, 2, {}), passed=False),
            CRITICAL,
            ("pendingSectors=2",),
        ),
    ],
)
def test_a_failure_is_told_as_loud_as_its_facts_are(document, severity, words):
    found = [signal for signal in told(document).signals.values() if signal.signal_type is Kind.SMART_FAILURE]
    assert [signal.severity for signal in found] == ([severity] if severity else [])
    for signal in found:
        assert all(word in signal.summary for word in words), signal.summary
        assert any(count > 0 for count in signal.facts.values())


@pytest.mark.parametrize(
    ("attribute", "left"),
    [
        ((202, 5, {"value": 95}), None),
        ((231, 18, {"value": 18}), 18),
        ((230, 1, {"value": 99}), None),
        ((233, 0, {"value": 4, "name": "media wearout"}), 4),
        ((9, 1200, {}), None),
    ],
)
def test_wear_is_told_only_where_little_life_is_left(attribute, left):
    found = list(told(ata(attribute, (194, 33, {}), passed=True)).signals.values())
    assert [(signal.signal_type, 100 - signal.value) for signal in found] == ([(Kind.DISK_WEAR, left)] if left else [])


def test_the_disk_with_bad_sectors_is_named_and_its_neighbour_is_not():
    notes = told(ata((5, 0, {}), (197, 0, {}), passed=True), ata(*SECTORS, passed=True))
    assert [signal.resource_id for signal in notes.signals.values()] == ["disk:host:sdb"]
    assert notes.examined.look(Kind.SMART_FAILURE, "disk:host:sda") is Look.CLEAR


def test_pending_sectors_that_are_gone_leave_the_disk_clear():
    looks = [
        told(ata((197, pending, {}), passed=True)).examined.look(Kind.SMART_FAILURE, "disk:host:sda")
        for pending in (8, 0, 0)
    ]
    assert looks == [Look.PRESENT, Look.CLEAR, Look.CLEAR]


def test_a_sleeping_disk_is_neither_clear_nor_failed():
    sleeping = {"smartctl": {"exit_status": 2, "messages": [{"string": "Device is in STANDBY mode, exit(2)"}]}}
    notes = told(sleeping)
    assert not notes.signals
    assert notes.examined.look(Kind.SMART_FAILURE, "disk:host:sda") is Look.BLIND
    assert "sleeps" in notes.examined.blind_reason(Kind.SMART_FAILURE, "disk:host:sda")
