"""The protocol of a connection: who is at the other end of a unix socket, and a refusal of what is not even HTTP."""

import asyncio
import json
import socket
import struct

from uvicorn.protocols.http.h11_impl import H11Protocol

from patrol.api.addresses import PEER

_PEER_CREDENTIALS = struct.Struct("3i")  # struct ucred of unix(7): process, user, group


class PeerProtocol(H11Protocol):
    """uvicorn's protocol. A caller on a unix socket has the address `unix:USER_ID`, for which the kernel vouches."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn's own
        """A caller has connected."""
        super().connection_made(transport)
        connection = transport.get_extra_info("socket")
        if connection is not None and connection.family == socket.AF_UNIX:
            told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER_CREDENTIALS.size)
            process, user, _group = _PEER_CREDENTIALS.unpack(told)
            self.client = (f"{PEER}{user}", process)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the library's words are not passed on
        """Answers what cannot be read as a request, and hangs up."""
        message = "That is no HTTP request, or its headers are too large"
        body = json.dumps({"error": "bad_request", "code": "bad_request", "message": message})
        head = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
        self.transport.write(f"HTTP/1.1 400 Bad Request\r\n{head}\r\n{body}".encode())
        self.transport.close()
