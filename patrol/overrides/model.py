"""A stored setting, an acknowledgement, and which settings may be stored at all."""

from dataclasses import dataclass
from datetime import datetime

STORABLE = (
    "patrol.interval",
    "patrol.cron",
    "patrol.time_zone",
    "patrol.autonomy",
    "model.name",
    "model.every",
    "model.skip_unchanged",
    "budget.run_tokens",
    "budget.day_tokens",
    "budget.month_tokens",
    "budget.run_usd",
    "budget.day_usd",
    "budget.month_usd",
    "triggers.alerts",
    "triggers.anomalies",
    "triggers.min_severity",
    "triggers.alert_types",
    "investigation.evidence_calls",
    "investigation.timeout",
)
"""Keys that can be changed over HTTP. Where data goes (addresses, files, secrets, privacy) is not among them: that is
for whoever owns the machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSetting:
    """One value that an operator set. `value`: as it is written in the file, as JSON."""

    org_id: str
    key: str
    value: str
    set_at: datetime
    author: str


TERMS_VERSION = 1
"""Of the words that autonomy `full` asks to be acknowledged. When they change, what was acknowledged before lapses."""
TERMS = (
    "With autonomy full, Patrol changes infrastructure within its policy without asking first. Every change is "
    "planned, carried out by a typed executor, verified and recorded; it may still be wrong, and interrupt what runs."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement:
    """Somebody's word to have understood `TERMS`, until it is withdrawn."""

    org_id: str
    id: str
    terms_version: int
    given_at: datetime
    author: str
    withdrawn_at: datetime | None = None
    withdrawn_by: str = ""

    @property
    def is_current(self) -> bool:
        """Whether it opens autonomy `full`."""
        return self.withdrawn_at is None and self.terms_version == TERMS_VERSION
