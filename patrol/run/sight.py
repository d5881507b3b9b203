"""Which gaps are a loss, and which are the way things are.

A gap is lost where the same thing was read before, or where it is a whole configured source. Everything
else that cannot be read stands, and so does what an operator accepted.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from findings.model import Gap, GapReason, ResourceId, Sight, Topic
from patrol.estate.model import Estate, Metric, Resource
from patrol.settings.sources import AcceptedGap

ASLEEP_AT_MOST = timedelta(days=7)
"""A sleeping disk whose verdict is older than this counts as lost from sight (rules, Blindness)."""


class Reading(NamedTuple):
    """One thing that a source reads: a topic of one resource, or ("") of the source itself."""

    source: str
    topic: Topic
    resource_id: str


_METRIC_TOPICS = {
    Metric.CPU: Topic.CPU,
    Metric.MEMORY: Topic.MEMORY,
    Metric.SWAP: Topic.SWAP,
    Metric.PRESSURE_CPU: Topic.PRESSURE,
    Metric.PRESSURE_MEMORY: Topic.PRESSURE,
    Metric.PRESSURE_IO: Topic.PRESSURE,
}
_NEVER_LOST = frozenset({GapReason.NO_HISTORY, GapReason.NOT_REPORTED})
"""Reasons that lie in the thing itself: there was nothing to lose."""


def readings(estate: Estate) -> dict[tuple[str, Topic], list[ResourceId]]:
    """Everything that this collection could read, by source and topic: "" is the topic as a whole."""
    found: dict[tuple[str, Topic], list[ResourceId]] = {}
    for source in estate.sources:
        for topic in source.read:
            found.setdefault((source.name, topic), []).append("")
    for resource in estate.resources:
        resource_id, source_name = resource.id, resource.source
        for topic in _topics(resource):
            ids = found.get((source_name, topic))
            if ids is None:
                found[source_name, topic] = [resource_id]
            elif ids[-1] != resource_id:  # three pressures are one topic
                ids.append(resource_id)
    return found


def _topics(resource: Resource) -> Iterable[Topic]:
    for metric in resource.metrics:
        if metric in _METRIC_TOPICS:
            yield _METRIC_TOPICS[metric]
    if resource.filesystems is not None:
        yield Topic.FILESYSTEMS
    if resource.units is not None:
        yield Topic.UNITS
    if resource.sensors is not None:
        yield Topic.TEMPERATURES
    if resource.disk is not None and resource.disk.smart_complete:
        yield Topic.SMART
    if resource.probes:
        yield Topic.REACHABILITY
    sections = (
        (Topic.SNAPSHOTS, resource.snapshots),
        (Topic.CEPH, resource.ceph),
        (Topic.NETWORK, resource.interfaces),
        (Topic.DISK_IO, resource.block_devices),
        (Topic.CONFIG, resource.config),
    )
    yield from (topic for topic, section in sections if section is not None)


def classify(
    gaps: Iterable[Gap],
    last_read: Callable[[Reading], datetime | None],
    accepted: Sequence[AcceptedGap],
    now: datetime,
) -> list[Gap]:
    """The gaps with their sight: lost or standing."""
    return [replace(gap, sight=_sight(gap, last_read, accepted, now)) for gap in gaps]


def _sight(
    gap: Gap, last_read: Callable[[Reading], datetime | None], accepted: Sequence[AcceptedGap], now: datetime
) -> Sight:
    if any(_accepts(each, gap) for each in accepted) or gap.reason in _NEVER_LOST:
        return Sight.STANDING
    if gap.topic is Topic.INVENTORY and gap.resource_id is None:
        return Sight.LOST
    if gap.reason is GapReason.ASLEEP:
        read_at = last_read(Reading(gap.source, gap.topic, gap.resource_id or ""))
        return Sight.LOST if read_at is not None and now - read_at > ASLEEP_AT_MOST else Sight.STANDING
    if last_read(Reading(gap.source, gap.topic, gap.resource_id or "")) is not None:
        return Sight.LOST
    return gap.sight


def _accepts(accepted: AcceptedGap, gap: Gap) -> bool:
    return (
        accepted.source == gap.source
        and accepted.topic is gap.topic
        and accepted.resource in ("", gap.resource_id or "")
    )
