"""`pulse_storage`: pools, physical disks, RAID arrays, file systems; backups are in `patrol.tools.backups`."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from pydantic import Field

from findings.model import Topic
from patrol.estate.model import Resource, ResourceType, Status
from patrol.tools.backups import backup_tasks, backups
from patrol.tools.ceph import ceph, ceph_details, cluster_row, clusters
from patrol.tools.filters import matching, one_resource
from patrol.tools.metrics import disk_row
from patrol.tools.model import BY_RESOURCE, Call, ResourceFilters, Selector, Tool
from patrol.tools.paging import finished, part_of
from patrol.tools.pbs_jobs import pbs_jobs
from patrol.tools.protection import replication, snapshots
from patrol.tools.view import EstateView
from signals.storage_evidence import (
    DiskHealthOutput,
    FilesystemRow,
    HostDisks,
    PoolRow,
    PoolsOutput,
    RaidOutput,
    RaidRow,
    ResourceDisks,
    ResourceDisksOutput,
)


class StorageArguments(ResourceFilters):
    """Arguments of pulse_storage."""

    type: str = Field(description="what to read")
    storage_id: str | None = Field(default=None, description="pools: id or name of a storage")
    guest_id: str | None = Field(default=None, description="backups, snapshots: VMID, id or name of a guest")
    vm_id: str | None = Field(default=None, description="the same as guest_id")
    cluster: str | None = Field(default=None, description="the same as instance")
    job_type: str | None = Field(default=None, description="pbs_jobs: backup, sync, verify, prune or garbage")
    state: str | None = Field(default=None, description="raid: state of an array, for example clean or degraded")
    status: str | None = Field(default=None, description="pools, backup_tasks, pbs_jobs, replication: in any case")
    min_usage: float | None = Field(
        default=None, ge=0, le=100, description="pools, resource_disks: at least this percentage in use"
    )


def pools(view: EstateView, call: Call) -> PoolsOutput:
    """Pools, datastores and multi-device file systems, by id; the Ceph clusters stand on the first page."""
    part = part_of(call, view.kept(("pools", call.filters()), lambda: list(_chosen_pools(view, call))))
    page = PoolsOutput(pools=[_pool_row(view, each) for each in part.rows])
    found = clusters(view, call) if call.offset == 0 and not _asks_for_pools(call) else []
    page.ceph_clusters = [cluster_row(each) for each in found]
    return finished(view, call, page, part, [each.id for each in (*part.rows, *found)])


def _asks_for_pools(call: Call) -> bool:
    """Whether a filter speaks of what a pool is, which a cluster is not."""
    return bool(call.text("storage_id") or call.text("status")) or call.number("min_usage") is not None


def _chosen_pools(view: EstateView, call: Call) -> Iterator[Resource]:
    status, least = call.text("status").casefold(), call.number("min_usage")
    wanted = call.text("storage_id")
    named = {each.id for each in view.names.candidates(wanted)} if wanted else set()
    if wanted and not named & {each.id for each in view.by_type[ResourceType.STORAGE]}:
        one_resource(view, wanted, "storage_id")  # says that there is none, or that it is no storage
    for resource in matching(view, call, view.by_type[ResourceType.STORAGE]):
        row = resource.pool
        if row is None or (wanted and resource.id not in named):
            continue
        if status and (row.status or resource.status).casefold() != status:
            continue
        if least is not None and (row.usage_percent is None or row.usage_percent < least):
            continue
        yield resource


def _pool_row(view: EstateView, resource: Resource) -> PoolRow:
    row = resource.pool or PoolRow()
    known = None if resource.status is Status.UNKNOWN else resource.status.value
    return msgspec.structs.replace(
        row,
        id=resource.id,
        name=row.name or resource.name or None,
        node=row.node or view.host_name(resource) or None,
        instance=row.instance or view.instance_of(resource) or None,
        status=row.status or known,
    )


def disk_health(view: EstateView, call: Call) -> DiskHealthOutput:
    """Physical disks and RAID arrays by host."""

    def chosen() -> list[Resource]:
        found = matching(view, call, [*view.by_type[ResourceType.DISK], *view.by_type[ResourceType.RAID]])
        return _by_host(view, (each for each in found if each.disk is not None or each.raid is not None))

    part = part_of(call, view.kept(("disk_health", call.filters()), chosen))
    hosts: dict[str, HostDisks] = {}
    for resource in part.rows:
        host = _host_entry(view, resource, hosts)
        if resource.disk is not None:
            host.smart.append(disk_row(view, resource))
        elif resource.raid is not None:
            host.raid.append(_raid_row(resource))
    page = DiskHealthOutput(hosts=list(hosts.values()))
    return finished(view, call, page, part, [each.id for each in part.rows])


def raid(view: EstateView, call: Call) -> RaidOutput:
    """Software RAID arrays by host."""
    state = call.text("state").casefold()

    def chosen() -> list[Resource]:
        found = matching(view, call, view.by_type[ResourceType.RAID])
        arrays = (each for each in found if each.raid is not None)
        return _by_host(view, (each for each in arrays if not state or _state(each) == state))

    part = part_of(call, view.kept(("raid", call.filters()), chosen))
    hosts: dict[str, HostDisks] = {}
    for resource in part.rows:
        _host_entry(view, resource, hosts).arrays.append(_raid_row(resource))
    page = RaidOutput(hosts=list(hosts.values()), total=part.total)
    return finished(view, call, page, part, [each.id for each in part.rows])


def _state(resource: Resource) -> str:
    return resource.raid.state.casefold() if resource.raid is not None else ""


def _by_host(view: EstateView, resources: Iterable[Resource]) -> list[Resource]:
    """Ordered so that a host's rows follow each other, then by id."""

    def place(resource: Resource) -> tuple[str, str]:
        host = view.host_of(resource)
        return host.id if host is not None else resource.parent, resource.id

    return sorted(resources, key=place)


def _host_entry(view: EstateView, resource: Resource, hosts: dict[str, HostDisks]) -> HostDisks:
    host = view.host_of(resource)
    key = host.id if host is not None else resource.parent
    entry = hosts.get(key)
    if entry is None:
        entry = hosts[key] = HostDisks(hostname=view.host_name(resource), target_id=key or None)
    return entry


def _raid_row(resource: Resource) -> RaidRow:
    row = resource.raid or RaidRow()
    return msgspec.structs.replace(
        row, id=resource.id, device=row.device or resource.name, name=row.name or resource.name or None
    )


def resource_disks(view: EstateView, call: Call) -> ResourceDisksOutput:
    """File systems of hosts and guests. `min_usage` chooses resources; their other file systems are shown as well."""
    least = call.number("min_usage")
    read = view.kept("with filesystems", lambda: [each for each in view.resources if each.filesystems is not None])

    def chosen() -> Sequence[Resource]:
        found = matching(view, call, read)
        return found if least is None else [each for each in found if _fullest(each.filesystems or []) >= least]

    part = part_of(call, view.kept(("resource_disks", call.filters()), chosen))
    page = ResourceDisksOutput(
        resources=[
            ResourceDisks(
                id=each.id,
                vmid=each.vmid,
                name=each.name or each.id,
                type=each.type.value,
                node=view.host_name(each) or None,
                instance=view.instance_of(each) or None,
                disks=each.filesystems or [],
            )
            for each in part.rows
        ],
        total=part.total,
    )
    return finished(view, call, page, part, [each.id for each in part.rows])


def _fullest(filesystems: list[FilesystemRow]) -> float:
    return max((row.usage_percent for row in filesystems if row.usage_percent is not None), default=-1)


_GUEST = frozenset({"guest_id", "vm_id", "cluster"})

STORAGE = Tool(
    name="pulse_storage",
    description=(
        "Storage and backups: pools with their ZFS and btrfs state, Ceph clusters, physical disks, software RAID "
        "arrays, file systems, the backups that exist, the attempts at them, the jobs of backup servers, snapshots and "
        "replication. Use it to see how full, whole and backed up things are now; percentages run from 0 to 100 and "
        "`_gb` counts 2^30 bytes. A backup or disk that is not listed is only known to be missing where `complete` is "
        "true and no gap speaks of it."
    ),
    selector_argument="type",
    arguments=StorageArguments,
    selectors={
        selector.name: selector
        for selector in (
            Selector(
                name="pools",
                description="pools, datastores and multi-device file systems with ZFS and btrfs state; Ceph clusters",
                answer=pools,
                topics=frozenset({Topic.POOLS, Topic.BTRFS, Topic.CEPH}),
                filters=BY_RESOURCE | {"storage_id", "status", "min_usage", "cluster"},
                rows_tell=True,
            ),
            Selector(
                name="disk_health",
                description="physical disks and RAID arrays by host",
                answer=disk_health,
                topics=frozenset({Topic.SMART, Topic.RAID}),
                filters=BY_RESOURCE | {"cluster"},
                rows_tell=True,
            ),
            Selector(
                name="raid",
                description="software RAID arrays by host",
                answer=raid,
                topics=frozenset({Topic.RAID}),
                filters=BY_RESOURCE | {"state", "cluster"},
                rows_tell=True,
            ),
            Selector(
                name="resource_disks",
                description="file systems of hosts and guests",
                answer=resource_disks,
                topics=frozenset({Topic.FILESYSTEMS}),
                filters=BY_RESOURCE | {"min_usage", "cluster"},
                rows_tell=True,
            ),
            Selector(
                name="backups",
                description="backups that exist, backup servers, the newest attempt for each guest",
                answer=backups,
                topics=frozenset({Topic.BACKUPS, Topic.BACKUP_TASKS}),
                filters=BY_RESOURCE | _GUEST,
            ),
            Selector(
                name="backup_tasks",
                description="attempts at backups, newest first",
                answer=backup_tasks,
                topics=frozenset({Topic.BACKUP_TASKS}),
                filters=BY_RESOURCE | _GUEST | {"status"},
                default_limit=50,
            ),
            Selector(
                name="pbs_jobs",
                description="jobs of backup servers",
                answer=pbs_jobs,
                topics=frozenset({Topic.BACKUP_TASKS}),
                filters=frozenset({"instance", "cluster", "source", "status", "job_type", "resource_id"}),
            ),
            Selector(
                name="snapshots",
                description="snapshots of guests with their age; `limit` counts guests",
                answer=snapshots,
                topics=frozenset({Topic.SNAPSHOTS}),
                filters=BY_RESOURCE | _GUEST,
                rows_tell=True,
            ),
            Selector(
                name="replication",
                description="jobs that copy guests to another node, how their last run ended and when the next is due",
                answer=replication,
                topics=frozenset({Topic.REPLICATION}),
                filters=BY_RESOURCE | _GUEST | {"status"},
            ),
            Selector(
                name="ceph",
                description="Ceph clusters in short: health, OSDs, use",
                answer=ceph,
                topics=frozenset({Topic.CEPH}),
                filters=BY_RESOURCE | {"cluster"},
                rows_tell=True,
            ),
            Selector(
                name="ceph_details",
                description="Ceph clusters in full: health messages, monitors, OSDs, placement groups, pools",
                answer=ceph_details,
                topics=frozenset({Topic.CEPH}),
                filters=BY_RESOURCE | {"cluster"},
                rows_tell=True,
            ),
        )
    },
)
