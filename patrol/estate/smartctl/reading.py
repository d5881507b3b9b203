"""One document of smartctl, read: the row of the disk, and why it says less than it could."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from findings.model import GapReason
from patrol.estate.smartctl.ata import ata_facts
from patrol.estate.smartctl.attributes import attributes
from patrol.estate.smartctl.document import MAX_TEXT, Document, count, flag, rows, section, text
from patrol.estate.smartctl.exit_status import NOT_READ, ExitBit, decode
from patrol.estate.smartctl.facts import Facts
from patrol.estate.smartctl.identity import Identity, identity, protocol
from patrol.estate.smartctl.nvme import nvme_facts
from patrol.estate.smartctl.scsi import scsi_facts
from patrol.estate.smartctl.self_tests import failed_self_tests
from patrol.estate.smartctl.temperature import temperature, temperature_limit
from patrol.estate.smartctl.wear import life_used_percent
from signals.evidence import DiskRow, SmartAttributes

_ASLEEP = re.compile(r"\bdevice is in (?:standby|sleep|idle)\b", re.IGNORECASE)
_REFUSED = re.compile(r"permission denied|operation not permitted|access denied|must be root", re.IGNORECASE)
_NO_SMART = re.compile(r"unable to detect device type|unknown usb bridge|smart support is: unavailable", re.IGNORECASE)
_ATTRIBUTE_CHECK = re.compile(r"based on an attribute check", re.IGNORECASE)


SWITCHED_OFF = "SMART is switched off on this disk"


class Shortfall(NamedTuple):
    """Why a reading is not whole, in a word and in a sentence."""

    reason: GapReason
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SmartReading:
    """What one document says.

    `passed`: the disk's own verdict, None where it gave none: a missing verdict is not a bad one.
    `shortfall`: why verdict or counters were not (all) read, None where they were. `history`: counts of the
    past that are no fault (command time-outs, error log entries ...). `row.health` is UNKNOWN for a disk
    that sleeps: its last verdict stands.
    """

    row: DiskRow
    protocol: str | None
    exit_status: int | None
    exit_bits: ExitBit
    passed: bool | None
    asleep: bool
    shortfall: Shortfall | None
    history: Mapping[str, float]


def disk_row_from_smartctl(document: Mapping[str, object] | str | bytes) -> DiskRow:
    """The row of a disk from `smartctl --json -x` output."""
    return parse_smartctl(document).row


def parse_smartctl(document: Mapping[str, object] | str | bytes) -> SmartReading:
    """Reads `smartctl --json -x -n standby` output. Never raises: what cannot be understood is a shortfall."""
    read, messages = _load(document)
    messages += [text(row.get("string")) for row in rows(read, "smartctl", "messages")]
    exit_status = count(section(read, "smartctl").get("exit_status"))
    exit_bits = decode(exit_status)
    facts, table = Facts(), attributes(read)
    match protocol(read):
        case "NVMe":
            facts = nvme_facts(read)
        case "ATA":
            facts = ata_facts(read, table, exit_bits)
        case "SCSI":
            facts = scsi_facts(read, exit_bits)
    failed_tests = failed_self_tests(read)
    if failed_tests is None:
        failed_tests = int(ExitBit.SELF_TEST_LOG in exit_bits)
    facts.counters.self_test_errors = failed_tests or None
    facts.counters.power_on_hours = count(section(read, "power_on_time").get("hours"))
    passed = flag(section(read, "smart_status").get("passed"))
    health, reasons = _verdict(exit_bits, facts, passed=passed)
    asleep = health == "UNKNOWN" and _is_asleep(read, messages)
    shortfall = _shortfall(read, messages, exit_bits, health, facts, asleep=asleep)
    used = life_used_percent(read, table)
    row = _row(identity(read), facts)
    row.health = health
    row.reasons = reasons or ([shortfall.detail] if shortfall and health == "UNKNOWN" else [])
    row.life_used_percent = used
    row.wearout = None if used is None else max(0.0, 100 - used)
    row.temperature = temperature(read, table)
    row.temperature_limit = temperature_limit(read)
    row.smart_complete = shortfall is None
    return SmartReading(
        row=row,
        protocol=protocol(read),
        exit_status=exit_status,
        exit_bits=exit_bits,
        passed=passed,
        asleep=asleep,
        shortfall=shortfall,
        history=facts.history,
    )


def _load(document: Mapping[str, object] | str | bytes) -> tuple[Document, list[str]]:
    """The document as an object, and what smartctl wrote instead where it is none."""
    if isinstance(document, Mapping):
        return document, []
    if isinstance(document, bytes):
        document = document.decode("utf-8", "replace")
    try:
        loaded = msgspec.json.decode(document)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return {}, [text(line) for line in document[: 100 * MAX_TEXT].splitlines() if line.strip()]
    return (loaded, []) if isinstance(loaded, dict) else ({}, [])


def _verdict(exit_bits: ExitBit, facts: Facts, *, passed: bool | None) -> tuple[str, list[str]]:
    """PASSED, FAILED or UNKNOWN, and why it is FAILED. The worse of two statements holds."""
    own = []
    if passed is False:
        own.append("the disk's own health check says FAILED")
    elif ExitBit.DISK_FAILING in exit_bits:
        own.append("smartctl's exit status says DISK FAILING")
    if own or facts.reasons:
        return "FAILED", [*own, *facts.reasons]
    return ("UNKNOWN" if passed is None else "PASSED"), []


def _is_asleep(document: Document, messages: list[str]) -> bool:
    mode = text(section(document, "power_mode").get("string")).lower()
    return mode.startswith(("standby", "sleep")) or any(_ASLEEP.search(message) for message in messages)


def _shortfall(
    document: Document, messages: list[str], exit_bits: ExitBit, health: str, facts: Facts, *, asleep: bool
) -> Shortfall | None:
    said = "; ".join(dict.fromkeys(filter(None, messages)))[:MAX_TEXT]
    if asleep:
        return Shortfall(GapReason.ASLEEP, "the disk sleeps and was not woken")
    if health == "UNKNOWN":
        return _without_verdict(document, said, exit_bits, facts)
    if exit_bits & NOT_READ or not facts.counters_read:
        return Shortfall(GapReason.UNREADABLE, said or "not all counters of the disk could be read")
    if ExitBit.INCOMPLETE in exit_bits and _ATTRIBUTE_CHECK.search(said):
        return Shortfall(GapReason.UNREADABLE, "the disk gave no verdict of its own, its attributes are within limits")
    return None


def _without_verdict(document: Document, said: str, exit_bits: ExitBit, facts: Facts) -> Shortfall:
    """Why there is no verdict. A disk whose attributes could be read is known that far."""
    support = section(document, "smart_support")
    if _REFUSED.search(said):
        return Shortfall(GapReason.NO_PERMISSION, said)
    if support.get("available") is False or _NO_SMART.search(said):
        return Shortfall(GapReason.NOT_REPORTED, said or "the device offers no SMART data")
    if support.get("enabled") is False:
        return Shortfall(GapReason.NOT_REPORTED, SWITCHED_OFF)
    if exit_bits & NOT_READ:
        return Shortfall(GapReason.FAILED, said or "smartctl could not open or identify the device")
    detail = said or "no verdict of the disk in the answer"
    if section(document, "ata_smart_attributes") and not any(failing.when == "now" for failing in facts.failing):
        detail += " (attribute check passed)"
    return Shortfall(GapReason.UNREADABLE, detail)


def _row(named: Identity, facts: Facts) -> DiskRow:
    return DiskRow(
        device=named.device or None,
        dev_path=named.dev_path or None,
        model=named.model or None,
        serial=named.serial or None,
        wwn=named.wwn or None,
        type=named.disk_type or None,
        size_bytes=named.size_bytes,
        rpm=named.rpm,
        failing=facts.failing,
        smart_attributes=facts.counters if facts.counters != SmartAttributes() else None,
    )
