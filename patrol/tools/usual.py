"""`pulse_metrics` types `baselines` and `patterns`: what is usual, what repeats and what will be full."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from statistics import fmean, pstdev
from typing import NamedTuple

from findings.model import Gap, GapReason, ResourceId, Topic
from patrol.estate.model import Resource
from patrol.history.average import buckets
from patrol.history.baseline import LEAST_OF_HOUR, LEAST_SAMPLES
from patrol.history.model import HOUR, Measure, Point, SeriesKey
from patrol.history.trend import Direction, find_trend, time_to_full
from patrol.tools.answers import BaselineRow, BaselinesOutput, PatternRow, PatternsOutput, PredictionRow
from patrol.tools.filters import matching, one_resource
from patrol.tools.model import Call
from patrol.tools.paging import Part, finished, part_of
from patrol.tools.past import Past
from patrol.tools.view import EstateView

TOPICS = {
    Measure.CPU: Topic.CPU,
    Measure.MEMORY: Topic.MEMORY,
    Measure.DISK: Topic.FILESYSTEMS,
    Measure.USAGE: Topic.POOLS,
}
"""What has a usual level, and the topic that its values are read with."""

SEEN = timedelta(days=14)
_TREND_SEEN = timedelta(days=7)
_HOUR_SECONDS = 3600
_DAY_HOURS = 24

_PEAK_POINTS = 15.0
"""Points of percent above the mean from which an hour of the day is a peak."""

_MOST_DAYS = 0.8
"""Share of days that must show an hourly peak: what is less regular is no pattern."""

_FULL_CONFIDENCE = 0.75
"""`time_to_full` claims a rate that three of four hours grew by, at least."""

_ISSUES = {Measure.MEMORY: "memory_full", Measure.DISK: "disk_full", Measure.USAGE: "storage_full"}


class _Series(NamedTuple):
    """What is known of one metric of a resource: averages of hours, by their number since 1970 UTC."""

    resource: Resource
    key: SeriesKey
    points: Sequence[Point]
    hours: dict[int, Point]

    @property
    def name(self) -> str:
        """`cpu`, `disk /srv`."""
        return f"{self.key.measure.value} {self.key.subject}".strip()


def baselines(view: EstateView, call: Call) -> BaselinesOutput:
    """Mean, spread and extremes of each metric, by id. A metric seen for fewer than 50 hours has none yet."""
    part, past = _sampled(view, call)
    page = BaselinesOutput()
    if call.text("resource_id"):
        page.resource_id = one_resource(view, call.text("resource_id")).id
    gaps = _without_history(past)
    most_hours: dict[ResourceId, int] = {}
    for series in _history(part.rows, past):
        most_hours[series.resource.id] = max(most_hours.get(series.resource.id, 0), len(series.hours))
        if len(series.hours) >= LEAST_SAMPLES:
            page.baselines.setdefault(series.resource.id, {})[series.name] = _baseline(series)
    young = [each for each in part.rows if each.id not in page.baselines] if past is not None else []
    gaps += [_young(each, most_hours.get(each.id, 0)) for each in young]
    return finished(view, call, page, part, [each.id for each in part.rows], more_gaps=gaps)


def _baseline(series: _Series) -> BaselineRow:
    values = [point.value for point in series.hours.values()]
    return BaselineRow(
        mean=round(fmean(values), 2),
        std_dev=round(pstdev(values), 2),
        min=round(min(point.minimum for point in series.hours.values()), 2),
        max=round(max(point.maximum for point in series.hours.values()), 2),
        hours=len(values),
    )


def patterns(view: EstateView, call: Call) -> PatternsOutput:
    """Daily peaks, trends and findings that come back, and what will be full. Nothing is said of too short a past."""
    part, past = _sampled(view, call)
    page = PatternsOutput()
    for series in _history(part.rows, past):
        page.patterns.extend(_peaks(series))
        if past is not None:
            page.patterns.extend(_trends(series, past.now))
            page.predictions.extend(_predictions(series, past.now))
    page.patterns.extend(_recurring(view, {each.id for each in part.rows}))
    page.patterns.sort(key=lambda row: (row.resource_id, row.pattern_type, row.description))
    page.predictions.sort(key=lambda row: (row.predicted_time or datetime.max.replace(tzinfo=UTC), row.resource_id))
    return finished(view, call, page, part, [each.id for each in part.rows], more_gaps=_without_history(past))


def _sampled(view: EstateView, call: Call) -> tuple[Part[Resource], Past | None]:
    """The resources of this page that have something whose past says something."""
    sampled = view.kept(
        "sampled",
        lambda: [
            each
            for each in view.resources
            if each.metrics or each.filesystems or (each.pool is not None and each.pool.usage_percent is not None)
        ],
    )
    return part_of(call, view.kept(("sampled", call.filters()), lambda: matching(view, call, sampled))), view.past


def _history(resources: Sequence[Resource], past: Past | None) -> Iterator[_Series]:
    if past is None or not resources:
        return
    by_id = {each.id: each for each in resources}
    found = past.points(by_id.keys(), set(TOPICS), SEEN, step=HOUR)
    for key in sorted(found):
        # The present hour has not been seen whole.
        whole = [
            point for point in found[key] if point.at_seconds < past.now.timestamp() // _HOUR_SECONDS * _HOUR_SECONDS
        ]
        yield _Series(by_id[key.resource_id], key, found[key], buckets(whole, _HOUR_SECONDS))


def _without_history(past: Past | None) -> list[Gap]:
    if past is not None:
        return []
    return [Gap(source="", topic=Topic.CPU, reason=GapReason.NO_HISTORY, detail="no history is kept here")]


def _young(resource: Resource, hours: int) -> Gap:
    topic = Topic.POOLS if resource.pool is not None else Topic.CPU
    detail = f"{hours} of the {LEAST_SAMPLES} hours that make a baseline were seen"
    return Gap(source=resource.source, topic=topic, reason=GapReason.NO_HISTORY, detail=detail, resource_id=resource.id)


# --- patterns


def _peaks(series: _Series) -> Iterator[PatternRow]:
    """The hour of the day that is highest, where it is so on nearly all days."""
    if len(series.hours) < LEAST_SAMPLES:
        return
    usual = fmean(point.value for point in series.hours.values())
    by_hour: dict[int, list[int]] = {}
    for number in series.hours:
        by_hour.setdefault(number % _DAY_HOURS, []).append(number)
    means = {
        hour: fmean(series.hours[number].value for number in numbers)
        for hour, numbers in by_hour.items()
        if len(numbers) >= LEAST_OF_HOUR
    }
    if not means:
        return
    peak = max(means, key=lambda hour: (means[hour], -hour))
    high = [number for number in by_hour[peak] if series.hours[number].value >= usual + _PEAK_POINTS]
    share = len(high) / len(by_hour[peak])
    if means[peak] >= usual + _PEAK_POINTS and share >= _MOST_DAYS:
        yield PatternRow(
            resource_id=series.resource.id,
            resource_name=series.resource.name,
            pattern_type="daily_peak",
            description=(
                f"{series.name} peaks at {peak:02}:00 UTC: {means[peak]:.0f}% where {usual:.0f}% is usual, "
                f"on {len(high)} of {len(by_hour[peak])} days"
            ),
            confidence=round(share, 2),
            last_seen=_at(max(high)),
        )


def _trends(series: _Series, now: datetime) -> Iterator[PatternRow]:
    until = now.timestamp()
    since = until - _TREND_SEEN.total_seconds()
    recent = [point for point in series.points if since <= point.at_seconds <= until]
    trend = find_trend(recent, since, until)
    if trend is None or trend.direction is Direction.STABLE:
        return
    hours = {number: point.value for number, point in series.hours.items() if number * _HOUR_SECONDS >= since}
    steps = [value - hours[number - _DAY_HOURS] for number, value in hours.items() if number - _DAY_HOURS in hours]
    along = sum(step * trend.per_day > 0 for step in steps)
    yield PatternRow(
        resource_id=series.resource.id,
        resource_name=series.resource.name,
        pattern_type=trend.direction.value,
        description=f"{series.name} changes by {trend.per_day:+.1f} points a day over 7 days",
        confidence=round(along / len(steps), 2) if steps else 0,
        last_seen=_at(max(hours)) if hours else None,
    )


def _recurring(view: EstateView, shown: set[ResourceId]) -> Iterator[PatternRow]:
    """Findings that are open again after they had been resolved."""
    for each in view.known.open_findings() if view.known is not None else ():
        if each.regression_count and each.resource_id in shown:
            yield PatternRow(
                resource_id=each.resource_id,
                resource_name=each.resource_name,
                pattern_type="recurring",
                description=f"{each.kind} {each.subject}".strip()
                + f" came back {each.regression_count} times since {each.first_seen_at:%Y-%m-%d}",
                confidence=1,
                last_seen=each.last_regression_at or each.last_seen_at,
            )


def _predictions(series: _Series, now: datetime) -> Iterator[PredictionRow]:
    issue = _ISSUES.get(series.key.measure)
    newest = max(series.points, default=None)
    if issue is None or newest is None or now.timestamp() - newest.at_seconds > _DAY_HOURS * _HOUR_SECONDS:
        return
    claim = time_to_full(series.points, newest.value, now.timestamp())
    if claim is not None:
        yield PredictionRow(
            resource_id=series.resource.id,
            resource_name=series.resource.name,
            issue_type=issue,
            predicted_time=now + timedelta(days=claim.days),
            confidence=_FULL_CONFIDENCE,
            recommendation=(
                f"{series.name} grows by {claim.per_day:.1f} points a day (seen for {claim.seen_hours // _DAY_HOURS} "
                "days): free or add space, or find what grows"
            ),
        )


def _at(hour: int) -> datetime:
    return datetime.fromtimestamp(hour * _HOUR_SECONDS, UTC)
