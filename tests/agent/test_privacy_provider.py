"""A model behind the shroud: nothing of the house goes out, and what comes back is in its words."""

import asyncio
import json
from collections.abc import Callable

import pytest

from patrol.agent.model import (
    AssistantMessage,
    Finish,
    Prompt,
    Reply,
    ToolRequest,
    ToolResult,
    Usage,
    UserMessage,
)
from patrol.agent.privacy import Shroud, ShroudedProvider
from patrol.agent.privacy.provider import TextStream
from patrol.estate.model import Estate, Resource, ResourceType
from patrol.settings.values import Privacy

ESTATE = Estate(
    resources=[Resource(id="vm:pve-lab:101", type=ResourceType.VM, name="café", addresses=["10.0.0.5"])],
)


class Listener:
    """A provider that keeps what it is told, and answers what it was given."""

    name = "listener:one"
    window = 4_096

    def __init__(self, reply: AssistantMessage, pieces: tuple[str, ...] = ()) -> None:
        self.reply = reply
        self.pieces = pieces
        self.heard: list[Prompt] = []

    async def ask(self, prompt: Prompt, *, on_text: Callable[[str], None] = lambda _text: None) -> Reply:
        self.heard.append(prompt)
        for piece in self.pieces:
            on_text(piece)
        return Reply(message=self.reply, usage=Usage(), finish=Finish.STOP)

    async def close(self) -> None:
        self.heard.clear()


def asked(listener: Listener, prompt: Prompt) -> tuple[Reply, str]:
    told: list[str] = []
    provider = ShroudedProvider(listener, Shroud.of(ESTATE, Privacy.PSEUDONYMS))
    reply = asyncio.run(provider.ask(prompt, on_text=told.append))
    return reply, "".join(told)


def test_nothing_of_the_house_goes_out_and_the_answer_is_in_its_words() -> None:
    calls = (ToolRequest(id="abc123def", name="pulse_query", arguments={"resource_id": "vm:pve-lab:101"}),)
    prompt = Prompt(
        system="You look after a house.",
        messages=[
            UserMessage(text="café at 10.0.0.5 is slow"),
            AssistantMessage(text="I look at café", calls=calls, raw=("kept",)),
            ToolResult(call_id="abc123def", name="pulse_query", content={"vm:pve-lab:101": {"name": "café"}}),
            ToolResult(call_id="abc123deg", name="pulse_query", content=json.dumps({"name": "café", "at": "x\ncafé"})),
            ToolResult(call_id="abc123deh", name="pulse_query", content="{broken: café", is_error=True),
        ],
    )
    answer = AssistantMessage(
        text="guest-1 is slow",
        calls=(ToolRequest(id="x" * 9, name="pulse_query", arguments={"resource_id": "vm:origin-1:guest-1"}),),
        raw="as it came",
    )
    listener = Listener(answer)
    reply, _ = asked(listener, prompt)
    heard = listener.heard[0]
    assert heard.system == prompt.system
    assert "caf" not in repr(heard.messages)
    assert "10.0.0.5" not in repr(heard.messages)
    assert "pve-lab" not in repr(heard.messages)
    said = heard.messages[1]
    assert isinstance(said, AssistantMessage)
    assert said.raw == ("kept",)
    assert reply.message.text == "café is slow"
    assert reply.message.raw == "as it came"
    assert reply.message.calls[0].arguments == {"resource_id": "vm:pve-lab:101"}


def test_broken_arguments_stay_broken_and_their_problem_is_told_in_the_words_of_the_house() -> None:
    request = ToolRequest(id="x" * 9, name="pulse_query", arguments=None, problem="no object: guest-1")
    reply, _ = asked(Listener(AssistantMessage(text="", calls=(request,))), Prompt(system="", messages=[]))
    assert reply.message.calls[0].arguments is None
    assert reply.message.calls[0].problem == "no object: café"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
def test_text_that_comes_in_pieces_is_the_same_as_in_one(size: int) -> None:
    text = "vm:origin-1:guest-1 (guest-1's), guest-12, xguest-1, éguest-1: guest-1b. addr-1! 中guest-1 guest-1"
    shroud = Shroud.of(ESTATE, Privacy.PSEUDONYMS)
    told: list[str] = []
    stream = TextStream(shroud, told.append)
    for start in range(0, len(text), size):
        stream.feed(text[start : start + size])
    stream.close()
    assert "".join(told) == shroud.text_in(text)


def test_only_what_may_be_a_pseudonym_waits() -> None:
    told: list[str] = []
    stream = TextStream(Shroud.of(ESTATE, Privacy.PSEUDONYMS), told.append)
    stream.feed("all is well, gue")
    assert told == ["all is well, "]
    stream.feed("st-1 ")
    assert told == ["all is well, ", "café "]


def test_a_word_without_end_does_not_wait_for_ever() -> None:
    told: list[str] = []
    stream = TextStream(Shroud.of(ESTATE, Privacy.PSEUDONYMS), told.append)
    stream.feed("x" * 10_000)
    assert len("".join(told)) > 9_000
    stream.close()
    assert "".join(told) == "x" * 10_000


def test_name_and_window_are_those_of_the_model_behind() -> None:
    listener = Listener(AssistantMessage(text=""))
    provider = ShroudedProvider(listener, Shroud.of(ESTATE, Privacy.PSEUDONYMS))
    assert (provider.name, provider.window) == ("listener:one", 4_096)
    listener.heard.append(Prompt(system="", messages=[]))
    asyncio.run(provider.close())
    assert listener.heard == []
