"""What a delivery changes of an alert. Pure."""

import hashlib
import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from patrol.alerts.model import UNREFRESHED, AlertState, ReportedAlert, StoredAlert
from patrol.alerts.place import Place

FLAPPING_CHANGES = 5
FLAPPING_WINDOW = timedelta(minutes=30)
"""An alert that begins or ends so often in that time is flapping: one run for all of it, and then none ..."""
CALM = timedelta(minutes=15)
"""... until it has not changed for so long."""
_CHANGES_KEPT = 10
_AHEAD = timedelta(minutes=5)
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,149}\Z")


class AlertChange(StrEnum):
    """What a delivery means."""

    FIRED = "fired"
    CLEARED = "cleared"
    FLAPPING = "flapping"  # it has just begun to
    STILL_FLAPPING = "still_flapping"  # it changed again, which is no news
    REFRESHED = "refreshed"  # nothing new
    STALE = "stale"  # said before something that is known already


@dataclass(frozen=True, slots=True, kw_only=True)
class Advanced:
    """An alert after a delivery, and what happened."""

    alert: StoredAlert
    change: AlertChange


def alert_id(reported: ReportedAlert) -> str:
    """The id under which it is kept: its system, and what it is called there."""
    key = reported.key
    plain = key if _PLAIN.match(key) else hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{reported.system}:{plain}"


def advance(known: StoredAlert | None, reported: ReportedAlert, place: Place, org_id: str, now: datetime) -> Advanced:
    """What is known of an alert after this delivery. A time ahead of ours counts as now."""
    said = _said(known, reported, place, org_id, now)
    was_firing = known is not None and known.is_firing(now)
    if known is not None and _is_stale(known, reported):
        return Advanced(alert=known, change=AlertChange.STALE)
    if known is not None and was_firing is reported.is_firing:
        return Advanced(alert=replace(said, changes=known.changes), change=AlertChange.REFRESHED)
    return _changed(known, said, AlertChange.FIRED if reported.is_firing else AlertChange.CLEARED, now)


def expired(known: StoredAlert, now: datetime) -> Advanced:
    """What it is that nobody said anything more of an alert in time: it is over, as if its system had said so."""
    over = replace(known, state=AlertState.EXPIRED, closed_at=known.expires_at)
    return _changed(known, over, AlertChange.CLEARED, now)


def _changed(known: StoredAlert | None, said: StoredAlert, plain: AlertChange, now: datetime) -> Advanced:
    """An alert that began or ended: which, unless it does so too often."""
    changes = (*(known.changes if known is not None else ()), now)[-_CHANGES_KEPT:]
    recent = [at for at in changes if now - FLAPPING_WINDOW < at <= now]
    since = known.flapping_since if known is not None else None
    if since is not None and known is not None and now - known.changes[-1] >= CALM:
        since = None
    if since is None and len(recent) < FLAPPING_CHANGES:
        return Advanced(alert=replace(said, changes=changes, flapping_since=None), change=plain)
    change = AlertChange.FLAPPING if since is None else AlertChange.STILL_FLAPPING
    return Advanced(alert=replace(said, changes=changes, flapping_since=since or now), change=change)


def _is_stale(known: StoredAlert, reported: ReportedAlert) -> bool:
    """Whether it says that something fires whose end is known: a delivery that was overtaken by the next one."""
    over = known.state is AlertState.RESOLVED and reported.is_firing and reported.starts_at is not None
    return over and reported.starts_at == known.since


def _said(known: StoredAlert | None, reported: ReportedAlert, place: Place, org_id: str, now: datetime) -> StoredAlert:
    """The alert with all that this delivery says of it."""
    firing = reported.is_firing
    starts_at, ends_at = reported.starts_at, reported.ends_at
    since = known.since if known is not None and not (firing and not known.is_firing(now)) else now
    if starts_at is not None and starts_at <= now + _AHEAD:
        since = min(starts_at, now)
    expires_at = now + UNREFRESHED
    if firing and ends_at is not None and now < ends_at < expires_at:
        expires_at = ends_at
    closed_at = None if firing else min(ends_at, now) if ends_at is not None else now
    return StoredAlert(
        org_id=org_id,
        id=known.id if known is not None else alert_id(reported),
        system=reported.system,
        key=reported.key,
        type=reported.type,
        state=AlertState.FIRING if firing else AlertState.RESOLVED,
        severity=reported.severity,
        level=reported.level,
        resource_id=place.resource.id if place.resource is not None else "",
        resource_name=place.resource.name if place.resource is not None else reported.resource_name,
        called=next(iter(reported.naming.names), ""),
        candidates=place.candidates,
        message=reported.message,
        value=reported.value,
        threshold=reported.threshold,
        since=since,
        first_reported_at=known.first_reported_at if known is not None else now,
        reported_at=now,
        expires_at=expires_at,
        closed_at=closed_at,
        flapping_since=known.flapping_since if known is not None else None,
        reports=(known.reports if known is not None else 0) + 1,
    )
