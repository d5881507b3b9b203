"""The edge to the host: files under a root, programs with a bound. Everything else here is pure parsing."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from findings.model import Gap
from patrol.estate.model import Metric, Reading, Resource
from signals.evidence import FilesystemRow, SensorRow, UnitRow

MAX_OUTPUT_BYTES = 16 << 20
"""A program that prints more is cut off and counts as failed: nothing that is read here is that large."""

# Programs of administrators are not on every user's PATH, though any user may run them.
_SEARCH_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"))


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
        try:
            done = subprocess.run(  # noqa: S603 - fixed argv of read-only programs, never a shell
                [program, *argv[1:]],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=timeout_seconds,
                check=False,
                env=environment,
            )
        except subprocess.TimeoutExpired as error:
            raise ProgramTimedOutError(argv[0]) from error
        return CommandResult(
            returncode=done.returncode,
            stdout=done.stdout[:MAX_OUTPUT_BYTES].decode("utf-8", "replace"),
            stderr=done.stderr[:MAX_OUTPUT_BYTES].decode("utf-8", "replace"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Whose readings these are: the configured source, and the host's id and name."""

    source: str
    host_id: str
    hostname: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What the reader of one topic found. None for a section of the host: it was not read (the gaps say why).

    `complete`: everything of this topic that exists here was read.
    """

    resources: Sequence[Resource] = ()
    gaps: Sequence[Gap] = ()
    metrics: Mapping[Metric, Reading] = field(default_factory=dict)
    filesystems: Sequence[FilesystemRow] | None = None
    units: Sequence[UnitRow] | None = None
    sensors: Sequence[SensorRow] | None = None
    complete: bool = True
