"""What other products got wrong with the model's part of a run, each as a rule of whole runs."""

import pytest

from findings.kinds import Kind
from patrol.agent.failure import Cause
from patrol.agent.metering import Phase
from patrol.run.record_model import ModelState, RunStatus
from patrol.run.store import RunStore
from patrol.settings.model import Settings
from tests.acceptance.promises import causes, model_house
from tests.acceptance.puppets import Call, Heard, Puppet, Say
from tests.acceptance.test_models import PLAN, QUIET, READS

USED, FAILED, NO_BUDGET = ModelState.USED, ModelState.FAILED, ModelState.SKIPPED_BUDGET


def quiet(_heard: Heard) -> Say:
    return Say(text=QUIET)


def test_many_cheap_runs_meet_the_limit_of_the_day_and_the_next_day_has_its_own() -> None:
    puppet = Puppet(quiet)
    with model_house(
        puppet, budget={"run_usd": 0.5, "day_usd": 0.05}, model={"input_price": 2.0, "output_price": 2.0}
    ) as house:
        seen = [house.run(PLAN.parts()).run for _ in range(6)]
        house.check_faults(PLAN.faults)
        states = [run.model_state for run in seen]
        assert states[0] is USED
        assert states[-1] is NO_BUDGET
        assert sum(run.cost_usd for run in seen) <= 0.05
        last = RunStore(house.house.database).get(seen[-1].id)
        assert "of today are spent" in last.model_said
        assert "joins again after 2026-11-30 00:00 UTC" in last.model_said
        house.house.clock.advance(days=1)
        assert house.run(PLAN.parts()).run.model_state is USED
        house.check_faults(PLAN.faults)


def test_a_run_without_room_for_the_model_is_in_the_list_with_its_reason_and_costs_nothing() -> None:
    puppet = Puppet(quiet)
    with model_house(puppet, budget={"day_tokens": 0}) as house:
        reports = [house.run(PLAN.parts()) for _ in range(2)]
        assert causes(reports) == [(NO_BUDGET, "budget")] * 2
        assert [run.model_said for run in RunStore(house.house.database).list_runs()] == [
            "[budget] day_tokens = 0: nothing may be spent on the model"
        ] * 2
        assert puppet.heard == []
        house.check_faults(PLAN.faults)


def test_a_turn_that_the_budget_cannot_hold_is_not_sent_and_what_was_told_is_kept() -> None:
    puppet = Puppet(lambda heard: Say(calls=[Call("pulse_query", {"action": "inventory", "offset": heard.turn})]))
    with model_house(puppet, budget={"run_tokens": 30_000}) as house:
        report = house.run(PLAN.parts())
        assert causes([report]) == [(USED, "budget")]
        assert house.work.spent(run_id=report.run.id).tokens <= 30_000
        assert house.answers(report.run.id)
        house.check_faults(PLAN.faults)


@pytest.mark.parametrize("wrong", ["max_budget", "day_usdd"])
def test_a_limit_under_a_name_that_nobody_knows_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        Settings.model_validate({"budget": {wrong: 20}})


@pytest.mark.parametrize("written", [20, "20", "20.0"])
def test_a_limit_is_the_one_that_was_set_however_it_was_written(written: object) -> None:
    assert Settings.model_validate({"budget": {"day_usd": written}}).budget.day_usd == 20


@pytest.mark.parametrize("written", ["NaN", "inf", "-1", "much"])
def test_a_limit_that_is_no_amount_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="day_usd"):
        Settings.model_validate({"budget": {"day_usd": written}})


def test_runs_that_ask_nothing_cost_nothing() -> None:
    puppet = Puppet(quiet)
    with model_house(puppet, model={"every": "6h"}) as house:
        house.run(PLAN.parts())
        asked, spent = len(puppet.heard), house.work.spent().tokens
        for _ in range(5):
            house.run(PLAN.parts())
        assert (len(puppet.heard), house.work.spent().tokens) == (asked, spent)
        house.check_faults(PLAN.faults)


def test_each_request_to_the_model_belongs_to_a_pass_of_a_run_and_is_in_its_record() -> None:
    puppet = Puppet(lambda heard: Say(calls=READS) if heard.phase is Phase.MAIN and not heard.turn else Say(text=QUIET))
    with model_house(puppet) as house:
        house.run(PLAN.parts())
        calls = house.work.calls("run-1")
        assert [call.phase for call in calls] == [heard.phase for heard in puppet.heard]


def test_a_model_in_another_s_words_hears_no_name_and_its_reports_are_in_those_of_the_house() -> None:
    puppet = Puppet(lambda heard: Say(calls=READS) if not heard.turn else Say(text=QUIET))
    with model_house(puppet, model={"privacy": "pseudonyms"}) as house:
        house.run(PLAN.parts())
        heard = "".join(f"{each.opening}{each.results}" for each in puppet.heard)
        assert "lab-host1" not in heard
        assert "site2-host1" not in heard
        assert "lab-host1" in "".join(house.answers("run-1").values())


def test_a_finding_made_by_the_checks_is_one_finding_through_runs_with_and_without_a_working_model() -> None:
    replies = iter([Say(text=QUIET), Say(text=QUIET), Say(), Say(fault=RuntimeError("broke")), Say(text=QUIET)])
    with model_house(Puppet(lambda _heard: next(replies))) as house:
        reports = [house.run(PLAN.parts()) for _ in range(4)]
        assert [state for state, _ in causes(reports)] == [USED, FAILED, FAILED, USED]
        assert [cause for _, cause in causes(reports)][1] == Cause.EMPTY_ANSWER
        house.check_faults(PLAN.faults)
        held = [each for each in house.findings() if each.kind != Kind.MODEL_UNAVAILABLE]
        assert {each.first_seen_at for each in held} == {reports[0].run.started_at}
        assert {each.times_raised for each in held} == {4}
        assert reports[-1].run.status in {RunStatus.ISSUES_FOUND, RunStatus.CRITICAL}
