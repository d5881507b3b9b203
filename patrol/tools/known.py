"""What Patrol knows already: findings of earlier runs, and why some of them are quiet. Read when asked for."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from findings.model import Finding
from findings.silence import Silence


class Known(Protocol):
    """What tools need of the record of findings."""

    @property
    def now(self) -> datetime:
        """When it is asked whether a silence is in force."""
        ...

    def open_findings(self) -> Sequence[Finding]:
        """Every finding that is open, worst first, silenced or not."""
        ...

    def silences(self) -> Sequence[Silence]:
        """Silences that are not over."""
        ...
