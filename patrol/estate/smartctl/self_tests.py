"""Self-test logs of all three protocols: how many tests failed since the last one that passed."""

import re
from collections.abc import Iterable

from patrol.estate.smartctl.document import Document, count, flag, rows, section

_SCSI_LOG = re.compile(r"scsi_self_test_(\d{1,4})\Z")

# The result codes that mean a failure of the disk; the others are passed, aborted or under way.
_ATA_FAILED = range(3, 9)
_SCSI_FAILED = range(3, 8)
_NVME_FAILED = range(5, 8)


def failed_self_tests(document: Document) -> int | None:
    """Failed tests newer than the last passed one; None if no log was read."""
    for log in ("extended", "standard"):
        entries = rows(document, "ata_smart_self_test_log", log, "table")
        if entries or section(document, "ata_smart_self_test_log", log):
            return _failed(_ata_result(entry) for entry in entries)
    numbered = sorted((int(found.group(1)), name) for name in document if (found := _SCSI_LOG.match(name)))
    if numbered:
        return _failed(
            _result(section(document, name, "result").get("value"), _SCSI_FAILED) for _position, name in numbered
        )
    if section(document, "nvme_self_test_log"):
        return _failed(
            _result(section(entry, "self_test_result").get("value"), _NVME_FAILED)
            for entry in rows(document, "nvme_self_test_log", "table")
        )
    return None


def _failed(results: Iterable[bool | None]) -> int:
    """Counts from the newest on; None is a test that says nothing."""
    failed = 0
    for passed in results:
        if passed:
            break
        failed += passed is False
    return failed


def _ata_result(entry: Document) -> bool | None:
    status = section(entry, "status")
    passed = flag(status.get("passed"))
    value = count(status.get("value"))
    if value is None:
        return passed
    return _result(value >> 4, _ATA_FAILED)


def _result(value: object, failed: range) -> bool | None:
    code = count(value)
    if code == 0:
        return True
    return False if code in failed else None
