"""What one row says against a disk: its own verdict, its counters, the attributes it flags. Pure.

Rules, from worst to least:

- verdict FAILED, pending or uncorrectable sectors, uncorrected SCSI errors, NVMe media errors, spare below
  its threshold, NVMe critical warnings: critical.
- FAILED for no other reason than used-up rated endurance (NVMe critical warning 0x04 alone, a wear attribute
  alone; spare and media good): warning, in those words.
- reallocated sectors, grown defects, transmission (CRC) errors, failed self-tests, another attribute at its
  threshold: warning.

Entries in an error log, attributes that were at their threshold once, and corrected errors are no trouble.
"""

import re
from typing import NamedTuple

from findings.kinds import VERDICT_FAILED
from findings.model import Severity
from signals.evidence import DiskRow, FailingAttribute, SmartAttributes
from signals.readings import is_below_zero

CRITICAL_COUNTERS = {
    "pending_sectors": "pendingSectors",
    "offline_uncorrectable": "offlineUncorrectable",
    "uncorrected_errors": "uncorrectedErrors",
    "media_errors": "mediaErrors",
}
WARNING_COUNTERS = {
    "reallocated_sectors": "reallocatedSectors",
    "grown_defects": "grownDefects",
    "udma_crc_errors": "udmaCrcErrors",
    "self_test_errors": "selfTestErrors",
}
"""Counters by their names as facts and on the wire. Only values above 0 count."""

_OTHER_COUNTERS = ("critical_warning", "available_spare")

_SOUND = frozenset({"PASSED", "OK", "PASS", "GOOD", "HEALTHY"})
_NO_VERDICT = frozenset(
    {"", "UNKNOWN", "N/A", "NONE", "NOT AVAILABLE", "UNAVAILABLE", "NOT SUPPORTED", "UNSUPPORTED", "STANDBY", "SLEEP"}
)
_NOT_READ = re.compile(
    r"could not (?:open|read)|open device|open failed|permission denied|not permitted|access denied|unable to detect"
    r"|no such device|unavailable|not supported|timed? ?out|standby",
    re.IGNORECASE,
)
_RELIABILITY_DEGRADED = 0x04
_NEARLY_USED = 90.0  # percent: below it, degraded reliability has another reason than age

_WARNING_BITS = {
    0x01: "spare below threshold",
    0x02: "temperature beyond threshold",
    0x04: "reliability degraded",
    0x08: "media read-only",
    0x10: "volatile memory backup failed",
    0x20: "persistent memory unreliable",
}

_NAMED_BITS = sum(_WARNING_BITS)


class Trouble(NamedTuple):
    """What is wrong with a disk. `facts`: named counts; `value`: the count of the worst counter."""

    severity: Severity
    summary: str
    facts: dict[str, float]
    value: float | None


def is_sound(health: str | None) -> bool:
    """Whether a verdict says that the disk is well."""
    return health == "PASSED" or (health is not None and health.strip().upper() in _SOUND)


def has_failed(row: DiskRow) -> bool:
    """Whether a verdict was given and is bad. An error on the way to the disk is no verdict."""
    verdict = (row.health or "").strip().upper()
    if verdict in _SOUND or verdict in _NO_VERDICT:
        return False
    if row.reasons and not row.failing and not _any_counter(row):
        return not all(_NOT_READ.search(reason) for reason in row.reasons)
    return True


def counters_of(row: DiskRow) -> SmartAttributes | None:
    """The counters of all three documented spellings in one; of several values the first one that is there."""
    given = [
        counters for counters in (row.attributes, row.smart_attributes, row.smartAttributes) if counters is not None
    ]
    if len(given) < 2:
        return given[0] if given else None
    merged = SmartAttributes()
    for name in merged.__struct_fields__:
        found = (getattr(counters, name) for counters in given)
        setattr(merged, name, next((value for value in found if value is not None), None))
    return merged


def is_quiet(counters: SmartAttributes) -> bool:
    """Whether no counter speaks against the disk. Written out, for it is asked of every disk in every run."""
    return not (
        counters.pending_sectors
        or counters.offline_uncorrectable
        or counters.uncorrected_errors
        or counters.media_errors
        or counters.reallocated_sectors
        or counters.grown_defects
        or counters.udma_crc_errors
        or counters.self_test_errors
        or counters.critical_warning
        or (counters.available_spare is not None and (counters.available_spare < 0 or _spare_used_up(counters)))
    )


def has_no_reading(row: DiskRow) -> bool:
    """Whether a counter that stands for a fault was not read: it is below 0."""
    counters = counters_of(row)
    if counters is None:
        return False
    values = (getattr(counters, name) for name in (*CRITICAL_COUNTERS, *WARNING_COUNTERS, *_OTHER_COUNTERS))
    return is_below_zero(*values)


def trouble_of(row: DiskRow, life_used_percent: float | None) -> Trouble | None:
    """What speaks against the disk, in one statement; None if nothing does."""
    counters = counters_of(row)
    failed = has_failed(row)
    if not failed and not row.failing and (counters is None or is_quiet(counters)):
        return None
    counters = counters or SmartAttributes()
    failing = [attribute for attribute in row.failing if attribute.when == "now"]
    critical, warning = _positive(counters, CRITICAL_COUNTERS), _positive(counters, WARNING_COUNTERS)
    bits = max(counters.critical_warning or 0, 0)
    spare_used_up = _spare_used_up(counters)
    if not (failed or failing or critical or warning or bits or spare_used_up):
        return None
    facts: dict[str, float] = {**critical, **warning}
    if failed or is_sound(row.health):
        facts[VERDICT_FAILED] = int(failed)
    if failing:
        facts["failing_attributes"] = len(failing)
    if bits:
        facts["critical_warning"] = bits
    if spare_used_up:
        facts["spare_used_up"] = 1
    value = next(iter({**critical, **warning}.values()), None)
    worn = _is_only_worn(failed=failed, failing=failing, bits=bits, life_used_percent=life_used_percent)
    if worn and not critical and not spare_used_up:
        counts = _in_words(warning)
        return Trouble(Severity.WARNING, "; ".join([_worn_words(failing, life_used_percent), *counts]), facts, value)
    says = [
        *(["the disk's own verdict is FAILED"] if failed else []),
        *_in_words(critical),
        *_in_words(warning),
        *([f"spare {counters.available_spare:g} % below its threshold"] if spare_used_up else []),
        *(meaning for bit, meaning in _WARNING_BITS.items() if bits & bit),
        *([f"critical warning 0x{unknown:02x}, which has no name"] if (unknown := bits & ~_NAMED_BITS) else []),
        *(_attribute_words(attribute) for attribute in failing),
    ]
    severity = Severity.CRITICAL if failed or critical or bits or spare_used_up else Severity.WARNING
    return Trouble(severity, "; ".join(says), facts, value)


def _any_counter(row: DiskRow) -> bool:
    counters = counters_of(row)
    return counters is not None and counters != SmartAttributes()


def _positive(counters: SmartAttributes, names: dict[str, str]) -> dict[str, float]:
    values = ((name, getattr(counters, name)) for name in names)
    return {name: value for name, value in values if value is not None and value > 0}


def _spare_used_up(counters: SmartAttributes) -> bool:
    spare, threshold = counters.available_spare, counters.available_spare_threshold
    return spare is not None and threshold is not None and 0 <= spare < threshold


def _is_only_worn(*, failed: bool, failing: list[FailingAttribute], bits: int, life_used_percent: float | None) -> bool:
    """Whether used-up rated endurance is all that the disk complains of."""
    if any(not attribute.wear for attribute in failing) or not (failed or failing or bits):
        return False
    if bits:
        return bits == _RELIABILITY_DEGRADED and (life_used_percent is None or life_used_percent >= _NEARLY_USED)
    return bool(failing)


def _worn_words(failing: list[FailingAttribute], life_used_percent: float | None) -> str:
    used = "" if life_used_percent is None else f" ({life_used_percent:g} % used)"
    by = "".join(f", says {_attribute_words(attribute)}" for attribute in failing)
    good = "no failing sectors counted" if failing else "no media errors, spare intact"
    return f"rated endurance used up{used}{by}; {good}; plan its replacement"


def _attribute_words(attribute: FailingAttribute) -> str:
    number = "" if attribute.id is None else f" {attribute.id}"
    name = f" {attribute.name}" if attribute.name else ""
    return f"attribute{number}{name} failing now"


def _in_words(counters: dict[str, float]) -> list[str]:
    wire = CRITICAL_COUNTERS | WARNING_COUNTERS
    return [f"{wire[name]}={count:.0f}" for name, count in counters.items()]
