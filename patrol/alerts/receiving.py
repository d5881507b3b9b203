"""A delivery taken in: each alert kept, and the run that it asks for offered. One transaction of the caller."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from sqlalchemy import Connection

from patrol.alerts.lifecycle import AlertChange, advance, alert_id, expired
from patrol.alerts.model import ReportedAlert, StoredAlert
from patrol.alerts.place import place_of
from patrol.alerts.reading import MOST_ALERTS
from patrol.alerts.store import KEPT, MOST_KEPT, AlertStore
from patrol.alerts.triggering import trigger_of
from patrol.estate.memory.model import Memory
from patrol.triggers.model import Trigger

Offer = Callable[[Sequence[Trigger]], Iterable[str]]
"""Offers triggers, and says of each in one word what became of it."""


@dataclass(slots=True)
class Received:
    """What became of a delivery. `unplaced`: alerts of which nobody knows the resource. `left_out`: not even kept.

    `triggers`: how many asked for a run, by what became of that wish.
    """

    alerts: int = 0
    changes: Counter[AlertChange] = field(default_factory=Counter)
    unplaced: int = 0
    left_out: int = 0
    triggers: Counter[str] = field(default_factory=Counter)


def expire(connection: Connection, org_id: str, now: datetime) -> tuple[Counter[AlertChange], list[Trigger]]:
    """Takes down which alerts ended without a word; how often what happened, and the runs that this asks for.

    So many at once as a delivery may have: of more, the others come next time.
    """
    store = AlertStore(connection, org_id)
    ended = [expired(each, now) for each in store.list_expired(now, MOST_ALERTS)]
    store.keep(each.alert for each in ended)
    wanted = (trigger_of(each.alert, each.change, now) for each in ended)
    return Counter(each.change for each in ended), [each for each in wanted if each is not None]


def receive(
    connection: Connection,
    org_id: str,
    reported: Iterable[ReportedAlert],
    memory: Memory,
    now: datetime,
    offer: Offer,
) -> Received:
    """Takes a delivery in. Of two about the same alert in one delivery, the later one is said after the other."""
    store = AlertStore(connection, org_id)
    store.forget(now - KEPT)
    rows = iter(reported)
    taken = list(islice(rows, MOST_ALERTS))
    received = Received(alerts=len(taken), left_out=sum(1 for _ in rows))
    known = store.load({alert_id(each) for each in taken})
    room = MOST_KEPT - store.count()
    changed: dict[str, StoredAlert] = {}
    wanted: list[Trigger] = []
    for each in taken:
        its_id = alert_id(each)
        before = changed.get(its_id) or known.get(its_id)
        if before is None and room <= 0:
            received.left_out += 1
            continue
        room -= before is None
        advanced = advance(before, each, place_of(each.naming, memory), org_id, now)
        changed[its_id] = advanced.alert
        received.changes[advanced.change] += 1
        received.unplaced += not advanced.alert.resource_id
        trigger = trigger_of(advanced.alert, advanced.change, now)
        if trigger is not None:
            wanted.append(trigger)
    received.triggers.update(offer(wanted))
    store.keep(changed.values())
    return received
