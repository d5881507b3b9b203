"""How long a metric must have been above its limit, where the alert settings say so."""

from collections.abc import Iterable

from signals.alert_settings import AlertSettings

_ANY_METRIC = ("default", "_default", "*")
_ANY_TYPE = "all"


def delay_seconds(settings: AlertSettings, types: Iterable[str], metric: str) -> float:
    """The delay for the first of `types` that has one: by metric, by a wildcard metric, by type; then of all types."""
    names = [name for name in (*types, _ANY_TYPE) if name]
    by_metric = settings.metric_time_thresholds or {}
    for name in names:
        for key in (metric, *_ANY_METRIC):
            seconds = by_metric.get(name, {}).get(key)
            if seconds is not None:
                return seconds
    return next((settings.time_thresholds[name] for name in names if name in settings.time_thresholds), 0)
