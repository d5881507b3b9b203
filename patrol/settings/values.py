"""What a setting's value can be: durations, time zones, paths, and the table that refuses unknown keys."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict
from pydantic.json_schema import WithJsonSchema

from patrol.settings.durations import HOW, parse_duration


def _as_duration(value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return parse_duration(str(value))
    raise ValueError(f"not a duration: {HOW}")


def _as_time_zone(name: str) -> str:
    try:
        ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f'no time zone has this name; write one like "Europe/Berlin" (see {ZONE_LIST})') from error
    return name


def _as_cron(text: str) -> str:
    if text and len(text.split()) != _CRON_FIELDS:
        raise ValueError('not a cron expression of five fields, like "0 6 * * *" (minute, hour, day, month, weekday)')
    if text:
        try:
            next(CronSim(text, _ANY_DAY))
        except CronSimError as error:
            field = str(error).removeprefix("Bad ")
            raise ValueError(f"not a cron expression: cannot read its {field} (0 and 7 are Sunday)") from error
        except StopIteration as error:
            raise ValueError("not a cron expression: there is no such day") from error
    return text


def zero_or_an_hour(duration: timedelta) -> timedelta:
    """Off, or at least an hour. Raises ValueError."""
    if timedelta() < duration < timedelta(hours=1):
        raise ValueError('must be "0" (off) or at least 1h: a shorter time would call every guest stale')
    return duration


DAEMON = "Used by the daemon."
"""How a description ends whose key only the daemon reads."""

ZERO = timedelta()
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)

ZONE_LIST = "timedatectl list-timezones"
_CRON_FIELDS = 5
_ANY_DAY = datetime(2026, 1, 1, tzinfo=UTC)

Duration = Annotated[
    timedelta,
    BeforeValidator(_as_duration),
    WithJsonSchema({"type": "string", "examples": ["10m", "1h30m", "48h", "7d"]}),
]
TimeZone = Annotated[str, AfterValidator(_as_time_zone)]
Cron = Annotated[str, AfterValidator(_as_cron)]
AnyPath = Annotated[Path, AfterValidator(Path.expanduser)]


class Privacy(StrEnum):
    """What of names and addresses leaves the house towards a model."""

    FULL = "full"
    PSEUDONYMS = "pseudonyms"
    METRICS_ONLY = "metrics_only"


class Section(BaseModel):
    """A table of the settings file. A key that it does not know is an error, never ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, hide_input_in_errors=True)
