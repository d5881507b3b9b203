"""What the section of one protocol says about a disk."""

from dataclasses import dataclass, field

from signals.evidence import FailingAttribute, SmartAttributes


@dataclass(slots=True, kw_only=True)
class Facts:
    """The facts that one protocol gives, before they become a row.

    `counters` leaves out what is zero. `history` are counts that are worth knowing and no fault.
    `reasons` say in words why the disk fails by its own account. `counters_read`: every counter that this
    disk has was read.
    """

    counters: SmartAttributes = field(default_factory=SmartAttributes)
    history: dict[str, float] = field(default_factory=dict)
    failing: list[FailingAttribute] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    counters_read: bool = False

    def remember(self, name: str, value: float | None) -> None:
        """Notes a count of the past, unless it is unknown or zero."""
        if value:
            self.history[name] = value
