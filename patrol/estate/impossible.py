"""Percentages and counts in an estate document that cannot be: each is a gap that says what stood there.

A document is written by other programs. One that gives a load of 350 % (of one CPU) or -1 for "not known" has not
said how things are: a check that cannot use the value must not be the only one to know it. A percentage is taken out
as well; a count stays, and its check is blind (`signals.readings`).
"""

from collections.abc import Iterator

from findings.identity import canonical_id
from findings.model import Gap, GapReason, Topic
from patrol.estate.model import Estate, Metric, Resource
from signals.backup_evidence import PbsServerRow
from signals.pages import Row
from signals.readings import MOST_PERCENT, is_below_zero

_PERCENT = "write percent (0-100) of the whole into the document, or leave out what is not known"
_COUNTS = "write how many there are (0 or more) into the document, or leave out what is not known"
_NO_COUNTS = ("devid", "rebuild", "usage", "inodes")
"""Beginnings of numbers of those rows that count nothing, or are percentages, which are judged by themselves."""

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
        for topic, place, row in _counting(resource):
            for name in _below_zero(row):
                detail = f"{place}{name}: {getattr(row, name):g} is no count"
                estate.gaps.append(_gap(resource, topic, detail, fix=_COUNTS))
    for server in estate.pbs_servers:
        estate.gaps.extend(_taken_out_of_datastores(server))


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
        if row.inodes_percent is not None and not _is_possible(row.inodes_percent):
            mount = row.mountpoint or row.device or ""
            detail = f"inodes of {mount or 'a file system'}: {row.inodes_percent:g} is no percentage"
            row.inodes_percent = None
            yield _gap(resource, Topic.FILESYSTEMS, detail, mount)
    pool = resource.pool
    if pool is not None and pool.usage_percent is not None and not _is_possible(pool.usage_percent):
        yield _gap(resource, Topic.POOLS, f"use: {pool.usage_percent:g} is no percentage")
        pool.usage_percent = None
    yield from _taken_out_of_ceph(resource)


def _taken_out_of_ceph(resource: Resource) -> Iterator[Gap]:
    cluster = resource.ceph
    if cluster is None:
        return
    pgs = cluster.pg_map
    if pgs is not None and pgs.usage_percent is not None and not _is_possible(pgs.usage_percent):
        yield _gap(resource, Topic.CEPH, f"use: {pgs.usage_percent:g} is no percentage")
        pgs.usage_percent = None
    for pool in cluster.pools or ():
        if pool.percent_used is not None and not _is_possible(pool.percent_used):
            yield _gap(resource, Topic.CEPH, f"use of pool {pool.name}: {pool.percent_used:g} is no percentage")
            pool.percent_used = None


def _taken_out_of_datastores(server: PbsServerRow) -> Iterator[Gap]:
    for store in server.datastores:
        if store.usage_percent is not None and not _is_possible(store.usage_percent):
            yield Gap(
                source="",
                topic=Topic.POOLS,
                reason=GapReason.UNREADABLE,
                detail=f"datastore {store.name} of {server.name}: {store.usage_percent:g} is no percentage",
                resource_id=canonical_id("storage", server.name, store.name),
                fix=_PERCENT,
            )
            store.usage_percent = None


def _counting(resource: Resource) -> Iterator[tuple[Topic, str, Row]]:
    """The rows of a resource that count what is wrong or missing, with what they are about."""
    pool, disk = resource.pool, resource.disk
    if pool is not None and pool.zfs is not None:
        yield Topic.POOLS, "", pool.zfs
        for vdev in pool.zfs.vdevs:
            yield Topic.POOLS, f"{vdev.name} ", vdev
    if pool is not None and pool.btrfs is not None:
        yield Topic.BTRFS, "", pool.btrfs
        for device in pool.btrfs.devices:
            yield Topic.BTRFS, f"{device.path} ", device
    if disk is not None:
        for counters in (disk.attributes, disk.smart_attributes, disk.smartAttributes):
            if counters is not None:
                yield Topic.SMART, "", counters
    if resource.raid is not None:
        yield Topic.RAID, "", resource.raid
    if resource.ceph is not None and resource.ceph.osd_map is not None:
        yield Topic.CEPH, "", resource.ceph.osd_map
    for row in resource.filesystems or ():
        if is_below_zero(row.error_count):
            yield Topic.FILESYSTEMS, f"{row.mountpoint or row.device or ''} ", row


def _below_zero(row: Row) -> list[str]:
    return [
        name
        for name in row.__struct_fields__
        if isinstance(value := getattr(row, name), (int, float)) and value < 0 and not name.startswith(_NO_COUNTS)
    ]


def _is_possible(percent: float) -> bool:
    return 0 <= percent <= MOST_PERCENT


def _gap(resource: Resource, topic: Topic, detail: str, subject: str = "", fix: str = _PERCENT) -> Gap:
    return Gap(
        source=resource.source,
        topic=topic,
        reason=GapReason.UNREADABLE,
        detail=f"{resource.name or resource.id}: {detail}",
        resource_id=resource.id or resource.name,
        subject=subject,
        fix=fix,
    )
