"""How old a snapshot of a guest may be, and how large."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from signals.alert_settings import AlertSettings
from signals.alert_settings.recovery import RecoveryOverride
from signals.thresholds.limit import Limit, Limited, Off
from signals.thresholds.overrides import Override

SNAPSHOT_DAYS = 30.0
"""What nobody has gone back to for a month is forgotten; the alert format's own default, which is off there."""

BUILT_IN_PLACE = "built-in"
_HOURS = 24.0


class _At(Protocol):
    """The provenance of a place in the file."""

    def __call__(self, place: str, *, is_written: bool = True) -> str: ...


class _Keys(NamedTuple):
    """What the format calls the two limits of one metric, and what one of its units is in ours."""

    warning: str
    critical: str
    wire: str
    unit: float


_KEYS = {
    Limited.SNAPSHOT_AGE: _Keys("warning_days", "critical_days", "warningDays", _HOURS),
    Limited.SNAPSHOT_SIZE: _Keys("warning_size_gib", "critical_size_gib", "warningSizeGiB", 1),
}


def built_in_snapshot(metric: Limited) -> Limit | Off:
    """Where no alert settings speak. Only a size that an operator sets is a limit."""
    if metric is Limited.SNAPSHOT_SIZE:
        return Off(BUILT_IN_PLACE)
    hours = SNAPSHOT_DAYS * _HOURS
    return Limit(trigger=hours, clear=hours, provenance=BUILT_IN_PLACE)


def snapshot_limit(settings: AlertSettings, overrides: Iterable[Override], metric: Limited, at: _At) -> Limit | Off:
    """Hours since a snapshot was taken, or GiB that it holds. The first that is set wins:

    a disabled override: off; `overrides[...].snapshot`; `snapshotDefaults` if it is enabled, there or by the override;
    `"enabled": false` *written* there: off; else 30 days, and no size. 0: off. No hysteresis: a snapshot does not get
    younger.
    """
    keys, defaults = _KEYS[metric], settings.snapshot_defaults
    follows = defaults.enabled
    for override in overrides:
        place = f"overrides[{override.key}]"
        if override.config.disabled:
            return Off(at(f"{place}.disabled"))
        own: RecoveryOverride | None = override.config.snapshot
        if own is None:
            continue
        if own.enabled is False:
            return Off(at(f"{place}.snapshot.enabled"))
        warning = getattr(own, keys.warning)
        if warning is not None:
            critical = getattr(own, keys.critical)
            critical = getattr(defaults, keys.critical) if critical is None else critical
            return _limit(warning * keys.unit, critical * keys.unit, at(f"{place}.snapshot.{keys.wire}"))
        follows = follows or own.enabled is True
    if follows:
        place = at(f"snapshotDefaults.{keys.wire}", is_written=settings.is_written("snapshot_defaults", keys.warning))
        return _limit(getattr(defaults, keys.warning) * keys.unit, getattr(defaults, keys.critical) * keys.unit, place)
    if settings.is_written("snapshot_defaults", "enabled"):
        return Off(at("snapshotDefaults.enabled"))
    return built_in_snapshot(metric)


def _limit(warning: float, critical: float, provenance: str) -> Limit | Off:
    if warning <= 0:
        return Off(provenance)
    return Limit(
        trigger=float(warning),
        clear=float(warning),
        critical=float(critical) if critical > warning else None,
        provenance=provenance,
    )
