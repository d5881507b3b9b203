"""Guests whose newest good backup is too old, and guests that have none at all.

    {"complete": true, "pbs": [{"vmid": "101", "resource_id": "vm:lab:101", "backup_time": "2026-02-24T01:00:12Z",
     "instance": "pbs1", "datastore": "main", "namespace": "site1/vm"}],
     "pve": [{"vmid": 101, "instance": "lab", "backup_time": "2026-02-20T01:00:12Z", "storage": "nas"}]}

The inventory says which guests there are, so a guest is missed although no backup and no task speaks of it.
A guest that no longer exists, a template and a guest that the operator excluded are never stale. Of a guest
without a fresh backup nothing is said (blind) where its backup may only be out of sight: a store that could
not be read, a list with holes, a VMID that several guests share, a time that cannot be placed.

Without an inventory only the guests that the recorded tasks name are known: their old backups count.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import ClassVar, NamedTuple, cast

from findings.kinds import Kind
from findings.model import ResourceId, Severity, Topic
from signals.backup_evidence import BackupsOutput
from signals.backups.copies import BackupsPage, Copies, Reading
from signals.backups.owners import GUEST_TYPES, read_vmid
from signals.backups.sweeps import is_whole
from signals.detector import Context, EvidencePage, Notes
from signals.evidence import InventoryRow
from signals.model import Origin
from signals.pages import Page
from signals.thresholds import Limit, Limited, special_test
from signals.times import NEVER, SKEW, parse_time
from signals.wording import hours_text, moment_text

_LONGEST_HOURS = 24 * 365 * 100
"""A limit beyond a century is held as one: instants end where years have five digits."""


class _Bounds(NamedTuple):
    """A limit as instants: a newest backup before `stale` is too old, one after `fresh` is fine."""

    limit: Limit
    stale: datetime
    fresh: datetime


class _Old(NamedTuple):
    """A guest without a fresh backup. `newest` is `NEVER` where no backup is seen."""

    row: InventoryRow
    bounds: _Bounds
    newest: datetime


class StaleBackupDetector:
    """backup_stale of guests."""

    reads: ClassVar[tuple[type[Page], ...]] = (BackupsOutput,)

    def __init__(self, context: Context, notes: Notes) -> None:
        self._notes = notes
        self._thresholds = context.thresholds
        self._inventory = context.inventory
        self._now = context.now
        self._known_bounds: dict[Limit, _Bounds] = {}
        self._is_special = special_test(context.thresholds)
        self._by_type = {kind: self._find_bounds(InventoryRow(id="", type=kind)) for kind in ("", *sorted(GUEST_TYPES))}
        stale = max((bounds.stale for bounds in self._by_type.values() if bounds is not None), default=NEVER)
        evidence_before = stale if self._is_special is None else context.now
        self._copies = Copies(context.inventory, notes, context.now + SKEW, evidence_before=evidence_before)

    def read(self, page: EvidencePage[Page]) -> None:
        """Keeps one page."""
        self._copies.add(cast("BackupsPage", page))

    def finish(self) -> None:
        """Judges every guest of the inventory, or else every guest that a task names."""
        if not self._copies.readings:
            if any(row.type in GUEST_TYPES for row in self._inventory.rows.values()):
                self._notes.off("backup coverage: no list of backups was read")
            return
        self._copies.settle()
        if not (self._inventory or self._inventory.complete):
            self._notes.off("backup coverage: no inventory, so guests without any backup are not known")
            self._judge_tasks()
        elif self._inventory.stores or any(_shows_store(page) for page in self._pages()):
            self._judge_inventory()
        else:
            self._notes.off("backup coverage: no backup store is visible")

    def _pages(self) -> list[BackupsPage]:
        return [page for reading in self._copies.readings for page in reading.pages]

    def _judge_inventory(self) -> None:
        """Every guest, the fresh ones at once: an estate of 60,000 has few others."""
        readings = sorted(self._copies.readings, key=lambda reading: reading.first.origin is not Origin.PATROL)
        main = readings[0]
        newest_of, is_special, of_type = main.newest.get, self._is_special, self._by_type
        fine: list[ResourceId] = []
        doubtful: list[_Old] = []
        for row in self._inventory.rows.values():
            if row.type not in GUEST_TYPES:
                continue
            bounds = of_type[row.type] if is_special is None or not is_special(row) else self._find_bounds(row)
            newest = newest_of(row.id, NEVER)
            if bounds is None or row.template or newest > bounds.fresh:
                fine.append(row.id)
            else:
                doubtful.append(_Old(row, bounds, newest))
        self._clear(main, fine)
        if doubtful:
            self._judge_doubtful(doubtful, readings)

    def _judge_doubtful(self, doubtful: Sequence[_Old], readings: Sequence[Reading]) -> None:
        """Guests of which the first sweep shows no fresh backup."""
        gaps = self._gaps_of_guests()
        apart = gaps.keys() | {store.id for store in self._inventory.stores if not store.readable}
        whole = [each for each in readings if not each.first.sweep.filters and is_whole(each.pages, apart)]
        blind_spot = "" if whole else "the list of backups was not read completely"
        if not self._inventory.complete:
            blind_spot = "the inventory is incomplete"
        stale: list[_Old] = []
        for guest in doubtful:
            row, bounds, _ = guest
            reading = max(readings, key=lambda each: each.newest.get(row.id, NEVER))
            newest = reading.newest.get(row.id, NEVER)
            if newest > bounds.fresh:
                self._clear(reading, [row.id])
            elif newest >= bounds.stale:
                self._notes.held(Kind.BACKUP_STALE, row.id)
            elif reason := blind_spot or self._out_of_sight(row, bounds) or gaps.get(row.id):
                self._notes.blind(Kind.BACKUP_STALE, row.id, reason)
            elif newest == NEVER and self._is_new(row, bounds):
                self._clear(whole[0], [row.id])
            else:
                stale.append(guest._replace(newest=newest))
        self._state(stale)

    def _clear(self, reading: Reading, resource_ids: Sequence[ResourceId]) -> None:
        """Two things must be complete for a clear: this sweep (`Notes` sees to it) and the inventory."""
        if self._inventory.complete:
            self._notes.clear(reading.first, Kind.BACKUP_STALE, resource_ids)

    def _out_of_sight(self, row: InventoryRow, bounds: _Bounds) -> str:
        """Why a fresh backup of this guest may exist although none is seen; "" if it may not."""
        for store in self._inventory.stores:
            may_hold = not store.instances or not row.instance or row.instance in store.instances
            if not store.readable and may_hold:
                return f"the backup store {store.name or store.id} could not be read"
        at, reason = self._copies.unsure.get(row.id, (NEVER, ""))
        return reason if at >= bounds.stale else ""

    def _gaps_of_guests(self) -> dict[ResourceId, str]:
        rows = self._inventory.rows
        return {
            gap.resource_id: gap.detail or gap.reason.value
            for page in self._pages()
            for gap in page.output.gaps
            if gap.topic is not Topic.BACKUP_TASKS
            and gap.resource_id in rows
            and rows[gap.resource_id].type in GUEST_TYPES
        }

    def _is_new(self, row: InventoryRow, bounds: _Bounds) -> bool:
        """Whether a guest without a backup has not been known for long enough to miss one.

        One whose first sight is not recorded counts as long known: silence about it would last for ever.
        """
        first_seen = parse_time(row.first_seen)
        return first_seen is not None and first_seen >= bounds.stale

    def _judge_tasks(self) -> None:
        """Without an inventory: the old backups of the guests that recent tasks name."""
        if any(gap.topic is not Topic.BACKUP_TASKS for page in self._pages() for gap in page.output.gaps):
            self._notes.off("backup coverage: the list of backups was not read completely")
            return
        stale: list[_Old] = []
        unsure, shared = self._copies.unsure, self._by_type[""] if self._is_special is None else None
        newest_of = self._copies.newest_of_all()
        for guest in self._copies.guests_with_tasks():
            newest = newest_of.get(guest, NEVER)
            if newest is NEVER or guest in unsure or (shared is not None and newest >= shared.stale):
                continue
            row = InventoryRow(id=guest, vmid=read_vmid(guest.rpartition(":")[2]))
            bounds = self._find_bounds(row)
            if bounds is not None and newest < bounds.stale:
                stale.append(_Old(row, bounds, newest))
        self._state(stale)

    def _state(self, stale: Sequence[_Old]) -> None:
        rows = self._copies.rows(old.row.id for old in stale)
        for row, bounds, newest in stale:
            limit = bounds.limit
            evidence, page = rows.get(row.id, (row, self._pages()[0]))
            age = (self._now - newest) / timedelta(hours=1)
            if newest == NEVER:
                summary = f"No backup at all is visible; the limit is {hours_text(limit.trigger)}"
            else:
                summary = (
                    f"The newest good backup is {hours_text(age)} old ({moment_text(newest)}); "
                    f"the limit is {hours_text(limit.trigger)}"
                )
            self._notes.signal(
                page,
                Kind.BACKUP_STALE,
                row,
                Severity.WARNING,
                summary,
                row=evidence,
                value=None if newest == NEVER else round(age, 2),
                limit=limit,
            )

    def _find_bounds(self, row: InventoryRow) -> _Bounds | None:
        """The limit of a guest as instants, None if its backups are not judged. As old as the limit is not too old."""
        limit = self._thresholds.limit(row, Limited.BACKUP_AGE)
        if limit is None:
            return None
        bounds = self._known_bounds.get(limit)
        if bounds is None:
            stale, fresh = (
                self._now - timedelta(hours=min(hours, _LONGEST_HOURS)) for hours in (limit.trigger, limit.clear)
            )
            bounds = self._known_bounds[limit] = _Bounds(limit, stale, fresh)
        return bounds


def _shows_store(page: BackupsPage) -> bool:
    return bool(page.output.pbs or page.output.pve or page.output.pbs_servers)
