import hashlib
import json
import sqlite3
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from findings.model import Gap, GapReason, Severity, Sight, Topic
from findings.storm import Storm
from patrol.database import open_database
from patrol.database.inserts import insert_or_replace, insert_unless_there
from patrol.estate.sources.model import Counter
from patrol.run.memory import SIGHT_STEP, ReadingKey, RunMemory
from patrol.run.record_model import ModelState, RunRecord, RunStatus, RunType
from patrol.run.rows import CALL_COLUMNS, RUN_COLUMNS, run_of, run_row
from patrol.run.store import RunEndedError, RunInProgressError, RunNotFoundError, RunStore
from patrol.run.tables import COUNTERS, EVIDENCE_PAGES, RUNS, TOOL_CALLS

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LEASE = timedelta(minutes=2)
HOST = "agent:local:web1"


@pytest.fixture
def database(any_database):
    return any_database


@pytest.fixture
def store(database):
    return RunStore(database)


def run(number=1, **changes) -> RunRecord:
    base = RunRecord(
        org_id="default",
        id=f"run-{number}",
        trigger_reason="scheduled",
        started_at=NOW + timedelta(minutes=number),
        lease_owner="web1:4711",
        lease_expires_at=NOW + timedelta(minutes=number) + LEASE,
    )
    return replace(base, **changes)


def ended(record: RunRecord, **changes) -> RunRecord:
    return replace(record, status=RunStatus.HEALTHY, completed_at=record.started_at, **changes)


def add_call(store, run_id="run-1", *, seq=1, output: str | bytes = '{"disks":[]}', **changes):
    values = {
        "call_id": f"call-{seq}",
        "tool_name": "pulse_storage",
        "input_json": '{"type":"disks"}',
        "success": True,
        "origin": "patrol",
        "started_at": NOW,
        "duration_seconds": 0.25,
    }
    return store.add_tool_call(run_id, seq=seq, output=output, **{**values, **changes})


# --- the life of a run


FULL = RunRecord(
    org_id="default",
    id="run-1",
    type=RunType.SCOPED,
    trigger_reason="alert_fired",
    status=RunStatus.INCOMPLETE,
    complete=True,
    model_state=ModelState.FAILED,
    started_at=NOW,
    completed_at=NOW + timedelta(seconds=9),
    lease_owner="web1:4711",
    lease_expires_at=NOW + LEASE,
    resources_checked=12,
    new_findings=1,
    existing_findings=2,
    regressed_findings=3,
    resolved_findings=4,
    error_summary="the model did not answer",
    gaps=(
        Gap(
            source="local",
            topic=Topic.SMART,
            reason=GapReason.NO_PERMISSION,
            detail="smartctl needs root",
            resource_id="disk:serial:S1",
            fix="sudo systemctl enable --now patrol-collect.timer",
            sight=Sight.LOST,
        ),
    ),
    checks_off=("no backup store is visible",),
    scope=(HOST,),
    alert_settings_source="/etc/pulse/alerts.json",
    alert_settings_hash="ab" * 32,
    storms=(Storm(resource_id="agent:lab:web", count=11, worst=Severity.CRITICAL, finding_ids=("f1", "f2")),),
    model="openai:gpt-5-mini",
    model_cause="provider_timeout",
    model_said="the model did not answer in time",
    analysis="Two disks are busy.",
    status_text="12 resources checked; 1 new.",
    uncertain=5,
    rejected_findings=6,
    input_tokens=70_000,
    output_tokens=800,
    cost_usd=0.25,
    cost_assumed=True,
    triage_flags=9,
    finding_id="f1",
)


def test_every_field_of_a_run_comes_back_as_it_went_in(store):
    for field in fields(RunRecord):
        assert getattr(FULL, field.name) not in (None, "", (), False), field.name
    store.record_unstarted(FULL)
    assert store.get("run-1") == FULL


def test_a_run_is_recorded_from_its_start(store):
    store.begin(run())
    found = store.get("run-1")
    assert (found.status, found.completed_at, found.resources_checked) == (RunStatus.RUNNING, None, None)
    assert found == run()


def test_a_run_ends_once_in_the_transaction_of_its_results(database, store):
    store.begin(run())
    done = ended(run(), resources_checked=3, new_findings=1)

    def fail():
        with database.write() as connection:
            store.finish(connection, done)
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    assert store.get("run-1").status is RunStatus.RUNNING
    store.end_early(done)
    assert store.get("run-1") == done
    with pytest.raises(RunEndedError):
        store.end_early(replace(done, status=RunStatus.ERROR))
    assert store.get("run-1") == done


@pytest.mark.parametrize("unfinished", [run(), run(status=RunStatus.HEALTHY), run(completed_at=NOW)])
def test_a_run_ends_with_a_status_and_a_time(store, unfinished):
    store.begin(run())
    with pytest.raises(ValueError, match="a status and a time"):
        store.end_early(unfinished)


def test_what_is_not_there_is_none_or_raises(store):
    assert store.find("run-1") is None
    with pytest.raises(RunNotFoundError):
        store.get("run-1")
    with pytest.raises(RunEndedError):
        store.end_early(ended(run()))
    with pytest.raises(RunEndedError):
        store.extend_lease("run-1", NOW)


def test_runs_are_listed_newest_first(store):
    for number in (1, 3, 2):
        store.record_unstarted(ended(run(number)))
    assert [each.id for each in store.list_runs()] == ["run-3", "run-2", "run-1"]
    assert [each.id for each in store.list_runs(limit=1)] == ["run-3"]


# --- lease and crash


def test_one_run_at_a_time_while_its_lease_lasts(store):
    store.begin(run(1))
    with pytest.raises(RunInProgressError, match="run run-1") as caught:
        store.begin(run(2))
    assert caught.value.run == run(1)
    store.begin(run(3))  # the lease of the first is over to the second


def test_an_extended_lease_keeps_others_out(store):
    store.begin(run(1))
    store.extend_lease("run-1", NOW + timedelta(hours=1))
    with pytest.raises(RunInProgressError):
        store.begin(run(3))


def test_a_run_without_a_lease_keeps_nobody_out(store):
    store.begin(run(1, lease_expires_at=None))
    store.begin(run(2))
    assert [each.id for each in store.close_crashed(NOW)] == ["run-1"]


def test_a_crashed_run_is_closed_with_its_tool_calls_and_cannot_write_any_more(store):
    store.begin(run(1))
    add_call(store)
    assert store.close_crashed(NOW) == []
    later = NOW + timedelta(minutes=1) + LEASE
    [crashed] = store.close_crashed(later)
    assert crashed == store.get("run-1")
    assert (crashed.status, crashed.completed_at, crashed.complete) == (RunStatus.CRASHED, later, False)
    assert crashed.error_summary
    assert len(store.tool_calls("run-1")) == 1
    assert store.close_crashed(later) == []
    with pytest.raises(RunEndedError):
        store.end_early(ended(run(1)))
    with pytest.raises(RunEndedError):
        store.extend_lease("run-1", later)


def test_a_run_survives_the_end_of_its_process_with_its_finished_calls(tmp_path):
    first = open_database(f"sqlite:///{tmp_path / 'patrol.db'}")
    RunStore(first).begin(run())
    call = add_call(RunStore(first))
    # No close, no end: what another process sees now is what a crash leaves behind.
    with sqlite3.connect(tmp_path / "patrol.db") as other:
        assert other.execute("SELECT count(*) FROM tool_call").fetchone() == (1,)
    other.close()
    second = open_database(f"sqlite:///{tmp_path / 'patrol.db'}")
    assert RunStore(second).tool_calls("run-1") == [call]
    second.close()
    first.close()


# --- tool calls and evidence


def test_a_tool_call_is_recorded_with_its_output(store):
    store.begin(run())
    output = json.dumps({"disks": [{"model": "Größe"}]}, ensure_ascii=False)
    call = add_call(store, output=output, success=False, origin="model")
    assert store.tool_calls("run-1") == [call]
    assert (call.success, call.origin, call.input) == (False, "model", '{"type":"disks"}')
    assert call.output_bytes == len(output.encode())
    assert call.output_sha256 == hashlib.sha256(output.encode()).hexdigest()
    assert store.find_page(call.output_sha256) == output.encode()


def test_calls_come_back_in_their_order(store):
    store.begin(run())
    for seq in (2, 10, 1):
        add_call(store, seq=seq, output=b"%d" % seq)
    assert [call.seq for call in store.tool_calls("run-1")] == [1, 2, 10]


def test_an_unchanged_output_is_stored_once_and_compressed(database, store):
    store.begin(run())
    output = json.dumps([{"health": "PASSED"}] * 1000)
    for seq in range(1, 6):
        add_call(store, seq=seq, output=output)
    with database.read() as connection:
        [size] = connection.execute(sa.select(sa.func.length(EVIDENCE_PAGES.c.data))).scalars()
    assert size < len(output) / 10


def test_an_output_that_was_deleted_is_missing_and_can_come_again(database, store):
    store.begin(run())
    call = add_call(store)
    with database.write() as connection:
        connection.execute(EVIDENCE_PAGES.delete())
    assert store.find_page(call.output_sha256) is None
    assert store.tool_calls("run-1") == [call]
    add_call(store, seq=2)
    assert store.find_page(call.output_sha256) == b'{"disks":[]}'


@pytest.mark.parametrize("call", [{"run_id": "unknown"}, {"seq": 1}])
def test_a_call_belongs_to_a_run_and_has_its_own_place(store, call):
    store.begin(run())
    add_call(store)
    with pytest.raises(sa.exc.IntegrityError):
        add_call(store, **{"seq": 2, **call})


def test_deleting_a_run_deletes_its_calls(database, store):
    store.begin(run())
    add_call(store)
    with database.write() as connection:
        connection.execute(RUNS.delete())
    assert store.tool_calls("run-1") == []


def test_an_output_that_is_no_text_of_unicode_is_kept_as_far_as_it_can_be(store):
    store.begin(run())
    call = add_call(store, output="half \ud800", input_json='"\ud800"', tool_name="nul \0")
    assert store.find_page(call.output_sha256) == b"half ?"
    assert store.tool_calls("run-1")[0].input == '"?"'


@given(st.binary(max_size=200))
def test_any_output_comes_back_byte_by_byte(output):
    database = open_database("sqlite://")
    store = RunStore(database)
    store.begin(run())
    assert store.find_page(add_call(store, output=output).output_sha256) == output
    database.close()


# --- organisations


def test_organisations_do_not_see_each_other(database, store):
    theirs = RunStore(database, "another")
    store.begin(run())
    theirs.begin(run(org_id="another"))  # the same id, and no lease in the way
    call = add_call(store)
    assert theirs.tool_calls("run-1") == []
    assert theirs.find_page(call.output_sha256) is None
    assert [each.org_id for each in theirs.close_crashed(NOW + timedelta(hours=1))] == ["another"]
    assert store.get("run-1").status is RunStatus.RUNNING
    assert [each.org_id for each in theirs.list_runs()] == ["another"]
    for refused in (store.begin, store.end_early, store.record_unstarted):
        with pytest.raises(ValueError, match="does not belong"):
            refused(run(org_id="another"))


# --- rows


def test_the_columns_are_the_fields():
    assert tuple(RUNS.columns.keys()) == RUN_COLUMNS
    assert set(TOOL_CALLS.columns.keys()) == {"org_id", *CALL_COLUMNS}


def test_a_name_that_no_database_takes_does_not_keep_a_run_from_being_recorded(store):
    odd = "half \ud800 nul \0"
    gap = Gap(source="local", topic=Topic.UNITS, reason=GapReason.FAILED, detail=odd, subject=odd)
    store.record_unstarted(run(gaps=(gap,), checks_off=(odd,), error_summary=odd))
    found = store.get("run-1")
    assert found.gaps[0].detail.startswith("half ? nul")
    assert found.gaps[0].topic is Topic.UNITS
    assert found.checks_off[0].startswith("half ?")


@given(
    st.builds(
        RunRecord,
        id=st.text("abc"),
        org_id=st.just("default"),
        trigger_reason=st.just("manual"),
        started_at=st.datetimes(timezones=st.just(UTC)),
        status=st.sampled_from(RunStatus),
        model_state=st.sampled_from(ModelState),
        checks_off=st.lists(st.text("aä\"'", max_size=5), max_size=3).map(tuple),
        resources_checked=st.none() | st.integers(0, 10**6),
    )
)
def test_any_run_survives_its_row(record):
    row = run_row(record)
    assert run_of([row[name] for name in RUN_COLUMNS]) == record


# --- memory


@pytest.fixture
def memory(database):
    with database.write() as connection:
        yield RunMemory(connection)


def test_counters_are_kept_for_the_next_run(memory):
    one, other = Counter(at=NOW, values={"idle": 1.0}), Counter(at=NOW, values={"idle": 2.5, "total": 9.0})
    memory.keep_counters({(HOST, "cpu"): one, (HOST, "swap"): one})
    memory.keep_counters({(HOST, "cpu"): other})
    memory.keep_counters({})
    assert memory.counters() == {(HOST, "cpu"): other, (HOST, "swap"): one}


def by_topic(*keys: ReadingKey) -> dict[tuple[str, Topic], list[str]]:
    found: dict[tuple[str, Topic], list[str]] = {}
    for source, topic, resource_id in keys:
        found.setdefault((source, topic), []).append(resource_id)
    return found


def test_what_was_read_is_remembered_and_what_never_was_is_missing(memory):
    read = [("local", Topic.SMART, "disk:serial:S1"), ("local", Topic.SMART, "")]
    memory.note_read(by_topic(*read), NOW)
    asked = [*read, ("local", Topic.SMART, "disk:serial:S2"), ("nas", Topic.SMART, ""), ("local", Topic.RAID, "")]
    assert memory.last_read(asked) == dict.fromkeys(read, NOW)
    assert memory.last_read([]) == {}


@pytest.mark.parametrize(
    ("after", "kept"),
    [
        (SIGHT_STEP - timedelta(seconds=1), timedelta(0)),
        (SIGHT_STEP, SIGHT_STEP),
        (timedelta(days=1), timedelta(days=1)),
        (timedelta(days=-1), timedelta(days=-1)),  # the clock went back: a time in the future is mended
    ],
)
def test_the_time_of_a_reading_is_kept_as_exactly_as_it_is_needed(memory, after, kept):
    reading = ("local", Topic.SMART, HOST)
    memory.note_read(by_topic(reading), NOW)
    memory.note_read(by_topic(reading), NOW + after)
    assert memory.last_read([reading]) == {reading: NOW + kept}


def test_many_readings_are_asked_for_in_portions(memory):
    readings = [("pve", Topic.CPU, f"vm:pve:{number}") for number in range(5203)]
    memory.note_read(by_topic(*readings), NOW)
    assert len(memory.last_read(readings)) == 5203


def test_the_last_good_alert_settings_are_remembered_with_the_time_they_came(memory):
    assert memory.alert_settings() is None
    first = memory.keep_alert_settings('{"enabled":true}', NOW)
    again = memory.keep_alert_settings('{"enabled":true}', NOW + timedelta(hours=1))
    assert first == again == memory.alert_settings()
    assert first.stored_at == NOW
    changed = memory.keep_alert_settings('{"enabled":false}', NOW + timedelta(hours=2))
    assert memory.alert_settings() == changed
    assert changed.sha256 == hashlib.sha256(changed.text.encode()).hexdigest()


def test_memories_of_organisations_are_apart(database):
    with database.write() as connection:
        ours, theirs = RunMemory(connection), RunMemory(connection, "another")
        ours.keep_counters({(HOST, "cpu"): Counter(at=NOW, values={})})
        ours.note_read(by_topic(("local", Topic.CPU, HOST)), NOW)
        ours.keep_alert_settings("{}", NOW)
        assert theirs.counters() == {}
        assert theirs.last_read([("local", Topic.CPU, HOST)]) == {}
        assert theirs.alert_settings() is None


# --- the other database


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_inserts_that_mind_known_rows_are_written_for_both_databases(dialect):
    module = pytest.importorskip(f"sqlalchemy.dialects.{dialect}")
    replacing = str(insert_or_replace(dialect, COUNTERS, ("at", "counts")).compile(dialect=module.dialect()))
    keeping = str(insert_unless_there(dialect, COUNTERS).compile(dialect=module.dialect()))
    assert "ON CONFLICT (org_id, resource_id, name) DO UPDATE SET" in replacing
    assert "ON CONFLICT (org_id, resource_id, name) DO NOTHING" in keeping
