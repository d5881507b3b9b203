"""How old a snapshot of a guest may be, and how large."""

from collections.abc import Sequence

from signals.alert_settings import AlertSettings
from signals.thresholds.limit import Limit, Limited, Off
from signals.thresholds.overrides import Override
from signals.thresholds.recovery_limits import At, RecoveryKeys, recovery_limit

SNAPSHOT_DAYS = 30.0
"""What nobody has gone back to for a month is forgotten; the alert format's own default, which is off there."""

BUILT_IN_PLACE = "built-in"
_HOURS = 24.0

_KEYS = {
    Limited.SNAPSHOT_AGE: RecoveryKeys("snapshot_defaults", "snapshot", "warning_days", "critical_days", unit=_HOURS),
    Limited.SNAPSHOT_SIZE: RecoveryKeys(
        "snapshot_defaults", "snapshot", "warning_size_gib", "critical_size_gib", unit=1
    ),
}


def built_in_snapshot(metric: Limited) -> Limit | Off:
    """Where no alert settings speak. Only a size that an operator sets is a limit."""
    if metric is Limited.SNAPSHOT_SIZE:
        return Off(BUILT_IN_PLACE)
    hours = SNAPSHOT_DAYS * _HOURS
    return Limit(trigger=hours, clear=hours, provenance=BUILT_IN_PLACE)


def snapshot_limit(settings: AlertSettings, overrides: Sequence[Override], metric: Limited, at: At) -> Limit | Off:
    """Hours since a snapshot was taken, or GiB that it holds. The first that is set wins:

    a disabled override: off; `overrides[...].snapshot`; `snapshotDefaults` if it is enabled, there or by the override;
    `"enabled": false` *written* there: off; else 30 days, and no size. 0: off. No hysteresis: a snapshot does not get
    younger.
    """
    is_off = settings.is_written("snapshot_defaults", "enabled")
    fallback = Off(at("snapshotDefaults.enabled")) if is_off else built_in_snapshot(metric)
    return recovery_limit(settings, overrides, _KEYS[metric], at, fallback)
