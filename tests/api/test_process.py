"""A real server on real sockets: who is at the other end, and what becomes of what is no HTTP at all."""

import json
import os
import pwd
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

STATUS = b"GET /api/security/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@dataclass
class Serving:
    port: int
    path: str

    def over_network(self, request: bytes) -> tuple[int, dict]:
        return said(socket.create_connection(("127.0.0.1", self.port), timeout=10), request)

    def over_socket(self, request: bytes) -> tuple[int, dict]:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(10)
        connection.connect(self.path)
        return said(connection, request)


def said(connection: socket.socket, request: bytes) -> tuple[int, dict]:
    """Status and body of the answer to some bytes."""
    received = b""
    with connection:
        try:
            connection.sendall(request)
            while piece := connection.recv(65_536):
                received += piece
        except ConnectionError:  # it hung up while more was sent; what it said before counts
            pass
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    path = str(tmp_path_factory.mktemp("run") / "api.sock")
    command = [sys.executable, "-m", "tests.api.serving", path]
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        try:
            yield Serving(int(process.stdout.readline()), path)
        finally:
            process.terminate()
            process.wait(timeout=10)


def test_a_process_of_the_same_user_is_known_on_the_socket_by_its_name(serving: Serving) -> None:
    status, body = serving.over_socket(STATUS.replace(b"localhost", b"anything.at.all"))
    assert (status, body["username"]) == (200, pwd.getpwuid(os.geteuid()).pw_name)
    assert body["settingsCapabilities"]["patrolRun"] is True


def test_this_machine_is_served_as_long_as_nobody_is_known(serving: Serving) -> None:
    status, body = serving.over_network(STATUS)
    assert (status, body["username"]) == (200, "local")


def test_the_address_of_a_socket_cannot_be_claimed_over_the_network(serving: Serving) -> None:
    forged = STATUS.replace(b"\r\n\r\n", b"\r\nX-Forwarded-For: unix:0\r\n\r\n")
    status, body = serving.over_network(forged)
    assert (status, body["authenticated"]) == (200, False)


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 60, 400),
        (b"junk\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 200_000 + b"\r\n\r\n", 400),
        (
            b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Long: " + b"x" * 40_000 + b"\r\n\r\n",
            431,
        ),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\nConnection: close\r\n\r\n", 413),
    ],
    ids=["TLS", "junk", "no Host", "endless header", "long header", "two lengths", "long body"],
)
def test_what_cannot_be_served_has_the_one_envelope(serving: Serving, request_bytes, status) -> None:
    answered, body = serving.over_network(request_bytes)
    assert answered == status
    assert body["error"] == body["code"]
    assert body["message"]


def test_the_server_lives_on(serving: Serving) -> None:
    assert serving.over_network(STATUS.replace(b"/api/security/status", b"/healthz"))[0] == 200
