"""A real `patrol serve` with many findings: what it takes when nothing happens, and when many ask at once.

Storage, settings and estate are its own, in a temporary folder; clients are a process of their own
(`tests.bench.daemon_client`), so that the seconds of CPU are the daemon's.
"""

import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from findings.model import Look
from patrol.database import open_database
from tests.bench.daemon_client import FINDINGS
from tests.bench.generate import estate_document, generate
from tests.bench.many_findings import Bench as FindingsBench
from tests.bench.many_findings import observations
from tests.daemon.supervisor import ROOT, Supervised, supervised

FOUND = 10_000
RESOURCES = 1_000
IDLE_SECONDS = 30.0  # a sample of the estate falls into every second of these
LOAD_SECONDS = 5.0
CLIENTS = 50
LISTENERS = 500

IDLE_MIB = 120.0
IDLE_CPU_PERCENT = 0.5
LIST_MS = 50.0
VERB_MS = 20.0

SETTINGS = """
[patrol]
startup_delay = "1h"
[api]
listen = "127.0.0.1:0"
[[sources]]
type = "snapshot"
name = "local"
file = "{file}"
"""

_TICKS = os.sysconf("SC_CLK_TCK")

Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement. `aim`: what `said` has to do with; met or not."""

    what: str
    figures: Figures
    aim: str = ""
    is_met: bool = True


@dataclass
class Process:
    """What the kernel says of a process."""

    pid: int

    def memory_mib(self, name: str = "VmRSS") -> float:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) / 1024
        raise LookupError(name)

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))  # noqa: PTH208 - counted, not looked at

    def threads(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/task"))  # noqa: PTH208


@dataclass
class House:
    """A daemon that answers, and clients for it."""

    daemon: Supervised
    port: int

    @property
    def process(self) -> Process:
        return Process(self.daemon.process.pid)

    def client(self, task: str, **values: object) -> Figures:
        """One task of the clients, with what the daemon took for it."""
        say(f"{task} {values}")
        before, began = self.process.cpu_seconds(), time.perf_counter()
        done = subprocess.run(self._command(task, values), stdout=subprocess.PIPE, cwd=ROOT, check=True)
        figures: Figures = json.loads(done.stdout)
        return figures | self._took(before, began)

    def listeners(self, count: int) -> Figures:
        """So many listeners; what they take while nothing is told, and how a run is told to them."""
        say(f"{count} listeners")
        before, began = self.process.cpu_seconds(), time.perf_counter()
        rss, open_ones = self.process.memory_mib(), self.process.descriptors()
        command = self._command("streams", {"clients": count})
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as client:
            assert client.stdin is not None
            assert client.stdout is not None
            client.stdout.readline()
            joined = self.process.cpu_seconds() - before
            held = {"rss_held": self.process.memory_mib(), "descriptors_more": self.process.descriptors() - open_ones}
            quiet = self.idle(10.0)["cpu_percent"]
            client.stdin.write(b"\n")
            client.stdin.flush()
            figures: Figures = json.loads(client.stdout.readline())
        assert client.returncode == 0
        time.sleep(1)
        held |= {"kib_each": (held["rss_held"] - rss) * 1024 / count, "left": self.process.descriptors() - open_ones}
        return figures | self._took(before, began) | held | {"join_cpu": joined, "quiet_cpu_percent": quiet}

    def idle(self, seconds: float) -> Figures:
        """What it takes while nobody asks anything."""
        before, began = self.process.cpu_seconds(), time.perf_counter()
        time.sleep(seconds)
        took = self.process.cpu_seconds() - before
        return {
            "rss": self.process.memory_mib(),
            "cpu_percent": took / (time.perf_counter() - began) * 100,
            "threads": self.process.threads(),
            "descriptors": self.process.descriptors(),
        }

    def _command(self, task: str, values: dict[str, object]) -> list[str]:
        given = [f"{name}={json.dumps(value)}" for name, value in values.items()]
        return [sys.executable, "-m", "tests.bench.daemon_client", str(self.port), task, *given]

    def _took(self, before: float, began: float) -> Figures:
        cpu = self.process.cpu_seconds() - before
        return {
            "daemon_cpu": cpu,
            "daemon_cores": cpu / (time.perf_counter() - began),
            "rss": self.process.memory_mib(),
        }


def say(what: str) -> None:
    """Progress, with how busy the machine is."""
    sys.stderr.write(f"[load {os.getloadavg()[0]:.1f}] {what}\n")


@contextmanager
def house(found: int, resources: int) -> Iterator[House]:
    """A daemon with so many findings that nobody closes, and an estate of so many other resources."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        say(f"filling {found} findings")
        fill(home, found)
        file = home / "estate.json"
        file.write_bytes(estate_document(generate(resources, now=datetime.now(UTC)).estate))
        gc.collect()
        with supervised(home, SETTINGS.format(file=file)) as daemon:
            daemon.hear("READY=1")
            (listening,) = daemon.wait_for("listening")
            yield House(daemon, int(listening["places"][0].rpartition(":")[2]))


def fill(home: Path, found: int) -> None:
    """A database with this many open findings."""
    database = open_database(f"sqlite:///{home / 'patrol.db'}")
    FindingsBench(database).run("new", observations(found, 91.5), Look.PRESENT)
    database.close()


def measure(found: int = FOUND, resources: int = RESOURCES, idle_seconds: float = IDLE_SECONDS) -> Iterator[Row]:
    """All figures, one after the other."""
    with house(found, resources) as it:
        time.sleep(3)
        yield _idle("idle, just started", it.idle(idle_seconds))
        yield Row("/healthz, nothing else", it.client("health", seconds=LOAD_SECONDS, run=False))
        yield Row("/healthz, first run", it.client("health", seconds=LOAD_SECONDS, run=True))
        yield Row("/healthz, second run", it.client("health", seconds=LOAD_SECONDS, run=True))
        default = {"clients": CLIENTS, "seconds": LOAD_SECONDS, "path": FINDINGS}
        yield _list(f"{CLIENTS} clients, default list, each once a second", it.client("lists", **default, every=1))
        yield _list(f"{CLIENTS} clients, default list, without a pause", it.client("lists", **default, every=0))
        fifty = default | {"path": f"{FINDINGS}?limit=50"}
        yield _list(f"{CLIENTS} clients, pages of 50, each once a second", it.client("pages", **fifty, every=1))
        yield _list(f"{CLIENTS} clients, pages of 50, without a pause", it.client("pages", **fifty, every=0))
        yield _verb("acknowledge, one by one", it.client("acknowledge", clients=1, count=200))
        yield _verb("acknowledge, 4 at once", it.client("acknowledge", clients=4, count=200))
        yield Row(f"{LISTENERS} listeners", it.listeners(LISTENERS))
        yield _idle("idle, after all of it", it.idle(idle_seconds))
        yield Row("peak", {"rss": it.process.memory_mib("VmHWM")})


def _idle(what: str, it: Figures) -> Row:
    aim = f"at most {IDLE_MIB:g} MiB and {IDLE_CPU_PERCENT:g} % of a core"
    return Row(what, it, aim, it["rss"] <= IDLE_MIB and it["cpu_percent"] <= IDLE_CPU_PERCENT)


def _list(what: str, it: Figures) -> Row:
    return Row(what, it, f"p99 at most {LIST_MS:g} ms", it["p99"] <= LIST_MS and not it["refused"])


def _verb(what: str, it: Figures) -> Row:
    return Row(what, it, f"p99 at most {VERB_MS:g} ms", it["p99"] <= VERB_MS and not it["refused"])
