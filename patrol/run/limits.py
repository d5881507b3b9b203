"""The limits in force in one run, live from the alert settings; the last good ones while the file is broken."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from patrol.database import Database
from patrol.run.memory import RunMemory
from patrol.settings.model import Settings
from signals.alert_settings import (
    AlertSettings,
    AlertSettingsError,
    dump_alert_settings,
    parse_alert_settings,
    read_alert_settings,
    settings_hash,
)
from signals.thresholds import AlertThresholds
from signals.thresholds.overrides import NO_SUCH_RESOURCE

_MOST_TOLD = 5


class LimitOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What limits depend on beside the text of the alert settings. `source`: what their provenance calls it."""

    source: str
    proactive: bool
    backup_stale_hours: float

    def thresholds(self, alerts: AlertSettings | None) -> AlertThresholds:
        """The limits of these alert settings (None: the built-in ones)."""
        return AlertThresholds(
            alerts, source=self.source, proactive=self.proactive, backup_stale_hours=self.backup_stale_hours
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsInForce:
    """The limits, and what a run records of where they came from. `note`: what an operator should know, or "".

    `options` and `text` (of the alert settings as they were read, None without a file) give the same limits again.
    """

    thresholds: AlertThresholds
    options: LimitOptions
    text: str | None
    source: str
    hash: str
    note: str = ""


def limits_in_force(settings: Settings, database: Database, now: datetime) -> LimitsInForce:
    """Reads the alert settings that `settings` names, and remembers them when they are good.

    Raises AlertSettingsError if the file is broken (or gone) and no good settings were ever read.
    """
    path = settings.alerts.file
    if path is None:
        return _in_force(settings, None, None, "built-in", source="built-in")
    file = Path(path)
    try:
        text = read_alert_settings(file)
        current = parse_alert_settings(text, source=str(file))
    except AlertSettingsError as error:
        return _last_good(settings, database, file, error)
    dumped = dump_alert_settings(current)
    database.transact(lambda connection: RunMemory(connection).keep_alert_settings(dumped, now))
    return _in_force(settings, current, text, file.name, source=str(file))


def overrides_note(limits: LimitsInForce, thresholds: AlertThresholds) -> str:
    """Which overrides decide nothing among the resources of a run, with the reason; "" where each does.

    A key that means several resources goes first: whoever wrote it believes that it holds.
    """
    idle = thresholds.overrides_without_target
    if not idle:
        return ""
    keys = sorted(idle, key=lambda key: (idle[key] == NO_SUCH_RESOURCE, key))
    told = "; ".join(f"{key} ({idle[key]})" for key in keys[:_MOST_TOLD])
    more = f"; and {len(keys) - _MOST_TOLD} more" if len(keys) > _MOST_TOLD else ""
    return f"{limits.options.source}: overrides that decide nothing in this run: {told}{more}."


def _last_good(settings: Settings, database: Database, file: Path, error: AlertSettingsError) -> LimitsInForce:
    with database.read() as connection:
        known = RunMemory(connection).alert_settings()
    if known is None:
        raise error
    kept = parse_alert_settings(known.text, source=str(file))
    note = f"{error}. Until then the settings of {known.stored_at:%Y-%m-%d %H:%M} UTC are in force."
    source = f"{file} (last good, {known.stored_at:%Y-%m-%dT%H:%M:%SZ})"
    return _in_force(settings, kept, known.text, f"{file.name} (last good)", source=source, note=note)


def _in_force(
    settings: Settings, alerts: AlertSettings | None, text: str | None, name: str, *, source: str, note: str = ""
) -> LimitsInForce:
    options = LimitOptions(
        source=name,
        proactive=settings.patrol.proactive,
        backup_stale_hours=settings.patrol.backup_stale / timedelta(hours=1),
    )
    return LimitsInForce(
        thresholds=options.thresholds(alerts),
        options=options,
        text=text,
        source=source,
        hash=settings_hash(alerts) if alerts is not None else "",
        note=note,
    )
