"""Percentages in an estate document that cannot be: each is taken out, and is a gap that says what stood there.

A document is written by other programs. One that gives a load of 350 % (of one CPU) or -1 for "not known" has not
said how things are: a check that cannot use the value must not be the only one to know it.
"""

from collections.abc import Iterator

from findings.model import Gap, GapReason, Topic
from patrol.estate.model import Estate, Metric, Resource

MOST_PERCENT = 100.5
"""Rounding and sampling may go a little beyond 100; more is another unit."""

METRIC_TOPICS = {
    Metric.CPU: Topic.CPU,
    Metric.MEMORY: Topic.MEMORY,
    Metric.SWAP: Topic.SWAP,
    Metric.DISK: Topic.FILESYSTEMS,
    Metric.PRESSURE_CPU: Topic.PRESSURE,
    Metric.PRESSURE_MEMORY: Topic.PRESSURE,
    Metric.PRESSURE_IO: Topic.PRESSURE,
}
"""What a metric is a reading of."""


def take_out_impossible(estate: Estate) -> None:
    """Takes out what cannot be, in place, and adds the gaps."""
    for resource in estate.resources:
        estate.gaps.extend(_taken_out(resource))


def _taken_out(resource: Resource) -> Iterator[Gap]:
    for metric, reading in list(resource.metrics.items()):
        if not _is_possible(reading.value):
            del resource.metrics[metric]
            # What cannot be said of a guest's main disk says nothing of its other file systems.
            subject = "main disk" if metric is Metric.DISK else ""
            yield _gap(resource, METRIC_TOPICS[metric], f"{metric}: {reading.value:g} is no percentage", subject)
    for row in resource.filesystems or ():
        if row.usage_percent is not None and not _is_possible(row.usage_percent):
            mount = row.mountpoint or row.device or ""
            detail = f"use of {mount or 'a file system'}: {row.usage_percent:g} is no percentage"
            row.usage_percent = None
            yield _gap(resource, Topic.FILESYSTEMS, detail, mount)
    pool = resource.pool
    if pool is not None and pool.usage_percent is not None and not _is_possible(pool.usage_percent):
        yield _gap(resource, Topic.POOLS, f"use: {pool.usage_percent:g} is no percentage")
        pool.usage_percent = None


def _is_possible(percent: float) -> bool:
    return 0 <= percent <= MOST_PERCENT


def _gap(resource: Resource, topic: Topic, detail: str, subject: str = "") -> Gap:
    return Gap(
        source=resource.source,
        topic=topic,
        reason=GapReason.UNREADABLE,
        detail=f"{resource.name or resource.id}: {detail}",
        resource_id=resource.id or resource.name,
        subject=subject,
        fix="write percent (0-100) of the whole into the document, or leave out what is not known",
    )
