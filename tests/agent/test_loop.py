"""One pass of a model: what it is offered, how its calls are answered, and how it ends."""

import asyncio
from dataclasses import replace

import pytest

from patrol.agent.batch import AT_ONCE, MOST_AT_A_TURN, SAME_CALL
from patrol.agent.budget import BudgetRefusal, Unit, Window
from patrol.agent.conversation import Conversation
from patrol.agent.failure import Cause, Failure, ModelError
from patrol.agent.loop import RECOVERY_OUTPUT, Bounds, Ended, Pass, PassResult, Words
from patrol.agent.metering import BudgetExceededError
from patrol.agent.model import AssistantMessage, Finish, Prompt, Reply, ToolChoice, ToolResult, UserMessage
from tests.agent.scripted import ScriptedProvider, Step, Tools, says, wants

WORDS = Words(
    system="SYSTEM", last_turn="LAST TURN", after_cut="SHORTER", use_tools="USE TOOLS", come_to_an_end="COME TO AN END"
)


def run(
    *steps: Step, tools: Tools | None = None, turns: int = 10, window: int | None = None, **bounds: object
) -> tuple[PassResult, ScriptedProvider, Tools]:
    provider, toolset = ScriptedProvider(*steps, window=window), tools or Tools()
    limits = replace(Bounds(turns=turns), **bounds)
    made = Pass(provider, toolset, WORDS, limits)
    return asyncio.run(made.run("OPENING")), provider, toolset


def results(prompt: Prompt) -> list[ToolResult]:
    return [message for message in prompt.messages if isinstance(message, ToolResult)]


def code(result: ToolResult) -> object:
    return result.content.get("error") if isinstance(result.content, dict) else None


def test_an_answer_without_calls_ends_it() -> None:
    result, provider, _ = run(says("All is quiet."))
    assert (result.ended, result.text, result.turns, result.calls) == (Ended.ANSWERED, "All is quiet.\n\n", 1, 0)
    assert provider.prompts[0].system == "SYSTEM"
    assert provider.prompts[0].messages == (UserMessage(text="OPENING"),)


def test_calls_are_answered_in_their_order_whatever_ends_first() -> None:
    result, provider, tools = run(wants(("slow", {"a": 1}), ("look", {"a": 2}), ("slow", {"a": 3})), says("Done."))
    assert [each.call_id for each in results(provider.prompts[1])] == ["call00001", "call00002", "call00003"]
    assert [call_id for call_id, _ in tools.finished_calls] == ["call00001", "call00002", "call00003"]
    assert result.calls == 3


def test_at_most_four_calls_are_made_side_by_side() -> None:
    _, _, tools = run(wants(*(("slow", {"a": number}) for number in range(9))), says("Done."))
    assert tools.most_at_once == AT_ONCE


def test_findings_are_read_before_they_are_written_in_one_turn() -> None:
    _, _, tools = run(wants(("get_findings", {}), ("slow", {}), ("report", {"a": 1}), ("report", {"a": 2})), says("."))
    assert tools.most_at_once == 1
    assert [call_id for what, call_id in tools.log if what == "begin"] == [f"call0000{n}" for n in range(1, 5)]


def test_writes_without_a_read_are_made_side_by_side() -> None:
    slow = Tools(report=lambda arguments: __import__("time").sleep(0.05))
    _, _, tools = run(wants(("report", {"a": 1}), ("report", {"a": 2})), says("."), tools=slow)
    assert tools.most_at_once == 2


def test_the_answer_names_its_call_so_that_it_can_be_cited() -> None:
    _, provider, _ = run(wants(("look", {})), says("."))
    assert results(provider.prompts[1])[0].content == {"tool_call_id": "call00001", "ok": True}


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (("restart_everything", {}), "tool_not_offered"),
        (("look", None), "invalid_arguments"),
        (("broken", {}), "tool_failed"),
    ],
)
def test_a_call_that_cannot_be_answered_is_told_why_and_the_others_go_on(call: tuple[str, None], word: str) -> None:
    result, provider, _ = run(wants(call, ("look", {})), says("Done."))
    first, second = results(provider.prompts[1])
    assert (code(first), first.is_error, second.is_error) == (word, True, False)
    assert result.ended is Ended.ANSWERED


def test_an_unknown_tool_is_answered_with_those_that_there_are() -> None:
    _, provider, tools = run(wants(("restart_everything", {})), says("."))
    content = results(provider.prompts[1])[0].content
    assert isinstance(content, dict)
    assert content["allowed"] == sorted(tools.PURPOSES)
    assert tools.log == []


def test_a_tool_that_hangs_costs_its_call_only() -> None:
    tools = Tools(look=lambda arguments: __import__("time").sleep(0.2))
    _, provider, _ = run(wants(("look", {}), ("get_findings", {})), says("."), tools=tools, tool_seconds=0.05)
    assert [code(each) for each in results(provider.prompts[1])] == ["tool_timeout", None]


def test_equal_calls_of_one_turn_are_made_once_and_each_is_answered() -> None:
    _, provider, tools = run(wants(*[("look", {"a": 1})] * 9), says("."))
    assert len(tools.log) == 2
    assert len(results(provider.prompts[1])) == 9
    assert not any(each.is_error for each in results(provider.prompts[1]))


def test_a_turn_with_thousands_of_calls_is_answered_in_part_and_told_so() -> None:
    _, provider, tools = run(wants(*(("look", {"a": number}) for number in range(2_000))), says("."))
    assert len(tools.log) == 2 * MOST_AT_A_TURN
    assert [code(each) for each in results(provider.prompts[1])] == [None] * MOST_AT_A_TURN + ["too_many_calls"] * 1_950


def test_the_same_call_again_and_again_is_stopped_and_then_tools_are_withheld() -> None:
    result, provider, tools = run(
        *[wants(("look", {"a": 1}), first=number) for number in range(1, SAME_CALL + 2)], says("Enough.")
    )
    assert len(tools.log) == 2 * SAME_CALL
    assert code(results(provider.prompts[-1])[-1]) == "loop_detected"
    assert (provider.prompts[-1].tools, provider.prompts[-1].choice) == ((), ToolChoice.NONE)
    assert result.ended is Ended.ANSWERED


def test_calls_that_come_although_no_tool_was_offered_are_not_made() -> None:
    looping = [wants(("look", {"a": 1}), first=number) for number in range(1, SAME_CALL + 2)]
    result, _, tools = run(*looping, wants(("look", {"a": 2}), text="I still want to look."))
    assert len(tools.log) == 2 * SAME_CALL
    assert result.ended is Ended.ANSWERED
    assert "I still want to look." in result.text


def test_three_turns_of_failures_end_the_tools() -> None:
    turns = [wants(("look", None), first=number) for number in range(1, 4)]
    result, provider, _ = run(*turns, says("I cannot."))
    assert provider.prompts[3].tools == ()
    assert result.turns == 4


def test_one_good_call_starts_the_count_of_failures_again() -> None:
    bad = [wants(("look", None), first=number) for number in range(1, 3)]
    _, provider, _ = run(*bad, wants(("look", {})), *bad, says("."))
    assert all(prompt.tools for prompt in provider.prompts)


def test_the_last_turn_is_for_writing_down_what_was_found() -> None:
    answers = [wants(("look", {"a": number})) for number in range(9)]
    result, provider, _ = run(*answers, turns=3)
    assert [tool.name for tool in provider.prompts[2].tools] == ["report"]
    assert provider.prompts[2].system == "LAST TURN"
    assert (result.ended, result.turns) == (Ended.TURNS_USED, 3)
    assert result.calls == 3


def test_the_evidence_budget_counts_reads_alone() -> None:
    calls = [("look", {"a": 1}), ("report", {"a": 1}), ("look", {"a": 2}), ("look", {"a": 3})]
    _, provider, _ = run(wants(*calls), says("."), evidence_calls=2)
    assert [code(each) for each in results(provider.prompts[1])] == [None, None, None, "evidence_budget_exhausted"]


def test_a_reminder_to_come_to_an_end_stands_beside_the_last_good_answer() -> None:
    calls = [("look", {"a": number}) for number in range(12)]
    _, provider, _ = run(wants(*calls, ("look", None)), says("."))
    noted = [each.call_id for each in results(provider.prompts[1]) if "COME TO AN END" in str(each.content)]
    assert noted == ["call00012"]


def test_a_cut_off_answer_is_asked_for_once_more_with_more_room() -> None:
    result, provider, _ = run(says("The estate is", Finish.LENGTH), says("All quiet."))
    assert provider.prompts[1].max_output_tokens == RECOVERY_OUTPUT
    assert provider.prompts[1].messages[-1] == UserMessage(text="SHORTER")
    assert result.ended is Ended.ANSWERED


def test_the_second_cut_off_answer_is_a_failure_and_never_an_all_clear() -> None:
    result, provider, _ = run(says("The estate is", Finish.LENGTH))
    assert (result.ended, len(provider.prompts)) == (Ended.FAILED, 2)
    assert result.failure is not None
    assert result.failure.cause is Cause.OUTPUT_LIMIT


def test_a_cut_off_answer_in_the_last_turn_is_still_asked_for_once() -> None:
    result, provider, _ = run(says("The estate is", Finish.LENGTH), says("Quiet."), turns=1)
    assert (result.ended, len(provider.prompts)) == (Ended.ANSWERED, 2)


LEAKED = '{"name": "look", "arguments": {"a": 1}}'


def test_a_call_written_as_text_is_no_call_and_no_answer_and_asked_for_once() -> None:
    result, provider, tools = run(says(LEAKED), wants(("look", {"a": 1})), says("Fine."))
    assert provider.prompts[1].messages[-1] == UserMessage(text="USE TOOLS")
    assert len(tools.log) == 2
    assert (result.ended, result.text.strip()) == (Ended.ANSWERED, "Fine.")


def test_a_model_that_only_writes_calls_as_text_cannot_use_tools() -> None:
    result, provider, tools = run(says(LEAKED))
    assert (result.ended, len(provider.prompts), tools.log) == (Ended.FAILED, 2, [])
    assert result.failure is not None
    assert result.failure.cause is Cause.TOOLS_IN_TEXT
    assert "look" not in result.text


def test_a_failure_keeps_what_was_done_by_then() -> None:
    gone = ModelError(Failure(cause=Cause.PROVIDER_CONNECTION, summary="It went away."))
    result, _, tools = run(wants(("report", {"a": 1}), text="I found something."), gone)
    assert (result.ended, result.calls, len(tools.log)) == (Ended.FAILED, 1, 2)
    assert result.text.strip() == "I found something."
    assert result.usage.output_tokens == 10
    assert result.failure is not None
    assert result.failure.cause is Cause.PROVIDER_CONNECTION


def test_an_opening_that_does_not_fit_is_the_callers_to_shorten() -> None:
    small = ModelError(Failure(cause=Cause.CONTEXT_WINDOW_TOO_SMALL, summary="Too long."))
    with pytest.raises(ModelError):
        run(small)


def test_the_budget_ends_it_before_the_next_request() -> None:
    none = BudgetRefusal(window=Window.DAY, unit=Unit.USD, spent=0, limit=0, expected=0.1, next_at=None)
    result, _, _ = run(wants(("look", {})), BudgetExceededError(none))
    assert (result.ended, result.refusal) == (Ended.BUDGET, "[budget] day_usd = 0: nothing may be spent on the model")
    assert result.failure is None


def test_the_deadline_ends_a_model_that_is_still_thinking() -> None:
    async def slow() -> PassResult:
        provider = ScriptedProvider(wants(("look", {"a": 1})), says("."), seconds=0.2)
        deadline = asyncio.get_running_loop().time() + 0.3
        return await Pass(provider, Tools(), WORDS, Bounds(turns=9, deadline=deadline)).run("OPENING")

    result = asyncio.run(slow())
    assert (result.ended, result.calls) == (Ended.DEADLINE, 1)
    assert result.failure is not None
    assert result.failure.cause is Cause.PHASE_TIMEOUT


def test_old_results_make_room_before_the_window_is_full() -> None:
    tools = Tools(look=lambda arguments: {"rows": ["x" * 100] * 20})
    answers = [wants(("look", {"type": "disks", "a": number}), first=number + 1) for number in range(20)]
    _, provider, _ = run(*answers, says("."), tools=tools, window=4_000, turns=30)
    for prompt in provider.prompts:
        size = sum(len(str(getattr(message, "content", message))) for message in prompt.messages)
        assert size / 4 < 4_000
        heard = {call.id for each in prompt.messages if isinstance(each, AssistantMessage) for call in each.calls}
        assert {each.call_id for each in results(prompt)} == heard
    assert any("compacted" in str(each.content) for each in results(provider.prompts[-1]))


def test_what_was_just_asked_for_is_shown_as_far_as_it_fits() -> None:
    tools = Tools(look=lambda arguments: {"rows": [f"{arguments['a']}" * 100] * 40})
    asked = [("look", {"type": "disks", "a": number}) for number in (1, 2, 3, 4)]
    _, provider, _ = run(wants(*asked), says("."), tools=tools, window=5_000, turns=9)
    shown = ["compacted" not in str(each.content) for each in results(provider.prompts[-1])]
    assert shown == [False, False, True, True]


def test_what_is_stored_is_what_was_streamed() -> None:
    streamed: list[str] = []
    provider = ScriptedProvider(
        wants(("look", {}), text="Looking around.\n"), says("<think>hm</think>All quiet."), says(".")
    )
    made = Pass(provider, Tools(), WORDS, Bounds(turns=5), on_text=streamed.append)
    result = asyncio.run(made.run("OPENING"))
    assert "".join(streamed) == result.text == "Looking around.\n\nAll quiet.\n\n"


def test_every_call_of_any_model_gets_exactly_one_result() -> None:
    odd = Reply(
        message=wants(("look", {"a": 1}), ("nothing", {}), ("look", None), ("look", {"a": 1})).message,
        usage=says("").usage,
        finish=Finish.STOP,
    )
    _, provider, _ = run(odd, says("."))
    assert [each.call_id for each in results(provider.prompts[1])] == [call.id for call in odd.message.calls]


def test_the_last_calls_and_their_results_stay_whatever_has_to_go() -> None:
    talk = Conversation("OPENING")
    for turn in range(3):
        talk.hear(AssistantMessage(text=f"turn {turn}"))
    last = wants(*(("look", {"a": number}) for number in range(9)))
    talk.hear(last.message)
    talk.answer([ToolResult(call_id=call.id, name="look", content="x") for call in last.message.calls])
    while talk.forget():
        pass
    assert talk.messages[0] == UserMessage(text="OPENING")
    assert talk.messages[1] == last.message
    assert len(talk.messages) == 11


def test_a_cut_off_answer_without_room_for_a_longer_one_is_told_as_that() -> None:
    tools = Tools(look=lambda arguments: "x" * 4_000)
    result, provider, _ = run(wants(("look", {})), says("y" * 10_000, Finish.LENGTH), tools=tools, window=6_400)
    assert (result.ended, len(provider.prompts)) == (Ended.FAILED, 2)
    assert result.failure is not None
    assert result.failure.cause is Cause.OUTPUT_LIMIT


def test_a_call_of_a_tool_that_this_pass_does_not_offer_is_no_text_either() -> None:
    result, provider, _ = run(says('Now: {"name": "not_offered_here", "arguments": {}} All clear.'), says("Fine."))
    assert provider.prompts[1].messages[-1] == UserMessage(text="USE TOOLS")
    assert "not_offered_here" not in result.text
