"""SCSI and SAS disks: error counter log pages, grown defects, informational exceptions."""

from patrol.estate.smartctl.document import Document, count, section, text
from patrol.estate.smartctl.exit_status import NOT_READ, ExitBit
from patrol.estate.smartctl.facts import Facts

_KINDS = ("read", "write", "verify")
_FAILURE_PREDICTION = 0x5D  # additional sense code "failure prediction threshold exceeded"
_ASKED_FOR_ALL = frozenset({"-a", "-x", "--all", "--xall", "-A", "--attributes"})


def scsi_facts(document: Document, exit_bits: ExitBit) -> Facts:
    """Counters of a SCSI disk. Errors that were corrected are its daily work."""
    facts = Facts()
    log = section(document, "scsi_error_counter_log")
    uncorrected = {kind: count(section(log, kind).get("total_uncorrected_errors")) for kind in _KINDS}
    for kind, errors in uncorrected.items():
        facts.remember(f"uncorrected_{kind}", errors)
    facts.counters.uncorrected_errors = sum(errors or 0 for errors in uncorrected.values()) or None
    defects = count(document.get("scsi_grown_defect_list"))
    facts.counters.grown_defects = defects or None
    sense = section(document, "smart_status", "scsi")
    if count(sense.get("asc")) == _FAILURE_PREDICTION:
        facts.reasons.append(text(sense.get("ie_string")) or "failure prediction threshold exceeded")
    facts.counters_read = not exit_bits & (NOT_READ | ExitBit.INCOMPLETE) and (
        any(errors is not None for errors in uncorrected.values()) or defects is not None or _asked_for_all(document)
    )
    return facts


def _asked_for_all(document: Document) -> bool:
    """Whether the counters were asked for, so that their absence means that the disk has none."""
    argv = section(document, "smartctl").get("argv")
    return isinstance(argv, list) and any(argument in _ASKED_FOR_ALL for argument in argv if isinstance(argument, str))
