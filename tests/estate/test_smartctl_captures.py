"""Real output of smartctl from many makes, controllers and versions, against what is right to read in it."""

import json
from datetime import UTC, datetime

from findings.model import Severity
from patrol.estate.smartctl import parse_smartctl
from signals.detector import Context, EvidencePage, Notes, Sweep
from signals.evidence import DisksOutput
from signals.inventory import Inventory
from signals.model import Origin
from signals.smart import SmartDetector

COUNTERS = {
    "reallocated": "reallocated_sectors",
    "pending": "pending_sectors",
    "crc": "udma_crc_errors",
    "media_errors": "media_errors",
    "grown_defects": "grown_defects",
    "critical_warning": "critical_warning",
    "ata_error_log": "error_log_count",
}


class NoLimits:
    def limit(self, resource, metric, *, disk_type=""):
        return None


def verdict(row):
    """What parser and detector together say of a disk."""
    notes = Notes()
    page = EvidencePage(
        "call", DisksOutput(disks=[row]), Origin.PATROL, Sweep("pulse_metrics", "disks", ()), "disks", {}
    )
    detector = SmartDetector(Context(NoLimits(), Inventory(), datetime(2025, 1, 1, tzinfo=UTC)), notes)
    row.device = row.device or "sda"
    row.node = "host"
    detector.read(page)
    detector.finish()
    (severity,) = [signal.severity for signal in notes.signals.values()] or [None]
    if severity is not None:
        return "critical" if severity is Severity.CRITICAL else "warning"
    return "ok" if row.health == "PASSED" else "unknown"


def counters(reading, wanted):
    found = dict(reading.history)
    if "few_crc_errors" in found:
        found["crc"] = found.pop("few_crc_errors")
    for name, field in COUNTERS.items():
        value = getattr(reading.row.smart_attributes, field, None)
        if value:
            found[name] = value
    if "wear_percent_used" in wanted:
        found["wear_percent_used"] = reading.row.life_used_percent
    return found


def test_every_capture_is_read_as_it_should_be(shared):
    lines = (shared / "data" / "expected.jsonl").read_text().splitlines()
    expected = {row["file"]: row["expect"] for row in map(json.loads, lines) if row["file"].startswith("smartctl/")}
    wrong = {}
    for name, right in expected.items():
        reading = parse_smartctl((shared / "data" / name).read_bytes())
        found = {
            "smart_passed": reading.passed,
            "exit_status": reading.exit_status,
            "protocol": reading.protocol,
            "asleep": reading.asleep,
            "temperature_c": reading.row.temperature,
            "counters": counters(reading, right["counters"]),
        }
        wrong |= {(name, field): (value, right[field]) for field, value in found.items() if value != right[field]}
        if (said := verdict(reading.row)) not in right["accept"]:
            wrong[name, "verdict"] = (said, right["accept"])
    assert not wrong
    assert len(expected) > 100


def test_text_output_is_no_verdict(shared):
    for path in sorted((shared / "data" / "smartctl_text").iterdir()):
        reading = parse_smartctl(path.read_bytes())
        assert reading.row.health == "UNKNOWN", path.name
        assert reading.asleep == ("STANDBY mode, exit" in path.read_text(errors="replace")), path.name
