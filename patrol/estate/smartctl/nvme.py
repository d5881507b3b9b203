"""NVMe disks: the SMART / health information log (NVM Express base specification, log page 02h)."""

from patrol.estate.smartctl.document import Document, count, number, section
from patrol.estate.smartctl.facts import Facts

_WARNINGS = {
    0x01: "spare capacity is below its threshold",
    0x02: "temperature is beyond a threshold",
    0x04: "reliability is degraded",
    0x08: "media is read-only",
    0x10: "backup of volatile memory failed",
    0x20: "persistent memory region is read-only or unreliable",
}
_FULL_SPARE = 100


def nvme_facts(document: Document) -> Facts:
    """Counters and warnings of an NVMe disk. Entries in its error log alone are no fault."""
    log = section(document, "nvme_smart_health_information_log")
    status = section(document, "smart_status", "nvme")
    facts = Facts()
    warning = _byte(log.get("critical_warning"))
    if warning is None:
        warning = _byte(status.get("value"))
    media_errors = count(log.get("media_errors"))
    facts.counters.critical_warning = warning or None
    facts.counters.media_errors = media_errors or None
    facts.counters.percentage_used = count(log.get("percentage_used")) or None
    spare, threshold = number(log.get("available_spare")), number(log.get("available_spare_threshold"))
    if spare is not None and 0 <= spare < _FULL_SPARE:
        facts.counters.available_spare = spare
        facts.counters.available_spare_threshold = threshold or None
    facts.remember("err_log_entries", count(log.get("num_err_log_entries")))
    facts.reasons = warnings(warning or 0)
    facts.counters_read = warning is not None and media_errors is not None
    return facts


def warnings(critical_warning: int) -> list[str]:
    """The bits of the field `critical_warning` in words."""
    known = [meaning for bit, meaning in _WARNINGS.items() if critical_warning & bit]
    rest = critical_warning & ~sum(_WARNINGS)
    return [*known, f"critical warning 0x{rest:02x}"] if rest else known


def _byte(value: object) -> int | None:
    found = count(value)
    return found if found is not None and found <= 0xFF else None
