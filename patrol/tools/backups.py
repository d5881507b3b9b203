"""Backups, the attempts at them, and the jobs of backup servers, each row with the resource that it is about."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TypeVar

from findings.model import Gap, GapReason, Topic
from patrol.estate.model import Resource
from patrol.tools.backup_filters import OwnedRow, chosen
from patrol.tools.model import Call
from patrol.tools.owners import BackupOwners, GuestRow, Owner, undecided
from patrol.tools.paging import finished, part_of
from patrol.tools.view import EstateView
from signals.evidence import (
    BackupsOutput,
    BackupTaskRow,
    BackupTasksOutput,
    PbsBackupRow,
    PbsJobRow,
    PveBackupRow,
    Time,
)
from signals.times import NEVER, parse_time

_WITHOUT_BACKUPS = frozenset({"local", "docker", "kubernetes"})
"""Types of sources that never list backups: their silence hides none."""

AnyRow = TypeVar("AnyRow", BackupTaskRow, PbsBackupRow, PveBackupRow, PbsJobRow)
RowT = TypeVar("RowT", bound=GuestRow)


@dataclass(frozen=True, slots=True)
class Backups:
    """All rows, in their fixed order, with their owners and their times placed."""

    stored: list[OwnedRow]  # at backup servers, then on the hypervisors' own storages
    tasks: list[OwnedRow]  # newest first
    ambiguous: list[Gap]


def all_backups(view: EstateView) -> Backups:
    """Worked out once for an estate."""
    return view.kept("backups", lambda: _read_backups(view))


def _read_backups(view: EstateView) -> Backups:
    estate = view.estate
    if not (estate.pbs_backups or estate.pve_backups or estate.backup_tasks):
        return Backups([], [], [])
    owners = BackupOwners(view)
    found: list[Owner] = []

    def owned(rows: Iterable[RowT], placed: Callable[[RowT], RowT]) -> list[OwnedRow]:
        result = []
        for row in rows:
            owner = owners.of(row)
            found.append(owner)
            own = placed(row)
            own.resource_id = owner.guest.id if owner.guest is not None else ""
            result.append(OwnedRow(own, owner.guest))
        return result

    pbs = owned(estate.pbs_backups, lambda row: placed_times(view, row, "backup_time"))
    pve = owned(estate.pve_backups, lambda row: placed_times(view, row, "backup_time"))
    ambiguous = undecided(found)
    tasks = owned(estate.backup_tasks, lambda row: placed_times(view, row, "start_time", "end_time"))
    tasks.sort(key=_task_order)
    return Backups([*pbs, *pve], tasks, _ambiguity_gaps(ambiguous))


def placed_times(view: EstateView, row: AnyRow, *fields: str) -> AnyRow:
    """A copy whose times say their offset: a time without one is in the zone of its instance, else in UTC."""
    zone = view.estate.zones.get(row.instance or "", "")
    placed = copy(row)
    for field in fields:
        value = getattr(row, field)
        setattr(placed, field, _with_offset(value, zone))
    return placed


def _with_offset(value: Time, zone: str) -> Time:
    if not isinstance(value, str) or value[-1:] in {"Z", ""} or value[-6:-5] in {"+", "-"}:
        return value
    at = parse_time(value, zone)
    return value if at is None else at.isoformat()


def _task_order(owned: OwnedRow) -> tuple[float, str, str]:
    row = owned.row
    started = parse_time(row.start_time) if isinstance(row, BackupTaskRow) else None
    # A task without a usable time comes last; its age is unknown.
    age = -(started or NEVER.replace(year=2)).timestamp()
    return age, str(getattr(row, "id", "") or ""), str(row.vmid or "")


def _ambiguity_gaps(candidates: dict[str, tuple[Resource, ...]]) -> list[Gap]:
    return [
        Gap(
            source="",
            topic=Topic.BACKUPS,
            reason=GapReason.UNREADABLE,
            detail=f"backups of VMID {guests[0].vmid} may belong to {_any_of(guests)}",
            resource_id=guest_id,
            fix="give each cluster its own namespace on the backup server",
        )
        for guest_id, guests in sorted(candidates.items())
    ]


def _any_of(guests: tuple[Resource, ...]) -> str:
    if len(guests) == 1:
        return f"{guests[0].id} or to a guest of a source that did not answer"
    return f"any of {', '.join(guest.id for guest in guests)}"


def backups(view: EstateView, call: Call) -> BackupsOutput:
    """Backups that exist, then the newest attempt for each guest; one paging runs through both."""
    known = all_backups(view)
    rows = chosen(view, call, "backups", lambda: [*known.stored, *_newest_of_each(known.tasks)])
    part = part_of(call, rows)
    page = BackupsOutput(pbs_servers=view.estate.pbs_servers)
    for owned in part.rows:
        if isinstance(owned.row, PbsBackupRow):
            page.pbs.append(owned.row)
        elif isinstance(owned.row, PveBackupRow):
            page.pve.append(owned.row)
        else:
            page.recent_tasks.append(owned.row)
    gaps = [*unseen_sources(view, call), *(known.ambiguous if call.offset == 0 else ())]
    return finished(view, call, page, part, _about(view, call, part.rows), more_gaps=gaps)


def backup_tasks(view: EstateView, call: Call) -> BackupTasksOutput:
    """Attempts at backups, newest first."""
    status = call.text("status").casefold()
    tasks = all_backups(view).tasks
    rows = chosen(view, call, "tasks", lambda: tasks)
    if status:
        everything = rows
        rows = view.kept(
            ("tasks", call.filters()), lambda: [owned for owned in everything if _has_status(owned.row, status)]
        )
    part = part_of(call, rows)
    page = BackupTasksOutput(
        tasks=[owned.row for owned in part.rows if isinstance(owned.row, BackupTaskRow)],
        total=part.total,
        filtered=part.total if part.total != len(tasks) else None,
    )
    return finished(view, call, page, part, _about(view, call, part.rows), more_gaps=unseen_sources(view, call))


def _has_status(row: GuestRow, status: str) -> bool:
    words = (row.status, row.exitstatus) if isinstance(row, BackupTaskRow) else ()
    return status in {(word or "").casefold() for word in words}


def _newest_of_each(tasks: Sequence[OwnedRow]) -> list[OwnedRow]:
    newest: dict[Hashable, OwnedRow] = {}
    for owned in tasks:
        row = owned.row
        newest.setdefault(row.resource_id or (str(row.vmid), row.instance, getattr(row, "node", None)), owned)
    return list(newest.values())


def _about(view: EstateView, call: Call, rows: Iterable[OwnedRow]) -> Iterator[str]:
    """Resources whose gaps belong on a page: its guests, and on the first page all that has a gap (stores too)."""
    if call.offset == 0 and not call.filters():
        yield from view.gaps_by_resource
        return
    yield from (owned.guest.id for owned in rows if owned.guest is not None)
    yield from (store.id for store in view.estate.backup_stores)


def unseen_sources(view: EstateView, call: Call) -> list[Gap]:
    """Sources that did not answer as a whole and might have listed backups."""
    types = {source.name: source.type for source in view.estate.sources}
    wanted = call.text("source")
    return [
        gap
        for gap in view.whole_gaps
        if gap.topic is Topic.INVENTORY
        and types.get(gap.source, "") not in _WITHOUT_BACKUPS
        and wanted in {"", gap.source}
    ]
