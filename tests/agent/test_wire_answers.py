"""What a model says, from the bytes on the wire to Patrol's own words."""

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from patrol.agent.failure import Cause, ModelError
from patrol.agent.model import Finish, Reply, ToolResult, UserMessage
from patrol.agent.wire.characters import WholeText
from patrol.agent.wire.opening import open_provider
from patrol.agent.wire.provider import provider_of
from patrol.agent.wire.replies import CallIds, arguments_of
from patrol.agent.wire.thoughts import SpokenText, without_thoughts
from tests.agent.asking import FORMATS, ask, converse, prompt, refusal, section
from tests.agent.wire_server import Ask, Call, ModelServer, Raw, Say, in_turn

WAYS = pytest.mark.parametrize(("wire", "streaming"), [(wire, mode) for wire in FORMATS for mode in (True, False)])


def said(answer: Say | Raw, wire: str = "openai", *, streaming: bool = True) -> Reply:
    with ModelServer(answer) as server:
        return ask(section(server, wire, streaming=streaming))


def said_or_refused(answer: Raw, wire: str, *, streaming: bool) -> Reply | Cause:
    try:
        return said(answer, wire, streaming=streaming)
    except ModelError as error:
        return error.failure.cause


@WAYS
def test_text_calls_tokens_and_the_end_come_through(wire: str, *, streaming: bool) -> None:
    calls = (Call("look", {"at": "vm:lab:101"}, "a"), Call("look", {"at": "disk:x"}, "b"))
    reply = said(Say("Looking at two.", calls, usage=(900, 40), cached=300), wire, streaming=streaming)
    assert reply.message.text == "Looking at two."
    assert [(call.name, call.arguments) for call in reply.message.calls] == [
        ("look", {"at": "vm:lab:101"}),
        ("look", {"at": "disk:x"}),
    ]
    # Anthropic counts what was cached beside its input, OpenAI within.
    sent = 1200 if wire == "anthropic" else 900
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cached_tokens) == (sent, 40, 300)
    assert (reply.finish, reply.usage.reported, reply.model) == (Finish.TOOL_CALLS, True, "m")


@WAYS
def test_thinking_is_no_text(wire: str, *, streaming: bool) -> None:
    assert said(Say("All well.", thinking="Hm, hm."), wire, streaming=streaming).message.text == "All well."


@pytest.mark.parametrize("wire", FORMATS)
def test_text_is_told_as_it_comes(wire: str) -> None:
    heard: list[str] = []
    with ModelServer(Say("one two three four", thinking="not this")) as server:
        ask(section(server, wire), on_text=heard.append)
    assert "".join(heard) == "one two three four"
    assert len(heard) > 1


@pytest.mark.parametrize("wire", FORMATS)
def test_an_answer_that_comes_whole_is_told_as_well(wire: str) -> None:
    heard: list[str] = []
    with ModelServer(Say("<think>not this</think>one two", thinking="nor this")) as server:
        ask(section(server, wire, streaming=False), on_text=heard.append)
    assert heard == ["one two"]


@WAYS
def test_half_a_character_is_neither_told_nor_sent_back(wire: str, *, streaming: bool) -> None:
    heard: list[str] = []
    halves = Say("half \ud83d here", (Call("look", '{"at": "\\ud800"}'), Call("look", {"at": "x"})), usage=(90, 9))
    with ModelServer(in_turn(halves, Say("Done."))) as server:
        settings = section(server, wire, streaming=streaming)
        reply = ask(settings, on_text=heard.append)
        assert "".join(heard) == reply.message.text == "half \ufffd here"
        assert [call.arguments for call in reply.message.calls] == [None, {"at": "x"}]
        assert "half of a character" in reply.message.calls[0].problem
        results = [ToolResult(call_id=call.id, name="look", content="?") for call in reply.message.calls]
        assert ask(settings, prompt(UserMessage(text="Go on."), reply.message, *results)).message.text == "Done."


def test_halves_that_come_one_by_one_are_one_character() -> None:
    taken = WholeText()
    pieces = [taken.feed("so \ud83d"), taken.feed("\ude00 and \ud83d"), taken.feed("!"), taken.feed("\ud83d")]
    assert [*pieces, taken.finish()] == ["so ", "\U0001f600 and ", "\ufffd!", "", "\ufffd"]


@WAYS
def test_ids_of_calls_are_minted_whatever_came(wire: str, *, streaming: bool) -> None:
    same = Call("look", {"at": "x"}, "same")
    reply = said(Say("", (same, same, Call("look", {}, ""), *[same] * 9)), wire, streaming=streaming)
    ids = [call.id for call in reply.message.calls]
    assert len(set(ids)) == len(ids) == 12
    assert all(len(one) == 9 and one.isalnum() for one in ids)


def test_ids_stay_different_over_the_life_of_a_provider() -> None:
    mint = CallIds(minted=36**3).mint
    ids = [mint() for _ in range(100)]
    assert len(set(ids)) == 100
    assert all(len(one) == 9 and one.isalnum() for one in ids)


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize(
    ("raw", "arguments"),
    [
        ('{"vmid": 101}', {"vmid": 101}),
        ("", {}),
        (None, {}),
        ("null", {}),
        ('{"vmid": 101,', None),
        ("[101]", None),
        ("101", None),
        ('"text"', None),
        ("true", None),
        ('{"a": NaN}', None),
        ({"vmid": 101}, {"vmid": 101}),
    ],
)
def test_arguments_are_an_object_or_a_problem(raw: object, arguments: object, *, streaming: bool) -> None:
    answer = Say("", (Call("look", raw),))
    (call,) = said(answer, streaming=streaming).message.calls
    assert call.arguments == arguments
    assert bool(call.problem) is (arguments is None)


@pytest.mark.parametrize("raw", [[101], 101, "text", None])
def test_arguments_that_anthropic_s_format_does_not_allow_end_no_run(raw: object) -> None:
    (call,) = said(Say("", (Call("look", raw),)), "anthropic", streaming=False).message.calls
    assert (call.arguments is None) is (raw is not None)


def test_a_problem_echoes_little_of_what_came() -> None:
    _, problem = arguments_of('{"a": "' + "x" * 100_000)
    assert len(problem) < 400


@given(st.one_of(st.none(), st.text(), st.recursive(st.none() | st.floats() | st.text(), st.lists)))
def test_any_arguments_are_an_object_or_a_problem(raw: object) -> None:
    arguments, problem = arguments_of(raw)
    assert (arguments is None) is bool(problem)


@pytest.mark.parametrize(
    ("finish", "expected"),
    [("stop", Finish.STOP), ("length", Finish.LENGTH), ("content_filter", Finish.FILTERED), ("because", Finish.OTHER)],
)
def test_reasons_for_the_end_are_mapped(finish: str, expected: Finish) -> None:
    assert said(Say("text", finish=finish)).finish is expected


def test_a_server_that_says_stop_and_calls_means_calls() -> None:
    assert said(Say("", (Call("look"),), finish="stop")).finish is Finish.TOOL_CALLS


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("usage", [None, (-5, 3), (float("nan"), 3), ("12", 3), (0, 0)])
def test_tokens_that_were_not_told_are_estimated(usage: tuple[object, object] | None, *, streaming: bool) -> None:
    used = said(Say("four words of text", usage=usage), streaming=streaming).usage
    assert not used.reported
    assert 20 < used.input_tokens < 200
    assert 3 <= used.output_tokens <= 10


def test_reasoning_tokens_are_part_of_the_output() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 50, "completion_tokens_details": {"reasoning_tokens": 40}}
    choice = {"message": {"content": "x"}, "finish_reason": "stop"}
    body = json.dumps({"choices": [choice], "usage": usage}).encode()
    used = said(Raw(body), streaming=False).usage
    assert (used.output_tokens, used.reasoning_tokens, used.reported) == (50, 40, True)


# Thinking between tags, in the text itself.


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("<think>Hm.</think>All well.", "All well."),
        ("\n<think>\nHm.\n</think>\n\nAll well.", "All well."),
        ("<think></think>All well.", "All well."),
        ("<think>never ended", ""),
        ("Hm, so.\n</think>\n\nAll well.", "All well."),
        ("All well, says <think>.", "All well, says <think>."),
        ("All < well", "All < well"),
        ("<thinking>a</thinking><think>b</think>c", "c"),
    ],
)
def test_thinking_between_tags_is_taken_out(text: str, spoken: str) -> None:
    assert without_thoughts(text) == spoken
    assert said(Say(text + " ", pieces=9), streaming=True).message.text.strip() == spoken if spoken else True


@example(["<think>", "<think>", "</think>", "</think>"])
@given(
    st.lists(st.sampled_from(["<think>", "</think>", "<th", "ink>", "a", " ", "\n", "<", "word"]), max_size=12),
)
def test_pieces_say_what_the_whole_says(pieces: list[str]) -> None:
    spoken = SpokenText()
    heard = "".join([*(spoken.feed(piece) for piece in pieces), spoken.finish()])
    whole = "".join(pieces)
    if "</think>" not in without_thoughts(whole) and whole.count("</think>") <= whole.count("<think>"):
        assert heard.strip() == without_thoughts(whole).strip() or "<think>" in heard


# Odd answers that real servers gave.

ODD = {
    "no usage, no id": (
        {"model": "m", "choices": [{"message": {"role": "assistant", "content": "Works"}, "finish_reason": "stop"}]},
        "Works",
        [],
    ),
    "a call without an id": (
        {
            "model": "m",
            "choices": [
                {
                    "message": {
                        "role": "assistant",
                        "tool_calls": [{"type": "function", "function": {"name": "look", "arguments": '{"at":"x"}'}}],
                    },
                    "finish_reason": "tool_calls",
                }
            ],
        },
        "",
        [{"at": "x"}],
    ),
    "a call without arguments and role": (
        {
            "choices": [
                {
                    "message": {"tool_calls": [{"id": "toolu_1", "index": 0, "function": {"name": "look"}}]},
                    "finish_reason": "tool_calls",
                    "logprobs": None,
                }
            ],
            "provider": "Google",
        },
        "",
        [{}],
    ),
    "reasoning beside a call": (
        {
            "model": "m",
            "choices": [
                {
                    "message": {
                        "reasoning_content": "checked",
                        "tool_calls": [
                            {"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"at":'}}
                        ],
                    },
                    "finish_reason": "tool_calls",
                }
            ],
            "usage": {"prompt_tokens": 5, "completion_tokens": 7},
        },
        "",
        [None],
    ),
    "content in parts": (
        {"choices": [{"message": {"content": [{"type": "text", "text": "In parts"}]}, "finish_reason": "stop"}]},
        "In parts",
        [],
    ),
    "no reason for the end": ({"choices": [{"message": {"content": "Done"}}]}, "Done", []),
    "arguments as an object": (
        {
            "choices": [
                {
                    "message": {"tool_calls": [{"function": {"name": "look", "arguments": {"ok": True}}}]},
                    "finish_reason": "stop",
                }
            ]
        },
        "",
        [{"ok": True}],
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_answers_are_read_where_it_is_clear_what_they_say(name: str) -> None:
    body, text, arguments = ODD[name]
    reply = said(Raw(json.dumps(body).encode()), streaming=False)
    assert reply.message.text == text
    assert [call.arguments for call in reply.message.calls] == arguments


def test_reasoning_alone_is_an_empty_answer() -> None:
    body = {"choices": [{"message": {"role": "assistant", "reasoning": "We need to look."}, "finish_reason": "stop"}]}
    with ModelServer(Raw(json.dumps(body).encode())) as server:
        error = refusal(section(server, streaming=False))
    assert error.failure.cause is Cause.EMPTY_ANSWER


def test_a_stream_that_says_done_and_no_reason_is_complete() -> None:
    deltas = [
        {"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": "look", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"loc'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": 'ation":"NYC"}'}}]},
    ]
    events = [f"data: {json.dumps({'id': 'x', 'choices': [{'delta': delta}]})}\n\n" for delta in deltas]
    reply = said(Raw("".join([*events, "data: [DONE]\n\n"]).encode(), "text/event-stream"))
    assert [call.arguments for call in reply.message.calls] == [{"location": "NYC"}]


def test_calls_that_all_have_the_number_zero_stay_apart() -> None:
    calls = [
        {"index": 0, "id": one, "type": "function", "function": {"name": "look", "arguments": f'{{"at":"{one}"}}'}}
        for one in ("a", "b", "c")
    ]
    events = [f"data: {json.dumps({'id': 'x', 'choices': [{'delta': {'tool_calls': [call]}}]})}\n\n" for call in calls]
    reply = said(Raw("".join([*events, "data: [DONE]\n\n"]).encode(), "text/event-stream"))
    assert [call.arguments for call in reply.message.calls] == [{"at": "a"}, {"at": "b"}, {"at": "c"}]


def test_google_s_format_is_spoken_as_well() -> None:
    parts = [{"text": "Hi"}, {"functionCall": {"name": "look", "args": {"at": "x"}}}]
    page = {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
    }
    with ModelServer(Say(""), pages={"/v1beta/models/gemini-x:generateContent": page}) as server:
        reply = ask(section(server.address, "google", model="gemini-x", streaming=False, silence=9.0))
        missing = refusal(section(server.address, "google", model="nope", streaming=False, silence=9.0))
    assert (reply.message.text, reply.message.calls[0].arguments, reply.usage.total) == ("Hi", {"at": "x"}, 15)
    assert missing.failure.cause is Cause.PROVIDER_NOT_CONFIGURED


def test_every_recorded_answer_is_read_or_refused_with_a_cause(shared: Path) -> None:
    """Real captures of many providers: no bare exception of a library ever comes through."""
    captures = sorted((shared / "data" / "llm").iterdir())
    assert captures
    for path in captures:
        stream = path.suffix == ".sse"
        answer = Raw(path.read_bytes(), "text/event-stream" if stream else "application/json")
        for wire in FORMATS:
            heard = said_or_refused(answer, wire, streaming=stream)
            assert heard is not Cause.INTERNAL_ERROR, path.name
            assert isinstance(heard, Cause) or heard.message.text or heard.message.calls, path.name


# Any model of the library.


def test_a_model_of_the_library_is_treated_like_a_real_one() -> None:
    def answer(_messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        call = ToolCallPart(info.function_tools[0].name, "[1]", tool_call_id="x")
        return ModelResponse(parts=[TextPart("Looking."), call])

    provider = provider_of(FunctionModel(answer), streaming=False, window=8_000)
    reply = asyncio.run(converse(provider, prompt()))
    assert (reply.message.text, reply.message.calls[0].arguments) == ("Looking.", None)
    assert provider.window == 8_000


def test_requests_at_the_same_time_do_not_mix() -> None:
    def script(asked: Ask) -> Say:
        return Say(f"about {asked.messages[-1]['content']}", pieces=6, pause_seconds=0.01)

    async def both() -> list[Reply]:
        with ModelServer(script) as server:
            provider = open_provider(section(server))
            try:
                asks = [provider.ask(prompt(UserMessage(text=str(number)))) for number in range(5)]
                return list(await asyncio.gather(*asks))
            finally:
                await provider.close()

    assert [reply.message.text for reply in asyncio.run(both())] == [f"about {number}" for number in range(5)]
