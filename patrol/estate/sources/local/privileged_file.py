"""The file in which root leaves answers for Patrol: written whole or not at all, read only where root wrote it."""

import os
import secrets
import stat
from collections.abc import Container
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from patrol.estate.sources.local.host import Host
from patrol.estate.sources.local.privileged import Answers, find_boot, told_age

PLACE = Path("/run/patrol/local.json")
LARGEST_BYTES = 64 << 20
_MODE = 0o640
_ROOT = frozenset({0})


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What is in the file. `answers` None: nothing that can be used. `said`: a sentence about it, "" without a file."""

    answers: Answers | None = None
    said: str = ""


def write_answers(path: Path, answers: Answers) -> None:
    """Puts them in the place of those before, for the group of the folder to read. Raises OSError."""
    folder = path.parent
    made = folder / f".{path.name}.{secrets.token_hex(8)}"
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as stream:  # noqa: PTH123 - a descriptor, which no path can stand for
            stream.write(msgspec.json.encode(answers))
            if os.geteuid() == 0:
                os.fchown(descriptor, -1, folder.stat().st_gid)
            os.fchmod(descriptor, _MODE)
        made.replace(path)
    except BaseException:
        with suppress(OSError):  # what failed is told; this is only tidying
            made.unlink()
        raise


class _UnusableError(Exception):
    """The file cannot be believed or read; says why."""


def find_answers(path: Path, host: Host, now: datetime, *, owners: Container[int] = _ROOT) -> Found:
    """The answers that say something of this host now, and how old they are.

    `owners`: whose file is believed. Anybody else could make up disks.
    """
    try:
        answers = _answers(_content(path, owners))
    except FileNotFoundError:
        return Found()
    except OSError as error:
        why_not = error.strerror or type(error).__name__
    except _UnusableError as error:
        why_not = str(error)
    else:
        why_not = answers.why_not(find_boot(host), now)
        if not why_not:
            return Found(answers=answers, said=f"privileged reads {told_age(now - answers.collected_at)} old")
    return Found(said=f"privileged reads in {path} are not used: {why_not}; see systemctl status patrol-collect")


def _content(path: Path, owners: Container[int]) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(descriptor, "rb") as stream:  # noqa: PTH123 - a descriptor, which no path can stand for
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or about.st_uid not in owners or about.st_mode & stat.S_IWOTH:
            raise _UnusableError("it is not a file of root that only root can write")
        data = stream.read(LARGEST_BYTES + 1)
    if len(data) > LARGEST_BYTES:
        raise _UnusableError(f"it is larger than {LARGEST_BYTES >> 20} MiB")
    return data


def _answers(data: bytes) -> Answers:
    try:
        answers = msgspec.json.decode(data, type=Answers)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _UnusableError(str(error)) from error
    if answers.collected_at.tzinfo is None:
        raise _UnusableError("its time has no zone")
    return answers
