"""The time zone of this host, with its rules for summer time."""

import os
from collections.abc import Mapping
from datetime import UTC, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

LOCALTIME = Path("/etc/localtime")
_FOLDER = "zoneinfo/"


def find_zone(name: str, environment: Mapping[str, str] = os.environ, localtime: Path = LOCALTIME) -> tzinfo:
    """The zone of this name; without one that of the host: $TZ, else /etc/localtime, else UTC.

    Raises ValueError.
    """
    wanted = name or environment.get("TZ", "").removeprefix(":")
    if wanted:
        try:
            return ZoneInfo(wanted)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            if name:  # settings were checked; the rules of the zone have gone since
                wrong = f"[patrol] time_zone {name}: its rules are not here any more: install tzdata"
                raise ValueError(wrong) from error
    try:
        target = str(localtime.resolve(strict=True))
        if _FOLDER in target:
            return ZoneInfo(target.rpartition(_FOLDER)[2])
        with localtime.open("rb") as rules:
            return ZoneInfo.from_file(rules, key="localtime")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC
