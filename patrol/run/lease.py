"""A run's lease: proof that its process is alive, renewed while it is."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from patrol.database.errors import DatabaseBusyError
from patrol.run.store import RunEndedError, RunStore

LEASE = timedelta(seconds=45)
"""How long a run is taken for alive without a renewal. A crashed run keeps others waiting no longer than this."""
RENEWED_EVERY_SECONDS = 10.0


def lease_owner() -> str:
    """Whose process this is, for people who find a lease in their way."""
    return f"{socket.gethostname()}:{os.getpid()}"


@contextmanager
def kept_alive(runs: RunStore, run_id: str, clock: Callable[[], datetime]) -> Iterator[None]:
    """Renews the lease until the block ends.

    A run that was taken for crashed meanwhile finds out when it is written.
    """
    over = threading.Event()

    def renew() -> None:
        while not over.wait(RENEWED_EVERY_SECONDS):
            try:
                runs.extend_lease(run_id, clock() + LEASE)
            except DatabaseBusyError:
                continue  # the next renewal comes well before the lease is over
            except RunEndedError:
                return

    keeper = threading.Thread(target=renew, name="patrol-lease", daemon=True)
    keeper.start()
    try:
        yield
    finally:
        over.set()
        keeper.join()
