"""Whole runs whose model is behind a server: whatever the wire does, the checks carry the run, its record is true."""

from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from findings.model import Basis
from findings.silence import PATROLS_OWN
from patrol.agent.failure import Cause
from patrol.run.record_model import ModelState, RunStatus
from patrol.settings.values import Privacy
from tests.acceptance.estates import JUNK, Plan, Planting
from tests.acceptance.faults import FAULTS, Condition
from tests.acceptance.things import CLUSTERS, THINGS
from tests.acceptance.wire_faults import KEY, WIRE_FAULTS, WireFault
from tests.acceptance.wire_house import LONG, SHORT, Line, Told, everything_stored, hold, hold_record, run, wire_house
from tests.acceptance.wire_play import Play, Stage, well_behaved
from tests.agent.wire_server import REFUSALS, Answer, Ask, Call, ModelServer, Say, closed_port
from tests.run.builders import House

NAMES = tuple(WIRE_FAULTS)
STAGES: tuple[Stage, ...] = tuple(Stage)
MANY = 2 * len(STAGES) * len(NAMES)
"""Every fault in every pass, twice."""
FEW = [*range(0, MANY, MANY // 20)][:20]
"""Of these in every test run."""


def broken_estate(random: Random, most: int = 6) -> Plan:
    """Some things, at least one of which is faulty, and junk."""
    while True:
        plantings = []
        for _ in range(random.randint(1, most)):
            thing = random.choice([*THINGS])
            fault = random.choice((None, *FAULTS.get(thing, ())))
            plantings.append(Planting(thing, random.choice(CLUSTERS), random.randrange(1 << 16), fault))
        junk = random.sample(sorted(JUNK), random.randint(0, 3))
        plan = Plan(tuple(plantings), tuple(junk), random.randrange(1 << 16))
        if plan.faults:
            return plan


@dataclass(frozen=True, slots=True)
class Scenario:
    """One of the seeded runs: what breaks on the wire, where, and in which estate."""

    seed: int

    @property
    def fault(self) -> str:
        return NAMES[self.seed % len(NAMES)]

    @property
    def stage(self) -> Stage:
        return STAGES[self.seed // len(NAMES) % len(STAGES)]

    def play(self) -> Play:
        random = Random(f"play {self.seed}")
        return Play(
            self.seed,
            WIRE_FAULTS[self.fault],
            self.stage,
            turn=random.choice((0, 0, 1, 2)) if self.stage is Stage.LOOK else random.choice((0, 0, 1)),
            once=random.random() < 0.3,
        )

    def line(self) -> Line:
        random = Random(f"line {self.seed}")
        return Line(
            wire=random.choice(("openai", "anthropic")),
            streaming=WIRE_FAULTS[self.fault].streamed_only or random.random() < 0.6,
            privacy=random.choice((None, Privacy.PSEUDONYMS, Privacy.METRICS_ONLY)),
            run_tokens=random.choice((None, None, None, 25_000)),
            silence=SHORT if WIRE_FAULTS[self.fault].hangs else LONG,
        )

    def plan(self) -> Plan:
        return broken_estate(Random(f"plan {self.seed}"))


def conditions(told: Told) -> set[Condition]:
    """What the checks hold to be wrong in the estate."""
    return {
        Condition(each.kind, each.resource_id, each.subject)  # type: ignore[arg-type]
        for each in told.findings
        if each.basis is Basis.DETECTOR and each.kind not in PATROLS_OWN
    }


def without_model(plan: Plan, folder: Path) -> RunStatus:
    """How the same two runs end where there is no model."""
    with wire_house(folder) as house:
        quiet = Line().settings("").model_copy(update={"model": House(house.database).settings.model})
        run(house, plan.parts(mended=True), quiet)
        return run(house, plan.parts(), quiet).record.status


def lived_through(scenario: Scenario, folder: Path) -> tuple[Told, Play]:
    """A quiet run in which the model claims something, then the one that is tested, checked in every way."""
    line, play, plan = scenario.line(), scenario.play(), scenario.plan()
    with wire_house(folder) as house:
        with ModelServer(well_behaved) as server:
            before = run(house, plan.parts(mended=True), Line(wire=line.wire).settings(server))
        assert (before.record.model_cause, len(before.claims)) == ("", 1)
        with ModelServer(play) as server:
            told = run(house, plan.parts(), line.settings(server), play.log)
    assert len(server.asks) == len(play.log)
    hold(told, budget=line.run_tokens)
    assert conditions(told) == plan.faults
    assert KEY not in everything_stored(folder / "patrol.db")
    return told, play


@pytest.mark.parametrize("seed", FEW)
def test_the_checks_carry_the_run_whatever_the_wire_does(seed: int, tmp_path: Path) -> None:
    prove(Scenario(seed), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", [seed for seed in range(MANY) if seed not in FEW])
def test_the_checks_carry_very_many_runs(seed: int, tmp_path: Path) -> None:
    prove(Scenario(seed), tmp_path)


def prove(scenario: Scenario, folder: Path) -> None:
    told, play = lived_through(scenario, folder)
    record, cause = told.record, WIRE_FAULTS[scenario.fault].cause
    begun = {call.phase for call in told.calls}
    assert play.struck or record.model_cause or scenario.stage.phase not in begun
    if play.struck and not play.once and cause is not None and record.model_cause != "budget":
        assert (record.model_state, record.model_cause) == (ModelState.FAILED, cause)
    (folder / "without").mkdir()
    status = without_model(scenario.plan(), folder / "without")
    if told.claims or record.uncertain or record.model_cause == Cause.CONTEXT_TRUNCATED:
        assert record.status in {status, RunStatus.ISSUES_FOUND, RunStatus.INCOMPLETE}
    else:
        assert record.status == status


# --- each fault by its name -------------------------------------------------------------------------------------------


HOUSE = Plan((Planting("node", "lab", 5, FAULTS["node"][1]), Planting("storage", "site2", 6, FAULTS["storage"][0])))


def _line(fault: str, wire: str = "openai") -> Line:
    return Line(wire=wire, silence=SHORT if WIRE_FAULTS[fault].hangs else LONG)


def struck(fault: str, stage: Stage, line: Line, folder: Path, *, once: bool = False) -> tuple[Told, Play]:
    """One run over two faults, with a claim from before, whose model says nothing by itself and then meets this."""
    play = Play(0, WIRE_FAULTS[fault], stage, once=once, quiet=True)
    with wire_house(folder) as house:
        with ModelServer(well_behaved) as server:
            run(house, HOUSE.parts(mended=True), Line(wire=line.wire).settings(server))
        with ModelServer(play) as server:
            told = run(house, HOUSE.parts(), line.settings(server), play.log)
    hold(told)
    assert conditions(told) == HOUSE.faults
    assert KEY not in everything_stored(folder / "patrol.db")
    return told, play


@pytest.mark.parametrize("fault", WIRE_FAULTS)
def test_each_fault_ends_in_its_cause_and_a_sentence(fault: str, tmp_path: Path) -> None:
    told, play = struck(fault, Stage.LOOK, _line(fault), tmp_path)
    expected, record = WIRE_FAULTS[fault], told.record
    assert play.struck
    assert record.model_cause == (expected.cause or "")
    assert record.model_state == (ModelState.USED if expected.cause is None else ModelState.FAILED)
    assert (record.status, record.new_findings) == (RunStatus.ISSUES_FOUND, len(HOUSE.faults))
    if expected.cause is not None and expected.cause not in _OF_MORE_THAN_ONE:
        assert (len(told.calls), len(told.log)) == (1, expected.tries)
    if expected.cause is not None:
        assert len(record.model_said.split()) > 5


_ODD = {name for name, fault in WIRE_FAULTS.items() if fault.cause is None}


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("fault", sorted(_ODD - {"no usage"}))
def test_what_is_odd_and_no_fault_costs_the_model_nothing(fault: str, streaming: bool, tmp_path: Path) -> None:
    told, play = struck(fault, Stage.LOOK, Line(wire="anthropic", streaming=streaming), tmp_path)
    assert play.struck == len(told.calls) == 3
    assert (told.record.model_state, told.record.model_cause) == (ModelState.USED, "")


def test_an_answer_without_its_tokens_is_none_on_the_wire_of_anthropic(tmp_path: Path) -> None:
    told, _ = struck("no usage", Stage.LOOK, Line(wire="anthropic"), tmp_path)
    assert (told.record.model_cause, len(told.calls)) == (Cause.UNREADABLE_ANSWER, 1)


_OF_MORE_THAN_ONE = {Cause.TOOLS_IN_TEXT, Cause.OUTPUT_LIMIT, Cause.CONTEXT_TRUNCATED}
"""Causes that may need a second look: the model is asked once to make its call, or to say it shorter."""


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_what_a_model_says_is_kept_however_it_is_spoken_to(wire: str, *, streaming: bool, tmp_path: Path) -> None:
    play = Play(0, quiet=True)
    with wire_house(tmp_path) as house, ModelServer(play) as server:
        told = run(house, HOUSE.parts(), Line(wire=wire, streaming=streaming).settings(server), play.log)
    hold(told)
    assert told.record.analysis.count("there is nothing to tell") == len(told.calls) == 2
    assert told.record.model_state == ModelState.USED


@pytest.mark.parametrize("stage", [Stage.EVALUATE, Stage.ASSESS])
@pytest.mark.parametrize("fault", ["hangs in mid-answer", "401 the key", "429 for an hour", "500", "a page"])
def test_the_later_passes_fail_as_the_first_does(fault: str, stage: Stage, tmp_path: Path) -> None:
    told, play = struck(fault, stage, _line(fault, "anthropic"), tmp_path)
    assert (told.record.model_state, told.record.model_cause) == (ModelState.FAILED, WIRE_FAULTS[fault].cause)
    assert play.struck == WIRE_FAULTS[fault].tries
    assert told.calls[-1].phase == stage.phase
    assert [call.outcome for call in told.calls[:-1]] == ["answered"] * (len(told.calls) - 1)


@pytest.mark.parametrize("fault", [name for name, fault in WIRE_FAULTS.items() if fault.passes])
def test_what_passes_is_asked_again_and_the_run_knows_nothing_of_it(fault: str, tmp_path: Path) -> None:
    told, play = struck(fault, Stage.LOOK, Line(), tmp_path, once=True)
    assert (told.record.model_state, told.record.model_cause) == (ModelState.USED, "")
    assert (play.struck, len(told.pauses)) == (1, 1)
    assert told.pauses[0] >= (7 if fault == "429 for seconds" else 0.5)


def test_a_provider_that_is_not_there_costs_three_tries_and_no_money(tmp_path: Path) -> None:
    with wire_house(tmp_path) as house:
        told = run(house, HOUSE.parts(), Line().settings(closed_port()))
    assert conditions(told) == HOUSE.faults
    record = told.record
    assert (record.model_state, record.model_cause) == (ModelState.FAILED, Cause.PROVIDER_CONNECTION)
    assert (len(told.calls), len(told.pauses), record.cost_usd) == (1, 2, 0)


def test_a_prompt_that_is_too_long_is_told_shorter_and_then_given_up(tmp_path: Path) -> None:
    play = Play(0, WireFault(lambda _say: REFUSALS["too long"], Cause.CONTEXT_WINDOW_TOO_SMALL), quiet=True)
    with wire_house(tmp_path) as house, ModelServer(play) as server:
        told = run(house, HOUSE.parts(), Line().settings(server), play.log)
    hold(told)
    assert conditions(told) == HOUSE.faults
    assert (told.record.model_cause, told.record.cost_usd) == (Cause.CONTEXT_WINDOW_TOO_SMALL, 0)
    assert 1 <= len(told.calls) <= 4


@pytest.mark.parametrize("limit", [0, 3_000, 12_000, 20_000])
def test_a_budget_ends_the_model_and_nothing_else(limit: int, tmp_path: Path) -> None:
    play, line = Play(7), Line(run_tokens=limit)
    with wire_house(tmp_path) as house, ModelServer(play) as server:
        told = run(house, HOUSE.parts(), line.settings(server), play.log)
    hold(told, budget=max(limit, 1))
    assert conditions(told) == HOUSE.faults
    assert told.record.input_tokens + told.record.output_tokens <= limit
    assert told.record.model_state == (ModelState.USED if told.calls else ModelState.SKIPPED_BUDGET)


@pytest.mark.parametrize("streaming", [True, False])
def test_a_key_that_comes_back_as_the_words_of_the_model_is_kept_nowhere(streaming: bool, tmp_path: Path) -> None:
    def echoes(ask: Ask) -> Answer:
        called = Call("pulse_query", {"action": "get", "resource_id": KEY}, "x"), Call("pulse_query", f'{{"{KEY}', "y")
        return Say(f"You sent {KEY} to me.", called if ask.turn == 0 else ())

    with wire_house(tmp_path) as house, ModelServer(echoes) as server:
        told = run(house, HOUSE.parts(), Line(streaming=streaming).settings(server))
    hold_record(told)
    assert "You sent [redacted] to me." in told.record.analysis
    assert KEY not in everything_stored(tmp_path / "patrol.db")


def test_a_model_that_failed_three_times_is_not_sent_anything(tmp_path: Path) -> None:
    play = Play(0, WIRE_FAULTS["a page"], quiet=True)
    with wire_house(tmp_path) as house, ModelServer(play) as server:
        told = [run(house, HOUSE.parts(), Line().settings(server), after_seconds=20) for _ in range(4)]
    assert [len(each.calls) for each in told] == [1, 1, 1, 0]
    assert {each.record.model_cause for each in told[:3]} == {Cause.UNREADABLE_ANSWER}
    assert told[3].record.model_state == ModelState.FAILED
    assert all(conditions(each) == HOUSE.faults for each in told)
