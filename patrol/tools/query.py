"""`pulse_query`: what there is. Search, one resource, lists, health, and the inventory that detection needs."""

from collections import Counter
from collections.abc import Sequence

from pydantic import Field

from findings.model import Topic
from patrol.estate.identity import HOSTS
from patrol.estate.inventory import inventory_row
from patrol.estate.model import Metric, Resource, ResourceType, Status
from patrol.tools.answers import GetOutput, ListOutput, ListRow, MatchRow, NetworkRow, SearchOutput, UseRow
from patrol.tools.backups import all_backups, shown
from patrol.tools.config import config
from patrol.tools.filters import matching, one_resource
from patrol.tools.health import health
from patrol.tools.model import BY_RESOURCE, Call, ErrorCode, ResourceFilters, Selector, Tool, ToolError
from patrol.tools.paging import finished, part_of
from patrol.tools.reachability import is_reachable
from patrol.tools.topology import topology
from patrol.tools.view import EstateView
from signals.backup_evidence import BackupTaskRow
from signals.evidence import InventoryOutput
from signals.times import parse_time

_GIB = 1 << 30


class QueryArguments(ResourceFilters):
    """Arguments of pulse_query."""

    action: str = Field(description="what to read")
    query: str | None = Field(default=None, min_length=1, description="search: part of a name, id, address or tag")
    status: str | None = Field(default=None, description="search, list, inventory: running, stopped, offline ...")


def inventory(view: EstateView, call: Call) -> InventoryOutput:
    """Every resource with its ids, by id; the backup stores stand on the first page."""
    part = part_of(call, _chosen(view, call))
    page = InventoryOutput(
        resources=[inventory_row(each) for each in part.rows],
        backup_stores=view.estate.backup_stores if call.offset == 0 else [],
    )
    return finished(view, call, page, part, [each.id for each in part.rows])


def _chosen(view: EstateView, call: Call) -> Sequence[Resource]:
    status = call.text("status").casefold()
    known = {word.value for word in Status}
    if status and status not in known:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"status: {status!r} is no status", allowed=tuple(sorted(known)))
    up = {Status.RUNNING.value, Status.ONLINE.value}
    admitted = up if status in up else {status}

    def chosen() -> Sequence[Resource]:
        found = matching(view, call, view.resources)
        return [each for each in found if each.status.value in admitted] if status else found

    return view.kept(("resources", call.filters()), chosen)


def search(view: EstateView, call: Call) -> SearchOutput:
    """Resources whose id, name, alias, address or tag holds the text, exact names first."""
    text = call.text("query").casefold()
    if not text:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "query: action search needs the text to look for")

    def found() -> list[Resource]:
        exact = {each.id for each in view.names.candidates(text)}
        holding = [each for each in _chosen(view, call) if each.id in exact or _holds(each, text)]
        return sorted(holding, key=lambda each: (each.id not in exact, each.id))

    part = part_of(call, view.kept(("search", call.filters()), found))
    page = SearchOutput(
        query=call.text("query"),
        matches=[
            MatchRow(
                type=each.type.value,
                id=each.id,
                name=each.name,
                status=each.status.value,
                node=view.host_name(each),
                vmid=each.vmid,
                instance=view.instance_of(each),
            )
            for each in part.rows
        ],
        total=part.total,
    )
    return finished(view, call, page, part, [])


def _holds(resource: Resource, text: str) -> bool:
    if text in resource.id.casefold() or text in resource.name.casefold():
        return True
    words = (*resource.aliases, *resource.addresses, *resource.tags)
    return any(text in word.casefold() for word in words)


def get(view: EstateView, call: Call) -> GetOutput:
    """One resource. Raises ToolError `not_found` or `ambiguous`."""
    if not call.text("resource_id"):
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "resource_id: action get needs the resource to show")
    resource = one_resource(view, call.text("resource_id"))
    below = _children(view).get(resource.id, 0)
    page = GetOutput(
        type=resource.type.value,
        id=resource.id,
        name=resource.name,
        status=resource.status.value,
        aliases=resource.aliases,
        parent=resource.parent,
        source=resource.source,
        node=view.host_name(resource),
        instance=view.instance_of(resource),
        vmid=resource.vmid,
        template=resource.template,
        cpu=_use(resource, Metric.CPU),
        memory=_use(resource, Metric.MEMORY),
        disk=_use(resource, Metric.DISK),
        os=resource.os,
        tags=resource.tags,
        networks=[NetworkRow(addresses=resource.addresses)] if resource.addresses else [],
        reachable=is_reachable(resource),
        last_backup=_last_backup(view, resource),
        children=below,
        first_seen=resource.first_seen,
    )
    return finished(view, call, page, part_of(call, [resource]), [resource.id])


def _children(view: EstateView) -> Counter[str]:
    """How many resources live on each one."""
    return view.kept("children", lambda: Counter(each.parent for each in view.resources if each.parent))


def _use(resource: Resource, metric: Metric) -> UseRow | None:
    reading = resource.metrics.get(metric)
    row = UseRow()
    if reading is not None:
        row.percent, row.window_seconds = reading.value, reading.window_seconds
    if metric is Metric.CPU:
        row.cores = resource.cores
    elif metric is Metric.MEMORY:
        used, total = resource.memory_used_bytes, resource.memory_total_bytes
        row.used_gb = None if used is None else used / _GIB
        row.total_gb = None if total is None else total / _GIB
    return None if row == UseRow() else row


def _last_backup(view: EstateView, resource: Resource) -> str | None:
    rows = (shown(view, owned) for owned in all_backups(view).stored if owned.guest is resource)
    times = (parse_time(row.backup_time) for row in rows if not isinstance(row, BackupTaskRow))
    newest = max((at for at in times if at is not None), default=None)
    return newest.isoformat() if newest is not None else None


_GROUPS = {
    ResourceType.AGENT: "systems",
    ResourceType.NODE: "nodes",
    ResourceType.VM: "vms",
    ResourceType.SYSTEM_CONTAINER: "containers",
    ResourceType.APP_CONTAINER: "app_containers",
    ResourceType.DOCKER_HOST: "docker_hosts",
    ResourceType.STORAGE: "storage_pools",
    ResourceType.DISK: "physical_disks",
    ResourceType.RAID: "raid_arrays",
    ResourceType.PBS: "backup_servers",
    ResourceType.NETWORK: "networks",
    ResourceType.K8S_CLUSTER: "k8s_clusters",
    ResourceType.K8S_NODE: "k8s_nodes",
    ResourceType.POD: "k8s_pods",
}


def list_resources(view: EstateView, call: Call) -> ListOutput:
    """Resources in the documented groups; one paging runs through all of them, by id."""
    found = _chosen(view, call)
    part = part_of(call, found)
    counts = view.kept(("groups", call.filters()), lambda: Counter(_GROUPS[each.type] for each in found))
    page = ListOutput(total={group: counts[group] for group in _GROUPS.values()})
    children = _children(view)
    for resource in part.rows:
        getattr(page, _GROUPS[resource.type]).append(_list_row(view, resource, children))
    return finished(view, call, page, part, [])


def _list_row(view: EstateView, resource: Resource, children: Counter[str]) -> ListRow:
    cpu, memory, disk = (resource.metrics.get(metric) for metric in (Metric.CPU, Metric.MEMORY, Metric.DISK))
    return ListRow(
        id=resource.id,
        name=resource.name,
        status=resource.status.value,
        node="" if resource.type in HOSTS else view.host_name(resource),
        instance=view.instance_of(resource),
        vmid=resource.vmid,
        cpu_percent=cpu.value if cpu is not None else None,
        memory_percent=memory.value if memory is not None else None,
        disk_percent=disk.value if disk is not None else None,
        child_count=children.get(resource.id) if resource.type in HOSTS else None,
    )


_INVENTORY = frozenset({Topic.INVENTORY})

QUERY = Tool(
    name="pulse_query",
    description=(
        "What there is: nodes, guests, containers, disks, pools, arrays, backup servers and networks of the estate, "
        "with their canonical ids, where they live, and whether they answer. Use it first, to turn a name into the id "
        "that the other tools take and to see which sources could be read. Every answer says in `complete` and `gaps` "
        "what could not be read: what is not listed is then unknown, not absent."
    ),
    selector_argument="action",
    arguments=QueryArguments,
    selectors={
        selector.name: selector
        for selector in (
            Selector(
                name="search",
                description="resources by part of a name, id, address or tag",
                answer=search,
                topics=_INVENTORY,
                filters=BY_RESOURCE | {"query", "status"},
            ),
            Selector(
                name="get",
                description="one resource by id, alias or name",
                answer=get,
                topics=frozenset(Topic),
                filters=frozenset({"resource_id"}),
                rows_tell=True,
            ),
            Selector(
                name="config",
                description="how one guest or container is set up, by id, alias or name",
                answer=config,
                topics=frozenset({Topic.CONFIG}),
                filters=frozenset({"resource_id"}),
                rows_tell=True,
            ),
            Selector(
                name="list",
                description="resources by kind, with their use",
                answer=list_resources,
                topics=_INVENTORY,
                filters=BY_RESOURCE | {"status"},
            ),
            Selector(
                name="topology",
                description="hosts with the guests and containers on them, and counts",
                answer=topology,
                topics=_INVENTORY,
                filters=BY_RESOURCE,
            ),
            Selector(
                name="inventory",
                description="every resource with all its ids, and the stores that hold backups",
                answer=inventory,
                topics=_INVENTORY,
                filters=BY_RESOURCE | {"status"},
            ),
            Selector(
                name="health",
                description="connections of the sources, failed units, guests that answer, hosts that are online",
                answer=health,
                topics=frozenset({Topic.UNITS, Topic.REACHABILITY, Topic.INVENTORY}),
                filters=BY_RESOURCE,
                rows_tell=True,
            ),
        )
    },
)
