"""What a run promises: faults are filed, only what was seen clear is closed, blindness is told, all is recorded."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from findings.kinds import Kind
from findings.model import FindingState, GapReason, Look, ResolveReason, Severity, Topic
from findings.store import FindingStore
from patrol.estate.model import Alert, Estate, Resource, ResourceType, Status
from patrol.run import RunRequest, ScopeError
from patrol.run.record_model import ModelState, RunStatus, RunType
from patrol.run.store import RunInProgressError, RunStore
from patrol.settings.model import Settings
from signals.alert_settings import AlertSettingsError
from signals.backup_evidence import PbsBackupRow
from signals.evidence import BackupStore
from tests.run.builders import HOST, NOW, House, disk, estate, gap, host


def limits_from(house: House, file: Path) -> Settings:
    alerts = house.settings.alerts.model_copy(update={"file": str(file)})
    return house.settings.model_copy(update={"alerts": alerts})


def stored(house: House) -> dict[tuple[str, str], FindingState]:
    with house.database.read() as connection:
        found = FindingStore(connection, "default").list_findings()
    return {(finding.kind, finding.subject): finding.state for finding in found}


def test_a_healthy_estate_is_all_clear(house: House) -> None:
    report = house.run(estate(host(), disk()))
    assert report.run.status is RunStatus.HEALTHY
    assert report.run.complete
    assert report.run.model_state is ModelState.NONE
    assert "all clear" in report.status_text
    assert report.findings == []
    assert report.looks[Look.PRESENT] == 0 < report.looks[Look.CLEAR]


@pytest.mark.parametrize(
    ("later", "old"),
    [
        (timedelta(minutes=58), ""),
        (timedelta(minutes=59), "1 h"),
        (timedelta(hours=46, minutes=59), "47 h"),
        (timedelta(days=2), "2 days"),
    ],
)
def test_a_document_of_the_past_is_told_with_its_age(house: House, later: timedelta, old: str) -> None:
    read = estate(host())
    house.clock.now += later
    notes = house.run(read).notes  # a minute later still
    assert [*notes] == (
        [f"Judged as of {NOW:%Y-%m-%d %H:%M} UTC, when the document was collected: {old} before this run."]
        if old
        else []
    )


def test_a_fault_is_filed_with_value_limit_and_where_the_limit_came_from(house: House) -> None:
    report = house.run(estate(host(usage=96.5)))
    (finding,) = report.findings
    assert (finding.kind, finding.resource_id, finding.subject) == (Kind.HIGH_DISK, HOST, "/")
    assert (finding.severity, finding.value, finding.limit) == (Severity.CRITICAL, 96.5, 75)
    assert "built-in" in finding.limit_source
    assert '"mountpoint":"/"' in finding.evidence
    assert report.run.status is RunStatus.CRITICAL
    assert report.run.new_findings == 1
    assert "all clear" not in report.status_text


def test_a_warning_makes_issues_found(house: House) -> None:
    assert house.run(estate(host(units=["nginx.service"]))).run.status is RunStatus.ISSUES_FOUND


def test_a_finding_closes_when_it_is_seen_clear(house: House) -> None:
    house.run(estate(host(usage=80)))
    report = house.run(estate(host(usage=40)))
    assert stored(house) == {(Kind.HIGH_DISK, "/"): FindingState.RESOLVED}
    assert report.run.resolved_findings == 1
    assert report.run.status is RunStatus.HEALTHY


def test_a_value_between_clear_and_trigger_opens_nothing_and_closes_nothing(house: House) -> None:
    assert house.run(estate(host(usage=72))).findings == []
    house.run(estate(host(usage=80)))
    (finding,) = house.run(estate(host(usage=72))).findings
    assert finding.is_open


@pytest.mark.parametrize(
    "blind",
    [
        estate(host(usage=None), gaps=[gap(Topic.FILESYSTEMS, HOST)]),
        estate(host(usage=None)),
        estate(gaps=[gap(Topic.INVENTORY)], connected=False),
        estate(),
        RuntimeError("a bug in the source"),
    ],
    ids=["topic failed", "section missing", "source down", "nothing returned", "source crashed"],
)
def test_no_failure_to_see_ever_closes_a_finding(house: House, blind: object) -> None:
    house.run(estate(host(usage=80)))
    report = house.run(blind)  # type: ignore[arg-type]
    assert [finding.kind for finding in report.findings if finding.kind == Kind.HIGH_DISK] == [Kind.HIGH_DISK]
    assert stored(house)[Kind.HIGH_DISK, "/"] is FindingState.OPEN
    assert report.run.resolved_findings == 0


def test_a_fault_on_one_host_is_seen_while_another_source_is_blind(house: House) -> None:
    report = house.run(estate(host(usage=99), disk(None, read=False), gaps=[gap(Topic.SMART, "disk:serial:S1")]))
    assert [finding.kind for finding in report.findings] == [Kind.HIGH_DISK]


def test_what_was_read_before_and_now_cannot_be_is_lost(house: House) -> None:
    assert house.run(estate(host(), disk())).run.complete
    report = house.run(estate(host(), disk(None, read=False), gaps=[gap(Topic.SMART, "disk:serial:S1")]))
    assert report.run.status is RunStatus.INCOMPLETE
    assert not report.run.complete
    assert "lost from sight" in report.status_text


def test_what_was_never_readable_stands_and_disturbs_nothing(house: House) -> None:
    never = estate(host(), disk(None, read=False), gaps=[gap(Topic.SMART, "disk:serial:S1", GapReason.NO_PERMISSION)])
    for _ in range(2):
        assert house.run(never).run.status is RunStatus.HEALTHY


def test_a_source_that_stays_blind_is_a_finding_and_a_complete_read_clears_it(house: House) -> None:
    down = estate(gaps=[gap(Topic.INVENTORY)], connected=False)
    assert house.run(down).findings == []
    (finding,) = house.run(down).findings
    assert (finding.kind, finding.severity, finding.resource_name) == (Kind.SOURCE_BLIND, Severity.WARNING, "local")
    house.clock.advance(hours=25)
    assert house.run(down).findings[0].severity is Severity.CRITICAL
    assert house.run(estate(host())).findings == []
    assert stored(house)[Kind.SOURCE_BLIND, ""] is FindingState.RESOLVED
    assert house.run(down).findings == []  # blind anew: counted from here


def test_a_disk_that_failed_must_pass_twice(house: House) -> None:
    house.run(estate(host(), disk("FAILED")))
    assert len(house.run(estate(host(), disk())).findings) == 1
    assert house.run(estate(host(), disk())).findings == []


def test_what_comes_back_is_a_regression_of_the_same_finding(house: House) -> None:
    for usage in (80, 40, 81):
        report = house.run(estate(host(usage=usage)))
    (finding,) = report.findings
    assert (finding.regression_count, finding.value, report.run.regressed_findings) == (1, 81, 1)


def test_a_check_that_is_switched_off_closes_its_findings(house: House, tmp_path: Path) -> None:
    house.run(estate(host(usage=80)))
    file = tmp_path / "alerts.json"
    file.write_text('{"agentDefaults": {"disk": {"trigger": 0, "clear": 0}}}')
    house.settings = limits_from(house, file)
    report = house.run(estate(host(usage=80)))
    assert (report.findings, report.run.status) == ([], RunStatus.HEALTHY)
    assert "uncertain" not in report.status_text  # nobody had to look: the operator's word decides
    with house.database.read() as connection:
        (finding,) = FindingStore(connection, "default").list_findings()
    assert finding.resolve_reason is ResolveReason.CHECK_OFF


def test_a_scoped_run_says_nothing_about_the_rest(house: House) -> None:
    both = estate(host(usage=80), host(usage=80, name="hostb"))
    report = house.run(both, request=RunRequest(scope=("hostb",)))
    assert [finding.resource_name for finding in report.findings] == ["hostb"]
    assert (report.run.type, report.run.scope) == (RunType.SCOPED, ("agent:local:hostb",))
    house.run(estate(host(usage=80), host(usage=40, name="hostb")), request=RunRequest(scope=("hosta",)))
    with house.database.read() as connection:
        open_now = FindingStore(connection, "default").list_findings(state=FindingState.OPEN)
    assert sorted(finding.resource_name for finding in open_now) == ["hosta", "hostb"]


def test_a_scope_includes_what_lives_on_the_resource(house: House) -> None:
    report = house.run(estate(host(), disk("FAILED")), request=RunRequest(scope=("hosta",)))
    assert [finding.kind for finding in report.findings] == [Kind.SMART_FAILURE]


def test_an_unknown_scope_is_refused_and_the_run_is_recorded(house: House) -> None:
    with pytest.raises(ScopeError, match="no resource is called nobody"):
        house.run(estate(host()), request=RunRequest(scope=("nobody",)))
    (run,) = RunStore(house.database).list_runs()
    assert run.status is RunStatus.ERROR
    assert "nobody" in run.error_summary


def test_a_run_that_is_stopped_is_recorded_as_cancelled(house: House) -> None:
    class Stopped(KeyboardInterrupt): ...

    def stop(stage: str, _detail: str) -> None:
        if stage == "detect":
            raise Stopped

    house.progress = stop
    with pytest.raises(Stopped):
        house.run(estate(host()))
    (run,) = RunStore(house.database).list_runs()
    assert run.status is RunStatus.CANCELLED


def test_tool_calls_are_kept_with_their_pages(house: House) -> None:
    report = house.run(estate(host(usage=80)))
    runs = RunStore(house.database)
    calls = runs.tool_calls(report.run.id)
    assert [call.seq for call in calls] == list(range(1, len(calls) + 1))
    assert {call.origin for call in calls} == {"patrol"}
    pages = [runs.find_page(call.output_sha256) for call in calls]
    assert all(page is not None and len(page) == call.output_bytes for page, call in zip(pages, calls, strict=True))
    assert any(b'"mountpoint":"/"' in (page or b"") for page in pages)


def test_a_crashed_run_is_closed_by_the_next_one_when_its_lease_is_over(house: House) -> None:
    store = RunStore(house.database)
    first = house.run(estate(host())).run
    with house.database.write() as connection:
        connection.exec_driver_sql("UPDATE run SET status = 'running', completed_at = NULL")
    house.clock.now = first.started_at - timedelta(seconds=50)
    with pytest.raises(RunInProgressError):
        house.run(estate(host()))
    house.clock.advance(minutes=5)
    house.run(estate(host()))
    assert [run.status for run in store.list_runs()] == [RunStatus.HEALTHY, RunStatus.CRASHED]


def test_a_model_less_run_says_so(house: House) -> None:
    house.run(estate(host()))
    assert ("analyse", "no model is called: the checks run alone") in house.said
    assert [stage for stage, _ in house.said][:2] == ["collect", "triage"]


def test_a_broken_alert_file_leaves_the_last_good_limits_in_force_and_says_so(house: House, tmp_path: Path) -> None:
    file = tmp_path / "alerts.json"
    file.write_text('{"agentDefaults": {"disk": {"trigger": 90, "clear": 85}}, "diskFillByType": {}}')
    house.settings = limits_from(house, file)
    assert house.run(estate(host(usage=80))).notes == []
    file.write_text("{broken")
    report = house.run(estate(host(usage=91)))
    assert [finding.limit for finding in report.findings] == [90]
    assert "last good" in report.run.alert_settings_source
    assert str(file) in report.notes[0]


def test_a_broken_alert_file_that_was_never_good_stops_the_run_before_it_begins(house: House, tmp_path: Path) -> None:
    file = tmp_path / "alerts.json"
    file.write_text('{"guestDefaults": {"cpu": {"trigger": "much"}}}')
    house.settings = limits_from(house, file)
    with pytest.raises(AlertSettingsError, match=r"guestDefaults\.cpu\.trigger"):
        house.run(estate(host()))
    assert RunStore(house.database).list_runs() == []


def test_a_document_is_judged_by_its_own_time(house: House) -> None:
    def guest_backed_up(hours_before: float, collected: datetime) -> Estate:
        backup = PbsBackupRow(
            vmid=101, instance="lab", backup_time=(collected - timedelta(hours=hours_before)).isoformat()
        )
        found = estate(Resource(id="vm:lab:101", type=ResourceType.VM, vmid=101, instance="lab", status=Status.RUNNING))
        found.collected_at = collected
        found.pbs_backups = [backup]
        found.backup_stores = [BackupStore(id="storage:lab:pbs")]
        return found

    long_ago = house.clock.now - timedelta(days=90)
    assert house.run(guest_backed_up(20, long_ago)).findings == []
    assert [each.kind for each in house.run(guest_backed_up(50, long_ago)).findings] == [Kind.BACKUP_STALE]


def test_a_run_about_an_alert_is_about_its_resource(house: House) -> None:
    both = estate(host(usage=80), host(usage=80, name="hostb"))
    both.alerts = [Alert(id="a1", resource_id="hostb", type="disk")]
    report = house.run(both, request=RunRequest(alert_id="a1", alert_type="disk"))
    assert [finding.resource_name for finding in report.findings] == ["hostb"]
    assert report.run.type is RunType.SCOPED


@pytest.mark.parametrize(("alert_id", "alert_type"), [("a2", ""), ("a1", "cpu")])
def test_an_alert_that_nobody_knows_never_becomes_a_run_over_everything(
    house: House, alert_id: str, alert_type: str
) -> None:
    known = estate(host(usage=80))
    known.alerts = [Alert(id="a1", resource_id=HOST, type="disk")]
    with pytest.raises(ScopeError, match=f"the alert {alert_id}"):
        house.run(known, request=RunRequest(alert_id=alert_id, alert_type=alert_type))
    assert stored(house) == {}
