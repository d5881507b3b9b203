"""The protocol of a connection: who calls on a unix socket, how long a request may take, what is no HTTP at all."""

import asyncio
import json
import socket
import struct
from http import HTTPStatus

from uvicorn.protocols.http.h11_impl import H11Protocol

from patrol.api.addresses import PEER

_PEER_CREDENTIALS = struct.Struct("3i")  # struct ucred of unix(7): process, user, group


REQUEST_SECONDS = 30.0
"""How long a caller may take to say a request, head and body. Its connection is one of few that a process can have."""
TAKES_NOTHING_SECONDS = 60.0
"""How long a caller may take nothing of what waits for it, before its connection is given up."""


class PeerProtocol(H11Protocol):
    """uvicorn's protocol. A caller on a unix socket has the address `unix:USER_ID`, for which the kernel vouches.

    One that does not end its request, or does not read what it asked for, keeps neither its answer nor its place for
    ever.
    """

    request_seconds = REQUEST_SECONDS
    _hears_out: asyncio.TimerHandle | None = None
    _has_heard = False
    _giving_up: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn's own
        """A caller has connected."""
        super().connection_made(transport)
        connection = transport.get_extra_info("socket")
        if connection is not None and connection.family == socket.AF_UNIX:
            told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER_CREDENTIALS.size)
            process, user, _group = _PEER_CREDENTIALS.unpack(told)
            self.client = (f"{PEER}{user}", process)
        self._hear_out()

    def data_received(self, data: bytes) -> None:
        """More of a request has come."""
        self._has_heard = True
        super().data_received(data)
        if self._is_answering():
            self._stop_hearing_out()
        elif not self.transport.is_closing():
            self._hear_out()

    def pause_writing(self) -> None:
        """More waits to be sent than is kept for a caller."""
        super().pause_writing()
        self._look_again(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """It has read on."""
        self._stop_giving_up()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._stop_hearing_out()
        self._stop_giving_up()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        """Whether a request has been said to its end, and has not been answered to its end."""
        return self.cycle is not None and not self.cycle.more_body and not self.cycle.response_complete

    def _hear_out(self) -> None:
        if self._hears_out is None:
            self._hears_out = self.loop.call_later(self.request_seconds, self._interrupt)

    def _stop_hearing_out(self) -> None:
        if self._hears_out is not None:
            self._hears_out.cancel()
            self._hears_out = None

    def _interrupt(self) -> None:
        """Gives a request up that does not end; says so, where nothing was answered to it."""
        self._hears_out = None
        is_answered = self.cycle is not None and self.cycle.more_body and self.cycle.response_started
        if self._has_heard and not is_answered:
            seconds = f"{self.request_seconds:g}"
            message = f"A request has to be said within {seconds} s: its head, and as much body as it tells of"
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "request_timeout", message)
        else:
            self.transport.close()

    def _look_again(self, waiting: int) -> None:
        self._giving_up = self.loop.call_later(TAKES_NOTHING_SECONDS, self._give_up_unless_it_reads, waiting)

    def _give_up_unless_it_reads(self, waiting: int) -> None:
        now_waiting = self.transport.get_write_buffer_size()
        if now_waiting < waiting:
            self._look_again(now_waiting)
        else:
            self.transport.abort()

    def _stop_giving_up(self) -> None:
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the library's words are not passed on
        """Answers what cannot be read as a request, and hangs up."""
        message = "That is no HTTP request, or its headers are too large"
        self._refuse(HTTPStatus.BAD_REQUEST, "bad_request", message)

    def _refuse(self, status: HTTPStatus, code: str, message: str) -> None:
        """Answers past the application, and hangs up."""
        if self.transport.is_closing():
            return
        body = json.dumps({"error": code, "code": code, "message": message})
        head = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
        self.transport.write(f"HTTP/1.1 {status.value} {status.phrase}\r\n{head}\r\n{body}".encode())
        self.transport.close()
