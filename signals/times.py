"""Instants as they come from outside, read into aware UTC.

Sources write RFC 3339 with any offset and any number of fraction digits, the same with a space or
without a zone, or epoch numbers. A time without a zone is in the zone of its source. Nothing here
guesses: a value that cannot be placed is None, with its reason from `read_time`.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import cast
from zoneinfo import ZoneInfo

from signals.pages import Time

SKEW = timedelta(minutes=5)
"""How far ahead of our clock another clock may be before its times say nothing."""

NEVER = datetime.min.replace(tzinfo=UTC)
"""Before every instant: what "no time yet" compares as."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST = 64
_NUMBER = re.compile(r"\d{9,20}(?:\.\d+)?", re.ASCII)
_FORM = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)[T ](?P<minute>\d\d:\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?"
    r" ?(?:(?P<utc>Z|UTC|GMT)|(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d)?(?: [A-Z]{1,5})?)?",
    re.ASCII | re.IGNORECASE,
)
_UNITS = ((10**11, 10**6), (10**14, 10**3), (10**17, 1))
"""Epoch numbers by size: below 1e11 seconds, below 1e14 milliseconds, below 1e17 microseconds, else nanoseconds.

Each bound is 1973 in its smaller unit and past the year 5000 in its larger one.
"""


class UnreadableTimeError(ValueError):
    """A value that names no instant; the message says why, in words for an operator."""


def parse_time(value: Time, zone: str = "") -> datetime | None:
    """The instant in UTC, or None where the value names none. Never raises.

    `zone`: IANA name for times without an offset, "" for UTC. An hour that a clock change repeats is read
    as its first pass (an age is rather over- than understated), an hour that it skips with the offset before it.
    """
    try:
        return read_time(value, zone)
    except UnreadableTimeError:
        return None


def read_time(value: Time, zone: str = "") -> datetime:
    """Like `parse_time`; raises UnreadableTimeError with the reason. Epoch 0 and the year 1 mean "no time"."""
    try:
        at = _read(value, zone)
        at = at.astimezone(UTC)
    except OverflowError as error:
        raise UnreadableTimeError("no such instant") from error
    if at <= _EPOCH:
        raise UnreadableTimeError("the time is the zero time")
    return at


def usable_time(value: Time, zone: str, latest: datetime) -> datetime | None:
    """Like `parse_time`, and None for a time after `latest`."""
    at = parse_time(value, zone)
    return at if at is not None and at <= latest else None


def usable_times(values: Sequence[Time], zone: str, latest: datetime) -> Sequence[datetime | None]:
    """`usable_time` of each value. Whole pages of plain RFC 3339 cost about 0.1 us a value.

    The page is read at once and its extremes are compared; only where one value is missing, naive, zero or
    too late is each read by itself. Measured equal to comparing texts, without trusting any text's form.
    """
    try:
        # A value that is no text raises TypeError, as does a naive time against an aware bound.
        read = list(map(datetime.fromisoformat, cast("Sequence[str]", values)))
        if read and min(read) > _EPOCH and max(read) <= latest:
            return read
    except (TypeError, ValueError):
        pass  # each value gets its own reading below
    return [usable_time(value, zone, latest) for value in values]


def unusable_because(value: Time, zone: str, latest: datetime) -> str:
    """Why `usable_time` gave None for this value; "" where it did not."""
    try:
        at = read_time(value, zone)
    except UnreadableTimeError as error:
        return str(error)
    if at <= latest:
        return ""
    return f"the time {at:%Y-%m-%d %H:%M} UTC lies in the future"


def _read(value: Time, zone: str) -> datetime:
    if isinstance(value, str):
        return _read_text(value.strip(), zone)
    if value is None or isinstance(value, bool):
        raise UnreadableTimeError("there is no time")
    return _read_number(value)


def _read_text(text: str, zone: str) -> datetime:
    if not text:
        raise UnreadableTimeError("there is no time")
    if len(text) > _LONGEST:
        raise UnreadableTimeError("not a time")
    if _NUMBER.fullmatch(text):
        return _read_number(float(text) if "." in text else int(text))
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = _read_form(text)
    return at if at.tzinfo is not None else at.replace(tzinfo=_zone(zone))


def _read_form(text: str) -> datetime:
    """What the standard library refuses: a space before the offset, UTC by name, a leap second."""
    form = _FORM.fullmatch(text)
    if form is None:
        raise UnreadableTimeError("not a time")
    second = form["second"] or "00"
    leap = second == "60"
    try:
        at = datetime.fromisoformat(f"{form['date']}T{form['minute']}:{'59' if leap else second}")
        at += timedelta(seconds=1 if leap else 0, microseconds=int((form["fraction"] or "0")[:6].ljust(6, "0")))
        return at if not (form["utc"] or form["sign"]) else at.replace(tzinfo=_offset(form))
    except ValueError as error:
        raise UnreadableTimeError("not a time") from error


def _offset(form: re.Match[str]) -> timezone:
    if form["utc"]:
        return UTC
    offset = timedelta(hours=int(form["hours"]), minutes=int(form["minutes"] or "0"))
    return timezone(-offset if form["sign"] == "-" else offset)


def _read_number(number: float) -> datetime:
    if not -(10**20) < number < 10**21:  # refuses not-a-number and infinity as well
        raise UnreadableTimeError("not a time")
    for bound, microseconds in _UNITS:
        if abs(number) < bound:
            return _EPOCH + timedelta(microseconds=number * microseconds)
    return _EPOCH + timedelta(microseconds=number // 1000)


def _zone(name: str) -> ZoneInfo | timezone:
    if name in {"", "UTC"}:
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise UnreadableTimeError(f"the time has no offset and its zone {name!r} is unknown") from error
