"""ATA disks: attributes, error log, self-tests. Also disks behind SATA RAID controllers and USB bridges."""

import re

from patrol.estate.smartctl.attributes import Attribute, describe, largest_word, raw_count
from patrol.estate.smartctl.document import Document, count, section
from patrol.estate.smartctl.exit_status import ExitBit
from patrol.estate.smartctl.facts import Facts
from patrol.estate.smartctl.wear import direction
from signals.evidence import FailingAttribute

FEW_CRC_ERRORS = 3
"""Transmission errors in the whole life of a disk that a hot-plug or a reseated cable explains: no counter yet."""

# By id, and by the drive database's name where it gives one: some makers use these ids for something else.
_COUNTERS = {
    5: ("reallocated_sectors", re.compile(r"real+oc|retired|retried|remap|bad", re.IGNORECASE)),
    197: ("pending_sectors", re.compile(r"pending", re.IGNORECASE)),
    198: ("offline_uncorrectable", re.compile(r"offl.*unc", re.IGNORECASE)),
    199: ("udma_crc_errors", re.compile(r"crc", re.IGNORECASE)),
}
_HISTORY = {187: "reported_uncorrect", 196: "reallocated_event"}
_COMMAND_TIMEOUT = 188


def ata_facts(document: Document, attributes: list[Attribute], exit_bits: ExitBit) -> Facts:
    """Counters and failing attributes of an ATA disk."""
    facts = Facts()
    for attribute in attributes:
        _count(facts, attribute)
        if attribute.when_failed:
            _fail(facts, attribute)
    log = section(document, "ata_smart_error_log")
    entries = max(
        (count(section(log, which).get("count")) or 0 for which in ("extended", "summary")),
        default=0,
    )
    facts.counters.error_log_count = entries or None
    if ExitBit.PREFAIL_NOW in exit_bits and not any(failing.when == "now" for failing in facts.failing):
        facts.reasons.append("an attribute that predicts failure is at or below its threshold")
    facts.counters_read = bool(attributes) and not _checksum_in_doubt(document, exit_bits)
    return facts


def _count(facts: Facts, attribute: Attribute) -> None:
    name, expected = _COUNTERS.get(attribute.id, ("", None))
    if expected is not None and (not attribute.name or expected.search(attribute.name)):
        found = raw_count(attribute)
        if name == "udma_crc_errors" and found is not None and found <= FEW_CRC_ERRORS:
            facts.remember("few_crc_errors", found)
        else:
            setattr(facts.counters, name, found or None)
    elif attribute.id in _HISTORY:
        facts.remember(_HISTORY[attribute.id], raw_count(attribute))
    elif attribute.id == _COMMAND_TIMEOUT:
        facts.remember("command_timeout", largest_word(attribute))


def _fail(facts: Facts, attribute: Attribute) -> None:
    wear = direction(attribute) is not None
    facts.failing.append(
        FailingAttribute(
            id=attribute.id,
            name=attribute.name,
            when=attribute.when_failed,
            value=attribute.value,
            raw=raw_count(attribute),
            wear=wear,
        )
    )
    # An attribute that counts age may be used up on a sound disk; one that predicts failure is a verdict.
    if attribute.when_failed == "now" and attribute.prefail is not False and not wear:
        facts.reasons.append(f"{describe(attribute)} is failing now")


def _checksum_in_doubt(document: Document, exit_bits: ExitBit) -> bool:
    """Whether the table itself may be what bit 2 complains of.

    smartctl does not say in JSON which command failed or which checksum was wrong. Cheap disks set the bit
    for ever because they do not keep an error log: where that is missing, it is the explanation.
    """
    return ExitBit.INCOMPLETE in exit_bits and bool(section(document, "ata_smart_error_log"))
