"""Backups, the attempts at them, and the jobs of backup servers, each row with the resource that it is about."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from findings.model import Gap, GapReason, Topic
from patrol.estate.model import Resource
from patrol.tools.backup_filters import OwnedRow, chosen
from patrol.tools.model import Call
from patrol.tools.owners import BackupOwners, GuestRow, Owner, undecided
from patrol.tools.paging import finished, part_of
from patrol.tools.view import EstateView
from signals.backup_evidence import BackupsOutput, BackupTaskRow, BackupTasksOutput, PbsBackupRow, PveBackupRow
from signals.pages import Time
from signals.times import NEVER, parse_time

_WITHOUT_BACKUPS = frozenset({"local", "docker", "kubernetes"})
"""Types of sources that never list backups: their silence hides none."""


@dataclass(frozen=True, slots=True)
class Backups:
    """All rows, in their fixed order, with their owners. They are as they were collected: see `shown`."""

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

    def owned(rows: Sequence[GuestRow]) -> list[OwnedRow]:
        of_rows = list(owners.of_each(rows))
        found.extend(of_rows)
        return [OwnedRow(row, owner.guest) for row, owner in zip(rows, of_rows, strict=True)]

    stored = [*owned(estate.pbs_backups), *owned(estate.pve_backups)]
    ambiguous = _ambiguity_gaps(undecided(found))
    tasks = owned(estate.backup_tasks)
    tasks.sort(key=lambda each: _task_order(view, each))
    return Backups(stored, tasks, ambiguous)


def shown(view: EstateView, owned: OwnedRow) -> GuestRow:
    """A copy of the row as it is shown: it names its guest, and its times say their offset."""
    row = owned.row
    guest = owned.guest.id if owned.guest is not None else ""
    if isinstance(row, BackupTaskRow):
        start, end = placed(view, row.instance, row.start_time), placed(view, row.instance, row.end_time)
        return msgspec.structs.replace(row, resource_id=guest, start_time=start, end_time=end)
    return msgspec.structs.replace(row, resource_id=guest, backup_time=placed(view, row.instance, row.backup_time))


def placed(view: EstateView, instance: str | None, value: Time) -> Time:
    """A time with its offset: one that says none is in the zone of its instance, else in UTC."""
    if not isinstance(value, str) or value[-1:] in {"Z", ""} or value[-6:-5] in {"+", "-"}:
        return value
    at = parse_time(value, view.estate.zones.get(instance or "", ""))
    return value if at is None else at.isoformat()


def _task_order(view: EstateView, owned: OwnedRow) -> tuple[float, str, str]:
    row = owned.row
    started = parse_time(placed(view, row.instance, row.start_time)) if isinstance(row, BackupTaskRow) else None
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
        row = shown(view, owned)
        if isinstance(row, PbsBackupRow):
            page.pbs.append(row)
        elif isinstance(row, PveBackupRow):
            page.pve.append(row)
        else:
            page.recent_tasks.append(row)
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
        tasks=[row for row in (shown(view, owned) for owned in part.rows) if isinstance(row, BackupTaskRow)],
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
        row, guest = owned.row, owned.guest
        whose = (str(row.vmid), row.instance, getattr(row, "node", None)) if guest is None else guest.id
        newest.setdefault(whose, owned)
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
