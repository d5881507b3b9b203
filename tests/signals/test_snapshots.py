"""Snapshots: what is too old or too large, exactly on the limit, and what cannot be told."""

import pytest

from findings.kinds import Kind
from findings.model import Look
from signals.evidence import InventoryRow
from signals.model import Origin
from signals.protection_evidence import SnapshotRow, SnapshotsOutput
from signals.snapshots import SnapshotDetector
from signals.thresholds import Limit, Limited
from tests.signals.metered import Judged, ago

WEB = InventoryRow(id="vm:lab:101", type="vm", name="web", instance="lab", vmid=101, aliases=["qemu/101"])
LIMITS = {
    Limited.SNAPSHOT_AGE: Limit(trigger=720, clear=720, critical=1080, provenance="built-in"),
    Limited.SNAPSHOT_SIZE: Limit(trigger=50, clear=50, provenance="alerts.json: snapshotDefaults.warningSizeGiB"),
}
GIB = 1 << 30


def row(hours: float | None = 1, name: str = "s1", **fields: object) -> SnapshotRow:
    time = None if hours is None else ago(hours)
    return SnapshotRow(**{"snapshot_name": name, "time": time, "resource_id": WEB.id, "size_bytes": GIB, **fields})


def judged(*rows: SnapshotRow, limits: dict[Limited, Limit] | None = None, **options: object) -> Judged:
    output = SnapshotsOutput(snapshots=list(rows), guests=[WEB.id])
    return Judged(SnapshotDetector, output, limits=LIMITS if limits is None else limits, known=(WEB,), **options)


@pytest.mark.parametrize(
    ("hours", "severity", "look"),
    [
        (1, None, Look.CLEAR),
        (719.9, None, Look.CLEAR),
        (720, None, Look.HELD),
        (720.1, "warning", Look.PRESENT),
        (1079, "warning", Look.PRESENT),
        (1081, "critical", Look.PRESENT),
    ],
)
def test_a_snapshot_beyond_its_limit_is_old(hours: float, severity: str | None, look: Look) -> None:
    seen = judged(row(hours))
    assert seen.look(Kind.SNAPSHOT_OLD, WEB.id, "s1") is look
    assert seen.told() == ({("snapshot_old", severity, WEB.id, "s1")} if severity else set())


def test_the_signal_says_how_old_since_when_and_by_which_limit() -> None:
    (signal,) = judged(row(960, "before-upgrade")).signals
    assert signal.summary == ("Snapshot before-upgrade is 40 days old (2026-01-21 06:00 UTC); the limit is 30 days")
    assert (signal.value, signal.limit, signal.limit_source) == (960, 720, "built-in")
    assert '"snapshot_name":"before-upgrade"' in signal.evidence


@pytest.mark.parametrize(
    ("gib", "look"), [(49.9, Look.CLEAR), (50, Look.HELD), (50.1, Look.PRESENT), (None, Look.BLIND), (-1, Look.BLIND)]
)
def test_a_snapshot_beyond_its_size_is_large(gib: float | None, look: Look) -> None:
    seen = judged(row(size_bytes=None if gib is None else int(gib * GIB)))
    assert seen.look(Kind.SNAPSHOT_LARGE, WEB.id, "s1") is look
    assert seen.look(Kind.SNAPSHOT_OLD, WEB.id, "s1") is Look.CLEAR


@pytest.mark.parametrize(
    ("time", "reason"),
    [
        (None, "its time cannot be placed"),
        ("yesterday", "its time cannot be placed"),
        (0, "its time cannot be placed"),
        (ago(-1), "it claims to be of the future"),
    ],
)
def test_a_snapshot_of_no_known_time_is_blind(time: object, reason: str) -> None:
    seen = judged(row(time=time))
    assert seen.look(Kind.SNAPSHOT_OLD, WEB.id, "s1") is Look.BLIND
    assert seen.reason(Kind.SNAPSHOT_OLD, WEB.id, "s1").startswith(reason)
    assert seen.look(Kind.SNAPSHOT_OLD, WEB.id, "another") is Look.CLEAR


def test_the_running_state_is_no_snapshot() -> None:
    assert judged(row(None, "current")).told() == set()


def test_a_guest_that_was_read_is_clear_of_snapshots_that_are_gone() -> None:
    seen = judged()
    assert seen.look(Kind.SNAPSHOT_OLD, WEB.id, "deleted") is Look.CLEAR
    assert seen.look(Kind.SNAPSHOT_LARGE, WEB.id, "deleted") is Look.CLEAR
    assert seen.look(Kind.SNAPSHOT_OLD, "vm:lab:102", "s1") is None


def test_neither_an_incomplete_sweep_nor_a_model_clears() -> None:
    assert judged(complete=False).look(Kind.SNAPSHOT_OLD, WEB.id) is None
    assert judged(origin=Origin.MODEL).look(Kind.SNAPSHOT_OLD, WEB.id) is None
    assert judged(row(960), origin=Origin.MODEL).told() != set()


def test_what_an_operator_switched_off_is_not_looked_at() -> None:
    seen = judged(row(9999, size_bytes=900 * GIB), limits={})
    assert seen.signals == []
    assert seen.look(Kind.SNAPSHOT_OLD, WEB.id) is None


@pytest.mark.parametrize(
    ("fields", "resource_id"),
    [
        ({"vmid": 101, "instance": "lab", "type": "qemu"}, WEB.id),
        ({"vmid": "101", "type": "vm", "node": "pve1"}, WEB.id),  # of a guest that migrates, the node tells nothing
        ({"vmid": 101}, WEB.id),
        ({"vmid": "8", "type": "vm", "node": "pve1"}, "vm:pve1:8"),
        ({"vmid": 7, "instance": "lab", "type": "lxc"}, "system-container:lab:7"),
        ({"vmid": "8", "type": "vm"}, "8"),
        ({"vm_name": "web"}, WEB.id),
    ],
)
def test_a_recorded_row_without_our_id_means_the_guest_that_it_names(fields: dict, resource_id: str) -> None:
    seen = judged(row(960, resource_id="", **fields))
    assert [each.resource_id for each in seen.signals] == [resource_id]


@pytest.mark.parametrize(
    ("node", "resource_id"), [("pve1", WEB.id), ("pve9", "vm:site2:101"), ("elsewhere", "vm:elsewhere:101")]
)
def test_of_two_guests_with_one_number_the_node_tells_the_cluster(node: str, resource_id: str) -> None:
    known = (
        WEB,
        InventoryRow(id="vm:site2:101", type="vm", instance="site2", vmid=101),
        InventoryRow(id="node:lab:pve1", type="node", name="pve1", instance="lab"),
        InventoryRow(id="node:site2:pve9", type="node", name="pve9", instance="site2"),
    )
    output = SnapshotsOutput(snapshots=[row(960, resource_id="", vmid=101, node=node)])
    seen = Judged(SnapshotDetector, output, limits=LIMITS, known=known)
    assert [each.resource_id for each in seen.signals] == [resource_id]


@pytest.mark.parametrize(
    ("fields", "resource_id"),
    [
        ({"vmid": 101}, "vm:lab:101"),
        ({"vmid": 101, "type": "qemu", "instance": "lab"}, "vm:lab:101"),
        ({"vmid": 101, "instance": "site2"}, None),
        ({"vmid": 101, "type": "qemu", "instance": "site2"}, "vm:site2:101"),
        ({"vmid": 101, "type": "lxc", "instance": "lab"}, "system-container:lab:101"),
        ({"vmid": 101, "type": "system-container", "instance": "lab"}, "system-container:lab:101"),
        ({"vm_name": "web"}, "vm:lab:101"),
        ({"vm_name": "web", "type": "lxc"}, None),
        ({"vm_name": "pve1"}, None),
        ({"vmid": "pve1"}, None),
    ],
)
def test_a_number_or_name_that_something_else_has_as_well_is_not_enough(
    fields: dict[str, object], resource_id: str | None
) -> None:
    known = (
        InventoryRow(id="vm:lab:101", type="vm", name="web", instance="lab", vmid=101, aliases=["101"]),
        InventoryRow(id="node:lab:pve1", type="node", name="pve1", instance="lab"),
    )
    seen = Judged(
        SnapshotDetector, SnapshotsOutput(snapshots=[row(960, resource_id="", **fields)]), known=known, limits=LIMITS
    )
    assert [each.resource_id for each in seen.signals] == ([resource_id] if resource_id else [])


@pytest.mark.parametrize(
    "fields", [{}, {"vmid": 0}, {"vmid": ""}, {"vmid": "?"}, {"type": "vm", "instance": "lab", "node": "pve1"}]
)
def test_a_snapshot_that_names_no_guest_is_told_and_clears_nobody(fields: dict[str, object]) -> None:
    seen = judged(row(960, "old", resource_id="", **fields), row(960))
    assert seen.told() == {("snapshot_old", "warning", WEB.id, "s1")}
    assert [(each.place, each.message) for each in seen.notes.problems] == [
        ("snapshots[0]", "whose snapshot this is: it names no guest")
    ]
    assert seen.look(Kind.SNAPSHOT_OLD, WEB.id, "old") is None
    assert seen.look(Kind.SNAPSHOT_LARGE, WEB.id, "old") is None


def test_a_running_state_that_names_no_guest_is_no_snapshot_all_the_same() -> None:
    seen = judged(row(None, "current", resource_id=""))
    assert (seen.notes.problems, seen.look(Kind.SNAPSHOT_OLD, WEB.id)) == ([], Look.CLEAR)


def test_a_number_of_two_guests_without_a_place_is_told_and_counts_for_neither() -> None:
    known = (WEB, InventoryRow(id="vm:site2:101", type="vm", instance="site2", vmid=101))
    output = SnapshotsOutput(snapshots=[row(960, resource_id="", vmid=101)], guests=[each.id for each in known])
    seen = Judged(SnapshotDetector, output, limits=LIMITS, known=known)
    assert seen.signals == []
    assert "ambiguous: it belongs to one of vm:lab:101, vm:site2:101" in seen.notes.problems[0].message
    assert [seen.look(Kind.SNAPSHOT_OLD, each.id) for each in known] == [None, None]


def test_a_name_of_nothing_printable_is_still_a_subject() -> None:
    assert {each.subject for each in judged(row(960, "\x00"), row(960, "s" * 300)).signals} == {"unnamed", "s" * 100}
