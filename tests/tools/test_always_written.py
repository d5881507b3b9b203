"""What the documents promise of an answer is in it also where it is empty, false or 0: none is not unknown."""

import msgspec
import pytest

from patrol.estate.model import Estate
from signals.pages import Page
from tests.tools.estates import guest, source, toolbox, two_nodes
from tests.tools.test_answers import EVERY_SELECTOR

LISTS = {
    ("pulse_storage", "pools"): "pools ceph_clusters",
    ("pulse_storage", "disk_health"): "hosts",
    ("pulse_storage", "raid"): "hosts",
    ("pulse_storage", "resource_disks"): "resources",
    ("pulse_storage", "backups"): "pbs pve pbs_servers recent_tasks",
    ("pulse_storage", "backup_tasks"): "tasks",
    ("pulse_storage", "snapshots"): "snapshots",
    ("pulse_storage", "pbs_jobs"): "jobs",
    ("pulse_storage", "ceph"): "clusters",
    ("pulse_storage", "ceph_details"): "hosts",
    ("pulse_storage", "replication"): "jobs",
    ("pulse_metrics", "performance"): "points",
    ("pulse_metrics", "disks"): "disks",
    ("pulse_metrics", "temperatures"): "hosts",
    ("pulse_metrics", "network"): "hosts",
    ("pulse_metrics", "diskio"): "hosts",
    ("pulse_metrics", "baselines"): "",
    ("pulse_metrics", "patterns"): "patterns predictions",
    ("pulse_alerts", "list"): "alerts",
    ("pulse_alerts", "resolved"): "alerts",
    ("pulse_alerts", "findings"): "active dismissed",
    ("pulse_query", "search"): "matches",
    ("pulse_query", "list"): (
        "systems nodes vms containers app_containers docker_hosts storage_pools physical_disks"
        " k8s_clusters k8s_nodes k8s_pods"
    ),
    ("pulse_query", "get"): "tags networks",
    ("pulse_query", "config"): "mounts disks",
    ("pulse_query", "topology"): "systems",
    ("pulse_query", "health"): "connections",
    ("pulse_query", "inventory"): "resources",
}
"""The documented lists of each selector."""

OF_ONE = {("pulse_query", "get"), ("pulse_query", "config")}
"""Selectors that are about one resource."""


def written(estate: Estate, tool: str, arguments: dict[str, object]) -> dict[str, object]:
    """The answer as a reader of JSON sees it."""
    page = toolbox(estate).call(tool, arguments)
    assert isinstance(page, Page)
    return msgspec.json.decode(msgspec.json.encode(page))


@pytest.mark.parametrize(("tool", "argument", "selector"), EVERY_SELECTOR)
def test_an_answer_about_nothing_has_every_documented_list(tool: str, argument: str, selector: str) -> None:
    sources = [] if (tool, selector) == ("pulse_query", "health") else [source()]
    estate = Estate(sources=sources, resources=[guest("a", 101, "pve1")] if (tool, selector) in OF_ONE else [])
    of_what = {("pulse_query", "search"): {"query": "x"}, **{key: {"resource_id": "vm:a:101"} for key in OF_ONE}}
    page = written(estate, tool, {argument: selector, **of_what.get((tool, selector), {})})
    expected = LISTS[tool, selector].split()
    assert [page[name] for name in expected] == [[]] * len(expected)
    assert isinstance(page["complete"], bool)
    assert isinstance(page["gaps"], list)


def test_what_is_false_or_zero_is_written() -> None:
    away = Estate(sources=[source(connected=False)])
    assert written(away, "pulse_query", {"action": "health"})["connections"] == [
        {"instance_id": "lab", "connected": False}
    ]
    page = written(two_nodes(), "pulse_query", {"action": "list", "limit": 1})
    assert page["pagination"]["offset"] == 0
    hosts = written(two_nodes(), "pulse_query", {"action": "topology"})["proxmox"]["nodes"]
    assert [(each["agent_connected"], each["can_execute"]) for each in hosts] == [(False, False)] * 2
