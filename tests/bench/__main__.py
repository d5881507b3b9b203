"""Measures Patrol: `python -m tests.bench [NAME ...] [--sizes 1000,10000] [--rounds 5] [--data DIR] [--check]`.

Names: startup, detect, recover, findings, run, model, daemon; without any, all of them. Every figure but those of the
daemon is the median of fresh processes; what is compared runs in turns, so that a busy minute meets all alike. With
`--check` the command fails where an aim is missed that a machine's speed does not decide.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from tests.bench.commands import Figures, cost_of
from tests.bench.daemon import FOUND, RESOURCES, measure

SIZES = (1000, 10_000, 100_000)
RUN_SIZES = (1000, 5000, 20_000, 100_000)
MODEL_SIZES = (10, 100, 1000)
MOST_SILENT_TOKENS = 16_000
"""Words for the model, tools and seed of all passes together: what a run costs that finds a model without interest."""

LEAST_TIMES_JSON = 0.8
"""Detection of recorded text, compared with `json.loads` of it in the same minutes; leaves room for noise."""
MOST_GROWTH = 2.0
"""How many times as long each resource, or byte, may take in the largest input: caches and allocators have their say.
What grows with the square is beyond it."""


class Bench:
    """What is asked for, where its data lies, and which aims were missed."""

    def __init__(self, rounds: int, sizes: Sequence[int] | None, data: Path) -> None:
        self._rounds = rounds
        self.sizes = sizes
        self._data = data
        self.missed: list[str] = []

    def file(self, resources: int, kind: str) -> str:
        """The estate document or recording of this size, made if it is not there: in a process of its own."""
        paths = {kind: self._data / f"{kind}-{resources}.json" for kind in ("estate", "calls")}
        if not paths[kind].exists():
            command = [sys.executable, "-m", "tests.bench.generate", f"--resources={resources}"]
            command += [f"--{name}={path}" for name, path in paths.items()]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return str(paths[kind])

    def task(self, name: str, argument: str) -> Figures:
        """One task of `tests.bench.tasks`, in a fresh process."""
        command = [sys.executable, "-m", "tests.bench.tasks", name, argument]
        figures: Figures = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        return figures

    def model_task(self, name: str, size: int) -> Figures:
        """One task of `tests.bench.model_runs`, in a fresh process."""
        command = [sys.executable, "-m", "tests.bench.model_runs", name, str(size)]
        figures: Figures = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        return figures

    def medians(self, works: dict[str, Callable[[], Figures]]) -> dict[str, Figures]:
        """The median of each figure of each work, all works taking turns."""
        found: dict[str, list[Figures]] = {name: [] for name in works}
        for _ in range(self._rounds):
            for name, work in works.items():
                found[name].append(work())
        return {
            name: {key: statistics.median(each[key] for each in rounds) for key in rounds[0]}
            for name, rounds in found.items()
        }

    def aim(self, said: str, *, is_met: bool) -> None:
        """Notes an aim that was missed."""
        if not is_met:
            self.missed.append(said)


def show(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints a table in Markdown."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = [heads, ["-" * width for width in widths], *rows]
    said = "\n".join("| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines)
    sys.stdout.write(f"\n{title}\n\n{said}\n")
    sys.stdout.flush()


def startup(bench: Bench) -> None:
    """What a command costs before it does anything, and with very little to do."""
    small = bench.file(100, "calls")
    commands = {
        "patrol version": ["version"],
        "patrol --help": ["--help"],
        "patrol detect, 100 resources": ["detect", "--tool-calls", small, "--json"],
        "patrol run, 100 resources": ["run", "--snapshot", bench.file(100, "estate"), "--no-model", "--json"],
    }
    found = bench.medians({name: partial(cost_of, given) for name, given in commands.items()})
    rows = [
        (name, f"{it['wall_seconds']:.2f}", f"{it['cpu_seconds']:.2f}", f"{it['peak_mib']:.0f}")
        for name, it in found.items()
    ]
    show("Start-up", ("command", "s on the wall", "s of CPU", "peak MiB"), rows)


def detection(bench: Bench) -> None:
    """The detectors over recorded text and over structs, beside parsers of the same text."""
    rows = []
    for size in bench.sizes or SIZES:
        calls = bench.file(size, "calls")
        names = ("detect_text", "detect_structs", "decode", "json_loads")
        found = bench.medians({name: partial(bench.task, name, calls) for name in names})
        base = found["json_loads"]["cpu_seconds"]
        for name, it in found.items():
            speed = it["bytes"] / 1e6 / it["cpu_seconds"]
            rows.append(
                (
                    f"{size:,}",
                    name.replace("_", " "),
                    f"{it['bytes'] / 1e6:.1f}",
                    f"{it['cpu_seconds'] * 1000:.1f}",
                    f"{speed:.0f}",
                    f"{base / it['cpu_seconds']:.2f}",
                    f"{it['peak_mib']:.0f}",
                    f"{it.get('signals', 0):.0f} / {it.get('looks', 0):.0f}" if "looks" in it else "",
                )
            )
        times = base / found["detect_text"]["cpu_seconds"]
        bench.aim(f"detection at {size:,}: {times:.2f} x json.loads", is_met=times >= LEAST_TIMES_JSON)
    heads = ("resources", "what", "MB", "ms of CPU", "MB/s", "x json.loads", "peak MiB", "signals / looks")
    show("Detection", heads, rows)


def recovery(bench: Bench) -> None:
    """Documents that were cut off: the time must grow with their size, not with its square."""
    sizes = ("0.75", "1.5", "3", "6")
    found = bench.medians({size: partial(bench.task, "recover_cut", size) for size in sizes})
    rows = [
        (size, f"{it['rows']:.0f}", f"{it['cpu_seconds'] * 1000:.0f}", f"{it['bytes'] / 1e6 / it['cpu_seconds']:.0f}")
        for size, it in found.items()
    ]
    show("Cut-off JSON recovered", ("MB", "rows", "ms of CPU", "MB/s"), rows)
    growth = found["6"]["cpu_seconds"] / found["0.75"]["cpu_seconds"] / 8
    bench.aim(f"recovery grows {growth:.2f} times as much as its input", is_met=growth <= MOST_GROWTH)


def findings(bench: Bench) -> None:
    """A run's findings, decided and written in one transaction."""
    rows = []
    for count in (100, 1000, 10_000):
        names = ("file_findings", "refresh_findings")
        found = bench.medians({name: partial(bench.task, name, str(count)) for name in names})
        filed, seen = (found[name]["cpu_seconds"] for name in names)
        each = [f"{seconds / count * 1e6:.0f}" for seconds in (filed, seen)]
        rows.append((f"{count:,}", f"{filed:.3f}", each[0], f"{seen:.3f}", each[1]))
    heads = ("findings", "s to file", "us each", "s to see again", "us each")
    show("Findings in one transaction", heads, rows)


def runs(bench: Bench) -> None:
    """Whole runs over an estate document, without a model."""
    rows = []
    each_takes: list[float] = []
    sizes = bench.sizes or RUN_SIZES
    works = {size: ["run", "--snapshot", bench.file(size, "estate"), "--no-model", "--json"] for size in sizes}
    for size, given in works.items():
        [it] = bench.medians({"run": partial(cost_of, given)}).values()
        each_takes.append(it["cpu_seconds"] / size)
        rows.append(
            (
                f"{size:,}",
                f"{Path(given[2]).stat().st_size / 1e6:.1f}",
                f"{it['wall_seconds']:.2f}",
                f"{it['cpu_seconds']:.2f}",
                f"{it['cpu_seconds'] / size * 1000:.2f}",
                f"{it['peak_mib']:.0f}",
            )
        )
    heads = ("resources", "MB of document", "s on the wall", "s of CPU", "ms of CPU each", "peak MiB")
    show("patrol run --snapshot, no model", heads, rows)
    if len(each_takes) > 1:
        growth = each_takes[-1] / each_takes[-2]  # the smaller ones are mostly start-up
        bench.aim(f"a resource takes {growth:.2f} times as long in the largest estate", is_met=growth <= MOST_GROWTH)


def models(bench: Bench) -> None:
    """What a run takes beside the time of its model, and what it sends."""
    sizes, timed = bench.sizes or MODEL_SIZES, []
    for size in sizes:
        names = ("without_model", "with_model")
        bare, full = bench.medians({name: partial(bench.model_task, name, size) for name in names}).values()
        more = {key: full[key] - bare[key] for key in ("wall_seconds", "cpu_seconds")}
        timed.append(
            (
                f"{size:,}",
                f"{bare['wall_seconds'] * 1000:.0f}",
                f"{full['wall_seconds'] * 1000:.0f}",
                f"{full['requests']:.0f}",
                f"{more['cpu_seconds'] * 1000:.0f}",
                f"{more['cpu_seconds'] / full['requests'] * 1000:.0f}",
            )
        )
    heads = ("resources", "ms without", "ms with", "requests", "ms of CPU more", "a request")
    show("A run with a model that answers at once", heads, timed)
    spent = []
    for size in sizes:
        figures = bench.model_task("tokens", size)
        for name in dict.fromkeys(key.rpartition("/")[0] for key in figures):
            model, _, sort = name.partition("/")
            passes = [figures[f"{name}/{part}"] for part in ("main", "evaluate", "assess")]
            said = [f"{count:,}" for count in (*passes, sum(passes))]
            spent.append((f"{size:,}", model, sort, *said, f"{figures[f'{name}/requests']:.0f}"))
    heads = ("resources", "model", "run", "looks", "evaluates", "assesses", "tokens", "requests")
    show("Tokens of a run", heads, spent)
    most = max(int(row[6].replace(",", "")) for row in spent if row[1] == "silent")
    bench.aim(f"{most} tokens in a run whose model says nothing", is_met=most <= MOST_SILENT_TOKENS)


def daemons(bench: Bench) -> None:
    """A daemon that does nothing, and one that many ask at once. Its times are the machine's, so no aim is checked."""
    rows = []
    for row in measure(resources=(bench.sizes or (RESOURCES,))[0]):
        said = "; ".join(f"{name} {value:.4g}" for name, value in row.figures.items())
        rows.append((row.what, said, row.aim and f"{row.aim}: {'met' if row.is_met else 'missed'}"))
    show(f"A daemon with {FOUND:,} findings (ms)", ("what", "figures", "aim"), rows)


BENCHES = {
    "startup": startup,
    "detect": detection,
    "recover": recovery,
    "findings": findings,
    "run": runs,
    "model": models,
    "daemon": daemons,
}


def main() -> int:
    """Measures what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHES))
    parser.add_argument("--sizes", type=lambda text: [int(part) for part in text.split(",")], help="resources")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data", type=Path, help="folder that keeps the generated estates")
    parser.add_argument("--check", action="store_true", help="fail where an aim is missed")
    given = parser.parse_args()
    unknown = set(given.names) - BENCHES.keys()
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(BENCHES)}")
    with tempfile.TemporaryDirectory() as folder:
        data: Path = given.data or Path(folder)
        data.mkdir(parents=True, exist_ok=True)
        bench = Bench(given.rounds, given.sizes, data)
        for name in given.names or BENCHES:
            BENCHES[name](bench)
    for said in bench.missed:
        sys.stderr.write(f"missed: {said}\n")
    return 1 if bench.missed and given.check else 0


if __name__ == "__main__":
    sys.exit(main())
