"""Guests and jobs whose newest finished backup attempt failed.

    {"complete": true, "tasks": [{"id": "UPID:pve1:0009F1:1B0F00:67BE0001:vzdump:101:root@pam:", "vmid": 101,
     "resource_id": "vm:lab:101", "node": "pve1", "instance": "lab", "type": "vzdump", "status": "job errors",
     "start_time": "2026-02-26T01:00:00Z", "end_time": "2026-02-26T01:10:00Z"}]}

A failure stands until the same guest or job succeeds later, however old it is. At one and the same instant a
success wins: a good backup of that instant exists, in whatever order the two are listed. An attempt whose time
cannot be placed is never the newest. A failure with no time at all, or with what is none, counts where its guest has no
success: whenever it was, no attempt of that guest succeeded. One whose only time lies more than 5 min in the future
counts nowhere, nor does such a success: that clock cannot be believed, and a guest with nothing else is blind.

A job without a guest belongs to its node; its id, or its sort of work, is the subject.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import count
from typing import ClassVar, cast

from findings.kinds import Kind
from findings.model import ResourceId, Severity
from signals.backup_evidence import BackupsOutput, BackupTaskRow, BackupTasksOutput
from signals.backups.history import Attempt, History, JobHistory, Ledger
from signals.backups.outcome import GOOD, Outcome, outcome_of, read_job_log, task_outcome
from signals.backups.owners import GUEST_WORDS, Owners, read_vmid
from signals.backups.upid import Upid, read_upid
from signals.detector import Context, EvidencePage, Notes, Sweep, cut
from signals.evidence import InventoryRow
from signals.model import Origin
from signals.pages import Page, Time
from signals.times import NEVER, SKEW, parse_time, unusable_because, usable_time, usable_times
from signals.wording import moment_text, quoted

_GUEST_WORK = frozenset({"vzdump", "backup", "vm", "qemu", "lxc", "ct"})
_OTHER_WORK = ("qm", "vz", "ha", "srv", "apt", "vnc", "spice", "term", "img")
"""Beginnings of the names of Proxmox tasks that are no backups (`qmstart`, `vzshutdown`, `aptupdate`)."""

_SCOPE_FILTERS = frozenset({"instance", "cluster", "resource_id", "guest_id", "vm_id"})
"""Filters that narrow a list to some guests, but show every attempt of those."""

_NO_GUEST = frozenset({None, 0, "", "0"})
"""What stands for the VMID of a job over many guests."""

_LONGEST_SUBJECT = 100


class _IsOk(dict[str | None, bool]):
    """Whether the words of a result mean a plain success. Each wording is read once."""

    def __missing__(self, words: str | None) -> bool:
        self[words] = is_ok = outcome_of(words) is Outcome.OK
        return is_ok


class FailedBackupDetector:
    """backup_failed of guests, and of jobs that are no guest's, from their attempts."""

    reads: ClassVar[tuple[type[Page], ...]] = (BackupTasksOutput, BackupsOutput)

    def __init__(self, context: Context, notes: Notes) -> None:
        self._notes = notes
        self._inventory = context.inventory
        self._latest = context.now + SKEW
        self._owners = Owners(context.inventory)
        self._pages: list[EvidencePage[Page]] = []
        self._ledgers: dict[tuple[Sweep, Origin], Ledger] = {}
        self._jobs: dict[tuple[ResourceId, str], JobHistory] = {}
        self._is_ok = _IsOk()
        self._excluded: set[ResourceId] = set()  # guests that must not be called clear

    def read(self, page: EvidencePage[Page]) -> None:
        """Reads one page, or keeps it: without an inventory it may hang on another whose an attempt is."""
        if self._inventory:
            self._note_page(page)
        else:
            self._pages.append(page)

    def finish(self) -> None:
        """States the failures that stand, and clears what succeeded since."""
        if not self._inventory:
            self._owners = Owners(self._inventory, [_attempts(page.output)[1] for page in self._pages])
            for page in self._pages:
                self._note_page(page)
        histories = self._settle()
        for guest, history in histories.items():
            failure = history.failure()
            if failure is not None:
                self._excluded.add(guest)
                self._state(failure, self._inventory.rows.get(guest) or _foreign_guest(guest, failure.row))
            elif doubt := history.doubt():
                self._blind(guest, doubt)
        for job in self._jobs.values():
            self._judge_job(job)
        for ledger in self._ledgers.values():
            self._clear(ledger, histories)

    # --- reading -------------------------------------------------------------------------------------------------

    def _note_page(self, page: EvidencePage[Page]) -> None:
        """The loop over all attempts: a plain success costs a few look-ups, all else goes the long way."""
        field, rows = _attempts(page.output)
        times = usable_times([row.end_time or row.start_time for row in rows], page.output.zone, self._latest)
        page = page.without_rows()
        ledger = self._ledgers.setdefault((page.sweep, page.origin), Ledger(page))
        good, is_ok, known = ledger.good, self._is_ok, self._inventory.rows.get
        for number, row, claim, at in zip(count(), rows, self._owners.task_claims(rows), times, strict=False):
            if (
                at is not None
                and claim
                and not row.error
                and not row.log
                and is_ok[row.exitstatus or row.status]
                and (row.type in _GUEST_WORK if row.type else row.id is None)
            ):
                best = good.get(claim)
                if best is None:
                    guest = known(claim)  # type: ignore[arg-type]  # no tuple is known
                    good[claim if guest is None else guest.id] = at  # its own text: else each page's copy stays
                elif at > best:
                    good[claim] = at
                continue
            self._consider(page, ledger, f"{field}[{number}]", row)

    def _consider(self, page: EvidencePage[Page], ledger: Ledger, place: str, row: BackupTaskRow) -> None:
        """One attempt, with everything it may say: its task's identity, its log, a job without a guest."""
        upid = read_upid(row.id)
        work = (row.type or (upid.work if upid else "")).lower()
        if work.startswith(_OTHER_WORK) and work != "vzdump":
            return
        vmid = read_vmid(row.vmid) or (upid.vmid if upid else None)
        if vmid is None and row.resource_id in self._inventory.rows:
            vmid = self._inventory.rows[row.resource_id].vmid
        named = read_job_log(row.log)
        outcome = task_outcome(row, work, vmid, named)
        at = self._ended_at(page, place, row, outcome)
        attempt = Attempt(at, row, page, place, "" if at is not None else self._ahead(page, row))
        of_guest = bool(row.resource_id) or vmid is not None
        for other, said in named.items():
            if other != vmid and (said is Outcome.FAILED or not of_guest):
                ledger.note(self._owners.claim(other, row), said, attempt)
        if row.resource_id:
            ledger.note(row.resource_id, outcome, attempt)
        elif vmid is not None:
            ledger.note(self._owners.claim(vmid, row, row.type), outcome, attempt)
        elif row.vmid in _NO_GUEST:
            self._note_job(row, upid, work, outcome, attempt)
        else:
            self._notes.problem(page.call_id, f"{place}.vmid", "not a VMID")

    def _ended_at(self, page: EvidencePage[Page], place: str, row: BackupTaskRow, outcome: Outcome) -> datetime | None:
        """When an attempt ended, else when it began; None if neither can be placed: it never counts as now."""
        zone = page.output.zone
        times: tuple[Time, Time] = (row.end_time, row.start_time)
        for value in times:
            at = usable_time(value, zone, self._latest)
            if at is not None:
                return at
        if outcome in GOOD or outcome is Outcome.FAILED:
            reason = " and ".join(dict.fromkeys(unusable_because(value, zone, self._latest) for value in times))
            self._notes.problem(page.call_id, place, f"when this attempt ended cannot be told: {reason}")
        return None

    def _ahead(self, page: EvidencePage[Page], row: BackupTaskRow) -> str:
        """That a time of an attempt lies in the future, "" if none of them does."""
        zone = page.output.zone
        times = (value for value in (row.end_time, row.start_time) if parse_time(value, zone) is not None)
        return next((unusable_because(value, zone, self._latest) for value in times), "")

    def _note_job(self, row: BackupTaskRow, upid: Upid | None, work: str, outcome: Outcome, attempt: Attempt) -> None:
        node = row.node or (upid.node if upid else None)
        subject = (upid.job if upid else "") or work
        if not (node or row.instance):
            # Nothing tells whose job this was, so no other attempt can be its later success.
            if outcome is not Outcome.FAILED:
                return
            subject = str(row.id or "") or work
        place = self._owners.find_place(node, row.instance)
        if place is None:
            return
        subject = cut(quoted(subject), _LONGEST_SUBJECT)
        job = self._jobs.get((place.id, subject))
        if job is None:
            job = self._jobs[place.id, subject] = JobHistory(place, subject)
        job.note(outcome, attempt)

    # --- judging -------------------------------------------------------------------------------------------------

    def _settle(self) -> dict[ResourceId, History]:
        """Turns claims into guests. Gives the guests of whom there is more to say than a good backup."""
        ledgers = list(self._ledgers.values())
        histories: dict[ResourceId, History] = {}
        for ledger in ledgers:
            good, known = ledger.good, self._inventory.rows
            # The usual case first: every claim is the id of a known guest already.
            settled = self._owners.plain or good.keys() <= known.keys()
            for claim in () if settled else [each for each in good if each not in known]:
                guests = self._owners.find(claim)
                at = good.pop(claim)
                if len(guests) == 1:
                    good[guests[0]] = max(at, good.get(guests[0], NEVER))
            for claim, other in ledger.others.items():
                guests = self._owners.find(claim)
                if len(guests) == 1:
                    histories.setdefault(guests[0], History()).add(other)
                elif guests and (failure := other.any_failure()) is not None:
                    self._note_ambiguous(guests, failure)
        for guest, history in histories.items():
            history.good = max(history.good, *(ledger.good.get(guest, NEVER) for ledger in ledgers))
        return histories

    def _note_ambiguous(self, guests: tuple[ResourceId, ...], failure: Attempt) -> None:
        names = ", ".join(sorted(guests))
        reason = f"ambiguous: a failed backup belongs to one of {names}, it is not told to which"
        self._notes.problem(failure.page.call_id, failure.place, reason)
        for guest in guests:
            self._blind(guest, reason)

    def _blind(self, guest: ResourceId, reason: str) -> None:
        self._excluded.add(guest)
        self._notes.blind(Kind.BACKUP_FAILED, guest, reason)

    def _judge_job(self, job: JobHistory) -> None:
        failure = job.failure()
        if failure is not None:
            self._state(failure, job.place, job.subject)
        elif doubt := job.doubt():
            self._notes.blind(Kind.BACKUP_FAILED, job.place.id, doubt, job.subject)
        else:
            for page in filter(_shows_all_attempts, job.pages.values()):
                self._notes.clear_subject(page, Kind.BACKUP_FAILED, job.place.id, job.subject)

    def _clear(self, ledger: Ledger, histories: Mapping[ResourceId, History]) -> None:
        """Clears guests by the success that this sweep itself shows. Other guests may be unknown: see `Inventory`."""
        if not self._inventory.complete or not _shows_all_attempts(ledger.page):
            return
        good = ledger.good
        # Only for this sweep: another one may show more of the same guest.
        failed_since = {
            guest
            for guest, history in histories.items()
            if history.failed is not None and (history.failed.at or NEVER) > good.get(guest, NEVER)
        }
        excluded = self._excluded | failed_since
        guests = cast("Iterable[ResourceId]", good)  # settled: every claim is a guest's id by now
        self._notes.clear(ledger.page, Kind.BACKUP_FAILED, [each for each in guests if each not in excluded])

    def _state(self, failure: Attempt, resource: InventoryRow, subject: str = "") -> None:
        ended = f"that ended {moment_text(failure.at)}" if failure.at is not None else "at an unknown time"
        what = f"Backup job {subject}" if subject else "The newest backup attempt"
        self._notes.signal(
            failure.page,
            Kind.BACKUP_FAILED,
            resource,
            Severity.WARNING,
            f"{what} {ended} failed: {_reason(failure.row, resource.vmid)}",
            row=failure.row,
            subject=subject,
        )


def _attempts(output: Page) -> tuple[str, Sequence[BackupTaskRow]]:
    """The attempts on a page, with the name of their table."""
    if isinstance(output, BackupTasksOutput):
        return "tasks", output.tasks
    return "recent_tasks", cast("BackupsOutput", output).recent_tasks


def _shows_all_attempts(page: EvidencePage[Page]) -> bool:
    """Whether a sweep shows every attempt of the guests it shows: a list of successes alone clears nothing."""
    names = {name for name, _value in page.sweep.filters}
    return isinstance(page.output, BackupTasksOutput) and names <= _SCOPE_FILTERS


def _reason(row: BackupTaskRow, vmid: int | None) -> str:
    """The words in which the task tells its failure, the most particular first."""
    own = (line for line in row.log if f"Backup of VM {vmid} failed" in line)
    return quoted(next(own, "") or row.error or row.exitstatus or row.status or "") or "no reason is told"


def _foreign_guest(guest: ResourceId, row: BackupTaskRow) -> InventoryRow:
    """A guest that no inventory explains, named as its task names it."""
    return InventoryRow(
        id=guest,
        name=row.vm_name or "",
        type=GUEST_WORDS.get(row.type or "", ""),
        vmid=read_vmid(guest.rpartition(":")[2]),
        instance=row.instance or "",
    )
