"""How old the newest good backup may be."""

from collections.abc import Sequence

from signals.alert_settings import AlertSettings
from signals.thresholds.limit import Limit, Off
from signals.thresholds.overrides import Override
from signals.thresholds.recovery_limits import At, RecoveryKeys, recovery_limit

BACKUP_STALE_HOURS = 48.0
"""Two nights: one missed nightly backup is told by its failure, two are a gap."""

PLACE = "patrol.toml: [patrol] backup_stale"
BUILT_IN_PLACE = "built-in ([patrol] backup_stale)"

_KEYS = RecoveryKeys("backup_defaults", "backup", "warning_days", "critical_days", unit=24)


def by_age(hours: float) -> Limit | Off:
    """The limit of `[patrol] backup_stale`, where no alert settings speak. 0 or less: off."""
    place = BUILT_IN_PLACE if hours == BACKUP_STALE_HOURS else PLACE
    return Limit(trigger=float(hours), clear=float(hours), provenance=place) if hours > 0 else Off(PLACE)


def backup_limit(
    settings: AlertSettings, overrides: Sequence[Override], stale_hours: float, at: At, *, ignored: bool
) -> Limit | Off:
    """Hours since the newest good backup. The first that is set wins:

    `ignoreVMIDs` (`ignored`) or a disabled override: off; `overrides[...].backup.warningDays`;
    `backupDefaults.warningDays` if it is enabled, there or by the override; `[patrol] backup_stale`. 0: off.
    There is no hysteresis: a good backup inside the limit clears. `"enabled": false` and the switches of
    a type do not matter here; they are about usage.
    """
    if ignored:
        return Off(at("backupDefaults.ignoreVMIDs"))
    return recovery_limit(settings, overrides, _KEYS, at, by_age(stale_hours))
