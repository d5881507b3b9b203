"""Access to a foreign JSON document, in which nothing has to be what it should be."""

import math
from collections.abc import Mapping

Document = Mapping[str, object]

MAX_TEXT = 200
OVERFLOW = 1 << 62
"""From here on a number is what is left of an overflow, not a count of anything."""

_NOTHING: Document = {}


def section(document: object, *names: str) -> Document:
    """The object below these names, or an empty one."""
    for name in names:
        document = document.get(name) if isinstance(document, Mapping) else None
    return document if isinstance(document, Mapping) else _NOTHING


def rows(document: object, *names: str) -> list[Document]:
    """The objects of the list below these names; whatever else stands in it is skipped."""
    found = section(document, *names[:-1]).get(names[-1])
    return [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []


def text(value: object) -> str:
    """A printable text of bounded length, "" for anything that is no text."""
    if not isinstance(value, str):
        return ""
    return " ".join("".join(c if c.isprintable() else " " for c in value[: 2 * MAX_TEXT]).split())[:MAX_TEXT]


def number(value: object) -> float | None:
    """A finite number, also where it is written as text; true and false are none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if -OVERFLOW < value < OVERFLOW else None
    if isinstance(value, str):
        value = _from_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) and abs(value) < OVERFLOW else None
    return value if isinstance(value, int) and -OVERFLOW < value < OVERFLOW else None


def _from_text(written: str) -> float | None:
    if len(written) > MAX_TEXT:
        return None
    try:
        return int(written)
    except ValueError:
        pass
    try:
        return float(written)
    except ValueError:
        return None


def count(value: object) -> int | None:
    """A count of something: a whole number from 0 on."""
    found = number(value)
    return int(found) if found is not None and found >= 0 else None


def flag(value: object) -> bool | None:
    """A boolean that is there; anything else is None, never false."""
    return value if isinstance(value, bool) else None
