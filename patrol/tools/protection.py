"""`pulse_storage` types `snapshots` and `replication`: what protects guests beside backups."""

from collections.abc import Sequence

import msgspec

from findings.model import Topic
from patrol.estate.identity import GUESTS
from patrol.estate.model import Resource, ResourceType
from patrol.tools.filters import guest_tests, matching
from patrol.tools.model import Call
from patrol.tools.paging import finished, part_of
from patrol.tools.view import EstateView
from signals.pages import Time
from signals.protection_evidence import ReplicationOutput, ReplicationRow, SnapshotRow, SnapshotsOutput
from signals.times import parse_time

_RUNNING_STATE = "current"
"""What Proxmox lists as the state that runs now: no snapshot."""

_WORDS = {ResourceType.VM: "vm", ResourceType.SYSTEM_CONTAINER: "lxc"}


def snapshots(view: EstateView, call: Call) -> SnapshotsOutput:
    """Snapshots of guests, by guest, in the order of the source. Paging runs through guests."""
    read = view.kept("with snapshots", lambda: [each for each in view.resources if each.snapshots is not None])

    def chosen() -> Sequence[Resource]:
        tests = guest_tests(view, call)
        return [each for each in matching(view, call, read) if all(test(each) for test in tests)]

    guests = view.kept(("snapshots", call.filters()), chosen)
    part = part_of(call, guests)
    total = sum(len(_of(each)) for each in guests)
    page = SnapshotsOutput(
        snapshots=[_snapshot_row(view, guest, row) for guest in part.rows for row in _of(guest)],
        total=total,
        filtered=total if len(guests) != len(read) else None,
        guests=[each.id for each in part.rows],
    )
    return finished(view, call, page, part, page.guests)


def _of(guest: Resource) -> list[SnapshotRow]:
    return [row for row in guest.snapshots or () if row.snapshot_name != _RUNNING_STATE]


def _snapshot_row(view: EstateView, guest: Resource, row: SnapshotRow) -> SnapshotRow:
    instance = view.instance_of(guest)
    return msgspec.structs.replace(
        row,
        id=row.id or f"{guest.id}@{row.snapshot_name}",
        vmid=guest.vmid if row.vmid is None else row.vmid,
        vm_name=row.vm_name or guest.name or None,
        type=row.type or _WORDS.get(guest.type, guest.type.value),
        node=row.node or view.host_name(guest) or None,
        instance=row.instance or instance or None,
        time=_placed(row.time, view.estate.zones.get(instance, "")),
        resource_id=guest.id,
    )


def replication(view: EstateView, call: Call) -> ReplicationOutput:
    """Replication jobs, by id."""

    def chosen() -> list[ReplicationRow]:
        owned = [(row, _guest_of(view, row)) for row in view.estate.replication_jobs]
        status, tests = call.text("status").casefold(), guest_tests(view, call)
        admitted = {each.id for each in matching(view, call, _guests(view)) if all(test(each) for test in tests)}
        filtered = bool(set(dict(call.filters())) - {"status", "type"})
        found = [
            _replication_row(view, row, guest)
            for row, guest in owned
            if (not filtered or (guest is not None and guest.id in admitted))
            and status in {"", (row.status or "").casefold()}
        ]
        return sorted(found, key=lambda row: (row.instance or "", str(row.id or ""), str(row.guest_id or "")))

    part = part_of(call, view.kept(("replication", call.filters()), chosen))
    page = ReplicationOutput(
        jobs=list(part.rows), total=part.total, sources=_read_from(view) if not call.offset else []
    )
    return finished(view, call, page, part, [row.resource_id for row in part.rows if row.resource_id])


def _guests(view: EstateView) -> list[Resource]:
    return view.kept("guests", lambda: [each for each in view.resources if each.type in GUESTS])


def _guest_of(view: EstateView, row: ReplicationRow) -> Resource | None:
    """The one guest that a job copies: by its id, else by VMID inside its instance."""
    if row.resource_id:
        return view.names.find(row.resource_id)
    number = "" if row.guest_id is None else str(row.guest_id)
    found = [
        each
        for each in view.names.candidates(number)
        if each.type in GUESTS and row.instance in {None, "", view.instance_of(each)}
    ]
    return found[0] if len(found) == 1 else None


def _replication_row(view: EstateView, row: ReplicationRow, guest: Resource | None) -> ReplicationRow:
    instance = row.instance or (view.instance_of(guest) if guest is not None else "")
    zone = view.estate.zones.get(instance, "")
    return msgspec.structs.replace(
        row,
        guest_name=row.guest_name or (guest.name if guest is not None else "") or None,
        guest_type=row.guest_type or (_WORDS.get(guest.type) if guest is not None else None),
        source_node=row.source_node or (view.host_name(guest) if guest is not None else "") or None,
        last_sync=_placed(row.last_sync, zone),
        next_sync=_placed(row.next_sync, zone),
        instance=instance or None,
        resource_id=guest.id if guest is not None else "",
    )


def _read_from(view: EstateView) -> list[str]:
    """Sources of which all jobs are listed."""
    failed = {gap.source for gap in view.whole_gaps if gap.topic in {Topic.REPLICATION, Topic.INVENTORY}}
    return [
        state.name
        for state in view.estate.sources
        if state.connected and Topic.REPLICATION in state.read and state.name not in failed
    ]


def _placed(value: Time, zone: str) -> Time:
    """An instant with its offset, in UTC; as it came where it names none."""
    at = parse_time(value, zone)
    return value if at is None else at.isoformat()
