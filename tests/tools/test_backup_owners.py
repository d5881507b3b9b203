"""Whose backup it is: VMID inside a cluster, told apart by namespace, comment or store, else nobody's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.model import Topic
from patrol.estate.model import Estate, Resource, ResourceType
from patrol.tools.owners import BackupOwners, read_vmid
from patrol.tools.view import EstateView
from signals.backup_evidence import BackupsOutput, BackupTaskRow, PbsBackupRow, PbsJobRow, PveBackupRow
from signals.evidence import BackupStore
from tests.tools.estates import NOW, gap, guest, node, pool, source, toolbox

TWO_CLUSTERS = [
    node("h1", "alpha"),
    node("h2", "beta"),
    guest("h1", 101, "alpha", name="db"),
    guest("h2", 101, "beta", name="cache"),
    guest("h1", 130, "alpha"),
    guest("h1", 110, "alpha", type=ResourceType.SYSTEM_CONTAINER),
    pool("x", "dump-h1"),
]
TWO_CLUSTERS[-1].instance = "h1"

ROWS = [
    ("the namespace names the cluster", PbsBackupRow(vmid=101, backup_type="vm", namespace="h1"), "vm:h1:101"),
    ("one segment of it does", PbsBackupRow(vmid="101", backup_type="vm", namespace="site/H2/vm"), "vm:h2:101"),
    ("the comment names guest and node", PbsBackupRow(vmid=101, comment="db, h1", namespace="h1"), "vm:h1:101"),
    ("the comment names the node", PbsBackupRow(vmid=101, comment="anything, beta"), "vm:h2:101"),
    ("the comment names the guest", PbsBackupRow(vmid=101, comment="cache"), "vm:h2:101"),
    ("they contradict each other", PbsBackupRow(vmid=101, comment="x, beta", namespace="h1"), ""),
    ("nothing tells", PbsBackupRow(vmid=101, backup_type="vm"), ""),
    ("a namespace of an unknown place tells nothing", PbsBackupRow(vmid=101, namespace="elsewhere"), ""),
    ("only one guest has the number", PbsBackupRow(vmid="130", backup_type="vm", instance="pbs1"), "vm:h1:130"),
    ("the number is another cluster's now", PbsBackupRow(vmid=130, namespace="h2"), ""),
    ("a container is no machine", PbsBackupRow(vmid=130, backup_type="ct"), ""),
    ("a container", PbsBackupRow(vmid="ct/110"), "system-container:h1:110"),
    ("a host backup is no guest's", PbsBackupRow(vmid="130", backup_type="host"), ""),
    ("a guest that is gone", PbsBackupRow(vmid=140, backup_type="vm"), ""),
    ("a group without number", PbsBackupRow(vmid="proxy", backup_type="host"), ""),
    ("decided by the source", PbsBackupRow(vmid=5, resource_id="vm:h2:101"), "vm:h2:101"),
    ("an id of nothing", PbsBackupRow(vmid=130, resource_id="vm:h9:1"), ""),
    ("the instance decides", PveBackupRow(vmid=101, instance="h2"), "vm:h2:101"),
    ("the storage's cluster decides", PveBackupRow(vmid=101, storage="dump-h1"), "vm:h1:101"),
    ("a storage that nobody knows", PveBackupRow(vmid=101, storage="usb"), ""),
    ("the instance has no such guest", PveBackupRow(vmid=130, instance="h2"), ""),
    ("a word that is no cluster tells nothing", PveBackupRow(vmid=130, instance="my-pve-source"), "vm:h1:130"),
    ("the node's cluster decides", BackupTaskRow(vmid=101, node="beta"), "vm:h2:101"),
    ("a node that is gone tells nothing", BackupTaskRow(vmid=130, node="old-node"), "vm:h1:130"),
    ("the kind is said with the number", BackupTaskRow(vmid="vm/130"), "vm:h1:130"),
    ("a job of all guests is no guest's", BackupTaskRow(vmid=0, node="alpha"), ""),
]


def view_of(resources: list[Resource], **sections: object) -> EstateView:
    return EstateView(Estate(sources=[source()], resources=resources, **sections), NOW)


@pytest.mark.parametrize(("rule", "row", "owner"), ROWS, ids=[row[0] for row in ROWS])
def test_owner(rule: str, row: PbsBackupRow, owner: str) -> None:
    found = BackupOwners(view_of(TWO_CLUSTERS)).of(row).guest
    assert (found.id if found else "") == owner


def test_inside_a_cluster_the_node_is_no_part_of_identity() -> None:
    moved = [node("a", "old"), node("a", "new"), guest("a", 130, "new")]
    found = BackupOwners(view_of(moved)).of(BackupTaskRow(vmid=130, node="old", instance="a"))
    assert found.guest.id == "vm:a:130"


def test_without_clusters_the_node_is_all_there_is() -> None:
    alone = [
        node("", "one", id="node:x:one"),
        node("", "two", id="node:x:two"),
        guest("", 101, "one", id="vm:one:101", parent="node:x:one"),
        guest("", 101, "two", id="vm:two:101", parent="node:x:two"),
    ]
    owners = BackupOwners(view_of(alone))
    assert owners.of(BackupTaskRow(vmid=101, node="two")).guest.id == "vm:two:101"
    assert len(owners.of(BackupTaskRow(vmid=101)).candidates) == 2


def test_two_nodes_of_one_name_in_two_clusters_decide_nothing() -> None:
    twins = [node("a", "pve"), node("b", "pve"), guest("a", 101, "pve"), guest("b", 101, "pve")]
    found = BackupOwners(view_of(twins)).of(BackupTaskRow(vmid=101, node="pve"))
    assert found.guest is None
    assert [each.id for each in found.candidates] == ["vm:a:101", "vm:b:101"]


def test_a_store_that_only_one_cluster_backs_up_to_decides() -> None:
    stores = [BackupStore(id="s", name="main", instances=["h2"])]
    owners = BackupOwners(view_of(TWO_CLUSTERS, backup_stores=stores))
    assert owners.of(PbsBackupRow(vmid=101, datastore="main")).guest.id == "vm:h2:101"
    stores = [BackupStore(id="s", name="main")]
    owners = BackupOwners(view_of(TWO_CLUSTERS, backup_stores=stores))
    assert owners.of(PbsBackupRow(vmid=101, datastore="main")).guest is None


def backups(estate: Estate, **arguments: object) -> BackupsOutput:
    page = toolbox(estate).call("pulse_storage", {"type": "backups", **arguments})
    assert isinstance(page, BackupsOutput)
    return page


def test_what_cannot_be_decided_is_said_for_each_guest_and_counts_for_none() -> None:
    page = backups(Estate(sources=[source()], resources=TWO_CLUSTERS, pbs_backups=[PbsBackupRow(vmid=101)]))
    assert [row.resource_id for row in page.pbs] == [""]
    assert [(each.topic, each.resource_id) for each in page.gaps] == [
        (Topic.BACKUPS, "vm:h1:101"),
        (Topic.BACKUPS, "vm:h2:101"),
    ]
    assert page.complete  # for all other guests


def test_a_guest_with_a_backup_of_its_own_is_not_made_blind_by_a_doubtful_one() -> None:
    rows = [PbsBackupRow(vmid=101), PbsBackupRow(vmid=101, namespace="h1")]
    page = backups(Estate(sources=[source()], resources=TWO_CLUSTERS, pbs_backups=rows))
    assert [each.resource_id for each in page.gaps] == ["vm:h2:101"]


def test_gaps_of_guests_and_stores_stand_with_the_backups() -> None:
    estate = Estate(
        sources=[source()],
        resources=TWO_CLUSTERS,
        gaps=[
            gap(Topic.BACKUPS, "vm:h1:130"),
            gap(Topic.BACKUPS, "storage:pbs1:main"),
            gap(Topic.BACKUPS, "vm:h2:101"),
        ],
        backup_stores=[BackupStore(id="storage:pbs1:main", readable=False)],
        pbs_backups=[PbsBackupRow(vmid=130)],
    )
    assert backups(estate).gaps == estate.gaps
    assert backups(estate, guest_id="130").gaps == estate.gaps[:2]


FILTERED = [
    ({"resource_id": "vm:h1:101"}, {("vm:h1:101", "pbs"), ("vm:h1:101", "pve")}),
    ({"guest_id": "101"}, {("vm:h1:101", "pbs"), ("vm:h1:101", "pve"), ("vm:h2:101", "pbs")}),
    ({"vm_id": 130}, {("vm:h1:130", "pve")}),
    ({"guest_id": "140"}, {("", "pve")}),
    ({"resource_id": "140"}, {("", "pve")}),
    ({"resource_id": "130"}, {("vm:h1:130", "pve")}),
    ({"node": "beta"}, {("vm:h2:101", "pbs")}),
    ({"cluster": "h2"}, {("vm:h2:101", "pbs")}),
    ({"instance": "pbs1"}, {("vm:h2:101", "pbs")}),
    ({"source": "lab", "node": "alpha"}, {("vm:h1:101", "pbs"), ("vm:h1:101", "pve"), ("vm:h1:130", "pve")}),
    ({"resource_type": "system-container"}, set()),
]


@pytest.mark.parametrize(("arguments", "found"), FILTERED)
def test_backups_are_filtered_by_guest_and_place(arguments: dict, found: set) -> None:
    estate = Estate(
        sources=[source()],
        resources=TWO_CLUSTERS,
        pbs_backups=[
            PbsBackupRow(vmid="101", namespace="h1"),
            PbsBackupRow(vmid="101", namespace="h2", instance="pbs1"),
        ],
        pve_backups=[
            PveBackupRow(vmid=101, instance="h1"),
            PveBackupRow(vmid=130, instance="h1"),
            PveBackupRow(vmid=140, instance="h1"),
        ],
    )
    if arguments.get("vm_id"):
        arguments = {**arguments, "vm_id": str(arguments["vm_id"])}
    page = backups(estate, **arguments)
    assert {(row.resource_id, "pbs") for row in page.pbs} | {(row.resource_id, "pve") for row in page.pve} == found


def test_naive_times_take_the_zone_of_their_instance() -> None:
    estate = Estate(
        sources=[source()],
        resources=TWO_CLUSTERS,
        zones={"h1": "Australia/Brisbane"},
        pve_backups=[
            PveBackupRow(vmid=130, instance="h1", backup_time="2025-01-02 00:30:00"),
            PveBackupRow(vmid=130, instance="h9", backup_time="2025-01-02 00:30:00"),
            PveBackupRow(vmid=130, instance="h1", backup_time="2025-01-02T00:30:00+01:00"),
            PveBackupRow(vmid=130, instance="h1", backup_time=1735777800),
            PveBackupRow(vmid=130, instance="h1", backup_time="yesterday"),
        ],
    )
    assert [row.backup_time for row in backups(estate).pve] == [
        "2025-01-01T14:30:00+00:00",
        "2025-01-02T00:30:00+00:00",
        "2025-01-02T00:30:00+01:00",
        1735777800,
        "yesterday",
    ]


def test_attempts_are_newest_first_and_filtered_by_either_status() -> None:
    rows = [
        BackupTaskRow(id="old", vmid=130, status="stopped", exitstatus="OK", start_time="2026-01-01T00:00:00Z"),
        BackupTaskRow(id="no time", vmid=130, status="OK"),
        BackupTaskRow(id="new", vmid=130, status="ERROR", start_time="2026-01-02 00:00:00"),
        BackupTaskRow(id="epoch", vmid=130, status="ok", start_time=1767312000),
    ]
    box = toolbox(Estate(sources=[source()], resources=TWO_CLUSTERS, backup_tasks=rows))
    tasks = box.call("pulse_storage", {"type": "backup_tasks"}).tasks
    assert [row.id for row in tasks] == ["epoch", "new", "old", "no time"]
    page = box.call("pulse_storage", {"type": "backup_tasks", "status": "ok"})
    assert ([row.id for row in page.tasks], page.total, page.filtered) == (["epoch", "old", "no time"], 3, 3)


@pytest.mark.parametrize(
    ("job", "place"),
    [
        (PbsJobRow(id="1", store="main", instance="pbs1"), "storage:pbs1:main"),
        (PbsJobRow(id="1", store="main", instance="pbs2"), "storage:pbs2:main"),
        (PbsJobRow(id="1", store="main"), ""),
        (PbsJobRow(id="1", store="gone", instance="pbs2"), "pbs:pbs2:pbs2"),
        (PbsJobRow(id="1", instance="pbs9"), ""),
        (PbsJobRow(id="1", resource_id="pbs2"), "pbs:pbs2:pbs2"),
    ],
)
def test_a_job_is_about_its_datastore_or_server(job: PbsJobRow, place: str) -> None:
    resources = [
        Resource(id=f"{kind}:{server}:{name}", type=kind, name=name, instance=server, source="lab")
        for server in ("pbs1", "pbs2")
        for kind, name in ((ResourceType.PBS, server), (ResourceType.STORAGE, "main"))
    ]
    estate = Estate(sources=[source()], resources=resources, pbs_jobs=[job])
    (row,) = toolbox(estate).call("pulse_storage", {"type": "pbs_jobs"}).jobs
    assert row.resource_id == place


def test_jobs_are_filtered() -> None:
    jobs = [
        PbsJobRow(id="1", type="sync", status="OK", instance="pbs1", resource_id="pbs1"),
        PbsJobRow(id="2", type="verify", status="ERROR", instance="pbs2"),
    ]
    resources = [Resource(id="pbs:pbs1:pbs1", type=ResourceType.PBS, name="pbs1", source="lab")]
    box = toolbox(Estate(sources=[source()], resources=resources, pbs_jobs=jobs))
    for arguments, ids in (
        ({}, ["1", "2"]),
        ({"job_type": "SYNC"}, ["1"]),
        ({"status": "error"}, ["2"]),
        ({"instance": "pbs2"}, ["2"]),
        ({"resource_id": "pbs:pbs1:pbs1"}, ["1"]),
        ({"source": "lab"}, ["1"]),
    ):
        page = box.call("pulse_storage", {"type": "pbs_jobs", **arguments})
        assert [row.id for row in page.jobs] == ids, arguments


@given(st.one_of(st.none(), st.integers(), st.text(), st.booleans()))
def test_any_vmid_is_read_or_refused(value: object) -> None:
    kind, vmid = read_vmid(value)
    assert vmid is None or vmid > 0
    assert kind in {"", "vm", "ct", "qemu", "lxc"}
