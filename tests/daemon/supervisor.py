"""A test that plays systemd: starts the daemon, hears what it says, sends it signals."""

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from patrol.estate.model import Resource
from tests.run.builders import estate

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 40.0


def documented(home: Path, *resources: Resource) -> str:
    """Writes a document of these resources; the settings that make a daemon look at it and at nothing else."""
    document = estate(*resources)
    document.collected_at = datetime.now(UTC)
    file = home / "estate.json"
    file.write_bytes(msgspec.json.encode(document))
    return f'[[sources]]\ntype = "snapshot"\nname = "local"\nfile = "{file}"\n'


@dataclass
class Supervised:
    """A daemon under way. `heard`: every datagram with the time (of the system's monotonic clock) at which it came."""

    process: subprocess.Popen[bytes]
    inbox: "queue.Queue[tuple[float, str]]"
    log: Path
    heard: list[tuple[float, str]] = field(default_factory=list)

    def hear(self, wanted: str, seconds: float = PATIENCE) -> float:
        """Waits for a datagram that has this line, or begins with it; when it came."""
        until = time.monotonic() + seconds
        while True:
            try:
                at, text = self.inbox.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"never heard {wanted}; heard {self.heard}; log: {self.log.read_text()}") from None
            self.heard.append((at, text))
            if any(line.startswith(wanted) for line in text.splitlines()):
                return at

    def hears_nothing_like(self, unwanted: str, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            try:
                at, text = self.inbox.get(timeout=left)
            except queue.Empty:
                return
            self.heard.append((at, text))
            assert unwanted not in text

    def signal(self, which: signal.Signals) -> None:
        self.process.send_signal(which)

    def ends(self, seconds: float = PATIENCE) -> int:
        code = self.process.wait(seconds)
        while not self.inbox.empty():
            self.heard.append(self.inbox.get())
        return code

    def kinds(self) -> list[str]:
        """What was heard, without the sign of life and the words of the status."""
        return [
            line.partition("=")[0]
            for _, text in self.heard
            for line in text.splitlines()
            if not line.startswith(("WATCHDOG", "STATUS"))
        ]

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]

    def events(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.lines() if line["event"] == event]

    def wait_for(self, event: str, count: int = 1, seconds: float = PATIENCE) -> list[dict[str, Any]]:
        until = time.monotonic() + seconds
        while len(found := self.events(event)) < count:
            assert time.monotonic() < until, f"no {event!r} in {self.log.read_text()}"
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.05)
        return found


@contextmanager
def supervised(
    home: Path, settings: str, *arguments: str, watchdog_seconds: float | None = None, **environment: str
) -> Iterator[Supervised]:
    """Starts `patrol serve` in a home of its own; what is not over at the end is killed."""
    config = home / "patrol.toml"
    config.write_text(settings, encoding="utf-8")
    place = str(home / "notify")
    Path(place).unlink(missing_ok=True)
    ears = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    ears.bind(place)
    ears.settimeout(0.1)
    inbox: queue.Queue[tuple[float, str]] = queue.Queue()
    over = threading.Event()

    def listen() -> None:
        while not over.is_set():
            try:
                data = ears.recv(4096)
            except TimeoutError:
                continue
            inbox.put((time.clock_gettime(time.CLOCK_MONOTONIC), data.decode()))

    kept = {name: value for name, value in os.environ.items() if not name.startswith("PATROL_")}
    for name in ("STATE_DIRECTORY", "RUNTIME_DIRECTORY", "CREDENTIALS_DIRECTORY", "JOURNAL_STREAM"):
        kept.pop(name, None)
    given = {
        **kept,
        "HOME": str(home),
        "STATE_DIRECTORY": str(home),
        "PYTHONPATH": str(ROOT),
        "NOTIFY_SOCKET": place,
        **({"WATCHDOG_USEC": str(int(watchdog_seconds * 1e6))} if watchdog_seconds else {}),
        **environment,
    }
    log = home / "log"
    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    with log.open("ab") as stderr:
        command: Sequence[str] = [sys.executable, "-m", "patrol", "serve", "--config", str(config), *arguments]
        process = subprocess.Popen(command, env=given, cwd=home, stdout=stderr, stderr=stderr)
    try:
        yield Supervised(process, inbox, log)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        over.set()
        listener.join()
        ears.close()
