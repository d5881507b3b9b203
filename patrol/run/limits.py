"""The limits in force in one run, live from the alert settings; the last good ones while the file is broken."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from patrol.database import Database
from patrol.run.memory import RunMemory
from patrol.settings.model import Settings
from signals.alert_settings import (
    AlertSettings,
    AlertSettingsError,
    dump_alert_settings,
    load_alert_settings,
    parse_alert_settings,
    settings_hash,
)
from signals.thresholds import AlertThresholds


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsInForce:
    """The limits, and what a run records of where they came from. `note`: what an operator should know, or ""."""

    thresholds: AlertThresholds
    source: str
    hash: str
    note: str = ""


def limits_in_force(settings: Settings, database: Database, now: datetime) -> LimitsInForce:
    """Reads the alert settings that `settings` names, and remembers them when they are good.

    Raises AlertSettingsError if the file is broken (or gone) and no good settings were ever read.
    """
    path = settings.alerts.file
    if path is None:
        return LimitsInForce(thresholds=_thresholds(settings, None, "built-in"), source="built-in", hash="")
    file = Path(path)
    try:
        current = load_alert_settings(file)
    except AlertSettingsError as error:
        return _last_good(settings, database, file, error)
    with database.write() as connection:
        RunMemory(connection).keep_alert_settings(dump_alert_settings(current), now)
    return LimitsInForce(
        thresholds=_thresholds(settings, current, file.name), source=str(file), hash=settings_hash(current)
    )


def _last_good(settings: Settings, database: Database, file: Path, error: AlertSettingsError) -> LimitsInForce:
    with database.read() as connection:
        known = RunMemory(connection).alert_settings()
    if known is None:
        raise error
    kept = parse_alert_settings(known.text, source=str(file))
    note = f"{error} Until then the settings of {known.stored_at:%Y-%m-%d %H:%M} UTC are in force."
    return LimitsInForce(
        thresholds=_thresholds(settings, kept, f"{file.name} (last good)"),
        source=f"{file} (last good, {known.stored_at:%Y-%m-%dT%H:%M:%SZ})",
        hash=settings_hash(kept),
        note=note,
    )


def _thresholds(settings: Settings, alerts: AlertSettings | None, source: str) -> AlertThresholds:
    return AlertThresholds(
        alerts,
        source=source,
        proactive=settings.patrol.proactive,
        backup_stale_hours=settings.patrol.backup_stale / timedelta(hours=1),
    )
