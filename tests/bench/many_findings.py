"""What storage costs with few and with many findings: in a run, for an operator, in a list.

    python -m tests.bench.many_findings [SIZE ...]

Wall clock and processor time in milliseconds, synchronous=FULL, on the file system of the temporary folder (TMPDIR). A
URL in PATROL_BENCH_URL measures an empty database of a server instead. Ends with 1 where a bound is not kept.
"""

import gc
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from findings.lifecycle import advance
from findings.model import DEFAULT_ORG, Category, Finding, Look, Observation, Severity
from findings.store import FindingStore, ListPlace
from findings.verbs import Acknowledge
from patrol.database import Database, open_database
from patrol.operators.verbs import carry_out

NOW = datetime(2026, 11, 29, 21, 0, tzinfo=UTC)
SIZES = (100, 1_000, 10_000, 100_000)
BOUNDS_MS = {"written, each": 0.1, "verb": 20.0, "first page": 50.0, "page in the middle": 50.0}


class Took(NamedTuple):
    """Milliseconds. Where other programs keep the machine busy, the wall clock says little of this one."""

    wall: float
    cpu: float


Figures = dict[str, Took]


@dataclass(frozen=True, slots=True)
class All:
    """Everything was looked at, with one answer."""

    answer: Look

    def look(self, _kind: str, _resource_id: str, _subject: str) -> Look:
        return self.answer


def observations(count: int, value: float) -> list[Observation]:
    return [
        Observation(
            resource_id=f"vm:lab:{number}",
            resource_name=f"guest{number}",
            resource_type="vm",
            kind="high_disk",
            severity=Severity.WARNING,
            category=Category.CAPACITY,
            summary=f"/ is {value} % full",
            subject="/",
            value=value,
            limit=90.0,
            limit_source="built-in",
            evidence='{"mountpoint":"/","usage_percent":91.5}',
            tool_call_id="run-1-7",
        )
        for number in range(count)
    ]


@contextmanager
def timed(figures: Figures, name: str) -> Iterator[None]:
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    figures[name] = Took((time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000)


def median(work: Callable[[], object], rounds: int = 9) -> Took:
    figures: Figures = {}
    for number in range(rounds):
        with timed(figures, str(number)):
            work()
    return sorted(figures.values())[rounds // 2]


@dataclass(slots=True)
class Bench:
    """One database, and what is done to it."""

    database: Database
    runs: int = 0

    def run(self, name: str, seen: list[Observation], answer: Look) -> Figures:
        """The final transaction of a run: read, decide, write."""
        self.runs += 1
        now = NOW + timedelta(hours=self.runs)
        figures: Figures = {}
        gc.collect()
        gc.disable()  # as a run does
        with timed(figures, f"{name}: transaction"), self.database.write() as connection:
            store = FindingStore(connection, DEFAULT_ORG)
            with timed(figures, f"{name}: read"):
                known = store.load_open_and(())
            with timed(figures, f"{name}: decided"):
                step = advance(known, seen, All(answer), now, run_id=f"run-{self.runs}", org_id=DEFAULT_ORG)
            with timed(figures, f"{name}: written"):
                store.apply(step)
        gc.enable()
        if step.changes:
            written = figures[f"{name}: written"]
            figures[f"{name}: written, each"] = Took(*(each / len(step.changes) for each in written))
        return figures

    def acknowledge(self, findings: list[Finding]) -> Callable[[], None]:
        remaining = iter(findings)
        now = NOW + timedelta(hours=self.runs)

        def one() -> None:
            carry_out(self.database, DEFAULT_ORG, [next(remaining).id], Acknowledge(), now=now, author="bench")

        return one

    def page(self, after: Finding | None = None) -> list[Finding]:
        place = ListPlace.of(after) if after is not None else None
        with self.database.read() as connection:
            return FindingStore(connection, DEFAULT_ORG).list_page(50, after=place)


def measure(bench: Bench, size: int) -> Figures:
    """All figures for this many findings."""
    figures = bench.run("new", observations(size, 91.5), Look.PRESENT)
    figures |= bench.run("seen again", observations(size, 92.5), Look.PRESENT)
    figures |= bench.run("nothing new", [], Look.HELD)
    figures["verb"] = median(bench.acknowledge(bench.page()))
    figures["first page"] = median(bench.page)
    middle = bench.page()[-1]
    for _ in range(min(size // 100, 200)):
        middle = (bench.page(middle) or [middle])[-1]
    figures["page in the middle"] = median(lambda: bench.page(middle))
    return figures | bench.run("closed", [], Look.CLEAR)


def main() -> int:
    too_slow = 0
    for size in [int(each) for each in sys.argv[1:]] or SIZES:
        with tempfile.TemporaryDirectory() as folder:
            database = open_database(os.environ.get("PATROL_BENCH_URL") or f"sqlite:///{folder}/patrol.db")
            figures = measure(Bench(database), size)
            database.close()
        sys.stdout.write(f"{size} findings{'ms, wall':>29}{'ms, cpu':>12}\n")
        for name, took in figures.items():
            bound = next((most for end, most in BOUNDS_MS.items() if name.endswith(end)), None)
            too_slow += bound is not None and took.wall > bound
            asked = "" if bound is None else f"   at most {bound:g}"
            sys.stdout.write(f"  {name:28}{took.wall:12.3f}{took.cpu:12.3f}{asked}\n")
    return 1 if too_slow else 0


if __name__ == "__main__":
    sys.exit(main())
