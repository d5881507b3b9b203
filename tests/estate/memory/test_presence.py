"""What it means that a resource was not seen."""

import pytest

from findings.model import Topic
from patrol.estate.memory.model import RemovedBy
from patrol.estate.model import Resource, ResourceType, SourceState, Status
from tests.estate.memory.builders import Life, disk, estate, gap, guest, host

HOSTA, S1, S2 = "agent:local:hosta", "disk:serial:S1X", "disk:serial:S2X"


@pytest.fixture
def life() -> Life:
    life = Life()
    life.sees(host(), disk(serial="S1X"), disk("sdb", serial="S2X"))
    return life


def test_removed_after_two_complete_reads_without_it_and_not_before(life):
    life.sees(host(), disk(serial="S1X"))
    assert (life.presences()[S2], life[S2].absent_runs) == ("unseen", 1)
    life.sees(host(), disk(serial="S1X"))
    assert (life.presences()[S2], life[S2].removed_by, life[S2].removed_at) == ("removed", RemovedBy.ABSENCE, life.now)


def test_being_seen_in_between_begins_anew(life):
    life.sees(host(), disk(serial="S1X"))
    life.sees(host(), disk(serial="S1X"), disk("sdb", serial="S2X"))
    life.sees(host(), disk(serial="S1X"))
    assert (life.presences()[S2], life[S2].absent_runs) == ("unseen", 1)


def test_the_last_disk_may_go_as_well_where_disks_were_read(life):
    life.sees(host())
    life.sees(host())
    assert life.presences() == {HOSTA: "present", S1: "removed", S2: "removed"}


def without_topic(*topics: Topic):
    collected = estate(host())
    collected.sources[0].read = [topic for topic in Topic if topic not in topics]
    return collected


SAYS_NOTHING = {
    "the source did not answer": lambda: estate(connected=False),
    "the source returned nothing": estate,
    "a part of the inventory is missing": lambda: estate(host(), gaps=[gap()]),
    "a part of one node's inventory is missing": lambda: estate(host(), gaps=[gap(resource_id=HOSTA)]),
    "the disks could not be listed": lambda: estate(host(), gaps=[gap(Topic.SMART)]),
    "the source does not say that it read disks": lambda: without_topic(Topic.SMART),
    "the source does not say that it read the inventory": lambda: without_topic(Topic.INVENTORY),
    "the disk is spoken of": lambda: estate(host(), gaps=[gap(Topic.SMART, S1), gap(Topic.SMART, S2)]),
    "the source is not configured any more": lambda: estate(host(), sources=["other"]),
    "another source answered": lambda: estate(other(), sources=["other"]),
    "the host is down": lambda: estate(host(status=Status.OFFLINE)),
}


def other() -> Resource:
    return Resource(id="agent:local:other", type=ResourceType.AGENT, name="other", source="other")


@pytest.mark.parametrize("says_nothing", SAYS_NOTHING.values(), ids=SAYS_NOTHING)
def test_what_says_nothing_never_removes(life, says_nothing):
    for _ in range(5):
        life.takes(says_nothing())
    assert {life.presences()[S1], life.presences()[S2]} == {"unseen"}
    assert (life[S1].absent_runs, life[S2].absent_runs) == (0, 0)


@pytest.mark.parametrize("says_nothing", SAYS_NOTHING.values(), ids=SAYS_NOTHING)
def test_what_says_nothing_neither_counts_nor_breaks_the_row(life, says_nothing):
    life.sees(host())
    life.takes(says_nothing())
    assert life.presences()[S1] == "unseen"
    life.sees(host())
    assert life.presences()[S1] == "removed"


def test_a_run_that_is_not_about_everything_says_nothing(life):
    for _ in range(3):
        recognition = life.recognises(estate(host()), counts_absence=False)
        assert (recognition.changed, recognition.removed, recognition.saw_all) == ((), frozenset(), False)
    assert life.presences()[S1] == "present"


def test_a_run_that_is_not_about_everything_knows_and_mints_all_the_same(life):
    assert life.sees(host(), disk("sdc", serial="S3X"), disk(), counts_absence=False) == [HOSTA, "disk:serial:S3X", S1]
    assert "disk:serial:S3X" in life.memory.resources


def test_when_everything_was_seen_a_scoped_run_may_note_the_time(life):
    collected = estate(host(), disk(serial="S1X"), disk("sdb", serial="S2X"))
    assert life.recognises(collected, counts_absence=False).saw_all


def test_what_is_removed_stays_so_and_is_told_in_every_run(life):
    life.sees(host())
    life.sees(host())
    recognition = life.recognises(estate(host()))
    assert recognition.removed == {S1, S2}
    assert recognition.changed == ()
    assert life.recognises(estate(connected=False)).removed == {S1, S2}


@pytest.mark.parametrize("kind", ["vm", "system-container"])
def test_all_guests_gone_at_once_is_not_believed(kind):
    life = Life()
    life.sees(host(), guest(1, "a", kind=kind), guest(2, "b", kind=kind))
    for _ in range(4):
        life.sees(host())
    assert life.presences()[f"{kind}:pve:1"] == "unseen"


def test_the_only_guest_may_go():
    life = Life()
    life.sees(host(), guest())
    life.sees(host())
    life.sees(host())
    assert life.presences()["vm:pve:101"] == "removed"


def test_all_containers_of_a_host_may_go_at_once():
    life = Life()
    apps = [
        Resource(id=f"app-container:hosta:{name}", type=ResourceType.APP_CONTAINER, name=name, source="local")
        for name in "ab"
    ]
    life.sees(host(), *apps)
    life.sees(host())
    life.sees(host())
    assert set(life.presences().values()) == {"present", "removed"}


def test_what_a_source_gave_away_to_another_one_is_gone_when_that_one_misses_it():
    life = Life()
    life.sees(host(), guest())
    life.sees(host(), guest(source="other"), guest(7, "x", source="other"), sources=["local", "other"])
    for _ in range(2):
        life.sees(host(), guest(7, "x", source="other"), sources=["local", "other"])
    assert life.presences()["vm:pve:101"] == "removed"


def test_a_source_that_only_came_and_never_read_the_inventory_counts_for_nothing(life):
    collected = estate(host())
    collected.sources = [SourceState(name="local")]
    for _ in range(3):
        life.takes(collected)
    assert life.presences()[S1] == "unseen"
