"""The finished attempts of guests and jobs, and which of them decides."""

from datetime import datetime
from typing import NamedTuple

from signals.backup_evidence import BackupTaskRow
from signals.backups.outcome import GOOD, Outcome
from signals.backups.owners import Claim
from signals.detector import EvidencePage, Sweep
from signals.evidence import InventoryRow
from signals.model import Origin
from signals.pages import Page
from signals.times import NEVER


class Attempt(NamedTuple):
    """A finished attempt and where it was read.

    `at` None: its time cannot be placed. `ahead`: then, that this is because it lies in the future; "" for any other.
    """

    at: datetime | None
    row: BackupTaskRow
    page: EvidencePage[Page]
    place: str  # "tasks[3]"
    ahead: str = ""


class History:
    """What is known of one guest or job: its newest success and its newest failure."""

    __slots__ = ("ahead_failed", "ahead_good", "failed", "good", "undated_failed", "undated_good")

    def __init__(self) -> None:
        self.good: datetime = NEVER
        self.failed: Attempt | None = None
        self.undated_good = False
        self.undated_failed: Attempt | None = None
        self.ahead_good: Attempt | None = None
        self.ahead_failed: Attempt | None = None

    def note(self, outcome: Outcome, attempt: Attempt) -> None:
        """Adds an attempt; one that has not ended, or does not say how, changes nothing."""
        if outcome in GOOD:
            if attempt.ahead:
                self.ahead_good = self.ahead_good or attempt
            elif attempt.at is None:
                self.undated_good = True
            elif attempt.at > self.good:
                self.good = attempt.at
        elif outcome is Outcome.FAILED:
            if attempt.ahead:
                self.ahead_failed = self.ahead_failed or attempt
            elif attempt.at is None:
                self.undated_failed = self.undated_failed or attempt
            elif self.failed is None or attempt.at > (self.failed.at or NEVER):
                self.failed = attempt

    def add(self, other: "History") -> None:
        """Adds the attempts of another history of the same guest."""
        self.good = max(self.good, other.good)
        self.undated_good = self.undated_good or other.undated_good
        self.ahead_good = self.ahead_good or other.ahead_good
        for attempt in (other.failed, other.undated_failed, other.ahead_failed):
            if attempt is not None:
                self.note(Outcome.FAILED, attempt)

    def any_failure(self) -> Attempt | None:
        """A failure, whether or not it stands."""
        return self.failed or self.undated_failed or self.ahead_failed

    def failure(self) -> Attempt | None:
        """The failure that stands: no success at its instant or later."""
        if self.failed is not None:
            return self.failed if (self.failed.at or NEVER) > self.good else None
        return None if self.good != NEVER or self.undated_good or self.ahead_good else self.undated_failed

    def doubt(self) -> str:
        """Why it cannot be told whether a failure stands: an attempt that cannot be placed may decide. "" if none may.

        What claims to be of the future says nothing, not even beside nothing else.
        """
        if self.failure() is not None:
            return ""
        if self.undated_failed or self.ahead_failed:
            ahead = f": {self.ahead_failed.ahead}" if self.ahead_failed else ""
            return f"when a failed attempt ended cannot be told{ahead}"
        if self.ahead_good and self.good == NEVER:
            return f"when a good attempt ended cannot be told: {self.ahead_good.ahead}"
        return ""


class Ledger:
    """The attempts of guests that one sweep shows, by claim; after settling by guest."""

    def __init__(self, page: EvidencePage[Page]) -> None:
        self.page = page
        self.good: dict[Claim, datetime] = {}
        self.others: dict[Claim, History] = {}  # failures, and successes whose time cannot be placed

    def note(self, claim: Claim, outcome: Outcome, attempt: Attempt) -> None:
        """Adds an attempt of a guest."""
        if outcome in GOOD and attempt.at is not None:
            if attempt.at > self.good.get(claim, NEVER):
                self.good[claim] = attempt.at
        elif outcome in GOOD or outcome is Outcome.FAILED:
            self.others.setdefault(claim, History()).note(outcome, attempt)


class JobHistory(History):
    """The attempts of a job on a node or server. `pages`: where its newest success was read, one of each sweep."""

    __slots__ = ("pages", "place", "subject")

    def __init__(self, place: InventoryRow, subject: str) -> None:
        super().__init__()
        self.place = place
        self.subject = subject
        self.pages: dict[tuple[Sweep, Origin], EvidencePage[Page]] = {}

    def note(self, outcome: Outcome, attempt: Attempt) -> None:
        before = self.good
        super().note(outcome, attempt)
        if self.good != before:
            self.pages.clear()
        if outcome in GOOD and attempt.at is not None and attempt.at == self.good:
            # A model may have read it as well, before or after Patrol's own sweep, which alone clears.
            self.pages.setdefault((attempt.page.sweep, attempt.page.origin), attempt.page)
