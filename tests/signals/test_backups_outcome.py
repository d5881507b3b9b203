"""The words of backup tasks: whole words, exact rules, no guess where nothing is told."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signals.backup_evidence import BackupTaskRow
from signals.backups.outcome import Outcome, outcome_of, read_job_log, task_outcome
from signals.backups.upid import Upid, read_upid

OK, WARNINGS, FAILED, RUNNING, UNKNOWN = Outcome


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("OK", OK),
        ("ok", OK),
        ("  Success ", OK),
        ("successful", OK),
        ("TASK OK", OK),
        ("Backup job finished successfully", OK),
        ("completed", OK),
        ("WARNINGS: 2", WARNINGS),
        ("warnings", WARNINGS),
        ("OK with 1 warning", WARNINGS),
        ("job errors", FAILED),
        ("ERROR: backup failed", FAILED),
        ("error", FAILED),
        ("unexpected status", FAILED),
        ("interrupted by signal", FAILED),
        ("unsuccessful", FAILED),
        ("not ok", FAILED),
        ("completed with errors", FAILED),
        ("permission check failed.", FAILED),
        ("read failed - ESTALE: Stale file handle", FAILED),
        ("storage nfs1 is inactive", FAILED),
        ("some error occurred", FAILED),
        ("backup job", FAILED),
        ("???", FAILED),
        ("running", RUNNING),
        ("Active", RUNNING),
        ("in progress", RUNNING),
        ("queued", RUNNING),
        ("unknown", UNKNOWN),
        ("stopped", UNKNOWN),
        ("finished", UNKNOWN),
        ("", UNKNOWN),
        (None, UNKNOWN),
    ],
)
def test_a_status_says_how_a_task_ended_or_nothing(status: str | None, outcome: Outcome) -> None:
    assert outcome_of(status) is outcome


@pytest.mark.parametrize(
    ("status", "exit_status", "outcome"),
    [
        ("stopped", "OK", OK),
        ("stopped", "WARNINGS: 1", WARNINGS),
        ("stopped", "unexpected status", FAILED),
        ("stopped", "", UNKNOWN),
        ("stopped", None, UNKNOWN),
        ("running", None, RUNNING),
        ("running", "OK", OK),
    ],
)
def test_a_stopped_task_has_its_result_in_the_exit_status(
    status: str, exit_status: str | None, outcome: Outcome
) -> None:
    assert outcome_of(status, exit_status=exit_status) is outcome


@pytest.mark.parametrize(
    ("status", "error", "outcome"),
    [
        ("OK", "timeout", FAILED),
        ("", "storage nfs1 is inactive", FAILED),
        ("unknown", "exit code 255", FAILED),
        ("OK", 255, FAILED),
        ("WARNINGS: 1", "WARNINGS: 1", WARNINGS),
        ("running", "still waiting for the lock", RUNNING),
        ("OK", "null", OK),
        ("OK", "0", OK),
        ("OK", 0, OK),
        ("OK", "  ", OK),
    ],
)
def test_an_error_text_fails_what_does_not_run(status: str, error: str | int, outcome: Outcome) -> None:
    assert outcome_of(status, error=error) is outcome


@pytest.mark.parametrize(
    ("work", "outcome"), [("vzdump", WARNINGS), ("verify", WARNINGS), ("syncjob", FAILED), ("Sync", FAILED)]
)
def test_warnings_fail_a_sync_and_nothing_else(work: str, outcome: Outcome) -> None:
    assert outcome_of("WARNINGS: 1", work=work) is outcome


@given(st.one_of(st.none(), st.text()), st.one_of(st.none(), st.text()), st.one_of(st.none(), st.text(), st.integers()))
def test_any_words_have_one_outcome_and_an_error_never_improves_it(
    status: str | None, exit_status: str | None, error: str | int | None
) -> None:
    without = outcome_of(status, exit_status=exit_status)
    assert outcome_of(status, exit_status=exit_status, error=error) in {without, FAILED}


class TestJobLog:
    def test_each_guest_has_its_own_end(self) -> None:
        log = [
            "INFO: Starting Backup of VM 7 (qemu)",
            "INFO: Finished Backup of VM 7 (00:02:30)",
            "INFO: Starting Backup of VM 8 (lxc)",
            "ERROR: Backup of VM 8 failed - command 'rsync' failed: exit code 23",
            "INFO: Starting Backup of VM 9 (qemu)",
        ]
        assert read_job_log(log) == {7: OK, 8: FAILED, 9: UNKNOWN}

    def test_a_finish_without_a_start_credits_nobody(self) -> None:
        assert read_job_log(["INFO: Starting Backup of VM 101 (kvm)", "INFO: Finished Backup of VM 100"]) == {
            101: UNKNOWN
        }

    def test_a_failure_stands_whatever_else_the_log_says(self) -> None:
        log = ["ERROR: Backup of VM 8 failed - x", "INFO: Starting Backup of VM 8", "INFO: Finished Backup of VM 8"]
        assert read_job_log(log) == {8: FAILED}

    def test_real_logs_read_as_told(self, shared: Path) -> None:
        told = {}
        for line in (shared / "data/expected.jsonl").read_text().splitlines():
            entry = msgspec.json.decode(line)
            if entry["file"].startswith("vzdump_log/"):
                told[entry["file"]] = entry["expect"]["guests"]
        assert told
        for name, guests in told.items():
            lines = (shared / "data" / name).read_text().splitlines()
            assert {str(vmid): str(outcome) for vmid, outcome in read_job_log(lines).items()} == guests

    @given(st.lists(st.text()))
    def test_any_lines_can_be_read(self, lines: list[str]) -> None:
        read_job_log(lines)


@pytest.mark.parametrize(
    ("status", "vmid", "said", "outcome"),
    [
        ("OK", 7, {}, OK),
        ("WARNINGS: 1", 7, {7: FAILED}, FAILED),  # the line that names the guest wins
        ("job errors", 7, {7: OK, 8: FAILED}, OK),  # explained by another guest
        ("job errors", 7, {8: FAILED}, UNKNOWN),
        ("job errors", 7, {7: OK}, FAILED),  # explained by no guest
        ("OK", 7, {7: UNKNOWN}, UNKNOWN),  # started, never heard of again
        ("OK", 7, {8: UNKNOWN}, UNKNOWN),
        ("OK", 7, {7: OK}, OK),
        ("job errors", None, {8: FAILED}, UNKNOWN),  # told of the guest, not of the job as well
        ("job errors", None, {7: OK}, FAILED),
        ("OK", None, {7: OK}, OK),
    ],
)
def test_a_log_decides_between_the_guests_of_a_job(
    status: str, vmid: int | None, said: dict[int, Outcome], outcome: Outcome
) -> None:
    assert task_outcome(BackupTaskRow(status=status), "vzdump", vmid, said) is outcome


class TestUpid:
    def test_a_hypervisors_task_names_its_work_and_guest(self) -> None:
        upid = read_upid("UPID:node1:00000010:00000010:65000000:vzdump:100:root@pam:")
        assert upid == Upid("node1", "vzdump", "100")
        assert upid.vmid == 100

    def test_a_backup_servers_task_has_one_number_more_and_escapes_colons(self) -> None:
        upid = read_upid(r"UPID:pbs:000004D2:0000162E:00000003:65000000:backup:main\x3avm/100:root@pam:")
        assert upid == Upid("pbs", "backup", "main:vm/100")
        assert upid.vmid == 100

    def test_a_job_keeps_its_id_from_run_to_run(self) -> None:
        upid = read_upid(r"UPID:pbs:000004D2:0000162E:00000003:65000000:syncjob:remote\x3amain\x3as-1:root@pam:")
        assert upid is not None
        assert (upid.job, upid.vmid) == ("s-1", None)

    def test_a_job_over_many_guests_names_none(self) -> None:
        upid = read_upid("UPID:node1:00000010:00000010:65000000:vzdump::root@pam:")
        assert upid is not None
        assert (upid.job, upid.vmid) == ("", None)
        zero = read_upid("UPID:node1:00000010:00000010:65000000:vzdump:0:root@pam:")
        assert zero is not None
        assert zero.vmid is None

    @pytest.mark.parametrize("text", [None, 7, "", "U1", "UPID:sync:1", "UPID:n:1:2:3:vzdump:100"])
    def test_anything_else_is_none(self, text: object) -> None:
        assert read_upid(text) is None

    @given(st.one_of(st.text(), st.text().map(lambda end: "UPID:" + end)))
    def test_any_text_can_be_read(self, text: str) -> None:
        upid = read_upid(text)
        assert upid is None or upid.vmid is None or upid.vmid > 0
