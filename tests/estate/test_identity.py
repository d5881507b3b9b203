"""What proves two rows to be one thing, what an id becomes, and what names mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.identity import is_canonical
from patrol.estate.identity import groups_of_same, has_canonical_form, minted_id, same_disk, serial_of, wwn_of
from patrol.estate.model import Resource, ResourceType
from patrol.estate.names import AliasIndex
from signals.evidence import DiskRow
from signals.storage_evidence import BtrfsRow, PoolRow


def resource(resource_id: str, kind: ResourceType = ResourceType.VM, **fields: object) -> Resource:
    return Resource(id=resource_id, type=kind, **fields)


@pytest.mark.parametrize(
    ("text", "kind", "canonical"),
    [
        ("vm:lab:101", ResourceType.VM, True),
        ("vm:lab:101", ResourceType.NODE, False),
        ("disk:serial:S1", None, True),
        ("storage:pve1:tank:sub", None, True),
        ("vm:lab", None, False),
        ("vm::101", None, False),
        ("vm:lab:", None, False),
        ("qemu:lab:101", None, False),
        ("vm:lab:a b", None, False),
        ("101", None, False),
        ("", None, False),
    ],
)
def test_canonical_form(text: str, kind: ResourceType | None, canonical: bool) -> None:
    assert has_canonical_form(text, kind) is canonical


@pytest.mark.parametrize(
    ("row", "serial"),
    [
        (DiskRow(serial=" S3Z8NB0K "), "S3Z8NB0K"),
        (DiskRow(serial="SER-1"), "SER-1"),
        (DiskRow(serial="S1"), "S1"),
        (DiskRow(), ""),
        (DiskRow(serial="00000000"), ""),
        (DiskRow(serial="unknown"), ""),
        (DiskRow(serial="QM00001", model="QEMU HARDDISK"), ""),
        (DiskRow(serial="QM00003"), ""),
        (DiskRow(serial="drive-scsi0"), ""),
        (DiskRow(serial="VB1a2b-3c", model="VBOX HARDDISK"), ""),
        (DiskRow(serial="0123456789ABCDE", model="USB bridge"), ""),
    ],
)
def test_a_serial_number_that_is_handed_out_twice_proves_nothing(row: DiskRow, serial: str) -> None:
    assert serial_of(row) == serial


@pytest.mark.parametrize(
    "written", ["0x5000c500a1b2c3d4", "5000C500A1B2C3D4", "naa.5000c500a1b2c3d4", "5 000c50 0a1b2c3d4"]
)
def test_one_wwn_is_written_in_many_ways(written: str) -> None:
    assert wwn_of(DiskRow(wwn=written)) == "5000c500a1b2c3d4"


@pytest.mark.parametrize("written", [None, "", "0x0000000000000000", "eui.", "12"])
def test_no_wwn(written: str | None) -> None:
    assert wwn_of(DiskRow(wwn=written)) == ""


SAME_DISK = [
    ("the serial number", DiskRow(serial="SER-1"), DiskRow(serial="ser-1"), True),
    ("the WWN", DiskRow(wwn="0x5000c500a1b2c3d4"), DiskRow(wwn="naa.5000c500a1b2c3d4", serial="X9"), True),
    ("models are cut", DiskRow(serial="A1", model="ATA SSD 8"), DiskRow(serial="A1", model="SSD_8"), True),
    ("another model", DiskRow(serial="A1", model="WD Red"), DiskRow(serial="A1", model="SSD 860"), False),
    ("another serial number", DiskRow(serial="A1"), DiskRow(serial="A2"), False),
    ("another WWN", DiskRow(wwn="0x5000c500a1b2c3d4"), DiskRow(wwn="0x5000c500a1b2c3d5"), False),
    ("nothing in common to compare", DiskRow(serial="A1"), DiskRow(wwn="0x5000c500a1b2c3d4"), None),
    ("equal names prove nothing", DiskRow(device="/dev/sda"), DiskRow(device="/dev/sda"), None),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "one", "other", "same"), SAME_DISK, ids=[case[0] for case in SAME_DISK])
def test_same_disk(rule: str, one: DiskRow, other: DiskRow, same: bool | None) -> None:
    assert same_disk(one, other) is same
    assert same_disk(other, one) is same


MINTED = [
    (resource("101", vmid=101, instance="lab"), "vm:lab:101"),
    (resource("101", vmid=101), "vm:pve1:101"),
    (resource("x", ResourceType.SYSTEM_CONTAINER, vmid=7, instance="lab"), "system-container:lab:7"),
    (resource("x", ResourceType.DISK, disk=DiskRow(serial="S1")), "disk:serial:S1"),
    (resource("x", ResourceType.DISK, disk=DiskRow(wwn="0x5000c500a1b2c3d4")), "disk:wwn:0x5000c500a1b2c3d4"),
    (resource("x", ResourceType.DISK, disk=DiskRow(device="/dev/sda")), "disk:pve1:sda"),
    (resource("x", ResourceType.DISK, name="sdb"), "disk:pve1:sdb"),
    (resource("x", ResourceType.STORAGE, name="local lvm"), "storage:pve1:local~20lvm"),
    (resource("x", ResourceType.STORAGE, pool=PoolRow(btrfs=BtrfsRow(uuid="u-1"))), "storage:pve1:u-1"),
    (resource("x", ResourceType.RAID, name="/dev/md0"), "raid:pve1:md0"),
    (resource("x", ResourceType.AGENT, name="nas"), "agent:pve1:nas"),
    (resource("only-id", ResourceType.PBS), "pbs:pve1:only-id"),
]


@pytest.mark.parametrize(("row", "expected"), MINTED)
def test_minted_ids_say_what_the_field_says(row: Resource, expected: str) -> None:
    assert minted_id(row, host="pve1", source="doc") == expected


def test_a_minted_id_without_host_says_its_source() -> None:
    assert minted_id(resource("x", ResourceType.POD, name="p"), host="", source="doc") == "pod:doc:p"
    assert minted_id(resource("", ResourceType.POD), host="", source="") == "pod:unknown:unnamed"


@given(st.text(), st.text(), st.text(), st.sampled_from(list(ResourceType)), st.one_of(st.none(), st.integers(0)))
def test_any_name_gives_a_canonical_id(given_id: str, name: str, host: str, kind: ResourceType, vmid: int) -> None:
    row = resource(given_id, kind, name=name, vmid=vmid, disk=DiskRow(serial=name, device=host))
    assert is_canonical(minted_id(row, host=host, source=""))


def ids_of(groups: list[list[Resource]]) -> list[list[str]]:
    return [[row.id for row in group] for group in groups]


def test_a_serial_number_and_a_wwn_join_what_neither_joins_alone() -> None:
    rows = [
        resource("disk:a:sda", ResourceType.DISK, disk=DiskRow(serial="A1")),
        resource("disk:b:sda", ResourceType.DISK, disk=DiskRow(wwn="0x5000c500a1b2c3d4")),
        resource("disk:c:sda", ResourceType.DISK, disk=DiskRow(serial="A1", wwn="0x5000c500a1b2c3d4")),
        resource("disk:d:sda", ResourceType.DISK, disk=DiskRow(serial="A2")),
    ]
    assert ids_of(groups_of_same(rows)) == [["disk:a:sda", "disk:b:sda", "disk:c:sda"], ["disk:d:sda"]]


def test_one_guest_of_a_cluster_is_one_resource_and_equal_names_are_not() -> None:
    rows = [
        resource("a", vmid=101, instance="lab", name="web"),
        resource("b", vmid=101, instance="lab"),
        resource("c", vmid=101, instance="far", name="web"),
        resource("d", vmid=101, name="web"),
        resource("e", ResourceType.SYSTEM_CONTAINER, vmid=101, instance="lab"),
    ]
    assert ids_of(groups_of_same(rows)) == [["a", "b"], ["c"], ["d"], ["e"]]


def test_many_different_disks_of_one_serial_number_stay_apart_and_cost_no_square() -> None:
    rows = [
        resource(f"disk:h{number}:sda", ResourceType.DISK, disk=DiskRow(serial="A1", model=f"model {number}x"))
        for number in range(2000)
    ]
    assert len(groups_of_same(rows)) == 2000


ROWS = [
    resource(
        "vm:lab:101",
        name="web",
        aliases=["vm:old:101", "legacy-7"],
        vmid=101,
        instance="lab",
        parent="node:lab:pve1",
    ),
    resource("vm:far:101", name="Web", vmid=101, instance="far"),
    resource("system-container:lab:110", ResourceType.SYSTEM_CONTAINER, name="dns", vmid=110, instance="lab"),
    resource("node:lab:pve1", ResourceType.NODE, name="pve1"),
    resource("node:lab:101", ResourceType.NODE, name="vm:lab:101"),
    resource("disk:a:sda", ResourceType.DISK, disk=DiskRow(serial="SER-1")),
]  # fmt: skip

NAMES = [
    ("vm:lab:101", ["vm:lab:101"]),  # an id never means another's display name
    (" VM:LAB:101 ", ["vm:lab:101"]),
    ("vm:old:101", ["vm:lab:101"]),
    ("legacy-7", ["vm:lab:101"]),
    ("web", ["vm:far:101", "vm:lab:101"]),
    ("101", ["vm:far:101", "vm:lab:101"]),
    ("qemu/101", ["vm:far:101", "vm:lab:101"]),
    ("lab/101", ["vm:lab:101"]),
    ("far:101", ["vm:far:101"]),
    ("pve1/qemu/101", ["vm:lab:101"]),
    ("lxc/101", []),
    ("ct/110", ["system-container:lab:110"]),
    ("PVE1", ["node:lab:pve1"]),
    ("ser-1", ["disk:a:sda"]),
    ("nobody", []),
    ("", []),
    ("///", []),
]


@pytest.mark.parametrize(("name", "ids"), NAMES)
def test_a_name_means(name: str, ids: list[str]) -> None:
    index = AliasIndex(ROWS)
    assert [row.id for row in index.candidates(name)] == ids
    found = index.find(name)
    assert (found.id if found else None) == (ids[0] if len(ids) == 1 else None)


def test_a_scope_is_resolved_or_says_what_is_missing_and_what_is_open() -> None:
    resolution = AliasIndex(ROWS).resolve(["pve1", "web", " ", "pve1", "nobody", "legacy-7", "vm:lab:101"])
    assert resolution.requested == ("legacy-7", "nobody", "pve1", "vm:lab:101", "web")
    assert resolution.resolved == {"legacy-7": "vm:lab:101", "pve1": "node:lab:pve1", "vm:lab:101": "vm:lab:101"}
    assert resolution.effective == ("node:lab:pve1", "vm:lab:101")
    assert resolution.unmatched == ("nobody",)
    assert resolution.ambiguous == {"web": ("vm:far:101", "vm:lab:101")}
    assert not resolution.is_whole
    assert AliasIndex(ROWS).resolve(["pve1"]).is_whole


@given(st.lists(st.text(max_size=12), max_size=6))
def test_every_requested_name_has_exactly_one_answer(names: list[str]) -> None:
    resolution = AliasIndex(ROWS).resolve(names)
    parts = [*resolution.resolved, *resolution.unmatched, *resolution.ambiguous]
    assert sorted(parts) == list(resolution.requested)
