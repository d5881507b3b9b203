"""Ages and sizes of backups and snapshots: the words of overrides, and the globals where they are silent."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from signals.alert_settings import AlertSettings
from signals.alert_settings.recovery import BackupDefaults, RecoveryOverride, SnapshotDefaults
from signals.thresholds.limit import Limit, Off
from signals.thresholds.overrides import Override, disabled_by


class At(Protocol):
    """The provenance of a place in the file."""

    def __call__(self, place: str, *, is_written: bool = True) -> str: ...


class RecoveryKeys(NamedTuple):
    """What the format calls the two limits of one metric, in the globals (`section`) and in an override (`part`).

    `unit`: what one of them is in the unit of the metric.
    """

    section: str
    part: str
    warning: str
    critical: str
    unit: float


class _Word(NamedTuple):
    """A number in the unit of the metric, and the provenance of its place."""

    number: float
    provenance: str


def recovery_limit(
    settings: AlertSettings, overrides: Sequence[Override], keys: RecoveryKeys, at: At, fallback: Limit | Off
) -> Limit | Off:
    """The first that is set: an override that switches off; the warning of an override; the warning of the globals,
    if they are enabled there or by an override; `fallback`. 0: off. No hysteresis: nothing gets younger by itself.

    Of several overrides the first that has a word counts, for each key. One that gives the critical limit alone
    inherits the warning, and lowers it where it would be above.
    """
    disabled = disabled_by(overrides)
    if disabled is not None:
        return Off(at(f"overrides[{disabled.key}].disabled"))
    own = [(f"overrides[{override.key}].{keys.part}", _part(override, keys)) for override in overrides]
    switch = next(((place, part.enabled) for place, part in own if part is not None and part.enabled is not None), None)
    if switch is not None and not switch[1]:
        return Off(at(f"{switch[0]}.enabled"))

    defaults = _defaults(settings, keys)
    general = getattr(defaults, keys.critical) * keys.unit
    warning, critical = (_first(own, keys, field, at) for field in (keys.warning, keys.critical))
    limit = fallback
    if warning is not None:
        limit = _limit(warning, general if critical is None else critical.number)
    elif defaults.enabled or switch is not None:
        is_written = settings.is_written(keys.section, keys.warning)
        place = at(settings.place(keys.section, keys.warning), is_written=is_written)
        limit = _limit(_Word(getattr(defaults, keys.warning) * keys.unit, place), general)
    return _sharpened(limit, critical) if critical is not None else limit


def _part(override: Override, keys: RecoveryKeys) -> RecoveryOverride | None:
    return override.config.backup if keys.part == "backup" else override.config.snapshot


def _defaults(settings: AlertSettings, keys: RecoveryKeys) -> BackupDefaults | SnapshotDefaults:
    return settings.backup_defaults if keys.part == "backup" else settings.snapshot_defaults


def _first(own: Sequence[tuple[str, RecoveryOverride | None]], keys: RecoveryKeys, field: str, at: At) -> _Word | None:
    for place, part in own:
        number = getattr(part, field, None)
        if number is not None:
            wire = RecoveryOverride.model_fields[field].alias
            return _Word(number * keys.unit, at(f"{place}.{wire}"))
    return None


def _limit(warning: _Word, critical: float) -> Limit | Off:
    if warning.number <= 0:
        return Off(warning.provenance)
    return Limit(
        trigger=float(warning.number),
        clear=float(warning.number),
        critical=float(critical) if critical > warning.number else None,
        provenance=warning.provenance,
    )


def _sharpened(limit: Limit | Off, critical: _Word) -> Limit | Off:
    """With the critical limit of an override; one of 0 follows the warning."""
    if isinstance(limit, Off):
        return limit
    if 0 < critical.number < limit.trigger:
        return _limit(critical, critical.number)
    return _limit(_Word(limit.trigger, limit.provenance), critical.number)
