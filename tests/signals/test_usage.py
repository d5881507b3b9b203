"""high_cpu, high_memory, high_swap, high_pressure, and a guest's main disk: what fires, and what only looks like it."""

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.kinds import Kind
from findings.model import Look, Severity
from signals.detector import Context, EvidencePage, Notes, Sweep
from signals.evidence import InventoryOutput, InventoryRow, PerformanceOutput, PerformanceRow
from signals.inventory import Inventory
from signals.model import Origin, Signal
from signals.pages import Page
from signals.storage_evidence import FilesystemRow, ResourceDisks, ResourceDisksOutput
from signals.thresholds import Limit, Limited
from signals.usage import MAIN_DISK, UsageDetector

NOW = datetime(2026, 11, 29, tzinfo=UTC)
SWEEP = Sweep("pulse_metrics", "performance", ())
VM = "vm:lab:101"
DEFAULTS = {
    Limited.CPU: Limit(trigger=70, clear=65, provenance="built-in"),
    Limited.MEMORY: Limit(trigger=80, clear=75, provenance="built-in"),
    Limited.DISK: Limit(trigger=90, clear=85, critical=95, provenance="built-in"),
    Limited.SWAP: Limit(trigger=80, clear=75, provenance="built-in"),
    Limited.PRESSURE_CPU: Limit(trigger=80, clear=75, provenance="built-in"),
    Limited.PRESSURE_MEMORY: Limit(trigger=10, clear=8, provenance="built-in"),
    Limited.PRESSURE_IO: Limit(trigger=40, clear=35, provenance="built-in"),
}


class FixedThresholds:
    """The same limits for all, but for resources that have their own."""

    def __init__(
        self,
        limits: dict[Limited, Limit | None] | None = None,
        own: dict[str, dict[Limited, Limit | None]] | None = None,
    ) -> None:
        self.limits: dict[Limited, Limit | None] = {**DEFAULTS, **(limits or {})}
        self.own = own or {}
        self.window = 300.0
        self.asked = 0

    def limit(self, resource: InventoryRow, metric: Limited, *, disk_type: str = "") -> Limit | None:
        self.asked += 1
        return {**self.limits, **self.own.get(resource.id, {})}[metric]

    def window_seconds(self, resource: InventoryRow, metric: Limited) -> float:
        return self.window

    def offline_expected(self, resource: InventoryRow) -> bool:
        return False


class SharingThresholds(FixedThresholds):
    """Knows which resources have limits of their own, so that the others are asked for once."""

    has_special = True

    def is_special(self, resource: InventoryRow) -> bool:
        return resource.id in self.own


def inventory(*rows: InventoryRow) -> Inventory:
    return Inventory([InventoryOutput(resources=list(rows))])


def page(output: Page, origin: Origin = Origin.PATROL) -> EvidencePage[Page]:
    return EvidencePage("call-1", output, origin, SWEEP, "performance", {})


def judged(
    *outputs: Page,
    thresholds: FixedThresholds | None = None,
    known: Iterable[InventoryRow] = (),
    origin: Origin = Origin.PATROL,
) -> Notes:
    notes = Notes()
    context = Context(thresholds or FixedThresholds(), inventory(*known), NOW)
    detector = UsageDetector(context, notes)
    for output in outputs:
        detector.read(page(output, origin))
    detector.finish()
    notes.settle([SWEEP])
    return notes


def summary(**rows: PerformanceRow) -> PerformanceOutput:
    return PerformanceOutput(period="24h", summary={name.replace("_", ":"): row for name, row in rows.items()})


def one(**fields: float) -> PerformanceOutput:
    """A page with one virtual machine. What is not given is healthy."""
    healthy = {"avg_cpu": 20.0, "avg_memory": 40.0}
    row = msgspec.convert({**healthy, **fields, "resource_type": "vm"}, PerformanceRow)
    return PerformanceOutput(period="24h", summary={VM: row})


def signals(notes: Notes) -> list[tuple[Kind, str, str]]:
    return [(signal.signal_type, signal.resource_id, signal.subject) for signal in notes.signals.values()]


def only(notes: Notes) -> Signal:
    (signal,) = notes.signals.values()
    return signal


# --- one value: fires, quiet, exactly on the limit, hole in the data


@pytest.mark.parametrize(
    ("fields", "kind", "look"),
    [
        pytest.param({"avg_cpu": 85.5}, Kind.HIGH_CPU, Look.PRESENT, id="CPU above"),
        pytest.param({"avg_cpu": 70.0}, Kind.HIGH_CPU, Look.HELD, id="CPU exactly on the limit"),
        pytest.param({"avg_cpu": 65.0}, Kind.HIGH_CPU, Look.HELD, id="CPU not yet clear"),
        pytest.param({"avg_cpu": 64.9}, Kind.HIGH_CPU, Look.CLEAR, id="CPU clear"),
        pytest.param({"avg_cpu": 0.0}, Kind.HIGH_CPU, Look.CLEAR, id="CPU idle"),
        pytest.param({"avg_cpu": 796.0}, Kind.HIGH_CPU, Look.BLIND, id="CPU as a sum over CPUs"),
        pytest.param({"avg_cpu": -1.0}, Kind.HIGH_CPU, Look.BLIND, id="CPU negative"),
        pytest.param({"avg_cpu": float("nan")}, Kind.HIGH_CPU, Look.BLIND, id="CPU not a number"),
        pytest.param({"avg_memory": 92.3}, Kind.HIGH_MEMORY, Look.PRESENT, id="memory above"),
        pytest.param({"avg_memory": 80.0}, Kind.HIGH_MEMORY, Look.HELD, id="memory exactly on the limit"),
        pytest.param({"avg_memory": 74.9}, Kind.HIGH_MEMORY, Look.CLEAR, id="memory clear"),
        pytest.param({"avg_memory": 0.0}, Kind.HIGH_MEMORY, Look.BLIND, id="memory of 0 bytes is no reading"),
        pytest.param({"avg_memory": -5.0}, Kind.HIGH_MEMORY, Look.BLIND, id="memory negative"),
        pytest.param({"avg_memory": 250.0}, Kind.HIGH_MEMORY, Look.BLIND, id="memory above all there is"),
        pytest.param({"avg_memory": 100.2}, Kind.HIGH_MEMORY, Look.PRESENT, id="memory full, rounded"),
        pytest.param({"swap_percent": 99.0}, Kind.HIGH_SWAP, Look.CLEAR, id="full swap beside plenty of memory"),
        pytest.param({"swap_percent": 0.0}, Kind.HIGH_SWAP, Look.CLEAR, id="no swap, or none used"),
        pytest.param({"swap_percent": 140.0}, Kind.HIGH_SWAP, Look.BLIND, id="swap above all there is"),
        pytest.param({"swap_percent": -1.0}, Kind.HIGH_SWAP, Look.BLIND, id="swap negative"),
        pytest.param({}, Kind.HIGH_SWAP, None, id="swap not reported"),
        pytest.param({}, Kind.HIGH_PRESSURE, None, id="pressure not reported"),
    ],
)
def test_the_look_at_one_value(fields: dict[str, float], kind: Kind, look: Look | None) -> None:
    notes = judged(one(**fields))
    assert notes.examined.look(kind, VM) is look
    assert signals(notes) == ([(kind, VM, "")] if look is Look.PRESENT else [])


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        pytest.param(PerformanceRow(avg_memory=40), Kind.HIGH_CPU, id="no CPU"),
        pytest.param(PerformanceRow(avg_cpu=40), Kind.HIGH_MEMORY, id="no memory"),
        pytest.param(PerformanceRow(), Kind.HIGH_CPU, id="nothing at all"),
    ],
)
def test_what_was_not_measured_is_blind_and_never_clear(row: PerformanceRow, kind: Kind) -> None:
    notes = judged(PerformanceOutput(summary={VM: row}))
    assert notes.examined.look(kind, VM) is Look.BLIND
    assert "not measured" in notes.examined.blind_reason(kind, VM)


def test_a_signal_says_value_limit_where_the_limit_is_from_and_shows_the_row() -> None:
    signal = only(judged(one(avg_cpu=85.5)))
    assert (signal.value, signal.limit, signal.limit_source) == (85.5, 70, "built-in")
    assert (signal.severity, signal.category, signal.tool_call_id) == (Severity.WARNING, "performance", "call-1")
    assert signal.summary == "CPU use averaged 85.5 % over 24h (limit 70 %)"
    assert '"avg_cpu":85.5' in signal.evidence


def test_the_zfs_cache_that_was_not_counted_is_in_the_evidence() -> None:
    row = PerformanceRow(avg_cpu=1, avg_memory=90, memory_arc_bytes=1 << 30)
    signal = only(judged(PerformanceOutput(summary={VM: row})))
    assert '"memory_arc_bytes":1073741824' in signal.evidence
    assert signal.summary == "Memory use is 90.0 % without caches (limit 80 %)"


# --- the shapes of the page


@pytest.mark.parametrize(
    "output",
    [
        pytest.param(PerformanceOutput(summary={VM: PerformanceRow(avg_cpu=99, avg_memory=9)}), id="map"),
        pytest.param(
            PerformanceOutput(summary={"101": PerformanceRow(resource_id=VM, avg_cpu=99, avg_memory=9)}),
            id="map by a foreign key",
        ),
        pytest.param(PerformanceOutput(resources=[PerformanceRow(id=VM, avg_cpu=99, avg_memory=9)]), id="list"),
        pytest.param(PerformanceOutput(resources=[PerformanceRow(name="web", avg_cpu=99, avg_memory=9)]), id="by name"),
        pytest.param(PerformanceOutput(resources=[PerformanceRow(id=101, avg_cpu=99, avg_memory=9)]), id="by number"),
        pytest.param(PerformanceOutput(id=VM, avg_cpu=99, avg_memory=9), id="flat"),
        pytest.param(PerformanceOutput(resource_name="web", cpu_percent=99, mem_percent=9), id="flat, of now, by name"),
    ],
)
def test_every_shape_of_the_page_names_the_same_resource(output: PerformanceOutput) -> None:
    known = InventoryRow(id=VM, type="vm", name="web", aliases=["101"])
    notes = judged(output, known=[known])
    assert signals(notes) == [(Kind.HIGH_CPU, VM, "")]
    assert (only(notes).resource_name, only(notes).resource_type) == ("web", "vm")
    assert notes.examined.look(Kind.HIGH_MEMORY, VM) is Look.CLEAR


def test_a_resource_that_no_inventory_knows_is_named_as_it_came() -> None:
    row = PerformanceRow(id="qemu/7", name="old", type="vm", avg_cpu=99, avg_memory=9)
    signal = only(judged(PerformanceOutput(resources=[row])))
    assert (signal.resource_id, signal.resource_name, signal.resource_type) == ("qemu/7", "old", "vm")


def test_only_the_resources_above_their_limit_fire() -> None:
    rows = [
        PerformanceRow(id="node1", avg_cpu=85.5, avg_memory=40),
        PerformanceRow(id="node2", avg_cpu=30, avg_memory=50),
    ]
    assert signals(judged(PerformanceOutput(resources=rows))) == [(Kind.HIGH_CPU, "node1", "")]


def test_values_of_now_count_where_there_is_no_average() -> None:
    row = PerformanceRow(id="node1", avg_cpu=0, avg_memory=0, cpu_percent=75, mem_percent=85)
    notes = judged(PerformanceOutput(resources=[row]))
    assert {kind for kind, _, _ in signals(notes)} == {Kind.HIGH_CPU, Kind.HIGH_MEMORY}
    row = PerformanceRow(id="node1", cpu_percent=5, memory_percent=85)
    assert signals(judged(PerformanceOutput(resources=[row]))) == [(Kind.HIGH_MEMORY, "node1", "")]


@pytest.mark.parametrize("name", ["101", "qemu/101", 101])
def test_a_guest_that_goes_by_its_vmid_is_the_one_that_the_inventory_knows(name) -> None:
    known = [
        InventoryRow(id=VM, type="vm", name="web", instance="lab", vmid=101),
        InventoryRow(id="vm:lab:102", type="vm", name="db", instance="lab", vmid=102),
    ]
    output = PerformanceOutput(resources=[PerformanceRow(id=name, type="vm", avg_cpu=99, avg_memory=9)])
    assert signals(judged(output, known=known)) == [(Kind.HIGH_CPU, VM, "")]


@pytest.mark.parametrize(
    "output",
    [
        pytest.param(Page(), id="a page of another sort"),
        pytest.param(PerformanceOutput(), id="empty"),
        pytest.param(PerformanceOutput(resource_id=VM, period="24h"), id="only points"),
        pytest.param(PerformanceOutput(resources=[PerformanceRow(avg_cpu=99)]), id="a row without a name"),
    ],
)
def test_a_page_without_a_named_value_says_nothing(output: Page) -> None:
    notes = judged(output)
    assert not notes.signals
    assert len(notes.examined) == 0


def test_the_models_own_call_adds_signals_and_clears_nothing() -> None:
    notes = judged(one(avg_cpu=99), origin=Origin.MODEL)
    assert signals(notes) == [(Kind.HIGH_CPU, VM, "")]
    assert notes.examined.look(Kind.HIGH_MEMORY, VM) is None


# --- CPU needs a window


@pytest.mark.parametrize(
    ("window", "needed", "look"),
    [
        pytest.param(None, 300, Look.PRESENT, id="a recorded average of its period"),
        pytest.param(3600, 300, Look.PRESENT, id="an hour"),
        pytest.param(300, 300, Look.PRESENT, id="exactly enough"),
        pytest.param(299, 300, Look.BLIND, id="too short"),
        pytest.param(0, 300, Look.BLIND, id="a value of the moment"),
        pytest.param(300, 900, Look.BLIND, id="the operator asks for more"),
    ],
)
def test_cpu_is_judged_over_a_window_only(window: float | None, needed: float, look: Look) -> None:
    thresholds = FixedThresholds()
    thresholds.window = needed
    for cpu in (99.0, 10.0):
        row = PerformanceRow(avg_cpu=cpu, avg_memory=40, cpu_window_seconds=window)
        notes = judged(PerformanceOutput(summary={VM: row}), thresholds=thresholds)
        expected = Look.CLEAR if look is Look.PRESENT and cpu == 10 else look
        assert notes.examined.look(Kind.HIGH_CPU, VM) is expected
        assert bool(notes.signals) is (expected is Look.PRESENT)
        if look is Look.BLIND:
            assert notes.examined.blind_reason(Kind.HIGH_CPU, VM).startswith("no history yet")


def test_the_summary_names_the_window() -> None:
    assert "over 10 min" in only(judged(one(avg_cpu=99, cpu_window_seconds=600))).summary
    flat = PerformanceOutput(id=VM, avg_cpu=99, avg_memory=9)
    assert only(judged(flat)).summary == "CPU use averaged 99.0 % (limit 70 %)"


# --- a stopped guest


@pytest.mark.parametrize(
    ("status", "look"),
    [
        ("stopped", Look.CLEAR),
        ("Stopped", Look.CLEAR),
        ("running", Look.BLIND),
        ("offline", Look.BLIND),
        ("", Look.BLIND),
    ],
)
def test_a_stopped_guest_uses_nothing_and_one_out_of_sight_is_unknown(status: str, look: Look) -> None:
    known = InventoryRow(id=VM, type="vm", status=status)
    notes = judged(PerformanceOutput(summary={VM: PerformanceRow(avg_memory=0)}), known=[known])
    assert notes.examined.look(Kind.HIGH_CPU, VM) is look
    assert notes.examined.look(Kind.HIGH_MEMORY, VM) is look


def test_what_a_guest_used_before_it_was_stopped_is_no_condition() -> None:
    known = InventoryRow(id=VM, type="vm", status="stopped")
    assert not judged(one(avg_cpu=99, avg_memory=99), known=[known]).signals


# --- swap


@pytest.mark.parametrize(
    ("fields", "look"),
    [
        pytest.param({"swap_percent": 95.0, "avg_memory": 90.0}, Look.PRESENT, id="memory short"),
        pytest.param({"swap_percent": 95.0, "avg_memory": 80.1}, Look.PRESENT, id="memory just short"),
        pytest.param({"swap_percent": 95.0, "avg_memory": 80.0}, Look.HELD, id="memory nearly short"),
        pytest.param({"swap_percent": 95.0, "avg_memory": 75.0}, Look.CLEAR, id="memory not short"),
        pytest.param({"swap_percent": 78.0, "avg_memory": 90.0}, Look.HELD, id="swap between its limits"),
        pytest.param({"swap_percent": 78.0, "avg_memory": 60.0}, Look.CLEAR, id="between, memory not short"),
        pytest.param({"swap_percent": 60.0, "avg_memory": 99.0}, Look.CLEAR, id="swap not full"),
        pytest.param({"swap_percent": 95.0, "avg_memory": 60.0, "pressure_memory": 30.0}, Look.PRESENT, id="pressure"),
        pytest.param({"swap_percent": 95.0, "avg_memory": 60.0, "pressure_memory": 9.0}, Look.HELD, id="some pressure"),
        pytest.param({"swap_percent": 95.0, "avg_memory": 60.0, "pressure_memory": 0.0}, Look.CLEAR, id="no pressure"),
        pytest.param({"swap_percent": 95.0, "avg_memory": 0.0}, Look.BLIND, id="memory unknown"),
        pytest.param(
            {"swap_percent": 95.0, "avg_memory": 0.0, "pressure_memory": 0.0}, Look.BLIND, id="no one waits now"
        ),
    ],
)
def test_full_swap_hurts_only_while_memory_is_short(fields: dict[str, float], look: Look) -> None:
    notes = judged(one(**fields))
    assert notes.examined.look(Kind.HIGH_SWAP, VM) is look
    assert ((Kind.HIGH_SWAP, VM, "") in signals(notes)) is (look is Look.PRESENT)


def test_pressure_that_is_not_limited_does_not_speak_of_shortage() -> None:
    thresholds = FixedThresholds({Limited.PRESSURE_MEMORY: None})
    notes = judged(one(swap_percent=95, avg_memory=60, pressure_memory=99), thresholds=thresholds)
    assert notes.examined.look(Kind.HIGH_SWAP, VM) is Look.CLEAR


# --- pressure


@pytest.mark.parametrize(
    ("field", "subject", "value", "look"),
    [
        pytest.param("pressure_cpu", "cpu", 80.1, Look.PRESENT, id="CPU above"),
        pytest.param("pressure_cpu", "cpu", 80.0, Look.HELD, id="CPU on the limit"),
        pytest.param("pressure_memory", "memory", 11.0, Look.PRESENT, id="memory above"),
        pytest.param("pressure_memory", "memory", 0.0, Look.CLEAR, id="memory clear"),
        pytest.param("pressure_io", "io", 41.0, Look.PRESENT, id="I/O above"),
        pytest.param("pressure_io", "io", 200.0, Look.BLIND, id="no share of time"),
    ],
)
def test_each_sort_of_pressure_is_a_subject_of_its_own(field: str, subject: str, value: float, look: Look) -> None:
    fields = {"pressure_cpu": 1.0, "pressure_memory": 1.0, "pressure_io": 1.0, field: value}
    notes = judged(one(**fields))
    looks = {name: notes.examined.look(Kind.HIGH_PRESSURE, VM, name) for name in ("cpu", "memory", "io")}
    assert looks == {**dict.fromkeys(looks, Look.CLEAR), subject: look}
    assert signals(notes) == ([(Kind.HIGH_PRESSURE, VM, subject)] if look is Look.PRESENT else [])


def test_pressure_that_was_not_read_says_nothing_of_itself() -> None:
    notes = judged(one(pressure_io=99.0))
    assert notes.examined.look(Kind.HIGH_PRESSURE, VM, "cpu") is None
    assert only(notes).summary == "99.0 % of the last 5 min all work waited for I/O (limit 40 %)"


# --- the main disk of a guest


@pytest.mark.parametrize(
    ("fields", "look", "severity"),
    [
        pytest.param({"avg_disk": 97.0}, Look.PRESENT, Severity.CRITICAL, id="nearly full"),
        pytest.param({"avg_disk": 92.0}, Look.PRESENT, Severity.WARNING, id="filling"),
        pytest.param({"avg_disk": 90.0}, Look.HELD, None, id="on the limit"),
        pytest.param({"avg_disk": 50.0}, Look.CLEAR, None, id="fine"),
        pytest.param({"avg_disk": 0.0}, Look.BLIND, None, id="0 is what hypervisors say without an agent"),
        pytest.param({"avg_disk": -1.0}, Look.BLIND, None, id="negative"),
        pytest.param({"avg_disk": 140.0}, Look.BLIND, None, id="above all there is"),
        pytest.param({"disk_percent": 92.0}, Look.PRESENT, Severity.WARNING, id="a value of now"),
        pytest.param({"avg_disk": 0.0, "disk_percent": 50.0}, Look.CLEAR, None, id="no average, a value of now"),
        pytest.param({}, None, None, id="not reported"),
    ],
)
def test_the_main_disk_of_a_guest(fields: dict[str, float], look: Look | None, severity: Severity | None) -> None:
    notes = judged(one(**fields))
    assert notes.examined.look(Kind.HIGH_DISK, VM, MAIN_DISK) is look
    assert [signal.severity for signal in notes.signals.values()] == ([severity] if severity else [])


def test_a_main_disk_that_is_fine_says_nothing_of_other_file_systems() -> None:
    notes = judged(one(avg_disk=50))
    assert notes.examined.look(Kind.HIGH_DISK, VM, "/srv") is None
    assert notes.examined.look(Kind.HIGH_DISK, VM) is None


@pytest.mark.parametrize(
    ("guest", "is_told_twice"),
    [
        pytest.param(ResourceDisks(id=VM, disks=[FilesystemRow(mountpoint="/", usage_percent=97)]), False, id="by id"),
        pytest.param(ResourceDisks(vmid=101, disks=[FilesystemRow(usage_percent=97)]), False, id="by VMID"),
        pytest.param(ResourceDisks(name="web", disks=[FilesystemRow(usage_percent=97)]), False, id="by name"),
        pytest.param(ResourceDisks(vmid="vm/101", disks=[FilesystemRow(usage_percent=97)]), False, id="by its path"),
        pytest.param(
            ResourceDisks(vmid=101, type="qemu", node="pve1", disks=[FilesystemRow(usage_percent=97)]),
            False,
            id="by VMID and node",
        ),
        pytest.param(ResourceDisks(id=VM, disks=[FilesystemRow(used_bytes=97, free_bytes=3)]), False, id="by bytes"),
        pytest.param(ResourceDisks(id=VM, disks=[FilesystemRow(mountpoint="/")]), True, id="nothing measured"),
        pytest.param(ResourceDisks(id=VM, disks=[FilesystemRow(usage_percent=-1)]), True, id="no reading"),
        pytest.param(ResourceDisks(id=VM, disks=[FilesystemRow(usage_percent=0)]), True, id="no agent"),
        pytest.param(ResourceDisks(id=VM, disks=[FilesystemRow(usage_percent=9700)]), True, id="another unit"),
        pytest.param(ResourceDisks(id=VM), True, id="no file systems"),
        pytest.param(ResourceDisks(id="vm:lab:102", disks=[FilesystemRow(usage_percent=9)]), True, id="another guest"),
    ],
)
def test_a_guest_whose_own_file_systems_were_read_tells_the_story_once(
    guest: ResourceDisks, *, is_told_twice: bool
) -> None:
    known = InventoryRow(id=VM, type="vm", name="web", instance="lab", vmid=101)
    notes = judged(one(avg_disk=97), ResourceDisksOutput(resources=[guest]), known=[known])
    assert bool(notes.signals) is is_told_twice
    assert notes.examined.look(Kind.HIGH_DISK, VM, MAIN_DISK) is (Look.PRESENT if is_told_twice else Look.HELD)


def test_a_guest_that_no_inventory_explains_tells_the_story_of_its_file_systems_once() -> None:
    guest = ResourceDisks(vmid=101, type="vm", instance="lab", disks=[FilesystemRow(usage_percent=97)])
    assert signals(judged(one(avg_disk=97), ResourceDisksOutput(resources=[guest]))) == []


def test_file_systems_of_nobody_hide_no_main_disk() -> None:
    nobody = ResourceDisks(disks=[FilesystemRow(usage_percent=97)])
    assert len(judged(one(avg_disk=97), ResourceDisksOutput(resources=[nobody])).signals) == 1


@pytest.mark.parametrize(
    ("said", "resource_id"),
    [
        *((word, VM) for word in ("", "vm", "qemu", "VM")),
        *((word, "101") for word in ("system-container", "lxc", "node", "agent", "storage", "host", "pbs")),
    ],
)
def test_what_is_called_like_a_number_is_that_guest_only_where_its_type_allows_it(said: str, resource_id: str) -> None:
    known = InventoryRow(id=VM, type="vm", name="web", instance="lab", vmid=101)
    busy = PerformanceOutput(summary={"101": PerformanceRow(avg_cpu=99, resource_type=said)})
    assert [each.resource_id for each in judged(busy, known=[known]).signals.values()] == [resource_id]
    own = ResourceDisksOutput(resources=[ResourceDisks(vmid=101, type=said, disks=[FilesystemRow(usage_percent=97)])])
    told_of_main_disk = judged(one(avg_disk=97), own, known=[known]).signals
    assert bool(told_of_main_disk) is (resource_id != VM)


def test_rows_without_id_and_name_are_told_and_nobodys() -> None:
    bad = PerformanceRow(avg_cpu=99, avg_memory=99)
    for output, count in (
        (PerformanceOutput(summary={"": bad}), 1),
        (PerformanceOutput(resources=[bad, bad]), 2),
        (PerformanceOutput(avg_cpu=99), 1),
    ):
        notes = judged(output)
        assert not notes.signals
        assert [each.message for each in notes.problems] == [f"{count} without id and name: they are nobody's"]
    named = PerformanceRow(avg_cpu=99, avg_memory=9, resource_name="web")
    assert [each.resource_id for each in judged(PerformanceOutput(summary={"": named})).signals.values()] == ["web"]


# --- checks that are off, and limits of one's own


@pytest.mark.parametrize(
    ("limited", "fields", "kind", "subject"),
    [
        (Limited.CPU, {"avg_cpu": 99.0}, Kind.HIGH_CPU, ""),
        (Limited.MEMORY, {"avg_memory": 99.0}, Kind.HIGH_MEMORY, ""),
        (Limited.SWAP, {"swap_percent": 99.0, "pressure_memory": 99.0}, Kind.HIGH_SWAP, ""),
        (Limited.DISK, {"avg_disk": 99.0}, Kind.HIGH_DISK, MAIN_DISK),
        (Limited.PRESSURE_IO, {"pressure_io": 99.0}, Kind.HIGH_PRESSURE, "io"),
    ],
)
def test_a_check_that_is_off_says_nothing_at_all(
    limited: Limited, fields: dict[str, float], kind: Kind, subject: str
) -> None:
    assert judged(one(**fields)).examined.look(kind, VM, subject) is Look.PRESENT
    notes = judged(one(**fields), thresholds=FixedThresholds({limited: None}))
    assert notes.examined.look(kind, VM, subject) is None
    assert kind not in {each for each, _, _ in signals(notes)}


@pytest.mark.parametrize("thresholds_type", [FixedThresholds, SharingThresholds])
def test_a_resource_with_a_limit_of_its_own_is_judged_by_it(thresholds_type: type[FixedThresholds]) -> None:
    own = {VM: {Limited.CPU: Limit(trigger=10, clear=5, provenance="override")}}
    row = PerformanceRow(resource_type="vm", avg_cpu=20, avg_memory=40)
    output = PerformanceOutput(summary={"vm:lab:100": row, VM: row, "vm:lab:102": row})
    notes = judged(output, thresholds=thresholds_type(own=own))
    assert signals(notes) == [(Kind.HIGH_CPU, VM, "")]
    assert only(notes).limit_source == "override"


def test_limits_are_asked_for_once_a_type_where_that_is_known_to_do() -> None:
    thresholds = SharingThresholds()
    rows = {
        f"{kind}:lab:{number}": PerformanceRow(resource_type=kind, avg_cpu=20, avg_memory=40)
        for number in range(50)
        for kind in ("vm", "node")
    }
    notes = judged(PerformanceOutput(summary=rows), thresholds=thresholds)
    assert thresholds.asked == 14  # CPU, memory, swap, disk and three pressures of two types
    assert len(notes.examined) == 200


# --- whatever the page says

percents = st.none() | st.floats(min_value=-10, max_value=250) | st.sampled_from([0.0, 65.0, 70.0, 75.0, 80.0, 100.0])
performance_rows = st.builds(
    PerformanceRow,
    avg_cpu=percents,
    avg_memory=percents,
    avg_disk=percents,
    cpu_percent=percents,
    mem_percent=percents,
    disk_percent=percents,
    swap_percent=percents,
    pressure_cpu=percents,
    pressure_memory=percents,
    pressure_io=percents,
    cpu_window_seconds=st.none() | st.floats(min_value=0, max_value=4000),
)


class CarefulDetector(UsageDetector):
    """Looks closely at every row: no limit is so plain that a glance would do."""

    def _ask(self, resource: InventoryRow):  # type: ignore[no-untyped-def]  # a private tuple of the parent
        return super()._ask(resource)._replace(below=(-1, 0, -1, -1, -1))


@given(st.lists(performance_rows, max_size=8))
def test_a_glance_and_a_careful_look_say_the_same(rows: list[PerformanceRow]) -> None:
    output = PerformanceOutput(summary={f"vm:lab:{number}": row for number, row in enumerate(rows)})
    answers = []
    for detector_type in (UsageDetector, CarefulDetector):
        notes = Notes()
        detector = detector_type(Context(SharingThresholds(), inventory(), NOW), notes)
        detector.read(page(output))
        detector.finish()
        notes.settle([SWEEP])
        answers.append((list(notes.examined), notes.signals))
    assert answers[0] == answers[1]


@given(performance_rows)
def test_present_means_measured_and_beyond_the_limit(row: PerformanceRow) -> None:
    notes = judged(PerformanceOutput(summary={VM: row}))
    for signal in notes.signals.values():
        assert signal.value is not None
        assert signal.limit is not None
        assert signal.limit < signal.value <= 100.5
        assert len(signal.evidence.encode()) <= 500
    for kind in (Kind.HIGH_CPU, Kind.HIGH_MEMORY):
        assert notes.examined.look(kind, VM) is not None
