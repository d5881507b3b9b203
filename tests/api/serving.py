"""A process that serves a private installation: `python -m tests.api.serving SOCKET`. Prints the port that it took."""

import asyncio
import os
import socket
import sys
import uuid
from datetime import UTC, datetime

import uvicorn

from patrol.api.app import create_app
from patrol.api.live.hub import StreamHub
from patrol.api.peer import PeerProtocol
from patrol.api.services import Services
from patrol.database import open_database
from patrol.settings.load import LoadedSettings
from patrol.settings.model import Settings


def main(path: str) -> None:
    loaded = LoadedSettings(settings=Settings(), file=None, database_url="sqlite://", origins={})
    services = Services(
        database=open_database("sqlite://"),
        settings=lambda: loaded,
        clock=lambda: datetime.now(UTC),
        ids=lambda: uuid.uuid4().hex,
        random_bytes=os.urandom,
        user_id=os.geteuid(),
        stream=StreamHub(lambda: datetime.now(UTC)),
    )
    network = socket.create_server(("127.0.0.1", 0))
    local = socket.socket(socket.AF_UNIX)
    local.bind(path)
    local.listen()
    config = uvicorn.Config(
        create_app(services), log_config=None, proxy_headers=False, http=PeerProtocol, ws="none", lifespan="off"
    )
    sys.stdout.write(f"{network.getsockname()[1]}\n")
    sys.stdout.flush()
    asyncio.run(uvicorn.Server(config).serve(sockets=[network, local]))


if __name__ == "__main__":
    main(sys.argv[1])
