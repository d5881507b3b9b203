"""`pulse_query` action=topology: what lives on what, in the documented groups."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from patrol.estate.model import Resource, ResourceType, Status
from patrol.tools.filters import matching
from patrol.tools.model import Call
from patrol.tools.paging import finished, part_of
from patrol.tools.view import EstateView
from signals.pages import Page, Row, always_list

_UP = frozenset({Status.RUNNING, Status.ONLINE})
_MOST_CONTAINERS = 200
"""Containers that are listed of one Docker host: more would push everything else out of a model's window."""
_HOSTS = (ResourceType.NODE, ResourceType.DOCKER_HOST, ResourceType.K8S_CLUSTER, ResourceType.AGENT)


class GuestRow(Row):
    """A guest or container, where it lives."""

    id: str
    name: str = ""
    status: str = ""
    vmid: int | None = None


class NodeRow(Row, omit_defaults=False):
    """A hypervisor with its guests. `can_execute` is always false: Patrol runs no commands on what it watches."""

    id: str
    name: str = ""
    status: str = ""
    agent_connected: bool = False
    can_execute: bool = False
    vms: list[GuestRow] = msgspec.field(default_factory=list)
    containers: list[GuestRow] = msgspec.field(default_factory=list)
    vm_count: int = 0
    container_count: int = 0


class DockerHostRow(Row, omit_defaults=False):
    """A Docker host with its containers, the first 200 of them."""

    id: str
    name: str = ""
    status: str = ""
    containers: list[GuestRow] = msgspec.field(default_factory=list)
    container_count: int = 0
    returned_container_count: int = 0
    containers_truncated: bool = False
    running_count: int = 0


class ClusterRow(Row, omit_defaults=False):
    id: str
    name: str = ""
    status: str = ""
    node_count: int = 0
    pod_count: int = 0


class SystemRow(Row, omit_defaults=False):
    """A host that is read from inside. `child_count`: disks, pools and arrays on it."""

    id: str
    name: str = ""
    status: str = ""
    child_count: int = 0


class Proxmox(Row, omit_defaults=False):
    nodes: list[NodeRow] = msgspec.field(default_factory=list)


class Docker(Row, omit_defaults=False):
    hosts: list[DockerHostRow] = msgspec.field(default_factory=list)


class Kubernetes(Row, omit_defaults=False):
    clusters: list[ClusterRow] = msgspec.field(default_factory=list)


class Summary(Row, omit_defaults=False):
    """How many there are, and how many of them run."""

    total_nodes: int = 0
    running_nodes: int = 0
    total_vms: int = 0
    running_vms: int = 0
    total_containers: int = 0
    running_containers: int = 0
    total_docker_hosts: int = 0
    running_docker_hosts: int = 0
    total_app_containers: int = 0
    running_app_containers: int = 0
    total_k8s_clusters: int = 0
    running_k8s_clusters: int = 0
    total_systems: int = 0
    running_systems: int = 0


class TopologyOutput(Page):
    """The hosts of this page with what lives on them; `summary` counts the whole estate that the filters admit."""

    proxmox: Proxmox = msgspec.field(default_factory=Proxmox)
    docker: Docker = msgspec.field(default_factory=Docker)
    kubernetes: Kubernetes = msgspec.field(default_factory=Kubernetes)
    systems: list[SystemRow] = always_list()
    summary: Summary = msgspec.field(default_factory=Summary)


def topology(view: EstateView, call: Call) -> TopologyOutput:
    """Hosts by kind and id, each with the guests on it. Paging counts hosts."""
    chosen = view.kept(("topology", call.filters()), lambda: matching(view, call, view.resources))
    hosts = view.kept(("topology hosts", call.filters()), lambda: _hosts(chosen))
    below = view.kept("below", lambda: _below(view))
    part = part_of(call, hosts)
    page = TopologyOutput(summary=_summary(chosen))
    for host in part.rows:
        children = [child for group in below for child in group.get(host.id, ())]
        _add(page, host, children)
    return finished(view, call, page, part, [])


def _hosts(resources: Sequence[Resource]) -> list[Resource]:
    found = [each for each in resources if each.type in _HOSTS]
    return sorted(found, key=lambda each: (_HOSTS.index(each.type), each.id))


def _below(view: EstateView) -> list[dict[str, list[Resource]]]:
    """What lives on each resource, by its id; in a list of one, as selections are lists."""
    below: dict[str, list[Resource]] = {}
    for resource in view.resources:
        if resource.parent:
            below.setdefault(resource.parent, []).append(resource)
    return [below]


def _add(page: TopologyOutput, host: Resource, children: Sequence[Resource]) -> None:
    status = host.status.value
    if host.type is ResourceType.NODE:
        vms = [_guest(each) for each in children if each.type is ResourceType.VM]
        containers = [_guest(each) for each in children if each.type is ResourceType.SYSTEM_CONTAINER]
        page.proxmox.nodes.append(
            NodeRow(
                id=host.id,
                name=host.name,
                status=status,
                vms=vms,
                containers=containers,
                agent_connected=any(each.type is ResourceType.AGENT for each in children),
                vm_count=len(vms),
                container_count=len(containers),
            )
        )
    elif host.type is ResourceType.DOCKER_HOST:
        inside = [each for each in children if each.type is ResourceType.APP_CONTAINER]
        shown = [_guest(each) for each in inside[:_MOST_CONTAINERS]]
        page.docker.hosts.append(
            DockerHostRow(
                id=host.id,
                name=host.name,
                status=status,
                containers=shown,
                container_count=len(inside),
                returned_container_count=len(shown),
                containers_truncated=len(shown) < len(inside),
                running_count=sum(each.status in _UP for each in inside),
            )
        )
    elif host.type is ResourceType.K8S_CLUSTER:
        nodes = sum(each.type is ResourceType.K8S_NODE for each in children)
        pods = sum(each.type is ResourceType.POD for each in children)
        page.kubernetes.clusters.append(
            ClusterRow(id=host.id, name=host.name, status=status, node_count=nodes, pod_count=pods)
        )
    else:
        page.systems.append(SystemRow(id=host.id, name=host.name, status=status, child_count=len(children)))


def _guest(resource: Resource) -> GuestRow:
    return GuestRow(id=resource.id, name=resource.name, status=resource.status.value, vmid=resource.vmid)


_COUNTED = {
    ResourceType.NODE: "nodes",
    ResourceType.VM: "vms",
    ResourceType.SYSTEM_CONTAINER: "containers",
    ResourceType.DOCKER_HOST: "docker_hosts",
    ResourceType.APP_CONTAINER: "app_containers",
    ResourceType.K8S_CLUSTER: "k8s_clusters",
    ResourceType.AGENT: "systems",
}


def _summary(resources: Sequence[Resource]) -> Summary:
    total = Counter(_COUNTED[each.type] for each in resources if each.type in _COUNTED)
    running = Counter(_COUNTED[each.type] for each in resources if each.type in _COUNTED and each.status in _UP)
    counts = {f"total_{name}": count for name, count in total.items()}
    return Summary(**counts, **{f"running_{name}": count for name, count in running.items()})
