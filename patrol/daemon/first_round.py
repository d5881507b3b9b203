"""The run of a daemon that has just started: wanted or not, and put into the queue with that decision."""

import asyncio
from collections.abc import Callable
from datetime import datetime

import structlog
from sqlalchemy import Connection

from patrol.daemon.executor import House
from patrol.database import Database, StorageError
from patrol.schedule.model import FirstRun
from patrol.schedule.upcoming import FirstRound
from patrol.schedule.upkeep import full_round, last_success_at, offer_run
from patrol.triggers.model import TriggerReason
from patrol.work.queue import Offered

RETRY_SECONDS = 60.0

_log = structlog.stdlib.get_logger("patrol.daemon")


async def insist(ask: Callable[[], FirstRun]) -> None:
    """Asks for the first run, until the database takes it."""
    while True:
        try:
            wanted = await asyncio.to_thread(ask)
        except StorageError as error:
            _log.warning("the first run cannot be asked for, and is tried again", error=str(error))
            await asyncio.sleep(RETRY_SECONDS)
        else:
            _log.info("first run", wanted=str(wanted))
            return


def ask_for_first(
    database: Database,
    org_id: str,
    first: FirstRound,
    now: datetime,
    house: House,
) -> FirstRun:
    """Decides, and offers it where it is wanted. Raises StorageError."""
    trigger = full_round(TriggerReason.STARTUP, now)

    def work(connection: Connection) -> tuple[FirstRun, Offered | None]:
        wanted = first.wanted(last_success_at(connection, org_id), now)
        if wanted is not FirstRun.STARTUP:
            return wanted, None
        return wanted, offer_run(connection, org_id, trigger, now, house.triggers, house.ids)

    wanted, offered = database.transact(work)
    if offered is not None:
        house.observer.trigger(trigger, offered.decision)
    return wanted
