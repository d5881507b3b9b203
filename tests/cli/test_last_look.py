"""A list of findings says when all was last looked at, so that an empty one is not taken for "all clear"."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from findings.model import Gap, GapReason, Sight, Topic
from patrol.__main__ import main
from patrol.cli.last_look import last_look_lines
from patrol.database import open_database
from patrol.records.looks import LastLook
from patrol.run.record_model import RunRecord, RunStatus, RunType
from patrol.run.store import RunStore
from patrol.settings.model import Settings
from tests.findings.builders import ORG

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
LOST = Gap(source="lab", topic=Topic.POOLS, detail="", reason=GapReason.UNREACHABLE, sight=Sight.LOST)
HOURLY = Settings()


def ended(status: RunStatus = RunStatus.HEALTHY, *, at: datetime = NOW, **more: Any) -> RunRecord:
    told = {"id": "run-1", "trigger_reason": "scheduled", "complete": status is RunStatus.HEALTHY, **more}
    begun = at - timedelta(minutes=1)
    return RunRecord(org_id=ORG, started_at=begun, completed_at=at, status=status, **told)


def lines(run: RunRecord | None, *, now: datetime = NOW, settings: Settings = HOURLY) -> tuple[bool, str]:
    look = LastLook(run=run, complete_at=NOW - timedelta(days=1), at=now)
    is_well, said = last_look_lines(look, settings)
    return is_well, "\n".join(said)


def test_a_look_that_saw_everything_is_told_as_such() -> None:
    assert lines(ended()) == (True, "Last full look: 2026-11-30 12:00:00Z, nothing was lost from sight")
    standing = Gap(source="lab", topic=Topic.SMART, detail="", reason=GapReason.NO_PERMISSION, sight=Sight.STANDING)
    assert lines(ended(RunStatus.CRITICAL, complete=True, gaps=(standing,)))[0]


def test_without_any_look_it_says_so() -> None:
    assert lines(None) == (False, "No full run has ended yet: nothing was looked at so far (patrol runs list)")


@pytest.mark.parametrize("status", [RunStatus.INCOMPLETE, RunStatus.CRITICAL])
def test_a_lost_source_is_named_whatever_else_was_found(status: RunStatus) -> None:
    is_well, said = lines(ended(status, gaps=(LOST,)))
    assert not is_well
    assert "The last full look was incomplete, 2026-11-30 12:00:00Z" in said
    assert "Lost from sight: lab (pools)" in said
    assert "Everything was last seen: 2026-11-29 12:00:00Z" in said
    assert "patrol runs show run-1" in said


def test_of_many_sources_the_first_are_named_and_the_others_counted() -> None:
    gaps = tuple(
        Gap(source=f"s{n}", topic=Topic.POOLS, detail="", reason=GapReason.UNREACHABLE, sight=Sight.LOST)
        for n in range(10)
    )
    assert "s7 (pools); and 2 more sources" in lines(ended(RunStatus.INCOMPLETE, gaps=gaps))[1]


@pytest.mark.parametrize(
    "status", [RunStatus.CRASHED, RunStatus.CANCELLED, RunStatus.TIMED_OUT, RunStatus.ERROR], ids=str
)
def test_a_run_that_failed_is_told_with_its_error(status: RunStatus) -> None:
    is_well, said = lines(ended(status, error_summary="no room"))
    assert not is_well
    assert f"The last full run failed ({status}), 2026-11-30 12:00:00Z: no room" in said


def test_findings_nobody_could_speak_of_are_counted() -> None:
    assert "Uncertain: 2 known findings" in lines(ended(RunStatus.INCOMPLETE, uncertain=2))[1]


@pytest.mark.parametrize(("passed", "is_late"), [(120, False), (121, True)])
def test_a_look_is_old_after_twice_the_interval(passed: int, *, is_late: bool) -> None:
    is_well, said = lines(ended(), now=NOW + timedelta(minutes=passed))
    assert (not is_well, "two were due (every 1h)" in said) == (is_late, is_late)


def test_a_look_by_cron_is_old_after_two_of_its_times() -> None:
    daily = Settings.model_validate({"patrol": {"cron": "0 6 * * *", "time_zone": "UTC"}})
    assert lines(ended(), now=NOW + timedelta(hours=42), settings=daily)[0]
    assert "at 0 6 * * * UTC" in lines(ended(), now=NOW + timedelta(hours=43), settings=daily)[1]


@pytest.fixture
def listed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., str]:
    """What `findings list` prints where these runs are recorded."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("PATROL_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    url = f"sqlite:///{tmp_path}/patrol.db"

    def run(*runs: RunRecord, options: tuple[str, ...] = ()) -> str:
        database = open_database(url)
        for each in runs:
            RunStore(database).record_unstarted(each)
        database.close()
        assert main(["findings", "list", "--storage", url, *options]) == 0
        return capsys.readouterr().out

    return run


def test_the_list_tells_of_the_newest_full_run_only(listed: Callable[..., str]) -> None:
    assert "No full run has ended yet" in listed()
    lost = ended(RunStatus.INCOMPLETE, gaps=(LOST,))
    scoped = ended(at=NOW + timedelta(minutes=5), id="run-2", type=RunType.SCOPED)
    skipped = ended(RunStatus.SKIPPED, at=NOW + timedelta(minutes=6), id="run-3")
    whole = ended(at=NOW - timedelta(hours=3), id="run-4")
    out = listed(lost, scoped, skipped, whole)
    assert out.startswith("No findings.\n")
    assert "Lost from sight: lab (pools)" in out
    assert "Everything was last seen: 2026-11-30 09:00:00Z" in out


def test_json_is_as_it_was(listed: Callable[..., str]) -> None:
    assert listed(options=("--json",)) == '{\n  "findings": []\n}\n'


def test_runs_are_listed_with_their_trigger_and_whether_they_were_full(
    capsys: pytest.CaptureFixture[str], listed: Callable[..., str], tmp_path: Path
) -> None:
    listed(ended(), ended(id="run-2", trigger_reason="alert_fired", type=RunType.SCOPED))
    assert main(["runs", "list", "--storage", f"sqlite:///{tmp_path}/patrol.db"]) == 0
    out = capsys.readouterr().out
    assert "scheduled full" in out
    assert "alert_fired scoped" in out
