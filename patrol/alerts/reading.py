"""Values in what other systems send: each is what it should be, or absent. Pure."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from findings.model import Severity
from findings.rows import storable


class AlertFormatError(ValueError):
    """What was sent is not in the format of the system that it was sent for."""


MOST_ALERTS = 1_000
"""Alerts in one delivery. More are counted and left out: a system that sends so many says nothing of any of them."""

_LEVELS = {
    **dict.fromkeys(("critical", "crit", "page", "fatal", "emergency", "disaster", "error", "high"), Severity.CRITICAL),
    **dict.fromkeys(("warning", "warn", "medium", "minor", "average", "major"), Severity.WARNING),
    **dict.fromkeys(("info", "information", "informational", "notice", "low", "none", "debug"), Severity.INFO),
}


def severity_of(level: str) -> Severity | None:
    """The severity that a level means; None for a word that nobody knows, which counts as critical."""
    return _LEVELS.get(level.strip().casefold())


def table(value: object) -> Mapping[str, Any]:
    """A JSON object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def text(value: object, most: int) -> str:
    """A text of at most so many characters; numbers as they are written, "" for anything else."""
    if isinstance(value, str):
        return storable(value.strip()[:most])
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)[:most]
    return ""


def first_text(source: Mapping[str, Any], names: tuple[str, ...], most: int) -> str:
    """The first of these entries that is a text and not empty."""
    return next((found for name in names if (found := text(source.get(name), most))), "")


def number(value: object) -> float | None:
    """A finite number, also one that is written as a text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def instant(value: object) -> datetime | None:
    """An instant in RFC 3339, in UTC. None for anything else, and for the year 1, by which Go says "never"."""
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value.strip())
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return found if found.year > 1970 else None
