"""The test's side of the warm process: orders a victim, and learns how it ended."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.acceptance.crash.estates import Place, url_of

ROOT = Path(__file__).resolve().parents[3]


@dataclass(slots=True)
class Warm:
    """A warm process. One victim at a time."""

    process: "subprocess.Popen[str]"

    def order(self, place: Place, step: int, **options: object) -> int:
        """Starts a victim, and returns its process id."""
        self._say({"url": url_of(place), "step": step, **options})
        return int(self._heard())

    def ended(self) -> int:
        """Waits for the end of the victim: its exit code, or the negative number of the signal that killed it."""
        return os.waitstatus_to_exitcode(int(self._heard()))

    def kill_after(self, seconds: float, place: Place, step: int) -> int:
        """A run that is killed after this time, unless it ended before."""
        victim = self.order(place, step)
        time.sleep(seconds)
        with suppress(ProcessLookupError):  # it was faster
            os.kill(victim, signal.SIGKILL)
        return self.ended()

    def _say(self, order: dict[str, object]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def _heard(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the warm process ended"
        return line


def warm_process() -> Warm:
    program = [sys.executable, "-m", "tests.acceptance.crash.victim"]
    return Warm(
        subprocess.Popen(
            program, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
    )
