"""A model that keeps failing is left alone for a while: closed, open, half-open. Pure: the time is handed in.

The state lives between runs as JSON, since a run from the command line is a process of its own.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from patrol.agent.causes import SENTENCES, failure_of
from patrol.agent.failure import Cause, Failure
from patrol.settings.model import ModelSection


class BreakerState(StrEnum):
    """Whether the model may be asked."""

    CLOSED = "closed"  # yes
    OPEN = "open"  # not before a time
    HALF_OPEN = "half_open"  # one run is trying


STORED_AS = "breaker"
"""Its name among what runs remember of the model."""

FAILURES_TO_OPEN = 3
TEMPORARY_BACKOFF = (timedelta(minutes=1), timedelta(hours=1))
"""The first wait and the longest; each opening in a row doubles it."""
PERMANENT_BACKOFF = (timedelta(hours=1), timedelta(hours=24))
"""The same where only the operator can mend it: a wrong key must not cost a run each hour."""
LONGEST_PROBE = timedelta(hours=2)
"""A trying run that has told nothing for this long is dead: the longest time that [model] phase_timeout allows."""

_NOT_COUNTED = frozenset(
    {
        Cause.INTERRUPTED,
        Cause.INTERNAL_ERROR,
        Cause.CIRCUIT_OPEN,
        Cause.PHASE_TIMEOUT,  # slow is not broken: what it said until then counts
        Cause.PROVIDER_NOT_CONFIGURED,  # nothing was sent, and the next run may find it mended
    }
)
_PERMANENT = frozenset(
    {
        Cause.PROVIDER_AUTH,
        Cause.PROVIDER_BILLING,
        Cause.MODEL_UNAVAILABLE,
        Cause.MODEL_UNSUPPORTED_TOOLS,
        Cause.NO_TOOL_CAPABLE_ENDPOINT,
        Cause.TOOLS_IN_TEXT,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """What is remembered of a model's failures.

    `failures` counts them in a row, `openings` how often it opened since the last success. `retry_at` is set
    while it is not closed, `probing_since` while it is half-open. `fingerprint`: which settings it is about.
    """

    state: BreakerState = BreakerState.CLOSED
    failures: int = 0
    openings: int = 0
    opened_at: datetime | None = None
    retry_at: datetime | None = None
    probing_since: datetime | None = None
    cause: Cause | None = None
    fingerprint: str = ""

    def about(self, fingerprint: str) -> "Breaker":
        """This one, or a fresh one if the model, its address or its key have changed since."""
        return self if self.fingerprint == fingerprint else Breaker(fingerprint=fingerprint)

    def refusal(self, now: datetime) -> Failure | None:
        """Why the model may not be asked now, None if it may."""
        if self.state is BreakerState.CLOSED or self._wait(now) <= timedelta():
            return None
        seconds = self._wait(now).total_seconds()
        cause = self.cause or Cause.PROVIDER_ERROR
        until = (now + self._wait(now)).astimezone(UTC)
        summary = (
            f"the model is left alone until {until:%Y-%m-%d %H:%M} UTC, or until [model] is changed or `patrol doctor` "
            f"finds it working, after failing ({cause}): {SENTENCES[cause]}"
        )
        return failure_of(Cause.CIRCUIT_OPEN, summary=summary, retry_after=seconds)

    def began(self, now: datetime) -> "Breaker":
        """A run begins to ask the model. Only after `refusal` had nothing to say."""
        if self.state is BreakerState.CLOSED:
            return self
        return replace(self, state=BreakerState.HALF_OPEN, probing_since=now)

    def succeeded(self) -> "Breaker":
        """The model did its part: all is forgotten. Also what `patrol doctor` does after a successful trial."""
        return Breaker(fingerprint=self.fingerprint)

    def failed(self, failure: Failure, now: datetime) -> "Breaker":
        """The model did not do its part."""
        if failure.cause in _NOT_COUNTED:
            return self._released()
        failures = self.failures + 1
        at_once = failure.cause in _PERMANENT or failure.cause is Cause.PROVIDER_RATE_LIMITED
        if not at_once and failures < FAILURES_TO_OPEN and self.state is BreakerState.CLOSED:
            return replace(self, failures=failures, cause=failure.cause)
        return replace(
            self,
            state=BreakerState.OPEN,
            failures=failures,
            openings=self.openings + 1,
            opened_at=now,
            retry_at=now + _backoff(failure, self.openings),
            probing_since=None,
            cause=failure.cause,
        )

    def to_json(self) -> str:
        """As it is stored."""
        return json.dumps(asdict(self), default=datetime.isoformat)

    @classmethod
    def from_json(cls, text: str) -> "Breaker":
        """What was stored; a fresh one where that cannot be read, for a lost memory must not switch the model off."""
        try:
            stored = json.loads(text)
            return _decoded(stored) if isinstance(stored, dict) else cls()
        except (ValueError, TypeError, RecursionError):
            return cls()

    def _released(self) -> "Breaker":
        """A try that says nothing of the model: the next run tries again."""
        if self.state is not BreakerState.HALF_OPEN:
            return self
        return replace(self, state=BreakerState.OPEN, probing_since=None)

    def _wait(self, now: datetime) -> timedelta:
        """How long it may not be asked yet. Never longer than a backoff can be, also after the clock went back."""
        if self.state is BreakerState.HALF_OPEN and self.probing_since is not None:
            left = self.probing_since + LONGEST_PROBE - now
            return left if left <= LONGEST_PROBE else timedelta()
        left = timedelta() if self.retry_at is None else self.retry_at - now
        return left if left <= PERMANENT_BACKOFF[1] else timedelta()


def fingerprint_of(settings: ModelSection) -> str:
    """What the model's settings are, told so that the key cannot be read from it."""
    key = settings.api_key.get_secret_value() if settings.api_key is not None else ""
    return hashlib.sha256(json.dumps([settings.name, settings.base_url, key]).encode()).hexdigest()


def _backoff(failure: Failure, openings: int) -> timedelta:
    first, longest = PERMANENT_BACKOFF if failure.cause in _PERMANENT else TEMPORARY_BACKOFF
    doubled = min(first * (1 << min(openings, 16)), longest)
    asked = timedelta(seconds=min(failure.retry_after or 0.0, PERMANENT_BACKOFF[1].total_seconds()))
    return max(doubled, asked)


def _decoded(stored: Mapping[str, object]) -> Breaker:
    """The fields, each of its type. Raises ValueError or TypeError."""
    state, cause = stored.get("state"), stored.get("cause")
    breaker = Breaker(
        state=BreakerState.CLOSED if state is None else BreakerState(str(state)),
        failures=_count(stored.get("failures", 0)),
        openings=_count(stored.get("openings", 0)),
        opened_at=_instant(stored.get("opened_at")),
        retry_at=_instant(stored.get("retry_at")),
        probing_since=_instant(stored.get("probing_since")),
        cause=None if cause is None else Cause(str(cause)),
        fingerprint=str(stored.get("fingerprint") or ""),
    )
    if breaker.state is not BreakerState.CLOSED and breaker.retry_at is None:
        raise ValueError("open without an end")
    return breaker


def _instant(value: object) -> datetime | None:
    if value is None:
        return None
    instant = datetime.fromisoformat(str(value))
    if instant.tzinfo is None:
        raise ValueError("an instant without its zone")
    return instant


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError("not a count")
    return value
