"""What a model did in a run and said of a finding, as it is shown: with its cost, marked as its words, never obeyed."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from findings.lifecycle import advance
from findings.model import Finding, Verdict
from findings.store import FindingStore
from patrol.__main__ import main
from patrol.agent.charge import Charge
from patrol.agent.metering import CallOutcome, ModelCall, Phase
from patrol.agent.model import Usage
from patrol.database import open_database
from patrol.run.model_work.model import (
    EscalationRecord,
    EscalationState,
    ModelReport,
    ReportOutcome,
    VerdictRecord,
    VerdictSource,
)
from patrol.run.model_work.store import ModelWorkStore
from patrol.run.record_model import ModelState, RunRecord, RunStatus
from patrol.run.store import RunStore
from tests.findings.builders import NOTHING, ORG, observation

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
RED = "\x1b[31m"
Answer = tuple[int, str, str]


@pytest.fixture
def patrol(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys) -> Callable[..., Answer]:
    for name in ("PATROL_CONFIG", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Answer:
        where = () if arguments[0] == "doctor" else ("--storage", f"sqlite:///{tmp_path}/patrol.db")
        code = main([*arguments, *where])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def finding(tmp_path: Path) -> Finding:
    """A finding in a database with one run whose model failed after one request, and one that was never asked."""
    database = open_database(f"sqlite:///{tmp_path}/patrol.db")
    runs, store = RunStore(database), ModelWorkStore(database)
    run = RunRecord(org_id=ORG, id="run-1", trigger_reason="manual", started_at=NOW)
    runs.begin(run)
    runs.record_unstarted(replace(run, id="run-0", status=RunStatus.SKIPPED, completed_at=NOW))
    store.open_call(call())
    store.close_call(call(outcome=CallOutcome.FAILED, cause="provider_timeout"))
    step = advance({}, [observation()], NOTHING, NOW, run_id="run-1", org_id=ORG)
    [filed] = [change.after for change in step.changes]
    with database.write() as connection:
        FindingStore(connection, ORG).apply(step)
        store.keep_reports(connection, [report(filed.key)])
        store.keep_verdicts(connection, [verdict(filed.id)])
        store.keep_escalations(connection, [escalation(filed.id)])
    runs.end_early(
        replace(
            run,
            status=RunStatus.ISSUES_FOUND,
            completed_at=NOW,
            status_text="1 resource checked; 1 new.",
            model="openai:m",
            model_state=ModelState.FAILED,
            model_cause="provider_timeout",
            model_said="the model did not answer in 120 s",
            analysis=f"# Report\n{RED}All is well",
            input_tokens=70_000,
            output_tokens=2_048,
            cost_usd=1.2,
            cost_assumed=True,
            uncertain=2,
            rejected_findings=1,
            triage_flags=3,
        )
    )
    database.close()
    return filed


def call(**changes: object) -> ModelCall:
    base = ModelCall(
        run_id="run-1",
        seq=1,
        phase=Phase.MAIN,
        model="openai:m",
        started_at=NOW,
        usage=Usage(input_tokens=70_000, output_tokens=2_048, reported=False),
        charge=Charge(cost_usd=None, assumed_usd=1.2),
    )
    return replace(base, **changes)


def report(key: str) -> ModelReport:
    return ModelReport(
        run_id="run-1",
        seq=1,
        call_id="call00001",
        finding_key=key,
        resource_id="agent:local:web1",
        kind="high_disk",
        severity="warning",
        title=f"{RED}The disk fills",
        recommendation="delete logs",
        evidence="91 %",
        cited=("call00000",),
        outcome=ReportOutcome.MATCHED,
    )


def verdict(finding_id: str) -> VerdictRecord:
    return VerdictRecord(
        run_id="run-1",
        finding_id=finding_id,
        verdict=Verdict.RESOLVED,
        source=VerdictSource.MODEL,
        evidence="it is fine",
        code="detector_says_present",
        at=NOW,
    )


def escalation(finding_id: str) -> EscalationRecord:
    return EscalationRecord(
        id="run-1.1",
        run_id="run-1",
        finding_id=finding_id,
        group="agent:local:web1",
        state=EscalationState.DEFERRED,
        reason="day_is_full",
        dissent="it thinks that this is usual",
        at=NOW,
    )


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_the_list_tells_what_the_model_did_and_what_it_cost(patrol, finding):
    code, out, _ = patrol("runs", "list")
    assert code == 0
    assert "failed: provider_timeout 72,048 tokens, 1.20 USD (assumed price) run-1" in squeezed(out)
    assert "none - run-0" in squeezed(out)


def test_a_run_shows_all_of_the_models_work_and_obeys_none_of_it(patrol, finding):
    code, out, _ = patrol("runs", "show", "run-1")
    shown = squeezed(out)
    assert code == 0
    assert "Result 1 resource checked; 1 new." in shown
    assert (
        "Model openai:m: failed; the checks are not touched by that (provider_timeout): "
        "the model did not answer in 120 s" in shown
    )
    assert "Cost 70,000 tokens sent, 2,048 received, 1.20 USD (assumed price)" in shown
    assert "1 main failed: provider_timeout 0.0 s about 70,000 0 about 2,048 1.20 USD (assumed price)" in shown
    assert "resolved model no (detector_says_present) it is fine" in shown
    assert "deferred day_is_full agent:local:web1 it thinks that this is usual" in shown
    assert "Uncertain 2 known findings that nobody could say anything about" in shown
    assert "Refused 1 reports and verdicts of the model" in shown
    assert "The model's own words # Report \\x1b[31mAll is well" in shown
    assert "\x1b[31m" not in out


def test_a_run_without_a_model_says_so_and_nothing_more(patrol, finding):
    _, out, _ = patrol("runs", "show", "run-0")
    shown = squeezed(out)
    assert "Model none (the checks run alone)" in shown
    assert "Cost -" in shown
    assert not any(word in shown for word in ("own words", "Uncertain", "Refused"))


def test_a_model_that_was_not_called_says_why(patrol, finding, tmp_path):
    database = open_database(f"sqlite:///{tmp_path}/patrol.db")
    waiting = RunRecord(org_id=ORG, id="run-2", trigger_reason="manual", started_at=NOW, status=RunStatus.HEALTHY)
    RunStore(database).record_unstarted(
        replace(waiting, completed_at=NOW, model="openai:m", model_cause="not_due", model_said="its turn is later")
    )
    database.close()
    _, out, _ = patrol("runs", "show", "run-2")
    assert "Model openai:m: not called (not_due): its turn is later" in squeezed(out)


def test_a_run_as_json_has_the_documented_names(patrol, finding):
    code, out, _ = patrol("runs", "show", "run-1", "--json")
    document = json.loads(out)
    run = document["run"]
    assert code == 0
    assert (run["model"], run["model_name"], run["model_cause"]) == ("failed", "openai:m", "provider_timeout")
    assert (run["input_tokens"], run["output_tokens"], run["rejected_findings"]) == (70_000, 2_048, 1)
    assert (run["cost_usd"], run["cost_assumed"], run["triage_flags"], run["uncertain"]) == (1.2, True, 3, 2)
    assert run["ai_analysis"] == f"# Report\n{RED}All is well"
    assert run["status_text"] == "1 resource checked; 1 new."
    assert document["finding_assessments"] == [
        {
            "finding_id": finding.id,
            "verdict": "resolved",
            "source": "model",
            "evidence": "it is fine",
            "reason": "",
            "applied": False,
            "code": "detector_says_present",
            "assessed_at": "2026-11-30T12:00:00Z",
        }
    ]
    [request] = document["model_calls"]
    assert (request["outcome"], request["estimated"], request["cost_usd"], request["assumed_usd"]) == (
        "failed",
        True,
        None,
        1.2,
    )
    assert document["model_reports"][0]["cited"] == ["call00000"]
    assert document["escalations"][0]["state"] == "deferred"


def test_a_finding_shows_the_models_latest_words_as_its_own(patrol, finding):
    code, out, _ = patrol("findings", "show", finding.id)
    shown = squeezed(out)
    assert code == 0
    assert "The model reported \\x1b[31mThe disk fills (warning, matched) in run-1" in shown
    assert "it recommends delete logs" in shown
    assert "it rests on 91 % (call00000)" in shown
    assert "The model says resolved, 2026-11-30 12:00:00Z in run-1: it is fine" in shown
    assert "Patrol does not follow it (detector_says_present)" in shown
    assert "To be looked into deferred (day_is_full)" in shown
    assert "the model objects it thinks that this is usual" in shown
    assert "\x1b[31m" not in out


def test_a_finding_as_json_has_what_models_said(patrol, finding):
    _, out, _ = patrol("findings", "show", finding.id, "--json")
    words = json.loads(out)["model"]
    assert [each["outcome"] for each in words["reports"]] == ["matched"]
    assert [each["verdict"] for each in words["verdicts"]] == ["resolved"]
    assert [each["dissent"] for each in words["escalations"]] == ["it thinks that this is usual"]


@pytest.mark.parametrize(
    ("budget", "health", "said"),
    [
        ("day_usd = 5", "ok", "a day, 60,000,000 tokens a month; spent: 72,048 tokens and 1.20 USD today"),
        ("day_usd = 1", "ok", "1.20 of 1.00 USD of today are spent; the model joins again after 2"),
        ("run_tokens = 0", "problem", "[budget] run_tokens = 0: nothing may be spent on the model"),
    ],
)
def test_doctor_tells_the_budget_in_force_and_what_is_spent_of_it(patrol, finding, tmp_path, budget, health, said):
    url = f"sqlite:///{tmp_path}/patrol.db"
    document = tmp_path / "estate.json"
    document.write_text(json.dumps({"version": 1, "resources": [{"id": "agent:lab:a", "type": "agent"}]}))
    database = open_database(url)
    with database.write() as connection:  # the command has a clock of its own
        connection.exec_driver_sql("UPDATE model_call SET started_at = ?", (datetime.now(UTC).isoformat(" "),))
    database.close()
    (tmp_path / "settings.toml").write_text(
        f'[model]\nname = "openai:m"\nbase_url = "http://127.0.0.1:9/v1"\n[budget]\n{budget}\n'
        f'[storage]\nurl = "{url}"\n[[sources]]\ntype = "snapshot"\nfile = "{document}"\n'
    )
    _, out, _ = patrol("doctor", "--json", "--config", str(tmp_path / "settings.toml"))
    [check] = [each for each in json.loads(out)["checks"] if each["name"] == "budget"]
    assert said in check["detail"]
    assert check["health"] == health
