"""Silences as operators make them: about a resource by its name, or about a kind of finding."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches

from sqlalchemy import Connection

from findings.identity import is_canonical
from findings.kinds import Kind
from findings.silence import QuietReason, Silence, SilenceError, SilenceKind, own_quiet
from findings.silence_store import SilenceStore
from findings.store import FindingStore
from patrol.database import Database
from patrol.estate.memory.store import ResourceMemory
from patrol.operators.ids import find_silence


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What an operator wants to be quiet about. `resource`: a name or an id; "" for any. `starts_at` None: now."""

    kind: SilenceKind
    resource: str = ""
    finding_kind: str = ""
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    reason: str


def add_silence(
    database: Database, org_id: str, wish: Wish, *, now: datetime, author: str, ids: Callable[[], str]
) -> Silence:
    """Makes one. Raises SilenceError for what cannot be, StorageError."""

    def work(connection: Connection) -> Silence:
        resource_id, resource_name = _resource(connection, org_id, wish.resource) if wish.resource else ("", "")
        if wish.ends_at is not None and wish.ends_at <= now:
            raise SilenceError("until", "it would be over already: give a time to come")
        silence = Silence(
            org_id=org_id,
            id=ids(),
            kind=wish.kind,
            resource_id=resource_id,
            resource_name=resource_name,
            finding_kind=_kind(FindingStore(connection, org_id), wish.finding_kind) if wish.finding_kind else "",
            starts_at=wish.starts_at if wish.starts_at is not None else now,
            ends_at=wish.ends_at,
            reason=wish.reason,
            author=author,
            created_at=now,
        )
        SilenceStore(connection, org_id).add(silence)
        return silence

    return database.transact(work)


def end_silence(database: Database, org_id: str, text: str, *, now: datetime, author: str) -> Silence:
    """Ends one by hand; it stays in the record. Raises UnknownIdError, AmbiguousIdError, SilenceEndedError."""

    def work(connection: Connection) -> Silence:
        store = SilenceStore(connection, org_id)
        return store.end(find_silence(store, text).id, now, author)

    return database.transact(work)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """One finding that an operator keeps quiet by its own: it ends with `patrol findings undo`."""

    finding_id: str
    about: str
    reason: QuietReason
    since: datetime | None
    until: datetime | None
    author: str
    note: str


def spoken(findings: FindingStore, now: datetime) -> list[Spoken]:
    """All findings that an operator keeps quiet one by one, also resolved ones: their return would be quiet."""
    found = []
    for finding in findings.list_findings():
        own = own_quiet(finding, now)
        if own is not None:
            acknowledged = own.reason is QuietReason.ACKNOWLEDGED
            found.append(
                Spoken(
                    finding_id=finding.id,
                    about=f"{finding.title} on {finding.resource_name}",
                    reason=own.reason,
                    since=finding.acknowledged_at if acknowledged else finding.silenced_at,
                    until=own.until,
                    author=own.by,
                    note=own.note,
                )
            )
    return found


def _resource(connection: Connection, org_id: str, name: str) -> tuple[str, str]:
    """Id and name of the resource that is meant. Equal names are never identity: of several the id is asked for."""
    memory = ResourceMemory(connection, org_id).load()
    known = FindingStore(connection, org_id).known_resources()
    known.update((each.id, each.name) for each in memory.resources.values())
    if name in known:
        return name, known[name]
    called = (resource_id for resource_id, its_name in known.items() if its_name.casefold() == name.casefold())
    meant = {each.id for each in memory.candidates(name)} or set(called)
    if len(meant) == 1:
        [resource_id] = meant
        return resource_id, known[resource_id]
    if meant:
        raise SilenceError("resource", f"{name} may be {', '.join(sorted(meant))}: write the id")
    if ":" in name and is_canonical(name):
        return name, ""  # never seen, or by a source to come: it may be silenced all the same
    near = get_close_matches(name, [*filter(None, known.values()), *known], n=3)
    hint = f"; nearest: {', '.join(near)}" if near else ""
    raise SilenceError("resource", f"no resource is called {name}{hint}. Its id (<type>:<origin>:<name>) is taken too")


def _kind(findings: FindingStore, name: str) -> str:
    kinds = {*Kind, *findings.known_kinds()}
    if name in kinds:
        return name
    near = get_close_matches(name, kinds, n=3)
    hint = f"; nearest: {', '.join(near)}" if near else f"; known: {', '.join(Kind)}"
    raise SilenceError("kind", f"no finding is of the kind {name}{hint}")
