"""Durations as people write them: `10m`, `1h30m`, `48h`, `7d`, and plain ISO 8601 (`PT1H30M`, `P7D`)."""

import re
from datetime import timedelta

_SECONDS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_SHORT = re.compile(
    r"(?:(\d{1,9})w)?(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?", re.ASCII | re.IGNORECASE
)
_ISO = re.compile(
    r"P(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})S)?)?", re.ASCII | re.IGNORECASE
)

HOW = 'write it like "10m", "1h30m", "48h" or "7d"'


def parse_duration(text: str) -> timedelta:
    """The duration that `text` means, in whole seconds. "0" is no time at all.

    Units from large to small, each at most once: w, d, h, m, s. A bare number is refused, since nobody can
    tell seconds from minutes. Raises ValueError.
    """
    compact = "".join(text.split())
    if compact == "0":
        return timedelta()
    match = _SHORT.fullmatch(compact) or _ISO.fullmatch(compact)
    if match is None or not any(match.groups()):
        hint = "it has no unit; " if compact.isdigit() else ""
        raise ValueError(f"not a duration: {hint}{HOW}")
    counts = (int(count or 0) for count in match.groups())
    seconds = sum(count * size for count, size in zip(counts, _SECONDS.values(), strict=True))
    try:
        return timedelta(seconds=seconds)
    except OverflowError as error:
        raise ValueError("not a duration: it is longer than anything here may be") from error


def format_duration(duration: timedelta) -> str:
    """The shortest text that `parse_duration` reads back: `1h30m`, `7d`; weeks and ISO 8601 are never written.

    Fractions of a second are dropped.
    """
    rest = int(duration.total_seconds())
    parts: list[str] = []
    for unit in "dhms":
        count, rest = divmod(rest, _SECONDS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(_hours_before_days(parts)) or "0"


def say(value: object) -> str:
    """A setting's value as it is written in the file, without quotes."""
    return format_duration(value) if isinstance(value, timedelta) else str(value)


def _hours_before_days(parts: list[str]) -> list[str]:
    """Two days and less are said in hours where they are whole hours, as operators say them: `48h`, not `2d`."""
    return ["48h"] if parts == ["2d"] else ["24h"] if parts == ["1d"] else parts
