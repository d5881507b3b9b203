"""A model that does not work is a fault of its own, opened and cleared without one."""

from datetime import timedelta

import pytest

from findings.kinds import Kind
from findings.model import Look, Observation, Severity
from findings.silence import PATROLS_OWN
from patrol.estate.sources.model import Counter
from patrol.run.model_sight import MODEL_ID, ModelSight, model_counters, observe_model, sight_of
from patrol.run.record_model import ModelState
from signals.model import Examined
from tests.run.builders import NOW

WORKED, FAILED, NOT_ASKED, NONE = ModelSight
HOUR = timedelta(hours=1)


class Life:
    """What is remembered from run to run."""

    def __init__(self) -> None:
        self.memory: dict[tuple[str, str], Counter] = {}
        self.now = NOW - HOUR

    def run(self, sight: ModelSight, after: timedelta = HOUR) -> tuple[Look | None, list[Observation]]:
        self.now += after
        examined = Examined()
        seen = observe_model(sight, "the key is not accepted", examined, self.memory, self.now, model="openai:x")
        self.memory.update(model_counters(sight, self.memory, self.now))
        return examined.look(Kind.MODEL_UNAVAILABLE, MODEL_ID), seen


@pytest.mark.parametrize(
    ("state", "configured", "sight"),
    [
        (ModelState.USED, True, WORKED),
        (ModelState.FAILED, True, FAILED),
        (ModelState.NONE, False, NONE),
        *((state, True, NOT_ASKED) for state in ModelState if state not in (ModelState.USED, ModelState.FAILED)),
    ],
)
def test_what_the_state_of_a_run_says_of_its_model(state: ModelState, configured: bool, sight: ModelSight) -> None:
    assert sight_of(state, configured=configured) is sight


def test_one_failed_run_wakes_nobody() -> None:
    assert Life().run(FAILED) == (Look.HELD, [])


def test_the_second_one_in_a_row_does() -> None:
    life = Life()
    life.run(FAILED)
    look, (observation,) = life.run(FAILED, timedelta(minutes=1))
    assert look is Look.PRESENT
    assert (observation.kind, observation.resource_id) == (Kind.MODEL_UNAVAILABLE, "patrol:local:model")
    assert (observation.severity, observation.resource_name) == (Severity.WARNING, "openai:x")
    assert "the key is not accepted" in observation.summary
    assert observation.kind in PATROLS_OWN


@pytest.mark.parametrize("gap", [timedelta(minutes=5), timedelta(hours=30)])
def test_runs_that_do_not_ask_neither_count_nor_break_the_row(gap: timedelta) -> None:
    life = Life()
    life.run(FAILED)
    assert life.run(NOT_ASKED, gap) == (None, [])
    look, seen = life.run(FAILED, gap)
    assert (look, len(seen)) == (Look.PRESENT, 1)
    assert f"for {2 * gap / timedelta(minutes=1):.0f} minutes" in seen[0].evidence


def test_the_next_run_whose_model_works_clears_it_and_begins_anew() -> None:
    life = Life()
    life.run(FAILED)
    life.run(FAILED)
    assert life.run(WORKED) == (Look.CLEAR, [])
    assert life.run(FAILED) == (Look.HELD, [])


def test_taking_the_model_out_of_the_configuration_clears_it() -> None:
    life = Life()
    life.run(FAILED)
    life.run(FAILED)
    assert life.run(NONE) == (Look.CLEAR, [])


def test_where_no_model_ever_was_there_is_nothing_to_look_at_or_remember() -> None:
    life = Life()
    assert life.run(NONE) == (None, [])
    assert life.memory == {}


def test_a_model_that_always_worked_leaves_no_memory() -> None:
    life = Life()
    assert life.run(WORKED) == (Look.CLEAR, [])
    assert life.memory == {}
