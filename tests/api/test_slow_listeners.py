"""A server that many follow who never read: what they cost stays small, and nobody who reads waits for them."""

import json
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.api.filled import Filled
from tests.api.test_stream_proxies import serving, wait_for_listeners

ASK = b"GET /api/ai/patrol/stream?run_id=r1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
SILENT = 500
EVENTS = 2_000
MOST_BYTES_EACH = 300_000
"""What a process may keep for each of them: 64 KiB that wait in its connection, a few events, and itself."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process of its own, so that its memory is its own. On a line it tells a run of so many calls."""
    command = [sys.executable, "-m", "tests.api.serving", str(tmp_path / "api.sock")]
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait(timeout=30)


def resident(process: subprocess.Popen[str]) -> int:
    pages = int(Path(f"/proc/{process.pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def asked(port: int, *, buffer_bytes: int = 0) -> socket.socket:
    made = socket.socket()
    if buffer_bytes:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
    made.settimeout(60)
    made.connect(("127.0.0.1", port))
    made.sendall(ASK)
    return made


def test_those_who_never_read_cost_little_and_delay_nobody(server: subprocess.Popen[str]) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert min(soft, hard) > SILENT + 100
    assert server.stdin is not None
    assert server.stdout is not None
    port = int(server.stdout.readline())
    server.stdin.write("begin\n")
    server.stdin.flush()
    with ExitStack() as stack:
        for _ in range(SILENT):
            stack.enter_context(asked(port, buffer_bytes=4_096))
        reader = stack.enter_context(asked(port))
        received = reader.recv(65_536)
        before = resident(server)
        server.stdin.write(f"tell {EVENTS}\n")
        server.stdin.flush()
        assert is_alive(port)
        while piece := reader.recv(1 << 20):
            received += piece
        assert is_alive(port)
        growth = resident(server) - before
    events = [json.loads(line[6:]) for line in received.splitlines() if line.startswith(b"data: ")]
    assert events[-1]["type"] == "complete"
    assert growth < SILENT * MOST_BYTES_EACH


def is_alive(port: int) -> bool:
    """Whether the server answers within seconds."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as calling:
        calling.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return calling.recv(1_000).startswith(b"HTTP/1.1 200")


def test_who_takes_nothing_for_a_while_loses_its_connection_and_who_only_waits_does_not(
    api: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("patrol.api.peer.TAKES_NOTHING_SECONDS", 0.3)
    live = api.house.stream.begin("r1")
    credential = f"Authorization: {api.headers['Authorization']}\r\n\r\n".encode()
    with serving(api.house) as port, ExitStack() as stack:
        for run_id in (b"r1", b"r2"):
            api.house.stream.begin(run_id.decode())
            waiting = stack.enter_context(socket.socket())
            waiting.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            waiting.connect(("127.0.0.1", port))
            waiting.sendall(ASK.replace(b"r1", run_id)[:-2] + credential)
        wait_for_listeners(api.house, 2)
        for number in range(200):
            live.tool_started(f"c{number}", "pulse_query", {"text": "x" * 7_000})
        until = time.monotonic() + 20
        while api.house.stream.listeners == 2:
            assert time.monotonic() < until
            time.sleep(0.01)
        time.sleep(0.7)
        assert api.house.stream.listeners == 1
