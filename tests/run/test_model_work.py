"""What is stored of a model's work: kept at once or with its run, found by run and by finding, gone with its run."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from findings.lifecycle import advance
from findings.model import Verdict
from findings.store import FindingStore
from patrol.agent.budget import Cap, Limits, Spent, Window, month_start
from patrol.agent.charge import Charge, FlatPrice
from patrol.agent.metering import BudgetExceededError, CallOutcome, Meter, ModelCall, Phase
from patrol.agent.model import Prompt, Usage, UserMessage
from patrol.database import Database, upgrade
from patrol.database.place import parse_url
from patrol.database.schema import MIGRATIONS
from patrol.database.transactions import make_engine
from patrol.run.model_work.model import (
    EscalationRecord,
    EscalationState,
    ModelReport,
    ReportOutcome,
    VerdictRecord,
    VerdictSource,
)
from patrol.run.model_work.rows import LONGEST_TEXT
from patrol.run.model_work.store import CallNotFoundError, ModelWorkStore
from patrol.run.model_work.totals import Used, used
from patrol.run.record_model import ModelState, RunRecord, RunStatus
from patrol.run.retention import prune_evidence
from patrol.run.store import RunStore
from patrol.run.tables import RUNS
from patrol.settings.model import Settings
from tests.findings.builders import NOTHING, ORG, observation

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def database(any_database: Database) -> Database:
    for number in (1, 2):
        record = RunRecord(org_id=ORG, id=f"run-{number}", trigger_reason="manual", started_at=at(number))
        RunStore(any_database).begin(record)
    return any_database


@pytest.fixture
def store(database: Database) -> ModelWorkStore:
    return ModelWorkStore(database)


def at(minute: int) -> datetime:
    return NOW + timedelta(minutes=minute)


def call(seq: int = 1, run_id: str = "run-1", **changes: object) -> ModelCall:
    base = ModelCall(
        run_id=run_id,
        seq=seq,
        phase=Phase.MAIN,
        model="openai:m",
        started_at=at(seq),
        usage=Usage(input_tokens=1_000, output_tokens=200, reported=False),
        charge=Charge(cost_usd=0.5),
    )
    return replace(base, **changes)


def report(seq: int = 1, run_id: str = "run-1", key: str = "k1", **changes: object) -> ModelReport:
    base = ModelReport(
        run_id=run_id,
        seq=seq,
        call_id=f"call-{seq}",
        finding_key=key,
        resource_id="vm:pve:101",
        kind="high_cpu",
        severity="warning",
        title="Busy",
        cited=("call-1", "call-2"),
        outcome=ReportOutcome.FILED,
    )
    return replace(base, **changes)


def verdict(finding_id: str = "f1", run_id: str = "run-1", **changes: object) -> VerdictRecord:
    base = VerdictRecord(
        run_id=run_id,
        finding_id=finding_id,
        verdict=Verdict.RESOLVED,
        source=VerdictSource.MODEL,
        evidence="2 % now",
        code="detector_says_present",
        at=NOW,
    )
    return replace(base, **changes)


def escalation(number: int = 1, run_id: str = "run-1", **changes: object) -> EscalationRecord:
    base = EscalationRecord(
        id=f"{run_id}-{number}",
        run_id=run_id,
        finding_id=f"f{number}",
        group="node:pve:a",
        state=EscalationState.QUEUED,
        dissent="the model finds it harmless",
        at=at(number),
    )
    return replace(base, **changes)


# --- requests


def test_a_request_is_there_before_it_is_answered_and_says_afterwards_how_it_went(store):
    store.open_call(call())
    assert store.calls("run-1") == [call()]
    answered = call(
        outcome=CallOutcome.ANSWERED,
        duration_seconds=2.5,
        usage=Usage(input_tokens=900, output_tokens=50, cached_tokens=300, reasoning_tokens=20),
        charge=Charge(cost_usd=None, assumed_usd=0.25),
        tool_calls=2,
    )
    store.close_call(answered)
    assert store.calls("run-1") == [answered]


def test_a_request_that_was_never_written_down_cannot_be_closed(store):
    with pytest.raises(CallNotFoundError):
        store.close_call(call())


def test_what_was_spent_is_summed_by_run_and_by_time_whatever_became_of_the_requests(store):
    store.open_call(call(1))
    store.open_call(call(2))
    store.open_call(call(3, "run-2", charge=Charge(cost_usd=None, assumed_usd=0.25)))
    store.close_call(call(2, outcome=CallOutcome.FAILED, usage=Usage(), charge=Charge(cost_usd=0.0)))
    assert store.spent() == Spent(tokens=2_400, usd=0.75)
    assert store.spent(run_id="run-1") == Spent(tokens=1_200, usd=0.5)
    assert store.spent(since=at(3)) == Spent(tokens=1_200, usd=0.25)
    assert store.spent(since=at(4)) == Spent()
    assert store.spent(run_id="no-run") == Spent()


def test_what_another_organisation_spent_does_not_count(database, store):
    store.open_call(call())
    assert ModelWorkStore(database, "other").spent() == Spent()


def test_a_crashed_run_keeps_what_its_requests_may_have_cost(database, store):
    store.open_call(call())
    assert [each.id for each in RunStore(database).close_crashed(at(60))] == ["run-1", "run-2"]
    assert store.spent() == Spent(tokens=1_200, usd=0.5)
    crashed, other = RunStore(database).get("run-1"), RunStore(database).get("run-2")
    assert (crashed.input_tokens, crashed.output_tokens, crashed.cost_usd) == (1_000, 200, 0.5)
    assert not crashed.cost_assumed
    assert (other.input_tokens, other.cost_usd) == (0, 0)


def test_how_much_of_the_budget_is_used_is_known_by_window(database, store):
    store.open_call(call(1, started_at=NOW - timedelta(days=2)))
    store.open_call(call(2, charge=Charge(cost_usd=None, assumed_usd=0.25)))
    spent = used(database, at(60))
    assert spent == Used(day=Spent(tokens=1_200, usd=0.25), month=Spent(tokens=2_400, usd=0.75))
    limits = Limits(day=Cap(tokens=12_000, usd=0.5), month=Cap(tokens=4_800))
    assert spent.ratio(limits) == {"day": 0.5, "month": 0.5}
    assert spent.ratio(Limits(day=Cap(tokens=0)))["day"] == 1


# --- what it said


def test_a_report_is_tied_to_the_finding_of_its_key(database, store):
    step = advance({}, [observation()], NOTHING, NOW, run_id="run-1", org_id=ORG)
    [found] = [change.after for change in step.changes]
    with database.write() as connection:
        FindingStore(connection, ORG).apply(step)
        store.keep_reports(connection, [report(1, key=found.key), report(2, outcome=ReportOutcome.REFUSED, code="no")])
    filed, refused = store.reports("run-1")
    assert filed == report(1, key=found.key, finding_id=found.id)
    assert refused == report(2, outcome=ReportOutcome.REFUSED, code="no")
    assert store.reports_of(found) == [filed]
    assert store.reports_of(replace(found, key="other")) == [filed], "its resource got another id"


def test_what_was_said_of_a_finding_comes_newest_first(database, store):
    finding = advance({}, [observation()], NOTHING, NOW, run_id="run-1", org_id=ORG).changes[0].after
    with database.write() as connection:
        for run_id, minute in (("run-1", 1), ("run-2", 2)):
            store.keep_reports(connection, [report(1, run_id, finding.key), report(2, run_id, finding.key)])
            store.keep_verdicts(connection, [verdict(finding.id, run_id, at=at(minute))])
    assert [(each.run_id, each.seq) for each in store.reports_of(finding, limit=3)] == [
        ("run-2", 2),
        ("run-2", 1),
        ("run-1", 2),
    ]
    assert [each.run_id for each in store.verdicts_of(finding)] == ["run-2", "run-1"]


def test_each_source_has_one_verdict_on_a_finding_in_a_run(database, store):
    own = verdict(source=VerdictSource.PATROL, verdict=Verdict.PRESENT, applied=True, code="", evidence="")
    with database.write() as connection:
        store.keep_verdicts(connection, [verdict(), own])
    assert store.verdicts("run-1") == [verdict(), own]
    with pytest.raises(sa.exc.IntegrityError), database.write() as connection:
        store.keep_verdicts(connection, [verdict()])


def test_texts_of_a_model_are_kept_up_to_a_bound_and_without_what_no_database_takes(database, store):
    with database.write() as connection:
        store.keep_reports(connection, [report(title="a\0b\ud800", description="x" * 100_000)])
    [kept] = store.reports("run-1")
    assert kept.title == "a\N{REPLACEMENT CHARACTER}b?"
    assert len(kept.description) == LONGEST_TEXT
    assert kept.description.endswith("x...")


# --- escalations and memory


def test_escalations_are_found_by_run_and_finding_and_counted_by_day(database, store):
    deferred = escalation(2, state=EscalationState.DEFERRED, reason="enough in this run")
    with database.write() as connection:
        store.keep_escalations(connection, [escalation(1), deferred, escalation(3, "run-2")])
    assert [each.finding_id for each in store.escalations()] == ["f3", "f2", "f1"]
    assert store.escalations(run_id="run-1") == [deferred, escalation(1)]
    assert store.escalations(finding_id="f3") == [escalation(3, "run-2")]
    assert store.queued_since(at(1)) == 2
    assert store.queued_since(at(2)) == 1


def test_what_was_last_decided_of_each_finding_is_known_while_the_finding_is_there(database, store):
    step = advance({}, [observation()], NOTHING, NOW, run_id="run-1", org_id=ORG)
    [found] = [change.after for change in step.changes]
    first = escalation(1, finding_id=found.id, state=EscalationState.DEFERRED)
    second = escalation(2, "run-2", finding_id=found.id)
    with database.write() as connection:
        FindingStore(connection, ORG).apply(step)
        store.keep_escalations(connection, [first, second, escalation(3, finding_id="gone")])
    assert store.newest_escalations() == {found.id: second}


def test_what_is_remembered_is_replaced_and_forgotten(database, store):
    assert store.remembered("breaker") is None
    store.remember("breaker", {"state": "open", "failures": 3}, NOW)
    store.remember("breaker", {"state": "closed"}, NOW)
    assert store.remembered("breaker") == {"state": "closed"}
    with database.write() as connection:
        store.remember("breaker", None, NOW, connection)
        store.remember("seen", [1, "\0"], NOW, connection)
    assert store.remembered("breaker") is None
    assert store.remembered("seen") == [1, "\0"]


# --- the run


def test_a_run_keeps_what_became_of_the_models_part(database):
    store = RunStore(database)
    ended = replace(
        store.get("run-1"),
        status=RunStatus.HEALTHY,
        completed_at=at(5),
        model_state=ModelState.FAILED,
        model="openai:m",
        model_cause="provider_timeout",
        model_said="no answer\0",
        analysis="all \ud800 good",
        status_text="1 resource checked.",
        uncertain=2,
        rejected_findings=1,
        input_tokens=900,
        output_tokens=50,
        cost_usd=0.25,
        cost_assumed=True,
        triage_flags=4,
    )
    store.end_early(ended)
    kept = store.get("run-1")
    assert kept == replace(ended, model_said="no answer\N{REPLACEMENT CHARACTER}", analysis="all ? good")


def test_all_of_it_goes_with_its_run_but_what_is_remembered(database, store):
    store.open_call(call())
    with database.write() as connection:
        store.keep_reports(connection, [report()])
        store.keep_verdicts(connection, [verdict()])
        store.keep_escalations(connection, [escalation()])
        store.remember("breaker", {}, NOW, connection)
        connection.execute(RUNS.delete().where(RUNS.c.id == "run-1"))
    assert [store.calls("run-1"), store.reports("run-1"), store.verdicts("run-1"), store.escalations()] == [[]] * 4
    assert store.remembered("breaker") == {}


def test_what_was_spent_this_month_outlives_a_short_retention(database, store):
    started = datetime(2026, 11, 2, 12, tzinfo=UTC)
    for run_id in ("run-1", "run-2"):
        record = replace(RunStore(database).get(run_id), status=RunStatus.HEALTHY, completed_at=started)
        RunStore(database).end_early(replace(record, started_at=started))
    store.open_call(call(1, started_at=started))
    settings = Settings(storage={"retention": "1d"})
    prune_evidence(database, settings, NOW, every=timedelta())
    assert [each.id for each in RunStore(database).list_runs()] == ["run-1"]
    assert store.spent(since=month_start(NOW)) == Spent(tokens=1_200, usd=0.5)
    prune_evidence(database, settings, datetime(2026, 12, 1, tzinfo=UTC), every=timedelta())
    assert RunStore(database).list_runs() == []


def test_a_run_of_before_had_no_model(tmp_path):
    engine = make_engine(parse_url(f"sqlite:///{tmp_path}/patrol.db"))
    upgrade(engine, "0007")
    row = {"org_id": ORG, "id": "old", "type": "full", "trigger_reason": "manual", "status": "healthy"}
    row |= {"complete": True, "model_state": "none", "started_at": NOW.isoformat(), "lease_owner": ""}
    row |= {"error_summary": "", "gaps": "[]", "checks_off": "[]", "scope": "[]"}
    row |= {"alert_settings_source": "", "alert_settings_hash": ""}
    with engine.begin() as connection:
        names = ", ".join(row)
        marks = ", ".join(f":{name}" for name in row)
        connection.execute(sa.text(f"INSERT INTO run ({names}) VALUES ({marks})"), row)
    upgrade(engine)
    with engine.connect() as connection:
        kept = connection.execute(sa.select(RUNS)).mappings().one()
    assert (kept["model"], kept["analysis"], kept["cost_usd"], kept["cost_assumed"]) == ("", "", 0, False)
    assert kept["triage_flags"] is None
    engine.dispose()


def test_the_way_back_leaves_the_schema_as_it_was(tmp_path):
    engine = make_engine(parse_url(f"sqlite:///{tmp_path}/patrol.db"))

    def shape() -> dict[str, list[str]]:
        with engine.connect() as connection:
            seen = sa.inspect(connection)
            return {name: [each["name"] for each in seen.get_columns(name)] for name in seen.get_table_names()}

    upgrade(engine, "0008")
    before = shape()
    upgrade(engine, "0009")
    assert {"model_call", "model_report", "verdict", "escalation", "model_memory"} == shape().keys() - before.keys()
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0008")
    assert shape() == before
    engine.dispose()


# --- the budget on a database


def meter(store: ModelWorkStore, run_id: str, now: datetime) -> Meter:
    limits = Limits(run=Cap(tokens=10_000), day=Cap(tokens=3_000), month=Cap(tokens=5_100))
    return Meter(
        ledger=store,
        limits=limits,
        price=FlatPrice(input_usd=0, output_usd=0),
        run_id=run_id,
        model="openai:m",
        clock=lambda: now,
    )


def test_what_a_run_sent_before_it_died_is_missing_in_the_budget_of_the_next(store):
    prompt = Prompt(system="s", messages=[UserMessage(text="x" * 4_000)], max_output_tokens=1_500)
    late = datetime(2026, 11, 29, 23, 59, tzinfo=UTC)
    meter(store, "run-1", late).begin(prompt)  # and its process is gone
    with pytest.raises(BudgetExceededError) as caught:
        meter(store, "run-2", late).begin(prompt)
    assert caught.value.refusal.window is Window.DAY
    assert "after 2026-11-30 00:00 UTC" in str(caught.value)
    meter(store, "run-2", late + timedelta(minutes=1)).begin(prompt)
    refusal = meter(store, "run-2", late + timedelta(days=1)).refusal(Spent(tokens=100))
    assert refusal.window is Window.MONTH
    assert meter(store, "run-2", late + timedelta(days=2)).refusal(Spent(tokens=100)) is None
