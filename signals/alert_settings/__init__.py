"""The `alerts.json` format: read, normalise, write. docs/alert-settings.md names every key."""

from signals.alert_settings.document import dump_alert_settings, parse_alert_settings, settings_hash
from signals.alert_settings.file import (
    find_alert_settings,
    load_alert_settings,
    read_alert_settings,
    save_alert_settings,
)
from signals.alert_settings.model import AlertSettings
from signals.alert_settings.problem import AlertSettingsError

__all__ = [
    "AlertSettings",
    "AlertSettingsError",
    "dump_alert_settings",
    "find_alert_settings",
    "load_alert_settings",
    "parse_alert_settings",
    "read_alert_settings",
    "save_alert_settings",
    "settings_hash",
]
