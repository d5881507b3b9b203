"""The protocol of a connection: who is at the other end of a unix socket, and a refusal of what is not even HTTP."""

import asyncio
import json
import socket
import struct

from uvicorn.protocols.http.h11_impl import H11Protocol

from patrol.api.addresses import PEER

_PEER_CREDENTIALS = struct.Struct("3i")  # struct ucred of unix(7): process, user, group


TAKES_NOTHING_SECONDS = 60.0
"""How long a caller may take nothing of what waits for it, before its connection is given up."""


class PeerProtocol(H11Protocol):
    """uvicorn's protocol. A caller on a unix socket has the address `unix:USER_ID`, for which the kernel vouches.

    One that does not read what it asked for keeps neither its answer nor its place for ever.
    """

    _giving_up: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn's own
        """A caller has connected."""
        super().connection_made(transport)
        connection = transport.get_extra_info("socket")
        if connection is not None and connection.family == socket.AF_UNIX:
            told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER_CREDENTIALS.size)
            process, user, _group = _PEER_CREDENTIALS.unpack(told)
            self.client = (f"{PEER}{user}", process)

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
        self._stop_giving_up()
        super().connection_lost(exc)

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
        body = json.dumps({"error": "bad_request", "code": "bad_request", "message": message})
        head = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
        self.transport.write(f"HTTP/1.1 400 Bad Request\r\n{head}\r\n{body}".encode())
        self.transport.close()
