"""Errors of the libraries below, turned into what was heard: the one edge where foreign exceptions are read."""

import asyncio
import json
from collections.abc import Iterator, Mapping

import httpx2
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelTimeoutError,
    UnexpectedModelBehavior,
)

from patrol.agent.classify import Heard, Stage
from patrol.agent.redact import redact
from patrol.agent.wire.watch import Exchange

ODD_ANSWERS = (
    UnexpectedModelBehavior,
    LookupError,
    AttributeError,
    TypeError,
    ValueError,
    AssertionError,
    RuntimeError,
    Warning,  # where Python is told to raise warnings
)
"""What the libraries raise over an answer that lacks a part they count on; over a good one they raise none of these."""

TRANSPORT = (httpx2.TransportError, TimeoutError, OSError, asyncio.IncompleteReadError)

_PLAIN_CODES = {
    ModelQuotaExceededError: "insufficient_quota",
    ModelContextWindowExceededError: "context_length_exceeded",
}


def heard_of(error: BaseException, exchange: Exchange, secrets: tuple[str, ...]) -> Heard:
    """What this error says of the request."""
    match error:
        case ModelHTTPError():
            return _refusal(error, exchange, secrets)
        case ModelConnectionError():
            timed_out = isinstance(error, ModelTimeoutError)
            return _broken(error.phase, exchange, redact(_transport_words(error), secrets), timed_out=timed_out)
        case ModelAPIError():
            return _other(error, exchange, secrets)
        case _ if isinstance(error, TRANSPORT):
            phase = "connect" if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout) else None
            timed_out = isinstance(error, httpx2.TimeoutException | TimeoutError)
            return _broken(phase, exchange, redact(_transport_words(error), secrets), timed_out=timed_out)
        case _:
            return _unreadable(error, exchange, secrets)


def _refusal(error: ModelHTTPError, exchange: Exchange, secrets: tuple[str, ...]) -> Heard:
    code = " ".join(
        [*(word for kind, word in _PLAIN_CODES.items() if isinstance(error, kind)), *_names(error)],
    )
    words = " ".join(_sentences(error.body))[:_MOST_CHARACTERS]
    said = words or exchange.beginning
    return Heard(
        stage=Stage.IN_ANSWER if error.in_stream or exchange.begun else Stage.REFUSED,
        status=error.status_code,
        words=words,
        code=code,
        retry_after=error.retry_after,
        detail=redact(f"status {error.status_code}: {said}" if said else f"status {error.status_code}", secrets),
    )


def _names(error: ModelAPIError) -> list[str]:
    return [str(name) for name in (error.provider_error_code, error.provider_error_type) if name]


def _other(error: ModelAPIError, exchange: Exchange, secrets: tuple[str, ...]) -> Heard:
    """An error without a status: told inside an answer, or an answer that could not be decoded."""
    if error.in_stream or error.body is not None:
        words = " ".join(_sentences(error.body)) or error.message
        return Heard(
            stage=Stage.IN_ANSWER,
            status=_status_in(error.body),
            words=words,
            code=" ".join(_names(error)),
            detail=redact(words, secrets),
        )
    if exchange.status is not None and 300 <= exchange.status < 400:
        return Heard(stage=Stage.REFUSED, status=exchange.status, detail=redact(error.message, secrets))
    return _unreadable(error, exchange, secrets)


def _status_in(body: object) -> int | None:
    code = body.get("code") if isinstance(body, Mapping) else None
    digits = str(code) if isinstance(code, int | str) else ""
    return int(digits) if digits.isdecimal() and 400 <= int(digits) < 600 else None


def _broken(phase: str | None, exchange: Exchange, words: str, *, timed_out: bool) -> Heard:
    detail = f"{exchange.place}: {words}" if exchange.place else words
    if phase in {"pool", "connect"}:
        return Heard(stage=Stage.NOT_SENT, detail=detail)
    if timed_out:
        return Heard(stage=Stage.STALLED if exchange.begun else Stage.SILENT, detail=detail)
    return Heard(stage=Stage.CUT if exchange.begun else Stage.LOST, detail=detail)


def _unreadable(error: BaseException, exchange: Exchange, secrets: tuple[str, ...]) -> Heard:
    """An answer that is none: an error in its place, nothing at all, the first part of one, or something else."""
    body = _decoded(exchange.beginning)
    told = body.get("error") if isinstance(body, Mapping) else None
    if told:
        words = " ".join(_sentences(told))
        detail = redact(words or exchange.beginning, secrets)
        return Heard(stage=Stage.IN_ANSWER, status=_status_in(told), words=words, detail=detail)
    if exchange.finished and exchange.received == 0:
        return Heard(stage=Stage.LOST, detail="the answer is empty")
    if exchange.is_stream and exchange.finished and not exchange.end_told:
        return Heard(stage=Stage.CUT, detail="the stream ended in the middle of a piece")
    said = exchange.beginning or f"{type(error).__name__}: {error}"
    return Heard(stage=Stage.UNREADABLE, detail=redact(said, secrets))


def _transport_words(error: BaseException) -> str:
    """What the transport said of it, and what the system said to the transport. Nothing of the layers between."""
    said: list[str] = []
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, httpx2.TransportError) and not said:
            said.append(str(seen) or type(seen).__name__)
        elif isinstance(seen, OSError) and not isinstance(seen, TimeoutError) and str(seen) not in said:
            said.append(str(seen))
        seen = seen.__cause__ or seen.__context__
    return ": ".join(said) or str(error) or type(error).__name__


_MOST_CHARACTERS = 65_536  # an error page can be of any size; what an error says of itself stands at its beginning

_TOLD_IN = ("message", "error", "detail", "msg", "raw", "metadata", "error_description")


def _sentences(body: object, depth: int = 0) -> Iterator[str]:
    """What an error's body says of the failure. What a model wrote (`failed_generation`) stands elsewhere in it."""
    match body:
        case str():
            decoded = _decoded(body) if depth < 4 else None
            if decoded is None:
                yield body
            else:
                yield from _sentences(decoded, depth + 1)
        case Mapping() if depth < 5:
            for key in _TOLD_IN:
                yield from _sentences(body.get(key), depth + 1)
        case list() if depth < 5:
            for each in body[:5]:
                yield from _sentences(each, depth + 1)
        case _:
            return


def _decoded(text: str) -> object:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
