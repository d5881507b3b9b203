"""The HTTP interface of a daemon: built from its parts, on its address and a socket for this machine's commands."""

import asyncio
import os
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path

import structlog

from patrol.accounts.presence import has_credential
from patrol.api.app import create_app
from patrol.api.listening import NO_CREDENTIAL, may_listen
from patrol.api.services import Services
from patrol.daemon.life import Daemon, Served
from patrol.daemon.serving import HttpServer, ListenError, NoCredentialError, listen, listen_on_path
from patrol.metrics import exposition
from patrol.settings.interface import SOCKET, parse_listen

_log = structlog.stdlib.get_logger("patrol.daemon")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """Starts the interface of a daemon. `socket_path`: where the socket is made beside the address that is set, if its
    folder is there and ours to write in.
    """

    socket_path: Path = SOCKET
    stop_seconds: float = 8.0

    async def __call__(self, daemon: Daemon) -> Served:
        """Listens and answers. Raises ListenError, StorageError."""
        sockets = await asyncio.to_thread(self._sockets, daemon)
        server = HttpServer(create_app(services_of(daemon)), sockets)
        places = [_place(each) for each in sockets]
        task = await server.start()
        _log.info("listening", places=places)

        async def end() -> None:
            daemon.live.close()  # who listens to runs would keep the server from ending
            if not await server.stop(self.stop_seconds):
                _log.warning("requests go on beyond the end")

        return Served(task=task, end=end)

    def _sockets(self, daemon: Daemon) -> list[socket.socket]:
        address = parse_listen(daemon.in_force.settings.api.listen)
        with daemon.database.read() as connection:
            known = has_credential(connection)
        if not may_listen(address, has_credential=known):
            raise NoCredentialError(f"{daemon.in_force.settings.api.listen}: {NO_CREDENTIAL}")
        made = listen(address)
        if address.path != str(self.socket_path) and os.access(self.socket_path.parent, os.W_OK | os.X_OK):
            try:
                made.append(listen_on_path(self.socket_path))
            except ListenError as error:
                # The address that is set works: commands reach the daemon there, or open the database.
                _log.warning("no socket for this machine's commands", reason=str(error))
        return made


def services_of(daemon: Daemon) -> Services:
    """What routes may use of a daemon."""
    return Services(
        database=daemon.database,
        settings=lambda: daemon.in_force.given,
        clock=daemon.clock,
        ids=daemon.ids,
        random_bytes=secrets.token_bytes,
        user_id=os.geteuid(),
        not_ready=daemon.waits_for,
        nudge=daemon.nudge,
        exposition=lambda: exposition(daemon.metrics),
        settings_changed=daemon.settings_changed,
        first_round=lambda: daemon.first_round,
        observer=daemon.in_force.observer,
        stream=daemon.live,
    )


def _place(made: socket.socket) -> str:
    name = made.getsockname()
    return name if isinstance(name, str) else f"{name[0]}:{name[1]}"
