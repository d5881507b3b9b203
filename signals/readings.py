"""Which numbers can be readings at all. What cannot be one says nothing: its condition is blind."""

MOST_PERCENT = 100.5
"""Percent of a whole. Rounding and sampling may go a little beyond 100; more is another unit."""


def count_of(value: int | None) -> int | None:
    """A count as it was read; None for less than nothing, which programs write for "not known"."""
    return None if value is None or value < 0 else value


def is_below_zero(*counts: float | None) -> bool:
    """Whether one of these counts is no reading."""
    return any(count is not None and count < 0 for count in counts)
