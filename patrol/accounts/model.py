"""The nouns of access: what may be done (scopes), by whom (tokens, users), for how long, and in which organisation."""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from findings.model import DEFAULT_ORG

REALM = DEFAULT_ORG
"""`org_id` of every account row: accounts belong to the installation. What an account may enter stands beside it."""

NAME_CHARACTERS = 64
_NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}\Z")


class Scope(StrEnum):
    """What a token may do. A token has exactly the scopes that it was given: none means nothing."""

    ALL = "*"
    """Everything."""
    AI_EXECUTE = "ai:execute"
    """Read findings, runs and status; start runs; say something of findings."""
    RELAY = "relay:mobile:access"
    """Read findings; acknowledge, snooze and dismiss them."""
    ALERTS_WRITE = "alerts:write"
    """Report alerts through a webhook."""
    MONITORING_READ = "monitoring:read"
    """Read alerts, and what operators said of resources."""
    MONITORING_WRITE = "monitoring:write"
    """Say what is being worked on, and what is off on purpose."""
    METRICS_READ = "metrics:read"
    """Read the metrics."""
    SETTINGS_READ = "settings:read"
    """Read settings. Secrets are never shown."""
    SETTINGS_WRITE = "settings:write"
    """Change settings and autonomy."""


class Role(StrEnum):
    """What a user is in an organisation."""

    OWNER = "owner"
    """Manages it."""
    ADMIN = "admin"
    """Manages it."""
    MEMBER = "member"
    """Reads, and says something of findings."""

    @property
    def manages(self) -> bool:
        """Whether it may do what changes how Patrol works, and start runs."""
        return self is not Role.MEMBER


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """An API token. Its secret is known to its owner alone: here is a hash of it, and how it begins (`prefix`).

    `bound_to`: the one organisation that it may enter.
    """

    id: str
    name: str
    prefix: str
    scopes: frozenset[Scope]
    bound_to: str
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None
    revoked_by: str = ""

    def is_valid(self, now: datetime) -> bool:
        """Whether it opens anything at that time."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def allows(self, wanted: frozenset[Scope]) -> bool:
        """Whether it has one of these scopes."""
        return Scope.ALL in self.scopes or not wanted.isdisjoint(self.scopes)


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A person with a password. `is_administrator`: manages every organisation. `roles` by organisation."""

    name: str
    is_administrator: bool
    roles: dict[str, Role]
    created_at: datetime
    created_by: str
    password_at: datetime

    def enters(self, org_id: str) -> bool:
        """Whether the user has anything to do with an organisation."""
        return self.is_administrator or org_id in self.roles

    def manages(self, org_id: str) -> bool:
        """Whether the user manages an organisation."""
        role = self.roles.get(org_id)
        return self.is_administrator or (role is not None and role.manages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A user who has logged in with a browser, until `expires_at`, which use moves on."""

    user: User
    secret_hash: str
    created_at: datetime
    seen_at: datetime
    expires_at: datetime


def parse_name(text: str) -> str:
    """A user's name, in lower case. Raises ValueError."""
    name = text.strip().lower()
    if not _NAME.match(name):
        raise ValueError(
            f"a name has 1 to {NAME_CHARACTERS} letters (a-z), digits or ._@+-, and begins with one of the former"
        )
    return name
