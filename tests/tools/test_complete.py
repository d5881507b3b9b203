"""When a page says that it is complete: a gap of one resource never stops the others from being cleared."""

import pytest

from findings.model import GapReason, Topic
from patrol.estate.model import Estate, SourceState
from patrol.tools.registry import TOOLS
from tests.tools.estates import gap, node, readings, source, toolbox, two_nodes

EVERY_SELECTOR = [
    (tool.name, tool.selector_argument, selector)
    for tool in TOOLS.values()
    for selector in tool.selectors.values()
    if selector.name not in {"get", "config", "search"}
]


@pytest.mark.parametrize(("tool", "argument", "selector"), EVERY_SELECTOR, ids=lambda part: getattr(part, "name", ""))
def test_a_topic_that_could_not_be_read_makes_its_own_pages_incomplete(tool, argument, selector) -> None:
    for topic in Topic:
        page = toolbox(two_nodes(gaps=[gap(topic)])).call(tool, {argument: selector.name})
        concerns = topic in selector.topics or (topic is Topic.INVENTORY and selector.name in BACKUPS)
        shown_by_rows = selector.rows_tell
        assert page.complete == (not concerns or shown_by_rows), topic
        told = [each for each in page.gaps if each.reason is not GapReason.NO_HISTORY]
        assert bool(told) == concerns, topic


BACKUPS = {"backups", "backup_tasks", "pbs_jobs"}


@pytest.mark.parametrize(("tool", "argument", "selector"), EVERY_SELECTOR, ids=lambda part: getattr(part, "name", ""))
def test_a_gap_of_one_resource_is_listed_and_leaves_the_page_complete(tool, argument, selector) -> None:
    for topic in selector.topics:
        estate = two_nodes(gaps=[gap(topic, each.id) for each in two_nodes().resources])
        assert toolbox(estate).call(tool, {argument: selector.name}).complete


def test_gaps_of_resources_stand_on_the_pages_that_show_them() -> None:
    gaps = [gap(Topic.SMART, "disk:pve1:sdb"), gap(Topic.CPU, "disk:pve1:sda"), gap(Topic.SMART, "disk:pve2:nvme0n1")]
    box = toolbox(two_nodes(gaps=gaps))
    assert box.call("pulse_metrics", {"type": "disks", "node": "pve1"}).gaps == [gaps[0]]
    assert box.call("pulse_metrics", {"type": "disks", "limit": 1}).gaps == []


def test_a_failed_topic_of_rows_that_tell_hides_nothing_unless_the_sources_rows_are_missing() -> None:
    estate = two_nodes(gaps=[gap(Topic.PRESSURE)])
    assert toolbox(estate).call("pulse_metrics", {"type": "performance"}).complete
    estate = two_nodes(gaps=[gap(Topic.PRESSURE, of="elsewhere")])
    assert not toolbox(estate).call("pulse_metrics", {"type": "performance"}).complete


def test_a_source_that_did_not_answer_leaves_the_inventory_incomplete() -> None:
    estate = two_nodes()
    estate.sources.append(SourceState(name="pbs1", type="pbs", connected=False, detail="401 after a second login"))
    page = toolbox(estate).call("pulse_query", {"action": "inventory"})
    assert not page.complete
    assert [(each.source, each.detail) for each in page.gaps] == [("pbs1", "401 after a second login")]


@pytest.mark.parametrize(("kind", "complete"), [("pbs", False), ("pve", False), ("local", True), ("docker", True)])
def test_only_a_source_that_could_list_backups_hides_some_by_its_silence(kind: str, complete: bool) -> None:
    estate = two_nodes()
    estate.sources.append(source("other", kind, connected=False))
    assert toolbox(estate).call("pulse_storage", {"type": "backups"}).complete == complete


def test_a_page_of_one_source_is_not_held_to_another() -> None:
    estate = two_nodes(gaps=[gap(Topic.SMART, of="far")])
    estate.sources.append(source("far"))
    box = toolbox(estate)
    assert not box.call("pulse_metrics", {"type": "disks"}).complete
    assert box.call("pulse_metrics", {"type": "disks", "source": "lab"}).complete
    assert not box.call("pulse_metrics", {"type": "disks", "source": "far"}).complete


def test_what_no_source_reads_is_not_complete_and_says_so() -> None:
    estate = Estate(
        sources=[SourceState(name="local", type="local", read=[Topic.CPU, Topic.INVENTORY])],
        resources=[node("a", "pve1", metrics=readings(5))],
    )
    page = toolbox(estate).call("pulse_storage", {"type": "backups"})
    assert not page.complete
    assert [(each.topic, each.detail) for each in page.gaps] == [
        (Topic.BACKUPS, "no source of this estate reads backups")
    ]


def test_what_a_source_read_and_does_not_have_is_complete() -> None:
    estate = Estate(
        sources=[SourceState(name="local", type="local", read=[Topic.POOLS, Topic.RAID, Topic.INVENTORY])],
        resources=[node("a", "pve1")],
    )
    assert toolbox(estate).call("pulse_storage", {"type": "pools"}).complete
    assert toolbox(estate).call("pulse_storage", {"type": "raid"}).complete
