"""Debian's Prometheus for tests: its programs, and a private server that scrapes what it is told to."""

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "config/prometheus"
_START_SECONDS = 60.0
_POLL_SECONDS = 0.2

Found = TypeVar("Found")


def find_program(name: str) -> str | None:
    """`prometheus` or `promtool`, None where it is not installed."""
    return shutil.which(name)


def promtool(*arguments: str | Path, given: bytes = b"") -> str:
    """What promtool says; raises AssertionError with it where it is not content."""
    done = subprocess.run(["promtool", *map(str, arguments)], input=given, capture_output=True, check=False)
    said = (done.stdout + done.stderr).decode(errors="replace")
    assert done.returncode == 0, said
    return said


def dies_with_us() -> list[str]:
    """Before a command: it is ended when the tests are killed and cannot end it themselves."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL"] if setpriv else []


def wait_for(ask: Callable[[], Found | None], what: str, seconds: float = _START_SECONDS) -> Found:
    """The first answer that is one. Raises AssertionError when there was none for so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = ask()
        if found is not None:
            return found
        time.sleep(_POLL_SECONDS)
    raise AssertionError(f"{what} did not come within {seconds:g} s")


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A running server."""

    url: str

    def api(self, path: str, **query: str) -> Any:
        """The data of one answer. Raises AssertionError where the server refuses the question."""
        with_query = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(with_query, timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{query}: {error.read().decode()}") from error

    def query(self, expression: str) -> dict[tuple[str, ...], float]:
        """The samples of an expression, by the values of their labels beside those of the target."""
        return {
            tuple(
                value
                for label, value in sorted(sample["metric"].items())
                if label not in {"__name__", "job", "instance"}
            ): float(sample["value"][1])
            for sample in self.api("query", query=expression)["result"]
        }


@contextmanager
def private_server(target: str, folder: Path) -> Iterator[Prometheus]:
    """A Prometheus with the configuration of the project that scrapes this address each second."""
    folder.mkdir()
    shutil.copy(CONFIG / "patrol.rules.yml", folder)
    text = (CONFIG / "prometheus.yml").read_text(encoding="utf-8")
    assert "127.0.0.1:7667" in text
    (folder / "prometheus.yml").write_text(text.replace("127.0.0.1:7667", target).replace("30s", "1s"))
    port = free_port()
    command = [
        *dies_with_us(),
        "prometheus",
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder)
    try:
        server = Prometheus(f"http://127.0.0.1:{port}")
        wait_for(lambda: _ready(server, process, folder / "log"), "Prometheus")
        yield server
    finally:
        process.kill()
        process.wait()


def _ready(server: Prometheus, process: "subprocess.Popen[bytes]", log: Path) -> bool | None:
    assert process.poll() is None, log.read_text(errors="replace")
    try:
        with urllib.request.urlopen(f"{server.url}/-/ready", timeout=2):
            return True
    except OSError:
        return None


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port
