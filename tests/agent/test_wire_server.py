import json
import time
from http.client import HTTPConnection, IncompleteRead
from urllib.parse import urlsplit

import pytest

from tests.agent.wire_server import HTML, Ask, Break, Call, How, ModelServer, Point, Say, Status, in_turn


def post(server: ModelServer, path: str, body: dict[str, object]) -> tuple[int, str, bytes]:
    connection = HTTPConnection(urlsplit(server.address).netloc, timeout=5)
    try:
        connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
        reply = connection.getresponse()
        return reply.status, reply.headers["content-type"], reply.read()
    finally:
        connection.close()


CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}


def test_it_says_what_its_script_says_and_keeps_the_request() -> None:
    def script(ask: Ask) -> Say:
        return Say("One.") if ask.turn == 0 else Say("Two.")

    with ModelServer(script) as server:
        _, _, body = post(server, "/v1/chat/completions", CHAT)
    message = json.loads(body)["choices"][0]["message"]
    assert (message["content"], server.asks[0].messages) == ("One.", CHAT["messages"])


def test_a_streamed_answer_in_openai_s_form_ends_with_done() -> None:
    with ModelServer(Say("A few words", calls=(Call("look", {"at": "disk"}),))) as server:
        _, content_type, body = post(server, "/v1/chat/completions", {**CHAT, "stream": True})
    assert content_type == "text/event-stream"
    assert body.endswith(b"data: [DONE]\n\n")


def test_a_streamed_answer_in_anthropic_s_form_ends_with_message_stop() -> None:
    with ModelServer(Say("A few words")) as server:
        _, _, body = post(server, "/v1/messages", {**CHAT, "stream": True})
    assert b"event: message_stop" in body


def test_answers_come_in_turn_and_the_last_one_stays() -> None:
    with ModelServer(in_turn(Status(503), HTML)) as server:
        statuses = [post(server, "/v1/chat/completions", CHAT)[0] for _ in range(3)]
    assert statuses == [503, 200, 200]


@pytest.mark.parametrize("at", [Point.HEADERS, Point.FIRST, Point.MIDDLE, Point.HALF_CHUNK, Point.END])
def test_a_broken_answer_is_cut(at: Point) -> None:
    with ModelServer(Break(at)) as server, pytest.raises(IncompleteRead):
        post(server, "/v1/chat/completions", {**CHAT, "stream": True})


def test_stopping_ends_what_hangs() -> None:
    with ModelServer(Break(Point.FIRST, How.HANG)) as server:
        connection = HTTPConnection(urlsplit(server.address).netloc, timeout=5)
        connection.request("POST", "/v1/chat/completions", json.dumps({**CHAT, "stream": True}))
        assert connection.getresponse().status == 200
        began = time.monotonic()
    assert time.monotonic() - began < 1
    connection.close()


def test_a_script_that_fails_fails_the_test() -> None:
    def script(_ask: Ask) -> Say:
        raise LookupError("no such answer")

    with pytest.raises(LookupError), ModelServer(script) as server, pytest.raises(ConnectionError):
        post(server, "/v1/chat/completions", CHAT)
