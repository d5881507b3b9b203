"""Each selector answers with the documented shape and keeps its filters."""

import msgspec
import pytest

from findings.model import Topic
from patrol.estate.model import Alert, Estate, Status
from patrol.tools.registry import TOOLS, Toolbox
from signals.evidence import HealthOutput, UnitRow
from signals.pages import Page
from signals.times import read_time
from tests.tools.estates import NOW, array, disk, gap, guest, node, pool, readings, source, toolbox, two_nodes

EVERY_SELECTOR = [(tool.name, tool.selector_argument, name) for tool in TOOLS.values() for name in tool.selectors]


def answer(estate: Estate, tool: str, **arguments: object) -> dict[str, object]:
    """The answer as a reader of JSON sees it."""
    page = toolbox(estate).call(tool, arguments)
    return msgspec.json.decode(msgspec.json.encode(page))


def test_a_performance_page_is_the_documented_map_and_unmeasured_stays_absent() -> None:
    page = answer(two_nodes(), "pulse_metrics", type="performance")
    assert page["summary"] == {
        "node:a:pve1": {
            "resource_id": "node:a:pve1",
            "resource_name": "pve1",
            "resource_type": "node",
            "avg_cpu": 90.0,
            "cpu_window_seconds": 300.0,
            "avg_memory": 50.0,
        },
        # A value of the moment is no average.
        "node:a:pve2": {"resource_id": "node:a:pve2", "resource_name": "pve2", "resource_type": "node"},
        "vm:a:101": {
            "resource_id": "vm:a:101",
            "resource_name": "guest-101",
            "resource_type": "vm",
            "avg_cpu": 5.0,
            "cpu_window_seconds": 300.0,
        },
    }


@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        ({}, ["disk:pve1:sda", "disk:pve1:sdb", "disk:pve2:nvme0n1"]),
        ({"health": "failed"}, ["disk:pve1:sdb"]),
        ({"disk_type": "nvme"}, ["disk:pve2:nvme0n1"]),
        ({"node": "pve1"}, ["disk:pve1:sda", "disk:pve1:sdb"]),
        ({"host": "PVE2"}, ["disk:pve2:nvme0n1"]),
        ({"host": "node:a:pve2"}, ["disk:pve2:nvme0n1"]),
        ({"resource_id": "disk:pve1:sdb"}, ["disk:pve1:sdb"]),
        ({"resource_id": "WD-AAA111"}, ["disk:pve1:sda"]),
        ({"resource_id": "pve2"}, ["disk:pve2:nvme0n1"]),
        ({"instance": "a", "health": "PASSED"}, ["disk:pve1:sda", "disk:pve2:nvme0n1"]),
        ({"node": "pve1", "disk_type": "nvme"}, []),
        ({"resource_type": "vm"}, []),
        ({"source": "lab"}, ["disk:pve1:sda", "disk:pve1:sdb", "disk:pve2:nvme0n1"]),
    ],
)
def test_filters_of_disks_filter_and_the_selector_is_none_of_them(arguments: dict, ids: list[str]) -> None:
    page = answer(two_nodes(), "pulse_metrics", type="disks", **arguments)
    assert [row["id"] for row in page.get("disks", [])] == ids
    assert page["total"] == len(ids)


def test_every_disk_of_a_host_is_its_own_resource() -> None:
    page = answer(two_nodes(), "pulse_storage", type="disk_health")
    assert [(host["hostname"], [row["id"] for row in host["smart"]], len(host["raid"])) for host in page["hosts"]] == [
        ("pve1", ["disk:pve1:sda", "disk:pve1:sdb"], 1),
        ("pve2", ["disk:pve2:nvme0n1"], 1),
    ]


@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        ({}, ["storage:pve1:local-lvm", "storage:pve2:local-lvm"]),
        ({"min_usage": 90}, ["storage:pve1:local-lvm"]),
        ({"min_usage": 91}, ["storage:pve1:local-lvm"]),
        ({"min_usage": 91.1}, []),
        ({"storage_id": "local-lvm"}, ["storage:pve1:local-lvm", "storage:pve2:local-lvm"]),
        ({"storage_id": "storage:pve2:local-lvm"}, ["storage:pve2:local-lvm"]),
        ({"storage_id": "local-lvm", "node": "pve2"}, ["storage:pve2:local-lvm"]),
        ({"status": "AVAILABLE"}, ["storage:pve1:local-lvm", "storage:pve2:local-lvm"]),
        ({"status": "offline"}, []),
    ],
)
def test_equal_names_of_storages_stay_two_resources(arguments: dict, ids: list[str]) -> None:
    page = answer(two_nodes(), "pulse_storage", type="pools", **arguments)
    assert [row["id"] for row in page.get("pools", [])] == ids


def test_pools_name_their_node_and_instance() -> None:
    (row,) = answer(two_nodes(), "pulse_storage", type="pools", node="pve1")["pools"]
    assert (row["name"], row["node"], row["instance"], row["status"]) == ("local-lvm", "pve1", "a", "available")


def test_arrays_are_filtered_by_state() -> None:
    page = answer(two_nodes(), "pulse_storage", type="raid", state="degraded")
    assert [(host["hostname"], [row["id"] for row in host["arrays"]]) for host in page["hosts"]] == [
        ("pve2", ["raid:pve2:md0"])
    ]


def test_file_systems_are_asked_for_by_their_own_selector() -> None:
    page = answer(two_nodes(), "pulse_storage", type="resource_disks")
    assert [row["id"] for row in page["resources"]] == ["node:a:pve1", "node:a:pve2", "vm:a:101"]
    page = answer(two_nodes(), "pulse_storage", type="resource_disks", min_usage=90)
    assert [(row["id"], row["node"]) for row in page["resources"]] == [("node:a:pve2", "pve2")]


def test_a_host_that_was_asked_for_sensors_and_has_none_is_listed() -> None:
    page = answer(two_nodes(), "pulse_metrics", type="temperatures")
    assert page["hosts"] == [{"hostname": "pve1", "id": "node:a:pve1"}]


def test_health_shows_sources_units_guests_and_nodes() -> None:
    estate = two_nodes()
    estate.sources.append(source("pbs1", "pbs", connected=False))
    estate.resources[0].units = [UnitRow(name="a.service", state="failed")]
    estate.resources.append(node("a", "pve3", status=Status.OFFLINE))
    estate.resources.append(node("b", "far", source="pbs1"))
    page = toolbox(estate).call("pulse_query", {"action": "health"})
    assert isinstance(page, HealthOutput)
    assert [(row.instance_id, row.connected) for row in page.connections] == [("lab", True), ("pbs1", False)]
    assert (page.total, page.connected, page.disconnected) == (2, 1, 1)
    assert {row.id: (len(row.units), row.units_read) for row in page.hosts} == {
        "node:a:pve1": (1, True),
        "node:a:pve2": (0, False),
        "node:a:pve3": (0, False),
        "node:b:far": (0, False),
    }
    assert {row.id: row.online for row in page.nodes} == {
        "node:a:pve1": True,
        "node:a:pve2": True,
        "node:a:pve3": False,
        "node:b:far": None,  # its source did not answer: what it last said is no news
    }
    assert {row.id: row.reachable for row in page.guests} == {
        "vm:a:101": None,
        "vm:a:102": None,
        "system-container:a:103": None,
    }


def test_a_cut_list_of_units_was_not_read() -> None:
    estate = two_nodes(gaps=[gap(Topic.UNITS, "node:a:pve1")])
    page = toolbox(estate).call("pulse_query", {"action": "health", "resource_id": "node:a:pve1"})
    assert isinstance(page, HealthOutput)
    assert [row.units_read for row in page.hosts] == [False]


def test_templates_are_not_asked_whether_they_answer() -> None:
    estate = Estate(sources=[source()], resources=[guest("a", 9000, "pve1", template=True)])
    assert "guests" not in answer(estate, "pulse_query", action="health")


@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        ({"status": "running"}, ["node:a:pve1", "node:a:pve2", "system-container:a:103", "vm:a:101"]),
        ({"status": "online", "resource_type": "vm"}, ["vm:a:101"]),
        ({"status": "stopped"}, ["vm:a:102"]),
        ({"resource_type": "system_container"}, ["system-container:a:103"]),
        ({"resource_id": "qemu/102"}, ["vm:a:102"]),
    ],
)
def test_running_and_online_are_one_status(arguments: dict, ids: list[str]) -> None:
    page = answer(two_nodes(), "pulse_query", action="inventory", **arguments)
    assert [row["id"] for row in page["resources"]] == ids


def test_search_puts_exact_names_first() -> None:
    estate = two_nodes()
    estate.resources += [guest("a", 200, "pve1", name="web-old"), guest("a", 201, "pve1", name="web")]
    page = answer(estate, "pulse_query", action="search", query="WEB")
    assert [row["id"] for row in page["matches"]] == ["vm:a:201", "vm:a:200"]
    assert answer(estate, "pulse_query", action="search", query="nothing like it")["total"] == 0


def test_get_shows_one_resource() -> None:
    page = answer(two_nodes(), "pulse_query", action="get", resource_id="pve1")
    assert (page["id"], page["children"], page["cpu"]) == ("node:a:pve1", 5, {"percent": 90.0, "window_seconds": 300.0})


def test_list_counts_its_groups_after_filtering() -> None:
    page = answer(two_nodes(), "pulse_query", action="list", node="pve2", limit=2)
    assert page["total"]["vms"] == 1
    assert page["total"]["storage_pools"] == 1
    assert page["pagination"] == {"total": 6, "limit": 2, "offset": 0}


def alerts(count: int) -> list[Alert]:
    return [
        Alert(id=f"a{number:03}", resource_id="node:a:pve1", severity="warning" if number < 30 else "critical")
        for number in range(count)
    ]


def test_the_offset_of_alerts_counts_filtered_rows() -> None:
    estate = two_nodes(alerts=alerts(50))
    page = answer(estate, "pulse_alerts", action="list", severity="critical", limit=10, offset=10)
    assert [row["id"] for row in page["alerts"]] == [f"a{number:03}" for number in range(40, 50)]
    assert (page["count"], page["pagination"]) == (10, {"total": 20, "limit": 10, "offset": 10})


def test_alerts_are_filtered_by_resource() -> None:
    estate = two_nodes(alerts=[Alert(id="1", resource_id="pve2"), Alert(id="2", resource_id="gone")])
    assert [row["id"] for row in answer(estate, "pulse_alerts", action="list", node="pve2")["alerts"]] == ["1"]


@pytest.mark.parametrize(("tool", "argument", "selector"), EVERY_SELECTOR)
def test_an_empty_estate_gets_an_empty_page_that_says_so(tool: str, argument: str, selector: str) -> None:
    if selector in {"get", "config"}:
        return
    more = {"query": "x"} if selector == "search" else {}
    page = Toolbox(Estate(), NOW).call(tool, {argument: selector, **more})
    assert isinstance(page, Page)
    assert not page.complete
    assert page.gaps


@pytest.mark.parametrize(("tool", "argument", "selector"), EVERY_SELECTOR)
def test_one_estate_gives_equal_bytes(tool: str, argument: str, selector: str) -> None:
    more = {"search": {"query": "pve"}, "get": {"resource_id": "pve1"}, "config": {"resource_id": "101"}}.get(
        selector, {}
    )
    first, second = (
        msgspec.json.encode(toolbox(two_nodes()).call(tool, {argument: selector, **more})) for _ in range(2)
    )
    assert first == second


def test_rows_of_the_estate_are_left_as_they_are() -> None:
    estate = Estate(sources=[source()], resources=[disk("pve1", "sda"), pool("pve1", "p"), array("pve1", "md0")])
    before = msgspec.json.encode(estate)
    box = toolbox(estate)
    for tool, argument, selector in EVERY_SELECTOR:
        if selector not in {"search", "get", "config"}:
            box.call(tool, {argument: selector})
    assert msgspec.json.encode(estate) == before


def test_readings_of_a_host_without_name_are_shown_under_its_id() -> None:
    estate = Estate(sources=[source()], resources=[node("a", "", id="node:a:x", metrics=readings(memory=5))])
    assert answer(estate, "pulse_metrics", type="performance")["summary"]["node:a:x"]["resource_name"] == "node:a:x"


def test_times_of_alerts_carry_their_zone() -> None:
    estate = two_nodes(alerts=[Alert(id="1", resource_id="pve2", start_time=NOW)])
    (row,) = answer(estate, "pulse_alerts", action="list")["alerts"]
    assert read_time(row["start_time"]) == NOW
    assert row["start_time"].endswith("Z")
