"""What a model is sent: a conversation in which calls and answers match, tools, and the choice of them."""

import json

import pytest

from patrol.agent.model import (
    AssistantMessage,
    Message,
    Prompt,
    ToolChoice,
    ToolRequest,
    ToolResult,
    UserMessage,
)
from patrol.agent.wire.history import LOST
from tests.agent.asking import FORMATS, ask, prompt, section
from tests.agent.wire_server import Ask, Call, ModelServer, Say, Status


def sent(question: Prompt, wire: str = "openai", model: str = "m") -> Ask:
    """The request as it arrived."""
    with ModelServer(Say("Yes.")) as server:
        ask(section(server, wire, model=model), question)
    return server.asks[0]


def request(number: int, **arguments: object) -> ToolRequest:
    return ToolRequest(id=f"call{number:05}", name="look", arguments=arguments)


def result(number: int, content: object, *, is_error: bool = False) -> ToolResult:
    return ToolResult(call_id=f"call{number:05}", name="look", content=content, is_error=is_error)


USER = UserMessage(text="Patrol.")
TWO_CALLS = AssistantMessage(text="Two looks.", calls=(request(1, at="a"), request(2, at="b")))


@pytest.mark.parametrize("wire", FORMATS)
def test_what_patrol_writes_is_the_system_s_word_and_tools_come_with_their_schema(wire: str) -> None:
    asked = sent(prompt(USER, system="You patrol."), wire)
    assert asked.tool_names == ["look"]
    assert "You patrol." in asked.text
    assert [one["role"] for one in asked.messages] == (["user"] if wire == "anthropic" else ["system", "user"])


@pytest.mark.parametrize("wire", FORMATS)
def test_the_whole_conversation_of_a_run_goes_back_and_forth(wire: str) -> None:
    def script(asked: Ask) -> Say:
        if asked.turn == 0:
            return Say("I look.", (Call("look", {"at": "a"}, "same"), Call("look", '{"at"', "same")), thinking="Hm.")
        return Say(f"I read {sorted(asked.results.values())}.")

    with ModelServer(script) as server:
        first = ask(section(server, wire))
        results = [
            ToolResult(call_id=call.id, name=call.name, content=content)
            for call, content in zip(first.message.calls, ({"n": 1}, "plain"), strict=True)
        ]
        second = ask(section(server, wire), prompt(USER, first.message, *results))
    assert second.message.text == "I read ['plain', '{\"n\":1}']."


@pytest.mark.parametrize("wire", FORMATS)
def test_the_content_of_a_result_becomes_json_once(wire: str) -> None:
    asked = sent(prompt(USER, TWO_CALLS, result(1, {"name": "é", "n": None}), result(2, "plain text")), wire)
    assert asked.results == {"call00001": '{"name":"é","n":null}', "call00002": "plain text"}


def test_anthropic_s_format_has_a_mark_for_errors() -> None:
    asked = sent(prompt(USER, TWO_CALLS, result(1, {"code": "no"}, is_error=True), result(2, "fine")), "anthropic")
    assert asked.results == {"call00001": '{"code":"no"}', "call00002": "fine"}
    assert asked.text.count('"is_error": true') == 1


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("unknown tool", '{"error":"unknown tool"}'),
        ({"code": "not_found"}, '{"error":{"code":"not_found"}}'),
        ({"error": {"code": "not_found"}}, '{"error":{"code":"not_found"}}'),
    ],
)
def test_elsewhere_an_error_says_that_it_is_one(content: object, told: str) -> None:
    asked = sent(prompt(USER, TWO_CALLS, result(1, content, is_error=True), result(2, "fine")))
    assert asked.results == {"call00001": told, "call00002": "fine"}


HISTORIES: dict[str, tuple[Message, ...]] = {
    "one result is missing": (USER, TWO_CALLS, result(1, "ok"), UserMessage(text="Go on.")),
    "all are missing": (USER, TWO_CALLS, UserMessage(text="Go on.")),
    "it ends with calls": (USER, TWO_CALLS),
    "results in another order": (USER, TWO_CALLS, result(2, "ok"), result(1, "ok")),
    "one result twice": (USER, TWO_CALLS, result(1, "ok"), result(1, "again"), result(2, "ok")),
    "a result of nothing": (USER, result(9, "whose"), TWO_CALLS, result(1, "ok"), result(2, "ok")),
    "a result behind a later message": (USER, TWO_CALLS, UserMessage(text="So?"), result(1, "ok"), result(2, "ok")),
    "neighbouring words of the user": (USER, UserMessage(text="And now."), UserMessage(text="Go.")),
    "empty words": (UserMessage(text=""), USER, AssistantMessage(text="  "), UserMessage(text="Go.")),
}


@pytest.mark.parametrize("wire", FORMATS)
@pytest.mark.parametrize("name", HISTORIES)
def test_each_call_has_exactly_one_answer_right_behind_it(name: str, wire: str) -> None:
    asked = sent(prompt(*HISTORIES[name]), wire)
    open_calls: list[str] = []
    for one in asked.messages:
        if one["role"] == "tool":
            open_calls.remove(one["tool_call_id"])
            continue
        blocks = one["content"] if isinstance(one["content"], list) else []
        for block in blocks:
            if block["type"] == "tool_result":
                open_calls.remove(block["tool_use_id"])
        assert open_calls == []
        open_calls += [call["id"] for call in one.get("tool_calls") or ()]
        open_calls += [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert open_calls == []


def test_a_lost_answer_is_told_as_lost() -> None:
    asked = sent(prompt(*HISTORIES["one result is missing"]))
    assert asked.results["call00001"] == "ok"
    assert LOST in asked.results["call00002"]


@pytest.mark.parametrize("wire", FORMATS)
def test_roles_take_turns_where_the_format_wants_it(wire: str) -> None:
    asked = sent(prompt(*HISTORIES["neighbouring words of the user"]), wire)
    roles = [one["role"] for one in asked.messages if one["role"] != "system"]
    assert wire == "openai" or roles == ["user"]


@pytest.mark.parametrize("wire", FORMATS)
@pytest.mark.parametrize("choice", ToolChoice)
def test_the_choice_of_tools_is_said_in_the_format_s_words(choice: ToolChoice, wire: str) -> None:
    asked = sent(prompt(USER, choice=choice), wire)
    told = asked.body.get("tool_choice")
    if wire == "anthropic":
        assert told == {"type": "any" if choice is ToolChoice.REQUIRED else choice.value}
    else:
        assert told == choice.value


def test_ollama_sees_no_tools_that_it_must_not_call() -> None:
    asked = sent(prompt(USER, choice=ToolChoice.NONE), "ollama")
    assert asked.tool_names == []


@pytest.mark.parametrize("wire", FORMATS)
def test_without_tools_no_choice_is_sent(wire: str) -> None:
    asked = sent(prompt(USER, tools=(), choice=ToolChoice.REQUIRED), wire)
    assert "tool_choice" not in asked.body


@pytest.mark.parametrize("wire", FORMATS)
def test_a_choice_that_is_rejected_has_its_own_cause(wire: str) -> None:
    refused = Status(400, {"error": {"message": "This model does not support this tool_choice", "type": "invalid"}})
    with ModelServer(refused) as server, pytest.raises(Exception, match="tool_choice_rejected"):
        ask(section(server, wire), prompt(USER, choice=ToolChoice.REQUIRED))


@pytest.mark.parametrize("wire", FORMATS)
def test_the_allowance_for_output_is_sent(wire: str) -> None:
    assert sent(prompt(USER), wire).body["max_tokens"] == 2048


@pytest.mark.parametrize("model", ["google/some-model", "library/qwen3:8b", "a/b:c/d"])
def test_the_name_goes_unchanged_to_the_address_that_is_set(model: str) -> None:
    asked = sent(prompt(USER), "openai", model=model)
    assert (asked.model, asked.path) == (model, "/v1/chat/completions")


@pytest.mark.parametrize("wire", FORMATS)
def test_arguments_that_could_not_be_read_go_back_as_none_at_all(wire: str) -> None:
    with ModelServer(Say("", (Call("look at!", '{"at": [', "x"),))) as server:
        first = ask(section(server, "openai"))
    asked = sent(prompt(USER, first.message, result(1, "no JSON", is_error=True)), wire)
    history = json.dumps(asked.messages)
    assert '{\\"at\\": [' not in history
    assert "look_at_" in history
