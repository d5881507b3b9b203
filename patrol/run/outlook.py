"""Stage 4 as far as it needs the past: what will be full soon, and what is not as usual. Nothing is filed from it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from heapq import nlargest
from operator import itemgetter
from typing import NamedTuple

from findings.model import Category, ResourceId, Severity
from patrol.estate.model import Estate, Metric, Resource, ResourceType, Status
from patrol.history.baseline import Oddity, find_anomaly, is_worth_telling
from patrol.history.model import HOUR, Measure, Point, SeriesKey
from patrol.history.sampling import MEASURES
from patrol.history.trend import time_to_full
from patrol.history.view import History
from patrol.run.triage import Flag

AT_MOST = 2000
"""Series whose past one run reads for each of the two questions, the fullest first."""

_SOON_DAYS = 7
_SEEN_FOR_FULL = timedelta(days=7, hours=1)
_SEEN_FOR_USUAL = timedelta(days=14)
_WITH_A_USUAL = frozenset({ResourceType.NODE, ResourceType.AGENT, ResourceType.VM, ResourceType.SYSTEM_CONTAINER})
_DOWN = frozenset({Status.STOPPED, Status.PAUSED, Status.OFFLINE})
_LEAST = {Measure.CPU: 70.0, Measure.MEMORY: 60.0, Measure.DISK: 15.0}
"""Below these no anomaly is worth telling (`is_worth_telling`), so that its past need not be read."""


class _Present(NamedTuple):
    """A series and what it stands at now."""

    value: float
    resource: Resource
    measure: Measure
    subject: str = ""

    @property
    def key(self) -> SeriesKey:
        """Its name in history."""
        return SeriesKey(self.resource.id, self.measure, self.subject)


def outlook(estate: Estate, history: History) -> list[Flag]:
    """Flags of forecasts and baselines."""
    if not history.is_kept:
        return []
    return [*_will_be_full(estate, history), *_is_unusual(estate, history)]


def _will_be_full(estate: Estate, history: History) -> Iterator[Flag]:
    present = _fullest(_filling(estate))
    for each, points in _with_past(present, history, _SEEN_FOR_FULL):
        claim = time_to_full(points, each.value, history.now.timestamp())
        if claim is not None:
            name = each.subject or each.measure.value
            reason = f"{name} will be full in about {claim.days} days (+{claim.per_day:.1f}%/day)"
            severity = Severity.WARNING if claim.days <= _SOON_DAYS else Severity.WATCH
            category = Category.PERFORMANCE if each.measure is Measure.MEMORY else Category.CAPACITY
            yield _flag(each, category, severity, f"{reason}, seen for {claim.seen_hours // 24} days", "forecast", None)


def _is_unusual(estate: Estate, history: History) -> Iterator[Flag]:
    present = _fullest(each for each in _usable(estate) if each.value >= _LEAST.get(each.measure, 0))
    for each, points in _with_past(present, history, _SEEN_FOR_USUAL):
        anomaly = find_anomaly(points, each.value, history.now.timestamp())
        if anomaly is None or anomaly.oddity < Oddity.MEDIUM or not is_worth_telling(each.measure, anomaly):
            continue
        reason = (
            f"{each.measure} at {each.value:.0f}% where {anomaly.usual:.0f}% is usual "
            f"({anomaly.deviations:+.1f} standard deviations)"
        )
        severity = Severity.WARNING if anomaly.oddity >= Oddity.HIGH else Severity.WATCH
        busy = each.measure in {Measure.CPU, Measure.MEMORY}
        category = Category.PERFORMANCE if busy else Category.CAPACITY
        yield _flag(each, category, severity, reason, "baseline", anomaly.usual)


def _flag(
    present: _Present, category: Category, severity: Severity, reason: str, rule: str, threshold: float | None
) -> Flag:
    resource = present.resource
    return Flag(
        resource_id=resource.id,
        resource_name=resource.name or resource.id,
        resource_type=resource.type.value,
        category=category,
        severity=severity,
        reason=reason,
        # A name of its own: it stands beside the flag of the limit, which tells something else.
        metric=" ".join(word for word in (present.measure.value, present.subject, rule) if word),
        value=present.value,
        threshold=threshold,
    )


def _filling(estate: Estate) -> Iterator[_Present]:
    """What can fill up: file systems, pools, disks of guests, memory."""
    for resource in estate.resources:
        yield from _metrics(resource, (Metric.MEMORY, Metric.DISK))
        for mount in resource.filesystems or ():
            if mount.usage_percent is not None:
                yield _Present(mount.usage_percent, resource, Measure.DISK, mount.mountpoint or "")
        if resource.pool is not None and resource.pool.usage_percent is not None:
            yield _Present(resource.pool.usage_percent, resource, Measure.USAGE)


def _usable(estate: Estate) -> Iterator[_Present]:
    """What has a usual level: use of hosts and running guests, and of pools."""
    for resource in estate.resources:
        if resource.type in _WITH_A_USUAL and not resource.template:
            yield from _metrics(resource, (Metric.CPU, Metric.MEMORY, Metric.DISK))
        if resource.pool is not None and resource.pool.usage_percent is not None:
            yield _Present(resource.pool.usage_percent, resource, Measure.USAGE)


def _metrics(resource: Resource, metrics: Iterable[Metric]) -> Iterator[_Present]:
    if resource.status in _DOWN:
        return
    for metric in metrics:
        reading = resource.metrics.get(metric)
        # CPU use of a moment is compared with nothing.
        if reading is not None and reading.value > 0 and (metric is not Metric.CPU or reading.window_seconds > 0):
            yield _Present(reading.value, resource, MEASURES[metric])


def _fullest(present: Iterable[_Present]) -> list[_Present]:
    return nlargest(AT_MOST, present, key=itemgetter(0))


def _with_past(
    present: Sequence[_Present], history: History, period: timedelta
) -> Iterator[tuple[_Present, Sequence[Point]]]:
    ids: dict[ResourceId, None] = dict.fromkeys(each.resource.id for each in present)
    found: Mapping[SeriesKey, Sequence[Point]] = history.points(
        ids.keys(), {each.measure for each in present}, period, step=HOUR, extremes=False
    )
    for each in present:
        if each.key in found:
            yield each, found[each.key]
