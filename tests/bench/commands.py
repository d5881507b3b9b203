"""Whole commands, as a shell sees them: fresh processes, with what each of them cost."""

import os
import subprocess
import sys
import time
from pathlib import Path

PATROL = Path(sys.executable).with_name("patrol")

Figures = dict[str, float]


def cost_of(arguments: list[str]) -> Figures:
    """CPU and wall seconds and peak memory of one `patrol` command; raises if it cannot be run.

    Exit codes up to 4 are answers (findings, gaps), not failures. Peak memory counts from the fork of this process,
    so this process must stay small: it holds no data.
    """
    began = time.perf_counter()
    process = subprocess.Popen(
        [str(PATROL), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _pid, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in range(5):
        raise RuntimeError(f"patrol {' '.join(arguments)} ended with {process.returncode}")
    return {"cpu_seconds": used.ru_utime + used.ru_stime, "wall_seconds": wall, "peak_mib": used.ru_maxrss / 1024}
