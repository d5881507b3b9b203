"""Hours and foreign words as they stand in a sentence for an operator."""

from datetime import UTC, datetime

from signals.detector import cut

_LONGEST_REASON = 200


def hours_text(hours: float) -> str:
    """`36 h`, `7 days`: whole hours below three days, else days."""
    if hours < 72:
        return f"{hours:.0f} h" if hours >= 1 else f"{hours:.1f} h"
    days = hours / 24
    return f"{days:.0f} days" if days == round(days) or days >= 10 else f"{days:.1f} days"


def moment_text(at: datetime) -> str:
    """An instant to the minute, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def quoted(text: object) -> str:
    """A foreign text as one printable line of at most 200 bytes."""
    line = str(text)
    if not line.isprintable():
        line = "".join(char if char.isprintable() else " " for char in line)
    line = " ".join(line.split())
    short = cut(line, _LONGEST_REASON)
    return short if short == line else f"{short.rstrip()} ..."
