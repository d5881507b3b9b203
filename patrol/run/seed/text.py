"""Text from outside as it may stand in a list: on one line, inside its fence, and no longer than it is worth. Pure."""

import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime

FENCE = "```"
CUT = " [cut]"
LONGEST_NAME = 253
"""Characters of a name that are shown: as long as names of hosts can be, so that none is ever cut."""

_UNSAFE = {"Cc", "Cf", "Zl", "Zp", "Cs", "Co", "Cn"}
_REPLACED = str.maketrans({"`": "'", "|": "/"})


def cell(text: str, longest: int = LONGEST_NAME) -> str:
    """One cell of a list: no line break, no control or invisible character, no bar, no backtick; cut between words."""
    if not text.isprintable():
        text = "".join(" " if unicodedata.category(each) in _UNSAFE else each for each in text)
    text = " ".join(text.translate(_REPLACED).split())
    if len(text) <= longest:
        return text
    # A name that is cut in the middle would be no name any more, and nothing would know what to hide of it.
    kept = text[: longest + 1].rsplit(" ", 1)[0] if " " in text[: longest + 1] else ""
    return f"{kept}{CUT}".strip()


def row(*cells: str) -> str:
    """One line of a list."""
    return " | ".join(cells)


def fenced(rows: Sequence[str]) -> str:
    """Lines of a list between fences, which no line can close."""
    return "\n".join((FENCE, *rows, FENCE))


def instant(at: datetime | None) -> str:
    """A time with its zone; "" for none. One without a zone is meant in UTC."""
    if at is None:
        return ""
    there = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return f"{there:%Y-%m-%d %H:%M} UTC"


def number(value: float | None, unit: str = "") -> str:
    """A number as short as it can be; "" for none."""
    return "" if value is None else f"{value:.1f}".removesuffix(".0") + unit


def counted(count: int, word: str) -> str:
    """`1 vm`, `3 vm`: words of types are not inflected, they are to be recognised."""
    return f"{count} {word}"
