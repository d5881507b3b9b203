"""What an operator can say of a finding."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

from findings.model import DismissedReason

REMINDER = timedelta(days=7)
"""When `will_fix_later` comes back, unless the operator says when."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledge:
    """I know. Stores the counted damage, which is then quiet until it grows; what can be seen to end stays active."""

    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snooze:
    """Not now: quiet until a time, or until it gets more severe."""

    until: datetime
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dismiss:
    """Nothing to do about it, or not yet: quiet until it gets more severe, or until `remind_at`.

    `remind_at` goes with `will_fix_later` alone; without one it is `REMINDER` from now.
    """

    reason: DismissedReason
    remind_at: datetime | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppress:
    """Never tell of this one again, whatever comes; facts are recorded all the same."""

    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolve:
    """It is done. If it is seen again, it is back as a regression."""

    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Words for whoever reads the finding next; "" takes them away."""

    text: str


class Undoable(StrEnum):
    """What can be taken back."""

    ACK = "ack"
    SNOOZE = "snooze"
    DISMISS = "dismiss"
    SUPPRESS = "suppress"
    RESOLVE = "resolve"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """Takes back what is in force: `what`, or whatever of it was said last."""

    what: Undoable | None = None


Verb: TypeAlias = Acknowledge | Snooze | Dismiss | Suppress | Resolve | Note | Undo
