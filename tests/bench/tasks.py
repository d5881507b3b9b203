"""What is measured, one task a process: `python -m tests.bench.tasks NAME [ARGUMENT]` prints its figures as JSON.

A task prepares outside of what it measures, warms up on a small estate (so that imports and first uses are paid
for), and measures one pass: the CPU seconds of the process, the seconds on the wall, and its peak memory.
"""

import gc
import json
import sys
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import TypeVar, cast

import msgspec

from findings.identity import finding_key
from findings.kinds import Kind
from findings.lifecycle import advance
from findings.model import DEFAULT_ORG, Category, Look, Observation, Severity
from findings.store import FindingStore
from patrol.database import Database, open_database
from patrol.estate.sources.snapshot import SnapshotSource
from signals.detect import detect
from signals.model import Detection, Examined, ToolCall
from signals.recovery import recover
from signals.thresholds import AlertThresholds
from signals.transcript import Transcript, parse_tool_call
from tests.bench.generate import NOW, generate, recorded_calls, recorded_lines

Result = TypeVar("Result")
Figures = dict[str, float]
_WARM_UP = 100


def measured(work: Callable[[], Result]) -> tuple[Figures, Result]:
    """The figures of one call, and what it returned."""
    gc.collect()
    before, began = time.process_time(), time.perf_counter()
    result = work()
    cpu, wall = time.process_time() - before, time.perf_counter() - began
    return {"cpu_seconds": cpu, "wall_seconds": wall, "peak_mib": peak_mib()}, result


def peak_mib() -> float:
    """Peak memory of this process alone: what getrusage tells may be the parent's."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def calls_of(path: str) -> list[ToolCall]:
    with Path(path).open("rb") as lines:
        return [parse_tool_call(line) for line in lines]


def text_bytes(calls: Iterable[ToolCall]) -> int:
    return sum(len(call.output) for call in calls if isinstance(call.output, bytes))


def warm_calls() -> list[ToolCall]:
    return [parse_tool_call(line) for line in recorded_lines(recorded_calls(generate(_WARM_UP).estate))]


def with_structs(calls: list[ToolCall]) -> list[ToolCall]:
    """The calls as they are inside a run that has not recorded them."""
    transcript = Transcript(calls)
    pages = {page.call_id: page.output for pages in (transcript.inventory(), transcript.pages()) for page in pages}
    return [msgspec.structs.replace(call, output=pages[call.id]) for call in calls]


def detect_text(path: str) -> Figures:
    """The detection over recorded text."""
    calls, thresholds = calls_of(path), AlertThresholds()
    detect(warm_calls(), thresholds, NOW)
    figures, detection = measured(lambda: detect(calls, thresholds, NOW))
    return figures | {"bytes": text_bytes(calls)} | _said(detection)


def detect_structs(path: str) -> Figures:
    """The detection over structs: the rules alone. The bytes are those of the same calls as text."""
    calls, thresholds = calls_of(path), AlertThresholds()
    size = text_bytes(calls)
    calls = with_structs(calls)
    detect(with_structs(warm_calls()), thresholds, NOW)
    figures, detection = measured(lambda: detect(calls, thresholds, NOW))
    return figures | {"bytes": size} | _said(detection)


def _said(detection: Detection) -> Figures:
    return {"signals": len(detection.signals), "looks": len(detection.examined)}


def json_loads(path: str) -> Figures:
    """The standard library's parser over the same text: what any machine can be compared by."""
    calls = calls_of(path)
    texts = [call.output for call in calls if isinstance(call.output, bytes)]

    def work() -> None:
        for text in texts:
            json.loads(text)

    return measured(work)[0] | {"bytes": text_bytes(calls)}


def decode(path: str) -> Figures:
    """The pages as structs, without any rule."""
    calls = calls_of(path)

    def work() -> None:
        transcript = Transcript(calls)
        for pages in (transcript.inventory(), transcript.pages()):
            for _page in pages:
                pass

    gc.disable()  # as the detection does
    return measured(work)[0] | {"bytes": text_bytes(calls)}


def recover_cut(megabytes: str) -> Figures:
    """A document of this size that breaks off in a row, recovered."""
    row = '{"id": "storage:pve1:pool-%06d", "name": "pool", "usage_percent": 41.5, "zfs": {"state": "ONLINE"}}'
    size = int(float(megabytes) * 1e6)
    text = ('{"pools": [' + ", ".join(row % number for number in range(size // 90)))[:size]
    figures, documents = measured(lambda: recover(text))
    rows = sum(len(cast("dict[str, list[object]]", found.value)["pools"]) for found in documents)
    return figures | {"bytes": len(text), "rows": rows}


def read_estate(path: str) -> Figures:
    """An estate document read, checked, and given canonical ids."""
    figures, _estate = measured(lambda: SnapshotSource("lab", path).load())
    return figures | {"bytes": Path(path).stat().st_size}


def file_findings(count: str) -> Figures:
    """New findings into an empty database in memory, in one transaction."""
    database = open_database("sqlite://")
    figures, _ = measured(lambda: _file(database, int(count), 0))
    return figures | {"rows": int(count)}


def refresh_findings(count: str) -> Figures:
    """Findings that are there already, seen again by another run."""
    database = open_database("sqlite://")
    _file(database, int(count), 0)
    figures, _ = measured(lambda: _file(database, int(count), 1))
    return figures | {"rows": int(count)}


def _file(database: Database, count: int, run: int) -> None:
    observations = [
        Observation(
            resource_id=f"vm:lab:{number}",
            resource_name=f"web-{number}",
            resource_type="vm",
            kind=Kind.HIGH_MEMORY,
            severity=Severity.WARNING,
            category=Category.PERFORMANCE,
            summary=f"Memory use is {91 + run} % without caches (limit 80 %)",
            value=91.0 + run,
            limit=80.0,
            limit_source="built-in",
            evidence='{"resource_id":"vm:lab:101","avg_cpu":12.0,"avg_memory":91.0}',
        )
        for number in range(count)
    ]
    examined = Examined()
    for each in observations:
        examined.mark(Kind.HIGH_MEMORY, each.resource_id, Look.PRESENT)
    with database.write() as connection:
        store = FindingStore(connection, DEFAULT_ORG)
        known = store.load_open_and(finding_key(each.resource_id, each.kind) for each in observations)
        now = NOW + timedelta(hours=run)
        store.apply(advance(known, observations, examined, now, run_id=f"run-{run}", org_id=DEFAULT_ORG))


TASKS: dict[str, Callable[[str], Figures]] = {
    task.__name__: task
    for task in (
        detect_text,
        detect_structs,
        json_loads,
        decode,
        recover_cut,
        read_estate,
        file_findings,
        refresh_findings,
    )
}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(TASKS[sys.argv[1]](sys.argv[2])) + "\n")
