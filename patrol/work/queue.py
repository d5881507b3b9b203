"""The queue of runs in the table of work: `patrol.triggers.queue` decides, this reads and writes.

Whoever claims a run carries it out somewhere else: the queue goes on taking triggers meanwhile.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import reduce
from typing import TypeAlias

import msgspec
from sqlalchemy import Connection

from patrol.triggers.model import EVENT_REASONS, Slot, Trigger, TriggerScope
from patrol.triggers.pacing import LIMITS, Limits, Past, PastRun
from patrol.triggers.queue import (
    Accepted,
    Decision,
    Gates,
    Merged,
    Pending,
    QueueStatus,
    Rejected,
    Rejection,
    UnderWay,
    next_due,
    offer,
    refused,
    status,
)
from patrol.work.model import Work, WorkKind, WorkReason, WorkState
from patrol.work.store import LEASE, WorkLostError, WorkStore, is_held

REMEMBERED = timedelta(minutes=10)
"""How far back runs and events count: longer than any gap and any window of `Limits`."""
COUNTED_TOGETHER = timedelta(hours=1)
"""Events about the same that are refused for the same reason are one row for this long, and counted in it."""

Ids = Callable[[], str]
_Known: TypeAlias = dict[str, tuple[Work, Trigger]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """What became of an offered trigger. `work`: the piece that serves it; the record of the refusal for a refused."""

    decision: Decision
    work: Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A run to carry out now, under `work.run_id`; then `finish`, `fail` or `put_back` the work."""

    work: Work
    trigger: Trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingDue:
    """No run may begin now. `ask_at`: when one may as things stand, None if none waits for a time.

    Things change also without a word to this process: others offer and finish, and a pause ends. So ask again soon.
    """

    ask_at: datetime | None = None


Claimed: TypeAlias = Claim | NothingDue


class RunQueue:
    """The runs of one organisation that wait, on a connection whose transaction the caller owns."""

    def __init__(self, connection: Connection, org_id: str, *, limits: Limits = LIMITS) -> None:
        self._work = WorkStore(connection, org_id)
        self._org_id = org_id
        self._limits = limits

    def offer(self, trigger: Trigger, now: datetime, gates: Gates, ids: Ids) -> Offered:
        """Takes a trigger in, or says why not; either is written down.

        An accepted one has its run id from here on, and under that id there will be a record, whatever comes.
        """
        return self.offer_all([trigger], now, gates, ids)[0]

    def offer_all(self, triggers: Sequence[Trigger], now: datetime, gates: Gates, ids: Ids) -> list[Offered]:
        """Takes in what came at once, and says of each what became of it.

        The queue is read once, and events about one scope that meet the same gate are written as one: hundreds of
        them must not keep everybody else from writing for long.
        """
        waiting, running = self._readable(WorkState.WAITING, now), self._readable(WorkState.RUNNING, now)
        alike: dict[object, list[int]] = {}
        for place, trigger in enumerate(triggers):
            alone = None if trigger.is_event else place
            alike.setdefault((trigger.scope, refused(trigger, gates), alone), []).append(place)
        offered: dict[int, Offered] = {}
        for places in alike.values():
            joined = reduce(Trigger.joined, (triggers[place] for place in places))
            first = self._offered(joined, len(places), waiting, running, now, gates, ids)
            offered.update(dict.fromkeys(places, _joining(first, joined)))
            offered[places[0]] = first
        return [offered[place] for place in range(len(triggers))]

    def _offered(
        self, trigger: Trigger, times: int, waiting: _Known, running: _Known, now: datetime, gates: Gates, ids: Ids
    ) -> Offered:
        """What becomes of one that stands for so many, written down; `waiting` is changed as the queue is."""
        decision = offer(trigger, _pending(waiting.values()), _pending(running.values()), now, gates, self._limits)
        if isinstance(decision, Rejected):
            return Offered(decision=decision, work=self._record_refusal(trigger, times, decision.reason, now, ids))
        if isinstance(decision, UnderWay):
            return Offered(decision=decision, work=running[decision.id][0])
        if isinstance(decision, Merged):
            served, _ = waiting[decision.into]
            payload, priority = encode(decision.trigger), decision.trigger.priority
            revised = self._work.revise(served, now, payload=payload, priority=priority, times=times)
            if revised is None:  # transactions that are one after the other do not let this happen
                raise WorkLostError(decision.into)
            waiting[revised.id] = revised, decision.trigger
            return Offered(decision=decision, work=revised)
        if decision.evicted is not None:
            by = f"for {trigger.reason}, which was more urgent"
            self._work.drop(waiting.pop(decision.evicted.id)[0], now, WorkReason.EVICTED, by)
        added = replace(self._new(trigger, now, ids), times=times)
        self._work.add(added)
        waiting[added.id] = added, trigger
        return Offered(decision=decision, work=added)

    def claim(self, owner: str, now: datetime, gates: Gates, *, lease: timedelta = LEASE) -> Claimed:
        """The run that is next, claimed; or when to ask again. Claims that hold no more are taken back before."""
        self._work.take_back(now)
        waiting = self._readable(WorkState.WAITING, now)
        chosen = next_due(_pending(waiting.values()), self._past(now), now, gates, self._limits)
        if chosen.due is None:
            return NothingDue(ask_at=chosen.ask_at)
        claimed = self._work.claim_this(waiting[chosen.due.id][0], owner, now, lease=lease)
        return Claim(work=claimed, trigger=chosen.due.trigger) if claimed is not None else NothingDue(ask_at=now)

    def status(self, now: datetime, gates: Gates) -> QueueStatus:
        """How the queue stands. Changes nothing."""
        return status(_pending(self._read(WorkState.WAITING)), self._past(now), now, gates, self._limits)

    def cancel(self, run_id: str, now: datetime, detail: str = "") -> Work | None:
        """Takes a run back that has not begun; None where there is none such."""
        work = self._work.find_run(run_id)
        return self._work.drop(work, now, WorkReason.CANCELLED, detail) if work is not None else None

    def _new(self, trigger: Trigger, now: datetime, ids: Ids) -> Work:
        return Work(
            org_id=self._org_id,
            id=ids(),
            kind=WorkKind.RUN,
            key=_key(trigger),
            priority=trigger.priority,
            payload=encode(trigger),
            run_id=ids(),
            enqueued_at=now,
        )

    def _record_refusal(self, trigger: Trigger, times: int, reason: Rejection, now: datetime, ids: Ids) -> Work:
        """A refused round is a run that did not happen, and has its record to say so; a refused event is counted."""
        dropped = replace(
            self._new(trigger, now, ids),
            state=WorkState.DROPPED,
            reason=WorkReason(reason),
            ended_at=now,
            times=times,
            record_owed=trigger.is_round,
        )
        if not trigger.is_round:
            known = self._work.find_ended(WorkKind.RUN, dropped.key, reason, since=now - COUNTED_TOGETHER)
            if known is not None:
                self._work.count_again(known, now, times=times)
                return known
            dropped = replace(dropped, run_id="")
        self._work.add(dropped)
        return dropped

    def _read(self, state: WorkState) -> list[tuple[Work, Trigger | None]]:
        return [(work, decode(work.payload)) for work in self._work.list_work(WorkKind.RUN, (state,))]

    def _readable(self, state: WorkState, now: datetime) -> _Known:
        """By id: what waits, or is under way with a claim that holds. What waits and cannot be read is given up."""
        found: _Known = {}
        for work, trigger in self._read(state):
            if trigger is None:
                self._work.drop(work, now, WorkReason.UNREADABLE)
            elif state is WorkState.WAITING or is_held(work, now):
                found[work.id] = work, trigger
        return found

    def _past(self, now: datetime) -> Past:
        ended = (WorkState.DONE, WorkState.FAILED)
        recent = self._work.list_work(WorkKind.RUN, ended, ended_after=now - REMEMBERED)
        return _past_of([*self._work.list_work(WorkKind.RUN), *recent])


def encode(trigger: Trigger) -> str:
    """A trigger as the payload of its work."""
    return msgspec.json.encode(trigger).decode()


def decode(payload: str) -> Trigger | None:
    """The trigger of a payload; None for one that this version cannot read."""
    try:
        return msgspec.json.decode(payload, type=Trigger)
    except msgspec.DecodeError:  # one unreadable row must not stop all others
        return None


def _joining(first: Offered, joined: Trigger) -> Offered:
    """What became of those that came in together with the first of them."""
    if not isinstance(first.decision, Accepted):
        return first
    return replace(first, decision=Merged(into=first.work.id, trigger=joined))


def _pending(read: Iterable[tuple[Work, Trigger | None]]) -> list[Pending]:
    return [
        Pending(id=work.id, trigger=trigger, enqueued_at=work.enqueued_at, not_before=work.not_before)
        for work, trigger in read
        if trigger is not None
    ]


def _past_of(works: Sequence[Work]) -> Past:
    """Runs that were begun, and when events came that wait or were served. What cannot be read was about anything."""
    runs: list[PastRun] = []
    events: list[datetime] = []
    for work in works:
        trigger = decode(work.payload)
        if work.started_at is not None:
            scope = trigger.scope if trigger is not None else TriggerScope()
            slot = trigger.slot if trigger is not None else Slot.FULL
            runs.append(PastRun(scope=scope, started_at=work.started_at, ended_at=work.ended_at, slot=slot))
        if trigger is not None:
            events.extend(each.at for each in trigger.occasions if each.reason in EVENT_REASONS)
    return Past(runs=runs, events=events)


def _key(trigger: Trigger) -> str:
    """The same for triggers about the same: scope, and what it is that happened."""
    about = (
        trigger.scope.resource_ids,
        trigger.scope.resource_types,
        sorted(each.subject for each in trigger.occasions),
    )
    return hashlib.sha256(msgspec.json.encode(about)).hexdigest()[:32]
