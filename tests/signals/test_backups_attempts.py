"""Failed backups: the newest finished attempt of each guest or job decides, and only a later success ends it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.kinds import Kind
from findings.model import Category, Look, Severity
from signals.backup_evidence import BackupsOutput, BackupTaskRow, BackupTasksOutput
from signals.backups import FailedBackupDetector
from signals.detector import Notes
from signals.evidence import InventoryRow
from signals.inventory import Inventory
from signals.model import Origin
from signals.pages import Id, Page

from .backup_pages import NO_ANSWER, ago, guest, look, page, recorded, run, signals, world

FAILED = "job errors"
TOMORROW = ago(-24)


def tasks(*rows: BackupTaskRow, zone: str = "") -> BackupTasksOutput:
    return BackupTasksOutput(tasks=list(rows), complete=True, zone=zone)


def task(vmid: Id = 101, status: str | None = "OK", hours: float = 1, **more: object) -> BackupTaskRow:
    row = BackupTaskRow(vmid=vmid, status=status, end_time=ago(hours), instance="lab")
    for name, value in more.items():
        setattr(row, name, value)
    return row


def judge(*rows: BackupTaskRow, inventory: Inventory | None = None) -> Notes:
    return run(FailedBackupDetector, page(tasks(*rows)), inventory=inventory or world(guest()))


GUEST = "vm:lab:101"


class TestTheNewestFinishedAttemptDecides:
    @pytest.mark.parametrize(
        ("attempts", "answer"),
        [
            ([("OK", 1)], Look.CLEAR),
            ([("OK", 1), ("OK", 30)], Look.CLEAR),
            ([("WARNINGS: 2", 1)], Look.CLEAR),
            ([(FAILED, 1)], Look.PRESENT),
            ([(FAILED, 24 * 400)], Look.PRESENT),  # age alone ends nothing
            ([(FAILED, 7.5), ("OK", 7)], Look.CLEAR),  # the automatic retry
            ([("OK", 7), (FAILED, 7.5)], Look.CLEAR),  # in any order of listing
            ([("OK", 30), (FAILED, 6)], Look.PRESENT),  # an older good backup masks nothing
            ([(FAILED, 6), ("OK", 6)], Look.CLEAR),  # at one instant a success wins
            ([("OK", 6), (FAILED, 6)], Look.CLEAR),
            ([("OK", 30), ("running", 1)], Look.CLEAR),
            ([(FAILED, 30), ("running", 1)], Look.PRESENT),
            ([(FAILED, 30), ("queued", 1), ("unknown", 1), ("stopped", 1)], Look.PRESENT),
            ([("running", 1)], NO_ANSWER),
            ([("unknown", 1)], NO_ANSWER),
            ([], NO_ANSWER),  # no attempt in the list is no answer, never "fine"
        ],
    )
    def test_whatever_is_listed_around_it(self, attempts: list[tuple[str, float]], answer: Look | str) -> None:
        notes = judge(*(task(status=status, hours=hours) for status, hours in attempts))
        assert look(notes, Kind.BACKUP_FAILED, GUEST) == answer
        assert (GUEST in signals(notes)) == (answer is Look.PRESENT)

    def test_the_signal_tells_time_and_reason_and_shows_its_row(self) -> None:
        notes = judge(task(status="OK", hours=30), task(status="stopped", exitstatus="unexpected status", hours=6))
        signal = signals(notes)[GUEST]
        assert signal.summary == "The newest backup attempt that ended 2026-02-27 02:00 UTC failed: unexpected status"
        assert (signal.severity, signal.category) == (Severity.WARNING, Category.BACKUP)
        assert (signal.resource_name, signal.resource_type, signal.tool_call_id) == ("vm101", "vm", "c1")
        assert '"exitstatus":"unexpected status"' in signal.evidence

    def test_an_error_text_is_the_reason_even_with_active_inside_a_word(self) -> None:
        notes = judge(task(status="error", error="storage nfs1 is\ninactive"))
        assert signals(notes)[GUEST].summary.endswith("failed: storage nfs1 is inactive")

    def test_a_failure_without_words_is_still_one(self) -> None:
        assert signals(judge(task(status="", error="\x00")))[GUEST].summary.endswith("failed: no reason is told")

    def test_a_stopped_task_succeeds_by_its_exit_status(self) -> None:
        assert look(judge(task(status="stopped", exitstatus="OK")), Kind.BACKUP_FAILED, GUEST) is Look.CLEAR

    def test_tasks_that_are_no_backups_say_nothing(self) -> None:
        failed = [task(status="error", type=work) for work in ("qmstart", "vzshutdown", "aptupdate", "vncproxy")]
        by_id = task(status="error", id="UPID:n:00000010:00000010:65000000:qmstart:101:root@pam:")
        assert not judge(*failed, by_id).signals
        good_start = task(hours=1, id="UPID:n:00000010:00000010:65000000:qmstart:101:root@pam:")
        assert GUEST in signals(judge(task(status=FAILED, hours=2), good_start))

    def test_the_start_stands_in_for_a_missing_end(self) -> None:
        year_one = "0001-01-01T00:00:00Z"
        notes = judge(
            task(status=FAILED, start_time=ago(2), end_time=year_one), task(start_time=ago(1), end_time=year_one)
        )
        assert look(notes, Kind.BACKUP_FAILED, GUEST) is Look.CLEAR
        assert not notes.problems

    def test_times_without_an_offset_are_in_the_zone_of_the_page(self) -> None:
        failed = task(status=FAILED, end_time="2026-02-27 09:30:00")  # 23:30 UTC of the day before
        notes = run(
            FailedBackupDetector,
            page(tasks(failed, zone="Australia/Brisbane"), "c1"),
            page(tasks(task(hours=8)), "c2"),
            inventory=world(guest()),
        )
        assert look(notes, Kind.BACKUP_FAILED, GUEST) is Look.CLEAR


class TestAttemptsWhoseTimeCannotBePlaced:
    @pytest.mark.parametrize("time", [None, "yesterday", "0001-01-01T00:00:00Z"])
    def test_a_failure_counts_where_there_is_no_success_at_all(self, time: str | None) -> None:
        notes = judge(task(status=FAILED, end_time=time))
        assert "at an unknown time failed" in signals(notes)[GUEST].summary
        assert [problem.place for problem in notes.problems] == ["tasks[0]"]

    def test_beside_a_success_it_is_neither_newer_nor_forgotten(self) -> None:
        for good in (task(hours=5), task(hours=5, end_time="?")):
            notes = judge(good, task(status=FAILED, end_time="?"))
            assert not notes.signals
            assert look(notes, Kind.BACKUP_FAILED, GUEST) is Look.BLIND
            assert notes.problems[-1].place == "tasks[1]"

    def test_it_leaves_a_dated_failure_standing(self) -> None:
        unplaced = task(status=FAILED, end_time="?")
        notes = judge(unplaced, unplaced, task(status=FAILED, hours=5), task(hours=9))
        assert "2026-02-27 03:00" in signals(notes)[GUEST].summary

    def test_a_success_without_a_time_ends_no_failure(self) -> None:
        assert GUEST in signals(judge(task(status=FAILED, hours=5), task(end_time="?")))

    def test_a_success_without_a_time_alone_says_nothing(self) -> None:
        notes = judge(task(end_time="?"))
        assert not notes.signals
        assert look(notes, Kind.BACKUP_FAILED, GUEST) == NO_ANSWER

    def test_what_has_not_ended_needs_no_time(self) -> None:
        assert not judge(task(status="running", end_time=None)).problems

    def test_five_minutes_ahead_is_another_clock_and_six_is_the_future(self) -> None:
        assert look(judge(task(hours=-5 / 60)), Kind.BACKUP_FAILED, GUEST) is Look.CLEAR
        assert look(judge(task(hours=-6 / 60)), Kind.BACKUP_FAILED, GUEST) is Look.BLIND
        assert look(judge(task(status=FAILED, hours=-5 / 60)), Kind.BACKUP_FAILED, GUEST) is Look.PRESENT
        assert look(judge(task(status=FAILED, hours=-6 / 60)), Kind.BACKUP_FAILED, GUEST) is Look.BLIND

    @pytest.mark.parametrize(
        ("end", "start"), [(TOMORROW, None), (None, TOMORROW), (TOMORROW, "?"), ("?", TOMORROW), (TOMORROW, TOMORROW)]
    )
    @pytest.mark.parametrize(("status", "which"), [(FAILED, "failed"), ("OK", "good")])
    def test_one_whose_only_time_is_of_the_future_makes_its_guest_blind_and_says_why(
        self, end: str | None, start: str | None, status: str, which: str
    ) -> None:
        notes = judge(task(status=status, end_time=end, start_time=start))
        assert not notes.signals
        assert look(notes, Kind.BACKUP_FAILED, GUEST) is Look.BLIND
        assert notes.examined.blind_reason(Kind.BACKUP_FAILED, GUEST) == (
            f"when a {which} attempt ended cannot be told: the time 2026-02-28 08:00 UTC lies in the future"
        )
        assert "lies in the future" in notes.problems[0].message

    @pytest.mark.parametrize(
        ("others", "answer"),
        [
            ([task(status=FAILED, hours=5)], Look.PRESENT),
            ([task(status=FAILED, end_time=None)], Look.PRESENT),  # beside it no attempt of any time succeeded
            ([task(hours=5)], Look.BLIND),
            ([task(end_time="?")], Look.BLIND),
            ([task(status="running")], Look.BLIND),
        ],
    )
    def test_a_failure_of_the_future_neither_hides_nor_stands_in_for_others(
        self, others: list[BackupTaskRow], answer: Look
    ) -> None:
        ahead = task(status=FAILED, end_time=TOMORROW)
        for rows in ([*others, ahead], [ahead, *others]):
            assert look(judge(*rows), Kind.BACKUP_FAILED, GUEST) is answer

    def test_a_success_of_the_future_ends_no_failure_and_starts_no_doubt_of_another_success(self) -> None:
        ahead = task(end_time=TOMORROW)
        assert look(judge(ahead, task(status=FAILED, hours=5)), Kind.BACKUP_FAILED, GUEST) is Look.PRESENT
        assert look(judge(ahead, task(status=FAILED, end_time=None)), Kind.BACKUP_FAILED, GUEST) is Look.BLIND
        assert look(judge(ahead, task(hours=5)), Kind.BACKUP_FAILED, GUEST) is Look.CLEAR

    def test_the_start_that_can_be_placed_stands_in_for_an_end_of_the_future(self) -> None:
        notes = judge(task(status=FAILED, end_time=TOMORROW, start_time=ago(2)))
        assert "2026-02-27 06:00" in signals(notes)[GUEST].summary

    @pytest.mark.parametrize("status", [FAILED, "OK"])
    def test_a_job_whose_only_attempt_is_of_the_future_is_blind(self, status: str) -> None:
        notes = judge(task(None, status, end_time=TOMORROW, node="pve1", type="vzdump"))
        assert not notes.signals
        assert look(notes, Kind.BACKUP_FAILED, "pve1", "vzdump") is Look.BLIND
        assert "lies in the future" in notes.examined.blind_reason(Kind.BACKUP_FAILED, "pve1", "vzdump")

    def test_an_ambiguous_failure_of_the_future_makes_both_blind(self) -> None:
        both = world(guest(), guest(instance="other"))
        notes = judge(task(status=FAILED, end_time=TOMORROW, instance=None), inventory=both)
        assert [look(notes, Kind.BACKUP_FAILED, each) for each in (GUEST, "vm:other:101")] == [Look.BLIND] * 2


class TestWhoseAttemptItIs:
    def test_a_recorded_page_without_an_inventory_names_guests_by_their_number(self) -> None:
        rows = tasks(task(100), task("101", "ERROR: backup failed", vm_name="db", type="lxc"))
        signal = signals(run(FailedBackupDetector, recorded(rows)))["101"]
        assert (signal.resource_name, signal.resource_type) == ("db", "system-container")

    def test_recent_tasks_count_like_the_list_of_tasks(self) -> None:
        recent = BackupsOutput(
            recent_tasks=[
                BackupTaskRow(vmid=105, status="ok", start_time=ago(0)),
                BackupTaskRow(vmid="106", status="error", start_time=ago(0)),
                BackupTaskRow(vmid=107, status="error", start_time=ago(2)),
                BackupTaskRow(vmid=107, status="OK", start_time=ago(0.5)),
            ]
        )
        assert list(signals(run(FailedBackupDetector, recorded(recent)))) == ["106"]

    def test_one_number_in_two_instances_is_two_guests(self) -> None:
        rows = tasks(task(101, FAILED), task(101, "OK", 0.5, instance="other"))
        assert list(signals(run(FailedBackupDetector, recorded(rows)))) == ["lab:101"]
        both = world(guest(), guest(instance="other"))
        assert list(signals(judge(*rows.tasks, inventory=both))) == [GUEST]

    def test_a_row_that_tells_no_instance_is_undecided_only_where_its_number_is_used_twice(self) -> None:
        rows = tasks(
            task(101), task(101, instance="other"), task(101, FAILED, instance=None), task(7, FAILED, instance=None)
        )
        assert list(signals(run(FailedBackupDetector, recorded(rows)))) == ["7"]

    @pytest.mark.parametrize("vmid", [101, "101", " 101 ", "0101", "vm/101", "qemu/101"])
    def test_a_number_may_come_in_many_spellings(self, vmid: Id) -> None:
        for inventory in (world(guest()), None):
            notes = run(
                FailedBackupDetector, recorded(tasks(task(vmid, FAILED, 5), task(101, hours=9))), inventory=inventory
            )
            assert list(signals(notes)) == [GUEST if inventory else "101"]

    def test_the_canonical_id_of_the_tool_is_believed(self) -> None:
        assert GUEST in signals(judge(task(None, FAILED, resource_id=GUEST, instance=None)))

    def test_a_number_where_the_canonical_id_should_be_is_read_as_one(self) -> None:
        assert GUEST in signals(judge(task(None, FAILED, resource_id="101", instance=None)))

    def test_an_alias_means_its_resource(self) -> None:
        renamed = world(guest(aliases=["qemu/101"]))
        notes = judge(task(None, FAILED, 2, resource_id="qemu/101"), task(None, resource_id=GUEST), inventory=renamed)
        assert look(notes, Kind.BACKUP_FAILED, GUEST) is Look.CLEAR

    def test_nothing_is_said_of_a_guest_that_is_gone(self) -> None:
        for claim in ({"vmid": 140}, {"vmid": None, "resource_id": "vm:lab:140"}):
            assert not judge(task(status=FAILED, **claim)).signals

    def test_while_the_inventory_has_holes_a_failure_is_told_under_the_id_that_came(self) -> None:
        holes = world(guest(), complete=False)
        assert list(signals(judge(task(140, FAILED), inventory=holes))) == ["140"]
        assert list(signals(judge(task(None, FAILED, resource_id="vm:x:1"), inventory=holes))) == ["vm:x:1"]

    def test_an_ambiguous_failure_counts_for_neither_and_says_so(self) -> None:
        both = world(guest(), guest(instance="other"))
        notes = judge(
            task(101, FAILED, instance=None), task(101, hours=9), task(101, hours=9, instance="other"), inventory=both
        )
        assert not notes.signals
        for resource_id in (GUEST, "vm:other:101"):
            assert look(notes, Kind.BACKUP_FAILED, resource_id) is Look.BLIND
            assert "ambiguous" in notes.examined.blind_reason(Kind.BACKUP_FAILED, resource_id)
        assert "ambiguous" in notes.problems[0].message

    def test_an_ambiguous_success_counts_for_neither(self) -> None:
        both = world(guest(), guest(instance="other"))
        notes = judge(task(101, instance=None), task(101, FAILED, 5), inventory=both)
        assert list(signals(notes)) == [GUEST]

    def test_the_node_of_a_task_tells_its_cluster(self) -> None:
        nodes = [
            InventoryRow(id=f"node:{name}:pve-{name}", type="node", name=f"pve-{name}", instance=name)
            for name in ("lab", "other")
        ]
        both = world(guest(), guest(instance="other"), *nodes)
        notes = judge(task(101, FAILED, instance=None, node="pve-other"), inventory=both)
        assert list(signals(notes)) == ["vm:other:101"]

    def test_a_guest_of_an_unnamed_instance_is_meant_by_its_number(self) -> None:
        local = world(guest(id="vm:pve1:101", instance=""))
        assert list(signals(judge(task(101, FAILED), inventory=local))) == ["vm:pve1:101"]

    def test_a_number_that_was_a_container_and_is_a_machine_now_is_another_guest(self) -> None:
        assert not judge(task(101, FAILED, type="lxc")).signals
        assert GUEST in signals(judge(task(101, FAILED, type="qemu")))


class TestJobsOverManyGuests:
    def test_a_line_that_names_a_failed_guest_wins_over_the_status(self) -> None:
        job = task(None, "WARNINGS: 1", node="pve1", type="vzdump", log=["ERROR: Backup of VM 101 failed - timeout"])
        notes = judge(job)
        assert list(signals(notes)) == [GUEST]
        assert signals(notes)[GUEST].summary.endswith("ERROR: Backup of VM 101 failed - timeout")

    def test_the_guests_of_one_log_fare_each_for_itself(self) -> None:
        log = [
            "INFO: Starting Backup of VM 101 (qemu)",
            "INFO: Finished Backup of VM 101 (00:02:30)",
            "INFO: Starting Backup of VM 102 (lxc)",
            "ERROR: Backup of VM 102 failed - exit code 23",
        ]
        job = task(None, FAILED, node="pve1", type="vzdump", log=log)
        notes = judge(task(101, FAILED, 5), job, inventory=world(guest(), guest(102)))
        assert list(signals(notes)) == ["vm:lab:102"]
        assert look(notes, Kind.BACKUP_FAILED, GUEST) is Look.CLEAR

    def test_a_row_of_one_guest_tells_the_failures_of_others_but_not_their_success(self) -> None:
        log = [
            "INFO: Starting Backup of VM 101", "INFO: Finished Backup of VM 101",
            "INFO: Starting Backup of VM 102", "INFO: Finished Backup of VM 102",
            "ERROR: Backup of VM 103 failed - x",
        ]  # fmt: skip
        guests = world(guest(), guest(102), guest(103))
        notes = judge(task(102, FAILED, 5), task(None, FAILED, resource_id=GUEST, log=log), inventory=guests)
        assert set(signals(notes)) == {"vm:lab:102", "vm:lab:103"}
        assert look(notes, Kind.BACKUP_FAILED, GUEST) is Look.CLEAR

    def test_a_job_that_names_no_guest_is_its_nodes(self) -> None:
        failed = task(0, FAILED, 3, node="pve1", type="vzdump")
        assert list(signals(judge(failed))) == ["pve1/vzdump"]
        assert signals(judge(failed))["pve1/vzdump"].summary.startswith("Backup job vzdump that ended")
        running = task(None, "running", 0.5, node="pve1", type="vzdump")
        notes = judge(failed, task("0", "OK", 1, node="pve1", type="vzdump"), running)
        assert not notes.signals
        assert look(notes, Kind.BACKUP_FAILED, "pve1", "vzdump") is Look.CLEAR
        assert look(notes, Kind.BACKUP_FAILED, "pve1", "another") == NO_ANSWER
        older = task(None, FAILED, 9, node="pve1", type="vzdump")
        assert "2026-02-27 05:00" in signals(judge(failed, older, running))["pve1/vzdump"].summary
        good = task(None, "OK", 2, node="pve1", type="vzdump")
        assert not judge(good, task(None, "OK", 9, node="pve1", type="vzdump"), failed).signals

    def test_a_node_is_found_by_name_and_instance(self) -> None:
        nodes = [
            InventoryRow(id=f"node:{name}:pve", type="node", name="pve", instance=name) for name in ("lab", "other")
        ]
        assert list(signals(judge(task(None, FAILED, node="pve", type="vzdump"), inventory=world(*nodes)))) == [
            "node:lab:pve/vzdump"
        ]
        unclear = judge(task(None, FAILED, node="pve", type="vzdump", instance=None), inventory=world(*nodes))
        assert list(signals(unclear)) == ["pve/vzdump"]

    def test_a_job_of_a_server_is_known_by_its_id(self) -> None:
        def sync(job: str, status: str, hours: float) -> BackupTaskRow:
            upid = rf"UPID:pbs1:000004D2:0000162E:00000003:65000000:syncjob:far\x3amain\x3a{job}:root@pam:"
            return BackupTaskRow(id=upid, status=status, end_time=ago(hours))

        notes = judge(sync("s-1", "WARNINGS: 1", 2), sync("s-2", "OK", 1))
        assert list(signals(notes)) == ["pbs1/s-1"]
        assert look(notes, Kind.BACKUP_FAILED, "pbs1", "s-2") is Look.CLEAR

    def test_a_task_identity_names_the_guest_of_a_row_without_one(self) -> None:
        upid = "UPID:pve1:00000010:00000010:65000000:vzdump:101:root@pam:"
        assert list(signals(judge(task(None, FAILED, id=upid)))) == [GUEST]

    def test_a_job_with_an_unplaced_failure_is_blind(self) -> None:
        notes = judge(
            task(None, "OK", node="pve1", type="vzdump"), task(None, FAILED, end_time="?", node="pve1", type="vzdump")
        )
        assert look(notes, Kind.BACKUP_FAILED, "pve1", "vzdump") is Look.BLIND

    def test_rows_that_nothing_tells_apart_do_not_end_each_other(self) -> None:
        rows = [
            BackupTaskRow(type="vzdump", status="WARNINGS: 2"),
            BackupTaskRow(type="vzdump", status="job errors"),
            BackupTaskRow(type="vzdump", status="OK"),
            BackupTaskRow(type="syncjob", status="WARNINGS: 1"),
            BackupTaskRow(type="vzdump", status="WARNINGS: 1", log=["ERROR: Backup of VM 111 failed - timeout"]),
        ]
        assert set(signals(run(FailedBackupDetector, recorded(tasks(*rows))))) == {
            "backup/vzdump", "backup/syncjob", "111"
        }  # fmt: skip
        rows = [
            BackupTaskRow(id="U1", status="stopped", exitstatus="OK"),
            BackupTaskRow(id="U2", status="stopped", exitstatus="unexpected status"),
            BackupTaskRow(id="U3", status="running"),
        ]
        assert list(signals(run(FailedBackupDetector, recorded(tasks(*rows))))) == ["backup/U2"]


class TestWhatClears:
    def test_a_models_own_call_clears_nothing(self) -> None:
        for each in (page(tasks(task()), origin=Origin.MODEL), recorded(tasks(task()))):
            notes = run(FailedBackupDetector, each, inventory=world(guest()))
            assert look(notes, Kind.BACKUP_FAILED, GUEST) == NO_ANSWER

    def test_a_success_that_only_a_model_saw_neither_clears_nor_leaves_a_signal(self) -> None:
        sweep = page(tasks(task(status="OK", hours=9), task(status=FAILED, hours=5)))
        notes = run(
            FailedBackupDetector, sweep, page(tasks(task()), "c2", origin=Origin.MODEL), inventory=world(guest())
        )
        assert not notes.signals
        assert look(notes, Kind.BACKUP_FAILED, GUEST) == NO_ANSWER

    def test_an_incomplete_sweep_clears_nothing(self) -> None:
        output = tasks(task())
        output.complete = False
        assert (
            look(run(FailedBackupDetector, page(output), inventory=world(guest())), Kind.BACKUP_FAILED, GUEST)
            == NO_ANSWER
        )

    def test_an_incomplete_inventory_clears_nothing(self) -> None:
        assert look(judge(task(), inventory=world(guest(), complete=False)), Kind.BACKUP_FAILED, GUEST) == NO_ANSWER

    def test_the_short_list_of_recent_tasks_clears_nothing(self) -> None:
        recent: Page = BackupsOutput(recent_tasks=[task()], complete=True)
        assert (
            look(run(FailedBackupDetector, page(recent), inventory=world(guest())), Kind.BACKUP_FAILED, GUEST)
            == NO_ANSWER
        )

    @pytest.mark.parametrize(("name", "answer"), [("status", NO_ANSWER), ("node", NO_ANSWER), ("instance", Look.CLEAR)])
    def test_a_list_that_leaves_attempts_out_clears_nothing(self, name: str, answer: Look | str) -> None:
        each = page(tasks(task()), filters=((name, "'x'"),))
        assert look(run(FailedBackupDetector, each, inventory=world(guest())), Kind.BACKUP_FAILED, GUEST) == answer

    @pytest.mark.parametrize("model_first", [True, False])
    def test_a_job_that_a_model_read_as_well_is_cleared_by_the_sweep_all_the_same(self, model_first: bool) -> None:
        good = task(0, "OK", 1, node="pve1", type="vzdump")
        recent: Page = BackupsOutput(recent_tasks=[good], complete=True)
        pages = [page(recent, "c1", origin=Origin.MODEL), page(tasks(good), "c2")]
        notes = run(FailedBackupDetector, *(pages if model_first else reversed(pages)), inventory=world(guest()))
        assert look(notes, Kind.BACKUP_FAILED, "pve1", "vzdump") is Look.CLEAR

    def test_a_success_of_a_job_that_only_a_model_saw_clears_nothing(self) -> None:
        newer = page(tasks(task(0, "OK", 1, node="pve1", type="vzdump")), "c1", origin=Origin.MODEL)
        sweep = page(tasks(task(0, FAILED, 3, node="pve1", type="vzdump")), "c2")
        notes = run(FailedBackupDetector, newer, sweep, inventory=world(guest()))
        assert look(notes, Kind.BACKUP_FAILED, "pve1", "vzdump") == NO_ANSWER

    def test_half_of_the_list_that_a_model_read_keeps_no_sweep_from_clearing(self) -> None:
        failed, good = task(status=FAILED, hours=3), task()
        half = page(tasks(failed), "c1", origin=Origin.MODEL)
        notes = run(FailedBackupDetector, half, page(tasks(failed, good), "c2"), inventory=world(guest()))
        assert look(notes, Kind.BACKUP_FAILED, GUEST) is Look.CLEAR

    def test_a_failure_seen_by_a_model_keeps_a_sweep_from_clearing(self) -> None:
        newer = page(tasks(task(status=FAILED, hours=0.5)), "c2", origin=Origin.MODEL)
        notes = run(FailedBackupDetector, page(tasks(task())), newer, inventory=world(guest()))
        assert look(notes, Kind.BACKUP_FAILED, GUEST) is Look.PRESENT


_STATUSES = ("OK", "WARNINGS: 1", FAILED, "running", "unknown")


@given(
    st.lists(st.tuples(st.sampled_from(_STATUSES), st.integers(1, 5)), max_size=6),
    st.integers(0, 3),
    st.booleans(),
)
def test_order_shape_and_paging_of_a_list_change_nothing(
    attempts: list[tuple[str, int]],
    turn: int,
    with_ids: bool,
) -> None:
    good = max((-hours for status, hours in attempts if status in ("OK", "WARNINGS: 1")), default=-99)
    bad = max((-hours for status, hours in attempts if status == FAILED), default=-99)
    rows = [task(101, status, hours) for status, hours in attempts]
    for row in rows[: turn if with_ids else 0]:
        row.resource_id = GUEST  # some rows carry the canonical id, others the number
    rows = rows[turn:] + rows[:turn]
    notes = run(FailedBackupDetector, page(tasks(*rows[:2])), page(tasks(*rows[2:]), "c2"), inventory=world(guest()))
    assert (GUEST in signals(notes)) == (bad > good)
    assert (look(notes, Kind.BACKUP_FAILED, GUEST) is Look.CLEAR) == (good >= bad and good > -99)
