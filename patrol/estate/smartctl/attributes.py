"""The table of ATA SMART attributes, tolerant of rows that lack fields."""

import re
from typing import NamedTuple

from patrol.estate.smartctl.document import Document, count, flag, number, rows, section, text

_LEADING_COUNT = re.compile(r"\s*(\d{1,15})(?![\dA-Za-z.])")
_RAW_BITS = 1 << 48  # the field on the wire: anything longer is an overflow
_ONE_WORD = 1 << 32

_FAILED = {"now": "now", "failing_now": "now", "past": "past", "in_the_past": "past"}


class Attribute(NamedTuple):
    """One row. `name` is the drive database's word for it, "" where there is none.

    `value` is normalised by the disk (best is 100, 200 or 253; it falls towards `thresh`). `raw` is the 48-bit
    field as one number, in which several may be packed; `raw_text` is how smartctl takes it apart.
    """

    id: int
    name: str
    value: float | None
    thresh: float | None
    raw: float | None
    raw_text: str
    when_failed: str  # "now", "past" or ""
    prefail: bool | None  # whether it predicts failure (True) or counts age (False)


def attributes(document: Document) -> list[Attribute]:
    """The rows of the table that have an id."""
    found = []
    for row in rows(document, "ata_smart_attributes", "table"):
        attribute_id = count(row.get("id"))
        if attribute_id is None:
            continue
        raw = row.get("raw")
        fields = section(raw)
        value = number(fields.get("value")) if fields else number(raw)
        written = fields.get("string") if fields else raw
        found.append(
            Attribute(
                id=attribute_id,
                name=text(row.get("name")),
                value=number(row.get("value")),
                thresh=number(row.get("thresh")),
                raw=value if value is not None and 0 <= value < _RAW_BITS else None,
                raw_text=text(written),
                when_failed=_FAILED.get(text(row.get("when_failed")).lower(), ""),
                prefail=flag(section(row, "flags").get("prefailure")),
            )
        )
    return found


def raw_count(attribute: Attribute) -> int | None:
    """The count that a raw field holds: what its text begins with, else its lowest word. None if it overflowed."""
    leading = _LEADING_COUNT.match(attribute.raw_text)
    if leading:
        found = int(leading.group(1))
    elif attribute.raw is not None:
        found = int(attribute.raw)
    else:
        return None
    if found >= _RAW_BITS:
        return None
    return found if found < _ONE_WORD else found & 0xFFFF


def largest_word(attribute: Attribute) -> int | None:
    """For a field of three 16-bit counters (command time-outs): the largest of them."""
    if attribute.raw is None:
        return None
    packed = int(attribute.raw)
    return max(packed & 0xFFFF, packed >> 16 & 0xFFFF, packed >> 32 & 0xFFFF)


def describe(attribute: Attribute) -> str:
    """The attribute in words, with the numbers that made it fail."""
    named = f"attribute {attribute.id} {attribute.name}".rstrip()
    if attribute.value is None or attribute.thresh is None:
        return named
    return f"{named} (value {attribute.value:g}, threshold {attribute.thresh:g})"
