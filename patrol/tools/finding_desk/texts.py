"""Texts that a model gives, bounded and fit to be stored."""

from findings.rows import storable
from signals.detector import cut

TITLE_LETTERS = 200
TEXT_BYTES = 2_000


def title_text(text: str) -> str:
    """One line of at most `TITLE_LETTERS` characters."""
    text = " ".join(storable(text).split())
    return text if len(text) <= TITLE_LETTERS else text[: TITLE_LETTERS - 1] + "\N{HORIZONTAL ELLIPSIS}"


def long_text(text: str) -> str:
    """At most `TEXT_BYTES`."""
    return cut(storable(text).strip(), TEXT_BYTES)
