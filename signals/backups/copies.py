"""The backups that lists show, by the guest they belong to."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

import msgspec

from findings.model import ResourceId
from signals.backup_evidence import BackupsOutput, PbsBackupRow, PveBackupRow
from signals.backups.owners import Claim, Owners
from signals.detector import EvidencePage, Notes, Sweep
from signals.inventory import Inventory
from signals.model import Origin
from signals.times import NEVER, unusable_because, usable_times

BackupRow = PbsBackupRow | PveBackupRow
BackupsPage = EvidencePage[BackupsOutput]


class Reading:
    """The pages of one sweep, and the newest backup that they show of each guest.

    Pages whose rows were taken in already keep no more than one of them, which stands for all.
    """

    def __init__(self) -> None:
        self.pages: list[BackupsPage] = []
        self.newest: dict[Claim, datetime] = {}  # by guest, once settled

    @property
    def first(self) -> BackupsPage:
        """A page that stands for the sweep."""
        return self.pages[0]


class Copies:
    """Keeps the newest backup of each guest, sweep by sweep.

    `unsure` holds, for a guest, the latest moment of a backup that may be its own without being counted as
    such, and why: its owner is ambiguous, or its time cannot be placed.
    """

    def __init__(self, inventory: Inventory, notes: Notes, latest: datetime, *, evidence_before: datetime) -> None:
        """`evidence_before`: only rows of backups older than this are ever asked for again."""
        self.readings: list[Reading] = []
        self.unsure: dict[ResourceId, tuple[datetime, str]] = {}
        self._inventory = inventory
        self._notes = notes
        self._latest = latest
        self._by_sweep: dict[tuple[Sweep, Origin], Reading] = {}
        self._owners = Owners(inventory)
        self._guests: dict[Claim, tuple[ResourceId, ...]] = {}
        self._evidence_before = evidence_before
        self._evidence: dict[Claim, tuple[datetime, BackupRow, BackupsPage]] = {}
        self._undated: list[tuple[Claim, str]] = []

    def add(self, page: BackupsPage) -> None:
        """Takes in one page."""
        reading = self._by_sweep.get((page.sweep, page.origin))
        if reading is None:
            reading = self._by_sweep[page.sweep, page.origin] = Reading()
            self.readings.append(reading)
        if self._inventory:
            # The inventory says whose a row is, so the rows are read at once and can be forgotten.
            page = self._read(page, reading.newest)
        reading.pages.append(page)

    def settle(self) -> None:
        """Finds the newest backups, once all pages are there: whose a row is may hang on another page."""
        if not self._inventory:
            outputs = [page.output for reading in self.readings for page in reading.pages]
            told = [table for output in outputs for table in (output.pve, output.recent_tasks)]
            self._owners = Owners(self._inventory, told)
            for reading in self.readings:
                for page in reading.pages:
                    self._read(page, reading.newest)
        for reading in self.readings:
            if not self._owners.plain:
                self._name_guests(reading.newest)
        for claim, reason in self._undated:
            self._doubt(self.guests_of(claim), self._latest, f"the time of a backup cannot be placed: {reason}")

    def _read(self, page: BackupsPage, newest: dict[Claim, datetime]) -> BackupsPage:
        """Takes in the rows of a page, and returns it without them.

        A time that cannot be placed is a problem of its row, never "now".
        """
        output = page.output
        bare = page._replace(
            output=msgspec.structs.replace(output, pbs=output.pbs[:1], pve=output.pve[:1], recent_tasks=[])
        )
        evidence, evidence_before, known = self._evidence, self._evidence_before, self._inventory.rows.get
        for place, rows, claims in self._tables(output):
            times = usable_times([row.backup_time for row in rows], output.zone, self._latest)
            for row, claim, at in zip(rows, claims, times, strict=True):
                best = newest.get(claim)
                if at is None or (best is not None and at <= best):
                    continue
                if best is None and (guest := known(claim)) is not None:  # type: ignore[arg-type]  # no tuple is known
                    claim = guest.id  # noqa: PLW2901 - its own text: else each page's copy stays
                newest[claim] = at
                if at < evidence_before and (claim not in evidence or at > evidence[claim][0]):
                    evidence[claim] = (at, row, bare)
            for number in [number for number, at in enumerate(times) if at is None] if None in times else ():
                reason = unusable_because(rows[number].backup_time, output.zone, self._latest)
                self._undated.append((claims[number], reason))
                self._notes.problem(page.call_id, f"{place}[{number}].backup_time", reason)
        return bare

    def _name_guests(self, newest: dict[Claim, datetime]) -> None:
        """Turns claims into guests."""
        known = self._inventory.rows
        if newest.keys() <= known.keys():
            return  # the usual case: every claim is the id of a known guest already
        for claim in [each for each in newest if each not in known]:
            guests = self.guests_of(claim)
            at = newest.pop(claim)
            if len(guests) == 1:
                newest[guests[0]] = max(at, newest.get(guests[0], NEVER))
            elif guests:
                names = ", ".join(sorted(guests))
                self._doubt(guests, at, f"ambiguous: a backup belongs to one of {names}, it is not told to which")

    def guests_of(self, claim: Claim) -> tuple[ResourceId, ...]:
        """The guests that a claim may mean."""
        if isinstance(claim, str) and claim in self._inventory.rows:
            return (claim,)
        guests = self._guests.get(claim)
        if guests is None:
            guests = self._guests[claim] = self._owners.find(claim)
        return guests

    def _doubt(self, guests: Iterable[ResourceId], at: datetime, reason: str) -> None:
        for guest in guests:
            known = self.unsure.get(guest)
            if known is None or known[0] < at:
                self.unsure[guest] = (at, reason)

    def newest_of_all(self) -> Mapping[Claim, datetime]:
        """The newest backup of each guest, whichever sweep shows it."""
        if len(self.readings) == 1:
            return self.readings[0].newest
        newest: dict[Claim, datetime] = {}
        for reading in self.readings:
            for guest, at in reading.newest.items():
                if at > newest.get(guest, NEVER):
                    newest[guest] = at
        return newest

    def guests_with_tasks(self) -> Iterable[ResourceId]:
        """The guests that recent tasks speak of, in the order of the pages."""
        tables = [page.output.recent_tasks for reading in self.readings for page in reading.pages]
        claims = dict.fromkeys(claim for table in tables for claim in self._owners.task_claims(table))
        if self._owners.plain:
            return [claim for claim in claims if isinstance(claim, str) and claim]
        return dict.fromkeys(guest for claim in claims for guest in self.guests_of(claim))

    def rows(self, wanted: Iterable[ResourceId]) -> dict[ResourceId, tuple[BackupRow, BackupsPage]]:
        """The newest row of each of these guests, with its page, as far as it is older than `evidence_before`."""
        guests = set(wanted)
        best: dict[ResourceId, tuple[datetime, BackupRow, BackupsPage]] = {}
        for claim, found in self._evidence.items():
            owners = (claim,) if claim in guests else self._guests.get(claim, ())
            for guest in owners if len(owners) == 1 else ():
                if guest in guests and (guest not in best or found[0] > best[guest][0]):
                    best[guest] = found
        return {guest: (row, page) for guest, (_at, row, page) in best.items()}

    def _tables(self, output: BackupsOutput) -> Iterator[tuple[str, Sequence[BackupRow], list[Claim]]]:
        """Both kinds of backups of a page: their place in it, rows and claims."""
        if output.pbs:
            yield "pbs", output.pbs, self._owners.server_claims(output.pbs)
        if output.pve:
            yield "pve", output.pve, self._owners.storage_claims(output.pve)
