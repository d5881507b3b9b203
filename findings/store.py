"""Findings in a database. Knows no runs, and decides nothing: `findings.lifecycle` decides, this reads and writes."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import chain, islice
from typing import NamedTuple, Self

from sqlalchemy import ColumnElement, Connection, Select, and_, bindparam, case, or_, select, type_coerce
from sqlalchemy.exc import IntegrityError
from sqlalchemy.types import NullType
from sqlmodel import Session

from findings.assembly import FINDING_COLUMNS
from findings.bulk import execute_many
from findings.lifecycle import Advance
from findings.model import Finding, FindingState, ResourceId, Severity, Transition
from findings.rows import (
    FINDING_INSTANTS,
    TRANSITION_COLUMNS,
    Cell,
    finding_of,
    finding_row,
    places_of,
    transition_of,
    transition_row,
)
from findings.tables import FINDINGS, TRANSITIONS
from findings.updates import FindingUpdate, update_for

_FINDING = [
    # Instants as the driver gives them: `finding_of` reads them far faster than a type does, cell by cell.
    type_coerce(FINDINGS.c[name], NullType()).label(name) if name in FINDING_INSTANTS else FINDINGS.c[name]
    for name in FINDING_COLUMNS
]
_TRANSITION = [TRANSITIONS.c[name] for name in TRANSITION_COLUMNS]
_KEYS_AT_ONCE = 500
_ROWS_AT_ONCE = 1_000
"""Asked of the driver: one by one takes longer."""

_ADD_FINDING = FINDINGS.insert()
_ADD_TRANSITION = TRANSITIONS.insert()


class FindingNotFoundError(LookupError):
    """There is no such finding in this organisation."""


class FindingConflictError(Exception):
    """Findings changed between being read and being written. Roll back, read again, decide again.

    `finding_ids`: those that were to be written; at least one of them is not as it was.
    """

    def __init__(self, finding_ids: Sequence[str]) -> None:
        super().__init__(f"at least one of {len(finding_ids)} findings was changed by somebody else meanwhile")
        self.finding_ids = tuple(finding_ids)


class ListPlace(NamedTuple):
    """Where a finding stands in a list. Two texts and two numbers: enough to go on from, in another process too."""

    bucket: tuple[int, int]
    last_seen_at: datetime
    id: str

    @classmethod
    def of(cls, finding: Finding) -> Self:
        """The place of this finding."""
        return cls((_STATES.index(finding.state), -finding.severity.rank), finding.last_seen_at, finding.id)


class FindingStore:
    """The findings of one organisation, on a connection (or session) whose transaction the caller owns."""

    def __init__(self, connection: Connection | Session, org_id: str) -> None:
        self._connection = connection.connection() if isinstance(connection, Session) else connection
        self._org_id = org_id

    def find(self, finding_id: str) -> Finding | None:
        """The finding of this id, or None."""
        row = self._connection.execute(self._select().where(FINDINGS.c.id == finding_id)).first()
        return finding_of(row) if row is not None else None

    def get(self, finding_id: str) -> Finding:
        """The finding of this id. Raises FindingNotFoundError."""
        finding = self.find(finding_id)
        if finding is None:
            raise FindingNotFoundError(finding_id)
        return finding

    def list_findings(
        self,
        *,
        state: FindingState | None = None,
        severities: Iterable[Severity] | None = None,
        resource_id: ResourceId | None = None,
    ) -> list[Finding]:
        """Findings that meet every given filter: open before resolved, worst first, newest first."""
        statement = self._select()
        if state is not None:
            statement = statement.where(FINDINGS.c.state == str(state))
        if severities is not None:
            statement = statement.where(FINDINGS.c.severity.in_([str(each) for each in severities]))
        if resource_id is not None:
            statement = statement.where(FINDINGS.c.resource_id == resource_id)
        statement = statement.order_by(FINDINGS.c.state == str(FindingState.RESOLVED), _RANK.desc(), *_NEWEST_FIRST)
        return [finding_of(row) for row in self._connection.execute(statement)]

    def list_page(
        self,
        size: int,
        *,
        after: ListPlace | None = None,
        state: FindingState | None = None,
        severities: Iterable[Severity] | None = None,
        resource_id: ResourceId | None = None,
    ) -> list[Finding]:
        """The next findings in the order of `list_findings`, at most `size`. `after`: the place of the last one seen.

        What changes between two pages is shown at its new place, or was: no other finding is missed or comes twice.
        """
        wanted = set(Severity) if severities is None else set(severities)
        page: list[Finding] = []
        for open_or_not in _STATES if state is None else (state,):
            for severity in sorted(wanted, key=lambda each: -each.rank):
                bucket = (_STATES.index(open_or_not), -severity.rank)
                if after is not None and bucket < after.bucket:
                    continue
                statement = self._select().where(
                    FINDINGS.c.state == str(open_or_not), FINDINGS.c.severity == str(severity)
                )
                if resource_id is not None:
                    statement = statement.where(FINDINGS.c.resource_id == resource_id)
                if after is not None and bucket == after.bucket:
                    seen, same = FINDINGS.c.last_seen_at, FINDINGS.c.last_seen_at == after.last_seen_at
                    # The first condition says nothing new, but lets an index begin at the place.
                    statement = statement.where(
                        seen <= after.last_seen_at, or_(seen < after.last_seen_at, and_(same, FINDINGS.c.id < after.id))
                    )
                statement = statement.order_by(*_NEWEST_FIRST).limit(size - len(page))
                page.extend(map(finding_of, self._connection.execute(statement).all()))
                if len(page) >= size:
                    return page
        return page

    def list_closed_since(self, at: datetime, most: int) -> list[Finding]:
        """The findings that were closed since then, the last ones first, at most so many."""
        statement = self._select().where(FINDINGS.c.state == str(FindingState.RESOLVED), FINDINGS.c.resolved_at >= at)
        statement = statement.order_by(FINDINGS.c.resolved_at.desc(), FINDINGS.c.id).limit(most)
        return [finding_of(row) for row in self._connection.execute(statement)]

    def list_beginning(self, beginning: str) -> list[Finding]:
        """The findings whose id begins so, by id."""
        statement = self._select().where(FINDINGS.c.id.startswith(beginning, autoescape=True)).order_by(FINDINGS.c.id)
        return [finding_of(row) for row in self._connection.execute(statement)]

    def known_resources(self) -> dict[ResourceId, str]:
        """Names of the resources that anything was ever found on, by id; those they live on have none ("")."""
        statement = select(FINDINGS.c.resource_id, FINDINGS.c.resource_name, FINDINGS.c.lives_on)
        rows = self._connection.execute(statement.where(FINDINGS.c.org_id == self._org_id).distinct()).all()
        above = {resource_id: "" for row in rows for resource_id in places_of(row.lives_on)}
        return above | {row.resource_id: row.resource_name for row in rows}

    def known_kinds(self) -> set[str]:
        """The kinds of everything that was ever found."""
        statement = select(FINDINGS.c.kind).where(FINDINGS.c.org_id == self._org_id).distinct()
        return set(self._connection.execute(statement).scalars())

    def load(self, keys: Iterable[str]) -> dict[str, Finding]:
        """The findings under these keys, as far as there are any; by key."""
        found: dict[str, Finding] = {}
        statement = self._select().where(FINDINGS.c.key.in_(bindparam("keys", expanding=True)))
        remaining = iter(dict.fromkeys(keys))
        while chunk := list(islice(remaining, _KEYS_AT_ONCE)):
            for row in self._connection.execute(statement, {"keys": chunk}):
                finding = finding_of(row)
                found[finding.key] = finding
        return found

    def load_open_and(self, keys: Iterable[str]) -> dict[str, Finding]:
        """What `findings.lifecycle.advance` needs to know: all open findings and those under these keys; by key."""
        statement = self._select().where(FINDINGS.c.state == str(FindingState.OPEN))
        rows = chain.from_iterable(self._connection.execute(statement).partitions(_ROWS_AT_ONCE))
        found = {finding.key: finding for finding in map(finding_of, rows)}
        return found | self.load(key for key in keys if key not in found)

    def transitions(self, finding_id: str) -> list[Transition]:
        """All changes of one finding, oldest first."""
        statement = (
            select(*_TRANSITION)
            .where(TRANSITIONS.c.org_id == self._org_id, TRANSITIONS.c.finding_id == finding_id)
            .order_by(TRANSITIONS.c.version)
        )
        return [transition_of(row) for row in self._connection.execute(statement)]

    def apply(self, advance: Advance) -> None:
        """Writes what a run changes.

        Raises FindingConflictError if a finding is not as it was when it was read (compare-and-swap on its version),
        and ValueError for a change of another organisation. The transaction is then to be rolled back.
        """
        new = [change.after for change in advance.changes if change.before is None]
        changed = [(change.before, change.after) for change in advance.changes if change.before is not None]
        if any(change.after.org_id != self._org_id for change in advance.changes):
            raise ValueError(f"a change does not belong to {self._org_id}")
        if new:
            try:
                execute_many(self._connection, _ADD_FINDING, [finding_row(finding) for finding in new])
            except IntegrityError as error:
                raise FindingConflictError([finding.id for finding in new]) from error
        if changed:
            self._update(changed)
        if advance.transitions:
            rows = [{"org_id": self._org_id, **transition_row(each)} for each in advance.transitions]
            execute_many(self._connection, _ADD_TRANSITION, rows)

    def _update(self, changes: Sequence[tuple[Finding, Finding]]) -> None:
        rows: dict[FindingUpdate, list[dict[str, Cell]]] = {}
        for before, after in changes:
            update = update_for(before, after)
            rows.setdefault(update, []).append(update.row(before, after))
        updated = sum(execute_many(self._connection, update.statement, those) for update, those in rows.items())
        if updated != len(changes):
            raise FindingConflictError([after.id for _, after in changes])

    def _select(self) -> Select[*tuple[Cell, ...]]:
        return select(*_FINDING).where(FINDINGS.c.org_id == self._org_id)


_RANK: ColumnElement[int] = case({str(each): each.rank for each in Severity}, value=FINDINGS.c.severity, else_=0)
_NEWEST_FIRST = (FINDINGS.c.last_seen_at.desc(), FINDINGS.c.id.desc())
_STATES = (FindingState.OPEN, FindingState.RESOLVED)
