"""Resources as operators speak of them: what is remembered, and what does not exist any more."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from findings.lifecycle import Advance, Change
from findings.model import Finding, FindingState, ResolveReason, Transition, TransitionReason
from findings.silence import own_quiet
from findings.store import FindingStore
from patrol.database import Database
from patrol.estate.memory.model import Memory, Remembered
from patrol.estate.memory.store import ResourceMemory


class UnknownResourceError(LookupError):
    """Nothing that is remembered has this id, alias or name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no resource is called {name}")


class AmbiguousResourceError(LookupError):
    """Several are called so. `candidates`: their ids."""

    def __init__(self, name: str, candidates: Sequence[str]) -> None:
        super().__init__(f"{len(candidates)} resources are called {name}: {', '.join(candidates)}; give the id")
        self.candidates = tuple(candidates)


class AlreadyRemovedError(Exception):
    """The resource is removed already. `known`: since when, and who says so."""

    def __init__(self, known: Remembered) -> None:
        super().__init__(f"{known.id} is removed already, since {known.removed_at:%Y-%m-%d %H:%M} UTC")
        self.known = known


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """What an operator removed. `closed`: its findings that were open. `lives_on_it`: what it leaves behind."""

    resource: Remembered
    closed: tuple[Finding, ...]
    lives_on_it: tuple[Remembered, ...]


def find_resource(memory: Memory, name: str) -> Remembered:
    """The resource that an operator means. Raises UnknownResourceError, AmbiguousResourceError."""
    found = memory.candidates(name)
    if not found:
        raise UnknownResourceError(name)
    if len(found) > 1:
        raise AmbiguousResourceError(name, [each.id for each in found])
    return found[0]


def remove_resource(database: Database, org_id: str, name: str, *, now: datetime, author: str) -> Removal:
    """An operator says that a resource does not exist any more: its open findings are closed.

    What lives on it is not touched. If a run sees it again, it is the same resource, there again. Raises
    UnknownResourceError, AmbiguousResourceError, AlreadyRemovedError, StorageError.
    """

    def work(connection: Connection) -> Removal:
        store = ResourceMemory(connection, org_id)
        memory = store.load()
        known = find_resource(memory, name)
        if not store.remove(known.id, now):
            raise AlreadyRemovedError(known)
        findings = FindingStore(connection, org_id)
        still_open = findings.list_findings(state=FindingState.OPEN, resource_id=known.id)
        closed = [_closed(finding, now, author) for finding in still_open]
        findings.apply(
            Advance(
                changes=tuple(change for change, _ in closed),
                transitions=tuple(transition for _, transition in closed),
                outcomes={},
            )
        )
        return Removal(
            resource=store.load().resources[known.id],
            closed=tuple(change.after for change, _ in closed),
            lives_on_it=tuple(each for each in memory.resources.values() if each.parent == known.id and each.is_there),
        )

    return database.transact(work)


def _closed(finding: Finding, now: datetime, author: str) -> tuple[Change, Transition]:
    after = replace(
        finding,
        state=FindingState.RESOLVED,
        resolved_at=now,
        resolve_reason=ResolveReason.RESOURCE_REMOVED,
        clear_streak=0,
        version=finding.version + 1,
    )
    quiet = own_quiet(finding, now)
    return Change(finding, after), Transition(
        finding_id=finding.id,
        version=after.version,
        run_id="",
        old_state=finding.state,
        new_state=after.state,
        reason=TransitionReason.RESOLVED,
        resolve_reason=after.resolve_reason,
        old_severity=finding.severity,
        new_severity=after.severity,
        at=now,
        old_quiet=quiet.reason if quiet is not None else None,
        new_quiet=quiet.reason if quiet is not None else None,
        author=author,
    )
