"""What the interface is given by whoever starts it: a daemon, or a test."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from patrol.accounts.hashing import RandomBytes
from patrol.database import Database
from patrol.settings.load import LoadedSettings


def _nothing() -> Sequence[str]:
    return ()


def _nobody() -> None:
    """Nobody waits for work in this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything that routes may use. Nothing of it is looked up anywhere else: no globals, no clock of their own.

    `settings`: those in force now, asked for each time, since a daemon may read them anew. `user_id`: of the user
    that the process runs as; a process of that user, or of root, on the unix socket is let in. `not_ready`: what
    the daemon still waits for, as short sentences; empty when it is ready. `nudge`: says that there is new work.
    """

    database: Database
    settings: Callable[[], LoadedSettings]
    clock: Callable[[], datetime]
    ids: Callable[[], str]
    random_bytes: RandomBytes
    user_id: int
    not_ready: Callable[[], Sequence[str]] = _nothing
    nudge: Callable[[], None] = _nobody
