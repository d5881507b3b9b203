"""Whatever a server sends: an answer, or a failure with a cause. Never a bare exception of a library."""

import asyncio
import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patrol.agent.failure import Cause, ModelError
from patrol.agent.model import Provider, Reply
from patrol.agent.wire.opening import open_provider
from tests.agent.asking import FORMATS, Pauses, prompt, section
from tests.agent.wire_server import Answer, Ask, Call, ModelServer, Raw, Say, pieces_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
GOOD = Say("Some text.", (Call("look", {"at": "x"}),), thinking="Hm.", usage=(100, 20))


def spoilt(body: object, path: list[int], value: object) -> object:
    """The same document with one value in it replaced (or taken out, where the value is `...`)."""
    if not path or not isinstance(body, dict | list) or not body:
        return value
    keys = list(body) if isinstance(body, dict) else list(range(len(body)))
    key = keys[path[0] % len(keys)]
    below = spoilt(body[key], path[1:], value)
    if isinstance(body, list):
        return [each for index, each in enumerate([*body[:key], below, *body[key + 1 :]]) if each is not ...]
    return {name: below if name == key else each for name, each in body.items() if name != key or below is not ...}


SPOILS = st.tuples(st.lists(st.integers(0, 9), min_size=1, max_size=6), JSON | st.just(...))


def events(wire: str, *, stream: bool) -> list[bytes]:
    asked = Ask("/v1/messages" if wire == "anthropic" else "/v1/chat/completions", {}, {"model": "m", "stream": stream})
    pieces, tail = pieces_of(asked, GOOD)
    return [*pieces, *tail] if stream else [b"".join([*pieces, *tail])]


def spoil(event: bytes, path: list[int], value: object) -> bytes:
    name, data, body = event.rpartition(b"data: ")
    try:
        return name + data + json.dumps(spoilt(json.loads(body), path, value)).encode() + (b"\n\n" if data else b"")
    except ValueError:
        return event  # [DONE]


class Line:
    """A server and a provider that last for all examples."""

    def __init__(self) -> None:
        self.answer: Answer = Say("")
        self.server = ModelServer(lambda _asked: self.answer)
        self.runner = asyncio.Runner()
        self.providers: dict[tuple[str, bool], Provider] = {}

    def heard(self, answer: Answer, wire: str, *, streaming: bool) -> Reply | Cause:
        self.answer = answer
        provider = self.providers.get((wire, streaming))
        if provider is None:
            settings = section(self.server, wire, streaming=streaming)
            provider = self.providers[wire, streaming] = open_provider(settings, sleep=Pauses().sleep)
        try:
            return self.runner.run(provider.ask(prompt()))
        except ModelError as error:
            return error.failure.cause


@pytest.fixture(scope="module")
def line() -> Iterator[Line]:
    made = Line()
    with made.server:
        yield made
        for provider in made.providers.values():
            made.runner.run(provider.close())
        made.runner.close()


def check(heard: Reply | Cause) -> None:
    assert heard is not Cause.INTERNAL_ERROR
    if isinstance(heard, Reply):
        assert heard.message.text.strip() or heard.message.calls
        assert heard.usage.input_tokens >= 0
        json.dumps([call.arguments for call in heard.message.calls])


@given(wire=st.sampled_from(FORMATS), spoils=st.lists(st.tuples(st.integers(0, 30), SPOILS), min_size=1, max_size=3))
def test_a_spoilt_stream(line: Line, wire: str, spoils: list[tuple[int, tuple[list[int], object]]]) -> None:
    sent = events(wire, stream=True)
    for number, (path, value) in spoils:
        sent[number % len(sent)] = spoil(sent[number % len(sent)], path, value)
    check(line.heard(Raw(b"".join(sent), "text/event-stream"), wire, streaming=True))


@given(wire=st.sampled_from(FORMATS), spoils=st.lists(SPOILS, min_size=1, max_size=3))
def test_a_spoilt_answer(line: Line, wire: str, spoils: list[tuple[list[int], object]]) -> None:
    (body,) = events(wire, stream=False)
    for path, value in spoils:
        body = spoil(body, path, value)
    check(line.heard(Raw(body), wire, streaming=False))


@given(
    wire=st.sampled_from(FORMATS),
    body=st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()),
    content_type=st.sampled_from(["application/json", "text/event-stream", "text/html", "text/plain", ""]),
    streaming=st.booleans(),
)
def test_anything_at_all(line: Line, wire: str, body: bytes, content_type: str, *, streaming: bool) -> None:
    check(line.heard(Raw(body, content_type), wire, streaming=streaming))


@given(wire=st.sampled_from(FORMATS), order=st.permutations(range(9)), kept=st.integers(0, 9))
def test_a_stream_in_another_order(line: Line, wire: str, order: list[int], kept: int) -> None:
    sent = events(wire, stream=True)
    mixed = [sent[index] for index in order if index < len(sent)][:kept] + sent[9:]
    check(line.heard(Raw(b"".join(mixed), "text/event-stream"), wire, streaming=True))
