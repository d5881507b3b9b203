"""The backups that lists show, by the guest they belong to."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from findings.model import ResourceId
from signals.backups.owners import Claim, Owners, task_claim
from signals.detector import EvidencePage, Notes
from signals.evidence import BackupsOutput, PbsBackupRow, PveBackupRow
from signals.inventory import Inventory
from signals.model import Origin
from signals.times import NEVER, parse_time, unusable_because, usable_times

BackupRow = PbsBackupRow | PveBackupRow
BackupsPage = EvidencePage[BackupsOutput]


class Reading:
    """The pages of one sweep, and the newest backup that they show of each guest."""

    def __init__(self) -> None:
        self.pages: list[BackupsPage] = []
        self.newest: dict[Claim, datetime] = {}  # by claim while pages are read, by guest after `settle`

    @property
    def first(self) -> BackupsPage:
        """A page that stands for the sweep."""
        return self.pages[0]


class Copies:
    """Keeps the newest backup of each guest, sweep by sweep.

    `unsure` holds, for a guest, the latest moment of a backup that may be its own without being counted as
    such, and why: its owner is ambiguous, or its time cannot be placed.
    """

    def __init__(self, inventory: Inventory, notes: Notes, latest: datetime) -> None:
        self.readings: list[Reading] = []
        self.unsure: dict[ResourceId, tuple[datetime, str]] = {}
        self._inventory = inventory
        self._notes = notes
        self._latest = latest
        self._owners = Owners(inventory)
        self._by_sweep: dict[tuple[object, Origin], Reading] = {}
        self._undated: list[tuple[Claim, str]] = []
        self._guests: dict[Claim, tuple[ResourceId, ...]] = {}

    def read(self, page: BackupsPage) -> None:
        """Takes in one page. A time that cannot be placed is a problem of its row, never "now"."""
        reading = self._by_sweep.get((page.sweep, page.origin))
        if reading is None:
            reading = self._by_sweep[page.sweep, page.origin] = Reading()
            self.readings.append(reading)
        reading.pages.append(page)
        for place, rows, claims in _tables(page.output):
            zone = page.output.zone
            times = usable_times([row.backup_time for row in rows], zone, self._latest)
            newest, known = reading.newest, reading.newest.get
            for claim, at in zip(claims, times, strict=True):
                if at is not None and at > known(claim, NEVER):
                    newest[claim] = at
            if None in times:
                self._note_undated(page, place, rows, claims, times)

    def _note_undated(
        self,
        page: BackupsPage,
        place: str,
        rows: Sequence[BackupRow],
        claims: Sequence[Claim],
        times: Sequence[datetime | None],
    ) -> None:
        for number, at in enumerate(times):
            if at is None:
                reason = unusable_because(rows[number].backup_time, page.output.zone, self._latest)
                self._undated.append((claims[number], reason))
                self._notes.problem(page.call_id, f"{place}[{number}].backup_time", reason)

    def settle(self) -> None:
        """Turns claims into guests, once all pages are read."""
        for reading in self.readings:
            self._owners.learn(reading.newest)
            self._owners.learn(self.task_claims(reading))
        for reading in self.readings:
            newest = reading.newest
            for claim in [each for each in newest if each not in self._inventory.rows]:
                at = newest.pop(claim)
                guests = self.guests_of(claim)
                if len(guests) == 1:
                    newest[guests[0]] = max(at, newest.get(guests[0], NEVER))
                elif guests:
                    names = ", ".join(sorted(guests))
                    self._doubt(guests, at, f"ambiguous: a backup belongs to one of {names}, it is not told to which")
        for claim, reason in self._undated:
            self._doubt(self.guests_of(claim), self._latest, f"the time of a backup cannot be placed: {reason}")

    def guests_of(self, claim: Claim) -> tuple[ResourceId, ...]:
        """The guests that a claim may mean."""
        if isinstance(claim, str) and claim in self._inventory.rows:
            return (claim,)
        if claim not in self._guests:
            self._guests[claim] = self._owners.find(claim)
        return self._guests[claim]

    def _doubt(self, guests: Iterable[ResourceId], at: datetime, reason: str) -> None:
        for guest in guests:
            known = self.unsure.get(guest)
            if known is None or known[0] < at:
                self.unsure[guest] = (at, reason)

    def task_claims(self, reading: Reading) -> Iterator[Claim]:
        """The guests that the recent tasks of a sweep speak of."""
        for page in reading.pages:
            for row in page.output.recent_tasks:
                yield task_claim(row)

    def rows(self, wanted: Iterable[ResourceId]) -> dict[ResourceId, tuple[BackupRow, BackupsPage]]:
        """The newest row of each of these guests, with its page: read again, as only the rare stale guest needs it."""
        guests = set(wanted)
        best: dict[ResourceId, tuple[datetime, BackupRow, BackupsPage]] = {}
        for page in (page for reading in self.readings for page in reading.pages):
            for _place, rows, claims in _tables(page.output):
                for row, claim in zip(rows, claims, strict=True):
                    owners = self.guests_of(claim)
                    if len(owners) != 1 or owners[0] not in guests:
                        continue
                    at = parse_time(row.backup_time, page.output.zone)
                    if at is not None and at <= self._latest and (owners[0] not in best or at > best[owners[0]][0]):
                        best[owners[0]] = (at, row, page)
        return {guest: (row, page) for guest, (_at, row, page) in best.items()}


def _tables(output: BackupsOutput) -> Iterator[tuple[str, Sequence[BackupRow], list[Claim]]]:
    """Both kinds of backups of a page: their place in it, rows and claims."""
    if output.pbs:
        # The instance of these rows is the backup server's, so it identifies no guest.
        yield (
            "pbs",
            output.pbs,
            [
                row.resource_id or (row.vmid, None, None, row.instance, row.namespace, row.backup_type)
                for row in output.pbs
            ],
        )
    if output.pve:
        yield (
            "pve",
            output.pve,
            [row.resource_id or (row.vmid, row.instance, None, None, None, None) for row in output.pve],
        )
