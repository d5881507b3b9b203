"""The HTTP interface inside the daemon's loop: where it listens, and how it ends without waiting for who streams."""

import asyncio
import os
import socket
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from patrol.api.peer import PeerProtocol
from patrol.settings.interface import ListenAddress

GRACE_SECONDS = 5
_BACKLOG = 256
_TCP_NOTSENT_LOWAT = getattr(socket, "TCP_NOTSENT_LOWAT", 25)  # named since Python 3.12
UNSENT_BYTES = 131_072
"""What the kernel takes for a caller who does not read (tcp(7)): by itself it takes some megabytes for each of them."""
SOCKET_MODE = 0o660
"""The daemon's group may come in by the socket; whether somebody may do anything is decided by the guards."""


class ListenError(Exception):
    """The daemon cannot listen where it is told to; says why and what helps."""


class NoCredentialError(ListenError):
    """Others could come in by the address, and nobody has to show who he is."""


class _Server(uvicorn.Server):
    """Leaves signals to the daemon: the library would take them for itself."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing is captured."""
        yield


class HttpServer:
    """One application on some sockets, from `start` to `stop`."""

    def __init__(self, app: FastAPI, sockets: Sequence[socket.socket]) -> None:
        self._sockets = list(sockets)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
            proxy_headers=False,  # which proxies are trusted is decided by Patrol's own guards
            server_header=False,
            http=PeerProtocol,
            ws="none",
            lifespan="auto",
        )
        self._server = _Server(config)
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> asyncio.Task[None]:
        """Begins to answer; returns when it does. The task ends when the server does."""
        task = self._task = asyncio.create_task(self._server.serve(sockets=self._sockets))
        while not self._server.started and not task.done():  # noqa: ASYNC110 - the library has no event for it
            await asyncio.sleep(0.01)
        if task.done():
            task.result()
            raise ListenError("the HTTP interface ended while it started")
        return task

    async def stop(self, seconds: float) -> bool:
        """Takes no more requests, lets those under way end; whether all of them did. May be called twice."""
        if self._task is None:
            return True
        self._server.should_exit = True
        done, _ = await asyncio.wait({self._task}, timeout=seconds)
        return bool(done)


def listen(address: ListenAddress) -> list[socket.socket]:
    """The sockets of an address. A name may have several. Raises ListenError."""
    if address.path:
        return [listen_on_path(Path(address.path))]
    try:
        found = socket.getaddrinfo(address.host or None, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        return [_bound(family, place) for family, place in dict.fromkeys((each[0], each[4]) for each in found)]
    except OSError as error:
        raise ListenError(
            f"cannot listen on {address.host}:{address.port}: {error.strerror or error}; change [api] listen, or end "
            "what listens there"
        ) from error


def _bound(family: socket.AddressFamily, place: object) -> socket.socket:
    # By its protocol asyncio knows that a connection is TCP, and sends each piece of an answer at once: else the body
    # of a short one waits 40 ms for the caller to confirm its head.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, UNSENT_BYTES)
        if family is socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(place)  # type: ignore[arg-type]  # as getaddrinfo says
        made.listen(_BACKLOG)
        made.settimeout(0)
    except OSError:
        made.close()
        raise
    return made


def listen_on_path(path: Path) -> socket.socket:
    """The socket at a path. What a daemon that was killed left there is taken away. Raises ListenError."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _clear(path)
        before = os.umask(0o777 & ~SOCKET_MODE)
        try:
            made.bind(str(path))
        finally:
            os.umask(before)
        made.listen(_BACKLOG)
        made.settimeout(0)
    except OSError as error:
        made.close()
        raise ListenError(f"cannot listen on {path}: {error.strerror or error}") from error
    return made


def _clear(path: Path) -> None:
    try:
        is_socket = stat.S_ISSOCK(path.lstat().st_mode)
    except FileNotFoundError:
        return
    if not is_socket:
        raise FileExistsError(17, "something else is there, which is no socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
        try:
            trial.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise OSError(98, "another daemon listens there")
