"""Who follows a model is told of each call of its first pass in order, and of every report that is not taken."""

import json

from patrol.run.store import RunStore
from signals.model import Origin
from tests.agent.scripted import ScriptedProvider, says, wants
from tests.run.builders import HOST, House, estate, host
from tests.run.model_house import Heard, Talk, run, with_model
from tests.run.test_model_runs import LOOK, QUIET, REPORT, stored

LIE = {**REPORT, "evidence": '"avg_memory":99'}


def test_each_call_is_told_with_what_went_in_and_what_came_out(house: House) -> None:
    heard = Heard()
    steps = Talk([LOOK, ("pulse_query", {"action": "nonsense"})], [("pulse_nothing", {})]).steps(says(QUIET))
    report = run(with_model(house), ScriptedProvider(*steps), estate(host()), follower=heard)
    assert heard.started == heard.ended == ["call00001", "call00002", "call00003"]
    name, arguments, output, success = heard.calls["call00001"]
    assert (name, arguments, success) == ("pulse_metrics", LOOK[1], True)
    store = RunStore(house.database)
    pages = {call.id: store.find_page(call.output_sha256) for call in store.tool_calls(report.run.id)}
    assert output == json.loads(pages["call00001"] or b"")
    assert [heard.calls[each][3] for each in heard.ended] == [True, False, False]
    assert "".join(heard.texts).strip() == QUIET
    assert heard.refused == []


def test_the_calls_of_a_turn_are_told_before_any_of_them_is_answered(house: House) -> None:
    order: list[str] = []

    class Ordered(Heard):
        def tool_started(self, call_id: str, name: str, arguments: object) -> None:
            order.append(f"start {call_id}")

        def tool_ended(self, call_id: str, name: str, output: object, *, success: bool) -> None:
            order.append(f"end {call_id}")

    run(with_model(house), ScriptedProvider(*Talk([LOOK, LOOK]).steps(says(QUIET))), estate(host()), follower=Ordered())
    assert order == ["start call00001", "start call00002", "end call00001", "end call00002"]


def test_arguments_that_could_not_be_read_are_told_as_that(house: House) -> None:
    heard = Heard()
    run(
        with_model(house), ScriptedProvider(wants(("pulse_metrics", None)), says(QUIET)), estate(host()), follower=heard
    )
    assert heard.calls["call00001"][1] == {"unreadable": "no JSON"}


def test_a_report_that_is_not_taken_is_told_once_with_the_reason(house: House) -> None:
    heard = Heard()
    steps = Talk([LOOK], [("patrol_report_finding", LIE)]).steps(says(QUIET))
    report = run(with_model(house), ScriptedProvider(*steps), estate(host()), follower=heard)
    [why] = heard.refused
    assert why.startswith("evidence_")
    assert stored(report, house).rejected_findings == 1


def test_a_report_that_the_checks_contradict_is_told_as_well(house: House) -> None:
    heard = Heard()
    units = {**REPORT, "key": "unit_failed", "subject": "nginx.service", "evidence": '"status":"online"'}
    look = ("pulse_query", {"action": "get", "resource_id": HOST})
    steps = Talk([look], [("patrol_report_finding", units)]).steps(says(QUIET))
    run(with_model(house), ScriptedProvider(*steps), estate(host()), follower=heard)
    [why] = heard.refused
    assert why.startswith("examined_clear: unit_failed")
    assert "nginx.service of hosta" in why


def test_a_wrong_question_for_findings_is_no_finding_that_is_refused(house: House) -> None:
    heard = Heard()
    steps = Talk([("patrol_get_findings", {"severity": "loud"})]).steps(says(QUIET))
    run(with_model(house), ScriptedProvider(*steps), estate(host()), follower=heard)
    assert (heard.refused, heard.calls["call00001"][3]) == ([], False)


def test_of_the_later_passes_only_what_is_refused_is_told(house: House) -> None:
    heard = Heard()
    later = ("patrol_report_finding", {**REPORT, "tool_call_ids": ["nowhere"]})
    steps = [says(QUIET), *Talk([later]).steps(says("That is all."))]
    report = run(with_model(house), ScriptedProvider(*steps), estate(host(97)), follower=heard)
    calls = RunStore(house.database).tool_calls(report.run.id)
    assert [call.tool_name for call in calls if call.origin == Origin.LATER] == ["patrol_report_finding"]
    assert (heard.started, heard.ended, len(heard.refused)) == ([], [], 1)
    assert "".join(heard.texts) == stored(report, house).analysis
