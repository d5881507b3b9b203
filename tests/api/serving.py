"""A process that serves a private installation: `python -m tests.api.serving SOCKET`. Prints the port that it took.

On standard input it is told to `begin` the run r1, and to `tell` of so many calls in it, then of its end.
"""

import asyncio
import os
import socket
import sys
import threading
import uuid
from datetime import UTC, datetime

import uvicorn

from patrol.api.app import create_app
from patrol.api.live.hub import StreamHub
from patrol.api.peer import PeerProtocol
from patrol.api.services import Services
from patrol.daemon.serving import listen
from patrol.database import open_database
from patrol.settings.interface import parse_listen
from patrol.settings.load import LoadedSettings
from patrol.settings.model import Settings


def obey(hub: StreamHub) -> None:
    for line in sys.stdin:
        live = hub.begin("r1")
        if line.startswith("tell "):
            for number in range(int(line.removeprefix("tell "))):
                live.tool_started(f"c{number}", "pulse_query", {})
                live.tool_ended(f"c{number}", "pulse_query", {"text": "x" * 3_000}, success=True)
            live.complete("healthy", "all clear")


def main(path: str) -> None:
    loaded = LoadedSettings(settings=Settings(), file=None, database_url="sqlite://", origins={})
    hub = StreamHub(lambda: datetime.now(UTC))
    services = Services(
        database=open_database("sqlite://"),
        settings=lambda: loaded,
        clock=lambda: datetime.now(UTC),
        ids=lambda: uuid.uuid4().hex,
        random_bytes=os.urandom,
        user_id=os.geteuid(),
        stream=hub,
    )
    (network,) = listen(parse_listen("127.0.0.1:0"))
    local = socket.socket(socket.AF_UNIX)
    local.bind(path)
    local.listen()
    config = uvicorn.Config(
        create_app(services), log_config=None, proxy_headers=False, http=PeerProtocol, ws="none", lifespan="off"
    )
    sys.stdout.write(f"{network.getsockname()[1]}\n")
    sys.stdout.flush()
    threading.Thread(target=obey, args=(hub,), daemon=True).start()
    asyncio.run(uvicorn.Server(config).serve(sockets=[network, local]))


if __name__ == "__main__":
    main(sys.argv[1])
