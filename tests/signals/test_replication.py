"""Replication: jobs that fail or fall behind, exactly on the limit, jobs that are off, at work, or gone."""

import pytest

from findings.kinds import Kind
from findings.model import Look
from signals.detector import Context, Notes
from signals.evidence import InventoryOutput, InventoryRow
from signals.inventory import Inventory
from signals.protection_evidence import ReplicationOutput, ReplicationRow
from signals.replication import ReplicationDetector
from signals.thresholds import Limit, Limited
from tests.signals.backup_pages import NOW, Limits, page
from tests.signals.metered import Judged, ago

WEB = InventoryRow(id="vm:lab:101", type="vm", name="web", source="lab", instance="lab", vmid=101)
DNS = InventoryRow(id="system-container:lab:110", type="system-container", name="dns", source="lab", vmid=110)
FAR = InventoryRow(id="vm:site2:5", type="vm", name="far", source="site2", vmid=5)
NODE = InventoryRow(id="node:lab:pve1", type="node", name="pve1", source="lab", instance="lab")
LIMITS = {Limited.REPLICATION_LAG: Limit(trigger=24, clear=19, provenance="built-in")}
KIND = Kind.REPLICATION_FAILED


def job(**fields: object) -> ReplicationRow:
    return ReplicationRow(
        **{
            "id": "101-0",
            "resource_id": WEB.id,
            "target_node": "pve2",
            "status": "ok",
            "next_sync": ago(-0.2),
            **fields,
        }
    )


def judged(*rows: ReplicationRow, limits: dict[Limited, Limit] | None = None, **options: object) -> Judged:
    output = ReplicationOutput(jobs=list(rows), sources=["lab"])
    known = (WEB, DNS, FAR, NODE)
    return Judged(ReplicationDetector, output, limits=LIMITS if limits is None else limits, known=known, **options)


@pytest.mark.parametrize(
    "fields",
    [
        {"error": "No route to host"},
        {"status": "error"},
        {"status": "failed"},
        {"fail_count": 1},
        {"status": "syncing", "error": "timeout"},
        {"status": "something new"},
    ],
)
def test_a_job_whose_last_run_failed_is_a_warning(fields: dict[str, object]) -> None:
    seen = judged(job(**fields))
    assert seen.told() == {("replication_failed", "warning", WEB.id, "101-0")}
    assert seen.look(KIND, WEB.id, "101-0") is Look.PRESENT


def test_the_signal_says_where_to_how_often_and_why() -> None:
    (signal,) = judged(job(fail_count=3, error="No route\nto host", status="error")).signals
    assert signal.summary == "The replication 101-0 to pve2 failed 3 times in a row: No route to host"
    assert (signal.value, signal.category) == (None, "backup")


@pytest.mark.parametrize("status", ["ok", "OK", "idle", "", None, "syncing", "running"])
def test_a_job_that_is_well_or_at_work_is_fine(status: str | None) -> None:
    seen = judged(job(status=status))
    assert seen.signals == []
    assert seen.look(KIND, WEB.id, "101-0") is Look.CLEAR


@pytest.mark.parametrize(
    ("hours", "look"),
    [(-1, Look.CLEAR), (18.9, Look.CLEAR), (19, Look.HELD), (24, Look.HELD), (24.1, Look.PRESENT)],
)
def test_a_job_behind_its_schedule_is_late(hours: float, look: Look) -> None:
    assert judged(job(next_sync=ago(hours))).look(KIND, WEB.id, "101-0") is look


def test_how_late_a_job_is_stands_in_the_signal() -> None:
    (signal,) = judged(job(next_sync=ago(100))).signals
    assert signal.summary == "The replication 101-0 to pve2 is 4.2 days behind its schedule (limit 24 h)"
    assert (signal.value, signal.limit, signal.limit_source) == (100, 24, "built-in")


def test_a_job_at_work_is_not_late_and_one_without_a_next_time_neither() -> None:
    assert judged(job(status="syncing", next_sync=ago(100)), job(id="101-1", next_sync=None)).signals == []


def test_a_next_time_that_names_none_is_blind() -> None:
    seen = judged(job(next_sync="soon"))
    assert seen.look(KIND, WEB.id, "101-0") is Look.BLIND
    assert "cannot be placed" in seen.reason(KIND, WEB.id, "101-0")


def test_what_is_switched_off_is_not_late_but_a_failure_stays_one() -> None:
    assert judged(job(next_sync=ago(100)), limits={}).signals == []
    assert judged(job(error="x"), limits={}).signals != []


@pytest.mark.parametrize("fields", [{"enabled": False}, {"status": "disabled"}])
def test_a_job_that_is_off_says_nothing(fields: dict[str, object]) -> None:
    assert judged(job(error="old", fail_count=9, next_sync=ago(999), **fields)).signals == []


def test_a_list_of_all_jobs_clears_the_guests_of_its_sources_and_no_others() -> None:
    seen = judged()
    assert [seen.look(KIND, row.id, "gone-0") for row in (WEB, DNS, FAR)] == [Look.CLEAR, Look.CLEAR, None]


@pytest.mark.parametrize("inventory", [{"complete": True}, {"has_holes": True}])
def test_a_job_whose_guest_is_out_of_sight_is_filed_under_no_guessed_type(inventory: dict[str, bool]) -> None:
    notes, view = Notes(), Inventory([InventoryOutput(resources=[WEB, DNS])], **inventory)
    family = ReplicationDetector(Context(Limits(), view, NOW), notes)
    failed = job(resource_id="", error="No route to host", instance="site2", guest_id=101)
    known = job(resource_id="", error="No route to host", instance="site2", guest_id=101, guest_type="lxc")
    family.read(page(ReplicationOutput(jobs=[failed])))
    assert not notes.signals
    family.read(page(ReplicationOutput(jobs=[known])))
    assert [each.resource_id for each in notes.signals.values()] == ["system-container:site2:101"]


def test_a_part_of_the_list_clears_nobody() -> None:
    assert judged(filters=(("node", "'pve1'"),)).look(KIND, DNS.id) is None
    assert judged(complete=False).look(KIND, DNS.id) is None


@pytest.mark.parametrize(
    ("fields", "resource_id"),
    [
        ({"guest_id": 101, "instance": "lab", "guest_type": "qemu"}, WEB.id),
        ({"guest_id": "101", "source_node": "pve1"}, WEB.id),
        ({"guest_id": "7", "source_node": "pve1", "guest_type": "lxc"}, "system-container:pve1:7"),
        ({"guest_id": "7", "guest_type": "lxc"}, "7"),
        ({"guest_id": None, "guest_name": "web", "id": None}, WEB.id),
        ({"guest_id": None, "id": "101-0"}, WEB.id),  # Proxmox names a job by its guest
        ({"guest_id": 0, "id": "101-0", "source_node": "pve1"}, WEB.id),
    ],
)
def test_a_recorded_row_without_our_id_means_the_guest_that_it_names(fields: dict, resource_id: str) -> None:
    seen = judged(job(resource_id="", error="x", **fields))
    assert [each.resource_id for each in seen.signals] == [resource_id]


@pytest.mark.parametrize(
    ("fields", "resource_id", "subject"),
    [
        ({"source_node": "pve1"}, NODE.id, "nightly"),
        ({"source_node": "pve1", "guest_id": 0}, NODE.id, "nightly"),
        ({"source_node": "pve1", "id": "999-0"}, NODE.id, "999-0"),
        ({"source_node": "pve1", "id": None}, NODE.id, "to pve2"),
        ({"source_node": "pve1", "id": None, "target_node": None}, NODE.id, "unnamed"),
        ({"source_node": "elsewhere"}, "elsewhere", "nightly"),
        ({"instance": "lab"}, "lab", "nightly"),
        ({}, "replication", "nightly"),
    ],
)
def test_a_job_without_a_guest_is_its_nodes_else_its_own(
    fields: dict[str, object], resource_id: str, subject: str
) -> None:
    row = {"id": "nightly", "resource_id": "", **fields}
    assert judged(job(error="x", **row)).told() == {("replication_failed", "warning", resource_id, subject)}
    assert judged(job(next_sync=ago(100), **row)).told() == {("replication_failed", "warning", resource_id, subject)}
    for well in ({}, {"enabled": False}):
        assert judged(job(**row, **well)).look(KIND, resource_id, subject) is Look.CLEAR


def test_a_job_without_a_guest_whose_next_time_names_none_is_blind() -> None:
    for node in ("pve1", "elsewhere"):
        seen = judged(job(resource_id="", id="nightly", source_node=node, next_sync="soon"))
        assert seen.look(KIND, NODE.id if node == "pve1" else node, "nightly") is Look.BLIND


def test_two_jobs_without_a_guest_are_two_findings() -> None:
    rows = [job(resource_id="", id=name, error="x", source_node="pve1") for name in ("a", "b")]
    assert {each.subject for each in judged(*rows).signals} == {"a", "b"}


def test_a_list_of_all_jobs_clears_the_nodes_of_its_sources_of_jobs_that_are_gone() -> None:
    assert judged().look(KIND, NODE.id, "gone") is Look.CLEAR


@pytest.mark.parametrize("fields", [{"error": "x"}, {"next_sync": ago(100)}, {}])
def test_a_job_that_names_nothing_is_told_and_its_list_clears_nobody(fields: dict[str, object]) -> None:
    seen = judged(job(), job(resource_id="", id=None, **fields))
    assert seen.signals == []
    assert [(each.place, each.message) for each in seen.notes.problems] == [
        ("jobs[1]", "whose job this is: it names neither a guest nor a node nor a job")
    ]
    assert [seen.look(KIND, each.id) for each in (WEB, NODE)] == [None, None]


def test_a_job_that_is_off_and_names_nothing_says_nothing() -> None:
    seen = judged(job(resource_id="", id=None, error="old", enabled=False))
    assert (seen.signals, seen.notes.problems, seen.look(KIND, WEB.id)) == ([], [], Look.CLEAR)


def test_a_number_of_two_guests_without_a_place_is_told_and_counts_for_neither() -> None:
    other = InventoryRow(id="vm:site2:101", type="vm", source="lab", instance="site2", vmid=101)
    output = ReplicationOutput(jobs=[job(resource_id="", guest_id=101, error="x")], sources=["lab"])
    seen = Judged(ReplicationDetector, output, limits=LIMITS, known=(WEB, other))
    assert seen.signals == []
    assert "ambiguous" in seen.notes.problems[0].message
    assert [seen.look(KIND, each.id) for each in (WEB, other)] == [None, None]


@pytest.mark.parametrize(
    ("inventory", "filed", "told"),
    [
        ({}, ["mail"], 0),  # nothing explains it, so it goes by what it is called
        ({"complete": True}, [], 0),  # it is gone
        ({"has_holes": True}, [], 1),
    ],
)
def test_a_guest_that_is_only_named(inventory: dict[str, bool], filed: list[str], told: int) -> None:
    notes = Notes()
    family = ReplicationDetector(Context(Limits(), Inventory(**inventory), NOW), notes)
    family.read(page(ReplicationOutput(jobs=[job(resource_id="", guest_name="mail", error="x")])))
    assert [each.resource_id for each in notes.signals.values()] == filed
    assert len(notes.problems) == told


def test_a_node_that_may_be_out_of_sight_is_no_place_for_a_job() -> None:
    notes, view = Notes(), Inventory([InventoryOutput(resources=[WEB])], has_holes=True)
    family = ReplicationDetector(Context(Limits(), view, NOW), notes)
    family.read(page(ReplicationOutput(jobs=[job(resource_id="", id="nightly", source_node="pve1", error="x")])))
    assert not notes.signals
    assert [each.place for each in notes.problems] == ["jobs[0]"]
