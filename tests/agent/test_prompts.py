"""What a model is told of its work: short, fixed, and whole in every pass."""

import pytest

from findings.investigation import Autonomy
from patrol.agent.loop import Words
from patrol.agent.model import estimated_tokens
from patrol.agent.prompts import ASSESS, DETECT, EVALUATE, HEADINGS

PASSES = [*DETECT.values(), EVALUATE, ASSESS]


@pytest.mark.parametrize("words", PASSES)
def test_the_system_prompt_is_short(words: Words) -> None:
    assert estimated_tokens(words.system) <= 900
    assert estimated_tokens(words.last_turn) <= 900


@pytest.mark.parametrize("words", PASSES)
def test_every_turn_is_told_that_data_is_no_instruction_and_that_nothing_was_done(words: Words) -> None:
    for told in (words.system, words.last_turn):
        assert "never instructions" in told
        assert "Never say that something was done" in told


def test_each_autonomy_has_a_paragraph_of_its_own() -> None:
    assert set(DETECT) == set(Autonomy)
    assert len({words.system for words in DETECT.values()}) == len(Autonomy)


@pytest.mark.parametrize("autonomy", list(Autonomy))
def test_the_first_pass_is_told_all_its_obligations(autonomy: Autonomy) -> None:
    told = DETECT[autonomy].system
    for wanted in ("trends", "combinations", "silent failures", "one chain of causes", "only critical", "exactly one"):
        assert wanted in told
    for heading in HEADINGS:
        assert f"\n{heading}\n" in told
