"""Bytes to a port, and what comes back: for what no client for HTTP would send."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from fastapi import FastAPI

from patrol.api.peer import PeerProtocol


@dataclass(frozen=True)
class Heard:
    """All that came back. `hung_up`: the other end closed the connection; otherwise it was waited for in vain."""

    content: bytes
    hung_up: bool

    @property
    def answers(self) -> list[tuple[int, bytes]]:
        """Status and body of each answer but `100 Continue`, of which the last one may have any length."""
        found = []
        for piece in self.content.split(b"HTTP/1.1 ")[1:]:
            head, _, body = piece.partition(b"\r\n\r\n")
            if not head.startswith(b"100"):
                found.append((int(head.split()[0]), body))
        return found

    @property
    def only(self) -> tuple[int, Any]:
        """Status and document of the only answer."""
        [(status, body)] = self.answers
        return status, json.loads(body) if body else None


def say(port: int, content: bytes, *, end: bool = False, seconds: float = 10.0) -> Heard:
    """Sends bytes and hears until the other end hangs up. `end`: tells it that nothing more will come."""
    heard = b""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        try:
            connection.sendall(content)
            if end:
                connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65_536):
                heard += piece
        except TimeoutError:
            return Heard(heard, hung_up=False)
        except ConnectionError:  # it hung up while more was sent; what it said before counts
            pass
    return Heard(heard, hung_up=True)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def served(app: FastAPI, protocol: type[PeerProtocol]) -> Iterator[int]:
    """The port of a server in this process, whose callers speak this protocol."""
    network = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, log_config=None, proxy_headers=False, http=protocol, ws="none", lifespan="off", timeout_keep_alive=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [network]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield network.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        network.close()
