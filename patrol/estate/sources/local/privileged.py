"""What only root may read of this host: which programs those are, their answers written down, and answered from that.

`patrol collect` runs as root, asks exactly these programs and keeps what they say. Patrol itself, without root, then
reads the answers in their place: the same text through the same parsers. Nothing is ever asked on its behalf.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from findings.model import Topic
from patrol.estate.sources.local.btrfs import read_btrfs
from patrol.estate.sources.local.disks import read_disks
from patrol.estate.sources.local.host import CommandResult, Host, ProgramMissingError, ProgramTimedOutError, Where
from patrol.estate.sources.local.identity import read_identity
from patrol.estate.sources.local.parallel import ParallelReaders, Reader
from patrol.estate.sources.local.zfs import read_zfs
from patrol.estate.sources.model import CollectRequest

VERSION = 1
OLD = timedelta(hours=1)
"""Answers that are older say nothing of now: the timer brings new ones every 10 minutes."""
_FUTURE = timedelta(minutes=5)

_DEVICE = r"/dev/[A-Za-z0-9][A-Za-z0-9/_.:-]{0,120}"
_TYPE = r"[a-z0-9][a-z0-9,/+_-]{0,40}"
_POOL = r"[A-Za-z][A-Za-z0-9_.: -]{0,254}"
_COLUMNS = r"[a-z,]{1,100}"
_FOLDER = r"/[^\x00-\x1f\x7f]{0,1000}"

_ALLOWED: Sequence[Sequence[str]] = (
    ("smartctl", "--scan", "--json"),
    ("smartctl", "--json", "-x", "-n", "standby", _DEVICE),
    ("smartctl", "--json", "-x", "-n", "standby", "-d", _TYPE, _DEVICE),
    ("btrfs", "device", "stats", _FOLDER),
    ("btrfs", "filesystem", "usage", "--raw", _FOLDER),
)
_ALLOWED_WITH_POOLS: Sequence[Sequence[str]] = (
    ("zpool", "status", "-j", "-p"),
    ("zpool", "status", "-p"),
    ("zpool", "status"),
    ("zpool", "list", "-Hp", "-o", _COLUMNS),
    ("zfs", "list", "-Hp", "-d", "0", "-o", _COLUMNS),
)
"""Command lines, a pattern an argument. All of them only read. Those of ZFS end with the names of any pools."""


def is_allowed(argv: Sequence[str]) -> bool:
    """Whether this is one of the command lines that may be run as root."""
    return any(_fits(form, argv) for form in _ALLOWED) or any(
        _fits(form, argv[: len(form)]) and all(_matches(_POOL, name) for name in argv[len(form) :])
        for form in _ALLOWED_WITH_POOLS
    )


def _fits(form: Sequence[str], argv: Sequence[str]) -> bool:
    return len(form) == len(argv) and all(map(_matches, form, argv))


def _matches(pattern: str, argument: str) -> bool:
    return re.fullmatch(pattern, argument) is not None and ".." not in argument.split("/")


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a program said. `timed_out`: it did not end in time, and the rest is empty."""

    argv: list[str]
    returncode: int = 0
    stdout: str = ""
    stderr: str = ""
    timed_out: bool = False


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """All that was asked in one collection. `boot`: the boot of the kernel that it is of."""

    version: int = VERSION
    collected_at: datetime
    boot: str = ""
    answers: list[Answer] = []

    def why_not(self, boot: str, now: datetime) -> str:
        """Why these say nothing of this host now; "" where they do."""
        age = now - self.collected_at
        if self.version != VERSION:
            return f"they are of version {self.version}; this Patrol reads {VERSION}"
        if self.boot != boot:
            return "they are from before this host was started"
        if age < -_FUTURE:
            return f"they are from the future ({self.collected_at:%Y-%m-%d %H:%M} UTC)"
        return f"they are {told_age(age)} old" if age > OLD else ""


def told_age(age: timedelta) -> str:
    """An age for people."""
    minutes = max(int(age.total_seconds() // 60), 0)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"


def find_boot(host: Host) -> str:
    """Which boot of the kernel this is; "" where that is not told."""
    try:
        return host.read_text("/proc/sys/kernel/random/boot_id").strip()
    except OSError:
        return ""


class RecordingHost(Host):
    """A host whose programs are asked and whose answers are kept. Raises ProgramMissingError for any other program."""

    def __init__(self, host: Host) -> None:
        super().__init__(host.root)
        self._host = host
        self.answers: list[Answer] = []

    def run(self, argv: Sequence[str], *, timeout_seconds: float = 20) -> CommandResult:
        """Asks, and keeps the answer."""
        if not is_allowed(argv):
            raise ProgramMissingError(argv[0])
        try:
            said = self._host.run(argv, timeout_seconds=timeout_seconds)
        except ProgramTimedOutError:
            self.answers.append(Answer(argv=list(argv), timed_out=True))
            raise
        self.answers.append(Answer(argv=list(argv), returncode=said.returncode, stdout=said.stdout, stderr=said.stderr))
        return said


class AnsweredHost(Host):
    """A host that answers from what was written down, and asks by itself for the rest."""

    def __init__(self, host: Host, answers: Answers) -> None:
        super().__init__(host.root)
        self._host = host
        self._known: Mapping[tuple[str, ...], Answer] = {
            tuple(each.argv): each for each in answers.answers if is_allowed(each.argv)
        }

    def run(self, argv: Sequence[str], *, timeout_seconds: float = 20) -> CommandResult:
        """The answer that was written down, else that of the program. Raises what the host raises."""
        known = self._known.get(tuple(argv))
        if known is None:
            return self._host.run(argv, timeout_seconds=timeout_seconds)
        if known.timed_out:
            raise ProgramTimedOutError(argv[0])
        return CommandResult(returncode=known.returncode, stdout=known.stdout, stderr=known.stderr)


_READERS = (
    Reader(label="btrfs", topics=(Topic.BTRFS,), read=lambda host, where, _request: read_btrfs(host, where)),
    Reader(label="ZFS pools", topics=(Topic.POOLS,), read=lambda host, where, _request: read_zfs(host, where)),
    Reader(label="disks", topics=(Topic.SMART,), read=lambda host, where, _request: read_disks(host, where)),
)
"""The parts of the source `local` whose programs want root."""


def collect_answers(host: Host, request: CollectRequest) -> Answers:
    """Asks every program that wants root as the source would, and returns what they said. Never raises for one."""
    asked = RecordingHost(host)
    identity = read_identity(host)
    where = Where(source="local", host_id=identity.host_id, hostname=identity.hostname)
    ParallelReaders(_READERS).read(asked, where, request)
    answers = sorted(asked.answers, key=lambda each: each.argv)
    return Answers(collected_at=request.now, boot=find_boot(host), answers=answers)
