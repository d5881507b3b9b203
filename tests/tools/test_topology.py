"""What lives on what, in the documented shape."""

from datetime import UTC, datetime

import msgspec
import pytest

from patrol.estate.model import Estate, Resource, ResourceType, SourceState, Status
from patrol.tools.registry import Toolbox
from patrol.tools.topology import TopologyOutput

NOW = datetime(2026, 3, 2, tzinfo=UTC)


def thing(kind: ResourceType, native: str, parent: str = "", status: Status = Status.RUNNING) -> Resource:
    return Resource(id=f"{kind}:lab:{native}", type=kind, name=native, status=status, parent=parent, source="lab")


NODE, DOCKER = "node:lab:pve1", "docker-host:lab:dock"
RESOURCES = [
    thing(ResourceType.NODE, "pve1"),
    thing(ResourceType.NODE, "pve2", status=Status.OFFLINE),
    thing(ResourceType.VM, "101", NODE),
    thing(ResourceType.VM, "102", NODE, Status.STOPPED),
    thing(ResourceType.SYSTEM_CONTAINER, "103", NODE),
    thing(ResourceType.AGENT, "inside", NODE),
    thing(ResourceType.DOCKER_HOST, "dock"),
    *(thing(ResourceType.APP_CONTAINER, f"c{number:03}", DOCKER) for number in range(203)),
    thing(ResourceType.K8S_CLUSTER, "k8s"),
    thing(ResourceType.K8S_NODE, "k1", "k8s-cluster:lab:k8s"),
    thing(ResourceType.POD, "p1", "k8s-cluster:lab:k8s"),
    thing(ResourceType.DISK, "sda", "agent:lab:inside"),
]


def ask(**arguments: object) -> TopologyOutput:
    estate = Estate(resources=RESOURCES, sources=[SourceState(name="lab", read=["inventory"])])  # type: ignore[list-item]
    page = Toolbox(estate, NOW).call("pulse_query", {"action": "topology", **arguments})
    assert isinstance(page, TopologyOutput)
    return page


def test_hosts_carry_what_lives_on_them() -> None:
    page = ask()
    first, second = page.proxmox.nodes
    assert [guest.vmid or guest.name for guest in first.vms] == ["101", "102"]
    assert (first.vm_count, first.container_count, first.agent_connected, first.can_execute) == (2, 1, True, False)
    assert (second.vm_count, second.status) == (0, "offline")
    (docker,) = page.docker.hosts
    assert (docker.container_count, docker.returned_container_count, docker.containers_truncated) == (203, 200, True)
    assert docker.running_count == 203
    assert (page.kubernetes.clusters[0].node_count, page.kubernetes.clusters[0].pod_count) == (1, 1)
    assert [(system.name, system.child_count) for system in page.systems] == [("inside", 1)]
    assert page.complete


def test_the_summary_counts_everything() -> None:
    summary = ask(limit=1).summary
    assert (summary.total_nodes, summary.running_nodes) == (2, 1)
    assert (summary.total_vms, summary.running_vms, summary.total_app_containers) == (2, 1, 203)


def test_pages_of_hosts_together_are_all_hosts() -> None:
    seen: list[str] = []
    for offset in range(5):
        page = ask(limit=1, offset=offset)
        assert page.pagination is not None
        assert page.pagination.total == 5
        rows = [*page.proxmox.nodes, *page.docker.hosts, *page.kubernetes.clusters, *page.systems]
        seen.extend(row.id for row in rows)
    assert seen == ["node:lab:pve1", "node:lab:pve2", DOCKER, "k8s-cluster:lab:k8s", "agent:lab:inside"]


@pytest.mark.parametrize("key", ["proxmox", "docker", "kubernetes", "summary"])
def test_the_documented_keys_are_there(key: str) -> None:
    assert key in msgspec.to_builtins(ask())
