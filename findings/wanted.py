"""Which findings somebody asks to see: the words for it, the same wherever they are listed."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from findings.model import Finding, FindingState
from findings.silence import Silence


class Wanted(StrEnum):
    """Which findings to list."""

    OPEN = "open"  # active and silenced
    ACTIVE = "active"  # open, and nobody asked for quiet
    SILENCED = "silenced"
    RESOLVED = "resolved"
    ALL = "all"

    @property
    def state(self) -> FindingState | None:
        """The state that all of them are in; None where it may be any."""
        if self is Wanted.ALL:
            return None
        return FindingState.RESOLVED if self is Wanted.RESOLVED else FindingState.OPEN

    def fits(self, finding: Finding, silences: Iterable[Silence], now: datetime) -> bool:
        """Whether the finding is one of them at this moment."""
        if self is Wanted.ACTIVE:
            return finding.is_active(now, silences)
        if self is Wanted.SILENCED:
            return finding.is_open and finding.is_silenced(now, silences)
        return self.state in {None, finding.state}
