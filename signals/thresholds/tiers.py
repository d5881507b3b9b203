"""One trigger -> the tiers around it: watch < warning < critical <= 100, and clear below the trigger. Always."""

from typing import NamedTuple

from signals.thresholds.limit import Limit, Limited

MARGIN = 5.0
_LOWEST, _HIGHEST = 10.0, 99.0
_FULL = 100.0

_CRITICAL_TIER = frozenset({Limited.DISK, Limited.STORAGE})


class _Ahead(NamedTuple):
    """Points below the trigger at which each tier begins in proactive mode. `critical` None: no such tier."""

    watch: float
    warning: float
    critical: float | None = None


_AHEAD = {
    Limited.CPU: _Ahead(15, 5),
    Limited.MEMORY: _Ahead(15, 5),
    Limited.DISK: _Ahead(15, 8, 3),
    Limited.STORAGE: _Ahead(15, 8, 3),
}
_AHEAD_GUEST_MEMORY = _Ahead(12, 5)


def tiered(
    metric: Limited, trigger: float, clear: float, provenance: str, *, guest: bool = False, proactive: bool = False
) -> Limit:
    """The limit that a trigger above 0 from the alert settings means.

    Exact mode warns at the trigger, watches 5 below, and for space is critical 5 above (at most 100; a
    trigger of 100 leaves no room for a critical tier). Proactive mode moves percentages of CPU, memory and
    space ahead of the trigger and names it in the provenance; other metrics stay exact.
    """
    ahead = (_AHEAD_GUEST_MEMORY if guest and metric is Limited.MEMORY else _AHEAD.get(metric)) if proactive else None
    if ahead is None:
        critical = min(_FULL, trigger + MARGIN) if metric in _CRITICAL_TIER and trigger < _FULL else None
        return Limit(
            trigger=trigger,
            clear=_below(trigger, clear),
            critical=critical,
            watch=watch_below(trigger),
            provenance=provenance,
        )
    return _moved_ahead(trigger, clear, provenance, ahead)


def _moved_ahead(trigger: float, clear: float, provenance: str, ahead: _Ahead) -> Limit:
    warning = min(trigger, _clamped(trigger - ahead.warning))
    critical = None
    if ahead.critical is not None:
        critical = _clamped(trigger - ahead.critical)
        if critical <= warning:
            critical = warning + MARGIN
    watch = _clamped(trigger - ahead.watch)
    return Limit(
        trigger=warning,
        clear=_below(warning, warning - (trigger - clear)),
        critical=critical,
        watch=watch if watch < warning else warning / 2,
        provenance=f"{provenance} (proactive, ahead of {trigger:g})",
    )


def watch_below(trigger: float) -> float:
    """Where watching begins: 5 below the trigger but not under 10, and half of a trigger that is itself so low."""
    return max(_LOWEST, trigger - MARGIN) if trigger > _LOWEST else trigger / 2


def _below(trigger: float, clear: float) -> float:
    """A clear that a value can get under: one of 0 never could, so half of the (very low) trigger stands in."""
    return clear if 0 < clear < trigger else trigger / 2


def _clamped(value: float) -> float:
    return min(_HIGHEST, max(_LOWEST, value))
