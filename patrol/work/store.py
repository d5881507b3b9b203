"""Work in a database: who claims a piece has it alone, until the lease ends.

Each change is a compare-and-swap on the version of the row: whoever comes second changes nothing, and is told.
Delivery is at least once: a claim whose owner is gone is given to another one, as often as the work may be tried.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, Select, func, or_, select

from findings.rows import Cell, storable
from patrol.work.model import OPEN, Work, WorkChange, WorkKind, WorkReason, WorkState
from patrol.work.tables import WORK, WORK_CHANGES

LEASE = timedelta(seconds=45)
"""How long a claim holds without a renewal."""
LONGEST_LEASE = timedelta(minutes=10)
"""No lease is longer. One that ends later was given by a clock that was wrong, and would hold for ever."""
KEPT = timedelta(days=14)
"""How long work that ended stays in the table."""

_COLUMNS = tuple(field.name for field in fields(Work))
_CHANGE_COLUMNS = tuple(field.name for field in fields(WorkChange))
_cells = attrgetter(*_COLUMNS)
_WORK = [WORK.c[name] for name in _COLUMNS]

IsGone = Callable[[str], bool]


def nobody_can_tell(_owner: str) -> bool:
    """No owner is known to be gone."""
    return False


def is_held(work: Work, now: datetime) -> bool:
    """Whether the lease of a claim holds."""
    end = work.lease_expires_at
    return end is not None and now < end <= now + LONGEST_LEASE


class WorkLostError(Exception):
    """The claim does not hold any more: the work was given to another one, or has ended."""


class WorkStore:
    """The work of one organisation, on a connection whose transaction the caller owns."""

    def __init__(self, connection: Connection, org_id: str) -> None:
        self._connection = connection
        self._org_id = org_id

    # --- reading ---

    def find(self, work_id: str) -> Work | None:
        """The work of this id, or None."""
        row = self._connection.execute(self._select().where(WORK.c.id == work_id)).first()
        return _work_of(row) if row is not None else None

    def find_run(self, run_id: str) -> Work | None:
        """The work that a run id was reserved for, or None."""
        row = self._connection.execute(self._select().where(WORK.c.run_id == run_id)).first() if run_id else None
        return _work_of(row) if row is not None else None

    def list_work(
        self,
        kind: WorkKind,
        states: Collection[WorkState] = OPEN,
        *,
        ended_after: datetime | None = None,
    ) -> list[Work]:
        """Work of a kind, the oldest first."""
        statement = self._select().where(WORK.c.kind == str(kind), WORK.c.state.in_([str(each) for each in states]))
        if ended_after is not None:
            statement = statement.where(WORK.c.ended_at > ended_after)
        statement = statement.order_by(WORK.c.enqueued_at, WORK.c.id)
        return [_work_of(row) for row in self._connection.execute(statement)]

    def changes(self, work_id: str) -> list[WorkChange]:
        """What happened to a piece of work, the first change first."""
        columns = [WORK_CHANGES.c[name] for name in _CHANGE_COLUMNS]
        statement = select(*columns).where(WORK_CHANGES.c.org_id == self._org_id, WORK_CHANGES.c.work_id == work_id)
        rows = self._connection.execute(statement.order_by(WORK_CHANGES.c.version))
        return [WorkChange(**row._asdict()) for row in rows]

    def list_owed(self) -> list[Work]:
        """Runs that were accepted and never begun, and of which no run record says so yet."""
        statement = self._select().where(WORK.c.record_owed).order_by(WORK.c.enqueued_at, WORK.c.id)
        return [_work_of(row) for row in self._connection.execute(statement)]

    # --- in and out ---

    def enqueue(self, work: Work) -> Work:
        """Adds a piece of work; where one of its kind and key is waiting or running, that one is the answer."""
        statement = self._select().where(
            WORK.c.kind == str(work.kind), WORK.c.key == work.key, WORK.c.state.in_([str(each) for each in OPEN])
        )
        row = self._connection.execute(statement).first()
        if row is not None:
            return _work_of(row)
        self.add(work)
        return work

    def add(self, work: Work) -> None:
        """Writes a new piece of work, whatever is there. Raises ValueError for one of another organisation."""
        if work.org_id != self._org_id:
            raise ValueError(f"the work does not belong to {self._org_id}")
        self._connection.execute(WORK.insert(), _row(work))
        self._note(work, None, work.enqueued_at)

    def claim(
        self, kind: WorkKind, owner: str, now: datetime, *, lease: timedelta = LEASE, at_once: int | None = None
    ) -> Work | None:
        """Takes the most urgent piece that may begin, of equally urgent ones the oldest; None if there is none.

        `at_once`: how many of the kind may be under way, None for any number; what is not alive any more counts until
        it is taken back (`take_back`). Runs have a queue of their own (`patrol.work.queue`).
        """
        if at_once is not None and len(self.list_work(kind, (WorkState.RUNNING,))) >= at_once:
            return None
        statement = (
            self._select()
            .where(WORK.c.kind == str(kind), WORK.c.state == str(WorkState.WAITING))
            .where(or_(WORK.c.not_before.is_(None), WORK.c.not_before <= now))
            .order_by(WORK.c.priority.desc(), WORK.c.enqueued_at, WORK.c.id)
        )
        for row in self._connection.execute(statement).all():
            claimed = self.claim_this(_work_of(row), owner, now, lease=lease)
            if claimed is not None:
                return claimed
        return None

    def claim_this(self, work: Work, owner: str, now: datetime, *, lease: timedelta = LEASE) -> Work | None:
        """Takes this piece; None where somebody else was faster."""
        if work.state is not WorkState.WAITING:
            return None
        claimed = replace(
            work,
            state=WorkState.RUNNING,
            attempts=work.attempts + 1,
            lease_owner=owner,
            lease_expires_at=now + lease,
            started_at=now,
            reason=WorkReason.CLAIMED,
            detail="",
        )
        return self._swap(work, claimed, now)

    def renew(self, claimed: Work, until: datetime) -> None:
        """Says that the work goes on. Raises WorkLostError."""
        statement = (
            WORK.update()
            .where(*self._this(claimed), WORK.c.state == str(WorkState.RUNNING))
            .values(lease_expires_at=until)
        )
        if self._connection.execute(statement).rowcount == 0:
            raise WorkLostError(claimed.id)

    def finish(self, claimed: Work, now: datetime) -> Work:
        """It is done, and whatever had to be recorded is. Raises WorkLostError."""
        return self._held(claimed, _ended(claimed, WorkState.DONE, WorkReason.DONE, now), now)

    def fail(self, claimed: Work, now: datetime, detail: str, *, retry_at: datetime | None = None) -> Work:
        """It went wrong. With `retry_at` it is tried again then, if it may be. Raises WorkLostError."""
        if retry_at is not None and claimed.attempts < claimed.most_attempts:
            again = _waiting(claimed, WorkReason.FAILED, retry_at, detail)
            return self._held(claimed, again, now)
        return self._held(claimed, _ended(claimed, WorkState.FAILED, WorkReason.FAILED, now, detail), now)

    def put_back(self, claimed: Work, now: datetime, not_before: datetime, detail: str = "") -> Work:
        """It could not begin; this was no attempt, and nothing was seen. Raises WorkLostError."""
        back = _waiting(claimed, WorkReason.PUT_BACK, not_before, detail)
        return self._held(claimed, replace(back, attempts=claimed.attempts - 1), now)

    def drop(self, work: Work, now: datetime, reason: WorkReason, detail: str = "") -> Work | None:
        """Gives up a piece that waits; None where it does not wait any more."""
        if work.state is not WorkState.WAITING:
            return None
        return self._swap(work, _ended(work, WorkState.DROPPED, reason, now, detail), now)

    def revise(self, work: Work, now: datetime, *, payload: str, priority: int, times: int = 1) -> Work | None:
        """Makes a piece that waits serve one more, or `times` more; None where it does not wait any more."""
        if work.state is not WorkState.WAITING:
            return None
        revised = replace(work, payload=payload, priority=priority, times=work.times + times, reason=WorkReason.MERGED)
        return self._swap(work, revised, now)

    def count_again(self, work: Work, now: datetime, *, times: int = 1) -> None:
        """One more that ended just as this one did, or `times` more: counted, and not written down by themselves."""
        statement = WORK.update().where(*self._this(work)).values(times=WORK.c.times + times, ended_at=now)
        self._connection.execute(statement)

    def find_ended(self, kind: WorkKind, key: str, reason: str, *, since: datetime) -> Work | None:
        """The newest piece of work about this that was dropped for this reason and came after `since`."""
        statement = self._select().where(
            WORK.c.kind == str(kind),
            WORK.c.state == str(WorkState.DROPPED),
            WORK.c.key == key,
            WORK.c.reason == reason,
            WORK.c.enqueued_at > since,
        )
        row = self._connection.execute(statement.order_by(WORK.c.enqueued_at.desc(), WORK.c.id).limit(1)).first()
        return _work_of(row) if row is not None else None

    # --- upkeep ---

    def take_back(self, now: datetime, is_gone: IsGone = nobody_can_tell) -> list[Work]:
        """Takes back every claim whose lease is over or whose owner is gone, and returns that work as it is now.

        It waits again; what was tried as often as it may be has failed.
        """
        statement = self._select().where(WORK.c.state == str(WorkState.RUNNING))
        taken = []
        for row in self._connection.execute(statement).all():
            work = _work_of(row)
            if is_held(work, now) and not is_gone(work.lease_owner):
                continue
            tried_enough = work.attempts >= work.most_attempts
            detail = f"the process {work.lease_owner} that had it is gone"
            back = (
                _ended(work, WorkState.FAILED, WorkReason.LEASE_EXPIRED, now, detail)
                if tried_enough
                else _waiting(work, WorkReason.LEASE_EXPIRED, None, detail)
            )
            swapped = self._swap(work, back, now)
            if swapped is not None:
                taken.append(swapped)
        return taken

    def settle(self, work: Work) -> None:
        """The run record that was owed is written."""
        self._connection.execute(WORK.update().where(*self._this(work)).values(record_owed=False))

    def forget(self, before: datetime) -> int:
        """Deletes work that ended before, unless its record is owed still; returns how many pieces."""
        statement = WORK.delete().where(
            WORK.c.org_id == self._org_id, WORK.c.ended_at < before, WORK.c.record_owed.is_(False)
        )
        return self._connection.execute(statement).rowcount

    def counts(self) -> dict[tuple[str, str], int]:
        """How many triggers and other wishes ended or stand where, by state and reason of the last change."""
        statement = select(WORK.c.state, WORK.c.reason, func.sum(WORK.c.times)).where(WORK.c.org_id == self._org_id)
        rows = self._connection.execute(statement.group_by(WORK.c.state, WORK.c.reason))
        return {(state, reason): int(times) for state, reason, times in rows}

    # --- one row ---

    def _select(self) -> Select[*tuple[Cell, ...]]:
        return select(*_WORK).where(WORK.c.org_id == self._org_id)

    def _this(self, work: Work) -> tuple[Any, ...]:
        return WORK.c.org_id == self._org_id, WORK.c.id == work.id, WORK.c.version == work.version

    def _held(self, claimed: Work, changed: Work, now: datetime) -> Work:
        swapped = self._swap(claimed, changed, now) if claimed.state is WorkState.RUNNING else None
        if swapped is None:
            raise WorkLostError(claimed.id)
        return swapped

    def _swap(self, old: Work, new: Work, now: datetime) -> Work | None:
        """Puts `new` in the place of `old`, if that is still what is there."""
        changed = replace(new, version=old.version + 1)
        values = {name: cell for name, cell in _row(changed).items() if name not in {"org_id", "id"}}
        statement = WORK.update().where(*self._this(old), WORK.c.state == str(old.state)).values(**values)
        if self._connection.execute(statement).rowcount == 0:
            return None
        self._note(changed, old.state, now)
        return changed

    def _note(self, work: Work, old_state: WorkState | None, at: datetime) -> None:
        row = {
            "org_id": self._org_id,
            "work_id": work.id,
            "version": work.version,
            "old_state": str(old_state) if old_state is not None else None,
            "new_state": str(work.state),
            "reason": str(work.reason),
            "at": at,
            "detail": storable(work.detail),
        }
        self._connection.execute(WORK_CHANGES.insert(), row)


def _ended(work: Work, state: WorkState, reason: WorkReason, now: datetime, detail: str = "") -> Work:
    """The work at its end. A reserved run id that no run was recorded under is owed a record."""
    return replace(
        work,
        state=state,
        lease_owner="",
        lease_expires_at=None,
        ended_at=now,
        reason=reason,
        detail=detail,
        record_owed=bool(work.run_id) and state is not WorkState.DONE,
    )


def _waiting(work: Work, reason: WorkReason, not_before: datetime | None, detail: str) -> Work:
    return replace(
        work,
        state=WorkState.WAITING,
        lease_owner="",
        lease_expires_at=None,
        started_at=None,
        not_before=not_before,
        reason=reason,
        detail=detail,
    )


def _row(work: Work) -> dict[str, Cell]:
    row: dict[str, Any] = dict(zip(_COLUMNS, _cells(work), strict=True))
    row["kind"], row["state"], row["reason"] = str(work.kind), str(work.state), str(work.reason)
    row["detail"], row["lease_owner"] = storable(work.detail), storable(work.lease_owner)
    return row


def _work_of(cells: Sequence[Cell]) -> Work:
    values: dict[str, Any] = dict(zip(_COLUMNS, cells, strict=True))
    values["kind"], values["state"] = WorkKind(values["kind"]), WorkState(values["state"])
    return Work(**values)
