"""How long commands take from the shell's point of view: the best and the median of several fresh processes."""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 9
PATROL = Path(sys.executable).with_name("patrol")
BOUNDS_SECONDS = {"version": 0.1, "detect": 0.4}

_DISKS = {"disks": [{"id": f"disk-{number}", "node": "pve1", "health": "PASSED"} for number in range(100)]}
_LINE = {"id": "1", "tool_name": "pulse_metrics", "input": {"type": "disks"}, "output": _DISKS, "success": True}


def seconds_of(arguments: list[str]) -> list[float]:
    times: list[float] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        subprocess.run([str(PATROL), *arguments], check=True, capture_output=True)
        times.append(time.perf_counter() - began)
    return sorted(times)


def main() -> int:
    too_slow = 0
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder, "calls.jsonl")
        recording.write_text(json.dumps(_LINE) + "\n", encoding="utf-8")
        commands = {
            "version": ["version"],
            "help": ["--help"],
            "detect": ["detect", "--tool-calls", str(recording), "--json"],
            "config": ["config", "show"],
        }
        for name, arguments in commands.items():
            times = seconds_of(arguments)
            bound = BOUNDS_SECONDS.get(name)
            said = "" if bound is None else f"  (at most {bound:.1f} s)"
            sys.stdout.write(f"patrol {name:<8} best {times[0]:.3f} s, median {statistics.median(times):.3f} s{said}\n")
            too_slow += bound is not None and times[0] > bound
    return 1 if too_slow else 0


if __name__ == "__main__":
    sys.exit(main())
