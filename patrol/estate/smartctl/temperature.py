"""How hot a disk is, in degrees Celsius, and the limit it names itself."""

import re
from collections.abc import Iterator

from patrol.estate.smartctl.attributes import Attribute
from patrol.estate.smartctl.document import Document, number, section

COLDEST, HOTTEST = 1, 125
"""No working disk reports less or more: 0 is "no sensor", the rest is an overflow or a misread field."""

_FIRST_NUMBER = re.compile(r"\s*(\d{1,4})(?!\d)")
_PACKED = 1 << 48


def temperature(document: Document, attributes: list[Attribute]) -> float | None:
    """The first plausible temperature, from the most to the least reliable place; None if there is none."""
    return next((value for value in _candidates(document, attributes) if _plausible(value)), None)


def temperature_limit(document: Document) -> float | None:
    """The highest temperature that the disk was made to work at; None if it names none."""
    reported = section(document, "temperature")
    candidates = (
        number(reported.get("op_limit_max")),
        number(reported.get("limit_max")),
        number(section(document, "nvme_composite_temperature_threshold").get("warning")),
        number(reported.get("drive_trip")),
        number(section(document, "scsi_temperature").get("drive_trip")),
    )
    return next((value for value in candidates if _plausible(value)), None)


def _plausible(value: float | None) -> bool:
    return value is not None and COLDEST <= value <= HOTTEST


def _candidates(document: Document, attributes: list[Attribute]) -> Iterator[float | None]:
    yield number(section(document, "temperature").get("current"))
    yield number(section(document, "nvme_smart_health_information_log").get("temperature"))
    current = section(document, "ata_sct_status").get("current")
    yield number(current) or number(section(current).get("value"))
    yield number(section(document, "ata_sct_status", "temperature").get("current"))
    for wanted in (194, 190):  # 190 is the airflow beside the disk where both exist
        for attribute in attributes:
            if attribute.id == wanted:
                yield from _raw(attribute)
    for name, report in section(document, "scsi_environmental_reports").items():
        if name.startswith("temperature"):
            yield number(section(report).get("current"))


def _raw(attribute: Attribute) -> Iterator[float | None]:
    """The text begins with the temperature; the raw number packs minimum and maximum above it."""
    first = _FIRST_NUMBER.match(attribute.raw_text)
    if first:
        yield float(first.group(1))
    if attribute.raw is not None and attribute.raw < _PACKED:
        yield float(int(attribute.raw) & 0xFF if attribute.raw > 0xFF else attribute.raw)
