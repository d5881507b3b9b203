"""What really came over the wire for one request: how far it got, how much was heard, whether the end was told.

The libraries above read an answer and forget how it came. A stream that ends without its end marker, an HTML
page with status 200 or a connection that closed early look alike to them: an empty or a short answer.
"""

import ssl
from collections.abc import AsyncIterator
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache

import httpx2

_HEAD_BYTES = 1_000
_TAIL_BYTES = 400
_END_MARKERS = (b"data: [DONE]", b"data:[DONE]", b'"message_stop"')


@dataclass(slots=True)
class Exchange:
    """One request and what was heard of its answer.

    `place`: whom it went to. `received`: bytes of the answer's body; `finished`: its transfer ended as the server
    wanted. `readable`: it is not compressed, so that it can be looked into.
    """

    place: str = ""
    sent: bool = False
    status: int | None = None
    content_type: str = ""
    readable: bool = True
    finished: bool = False
    received: int = 0
    head: bytes = b""
    tail: bytes = b""

    @property
    def begun(self) -> bool:
        """Whether an answer had begun."""
        return self.status is not None and self.status < 300 and self.received > 0

    @property
    def is_stream(self) -> bool:
        """Whether the answer is a stream of events."""
        return self.content_type.startswith("text/event-stream")

    @property
    def is_page(self) -> bool:
        """Whether it is a page for people: no model has answered."""
        return self.content_type.startswith("text/html")

    @property
    def end_told(self) -> bool:
        """Whether the marker that ends a stream came. An encoded body cannot be looked into: then nothing is known."""
        return any(marker in self.tail for marker in _END_MARKERS)

    @property
    def beginning(self) -> str:
        """The first of what came, as text."""
        return self.head.decode("utf-8", "replace") if self.readable else ""

    def take(self, piece: bytes) -> None:
        """Notes a piece of the body."""
        self.received += len(piece)
        if len(self.head) < _HEAD_BYTES:
            self.head += piece[: _HEAD_BYTES - len(self.head)]
        self.tail = (self.tail + piece)[-_TAIL_BYTES:]


current: ContextVar[Exchange | None] = ContextVar("current", default=None)
"""The exchange of the request that this task is making."""


class _Watched(httpx2.AsyncByteStream):
    """A body that is passed on as it is, and noted."""

    def __init__(self, stream: httpx2.AsyncByteStream, exchange: Exchange) -> None:
        self._stream = stream
        self._exchange = exchange

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._exchange.take(piece)
            yield piece
        self._exchange.finished = True

    async def aclose(self) -> None:
        await self._stream.aclose()


def place_of(url: httpx2.URL) -> str:
    """`host:port` of an address: neither who asks nor what for."""
    host = f"[{url.host}]" if ":" in url.host else url.host
    return f"{host}:{url.port or (443 if url.scheme == 'https' else 80)}"


async def _note_request(request: httpx2.Request) -> None:
    exchange = current.get()
    if exchange is not None:
        exchange.sent = True
        exchange.place = place_of(request.url)


async def _note_response(response: httpx2.Response) -> None:
    exchange = current.get()
    if exchange is None or not isinstance(response.stream, httpx2.AsyncByteStream):
        return
    exchange.status = response.status_code
    exchange.content_type = response.headers.get("content-type", "")
    exchange.readable = response.headers.get("content-encoding", "identity") in {"", "identity"}
    response.stream = _Watched(response.stream, exchange)


@cache
def _trusted() -> ssl.SSLContext:
    """The certificates that this host trusts. Reading them takes 90 ms, each time."""
    return httpx2.create_ssl_context()


def watched_client(*, connect_seconds: float, silence_seconds: float) -> httpx2.AsyncClient:
    """An HTTP client whose exchanges are noted. Redirects are not followed: a key would go to another address.

    `silence_seconds` is the longest wait for the first byte and between two pieces; there is no limit for the whole.
    """

    async def cap(request: httpx2.Request) -> None:
        # Google's SDK sets one time for all, which would also be waited for a connection.
        request.extensions.get("timeout", {}).update(connect=connect_seconds, pool=connect_seconds)

    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(silence_seconds, connect=connect_seconds, pool=connect_seconds),
        verify=_trusted(),
        headers={"accept-encoding": "identity", "user-agent": "patrol"},
        event_hooks={"request": [cap, _note_request], "response": [_note_response]},
    )
