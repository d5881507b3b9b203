"""Jobs of a backup server: free text that is neither OK nor WARNINGS nor empty is a failure."""

from pathlib import Path

import msgspec
import pytest

from findings.kinds import Kind
from findings.model import Look, Severity
from signals.backup_evidence import PbsJobRow, PbsJobsOutput
from signals.backups import BackupJobDetector
from signals.detector import Notes
from signals.evidence import InventoryRow
from signals.model import Origin

from .backup_pages import NO_ANSWER, look, page, recorded, run, signals, world

SERVER = "pbs:pbs1:pbs1"


def judge(*jobs: PbsJobRow, origin: Origin = Origin.PATROL, filters: tuple[tuple[str, str], ...] = ()) -> Notes:
    output = PbsJobsOutput(instance="pbs1", jobs=list(jobs), complete=True)
    inventory = world(InventoryRow(id=SERVER, type="pbs", name="pbs1"))
    return run(BackupJobDetector, page(output, origin=origin, filters=filters), inventory=inventory)


@pytest.mark.parametrize(
    ("work", "status", "answer"),
    [
        ("sync", "permission check failed.", Look.PRESENT),
        ("verify", "read failed - ESTALE: Stale file handle", Look.PRESENT),
        ("garbage", "OK", Look.CLEAR),
        ("verify", "WARNINGS: 3", Look.CLEAR),
        ("sync", "WARNINGS: 3", Look.PRESENT),
        ("prune", "", Look.BLIND),
        ("prune", None, Look.BLIND),
        ("prune", "running", Look.BLIND),
        ("backup", "unknown", Look.BLIND),
    ],
)
def test_the_state_of_the_last_run_decides(work: str, status: str | None, answer: Look) -> None:
    notes = judge(PbsJobRow(id="j1", type=work, store="main", status=status, error=""))
    assert look(notes, Kind.BACKUP_FAILED, SERVER, "j1") is answer
    assert bool(notes.signals) == (answer is Look.PRESENT)


def test_the_signal_names_job_store_and_reason() -> None:
    signal = signals(judge(PbsJobRow(id="s-1", type="sync", store="main", status="error", error="timeout\n")))
    assert signal[f"{SERVER}/s-1"].summary == "The sync job s-1 on main failed: timeout"
    assert signal[f"{SERVER}/s-1"].severity is Severity.WARNING


def test_a_job_without_id_is_known_by_work_and_store() -> None:
    notes = judge(PbsJobRow(type="garbage", store="main", status="failed"), PbsJobRow(status="failed"))
    assert set(signals(notes)) == {f"{SERVER}/garbage main", f"{SERVER}/unnamed"}
    assert signals(notes)[f"{SERVER}/unnamed"].summary == "The backup job unnamed failed: failed"


def test_jobs_lie_on_the_resource_that_the_tool_names() -> None:
    jobs = [
        PbsJobRow(id="a", status="bad", resource_id="storage:pbs1:main"),
        PbsJobRow(id="b", status="bad", instance="pbs2"),
    ]
    assert set(signals(judge(*jobs))) == {"storage:pbs1:main/a", "pbs2/b"}
    nameless = PbsJobsOutput(jobs=[PbsJobRow(id="c", status="bad", store="main"), PbsJobRow(id="d", status="bad")])
    assert set(signals(run(BackupJobDetector, recorded(nameless)))) == {"main/c", "backup/d"}


class TestAJobThatIsGone:
    def test_is_over_once_the_whole_list_was_read(self) -> None:
        for jobs in ([PbsJobRow(id="j1", status="ok")], []):
            assert look(judge(*jobs), Kind.BACKUP_FAILED, SERVER, "removed") is Look.CLEAR

    def test_is_not_over_for_a_model_or_in_a_part_of_the_list(self) -> None:
        assert look(judge(origin=Origin.MODEL), Kind.BACKUP_FAILED, SERVER, "removed") == NO_ANSWER
        assert look(judge(filters=(("job_type", "'sync'"),)), Kind.BACKUP_FAILED, SERVER, "removed") == NO_ANSWER
        assert look(judge(filters=(("instance", "'pbs1'"),)), Kind.BACKUP_FAILED, SERVER, "removed") is Look.CLEAR


def test_a_recorded_list_reads_as_it_stands(shared: Path) -> None:
    output = msgspec.json.decode((shared / "data/pulse/pbs_jobs.json").read_bytes(), type=PbsJobsOutput)
    found = signals(run(BackupJobDetector, recorded(output)))
    assert list(found) == ["pbs-minipc/j2"]
    assert found["pbs-minipc/j2"].summary == "The backup job j2 on datastore1 failed: timeout"
