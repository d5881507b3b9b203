"""What kind of failure it was: a stable cause from typed facts first, from the provider's words only where it refused.

Text is looked at only in the body of an answer with status 4xx, word by word: a number or a name in a text that
happens to hold "400" or "credit" says nothing. Everything here is pure; who hears an error turns it into `Heard`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from patrol.agent.causes import failure_of
from patrol.agent.failure import Cause, Failure
from patrol.agent.refusals import cause_of_code, cause_of_words
from patrol.agent.window_words import named_window


class Stage(StrEnum):
    """How far a request had come when it failed."""

    NOT_SENT = "not_sent"  # no connection: nobody has seen it
    REFUSED = "refused"  # an answer with an error status, before anything was produced
    SILENT = "silent"  # it was sent, and nothing more was heard in time
    LOST = "lost"  # it was sent, and the connection ended before an answer began
    CUT = "cut"  # the answer had begun, and ended in the middle
    STALLED = "stalled"  # the answer had begun, and went silent
    IN_ANSWER = "in_answer"  # an error was told inside an answer that had begun well
    UNREADABLE = "unreadable"  # an answer came that is not what the wire format says


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """One failure as it was heard. `status`: of the answer, or the one that its words stand for.

    `words`: what the error says of itself, without what a model wrote. `code`: its own machine-readable names.
    """

    stage: Stage
    status: int | None = None
    words: str = ""
    code: str = ""
    retry_after: float | None = None
    detail: str = ""


def classify(heard: Heard) -> Failure:
    """What a failure was. Only a refusal before output, and a request that nobody saw, may be asked again at once."""
    cause = _cause(heard)
    refused = heard.stage is Stage.REFUSED and heard.status in _ASKED_AGAIN and cause not in _PERMANENT
    unseen = heard.stage is Stage.NOT_SENT
    later = heard.stage is Stage.IN_ANSWER or (heard.status is not None and heard.status >= 500)
    too_large = cause is Cause.CONTEXT_WINDOW_TOO_SMALL
    return failure_of(
        cause,
        detail=heard.detail,
        summary=_summary(cause, heard),
        temporary=True if cause is Cause.PROVIDER_ERROR and later else None,
        asked_again=refused or unseen,
        retry_after=heard.retry_after,
        window=named_window(heard.words) if too_large else None,
    )


_ASKED_AGAIN = frozenset({429, 500, 502, 503, 504, 529})
_PERMANENT = frozenset(
    {
        Cause.PROVIDER_BILLING,
        Cause.PROVIDER_AUTH,
        Cause.MODEL_UNAVAILABLE,
        Cause.CONTEXT_WINDOW_TOO_SMALL,
        Cause.MODEL_UNSUPPORTED_TOOLS,
    }
)

_BY_STAGE: Mapping[Stage, Cause] = {
    Stage.NOT_SENT: Cause.PROVIDER_CONNECTION,
    Stage.SILENT: Cause.PROVIDER_TIMEOUT,
    Stage.STALLED: Cause.PROVIDER_TIMEOUT,
    Stage.LOST: Cause.PROVIDER_CONNECTION,
    Stage.CUT: Cause.ANSWER_CUT_OFF,
    Stage.UNREADABLE: Cause.UNREADABLE_ANSWER,
}


def _cause(heard: Heard) -> Cause:
    if heard.stage in _BY_STAGE:
        return _BY_STAGE[heard.stage]
    status = heard.status
    if status is None:
        return Cause.PROVIDER_ERROR
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500 or status < 400:
        return Cause.PROVIDER_ERROR
    named = cause_of_code(heard.code)
    if named is None and status == 429 and heard.retry_after is not None:
        return Cause.PROVIDER_RATE_LIMITED  # "you exceeded your quota", but only for a minute
    return named or cause_of_words(heard.words) or _LEFT_BY_STATUS.get(status, Cause.PROVIDER_ERROR)


_BY_STATUS: Mapping[int, Cause] = {
    401: Cause.PROVIDER_AUTH,
    402: Cause.PROVIDER_BILLING,
    408: Cause.PROVIDER_TIMEOUT,
    503: Cause.PROVIDER_OVERLOADED,
    529: Cause.PROVIDER_OVERLOADED,
}
"""Statuses that say all of it."""

_LEFT_BY_STATUS: Mapping[int, Cause] = {
    403: Cause.PROVIDER_AUTH,
    404: Cause.PROVIDER_NOT_CONFIGURED,
    405: Cause.PROVIDER_NOT_CONFIGURED,
    413: Cause.CONTEXT_WINDOW_TOO_SMALL,
    429: Cause.PROVIDER_RATE_LIMITED,
}
"""What a status means where its words say nothing more exact."""


def _summary(cause: Cause, heard: Heard) -> str:
    """Another sentence than the cause's own, where the facts allow a more exact one."""
    if cause is Cause.PROVIDER_NOT_CONFIGURED and heard.status in {404, 405}:
        return "nothing answers at this path; check [model] base_url (for most servers it ends in /v1)"
    if cause is Cause.PROVIDER_ERROR and heard.status is not None and 300 <= heard.status < 400:
        return "the address answers with a redirect; set [model] base_url to where it leads"
    if heard.stage is Stage.LOST:
        return "the provider closed the connection without an answer; check its log and proxies before it"
    if heard.stage is Stage.STALLED:
        return "the answer began and then stopped for longer than [model] request_timeout; check the server's load"
    return ""
