"""Whoever observes runs is told of each from its beginning to its end, with what became of what it saw."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from findings.verbs import Suppress
from patrol.operators.verbs import carry_out
from patrol.run import RunReport, RunRequest, ScopeError
from patrol.run.observer import NoObserver, Observer, Stage, StageTimes
from patrol.run.record_model import RunRecord, RunStatus
from patrol.run.store import RunStore
from patrol.triggers.model import Trigger
from patrol.triggers.queue import Decision
from tests.agent.scripted import ScriptedProvider, says
from tests.run.builders import NOW, GivenSource, House, estate, host
from tests.run.model_house import run as run_with_model
from tests.run.model_house import with_model


@dataclass(slots=True)
class Notes:
    """Writes down what it is told."""

    began: list[str] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    ended: list[tuple[str, RunStatus, RunReport | None]] = field(default_factory=list)

    def run_began(self, run: RunRecord) -> None:
        self.began.append(run.id)

    def stage(self, run: RunRecord, stage: Stage, seconds: float) -> None:
        assert seconds >= 0
        self.stages.append(stage)

    def run_ended(self, run: RunRecord, report: RunReport | None) -> None:
        self.ended.append((run.id, run.status, report))

    def trigger(self, trigger: Trigger, decision: Decision) -> None:
        raise AssertionError("a run offers no trigger")


def observed(house: House, *sources: GivenSource, request: RunRequest | None = None) -> Notes:
    notes = Notes()
    replace(house.patrol(*sources), observer=notes).run(request or RunRequest())
    return notes


def test_a_run_is_told_from_its_beginning_to_its_end(house: House) -> None:
    notes = observed(house, GivenSource([estate(host(97))]))
    assert notes.began == ["run-1"]
    assert notes.stages == list(Stage)
    [(run_id, status, report)] = notes.ended
    assert (run_id, status) == ("run-1", RunStatus.CRITICAL)
    assert report is not None


def test_a_run_without_results_is_told_as_well(house: House) -> None:
    notes = Notes()
    patrol = replace(house.patrol(GivenSource([estate(host())])), observer=notes)
    with pytest.raises(ScopeError):
        patrol.run(RunRequest(scope=("nobody",)))
    assert notes.began == ["run-1"]
    assert notes.ended == [("run-1", RunStatus.ERROR, None)]
    assert Stage.TRIAGE not in notes.stages


def test_a_run_that_crashed_is_told_by_the_one_that_closes_it(house: House) -> None:
    lost = RunRecord(org_id="default", id="lost", trigger_reason="manual", started_at=NOW)
    RunStore(house.database).begin(lost)
    house.clock.advance(hours=1)
    notes = observed(house, GivenSource([estate(host())]))
    assert [(run_id, status) for run_id, status, _ in notes.ended] == [
        ("lost", RunStatus.CRASHED),
        ("run-1", RunStatus.HEALTHY),
    ]


def test_each_source_is_told_with_whether_it_answered_and_its_time(house: House) -> None:
    notes = observed(house, GivenSource([estate(host())]), GivenSource([ValueError("a bug")], name="crashes"))
    [(_, _, report)] = notes.ended
    assert report is not None
    assert {each.name: each.is_up for each in report.reads} == {"local": True, "crashes": False}
    assert all(0 <= each.seconds < 5 for each in report.reads)


# --- what becomes of signals ---------------------------------------------------------------------------------------


def outcomes(report: RunReport) -> dict[tuple[str, str], int]:
    return {(str(kind), str(outcome)): count for (kind, outcome), count in report.outcomes.items()}


def test_a_signal_is_filed_once_and_matched_from_then_on(house: House) -> None:
    assert outcomes(house.run(estate(host(97)))) == {("high_disk", "filed"): 1}
    assert outcomes(house.run(estate(host(97)))) == {("high_disk", "matched"): 1}


def test_a_signal_about_which_somebody_asked_for_quiet_is_silenced(house: House) -> None:
    [finding] = house.run(estate(host(97))).findings
    carry_out(house.database, "default", [finding.id], Suppress(), now=house.clock(), author="ada")
    report = house.run(estate(host(97)))
    assert outcomes(report) == {("high_disk", "silenced"): 1}


def test_what_is_to_be_looked_into_is_counted_beside_and_the_rest_of_its_cause_waits(house: House) -> None:
    with_model(house, patrol={"autonomy": "approval"})
    quiet = ScriptedProvider(says("Nothing."))
    report = run_with_model(house, quiet, estate(host(97, units=["a.service"])))
    counted = outcomes(report)
    assert (counted["high_disk", "filed"], counted["unit_failed", "filed"]) == (1, 1)
    assert sorted(outcome for _, outcome in counted if outcome != "filed") == ["deferred", "escalated"]


# --- stages --------------------------------------------------------------------------------------------------------


def test_a_stage_ends_where_the_next_begins_and_parts_of_one_belong_to_it() -> None:
    told: list[tuple[Stage, float]] = []

    class Times(NoObserver):
        def stage(self, run: RunRecord, stage: Stage, seconds: float) -> None:
            told.append((stage, seconds))

    clock = iter([0.0, 2.0, 2.0, 7.0])
    observer: Observer = Times()
    run = RunRecord(org_id="default", id="r", trigger_reason="manual", started_at=NOW)
    stages = StageTimes(run, observer, lambda: next(clock))
    names: Sequence[str] = ("collect", "sweep", "detect")
    for name in names:
        stages.begin(name)
    stages.end()
    stages.end()
    assert told == [(Stage.COLLECT, 2.0), (Stage.SWEEP, 5.0)]
