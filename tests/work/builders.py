"""Work for tests, and a world in which a queue lives."""

import itertools
from datetime import datetime, timedelta

from patrol.database import Database
from patrol.triggers.model import Trigger
from patrol.triggers.queue import Gates
from patrol.work.model import Work, WorkKind
from patrol.work.queue import Claim, Claimed, NothingDue, Offered, RunQueue
from patrol.work.store import WorkStore
from tests.triggers.builders import NOW, OPEN

ORG = "default"


def work(name: str = "w1", *, kind: WorkKind = WorkKind.INVESTIGATION, key: str = "", **more: object) -> Work:
    values = {"key": key or name, "enqueued_at": NOW, "most_attempts": 3, **more}
    return Work(org_id=ORG, id=name, kind=kind, **values)


class Line:
    """The queue of runs of one database, with a clock that is set by hand."""

    def __init__(self, database: Database, *, now: datetime = NOW, gates: Gates = OPEN) -> None:
        self.database = database
        self.now = now
        self.gates = gates
        self._ids = itertools.count(1)

    def ids(self) -> str:
        return f"id{next(self._ids)}"

    def offer(self, trigger: Trigger) -> Offered:
        return self.offer_all(trigger)[0]

    def offer_all(self, *triggers: Trigger) -> list[Offered]:
        return self.database.transact(
            lambda connection: RunQueue(connection, ORG).offer_all(triggers, self.now, self.gates, self.ids)
        )

    def claim(self) -> Claimed:
        return self.database.transact(lambda connection: RunQueue(connection, ORG).claim("me", self.now, self.gates))

    def claimed(self) -> Claim:
        found = self.claim()
        assert isinstance(found, Claim)
        return found

    def nothing(self) -> NothingDue:
        found = self.claim()
        assert isinstance(found, NothingDue)
        return found

    def finish(self, claim: Claim) -> Work:
        return self.database.transact(lambda connection: WorkStore(connection, ORG).finish(claim.work, self.now))

    def store(self, act):
        """What `act` answers, given the store in a transaction."""
        return self.database.transact(lambda connection: act(WorkStore(connection, ORG)))

    def passes(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
