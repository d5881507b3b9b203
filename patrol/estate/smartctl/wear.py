"""How much of a solid-state disk's rated endurance is used, in percent; None wherever that is not sure.

Vendors write wear in opposite directions: some count up what is used, some count down what is left, and
the raw number may run the other way than the normalised one. The name that the drive database gives an
attribute decides; without any name, the few ids that mean one thing do.
"""

import re
from enum import StrEnum

from patrol.estate.smartctl.attributes import Attribute
from patrol.estate.smartctl.document import Document, number, rows, section, text


class Direction(StrEnum):
    """What an attribute of wear counts."""

    USED = "used"  # raw: percent used; normalised: percent left
    LEFT = "left"  # raw and normalised: percent left
    LEFT_NORMALISED = "left_normalised"  # normalised: percent left; raw: something else
    LEVELLING = "levelling"  # normalised: percent left, on disks that maintain it
    WRITTEN_CYCLES = "written_cycles"  # SanDisk and WD, id 230
    IN_AGREEMENT = "in_agreement"  # unnamed id 230: only where raw and normalised agree


_LIFE = r"(?:life|lifetime|endurance)"
_USED = re.compile(rf"{_LIFE}.*used|used.*{_LIFE}")
_LEFT = re.compile(rf"{_LIFE}.*(?:left|remain)|(?:left|remain).*{_LIFE}")
_WEAROUT = re.compile(r"wear_?out")
_LEVELLING = re.compile(r"wear_?level")
_CYCLES = re.compile(r"perc.*write/erase")
_UNNAMED = {202: Direction.USED, 230: Direction.IN_AGREEMENT, 231: Direction.LEFT, 233: Direction.LEFT_NORMALISED}

# Their normalised value falls with wear; other makers leave it at 100 for good.
_MAINTAINS_LEVELLING = re.compile(r"samsung|micron|crucial|mtfd|^ct\d", re.IGNORECASE | re.MULTILINE)

_ORDER = (
    Direction.USED,
    Direction.LEFT,
    Direction.LEFT_NORMALISED,
    Direction.WRITTEN_CYCLES,
    Direction.IN_AGREEMENT,
    Direction.LEVELLING,
)
_MOST = 255  # percent: disks may be used far beyond their rating
_PACKED = 1 << 32


def direction(attribute: Attribute) -> Direction | None:
    """What an attribute says about wear; None if it says nothing about it."""
    name = attribute.name.lower().replace(" ", "_").replace("-", "_")
    if not name:
        return _UNNAMED.get(attribute.id)
    if attribute.id == 230 and (_WEAROUT.search(name) or _CYCLES.search(name)):
        return Direction.WRITTEN_CYCLES
    # id 202 counts what is used in its raw field, whatever its name says about what remains
    if _USED.search(name) or (attribute.id == 202 and _LEFT.search(name)):
        return Direction.USED
    if _LEFT.search(name):
        return Direction.LEFT
    if _WEAROUT.search(name):
        return Direction.LEFT_NORMALISED
    return Direction.LEVELLING if _LEVELLING.search(name) else None


def life_used_percent(document: Document, attributes: list[Attribute]) -> float | None:
    """Rated endurance used: 0 for a new disk, beyond 100 for one that outlived its rating.

    From the standard places first (NVMe health log, ATA device statistics, SCSI log page), then from vendors'
    attributes. A disk that spins has no such rating.
    """
    rotation = number(document.get("rotation_rate"))
    if rotation:
        return None
    candidates = (
        number(section(document, "nvme_smart_health_information_log").get("percentage_used")),
        _device_statistic(document),
        number(document.get("scsi_percentage_used_endurance_indicator")),
        number(document.get("percentage_used_endurance_indicator")),
        number(section(document, "endurance_used").get("current_percent")),
        _from_attributes(document, attributes),
    )
    return next((used for used in candidates if used is not None and 0 <= used <= _MOST), None)


def _device_statistic(document: Document) -> float | None:
    for page in rows(document, "ata_device_statistics", "pages"):
        for statistic in rows(page, "table"):
            if text(statistic.get("name")) != "Percentage Used Endurance Indicator":
                continue
            if section(statistic, "flags").get("valid") is not False:
                return number(statistic.get("value"))
    return None


def _from_attributes(document: Document, attributes: list[Attribute]) -> float | None:
    maker = f"{text(document.get('model_family'))}\n{text(document.get('model_name'))}"
    directed = [(direction(attribute), attribute) for attribute in attributes]
    for wanted in _ORDER:
        for found, attribute in directed:
            if found is not wanted:
                continue
            used = _used(wanted, attribute, maintains=_MAINTAINS_LEVELLING.search(maker) is not None)
            if used is not None:
                return used
    return None


def _used(counts: Direction, attribute: Attribute, *, maintains: bool) -> float | None:
    raw = attribute.raw
    # A normalised value of 0 is "not maintained" on healthy disks of several makers: it proves nothing.
    left = attribute.value if attribute.value is not None and 1 <= attribute.value <= 100 else None
    match counts:
        case Direction.USED:
            # A raw field that repeats the normalised value is a copy of it, not what is used.
            from_raw = raw if raw is not None and raw <= _MOST and raw != left else None
            known = [used for used in (from_raw, None if left is None else 100 - left) if used is not None]
            return max(known, default=None)
        case Direction.LEFT:
            # SandForce's raw field is 0 or 1 whatever the normalised value says.
            from_raw = raw if raw is not None and 1 <= raw <= 100 and not (raw == 1 and (left or 0) > 50) else None
            known = [part for part in (left, from_raw) if part is not None]
            return 100 - min(known) if known else None
        case Direction.LEFT_NORMALISED:
            return None if left is None else 100 - left
        case Direction.LEVELLING:
            return 100 - left if left is not None and (left < 100 or maintains) else None
        case Direction.WRITTEN_CYCLES:
            return _written_cycles(attribute, left)
        case Direction.IN_AGREEMENT:
            return raw if left is not None and raw == 100 - left else None


def _written_cycles(attribute: Attribute, left: float | None) -> float | None:
    """WD packs three averages in hundredths of a percent and normalises upwards; SanDisk's older disks downwards."""
    if _CYCLES.search(attribute.name.lower()):
        return None if left is None else 100 - left
    if attribute.raw is not None and attribute.raw >= _PACKED:
        return (int(attribute.raw) >> 16 & 0xFFFF) / 100
    return 0 if attribute.raw == 0 else None
