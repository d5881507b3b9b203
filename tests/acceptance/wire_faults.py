"""What can go wrong between a run and its model, each with the cause that the run's record must name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from patrol.agent.failure import Cause
from tests.agent.wire_server import HTML, REFUSALS, Answer, Break, How, Point, Raw, Say, Status

KEY = "hush/0123456789+abcdefghij=="
"""No form of keys that is known by its beginning: only that it is the configured one gives it away."""

NAN, HUGE = float("nan"), 10**12


@dataclass(frozen=True, slots=True)
class WireFault:
    """One fault. `answer` makes it of what the model was about to say.

    `cause`: of the model's part where the fault stays; None: the model works all the same. `tries`: how often one
    request is sent then. `streamed_only`: without streaming nothing can be told apart there.
    """

    answer: Callable[[Say], Answer]
    cause: Cause | None = None
    tries: int = 1
    streamed_only: bool = False

    @property
    def hangs(self) -> bool:
        """Whether it says nothing for ever."""
        answer = self.answer(Say())
        return isinstance(answer, Break) and answer.how is How.HANG

    @property
    def passes(self) -> bool:
        """Whether it is asked again, so that the run knows nothing of a fault that does not stay."""
        return self.tries > 1


def _always(answer: Answer) -> Callable[[Say], Answer]:
    return lambda _say: answer


def _breaks(at: Point, how: How) -> Callable[[Say], Answer]:
    return lambda say: Break(at, how, say if say.text or say.calls else replace(say, text="I look at it."))


def _said(**changes: object) -> Callable[[Say], Answer]:
    return lambda say: replace(say, text=say.text or "I look at it.", **changes)  # type: ignore[arg-type]


def _refused(code: int, message: str, retry_after: str | None = None) -> Callable[[Say], Answer]:
    return _always(Status(code, {"error": {"message": message, "type": "error"}}, retry_after))


THREE = 3
WIRE_FAULTS: Mapping[str, WireFault] = {
    "hangs before the first byte": WireFault(_breaks(Point.REQUEST, How.HANG), Cause.PROVIDER_TIMEOUT),
    "hangs after the headers": WireFault(_breaks(Point.HEADERS, How.HANG), Cause.PROVIDER_TIMEOUT),
    "hangs in mid-answer": WireFault(_breaks(Point.MIDDLE, How.HANG), Cause.PROVIDER_TIMEOUT),
    "closes without a byte": WireFault(_breaks(Point.REQUEST, How.CLOSE), Cause.PROVIDER_CONNECTION),
    "closes after the headers": WireFault(_breaks(Point.HEADERS, How.CLOSE), Cause.PROVIDER_CONNECTION),
    "resets without a byte": WireFault(_breaks(Point.REQUEST, How.RESET), Cause.PROVIDER_CONNECTION),
    "resets in mid-answer": WireFault(_breaks(Point.MIDDLE, How.RESET), Cause.ANSWER_CUT_OFF),
    "closes after the first piece": WireFault(_breaks(Point.FIRST, How.CLOSE), Cause.ANSWER_CUT_OFF),
    "closes after half a chunk": WireFault(_breaks(Point.HALF_CHUNK, How.CLOSE), Cause.ANSWER_CUT_OFF),
    "ends well after half a chunk": WireFault(
        _breaks(Point.HALF_CHUNK, How.FINISH), Cause.ANSWER_CUT_OFF, streamed_only=True
    ),
    "ends well without its end": WireFault(_breaks(Point.END, How.FINISH), Cause.ANSWER_CUT_OFF, streamed_only=True),
    "400": WireFault(_refused(400, "Something is wrong with it."), Cause.PROVIDER_ERROR),
    "400 no tools": WireFault(_always(REFUSALS["no tools"]), Cause.MODEL_UNSUPPORTED_TOOLS),
    "400 the key": WireFault(_refused(400, f"Bad header: authorization {KEY} ({KEY!r})"), Cause.PROVIDER_ERROR),
    "401": WireFault(_always(REFUSALS["auth"]), Cause.PROVIDER_AUTH),
    "401 the key": WireFault(_refused(401, f"The key {KEY} has expired, see /?key={KEY}"), Cause.PROVIDER_AUTH),
    "402": WireFault(_always(REFUSALS["billing"]), Cause.PROVIDER_BILLING),
    "403": WireFault(_always(REFUSALS["forbidden"]), Cause.PROVIDER_AUTH),
    "404 no model": WireFault(_always(REFUSALS["no model"]), Cause.MODEL_UNAVAILABLE),
    "404 no endpoint": WireFault(_always(REFUSALS["no endpoint"]), Cause.NO_TOOL_CAPABLE_ENDPOINT),
    "404 no path": WireFault(_always(Status(404, {"detail": "Not Found"})), Cause.PROVIDER_NOT_CONFIGURED),
    "408": WireFault(_refused(408, "Request timeout"), Cause.PROVIDER_TIMEOUT),
    "429": WireFault(_refused(429, "Too many requests."), Cause.PROVIDER_RATE_LIMITED, THREE),
    "429 for seconds": WireFault(_refused(429, "Too many requests.", "7"), Cause.PROVIDER_RATE_LIMITED, THREE),
    "429 for an hour": WireFault(_always(REFUSALS["rate for an hour"]), Cause.PROVIDER_RATE_LIMITED),
    "429 no quota": WireFault(_always(REFUSALS["quota"]), Cause.PROVIDER_BILLING),
    "500": WireFault(_always(REFUSALS["broken"]), Cause.PROVIDER_ERROR, THREE),
    "502": WireFault(_always(REFUSALS["bad gateway"]), Cause.PROVIDER_ERROR, THREE),
    "503": WireFault(_always(REFUSALS["unavailable"]), Cause.PROVIDER_OVERLOADED, THREE),
    "529": WireFault(_always(REFUSALS["overloaded"]), Cause.PROVIDER_OVERLOADED, THREE),
    "a page": WireFault(_always(HTML), Cause.UNREADABLE_ANSWER),
    "other JSON": WireFault(_always(Raw(b'{"pathname": "/bin"}')), Cause.UNREADABLE_ANSWER),
    "half of a JSON": WireFault(_always(Raw(b'{"id": "x", "choices": [{')), Cause.UNREADABLE_ANSWER),
    "an error as an answer": WireFault(
        _always(Raw(b'{"error": {"message": "Rate limit of the upstream", "code": 429}}')), Cause.PROVIDER_RATE_LIMITED
    ),
    "an error with the key": WireFault(
        _always(Raw(b'{"error": {"message": "upstream refused %s", "code": 500}}' % KEY.encode())),
        Cause.PROVIDER_ERROR,
    ),
    "nothing": WireFault(_always(Say("")), Cause.EMPTY_ANSWER),
    "thought alone": WireFault(_always(Say("", thinking="Hm. " * 50, finish="length")), Cause.OUTPUT_LIMIT),
    "calls as text": WireFault(
        _always(Say('Well.\n<tool_call>{"name": "pulse_query"}</tool_call>')), Cause.TOOLS_IN_TEXT
    ),
    "never done": WireFault(_always(Say("And further, and further", finish="length")), Cause.OUTPUT_LIMIT),
    "an odd reason for the end": WireFault(_said(finish="because")),
    "no reason for the end": WireFault(_said(finish=None)),
    "no usage": WireFault(_said(usage=None)),
    "usage that is no number": WireFault(_said(usage=(NAN, NAN))),
    "negative usage": WireFault(_said(usage=(-5, -1))),
    "usage beyond reason": WireFault(_said(usage=(HUGE, HUGE))),
    "usage of another type": WireFault(_said(usage=("many", None))),
    "a slow drip": WireFault(_said(pieces=6, pause_seconds=0.01)),
    "a part of the prompt was read": WireFault(_said(usage=(300, 5)), Cause.CONTEXT_TRUNCATED),
}
