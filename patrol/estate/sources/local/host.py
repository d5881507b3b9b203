"""The edge to the host: files under a root, programs with a bound. Everything else here is pure parsing."""

import contextlib
import errno
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from findings.model import Gap, GapReason, Sight, Topic
from patrol.estate.model import Metric, Reading, Resource
from patrol.estate.sources.model import Counter
from signals.evidence import SensorRow, UnitRow
from signals.storage_evidence import FilesystemRow
from signals.traffic_evidence import BlockDeviceRow, InterfaceRow

MAX_OUTPUT_BYTES = 16 << 20
"""A program that prints more has failed: nothing that is read here is that large."""

_KILL_SECONDS = 1

# Programs of administrators are not on every user's PATH, though any user may run them.
_SEARCH_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"))


_NUMBER = re.compile(r"(\d+)")


def _by_number(name: str) -> list[tuple[int, str]]:
    # re.split with one group alternates text and digits, so equal positions always compare alike.
    return [(int(part), "") if part.isdecimal() else (0, part) for part in _NUMBER.split(name)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """What a program printed and how it ended. Undecodable bytes become U+FFFD."""

    returncode: int
    stdout: str
    stderr: str


class ProgramMissingError(Exception):
    """The program is not installed."""


class ProgramTimedOutError(Exception):
    """The program did not end within its bound and was killed."""


class Host:
    """This machine, or a tree that looks like one.

    Paths are given absolute and read below `root`. Tests make their own class with these two methods.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    def path(self, absolute: str) -> Path:
        """Where an absolute path of the host lies."""
        return self.root / absolute.lstrip("/")

    def read_text(self, absolute: str) -> str:
        """The text of a file; raises OSError. Undecodable bytes become U+FFFD."""
        return self.path(absolute).read_text(encoding="utf-8", errors="replace")

    def list_names(self, absolute: str) -> list[str]:
        """The names in a folder, sorted, numbers by value; raises OSError."""
        return sorted((entry.name for entry in self.path(absolute).iterdir()), key=_by_number)

    def has_program(self, name: str) -> bool:
        """Whether a program is installed."""
        return shutil.which(name, path=_SEARCH_PATH) is not None

    def run(self, argv: Sequence[str], *, timeout_seconds: float = 20) -> CommandResult:
        """Runs a program without a shell, in the C locale.

        Raises ProgramMissingError, ProgramTimedOutError or OSError.
        """
        program = shutil.which(argv[0], path=_SEARCH_PATH)
        if program is None:
            raise ProgramMissingError(argv[0])
        environment = {"PATH": _SEARCH_PATH, "LC_ALL": "C", "LANG": "C"}
        process = subprocess.Popen(  # noqa: S603 - fixed argv of read-only programs, never a shell
            [program, *argv[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        try:
            stdout, stderr = process.communicate(timeout=timeout_seconds)
        except subprocess.TimeoutExpired as error:
            raise ProgramTimedOutError(argv[0]) from error
        finally:
            _end(process)
        if len(stdout) > MAX_OUTPUT_BYTES:
            raise OSError(errno.EFBIG, f"{argv[0]} printed more than {MAX_OUTPUT_BYTES >> 20} MiB")
        return CommandResult(
            returncode=process.returncode,
            stdout=stdout.decode("utf-8", "replace"),
            stderr=stderr[:MAX_OUTPUT_BYTES].decode("utf-8", "replace"),
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kills a program that still runs, and waits a moment for its end.

    One that waits for a dead disk does not even die of SIGKILL. It is left to the kernel, and to `subprocess`, which
    collects it later: waiting here would hang its caller for as long as the disk is dead.
    """
    if process.poll() is not None:
        return
    process.kill()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=_KILL_SECONDS)


def find_text(host: Host, absolute: str) -> str | None:
    """The text of a file that only some hosts have or let be read; None without it."""
    try:
        return host.read_text(absolute)
    except OSError:
        return None


def reason_of(error: OSError) -> GapReason:
    """Why a read that ended in `error` could not be made."""
    return GapReason.NO_PERMISSION if isinstance(error, PermissionError) else GapReason.FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Whose readings these are: the configured source, and the host's id and name."""

    source: str
    host_id: str
    hostname: str

    def gap(self, topic: Topic, reason: GapReason, detail: str, *, fix: str = "", sight: Sight = Sight.STANDING) -> Gap:
        """A gap in what is known of the host itself."""
        return Gap(
            source=self.source,
            topic=topic,
            reason=reason,
            detail=detail,
            resource_id=self.host_id,
            fix=fix,
            sight=sight,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUse:
    """Memory in use: what could not be given back at once. Always 0 < used <= total.

    `arc_bytes`: the ZFS cache above its minimum, which the kernel counts as used and `used_bytes` does not.
    """

    total_bytes: int
    used_bytes: int
    arc_bytes: int = 0

    @property
    def percent(self) -> float:
        """Share of the total that is in use, 0-100."""
        return 100 * self.used_bytes / self.total_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What the reader of one topic found. None for a section of the host: it was not read (the gaps say why).

    `complete`: everything of this topic that exists here was read. `counters`: what the next collection needs
    for its rates, by name.
    """

    resources: Sequence[Resource] = ()
    gaps: Sequence[Gap] = ()
    metrics: Mapping[Metric, Reading] = field(default_factory=dict)
    filesystems: Sequence[FilesystemRow] | None = None
    units: Sequence[UnitRow] | None = None
    sensors: Sequence[SensorRow] | None = None
    interfaces: Sequence[InterfaceRow] | None = None
    block_devices: Sequence[BlockDeviceRow] | None = None
    memory: MemoryUse | None = None
    counters: Mapping[str, Counter] = field(default_factory=dict)
    complete: bool = True
