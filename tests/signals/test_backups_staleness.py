"""Stale backups: every guest of the inventory is asked for its newest good backup, and doubt is never a fault."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.kinds import Kind
from findings.model import Gap, GapReason, Look, Severity, Topic
from signals.backup_evidence import BackupsOutput, BackupTaskRow, PbsBackupRow, PbsServerRow, PveBackupRow
from signals.backups import StaleBackupDetector
from signals.detector import EvidencePage, Notes
from signals.evidence import BackupStore, InventoryRow
from signals.inventory import Inventory
from signals.model import Origin
from signals.pages import Page, Pagination, Time

from .backup_pages import DATASTORE, NO_ANSWER, Limits, ago, guest, look, page, recorded, run, signals, world

GUEST = "vm:lab:101"
NEVER = None


def pbs(time: Time, vmid: int = 101, **more: object) -> PbsBackupRow:
    row = PbsBackupRow(vmid=str(vmid), backup_type="vm", backup_time=time, instance="pbs1", datastore="main")
    for name, value in more.items():
        setattr(row, name, value)
    return row


def pve(time: Time, vmid: int = 101, instance: str | None = "lab") -> PveBackupRow:
    return PveBackupRow(vmid=vmid, backup_time=time, storage="nas", instance=instance)


def backups(*rows: PbsBackupRow | PveBackupRow, **more: object) -> BackupsOutput:
    output = BackupsOutput(
        pbs=[row for row in rows if isinstance(row, PbsBackupRow)],
        pve=[row for row in rows if isinstance(row, PveBackupRow)],
        complete=True,
    )
    for name, value in more.items():
        setattr(output, name, value)
    return output


def judge(
    *rows: PbsBackupRow | PveBackupRow, inventory: Inventory | None = None, limits: Limits | None = None
) -> Notes:
    return run(StaleBackupDetector, page(backups(*rows)), inventory=inventory or world(guest()), limits=limits)


def answer(notes: Notes, resource_id: str = GUEST) -> Look | str:
    return look(notes, Kind.BACKUP_STALE, resource_id)


def reason(notes: Notes, resource_id: str = GUEST) -> str:
    assert answer(notes, resource_id) is Look.BLIND
    assert not notes.signals
    return notes.examined.blind_reason(Kind.BACKUP_STALE, resource_id)


class TestAge:
    @pytest.mark.parametrize(
        ("hours", "expected"),
        [
            ([11], Look.CLEAR),
            ([47.9], Look.CLEAR),
            ([48], Look.HELD),  # exactly as old as the limit is not yet older
            ([48.1], Look.PRESENT),
            ([96, 30], Look.CLEAR),  # the newest decides, wherever it stands
            ([30, 96], Look.CLEAR),
            ([], Look.PRESENT),
        ],
    )
    def test_the_newest_backup_is_held_against_the_limit(self, hours: list[float], expected: Look) -> None:
        assert answer(judge(*(pbs(ago(age)) for age in hours))) is expected

    def test_between_clear_and_limit_an_open_finding_is_held(self) -> None:
        assert answer(judge(pbs(ago(45)), limits=Limits(48, 40))) is Look.HELD
        assert answer(judge(pbs(ago(39)), limits=Limits(48, 40))) is Look.CLEAR

    def test_the_signal_tells_age_limit_and_row(self) -> None:
        signal = signals(judge(pbs(ago(120), datastore="old"), pve(ago(100.5))))[GUEST]
        assert signal.summary == "The newest good backup is 4.2 days old (2026-02-23 03:30 UTC); the limit is 48 h"
        assert (signal.value, signal.limit, signal.limit_source) == (100.5, 48, "built-in")
        assert (signal.severity, signal.resource_name, signal.tool_call_id) == (Severity.WARNING, "vm101", "c1")
        assert '"storage":"nas"' in signal.evidence

    @pytest.mark.parametrize(
        ("hours", "text"), [(36, "36 h"), (168, "7 days"), (0.5, "0.5 h"), (60, "60 h"), (100, "4.2 days")]
    )
    def test_the_sentence_names_the_limit_in_force(self, hours: float, text: str) -> None:
        notes = judge(limits=Limits(hours))
        assert signals(notes)[GUEST].summary == f"No backup at all is visible; the limit is {text}"

    def test_a_limit_beyond_all_time_is_met_by_any_backup(self) -> None:
        assert answer(judge(pbs(ago(24 * 900)), limits=Limits(10**12))) is Look.CLEAR


class TestNoBackupAtAll:
    @pytest.mark.parametrize(
        ("first_seen", "expected"),
        [(ago(72), Look.PRESENT), (ago(24), Look.CLEAR), (ago(48), Look.CLEAR), (None, Look.PRESENT)],
    )
    def test_a_guest_is_given_the_time_of_the_limit(self, first_seen: str | None, expected: Look) -> None:
        notes = judge(pbs(ago(2), 102), inventory=world(guest(first_seen=first_seen), guest(102)))
        assert answer(notes) is expected
        assert answer(notes, "vm:lab:102") is Look.CLEAR
        if expected is Look.PRESENT:
            assert signals(notes)[GUEST].value is None
            assert '"id":"vm:lab:101"' in signals(notes)[GUEST].evidence

    def test_containers_count_as_guests_and_other_resources_do_not(self) -> None:
        container = InventoryRow(id="system-container:lab:7", type="system-container", vmid=7, instance="lab")
        node = InventoryRow(id="node:lab:pve1", type="node", name="pve1")
        notes = judge(inventory=world(container, node))
        assert list(signals(notes)) == ["system-container:lab:7"]

    def test_templates_and_excluded_guests_are_never_stale_and_close_what_was_open(self) -> None:
        notes = judge(inventory=world(guest(template=True), guest(102)), limits=Limits(off="vm:lab:102"))
        assert not notes.signals
        assert answer(notes) is Look.CLEAR
        assert answer(notes, "vm:lab:102") is Look.CLEAR

    def test_a_guest_that_is_gone_is_not_stale(self) -> None:
        gone = backups(pbs(ago(1440), 140, protected=True), recent_tasks=[BackupTaskRow(vmid=140, status="OK")])
        for inventory in (world(guest(first_seen=ago(1))), world(), Inventory(complete=True)):
            assert not run(StaleBackupDetector, page(gone), inventory=inventory).signals


class TestWhoseBackupItIs:
    def test_backups_on_any_store_and_in_any_namespace_count(self) -> None:
        for row in (pve(ago(11)), pbs(ago(7), namespace="site1/vm"), pve(ago(5), instance=None)):
            assert answer(judge(row)) is Look.CLEAR

    def test_the_node_is_no_part_of_a_guest(self) -> None:
        migrated = world(guest(130, parent="node:lab:pve-b"))
        assert answer(judge(pbs(ago(5), 130), inventory=migrated), "vm:lab:130") is Look.CLEAR

    def test_a_guest_does_not_inherit_the_backup_of_its_namesake(self) -> None:
        notes = judge(pbs(ago(8), namespace="h1"), inventory=world(guest(instance="h1"), guest(instance="h2")))
        assert answer(notes, "vm:h1:101") is Look.CLEAR
        assert list(signals(notes)) == ["vm:h2:101"]

    def test_a_server_that_serves_one_instance_tells_the_owner(self) -> None:
        notes = judge(pbs(ago(8), instance="h1"), inventory=world(guest(instance="h1"), guest(instance="h2")))
        assert list(signals(notes)) == ["vm:h2:101"]

    def test_an_undecided_backup_counts_for_neither_and_makes_both_blind(self) -> None:
        notes = judge(pbs(ago(8)), inventory=world(guest(instance="h1"), guest(instance="h2")))
        for resource_id in ("vm:h1:101", "vm:h2:101"):
            assert reason(notes, resource_id).startswith("ambiguous: a backup belongs to one of vm:h1:101, vm:h2:101")

    def test_the_latest_of_the_undecided_counts(self) -> None:
        both = world(guest(instance="h1"), guest(instance="h2"))
        rows = [pbs(ago(8)), pbs(ago(80), namespace="x"), pbs("soon")]
        for listed in (rows, rows[::-1]):
            assert "soon" not in reason(judge(*listed, inventory=both), "vm:h1:101")

    def test_an_undecided_backup_that_is_too_old_anyway_excuses_nobody(self) -> None:
        both = world(guest(instance="h1"), guest(instance="h2"))
        assert len(judge(pbs(ago(80)), pbs(ago(90)), inventory=both).signals) == 2

    def test_a_guest_with_a_fresh_backup_of_its_own_is_clear_beside_an_undecided_one(self) -> None:
        both = world(guest(instance="h1"), guest(instance="h2"))
        notes = judge(pbs(ago(8)), pve(ago(3), instance="h2"), inventory=both)
        assert answer(notes, "vm:h2:101") is Look.CLEAR
        assert answer(notes, "vm:h1:101") is Look.BLIND

    def test_the_canonical_id_of_the_tool_is_believed(self) -> None:
        row = pbs(ago(3), 999, resource_id=GUEST)
        assert answer(judge(row)) is Look.CLEAR

    def test_a_host_backup_is_no_guests(self) -> None:
        assert answer(judge(pbs(ago(3), backup_type="host"))) is Look.PRESENT
        assert answer(judge(pbs(ago(3), vmid=101, backup_type="ct"))) is Look.PRESENT


class TestTimesThatCannotBePlaced:
    @pytest.mark.parametrize("time", ["2027-01-01T00:00:00Z", ago(-6 / 60), "soon", None, 0, "0001-01-01T00:00:00Z"])
    def test_make_a_guest_without_a_fresh_backup_blind(self, time: Time) -> None:
        for rows in ((pbs(time),), (pbs(ago(80)), pbs(time))):
            notes = judge(*rows)
            assert "cannot be placed" in reason(notes)
            assert notes.problems[0].place == f"pbs[{len(rows) - 1}].backup_time"

    def test_hold_for_a_row_with_the_canonical_id_too(self) -> None:
        assert "cannot be placed" in reason(judge(pbs("soon", 999, resource_id=GUEST)))

    def test_do_not_touch_a_guest_with_a_fresh_one(self) -> None:
        assert answer(judge(pve(ago(5)), pve("soon"))) is Look.CLEAR

    def test_five_minutes_ahead_is_another_clock(self) -> None:
        assert answer(judge(pbs(ago(-5 / 60)))) is Look.CLEAR

    def test_naive_times_are_in_the_zone_of_the_page(self) -> None:
        # 46 h by its digits, 56 h in truth
        output = backups(pbs("2026-02-25 10:00:00"), zone="Australia/Brisbane")
        notes = run(StaleBackupDetector, page(output), inventory=world(guest()))
        assert signals(notes)[GUEST].value == 56

    def test_a_zone_that_nobody_knows_makes_naive_times_unreadable(self) -> None:
        output = backups(pbs("2026-02-25 10:00:00"), zone="Mars/Olympus")
        assert "Mars/Olympus" in reason(run(StaleBackupDetector, page(output), inventory=world(guest())))


class TestWhatIsOutOfSight:
    @pytest.mark.parametrize(
        ("instances", "expected"), [([], Look.BLIND), (["lab"], Look.BLIND), (["other"], Look.PRESENT)]
    )
    def test_a_store_that_could_not_be_read_blinds_the_guests_that_it_may_hold(
        self, instances: list[str], expected: Look
    ) -> None:
        lost = BackupStore(id="storage:lab:nas", name="nas", readable=False, instances=instances)
        output = backups(pbs(ago(80)), gaps=[gap(resource_id=lost.id)], complete=False)
        notes = run(StaleBackupDetector, page(output), inventory=world(guest(), stores=[DATASTORE, lost]))
        assert answer(notes) is expected
        if expected is Look.BLIND:
            assert reason(notes) == "the backup store nas could not be read"

    def test_a_guest_of_an_unknown_instance_may_be_held_anywhere(self) -> None:
        lost = BackupStore(id="storage:lab:nas", readable=False, instances=["other"])
        notes = judge(inventory=world(guest(instance=""), stores=[lost]))
        assert "storage:lab:nas" in reason(notes, "vm::101")

    def test_a_fresh_backup_counts_whatever_else_is_out_of_sight(self) -> None:
        lost = BackupStore(id="storage:lab:nas", readable=False)
        assert answer(judge(pbs(ago(5)), inventory=world(guest(), stores=[lost]))) is Look.CLEAR

    def test_a_gap_of_one_guest_blinds_only_it(self) -> None:
        output = backups(gaps=[gap(resource_id=GUEST)], complete=False)
        notes = run(StaleBackupDetector, page(output), inventory=world(guest(), guest(102)))
        assert answer(notes) is Look.BLIND
        assert list(signals(notes)) == ["vm:lab:102"]

    def test_a_gap_of_the_tasks_hides_no_backup(self) -> None:
        output = backups(gaps=[gap(Topic.BACKUP_TASKS)], complete=False)
        assert answer(run(StaleBackupDetector, page(output), inventory=world(guest()))) is Look.PRESENT

    @pytest.mark.parametrize(
        "hole",
        [
            page(BackupsOutput(complete=False)),
            page(BackupsOutput(complete=True), intact=False),
            page(BackupsOutput(complete=True), filters=(("instance", "'lab'"),)),
            page(BackupsOutput(complete=True, pagination=Pagination(total=5, limit=2))),
            page(BackupsOutput(complete=True, pagination=Pagination(total=5, limit=3, offset=2))),
            recorded(BackupsOutput(gaps=[Gap(source="s", topic=Topic.BACKUPS, reason=GapReason.FAILED, detail="x")])),
        ],
    )
    def test_a_list_with_a_hole_proves_no_absence(self, hole: EvidencePage[Page]) -> None:
        inventory = world(guest())
        assert (
            reason(run(StaleBackupDetector, hole, inventory=inventory)) == "the list of backups was not read completely"
        )

    def test_pages_side_by_side_are_the_whole_list(self) -> None:
        pages = [
            page(backups(pbs(ago(hours)), pagination=Pagination(total=2, limit=1, offset=offset)), f"c{offset}")
            for offset, hours in ((1, 90), (0, 80))
        ]
        notes = run(StaleBackupDetector, *pages, inventory=world(guest()))
        assert (signals(notes)[GUEST].value, signals(notes)[GUEST].tool_call_id) == (80, "c0")

    def test_an_incomplete_inventory_states_and_clears_nothing(self) -> None:
        holes = world(guest(), guest(102), complete=False)
        notes = judge(pbs(ago(5), 102), pbs(ago(80), 103), inventory=holes)
        assert reason(notes) == "the inventory is incomplete"
        assert answer(notes, "vm:lab:102") == NO_ANSWER

    def test_without_any_visible_store_there_is_one_line_and_no_signal(self) -> None:
        notes = judge(inventory=world(guest(), stores=[]))
        assert not notes.signals
        assert answer(notes) == NO_ANSWER
        assert list(notes.checks_off) == ["backup coverage: no backup store is visible"]

    def test_a_server_on_the_page_is_a_store_in_sight(self) -> None:
        output = backups(pbs_servers=[PbsServerRow(name="pbs1")])
        assert GUEST in signals(run(StaleBackupDetector, page(output), inventory=world(guest(), stores=[])))

    def test_guests_without_any_list_of_backups_are_told_once(self) -> None:
        assert list(run(StaleBackupDetector, inventory=world(guest())).checks_off) == [
            "backup coverage: no list of backups was read"
        ]
        host = InventoryRow(id="agent:local:nas", type="agent")
        assert not run(StaleBackupDetector, inventory=world(host)).checks_off


class TestWhoLooked:
    def test_a_recorded_page_states_but_never_clears(self) -> None:
        output = BackupsOutput(pbs=[pbs(ago(5)), pbs(ago(80), 102)])
        everyone = world(guest(), guest(102), guest(103), guest(104, first_seen=ago(1)), guest(105, template=True))
        notes = run(StaleBackupDetector, recorded(output), inventory=everyone)
        assert set(signals(notes)) == {"vm:lab:102", "vm:lab:103"}
        assert [answer(notes, f"vm:lab:{vmid}") for vmid in (101, 104, 105)] == [NO_ANSWER] * 3

    def test_a_fresh_backup_that_only_a_model_saw_leaves_no_signal_and_clears_nothing(self) -> None:
        notes = run(
            StaleBackupDetector,
            recorded(backups(pbs(ago(5))), "m"),
            page(backups(pbs(ago(80))), "p"),
            inventory=world(guest()),
        )
        assert not notes.signals
        assert answer(notes) == NO_ANSWER

    def test_a_fresh_backup_in_any_sweep_of_patrol_clears(self) -> None:
        notes = run(
            StaleBackupDetector,
            page(backups(pbs(ago(80))), "all"),
            page(backups(pbs(ago(5))), "one", filters=(("instance", "'lab'"),)),
            inventory=world(guest()),
        )
        assert answer(notes) is Look.CLEAR

    def test_the_same_call_by_model_and_patrol_stays_two_readings(self) -> None:
        output = backups(pbs(ago(5)))
        notes = run(StaleBackupDetector, page(output, origin=Origin.MODEL), page(output, "p"), inventory=world(guest()))
        assert answer(notes) is Look.CLEAR


class TestRecordingsWithoutAnInventory:
    def recent(self, *vmids: object) -> list[BackupTaskRow]:
        return [BackupTaskRow(vmid=vmid, status="OK", start_time=ago(0)) for vmid in vmids]  # type: ignore[arg-type]  # text or number

    def test_guests_that_tasks_name_are_stale_by_their_old_backups(self) -> None:
        output = BackupsOutput(
            pbs=[pbs(ago(96), 200)],
            pve=[pve(ago(96), 201, None), pve(ago(96), 202, None)],
            recent_tasks=self.recent(200, "201", 203),
        )
        notes = run(StaleBackupDetector, recorded(output))
        assert set(signals(notes)) == {"200", "201"}
        assert signals(notes)["200"].value == 96
        assert list(notes.checks_off) == ["backup coverage: no inventory, so guests without any backup are not known"]

    def test_a_fresh_backup_or_a_switched_off_check_is_no_signal(self) -> None:
        output = BackupsOutput(pbs=[pbs(ago(96), 200), pbs(ago(3), 201)], recent_tasks=self.recent(200, 201))
        assert not run(StaleBackupDetector, recorded(output), limits=Limits(off="200")).signals

    def test_one_number_in_two_instances_is_never_mixed(self) -> None:
        tasks = [BackupTaskRow(vmid=200, instance=name, status="OK") for name in ("a", "b")]
        output = BackupsOutput(pve=[pve(ago(96), 200, "a"), pve(ago(3), 200, "b")], recent_tasks=tasks)
        assert list(signals(run(StaleBackupDetector, recorded(output)))) == ["a:200"]
        unclear = BackupsOutput(pbs=[pbs(ago(96), 200)], recent_tasks=tasks)
        assert not run(StaleBackupDetector, recorded(unclear)).signals

    def test_canonical_ids_stand_for_themselves(self) -> None:
        output = BackupsOutput(
            pbs=[pbs(ago(96), resource_id=GUEST)], recent_tasks=[BackupTaskRow(resource_id=GUEST, status="OK")]
        )
        assert list(signals(run(StaleBackupDetector, recorded(output)))) == [GUEST]

    def test_a_time_that_cannot_be_placed_says_nothing(self) -> None:
        output = BackupsOutput(pbs=[pbs(ago(96), 200), pbs("soon", 200)], recent_tasks=self.recent(200))
        assert not run(StaleBackupDetector, recorded(output)).signals

    def test_a_gap_in_the_backups_switches_the_check_off(self) -> None:
        output = BackupsOutput(pbs=[pbs(ago(96), 200)], recent_tasks=self.recent(200), gaps=[gap()])
        notes = run(StaleBackupDetector, recorded(output))
        assert not notes.signals
        assert "backup coverage: the list of backups was not read completely" in notes.checks_off


def gap(topic: Topic = Topic.BACKUPS, resource_id: str | None = None) -> Gap:
    return Gap(source="lab", topic=topic, reason=GapReason.NO_PERMISSION, detail="403", resource_id=resource_id)


_BACKUP = st.tuples(st.integers(101, 103), st.integers(1, 100), st.sampled_from(["id", "pbs", "pve"]))


@given(st.lists(_BACKUP, max_size=8), st.integers(0, 7))
def test_shape_order_and_paging_of_a_list_change_nothing(listed: list[tuple[int, int, str]], cut: int) -> None:
    rows: list[PbsBackupRow | PveBackupRow] = []
    for vmid, hours, shape in listed:
        more = {"resource_id": f"vm:lab:{vmid}"} if shape == "id" else {}
        rows.append(pve(ago(hours), vmid) if shape == "pve" else pbs(ago(hours), vmid, **more))
    notes = run(
        StaleBackupDetector,
        page(backups(*rows[cut:]), "c1"),
        page(backups(*rows[:cut]), "c2"),
        inventory=world(*(guest(vmid) for vmid in (101, 102, 103))),
    )
    for vmid in (101, 102, 103):
        newest = min((hours for each, hours, _shape in listed if each == vmid), default=999)
        expected = Look.CLEAR if newest < 48 else Look.HELD if newest == 48 else Look.PRESENT
        assert answer(notes, f"vm:lab:{vmid}") is expected
