"""The run of a daemon that has just started: wanted or not, and put into the queue with that decision."""

from datetime import datetime

from sqlalchemy import Connection

from patrol.database import Database
from patrol.run.observer import Observer
from patrol.run.request import Ids
from patrol.schedule.model import FirstRun, first_run
from patrol.schedule.upkeep import full_round, last_success_at, offer_run
from patrol.settings.model import TriggersSection
from patrol.triggers.model import TriggerReason
from patrol.work.queue import Offered


def ask_for_first(
    database: Database,
    org_id: str,
    now: datetime,
    *,
    due_at: datetime,
    follows_crash: bool,
    triggers: TriggersSection,
    ids: Ids,
    observer: Observer,
) -> FirstRun:
    """Decides, and offers it where it is wanted. `due_at`: of the scheduled run, as the start found it.

    After a crash (`follows_crash`) it is wanted also where a run succeeded a short while ago. Raises StorageError.
    """
    trigger = full_round(TriggerReason.STARTUP, now)

    def work(connection: Connection) -> tuple[FirstRun, Offered | None]:
        wanted = first_run(due_at, last_success_at(connection, org_id), now)
        if wanted is FirstRun.NOT_NEEDED and follows_crash:
            wanted = FirstRun.STARTUP
        if wanted is not FirstRun.STARTUP:
            return wanted, None
        return wanted, offer_run(connection, org_id, trigger, now, triggers, ids)

    wanted, offered = database.transact(work)
    if offered is not None:
        observer.trigger(trigger, offered.decision)
    return wanted
