"""What the words of a backup task say about how it ended.

Proxmox VE writes `OK`, `WARNINGS: n` or the error itself; a finished task has the status `stopped` and its
result in `exitstatus`. Proxmox Backup Server's `last-run-state` is the same free text. So a finished task
whose result is neither good nor a warning has failed, whatever it says. Words are compared whole:
"unsuccessful" is no success, and "inactive" in an error does not mean that a task is active.
"""

import re
from collections.abc import Iterable
from enum import StrEnum

from signals.backup_evidence import BackupTaskRow


class Outcome(StrEnum):
    """How one attempt ended."""

    OK = "ok"
    WARNINGS = "warnings"  # the backup exists; the task has something to say
    FAILED = "failed"
    RUNNING = "running"  # not ended, or not begun: no statement
    UNKNOWN = "unknown"  # ended or not, the result is not told: no statement


GOOD = frozenset({Outcome.OK, Outcome.WARNINGS})

_RUNNING = frozenset(
    {"running", "active", "in progress", "queued", "pending", "waiting", "scheduled", "starting", "started"}
)
_UNTOLD = frozenset({"", "stopped", "finished", "ended", "unknown", "none", "null", "n/a", "-", "skipped"})
_NO_ERROR = frozenset({"", "0", "none", "null"})
_GOOD_WORDS = frozenset(
    {"ok", "success", "successful", "successfully", "succeeded", "completed", "complete", "done", "passed"}
)
_WARNING_WORDS = frozenset({"warning", "warnings"})
_FILL_WORDS = frozenset({"task", "backup", "job", "finished", "with"})
_WORD = re.compile(r"[^\W\d_]+")

SYNC_TYPES = frozenset({"sync", "syncjob"})
"""A sync that warns has left something behind: its WARNINGS count as a failure."""


def outcome_of(status: str | None, *, exit_status: str | None = None, error: object = None, work: str = "") -> Outcome:
    """How an attempt ended. `work`: its type, as `vzdump` or `syncjob`.

    An error text fails an attempt that is not running, unless it only repeats a good result.
    """
    said = _plain(exit_status) or _plain(status)
    if said in _RUNNING:
        return Outcome.RUNNING
    outcome = _result(said)
    complaint = "" if error is None else _plain(str(error))
    if complaint not in _NO_ERROR and _result(complaint) not in GOOD:
        return Outcome.FAILED
    if outcome is Outcome.WARNINGS and work.lower() in SYNC_TYPES:
        return Outcome.FAILED
    return outcome


def _plain(text: str | None) -> str:
    return " ".join((text or "").lower().split())


def _result(said: str) -> Outcome:
    if said in _UNTOLD:
        return Outcome.UNKNOWN
    words = set(_WORD.findall(said))
    if words - _GOOD_WORDS - _WARNING_WORDS - _FILL_WORDS:
        return Outcome.FAILED
    if words & _WARNING_WORDS:
        return Outcome.WARNINGS
    return Outcome.OK if words & _GOOD_WORDS else Outcome.FAILED


# INFO: Starting Backup of VM 102 (lxc)
# ERROR: Backup of VM 102 failed - command 'rsync' failed: exit code 23
# INFO: Finished Backup of VM 103 (00:01:00)
_STARTED = re.compile(r"(?:INFO: )?Starting Backup of VM (\d{1,10})\b", re.ASCII)
_FINISHED = re.compile(r"(?:INFO: )?Finished Backup of VM (\d{1,10})\b", re.ASCII)
_FAILED = re.compile(r"(?:ERROR: )?Backup of VM (\d{1,10}) failed\b", re.ASCII)


def read_job_log(lines: Iterable[str]) -> dict[int, Outcome]:
    """What a vzdump log says of each guest that it names, by VMID.

    A failure anywhere in the log stands. Good is only a guest that the same log saw start and finish; one
    that started and is not heard of again is unknown, and a finish without a start is not credited.
    """
    guests: dict[int, Outcome] = {}
    for line in lines:
        text = line.strip()
        if failed := _FAILED.match(text):
            guests[int(failed[1])] = Outcome.FAILED
        elif started := _STARTED.match(text):
            guests.setdefault(int(started[1]), Outcome.UNKNOWN)
        elif (finished := _FINISHED.match(text)) and guests.get(int(finished[1])) is Outcome.UNKNOWN:
            guests[int(finished[1])] = Outcome.OK
    return guests


def task_outcome(task: BackupTaskRow, work: str, vmid: int | None, guests: dict[int, Outcome]) -> Outcome:
    """How a task ended for the guest `vmid`, or (None) for the job as a whole.

    `work`: its type. `guests`: what its log says. A log that names failed guests decides: the named ones have
    failed, the others have not. A failure of the task that its log explains by no guest stays with the task.
    """
    outcome = outcome_of(task.status, exit_status=task.exitstatus, error=task.error, work=work)
    if not guests:
        return outcome
    some_failed = Outcome.FAILED in guests.values()
    if vmid is None:
        return Outcome.UNKNOWN if some_failed else outcome
    own = guests.get(vmid, Outcome.UNKNOWN)
    if own is Outcome.FAILED or some_failed:
        return own
    return Outcome.FAILED if outcome is Outcome.FAILED else own
