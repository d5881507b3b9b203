"""Which collected resource is which remembered one."""

from datetime import timedelta

import pytest

from findings.model import Topic
from patrol.estate.memory.model import Memory, Strength
from patrol.estate.memory.rows import resource_of, resource_row
from patrol.estate.memory.sightings import MOST_ALIASES
from patrol.estate.model import Estate, Resource, ResourceType
from signals.backup_evidence import BackupTaskRow
from signals.evidence import BackupStore
from signals.storage_evidence import BtrfsRow, PoolRow, RaidRow
from tests.estate.memory.builders import NOW, Life, disk, estate, gap, guest, host

HOSTA = "agent:local:hosta"
SERIAL, WEAK = "disk:serial:S1X", "disk:hosta:sda"


def test_what_nobody_knows_gets_the_id_that_its_source_gives():
    life = Life()
    assert life.sees(host(), disk(serial="S1X")) == [HOSTA, SERIAL]
    assert life[SERIAL].first_seen_at == life.now
    assert life[SERIAL].parent == HOSTA


# --- disks


def test_a_serial_number_learned_later_names_no_new_disk():
    life = Life()
    life.sees(host(), disk())
    assert life.sees(host(), disk(serial="S1X")) == [HOSTA, WEAK]
    assert life.sees(host(), disk("sdb", serial="S1X")) == [HOSTA, WEAK], "its place does not matter any more"
    assert len(life.memory.resources) == 2


def test_a_disk_whose_serial_number_cannot_be_read_today_is_known_by_its_place():
    life = Life()
    life.sees(host(), disk(serial="S1X"), disk("sdb", serial="S2X"))
    assert life.sees(host(), disk(), disk("sdb")) == [HOSTA, SERIAL, "disk:serial:S2X"]


def test_its_place_is_where_it_was_seen_last():
    life = Life()
    life.sees(host(), disk(serial="S1X"), disk("sdb", serial="S2X"))
    life.sees(host(), disk("sdb", serial="S1X"), disk("sda", serial="S2X"))
    assert life.sees(host(), disk("sda"), disk("sdb")) == [HOSTA, "disk:serial:S2X", SERIAL]


def test_an_id_made_of_a_place_does_not_follow_the_name_when_the_kernel_swaps_names():
    life = Life()
    life.sees(host(), disk("sda"))
    life.sees(host(), disk("sda", serial="S1X"))
    life.sees(host(), disk("sdb", serial="S1X"))
    ids = life.sees(host(), disk("sda"), disk("sdb"))
    assert ids == [HOSTA, f"{WEAK}~g2", WEAK], "sda is another disk now; sdb is the one that was sda"


def test_another_serial_number_in_the_same_slot_is_another_disk():
    life = Life()
    life.sees(host(), disk(serial="S1X"))
    assert life.sees(host(), disk(serial="S2X")) == [HOSTA, "disk:serial:S2X"]
    assert life.presences()[SERIAL] == "unseen"


def test_a_disk_known_by_its_place_whose_slot_holds_another_one_later_is_not_that():
    life = Life()
    life.sees(host(), disk())
    life.sees(host(), disk(serial="S1X"))
    assert life.sees(host(), disk(serial="S2X")) == [HOSTA, "disk:serial:S2X"]


def test_serial_numbers_are_compared_without_case():
    life = Life()
    life.sees(host(), disk(serial="s1xyz"))
    assert life.sees(host(), disk(serial="S1XYZ")) == [HOSTA, "disk:serial:s1xyz"]


def test_a_world_wide_name_proves_as_well():
    life = Life()
    life.sees(host(), disk(wwn="0x5000c500a1b2c3d4"))
    assert life.sees(host(), disk("sdc", wwn="naa.5000C500A1B2C3D4")) == [HOSTA, "disk:wwn:0x5000c500a1b2c3d4"]
    assert life.sees(host(), disk("sdc", serial="S1X", wwn="5000c500a1b2c3d4"))[1] == "disk:wwn:0x5000c500a1b2c3d4"
    assert life.sees(host(), disk("sdd", serial="S1X"))[1] == "disk:wwn:0x5000c500a1b2c3d4"


def test_two_ids_that_one_disk_proves_to_hold_become_the_older_one():
    life = Life()
    life.sees(host(), disk("sda", wwn="5000c500a1b2c3d4"))
    life.sees(host(), disk("sdb", serial="S1X", on="hostb"))
    recognition = life.recognises(estate(host(), disk("sda", serial="S1X", wwn="5000c500a1b2c3d4")))
    assert [tuple(each) for each in recognition.merges] == [("disk:wwn:5000c500a1b2c3d4", SERIAL)]
    assert SERIAL not in life.memory.resources
    assert life.sees(host(), disk("sdc", serial="S1X"))[1] == "disk:wwn:5000c500a1b2c3d4"


def test_two_that_have_proofs_against_each_other_are_never_merged():
    life = Life()
    life.sees(disk("sda", serial="S1X", wwn="5000c500aaaaaaaa"), disk("sdb", serial="S2X", wwn="5000c500bbbbbbbb"))
    life.sees(disk("sda", serial="S1X", wwn="5000c500bbbbbbbb"))
    assert {"disk:serial:S1X", "disk:serial:S2X"} <= life.memory.resources.keys()


def test_a_serial_number_that_two_disks_claim_at_once_proves_nothing_for_either():
    life = Life()
    life.sees(host(), disk("sda", serial="S1X"))
    twin = disk("sdb", serial="S1X")
    twin.id = "disk:hosta:sdb"
    first = disk("sda", serial="S1X")
    first.id = "disk:hosta:sda"
    assert life.sees(host(), first, twin) == [HOSTA, SERIAL, "disk:hosta:sdb"]
    alone = disk("sdb", serial="S1X")
    alone.id = "disk:hosta:sdb"
    assert life.sees(host(), alone) == [HOSTA, "disk:hosta:sdb"], "the key stays without worth when one is away"


def test_one_disk_seen_by_two_sources_becomes_one_when_the_memory_knows_both_names():
    life = Life()
    life.sees(host(), disk("sda", serial="S1X", wwn="5000c500a1b2c3d4"))
    collected = estate(host(), disk("sda", serial="S1X"), disk("sda", wwn="5000c500a1b2c3d4", on="hostb"))
    assert life.takes(collected) == [HOSTA, SERIAL]
    assert "disk:wwn:5000c500a1b2c3d4" in collected.resources[1].aliases


def test_a_disk_known_by_its_place_on_a_host_turns_out_to_be_one_that_its_node_had_named():
    life = Life()
    life.sees(host(), disk(), disk("sda", serial="S1X", on="pve1"))
    life.sees(host(), disk("sda", serial="S1X"))
    assert WEAK not in life.memory.resources
    assert life.memory.find_id(WEAK) == life.memory.find_id(SERIAL) == SERIAL


def test_two_disks_that_were_seen_side_by_side_on_one_host_stay_two():
    life = Life()
    life.sees(host(), disk("sda"), disk("sdb", serial="S1X"))
    ids = life.sees(host(), disk("sda", serial="S1X"), disk("sdb"))
    assert len(set(ids)) == 3
    assert {WEAK, SERIAL} <= life.memory.resources.keys()


# --- hosts and what hangs on them


def test_a_renamed_host_keeps_its_id_and_so_does_what_hangs_on_it():
    life = Life()
    pool = Resource(id="storage:hosta:tank", type=ResourceType.STORAGE, name="tank", source="local", parent=HOSTA)
    life.sees(host("hosta", "m1"), disk(), pool)
    moved = Resource(
        id="storage:hostb:tank", type=ResourceType.STORAGE, name="tank", source="local", parent="agent:local:hostb"
    )
    collected = estate(host("hostb", "m1"), disk(on="hostb"), moved)
    assert life.takes(collected) == [HOSTA, WEAK, "storage:hosta:tank"]
    assert {resource.parent for resource in collected.resources} == {"", HOSTA}
    assert life[HOSTA].name == "hostb"
    assert {"agent:local:hostb", "machine-id:m1"} <= set(collected.resources[0].aliases)
    assert life.memory.aliases_of(HOSTA)["hosta"].strength is Strength.WEAK


def test_a_renamed_host_is_known_by_its_new_name_also_without_its_machine_id():
    life = Life()
    life.sees(host("hosta", "m1"))
    life.sees(host("hostb", "m1"))
    assert life.sees(host("hostb")) == [HOSTA]


def test_hosts_that_swap_their_names_keep_their_ids():
    life = Life()
    life.sees(host("hosta", "m1"), host("hostb", "m2"))
    assert life.sees(host("hosta", "m2"), host("hostb", "m1")) == ["agent:local:hostb", HOSTA]


def test_a_host_that_was_installed_anew_under_its_name_is_the_same():
    life = Life()
    life.sees(host("hosta", "m1"))
    assert life.sees(host("hosta", "m2")) == [HOSTA]
    assert life.memory.aliases_of(HOSTA)["machine-id:m1"].strength is Strength.WEAK
    assert life.sees(host("hosta", "m2"), host("hostc", "m1")) == [HOSTA, "agent:local:hostc"]


def test_another_machine_under_the_old_name_of_a_renamed_host_is_another():
    life = Life()
    life.sees(host("hosta", "m1"))
    life.sees(host("hostb", "m1"))
    assert life.sees(host("hosta", "m2")) == [f"{HOSTA}~g2"]
    assert life.sees(host("hosta", "m2"), host("hostb", "m1")) == [f"{HOSTA}~g2", HOSTA]


def test_clones_with_one_machine_id_stay_two_hosts():
    life = Life()
    life.sees(host("hosta", "m1"), host("hostb", "m1"))
    assert life.sees(host("hosta", "m1"), host("hostb", "m1")) == [HOSTA, "agent:local:hostb"]
    assert life.sees(host("hostb", "m1")) == ["agent:local:hostb"]


def test_equal_names_are_no_identity():
    life = Life()
    one = Resource(
        id="storage:pve1:local", type=ResourceType.STORAGE, name="local", source="local", parent="node:a:pve1"
    )
    two = Resource(
        id="storage:pve2:local", type=ResourceType.STORAGE, name="local", source="local", parent="node:a:pve2"
    )
    life.sees(one)
    assert life.sees(two) == ["storage:pve2:local"]
    assert len(life.memory.resources) == 2


def array(uuid: str, device: str = "md0", on: str = "hosta") -> Resource:
    return Resource(
        id=f"raid:{on}:{device}",
        type=ResourceType.RAID,
        name=device,
        source="local",
        parent=f"agent:local:{on}",
        raid=RaidRow(device=f"/dev/{device}", uuid=uuid),
    )


def test_an_array_is_known_by_its_uuid_and_another_one_in_its_place_is_another():
    life = Life()
    life.sees(host(), array("u1"))
    assert life.sees(host(), array("u1", "md127")) == [HOSTA, "raid:hosta:md0"]
    assert life.sees(host(), array("u2")) == [HOSTA, "raid:hosta:md0~g2"]
    assert life.sees(host(), array("u2"), array("u1", "md1")) == [HOSTA, "raid:hosta:md0~g2", "raid:hosta:md0"]


def test_a_btrfs_file_system_is_known_by_its_uuid():
    life = Life()
    pool = PoolRow(btrfs=BtrfsRow(uuid="u1"))
    one = Resource(id="storage:hosta:u1", type=ResourceType.STORAGE, name="data", source="local", pool=pool)
    two = Resource(id="storage:hostb:u1", type=ResourceType.STORAGE, name="data", source="local", pool=pool)
    life.sees(one)
    assert life.sees(two) == ["storage:hosta:u1"]


# --- guests

WEB = "vm:pve:101"


def test_two_clusters_may_use_one_vmid():
    life = Life()
    expected = ["vm:pve:101", "vm:lab:101"]
    assert life.sees(guest(), guest(cluster="lab")) == expected
    assert life.sees(guest(), guest(cluster="lab")) == expected


def test_a_migrated_guest_is_the_same():
    life = Life()
    life.sees(guest(parent="node:pve:pve1"))
    assert life.sees(guest(parent="node:pve:pve2")) == [WEB]
    assert life[WEB].parent == "node:pve:pve2"


def test_a_guest_moved_to_another_cluster_is_the_same_where_its_uuid_says_so():
    life = Life()
    life.sees(guest(aliases=["uuid:4c4c4544"]))
    assert life.sees(guest(205, cluster="lab", aliases=["uuid:4c4c4544"])) == [WEB]


def test_a_guest_renamed_without_being_missed_is_the_same():
    life = Life()
    life.sees(guest())
    assert life.sees(guest(name="www")) == [WEB]
    assert "web" in life.memory.aliases_of(WEB)


@pytest.mark.parametrize(
    ("before", "between", "later"),
    [
        pytest.param({}, True, {"name": "mail"}, id="another name, after a complete read without it"),
        pytest.param({}, False, {"name": "mail", "first_seen": NOW + timedelta(days=1)}, id="created since"),
        pytest.param({"aliases": ["uuid:a"]}, False, {"aliases": ["uuid:b"]}, id="another UUID"),
        pytest.param({"aliases": ["mac:a"]}, False, {"name": "mail", "aliases": ["mac:b"]}, id="other network cards"),
    ],
)
def test_a_vmid_used_again_by_another_guest_is_another_resource(before, between, later):
    life = Life()
    life.sees(guest(102), guest(**before))
    if between:
        life.sees(guest(102))
    assert life.sees(guest(102), guest(**later)) == ["vm:pve:102", f"{WEB}~g2"]
    assert life.sees(guest(102), guest(**later)) == ["vm:pve:102", f"{WEB}~g2"]
    assert life.presences()[WEB] == "removed"
    assert life.sees(guest(102)) == ["vm:pve:102"]
    assert life.sees(guest(102), guest(name="third")) == ["vm:pve:102", f"{WEB}~g3"]


@pytest.mark.parametrize(
    ("before", "later"),
    [
        pytest.param({}, {}, id="the same name"),
        pytest.param(
            {"aliases": ["uuid:a"]}, {"name": "mail", "aliases": ["uuid:a"]}, id="another name, the same UUID"
        ),
        pytest.param({"name": ""}, {"name": "mail"}, id="a name where there was none"),
    ],
)
def test_a_guest_that_comes_back_is_the_same(before, later):
    life = Life()
    life.sees(guest(102), guest(**before))
    life.sees(guest(102))
    life.sees(guest(102))
    assert life.presences()[WEB] == "removed"
    assert life.sees(guest(102), guest(**later)) == ["vm:pve:102", WEB]
    assert life.presences()[WEB] == "present"
    assert (life[WEB].removed_at, life[WEB].removed_by, life[WEB].absent_runs) == (None, None, 0)


def test_the_first_guest_of_a_vmid_that_is_restored_later_is_the_first_again():
    life = Life()
    life.sees(guest(102), guest())
    life.sees(guest(102))
    life.sees(guest(102), guest(name="mail"))
    life.sees(guest(102))
    assert life.sees(guest(102), guest()) == ["vm:pve:102", WEB]


def test_a_network_card_of_another_guest_does_not_make_it_that_guest():
    life = Life()
    life.sees(guest(aliases=["mac:a"]))
    assert life.sees(guest(105, "other", aliases=["mac:a"])) == ["vm:pve:105"]


# --- references, aliases, first sight


def test_every_reference_follows():
    life = Life()
    life.sees(host("hosta", "m1"), disk(on="hosta"))
    collected = Estate(
        resources=[host("hostb", "m1"), disk(serial="S1X", on="hostb")],
        gaps=[gap(Topic.SMART, SERIAL), gap(Topic.UNITS, "agent:local:hostb"), gap(Topic.CPU)],
        backup_tasks=[BackupTaskRow(resource_id="agent:local:hostb"), BackupTaskRow()],
        backup_stores=[BackupStore(id="agent:local:hostb")],
    )
    life.takes(collected)
    assert [each.resource_id for each in collected.gaps] == [WEAK, HOSTA, None]
    assert [each.resource_id for each in collected.backup_tasks] == [HOSTA, ""]
    assert collected.backup_stores[0].id == HOSTA


def test_a_gap_about_a_resource_that_was_not_collected_follows_the_memory():
    life = Life()
    life.sees(host("hosta", "m1"))
    life.sees(host("hostb", "m1"))
    collected = Estate(gaps=[gap(Topic.UNITS, "agent:local:hostb"), gap(Topic.UNITS, "hosta")])
    life.takes(collected)
    assert [each.resource_id for each in collected.gaps] == [HOSTA, "hosta"], "a name is no id"


def test_a_child_whose_parent_is_not_in_the_estate_is_placed_by_the_memory():
    life = Life()
    life.sees(host("hosta", "m1"), disk(serial="S1X"))
    life.sees(host("hostb", "m1"), disk(serial="S1X", on="hostb"))
    assert life.sees(disk(on="hostb")) == [SERIAL]


def test_the_first_sight_of_a_guest_is_told_where_it_came_while_its_source_was_watched():
    life = Life()
    life.sees(guest())
    old, new = guest(), guest(102, "new")
    life.sees(old, new)
    assert (old.first_seen, new.first_seen) == (None, life.now), "since when the first one exists, nobody knows"
    came_at = life.now
    told, new = guest(first_seen=NOW - timedelta(days=400)), guest(102, "new")
    life.sees(told, new)
    assert (told.first_seen, new.first_seen) == (NOW - timedelta(days=400), came_at)


def test_a_clock_that_goes_back_takes_the_times_with_it():
    life = Life()
    life.sees(host(), disk(serial="S1X"))
    life.now = NOW - timedelta(days=3)
    assert life.sees(host(), disk(serial="S1X")) == [HOSTA, SERIAL]
    assert life[SERIAL].first_seen_at == life[SERIAL].last_seen_at == life.now


def test_aliases_are_kept_as_long_as_they_are_not_invented_anew_each_time():
    life = Life()
    for number in range(MOST_ALIASES + 20):
        life.sees(host(), disk(serial="S1X", aliases=[f"by-path-{number}", "x" * 1000]))
    assert MOST_ALIASES <= len(life.memory.aliases_of(SERIAL)) <= MOST_ALIASES + 1


def test_the_last_sight_of_an_alias_is_exact_to_a_day():
    life = Life()
    life.sees(disk(serial="S1X", aliases=["wwn-1"]))
    first = life.now
    life.sees(disk(serial="S1X", aliases=["wwn-1"]))
    assert life.memory.aliases_of(SERIAL)["wwn-1"].last_seen_at == first
    life.now += timedelta(days=1)
    life.sees(disk(serial="S1X", aliases=["wwn-1"]))
    assert life.memory.aliases_of(SERIAL)["wwn-1"].last_seen_at == life.now


def test_an_operator_may_mean_a_resource_by_its_id_its_aliases_and_its_name():
    life = Life()
    life.sees(host("hosta", "m1"), guest(), guest(cluster="lab"), guest(7, "x"))
    life.sees(host("hostb", "m1"), guest(), guest(cluster="lab"), guest(7, "x"))
    named = {name: [each.id for each in life.memory.candidates(name)] for name in (HOSTA, "HOSTA", "hostb", "web", "y")}
    assert named == {HOSTA: [HOSTA], "HOSTA": [HOSTA], "hostb": [HOSTA], "web": ["vm:lab:101", WEB], "y": []}


def test_a_name_that_no_database_takes_is_not_news_in_every_run():
    life = Life()
    life.sees(guest(name="web\ud800\0"), guest(102, "b"))
    life.memory = Memory([resource_of(list(resource_row(each).values())) for each in life.memory.resources.values()])
    recognition = life.recognises(estate(guest(name="web\ud800\0"), guest(102, "b")))
    assert (recognition.changed, recognition.aliases) == ((), ())
    life.sees(guest(102, "b"))
    assert life.sees(guest(name="web\ud800\0"), guest(102, "b")) == [WEB, "vm:pve:102"]


def test_what_sits_on_another_machine_of_the_same_name_is_not_what_sat_on_the_first():
    life = Life()
    life.sees(host("hosta", "m1"), disk())
    life.sees(host("hostb", "m1"), disk(on="hostb"))
    assert life.sees(host("hosta", "m2"), disk()) == [f"{HOSTA}~g2", f"{WEAK}~g2"]


def test_a_node_and_the_agent_on_it_are_two_though_they_have_one_machine_id():
    life = Life()
    life.sees(host("pve1", "m1"))
    node = Resource(id="node:pve:pve1", type=ResourceType.NODE, name="pve1", source="local", aliases=["machine-id:m1"])
    assert life.sees(node) == ["node:pve:pve1"]
    assert life.memory.resources.keys() == {"agent:local:pve1", "node:pve:pve1"}


def test_ids_that_differ_in_case_alone_are_two():
    life = Life()
    one, two = host("Web"), host("web")
    assert life.sees(one, two) == life.sees(host("Web"), host("web")) == ["agent:local:Web", "agent:local:web"]
    assert [each.id for each in life.memory.candidates("WEB")] == ["agent:local:Web", "agent:local:web"]


def test_of_two_rows_that_prove_to_be_one_disk_and_cannot_be_the_second_is_another():
    life = Life()
    life.sees(host(), disk("sda", serial="S1X", wwn="5000c500aaaaaaaa"))
    by_serial = disk("sda", serial="S1X", wwn="5000c500cccccccc")
    by_wwn = disk("sdb", serial="S2X", wwn="5000c500aaaaaaaa")
    assert life.sees(host(), by_serial, by_wwn) == [HOSTA, SERIAL, "disk:serial:S2X"]


def test_a_resource_without_a_disk_row_is_known_by_its_id():
    life = Life()
    bare = Resource(id="disk:lab:x", type=ResourceType.DISK, name="x", source="local")
    loose = Resource(id="vm:lab:y", type=ResourceType.VM, name="y", source="local")
    assert life.sees(bare, loose) == life.sees(bare, loose) == ["disk:lab:x", "vm:lab:y"]
