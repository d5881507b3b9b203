"""What the interface is given by whoever starts it: a daemon, or a test."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from patrol.accounts.hashing import RandomBytes
from patrol.api.live.hub import StreamHub
from patrol.database import Database
from patrol.run.observer import NoObserver, Observer
from patrol.schedule.upcoming import FirstRound
from patrol.settings.load import LoadedSettings


def _nothing() -> Sequence[str]:
    return ()


def _nothing_counted() -> tuple[bytes, str]:
    return b"", "text/plain; version=0.0.4; charset=utf-8"


def _decided() -> FirstRound | None:
    """No run of a start is still to be decided."""
    return None


def _nobody() -> None:
    """Nobody waits for work in this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything that routes may use. Nothing of it is looked up anywhere else: no globals, no clock of their own.

    `settings`: those of file and environment, asked for each time, since a daemon may read them anew; what operators
    store is laid over them where it counts (`patrol.overrides`). `user_id`: of the user that the process runs as; a
    process of that user, or of root, on the unix socket is let in. `not_ready`: what the daemon still waits for, as
    short sentences; empty when it is ready. `nudge`: says that there is new work; `settings_changed`: that an operator
    has stored settings, or paused Patrol; both from any thread. `stream`: where runs tell what happens. `observer`: is
    told what became of each trigger that is offered here. `exposition`: what Prometheus is told, and its content type;
    called in a thread. `first_round`: the run of the daemon's start, until it is decided.
    """

    database: Database
    settings: Callable[[], LoadedSettings]
    clock: Callable[[], datetime]
    ids: Callable[[], str]
    random_bytes: RandomBytes
    user_id: int
    not_ready: Callable[[], Sequence[str]] = _nothing
    nudge: Callable[[], None] = _nobody
    exposition: Callable[[], tuple[bytes, str]] = _nothing_counted
    settings_changed: Callable[[], None] = _nobody
    first_round: Callable[[], FirstRound | None] = _decided
    observer: Observer = NoObserver()  # noqa: RUF009 - it has no state that could be shared
    stream: StreamHub
