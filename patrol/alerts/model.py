"""An alert as another system reports it, and as it is kept. Never a finding: it is the word of somebody else."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from findings.model import ResourceId, Severity

UNREFRESHED = timedelta(hours=24)
"""An alert of which nothing was heard for so long, and that named no end, is over."""

ID_CHARACTERS = 200
NAME_CHARACTERS = 200
MESSAGE_CHARACTERS = 1_000


class AlertSystem(StrEnum):
    """Who reports alerts here, and in which format."""

    ALERTMANAGER = "alertmanager"  # Prometheus Alertmanager, webhook version 4
    GRAFANA = "grafana"  # Grafana alerting, webhook contact point
    PULSE = "pulse"


class AlertState(StrEnum):
    """Whether an alert is there."""

    FIRING = "firing"
    RESOLVED = "resolved"  # its system says that it is over
    EXPIRED = "expired"  # nobody says anything of it any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """What an alert says about where it is. `names`: each may be the resource, the most exact one first.

    `places`: what the resource may live on or in, which tells two apart that are called alike.
    """

    names: tuple[str, ...] = ()
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedAlert:
    """One alert in one delivery. Texts are foreign: they are cut, and shown only escaped.

    `key`: what it is called in its system. `severity` None: a level that nobody here knows. `ends_at`: when it ended,
    or, while it fires, when it ends unless it is reported again.
    """

    system: AlertSystem
    key: str
    type: str
    is_firing: bool
    severity: Severity | None
    level: str
    naming: Naming
    resource_name: str
    message: str
    value: float | None = None
    threshold: float | None = None
    starts_at: datetime | None = None
    ends_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAlert:
    """One alert as it is kept. `id` is unique among all systems.

    `resource_id`: what it is about, "" where nobody knows; then `candidates` are the ids that it may mean, if any.
    `called`: the most exact name that it gave. `since`: when it began to fire the last time. `expires_at`: when it is
    over unless it is reported again. `closed_at`: when it was over, while it is. `changes`: when it last began or
    ended, the newest last. `flapping_since`: it began and ended too often to start a run each time. `reports`: how
    often it was reported.
    """

    org_id: str
    id: str
    system: AlertSystem
    key: str
    type: str
    state: AlertState
    severity: Severity | None
    level: str
    resource_id: ResourceId
    resource_name: str
    called: str
    candidates: tuple[ResourceId, ...] = ()
    message: str
    value: float | None
    threshold: float | None
    since: datetime
    first_reported_at: datetime
    reported_at: datetime
    expires_at: datetime
    closed_at: datetime | None = None
    changes: tuple[datetime, ...] = ()
    flapping_since: datetime | None = None
    reports: int = 1

    def state_at(self, now: datetime) -> AlertState:
        """Where it stands: one that nobody reports any more is over without a word."""
        if self.state is AlertState.FIRING and self.expires_at <= now:
            return AlertState.EXPIRED
        return self.state

    def is_firing(self, now: datetime) -> bool:
        """Whether it is there."""
        return self.state_at(now) is AlertState.FIRING
