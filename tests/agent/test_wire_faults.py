"""What can go wrong on the wire: each fault has its cause, and nothing that may have been charged is asked twice."""

import traceback

import httpx2
import pytest

from patrol.agent.failure import Cause, ModelError
from patrol.agent.model import Usage
from patrol.agent.wire.watch import place_of
from tests.agent.asking import FORMATS, KEY, Pauses, ask, refusal, section
from tests.agent.wire_server import (
    HTML,
    REFUSALS,
    Answer,
    Break,
    How,
    ModelServer,
    Point,
    Raw,
    Say,
    Status,
    closed_port,
    in_turn,
)

MODES = [pytest.param(True, id="streamed"), pytest.param(False, id="whole")]
WAYS = pytest.mark.parametrize(("wire", "streaming"), [(wire, mode) for wire in FORMATS for mode in (True, False)])


def failed(answer: Answer, wire: str = "openai", *, streaming: bool = True, silence: float = 5.0) -> ModelError:
    """The error of an answer that may be asked for only once."""
    with ModelServer(answer) as server:
        error = refusal(section(server, wire, streaming=streaming, silence=silence))
    assert len(server.asks) == 1
    return error


REFUSED = {
    "auth": Cause.PROVIDER_AUTH,
    "forbidden": Cause.PROVIDER_AUTH,
    "billing": Cause.PROVIDER_BILLING,
    "quota": Cause.PROVIDER_BILLING,
    "no model": Cause.MODEL_UNAVAILABLE,
    "no tools": Cause.MODEL_UNSUPPORTED_TOOLS,
    "no endpoint": Cause.NO_TOOL_CAPABLE_ENDPOINT,
    "too long": Cause.CONTEXT_WINDOW_TOO_SMALL,
}


@WAYS
@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_that_stays_is_asked_once_and_costs_nothing(name: str, wire: str, *, streaming: bool) -> None:
    error = failed(REFUSALS[name], wire, streaming=streaming)
    assert (error.failure.cause, error.usage) == (REFUSED[name], Usage())
    assert not error.failure.temporary


PASSING = {
    "rate": Cause.PROVIDER_RATE_LIMITED,
    "broken": Cause.PROVIDER_ERROR,
    "bad gateway": Cause.PROVIDER_ERROR,
    "unavailable": Cause.PROVIDER_OVERLOADED,
    "overloaded": Cause.PROVIDER_OVERLOADED,
}


@pytest.mark.parametrize("wire", FORMATS)
@pytest.mark.parametrize("name", PASSING)
def test_a_refusal_that_passes_is_asked_again(name: str, wire: str) -> None:
    with ModelServer(in_turn(REFUSALS[name], REFUSALS[name], Say("Here I am."))) as server:
        reply = ask(section(server, wire))
    assert (reply.message.text, len(server.asks)) == ("Here I am.", 3)


@pytest.mark.parametrize("name", PASSING)
def test_three_tries_are_all_there_are(name: str) -> None:
    with ModelServer(REFUSALS[name]) as server:
        error = refusal(section(server))
    assert len(server.asks) == 3
    assert (error.failure.cause, error.failure.temporary, error.usage) == (PASSING[name], True, Usage())


def test_pauses_grow_and_are_never_shorter_than_the_provider_asks_for() -> None:
    pauses = Pauses()
    with ModelServer(in_turn(REFUSALS["broken"], Status(429, {}, retry_after="7"), Say("Yes."))) as server:
        ask(section(server), pauses=pauses)
    assert pauses.slept == [0.75, 7.0]


def test_a_provider_that_wants_an_hour_is_left_alone_at_once() -> None:
    pauses = Pauses()
    with ModelServer(REFUSALS["rate for an hour"]) as server:
        error = refusal(section(server), pauses=pauses)
    assert (len(server.asks), pauses.slept) == (1, [])
    assert (error.failure.cause, error.failure.retry_after) == (Cause.PROVIDER_RATE_LIMITED, 3600.0)


def test_nothing_is_waited_for_that_comes_after_the_model_s_time() -> None:
    with ModelServer(Status(429, {}, retry_after="20")) as server:
        error = refusal(section(server), remaining=lambda: 19.0)
    assert (len(server.asks), error.failure.cause) == (1, Cause.PROVIDER_RATE_LIMITED)


def test_a_provider_that_is_not_there_is_tried_three_times_and_costs_nothing() -> None:
    pauses = Pauses()
    error = refusal(section(closed_port()), pauses=pauses)
    assert (error.failure.cause, error.usage) == (Cause.PROVIDER_CONNECTION, Usage())
    assert len(pauses.slept) == 2
    assert "refused" in error.failure.detail.lower() or "attempts failed" in error.failure.detail.lower()


def test_a_name_that_nobody_knows_is_a_connection_that_cannot_be_made() -> None:
    assert refusal(section("http://nowhere.invalid/v1")).failure.cause is Cause.PROVIDER_CONNECTION


@pytest.mark.parametrize("wire", FORMATS)
def test_whoever_cannot_be_reached_is_named_and_nobody_else(wire: str) -> None:
    address = closed_port()
    port = address.split(":")[2].split("/")[0]
    error = refusal(section(address, wire))
    assert error.failure.detail.startswith(f"127.0.0.1:{port}: ")
    assert KEY not in error.failure.detail


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("https://someone:hush@models.lan/v1?key=hush", "models.lan:443"),
        ("http://models.lan", "models.lan:80"),
        ("http://[::1]:8080/v1", "[::1]:8080"),
    ],
)
def test_a_place_is_a_host_and_a_port(address: str, place: str) -> None:
    assert place_of(httpx2.URL(address)) == place


@WAYS
@pytest.mark.parametrize("how", [How.CLOSE, How.RESET])
@pytest.mark.parametrize("at", Point)
def test_a_connection_that_ends_early_is_not_asked_again_and_is_charged(
    at: Point, how: How, wire: str, *, streaming: bool
) -> None:
    error = failed(Break(at, how), wire, streaming=streaming)
    begun = at not in {Point.REQUEST, Point.HEADERS}
    assert error.failure.cause is (Cause.ANSWER_CUT_OFF if begun else Cause.PROVIDER_CONNECTION)
    if begun:
        assert error.usage is not None
        assert (error.usage.reported, error.usage.input_tokens > 20) == (False, True)
    else:
        assert error.usage is None  # nobody knows what it cost, which is not nothing


@pytest.mark.parametrize("wire", FORMATS)
@pytest.mark.parametrize("at", [Point.FIRST, Point.MIDDLE, Point.HALF_CHUNK, Point.END])
def test_a_stream_without_its_end_is_cut_off_however_well_it_ended(at: Point, wire: str) -> None:
    assert failed(Break(at, How.FINISH), wire).failure.cause is Cause.ANSWER_CUT_OFF


@pytest.mark.parametrize("wire", FORMATS)
@pytest.mark.parametrize("at", [Point.REQUEST, Point.HEADERS, Point.FIRST, Point.MIDDLE])
def test_silence_ends_in_a_timeout_that_is_not_asked_again(at: Point, wire: str) -> None:
    error = failed(Break(at, How.HANG), wire, silence=0.2)
    assert error.failure.cause is Cause.PROVIDER_TIMEOUT
    assert (error.usage is None) is (at in {Point.REQUEST, Point.HEADERS})


def test_what_was_heard_before_a_cut_is_charged_as_output() -> None:
    error = failed(Break(Point.END, How.CLOSE, Say("word " * 400)))
    assert error.usage is not None
    assert error.usage.output_tokens == 500


def test_a_slow_answer_is_no_silence() -> None:
    with ModelServer(Say("slow but steady", pieces=8, pause_seconds=0.1)) as server:
        assert ask(section(server, silence=0.4)).message.text == "slow but steady"


@WAYS
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(HTML, id="a page"),
        pytest.param(Raw(b'{"pathname": "/bin"}'), id="other json"),
        pytest.param(Raw(b'{"id": '), id="broken json"),
        pytest.param(Raw(b"hello", "text/plain"), id="text"),
        pytest.param(Raw(b'{"choices": [], "content": null, "model": "m"}'), id="no choice"),
        pytest.param(Raw(b'{"choices": [{"index": 0}], "model": "m"}'), id="no message"),
        pytest.param(Raw(b"[]"), id="a list"),
        pytest.param(Raw(b"null"), id="null"),
    ],
)
def test_what_is_no_answer_of_a_model_is_unreadable(answer: Raw, wire: str, *, streaming: bool) -> None:
    assert failed(answer, wire, streaming=streaming).failure.cause is Cause.UNREADABLE_ANSWER


def test_a_page_for_people_costs_nothing() -> None:
    error = failed(HTML)
    assert (error.usage, "Sign in" in error.failure.detail) == (Usage(), True)


@WAYS
def test_an_error_in_place_of_an_answer_has_its_own_cause(wire: str, *, streaming: bool) -> None:
    told = Raw(b'{"error": {"message": "Rate limit of the upstream was reached", "code": 429}}')
    assert failed(told, wire, streaming=streaming).failure.cause is Cause.PROVIDER_RATE_LIMITED


STREAMED_ERROR = (
    b'data: {"id":"g","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"We"}}]}\n\n'
    b'data: {"error":{"code":502,"message":"Provider returned error"},"choices":[]}\n\ndata: [DONE]\n\n'
)
ANTHROPIC_ERROR = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'


def test_an_error_inside_a_stream_is_not_asked_again() -> None:
    error = failed(Raw(STREAMED_ERROR, "text/event-stream"))
    assert (error.failure.cause, error.failure.temporary) == (Cause.PROVIDER_ERROR, True)
    assert error.usage is not None
    assert error.usage.input_tokens > 20


def test_an_overloaded_provider_says_so_inside_a_stream() -> None:
    assert failed(Raw(ANTHROPIC_ERROR, "text/event-stream"), "anthropic").failure.cause is Cause.PROVIDER_OVERLOADED


@WAYS
def test_an_empty_answer_is_a_failure_that_was_paid_for(wire: str, *, streaming: bool) -> None:
    error = failed(Say("", usage=(5200, 1)), wire, streaming=streaming)
    assert error.failure.cause is Cause.EMPTY_ANSWER
    assert error.usage is not None
    assert (error.usage.input_tokens, error.usage.output_tokens) == (5200, 1)


@WAYS
def test_an_allowance_that_went_into_thinking_is_told_as_such(wire: str, *, streaming: bool) -> None:
    finish = "length" if wire == "openai" else "max_tokens"
    error = failed(Say("", thinking="Hm. " * 50, finish=finish), wire, streaming=streaming)
    assert error.failure.cause is Cause.OUTPUT_LIMIT


@pytest.mark.parametrize("wire", FORMATS)
def test_the_key_is_in_no_text(wire: str) -> None:
    told = Status(403, {"error": {"message": f"key {KEY} at https://host/v1?key={KEY} may not", "type": "x"}})
    error = failed(told, wire)
    written = "".join(traceback.format_exception(error))
    assert KEY not in f"{error} {error.failure} {error.failure.detail} {written}"
    assert "[redacted]" in error.failure.detail


def test_a_listener_that_fails_is_no_failure_of_the_model() -> None:
    def listen(_text: str) -> None:
        raise LookupError("the listener is gone")

    with ModelServer(Say("Hello")) as server, pytest.raises(LookupError, match="listener"):
        ask(section(server), on_text=listen)


def test_what_breaks_after_the_reason_for_the_end_costs_no_second_request() -> None:
    whole = (
        b'data: {"id":"g","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Done."}}]}\n\n'
        b'data: {"id":"g","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: {"id'
    )
    with ModelServer(Raw(whole, "text/event-stream")) as server:
        reply = ask(section(server))
    assert (reply.message.text, reply.usage.reported) == ("Done.", False)
