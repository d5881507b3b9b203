"""What operators say of a resource as a whole: that it is off on purpose, or being worked on. Set, read and ended."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from findings.silence import Silence, SilenceKind, SilenceState
from findings.silence_store import SilenceStore
from patrol.database import Database
from patrol.estate.memory.model import Remembered
from patrol.estate.memory.store import ResourceMemory
from patrol.operators.resources import find_resource

STATES = (SilenceKind.OFFLINE, SilenceKind.MAINTENANCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A time of maintenance. `starts_at` None: now."""

    starts_at: datetime | None
    ends_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StateWish:
    """What is to be said of a resource from now on: all of it, so that what is not wished any more ends."""

    offline: bool = False
    maintenance: Window | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorState:
    """What is said of a resource: what is in force, or else to come."""

    resource: Remembered
    offline: Silence | None
    maintenance: Silence | None

    @property
    def is_set(self) -> bool:
        """Whether anything is said."""
        return self.offline is not None or self.maintenance is not None


def operator_state(connection: Connection, org_id: str, name: str, now: datetime) -> OperatorState:
    """What is said of the resource of this id or name. Raises UnknownResourceError, AmbiguousResourceError."""
    resource = find_resource(ResourceMemory(connection, org_id).load(), name)
    return _state(connection, org_id, resource, now)


def set_operator_state(
    database: Database,
    org_id: str,
    name: str,
    wish: StateWish,
    *,
    now: datetime,
    author: str,
    ids: Callable[[], str],
) -> OperatorState:
    """Says it, in one transaction; what was said before of the same resource ends.

    Raises SilenceError for what cannot be, UnknownResourceError, AmbiguousResourceError, StorageError.
    """

    def work(connection: Connection) -> OperatorState:
        resource = find_resource(ResourceMemory(connection, org_id).load(), name)
        store = SilenceStore(connection, org_id)
        for each in _said(store, resource, now):
            store.end(each.id, now, author)
        for kind, window in _wished(wish):
            store.add(
                Silence(
                    org_id=org_id,
                    id=ids(),
                    kind=kind,
                    resource_id=resource.id,
                    resource_name=resource.name,
                    starts_at=window.starts_at or now if window is not None else now,
                    ends_at=window.ends_at if window is not None else None,
                    reason=wish.reason,
                    author=author,
                    created_at=now,
                )
            )
        return _state(connection, org_id, resource, now)

    return database.transact(work)


def clear_operator_state(database: Database, org_id: str, name: str, *, now: datetime, author: str) -> OperatorState:
    """Ends all that is said of a resource, and returns what it was.

    Raises UnknownResourceError, AmbiguousResourceError, StorageError.
    """

    def work(connection: Connection) -> OperatorState:
        before = operator_state(connection, org_id, name, now)
        store = SilenceStore(connection, org_id)
        for each in _said(store, before.resource, now):
            store.end(each.id, now, author)
        return before

    return database.transact(work)


def _wished(wish: StateWish) -> list[tuple[SilenceKind, Window | None]]:
    wished: list[tuple[SilenceKind, Window | None]] = [(SilenceKind.OFFLINE, None)] if wish.offline else []
    return [*wished, (SilenceKind.MAINTENANCE, wish.maintenance)] if wish.maintenance is not None else wished


def _said(store: SilenceStore, resource: Remembered, now: datetime) -> list[Silence]:
    found = store.list_silences(not_over_at=now)
    return [each for each in found if each.resource_id == resource.id and each.kind in STATES]


def _state(connection: Connection, org_id: str, resource: Remembered, now: datetime) -> OperatorState:
    """Of several of one sort the one that is in force, else the one that comes first."""
    said = _said(SilenceStore(connection, org_id), resource, now)
    by_start = sorted(said, key=lambda each: (each.state(now) is not SilenceState.IN_FORCE, each.starts_at, each.id))
    first = {each.kind: each for each in reversed(by_start)}
    return OperatorState(
        resource=resource, offline=first.get(SilenceKind.OFFLINE), maintenance=first.get(SilenceKind.MAINTENANCE)
    )
