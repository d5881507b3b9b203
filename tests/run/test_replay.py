"""What a replay promises: the same statements byte for byte, or exactly what differs, or why it cannot tell."""

import hashlib
import zlib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from msgspec import structs

from findings.kinds import Kind
from findings.model import Topic
from patrol.database import Database, open_database
from patrol.estate.model import Estate, Resource
from patrol.run.analyst import ModelWork, NoAnalyst, Situation
from patrol.run.evidence import DetectionStore, output_page, recorded_call
from patrol.run.record_model import RunStatus, ToolCallRecord
from patrol.run.replay import Difference, Replay, ReplayOutcome, differences, replay
from patrol.run.request import RunRequest
from patrol.run.store import RunNotFoundError, RunStore
from patrol.run.sweep import sweep
from patrol.run.tables import DETECTIONS, EVIDENCE_PAGES
from patrol.tools import registry
from signals.detect import detect
from signals.model import Origin, ToolCall
from signals.thresholds import AlertThresholds
from tests.run.builders import HOST, NOW, GivenSource, House, Joins, disk, estate, gap, host


def replayed(house: House, run_id: str) -> Replay:
    return replay(house.database, run_id)


def change(database: Database, statement: str) -> None:
    with database.write() as connection:
        connection.exec_driver_sql(statement)


def test_a_run_is_detected_again_byte_for_byte(house: House) -> None:
    report = house.run(estate(host(usage=96.5, units=["nginx.service"]), disk("FAILED")))
    answer = replayed(house, report.run.id)
    assert answer.outcome is ReplayOutcome.IDENTICAL
    assert answer.signals == len(report.signals) == 3
    assert answer.looks
    assert (answer.differences, answer.reason) == ((), "")


def test_what_later_runs_and_the_settings_of_today_say_does_not_matter(house: House, tmp_path: Path) -> None:
    first = house.run(estate(host(usage=80)))
    file = tmp_path / "alerts.json"
    file.write_text('{"agentDefaults": {"disk": {"trigger": 99, "clear": 98}}, "diskFillByType": {}}')
    alerts = house.settings.alerts.model_copy(update={"file": str(file)})
    house.settings = house.settings.model_copy(update={"alerts": alerts})
    second = house.run(estate(host(usage=80)))
    house.clock.advance(days=1)
    for report, count in ((first, 1), (second, 0)):
        answer = replayed(house, report.run.id)
        assert (answer.outcome, answer.signals) == (ReplayOutcome.IDENTICAL, count)


@pytest.mark.parametrize(
    "text",
    [
        '{"agentDefaults": {"disk": {"trigger": 60, "clear": 55}}, "diskFillByType": {}}',
        '{"hostDefaults": {"disk": {"trigger": 60}}, "unknownKey": "\\ud800"}',
        "{}",
        '\ufeff{"enabled": false}',
    ],
    ids=["present form", "former names of keys", "nothing", "a mark of its encoding"],
)
def test_alert_settings_are_kept_as_they_were_written(house: House, tmp_path: Path, text: str) -> None:
    file = tmp_path / "alerts.json"
    file.write_text(text, encoding="utf-8")
    alerts = house.settings.alerts.model_copy(update={"file": str(file)})
    house.settings = house.settings.model_copy(update={"alerts": alerts})
    report = house.run(estate(host(usage=80), disk("FAILED")))
    file.write_text("{broken")
    last_good = house.run(estate(host(usage=81)))
    assert "last good" in last_good.run.alert_settings_source
    assert ". Until then the settings of " in last_good.notes[0]
    for run in (report.run, last_good.run):
        assert replayed(house, run.id).outcome is ReplayOutcome.IDENTICAL


def test_options_of_the_limits_are_kept(house: House) -> None:
    patrol = house.settings.patrol.model_copy(update={"proactive": True, "backup_stale": timedelta(hours=7)})
    house.settings = house.settings.model_copy(update={"patrol": patrol})
    report = house.run(estate(host()))
    recorded = DetectionStore(house.database).find(report.run.id)
    assert recorded is not None
    assert msgspec.json.decode(recorded.options) == {
        "source": "built-in",
        "proactive": True,
        "backup_stale_hours": 7.0,
    }
    assert recorded.version


def test_a_document_is_judged_again_by_its_own_time(house: House) -> None:
    old = estate(host(usage=80))
    old.collected_at = NOW - timedelta(days=2)
    report = house.run(old)
    recorded = DetectionStore(house.database).find(report.run.id)
    assert recorded is not None
    assert recorded.now == NOW - timedelta(days=2)
    assert replayed(house, report.run.id).outcome is ReplayOutcome.IDENTICAL


class Recorder(NoAnalyst):
    """A model that made these calls."""

    def __init__(self, *calls: ToolCall) -> None:
        super().__init__()
        self._calls = calls

    def analyse(self, situation: Situation) -> ModelWork:
        return ModelWork(tool_calls=[situation.record(call, 0.5) for call in self._calls])


POOLS = '{"pools": [{"id": "tank", "node": "hosta", "usage_percent": 97}]}'


@pytest.mark.parametrize("output", [POOLS, POOLS.encode(), f"Here it is:\n{POOLS}", POOLS[:-3], None, "", "nothing"])
def test_calls_of_a_model_are_part_of_the_recording(house: House, output: str | bytes | None) -> None:
    call = ToolCall(id="call_1", tool_name="pulse_storage", input='{"type": "pools"}', output=output)
    patrol = replace(house.patrol(GivenSource([estate(host(usage=80))])), analysts=Joins(Recorder(call)))
    report = patrol.run(RunRequest())
    calls = RunStore(house.database).tool_calls(report.run.id)
    assert (calls[0].id, calls[0].origin) == ("call_1", Origin.MODEL)
    assert [call.seq for call in calls] == list(range(1, len(calls) + 1))
    answer = replayed(house, report.run.id)
    assert (answer.outcome, answer.signals) == (ReplayOutcome.IDENTICAL, len(report.signals))


def test_half_a_character_in_a_name_ends_no_run_and_makes_no_difference(house: House) -> None:
    named = host(usage=80)
    assert named.filesystems
    named.filesystems[0].mountpoint = "/mnt/\udcff"
    report = house.run(estate(named))
    assert [finding.subject for finding in report.findings] == ["/mnt/?"]
    assert replayed(house, report.run.id).outcome is ReplayOutcome.IDENTICAL


# --- what differs -------------------------------------------------------------------------------------------------


def edit_page(house: House, sha256: str, old: bytes, new: bytes) -> None:
    """As if another version of the detectors had said something else then."""
    content = RunStore(house.database).find_page(sha256)
    assert content is not None
    assert old in content
    content = content.replace(old, new)
    name = hashlib.sha256(content).hexdigest()
    with house.database.write() as connection:
        page = {"org_id": "default", "sha256": name, "stored_at": NOW, "data": zlib.compress(content)}
        connection.execute(EVIDENCE_PAGES.insert(), page)
        for column in ("signals_sha256", "looks_sha256"):
            statement = DETECTIONS.update().where(DETECTIONS.c[column] == sha256).values({column: name})
            connection.execute(statement)


def test_a_changed_signal_is_told_field_by_field(house: House) -> None:
    report = house.run(estate(host(usage=96.5)))
    recorded = DetectionStore(house.database).find(report.run.id)
    assert recorded is not None
    edit_page(house, recorded.signals_sha256, b'"critical"', b'"warning"')
    answer = replayed(house, report.run.id)
    assert answer.outcome is ReplayOutcome.DIFFERENT
    (found,) = answer.differences
    assert (found.what, found.change, found.kind, found.resource_id, found.subject) == (
        "signal",
        "changed",
        Kind.HIGH_DISK,
        HOST,
        "/",
    )
    assert [(each.field, each.recorded, each.replayed) for each in found.fields] == [
        ("severity", "warning", "critical")
    ]


def test_a_changed_look_is_told(house: House) -> None:
    report = house.run(estate(host(usage=40)))
    recorded = DetectionStore(house.database).find(report.run.id)
    assert recorded is not None
    edit_page(
        house,
        recorded.looks_sha256,
        b'["high_memory","agent:local:hosta","","clear",',
        b'["high_memory","agent:local:hosta","","held",',
    )
    (found,) = replayed(house, report.run.id).differences
    assert (found.what, found.change, found.fields[0].recorded, found.fields[0].replayed) == (
        "look",
        "changed",
        "held",
        "clear",
    )


def test_added_and_missing_are_told_apart() -> None:
    one, other = ("high_cpu", "vm:a:1", ""), ("high_cpu", "vm:a:2", "")
    found = list(differences("signal", {one: {"value": 1}}, {other: {"value": 1}}))
    assert found == [
        Difference(what="signal", change="missing", kind="high_cpu", resource_id="vm:a:1", subject=""),
        Difference(what="signal", change="added", kind="high_cpu", resource_id="vm:a:2", subject=""),
    ]


# --- what cannot be told ----------------------------------------------------------------------------------------------


def test_a_crashed_run_is_detected_again_and_has_nothing_to_compare_with(house: House) -> None:
    class PowerLossError(BaseException): ...

    def stop(stage: str, detail: str) -> None:
        del detail
        if stage == "detect":
            raise PowerLossError

    house.progress = stop
    with pytest.raises(PowerLossError):
        house.run(estate(host(usage=96)))
    change(house.database, f"UPDATE run SET status = '{RunStatus.CRASHED}'")
    (run,) = RunStore(house.database).list_runs()
    answer = replayed(house, run.id)
    assert (answer.outcome, answer.signals) == (ReplayOutcome.UNCOMPARED, 1)
    assert "nothing to compare" in answer.reason


def test_a_run_that_ended_before_it_detected_cannot_be_replayed(house: House) -> None:
    class StoppedError(BaseException): ...

    def stop(stage: str, detail: str) -> None:
        del detail
        if stage == "triage":
            raise StoppedError

    house.progress = stop
    with pytest.raises(StoppedError):
        house.run(estate(host(usage=96)))
    (run,) = RunStore(house.database).list_runs()
    answer = replayed(house, run.id)
    assert (answer.outcome, answer.signals) == (ReplayOutcome.IMPOSSIBLE, None)
    assert "not recorded" in answer.reason


def test_an_unknown_run_is_an_error(house: House) -> None:
    with pytest.raises(RunNotFoundError):
        replayed(house, "nobody")


def test_a_run_under_way_is_not_replayed(house: House) -> None:
    report = house.run(estate(host()))
    change(house.database, "UPDATE run SET status = 'running'")
    assert replayed(house, report.run.id).reason == "the run is under way"


@pytest.mark.parametrize("which", ["output_sha256", "signals_sha256", "looks_sha256"])
def test_one_missing_page_is_enough_to_say_expired(house: House, which: str) -> None:
    report = house.run(estate(host(usage=80)))
    table = "tool_call" if which == "output_sha256" else "detection"
    change(house.database, f"DELETE FROM evidence_page WHERE sha256 = (SELECT max({which}) FROM {table})")
    answer = replayed(house, report.run.id)
    assert (answer.outcome, answer.signals) == (ReplayOutcome.EXPIRED, None)
    assert "evidence expired" in answer.reason


@pytest.mark.parametrize("data", [b"no page at all", b"x\x9c\x03\x00\x00\x00\x00\x01"], ids=["torn", "another page"])
def test_a_damaged_page_is_never_taken_for_evidence(house: House, data: bytes) -> None:
    report = house.run(estate(host(usage=80)))
    with house.database.write() as connection:
        connection.execute(EVIDENCE_PAGES.update().values(data=data))
    answer = replayed(house, report.run.id)
    assert answer.outcome is ReplayOutcome.IMPOSSIBLE
    assert "damaged" in answer.reason


def test_options_or_settings_that_this_version_does_not_take_are_told(house: House, tmp_path: Path) -> None:
    report = house.run(estate(host(usage=80)))
    change(house.database, "UPDATE detection SET options = '{\"source\": 1}'")
    answer = replayed(house, report.run.id)
    assert (answer.outcome, "cannot be read" in answer.reason) == (ReplayOutcome.IMPOSSIBLE, True)


# --- over everything -----------------------------------------------------------------------------------------------

percent = st.one_of(st.none(), st.floats(0, 120), st.integers(0, 100))
word = st.text(min_size=1, max_size=12)
hosts = st.builds(
    host,
    percent,
    units=st.one_of(st.none(), st.lists(word, max_size=3)),
    memory=percent,
    name=st.sampled_from(["hosta", "hostb", "hostc"]),
)
disks = st.builds(
    disk,
    st.one_of(st.none(), st.sampled_from(["PASSED", "FAILED", "UNKNOWN", ""]), word),
    pending=st.one_of(st.none(), st.floats(0, 1e6)),
    serial=st.sampled_from(["S1", "S2", "S3"]),
    read=st.booleans(),
)
gaps = st.lists(st.builds(gap, st.sampled_from(Topic), st.sampled_from([None, HOST, "disk:serial:S1"])), max_size=3)


def _one_each(resources: Sequence[Resource]) -> list[Resource]:
    return list({each.id: each for each in resources}.values())


estates = st.builds(
    lambda resources, gaps: estate(*_one_each(resources), gaps=gaps),
    st.lists(st.one_of(hosts, disks), max_size=6),
    gaps,
)


@given(st.lists(estates, min_size=1, max_size=4))
@hypothesis_settings(max_examples=25)
def test_every_run_over_any_estate_is_replayed_identically(series: list[Estate]) -> None:
    with closing(open_database("sqlite://")) as database:
        house = House(database)
        ran = [house.run(each).run.id for each in series]
        assert {replay(database, run_id).outcome for run_id in ran} == {ReplayOutcome.IDENTICAL}


@given(estates)
def test_structs_and_their_text_are_the_same_evidence(seen: Estate) -> None:
    calls = list(sweep(registry.Toolbox(seen, NOW), "run-1"))
    read_back = [_read_back(call) for call in calls]
    one, other = (detect(given, AlertThresholds(None), NOW) for given in (calls, read_back))
    # The evidence is text, in which 81 and 81.0 are two things.
    assert [structs.replace(each, evidence="") for each in one.signals] == [
        structs.replace(each, evidence="") for each in other.signals
    ]
    assert list(one.examined) == list(other.examined)


def _read_back(call: ToolCall) -> ToolCall:
    page = output_page(call.output)
    record = ToolCallRecord(
        run_id="run-1",
        seq=1,
        id=call.id,
        tool_name=call.tool_name,
        input=msgspec.json.encode(call.input).decode(),
        success=call.success,
        origin=call.origin,
        started_at=NOW,
        duration_seconds=0,
        output_bytes=len(page),
        output_sha256="",
    )
    return recorded_call(record, page)
