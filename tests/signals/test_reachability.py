"""Reachability: only an explicit no is a fault, and only where an answer could be expected."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.kinds import Kind
from findings.model import Category, Look, Severity
from signals.detector import Notes
from signals.evidence import (
    ConnectionRow,
    GuestHealth,
    HealthOutput,
    InventoryOutput,
    InventoryRow,
    NodeHealth,
    ProbeRow,
)
from signals.inventory import Inventory
from signals.model import Origin
from signals.reachability import ReachabilityDetector

from .backup_pages import NO_ANSWER, Limits, guest, look, page, run, signals, world

GUEST, NODE = "vm:lab:101", "node:lab:pve-b"


def node(status: str = "online", **more: object) -> InventoryRow:
    row = InventoryRow(id=NODE, type="node", name="pve-b", status=status)
    for name, value in more.items():
        setattr(row, name, value)
    return row


def running(**more: object) -> InventoryRow:
    return guest(**{"status": "running", "parent": NODE, **more})  # type: ignore[arg-type]  # fields by name


def health(*rows: GuestHealth | NodeHealth) -> HealthOutput:
    return HealthOutput(
        guests=[row for row in rows if isinstance(row, GuestHealth)],
        nodes=[row for row in rows if isinstance(row, NodeHealth)],
        complete=True,
    )


def judge(*rows: GuestHealth | NodeHealth, inventory: Inventory | None = None, limits: Limits | None = None) -> Notes:
    view = world(running(), node()) if inventory is None else inventory
    return run(ReachabilityDetector, page(health(*rows)), inventory=view, limits=limits)


def silent(*probes: ProbeRow) -> GuestHealth:
    return GuestHealth(id=GUEST, name="web", type="vm", reachable=False, probes=list(probes))


def answer(notes: Notes) -> Look | str:
    return look(notes, Kind.GUEST_UNREACHABLE, GUEST)


def reason(notes: Notes) -> str:
    assert answer(notes) is Look.BLIND
    assert not notes.signals
    return notes.examined.blind_reason(Kind.GUEST_UNREACHABLE, GUEST)


class TestGuests:
    @pytest.mark.parametrize(("reachable", "expected"), [(True, Look.CLEAR), (False, Look.PRESENT), (None, Look.BLIND)])
    def test_only_an_explicit_no_is_a_fault_and_unknown_is_blind(self, reachable: bool | None, expected: Look) -> None:
        notes = judge(GuestHealth(id=GUEST, reachable=reachable))
        assert answer(notes) is expected
        assert bool(notes.signals) == (expected is Look.PRESENT)

    def test_the_signal_tells_what_was_tried(self) -> None:
        tried = [
            ProbeRow(kind="icmp", ok=False, address="10.0.0.50"),
            ProbeRow(kind="tcp:22", ok=False),
            ProbeRow(kind="agent", ok=None),
        ]
        signal = signals(judge(silent(*tried)))[GUEST]
        assert signal.summary == "vm101 runs but does not answer (tried icmp 10.0.0.50, tcp:22)"
        assert (signal.severity, signal.category) == (Severity.WARNING, Category.RELIABILITY)

    def test_any_answer_wins_over_the_verdict(self) -> None:
        probes = [ProbeRow(kind="icmp", ok=False), ProbeRow(kind="tcp:3389", ok=True), ProbeRow(kind="agent", ok=True)]
        assert answer(judge(silent(*probes))) is Look.CLEAR

    @pytest.mark.parametrize(
        ("row", "why"),
        [
            (running(status="stopped"), "it is not running: stopped"),
            (running(status="unknown"), "it is not running: unknown"),
            (running(template=True), "it is a template"),
        ],
    )
    def test_who_cannot_answer_is_not_blamed(self, row: InventoryRow, why: str) -> None:
        assert reason(judge(silent(), inventory=world(row, node()))) == why

    @pytest.mark.parametrize("status", ["running", "online", "Running", ""])
    def test_running_has_two_names_and_a_probed_guest_without_status_runs(self, status: str) -> None:
        assert answer(judge(silent(), inventory=world(running(status=status), node()))) is Look.PRESENT

    def test_a_guest_that_may_be_away_is_blind_not_clear(self) -> None:
        assert "expected offline" in reason(judge(silent(), limits=Limits(away=GUEST)))

    def test_a_guest_that_no_inventory_knows_is_told_as_it_came(self) -> None:
        signal = signals(judge(silent(), inventory=Inventory()))[GUEST]
        assert (signal.resource_name, signal.resource_type) == ("web", "vm")
        assert signal.summary == "web runs but does not answer"

    def test_an_alias_means_its_resource(self) -> None:
        known = world(running(aliases=["qemu/101"]), node())
        for reachable, expected in ((True, Look.CLEAR), (False, Look.PRESENT)):
            assert answer(judge(GuestHealth(id="qemu/101", reachable=reachable), inventory=known)) is expected


class TestGuestsOfANodeThatIsAway:
    def test_the_node_has_the_finding_and_its_guests_have_none(self) -> None:
        notes = judge(silent(), NodeHealth(id=NODE, name="pve-b", online=False, detail="connection refused"))
        assert list(signals(notes)) == [NODE]
        assert notes.examined.blind_reason(Kind.GUEST_UNREACHABLE, GUEST) == "its node is offline"

    def test_the_order_of_pages_does_not_matter(self) -> None:
        pages = [page(health(silent()), "c1"), page(health(NodeHealth(name="pve-b", online=False)), "c2")]
        for each in (pages, pages[::-1]):
            notes = run(ReachabilityDetector, *each, inventory=world(running(), node()))
            assert list(signals(notes)) == [NODE]

    def test_the_inventory_may_say_it_and_a_node_that_answers_wins(self) -> None:
        away = world(running(), node("offline"))
        assert reason(judge(silent(), inventory=away)) == "its node is offline"
        assert answer(judge(silent(), NodeHealth(id=NODE, online=True), inventory=away)) is Look.PRESENT

    def test_what_runs_inside_a_guest_stands_under_its_node_too(self) -> None:
        inner = InventoryRow(id="app-container:x:web", type="app-container", status="running", parent=GUEST)
        notes = judge(
            GuestHealth(id=inner.id, reachable=False),
            NodeHealth(id=NODE, online=False),
            inventory=world(inner, running(), node()),
        )
        assert list(signals(notes)) == [NODE]

    @pytest.mark.parametrize(
        ("online", "why"),
        [
            (False, "its node is offline"),
            (None, "the inventory is incomplete: whether its node is there is not known"),
            (True, ""),
        ],
    )
    def test_a_node_in_a_hole_of_the_inventory_may_be_away(self, online: bool | None, why: str) -> None:
        nodes = [] if online is None else [NodeHealth(id=NODE, name="pve-b", online=online)]
        holes = Inventory([InventoryOutput(resources=[running()])], has_holes=True)
        notes = judge(silent(), *nodes, inventory=holes)
        assert notes.examined.blind_reason(Kind.GUEST_UNREACHABLE, GUEST) == why
        assert (GUEST in signals(notes)) is (not why)

    def test_a_node_that_no_inventory_lists_and_that_is_off_excuses_its_guests(self) -> None:
        notes = judge(silent(), NodeHealth(id=NODE, online=False), inventory=world(running()))
        assert list(signals(notes)) == [NODE]

    def test_parents_in_a_ring_end(self) -> None:
        ring = world(running(), node(parent=GUEST))
        assert answer(judge(silent(), inventory=ring)) is Look.PRESENT


class TestNodes:
    @pytest.mark.parametrize(("online", "expected"), [(True, Look.CLEAR), (False, Look.PRESENT), (None, Look.BLIND)])
    def test_a_node_is_offline_where_its_peers_say_so(self, online: bool | None, expected: Look) -> None:
        notes = judge(NodeHealth(id=NODE, online=online))
        assert look(notes, Kind.NODE_OFFLINE, NODE) is expected

    def test_the_signal_is_critical_and_tells_what_the_peers_say(self) -> None:
        signal = signals(judge(NodeHealth(id=NODE, online=False, detail="no answer for 900 s")))[NODE]
        assert (signal.severity, signal.summary) == (Severity.CRITICAL, "pve-b is offline: no answer for 900 s")
        assert signals(judge(NodeHealth(id=NODE, online=False)))[NODE].summary == "pve-b is offline"

    def test_unknown_tells_why(self) -> None:
        for detail, why in (("status 595", "status 595"), ("", "whether it is online is not known")):
            notes = judge(NodeHealth(id=NODE, online=None, detail=detail))
            assert notes.examined.blind_reason(Kind.NODE_OFFLINE, NODE) == why

    def test_one_that_may_be_away_is_blind_not_clear(self) -> None:
        notes = judge(NodeHealth(id=NODE, online=False), silent(), limits=Limits(away=NODE))
        assert not notes.signals
        assert look(notes, Kind.NODE_OFFLINE, NODE) is Look.BLIND
        assert answer(notes) is Look.BLIND

    def test_an_empty_list_of_nodes_says_nothing(self) -> None:
        notes = judge()
        assert look(notes, Kind.NODE_OFFLINE, NODE) == NO_ANSWER
        assert not notes.signals

    def test_nodes_that_could_not_be_asked_leave_the_others_judged(self) -> None:
        rows = [NodeHealth(name="a", online=True), NodeHealth(name="b", online=None), NodeHealth(name="c", online=True)]
        notes = judge(*rows)
        assert [look(notes, Kind.NODE_OFFLINE, name) for name in "abc"] == [Look.CLEAR, Look.BLIND, Look.CLEAR]


def test_rows_without_id_and_name_are_nobodys_and_are_told() -> None:
    notes = judge(GuestHealth(reachable=False), GuestHealth(name="web", reachable=False), NodeHealth(online=False))
    assert list(signals(notes)) == ["web"]
    assert [problem.place for problem in notes.problems] == ["nodes[0]", "guests[0]"]


def test_a_lost_connection_of_patrol_is_not_judged_here() -> None:
    output = HealthOutput(connections=[ConnectionRow(instance_id="lab", connected=False)], complete=True)
    notes = run(ReachabilityDetector, page(output))
    assert not notes.signals
    assert not len(notes.examined)


def test_only_a_complete_sweep_of_patrol_clears() -> None:
    rows = health(GuestHealth(id=GUEST, reachable=True), NodeHealth(id=NODE, online=True))
    cut = HealthOutput(guests=rows.guests, nodes=rows.nodes)
    for each in (page(rows, origin=Origin.MODEL), page(cut)):
        notes = run(ReachabilityDetector, each, inventory=world(running(), node()))
        assert answer(notes) == NO_ANSWER
        assert look(notes, Kind.NODE_OFFLINE, NODE) == NO_ANSWER


@given(
    st.lists(st.sampled_from([True, False, None]), max_size=4),
    st.lists(st.sampled_from([True, False, None]), max_size=3),
    st.sampled_from(["running", "stopped"]),
)
def test_whatever_is_seen_no_fault_is_without_an_explicit_no(
    verdicts: list[bool | None], probes: list[bool | None], status: str
) -> None:
    rows = [ProbeRow(kind="icmp", ok=ok) for ok in probes]
    notes = judge(
        *(GuestHealth(id=GUEST, reachable=verdict, probes=rows) for verdict in verdicts),
        inventory=world(running(status=status), node()),
    )
    assert bool(notes.signals) == (False in verdicts and True not in probes and status == "running")
