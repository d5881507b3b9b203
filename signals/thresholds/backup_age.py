"""How old the newest good backup may be."""

from collections.abc import Iterable
from typing import Protocol

from signals.alert_settings import AlertSettings
from signals.thresholds.limit import Limit, Off
from signals.thresholds.overrides import Override

BACKUP_STALE_HOURS = 48.0
"""Two nights: one missed nightly backup is told by its failure, two are a gap."""

PLACE = "patrol.toml: [patrol] backup_stale"
BUILT_IN_PLACE = "built-in ([patrol] backup_stale)"
_HOURS = 24.0


class _At(Protocol):
    """The provenance of a place in the file."""

    def __call__(self, place: str, *, is_written: bool = True) -> str: ...


def by_age(hours: float) -> Limit | Off:
    """The limit of `[patrol] backup_stale`, where no alert settings speak. 0 or less: off."""
    place = BUILT_IN_PLACE if hours == BACKUP_STALE_HOURS else PLACE
    return Limit(trigger=float(hours), clear=float(hours), provenance=place) if hours > 0 else Off(PLACE)


def backup_limit(
    settings: AlertSettings, overrides: Iterable[Override], stale_hours: float, at: _At, *, ignored: bool
) -> Limit | Off:
    """Hours since the newest good backup. The first that is set wins:

    `ignoreVMIDs` (`ignored`) or a disabled override: off; `overrides[...].backup.warningDays`;
    `backupDefaults.warningDays` if it is enabled, there or by the override; `[patrol] backup_stale`. 0: off.
    There is no hysteresis: a good backup inside the limit clears. `"enabled": false` and the switches of
    a type do not matter here; they are about usage.
    """
    if ignored:
        return Off(at("backupDefaults.ignoreVMIDs"))
    defaults = settings.backup_defaults
    follows = defaults.enabled
    for override in overrides:
        place = f"overrides[{override.key}]"
        if override.config.disabled:
            return Off(at(f"{place}.disabled"))
        own = override.config.backup
        if own is None:
            continue
        if own.enabled is False:
            return Off(at(f"{place}.backup.enabled"))
        if own.warning_days is not None:
            critical_days = own.critical_days if own.critical_days is not None else defaults.critical_days
            return _by_days(own.warning_days, critical_days, at(f"{place}.backup.warningDays"))
        follows = follows or own.enabled is True
    if follows:
        is_written = settings.is_written("backup_defaults", "warning_days")
        place = at("backupDefaults.warningDays", is_written=is_written)
        return _by_days(defaults.warning_days, defaults.critical_days, place)
    return by_age(stale_hours)


def _by_days(warning_days: int, critical_days: int, provenance: str) -> Limit | Off:
    if warning_days <= 0:
        return Off(provenance)
    return Limit(
        trigger=warning_days * _HOURS,
        clear=warning_days * _HOURS,
        critical=critical_days * _HOURS if critical_days > warning_days else None,
        provenance=provenance,
    )
