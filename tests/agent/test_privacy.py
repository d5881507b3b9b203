"""What a model hears of a house, and what comes back."""

import json
from datetime import UTC, datetime

import pytest

from patrol.agent.privacy import Shroud, words_of
from patrol.agent.privacy.names import Named
from patrol.estate.model import Estate, Metric, Reading, Resource, ResourceType, SourceState, Status
from patrol.settings.values import Privacy
from patrol.tools.registry import Toolbox
from signals.evidence import DiskRow
from signals.storage_evidence import BtrfsRow, PoolRow


def house() -> Estate:
    return Estate(
        sources=[SourceState(name="pve-lab", type="pve")],
        resources=[
            Resource(
                id="node:pve-lab:atlas",
                type=ResourceType.NODE,
                name="atlas",
                status=Status.ONLINE,
                instance="pve-lab",
                source="pve-lab",
                addresses=["10.20.0.1/24", "fd00::a:1"],
            ),
            Resource(
                id="vm:pve-lab:101",
                type=ResourceType.VM,
                name="nextcloud",
                aliases=["qemu/101"],
                parent="node:pve-lab:atlas",
                instance="pve-lab",
                tags=["customer-acme", "production"],
                metrics={Metric.CPU: Reading(value=12.5)},
            ),
            Resource(id="vm:pve-lab:102", type=ResourceType.VM, name="twin", instance="pve-lab"),
            Resource(id="vm:pve-lab:103", type=ResourceType.VM, name="twin", instance="pve-lab"),
            Resource(
                id="storage:atlas:nas-prod-01",
                type=ResourceType.STORAGE,
                name="nas-prod-01",
                pool=PoolRow(btrfs=BtrfsRow(uuid="4f8d1c9a-6a4b-4f52-a4a5-0f0f6b1f2d11", label="secretstuff")),
            ),
            Resource(
                id="disk:serial:S3Z8NB0K",
                type=ResourceType.DISK,
                name="sda",
                aliases=["atlas/sda"],
                disk=DiskRow(serial="S3Z8NB0K", wwn="0x5000c500a1b2c3d4", model="Example SSD", device="sda"),
            ),
            Resource(id="app-container:atlas:running", type=ResourceType.APP_CONTAINER, name="running"),
        ],
    )


@pytest.fixture
def shroud() -> Shroud:
    return Shroud.of(house(), Privacy.PSEUDONYMS, words=words_of(Toolbox.specs()))


def test_the_same_thing_has_the_same_readable_name_everywhere(shroud: Shroud) -> None:
    assert shroud.text_out("nextcloud on atlas") == "guest-1 on host-1"
    assert shroud.value_out({"resource_name": "nextcloud", "node": "atlas"}) == {
        "resource_name": "guest-1",
        "node": "host-1",
    }


def test_an_id_becomes_a_valid_id_that_shows_what_it_names_and_goes_back_exactly(shroud: Shroud) -> None:
    assert shroud.text_out("vm:pve-lab:101") == "vm:origin-1:guest-1"
    assert shroud.value_in({"resource_id": "vm:origin-1:guest-1"}) == {"resource_id": "vm:pve-lab:101"}
    assert shroud.text_out("disk:serial:S3Z8NB0K") == "disk:serial:disk-1"
    assert shroud.text_in("disk:serial:disk-1") == "disk:serial:S3Z8NB0K"


def test_what_is_called_alike_stays_called_alike_and_apart_by_id(shroud: Shroud) -> None:
    one, other = (shroud.value_out({"id": f"vm:pve-lab:{vmid}", "name": "twin"}) for vmid in (102, 103))
    assert isinstance(one, dict)
    assert isinstance(other, dict)
    assert one["name"] == other["name"]
    assert one["id"] != other["id"]
    assert shroud.value_in([one, other]) == [
        {"id": "vm:pve-lab:102", "name": "twin"},
        {"id": "vm:pve-lab:103", "name": "twin"},
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("atlas.lab.example.com refused", "host-1.domain-1 refused"),
        ("nas-prod-01:/vol on /mnt/nas-prod-01", "storage-1:/vol on /mnt/storage-1"),
        ("mount //atlas/share", "mount //host-1/share"),
        ("http://atlas:8006/ and http://copper:80", "http://host-1:8006/ and http://host-2:80"),
        ("10.20.0.1:8006, 192.0.2.7", "addr-1:8006, addr-3"),
        ("fd00::a:1%eth0", "addr-2%eth0"),
        ("zfs-scrub@nextcloud.service failed", "zfs-scrub@guest-1.service failed"),
        ("mail to jo.doe@example.org", "mail to user-1"),
        ("de:ad:be:ef:00:11", "mac-1"),
        ("uuid 4f8d1c9a-6a4b-4f52-a4a5-0f0f6b1f2d12", "uuid uuid-1"),
        ("wwn-0x5000c500a1b2c3d4", "wwn-disk-1b"),
        ("ata-Example_SSD_S3Z8NB0K", "ata-Example_SSD_disk-1"),
        ("ata-Example_SSD_9XYZ12345", "ata-Example_SSD_serial-1"),
        ("owned by customer-acme", "owned by tag-1"),
    ],
)
def test_names_and_addresses_are_found_wherever_they_stand(shroud: Shroud, text: str, told: str) -> None:
    assert shroud.text_out(text) == told
    assert shroud.text_in(told) == text
    assert shroud.text_out(told) == told


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-02T06:00:00Z and 06:00:00, 48 h, 93.5 %, 4.2 GiB",
        "pulse_storage type=disk_health, high_disk is critical, look blind, running, degraded",
        "backup.service failed; /etc/patrol/patrol.toml; alerts.json: guestDefaults.cpu",
        "the master's tasks, atlases, knextcloud",
        "root@pam, localhost, 127.0.0.1, ::1",
        "sda, nvme0n1, vmbr0, Proxmox VE 8.4",
        "it is running",
    ],
)
def test_what_names_nothing_stays(shroud: Shroud, text: str) -> None:
    assert shroud.text_out(text) == text


def test_another_spelling_is_told_apart_and_comes_back_as_it_was(shroud: Shroud) -> None:
    text = "ATLAS, Atlas, atlas and NextCloud; nas_prod_01 and nas prod 01"
    told = shroud.text_out(text)
    assert told.startswith("host-1b, host-1c, host-1 and guest-1b; ")
    assert shroud.text_in(told) == text


def test_the_longest_name_wins() -> None:
    estate = Estate(
        resources=[
            Resource(id=f"vm:a:{number}", type=ResourceType.VM, name=name)
            for number, name in enumerate(("shop", "shop-db", "shop-db-old"))
        ]
    )
    shroud = Shroud.of(estate, Privacy.PSEUDONYMS)
    assert shroud.text_out("shop-db-old, shop-db, shop, shop-web") == "guest-3, guest-2, guest-1, guest-1-web"


def test_a_thing_that_is_called_like_a_pseudonym_is_hidden_and_never_mixed_up() -> None:
    estate = Estate(
        resources=[
            Resource(id="vm:a:1", type=ResourceType.VM, name="blog"),
            Resource(id="vm:a:2", type=ResourceType.VM, name="guest-1"),
        ]
    )
    shroud = Shroud.of(estate, Privacy.PSEUDONYMS)
    assert shroud.text_out("blog guest-1") == "guest-2 guest-3"
    assert shroud.text_in("guest-2 guest-3") == "blog guest-1"


def test_pseudonyms_that_were_never_given_out_come_back_unchanged(shroud: Shroud) -> None:
    assert shroud.text_in("guest-99 in vm:origin-1:guest-99") == "guest-99 in vm:pve-lab:guest-99"
    assert shroud.text_in("Guest-1 and HOST-1's") == "nextcloud and atlas's"


def test_what_looks_like_a_pseudonym_from_outside_is_never_given_out(shroud: Shroud) -> None:
    text = "domain-1 is not new.example.org"
    assert shroud.text_out(text) == "domain-1 is not domain-2"
    assert shroud.text_in("domain-1 is not domain-2") == text


def test_keys_that_are_ids_are_replaced_and_field_names_are_not(shroud: Shroud) -> None:
    value = {"summary": {"vm:pve-lab:101": {"cpu_percent": 12.5, "ok": True, "at": None}}, "active": []}
    told = shroud.value_out(value)
    assert told == {"summary": {"vm:origin-1:guest-1": {"cpu_percent": 12.5, "ok": True, "at": None}}, "active": []}
    assert shroud.value_in(told) == value


def test_resources_of_earlier_runs_are_hidden_as_well() -> None:
    gone = [Named("vm:pve-lab:900", "vm", ("oldmail",)), Named("vm:pve-lab:101", "vm", ("nextcloud",))]
    shroud = Shroud.of(house(), Privacy.PSEUDONYMS, also=gone)
    told = shroud.text_out("vm:pve-lab:900 (oldmail), vm:pve-lab:777")
    assert "oldmail" not in told
    assert "pve-lab" not in told
    assert shroud.text_in(told) == "vm:pve-lab:900 (oldmail), vm:pve-lab:777"


def test_a_word_of_patrols_own_cannot_hide_the_beginning_of_a_name() -> None:
    estate = Estate(resources=[Resource(id="vm:a:1", type=ResourceType.VM, name="host-acme")])
    assert "acme" not in Shroud.of(estate, Privacy.PSEUDONYMS).text_out("docker-host-acme")


def test_full_privacy_changes_nothing() -> None:
    shroud = Shroud.of(house(), Privacy.FULL)
    value = {"vm:pve-lab:101": ["nextcloud", 1]}
    assert shroud.text_out("nextcloud") == "nextcloud"
    assert shroud.value_out(value) is value
    assert shroud.text_in("guest-1") == "guest-1"


def test_metrics_only_lets_ids_numbers_times_and_known_words_through() -> None:
    shroud = Shroud.of(house(), Privacy.METRICS_ONLY)
    row = {
        "id": "vm:pve-lab:101",
        "name": "nextcloud",
        "status": "running",
        "cpu_percent": 93.5,
        "ok": True,
        "at": datetime(2026, 3, 2, 6, tzinfo=UTC).isoformat(),
        "detail": "the wedding photos could not be copied",
        "nothing": None,
    }
    assert shroud.value_out(row) == {
        "id": "vm:origin-1:guest-1",
        "name": "guest-1",
        "status": "running",
        "cpu_percent": 93.5,
        "ok": True,
        "at": "2026-03-02T06:00:00+00:00",
        "detail": "withheld",
        "nothing": None,
    }
    assert shroud.text_out("guest nextcloud: wedding photos, backup failed 3 h ago") == (
        "guest guest-1: withheld, backup failed 3 h ago"
    )


def test_keys_of_metrics_only_stay_different_from_each_other() -> None:
    told = Shroud.of(house(), Privacy.METRICS_ONLY).value_out({"mandant": 1, "umsatz": 2, "cpu": 3})
    assert told == {"name-1": 1, "name-2": 2, "cpu": 3}


def test_every_word_of_the_tools_stays() -> None:
    specs = Toolbox.specs()
    shroud = Shroud.of(house(), Privacy.PSEUDONYMS, words=words_of(specs))
    for spec in specs:
        assert shroud.text_out(spec.description) == spec.description
        assert shroud.text_out(json.dumps(spec.input_schema)) == json.dumps(spec.input_schema)


@pytest.mark.parametrize(
    "unit",
    ["a.", "aa.", "ab:", "vm:a:", "vm:", "a@", "a-", "ata-a_", "host-", "host-1", "http://", "docker-host-", "x"],
)
def test_text_that_is_made_to_be_hard_to_read_is_read_once(shroud: Shroud, unit: str) -> None:
    text = unit * 4_000  # with a step back at each word it would not end today
    assert shroud.text_in(shroud.text_out(text)) == text
