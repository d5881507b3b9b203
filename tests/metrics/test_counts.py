"""What runs did is what is counted: of whole runs, with and without a model, with and without results."""

from contextlib import AbstractContextManager
from dataclasses import replace

import pytest
from sqlalchemy import Connection

from findings.model import Topic
from patrol.agent.failure import Cause, Failure, ModelError
from patrol.database import DatabaseBusyError
from patrol.metrics import Metrics, RunCounts
from patrol.run import Patrol, RunRequest, ScopeError
from patrol.run.observer import Stage
from patrol.run.record_model import RunRecord, RunStatus, RunType
from patrol.run.store import RunStore
from patrol.triggers.model import Occasion, Trigger, TriggerReason, TriggerScope
from patrol.triggers.queue import Accepted, Decision, Merged, Pending, Rejected, Rejection, UnderWay
from tests.agent.scripted import ScriptedProvider, says
from tests.metrics.samples import counted, metrics_of, values
from tests.run.builders import HOST, NOW, GivenSource, House, estate, gap, host
from tests.run.model_house import Talk, with_model
from tests.run.model_house import access as model_access
from tests.run.test_model_runs import LOOK, QUIET, REPORT


def observed(house: House, metrics: Metrics, *estates: object, provider: ScriptedProvider | None = None) -> Patrol:
    """A patrol whose runs are counted."""
    house.clock.advance(minutes=1)
    patrol = replace(house.patrol(GivenSource(list(estates))), observer=RunCounts(metrics, house.database))  # type: ignore[arg-type]
    return patrol if provider is None else replace(patrol, analysts=model_access(house, provider))


def test_a_run_is_counted_with_its_stages_its_time_and_its_signals(house: House) -> None:
    metrics = metrics_of(house)
    observed(house, metrics, estate(host(97))).run(RunRequest(reason=TriggerReason.SCHEDULED))
    assert counted(metrics, "patrol_runs_total") == {("critical", "scheduled", "full"): 1}
    assert counted(metrics, "patrol_run_duration_seconds_count") == {(): 1}
    assert counted(metrics, "patrol_run_stage_duration_seconds_count") == {(stage,): 1 for stage in Stage}
    assert counted(metrics, "patrol_signals_total") == {("filed", "high_disk"): 1}
    assert counted(metrics, "patrol_source_up") == {("local",): 1}
    assert set(values(metrics, "patrol_source_collect_duration_seconds")) == {("local",)}
    assert counted(metrics, "patrol_model_requests_total") == {}


def test_a_source_that_fails_is_down_until_it_answers_again(house: House) -> None:
    metrics = metrics_of(house)
    observed(house, metrics, ValueError("a bug")).run(RunRequest())
    assert values(metrics, "patrol_source_up") == {("local",): 0}
    observed(house, metrics, estate(host())).run(RunRequest())
    assert values(metrics, "patrol_source_up") == {("local",): 1}


def test_a_run_without_results_is_counted_with_what_it_asked(house: House) -> None:
    metrics = metrics_of(house)
    with pytest.raises(ScopeError):
        observed(house, metrics, estate(host())).run(RunRequest(scope=("nobody",)))
    assert counted(metrics, "patrol_runs_total") == {("error", "manual", "scoped"): 1}
    assert counted(metrics, "patrol_run_duration_seconds_count") == {(): 1}


def test_a_run_that_never_began_has_no_duration(house: House) -> None:
    metrics = metrics_of(house)
    dropped = RunRecord(
        org_id="default",
        id="r",
        trigger_reason="from a newer version",
        type=RunType.SCOPED,
        status=RunStatus.DROPPED,
        started_at=NOW,
        completed_at=NOW,
    )
    RunCounts(metrics, house.database).run_ended(dropped, None)
    assert counted(metrics, "patrol_runs_total") == {("dropped", "other", "scoped"): 1}
    assert counted(metrics, "patrol_run_duration_seconds_count") == {}


def test_what_a_model_asked_cost_and_was_refused_is_counted(house: House) -> None:
    metrics = metrics_of(with_model(house))
    lie = {**REPORT, "evidence": '"avg_memory":99'}
    calls = [LOOK, ("restart_everything", {})], [("patrol_report_finding", lie)]
    provider = ScriptedProvider(*Talk(*calls).steps(says(QUIET)))
    report = observed(house, metrics, estate(host()), provider=provider).run(RunRequest())
    assert counted(metrics, "patrol_findings_rejected_total") == {("evidence_not_found",): 1}
    calls_made = counted(metrics, "patrol_tool_calls_total")
    assert calls_made["failed", "patrol_report_finding"] == 1
    assert calls_made["failed", "other"] == 1
    assert calls_made["answered", "pulse_metrics"] > 1
    assert counted(metrics, "patrol_model_requests_total") == {("answered",): len(provider.prompts)}
    assert counted(metrics, "patrol_model_tokens_total") == {
        ("input",): report.run.input_tokens,
        ("output",): report.run.output_tokens,
    }
    assert values(metrics, "patrol_model_cost_usd_total") == {(): pytest.approx(report.run.cost_usd)}


def test_a_model_that_fails_is_counted_and_the_run_as_well(house: House) -> None:
    metrics = metrics_of(with_model(house))
    provider = ScriptedProvider(ModelError(Failure(cause=Cause.PROVIDER_AUTH, summary="The key is refused.")))
    observed(house, metrics, estate(host()), provider=provider).run(RunRequest())
    assert counted(metrics, "patrol_model_requests_total") == {("failed",): 1}
    assert counted(metrics, "patrol_circuit_breaker_state") == {(): 2}


def test_a_gap_names_its_source_and_no_resource(house: House) -> None:
    metrics = metrics_of(house)
    observed(house, metrics, estate(host(), gaps=[gap(Topic.SMART, HOST), gap(Topic.UNITS)])).run(RunRequest())
    assert counted(metrics, "patrol_gaps") == {("standing", "local"): 2}


def trigger(reason: TriggerReason = TriggerReason.MANUAL) -> Trigger:
    return Trigger(scope=TriggerScope(resource_ids=(HOST,)), occasions=(Occasion(reason=reason, at=NOW),))


EVICTED = Pending(id="p", trigger=trigger(TriggerReason.ANOMALY), enqueued_at=NOW)


@pytest.mark.parametrize(
    ("decision", "found"),
    [
        (Accepted(), {("accepted", "manual"): 1}),
        (Merged(into="w", trigger=trigger()), {("merged", "manual"): 1}),
        (UnderWay(id="w"), {("under_way", "manual"): 1}),
        (Rejected(reason=Rejection.QUEUE_FULL), {("queue_full", "manual"): 1}),
        (Accepted(evicted=EVICTED), {("accepted", "manual"): 1, ("evicted", "anomaly"): 1}),
    ],
)
def test_every_trigger_is_counted_with_what_became_of_it(
    house: House, decision: Decision, found: dict[tuple[str, ...], float]
) -> None:
    metrics = metrics_of(house)
    RunCounts(metrics, house.database).trigger(trigger(), decision)
    assert counted(metrics, "patrol_triggers_total") == found


class BusyAtFirst:
    """A database that cannot be read the first time."""

    def __init__(self, house: House) -> None:
        self._database = house.database
        self._is_busy = True

    def read(self) -> AbstractContextManager[Connection]:
        if self._is_busy:
            self._is_busy = False
            raise DatabaseBusyError("patrol.db", "another process holds it", "Try again")
        return self._database.read()


def test_figures_that_cannot_be_read_are_counted_when_the_next_run_ends(house: House) -> None:
    metrics = metrics_of(house)
    counts = RunCounts(metrics, BusyAtFirst(house))
    first, second = (house.run(estate(host())) for _ in range(2))
    counts.run_ended(first.run, first)
    assert counted(metrics, "patrol_runs_total") == {("healthy", "manual", "full"): 1}
    assert counted(metrics, "patrol_tool_calls_total") == {}
    counts.run_ended(second.run, second)
    made = sum(len(RunStore(house.database).tool_calls(each.run.id)) for each in (first, second))
    assert sum(counted(metrics, "patrol_tool_calls_total").values()) == made
