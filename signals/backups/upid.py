"""The identity that Proxmox gives each task, and what it tells of the work done."""

import re
from typing import NamedTuple

_UPID = re.compile(
    r"UPID:(?P<node>[^:]+)(?::[0-9A-Fa-f]+){3,4}:(?P<work>[A-Za-z][^:]*):(?P<subject>[^:]*):(?P<user>[^:]+):?"
)
_ESCAPED = re.compile(r"\\x([0-9a-f]{2})")
_GUEST = re.compile(r"(?:.*[:/])?(\d{1,10})", re.ASCII)
_GUEST_WORK = frozenset({"vzdump", "backup"})


class Upid(NamedTuple):
    """`UPID:node:pid:pstart:starttime:work:subject:user:`; a backup server has one number more before the start."""

    node: str
    work: str  # vzdump, syncjob ...
    subject: str  # a VMID, `store:vm/100`, `store:job`; "" for a job over many guests

    @property
    def vmid(self) -> int | None:
        """The guest that this task backs up; None for any other work."""
        guest = _GUEST.fullmatch(self.subject) if self.work in _GUEST_WORK else None
        return int(guest[1]) if guest and int(guest[1]) else None

    @property
    def job(self) -> str:
        """The id of the job, which stays the same from run to run; "" where the task names none."""
        return self.subject.rpartition(":")[2]


def read_upid(text: object) -> Upid | None:
    """The parts of a UPID, or None where the text is none."""
    parts = _UPID.fullmatch(text) if isinstance(text, str) else None
    if parts is None:
        return None
    # A backup server writes the colon inside a subject as \x3a.
    subject = _ESCAPED.sub(lambda code: chr(int(code[1], 16)), parts["subject"])
    return Upid(parts["node"], parts["work"], subject)
