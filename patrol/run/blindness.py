"""Losing sight is a fault of its own: what the run itself observes about its sources.

A source that could not be read at all is judged by how long that has been so: a warning after the second
run or 30 minutes, critical after a day (rules, Blindness). The next complete read clears it.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from findings.identity import canonical_id
from findings.kinds import KINDS, Kind
from findings.model import Gap, Look, Observation, Severity, Topic
from patrol.estate.model import Estate
from patrol.estate.sources.model import Counter
from signals.model import Examined

WARNING_AFTER = timedelta(minutes=30)
CRITICAL_AFTER = timedelta(hours=24)
_NAME = "blind"


def source_id(name: str) -> str:
    """The id under which findings about a source are kept."""
    return canonical_id("source", "patrol", name)


def blind_sources(estate: Estate) -> dict[str, str]:
    """Why each source that could not be read as a whole could not, by its name."""
    blind = {}
    for state in estate.sources:
        whole = [gap.detail for gap in estate.gaps if gap.source == state.name and _is_whole(gap)]
        if whole or not state.connected:
            blind[state.name] = whole[0] if whole else state.detail or "the source did not answer"
    return blind


def blindness_counters(
    estate: Estate, previous: Mapping[tuple[str, str], Counter], now: datetime
) -> dict[tuple[str, str], Counter]:
    """Since when each source is blind, to be remembered: the first such run, until a complete read."""
    blind = blind_sources(estate)
    counters = {}
    for state in estate.sources:
        known = _blind_since(previous, state.name)
        if state.name in blind:
            counters[source_id(state.name), _NAME] = Counter(at=known or now, values={"blind": 1})
        elif known is not None:
            counters[source_id(state.name), _NAME] = Counter(at=now, values={"blind": 0})
    return counters


def observe_sources(
    estate: Estate, examined: Examined, previous: Mapping[tuple[str, str], Counter], now: datetime
) -> list[Observation]:
    """One observation for each source that was blind in the run before as well; all are marked in `examined`."""
    blind = blind_sources(estate)
    observations = []
    for state in estate.sources:
        resource_id = source_id(state.name)
        since = _blind_since(previous, state.name)
        if state.name not in blind:
            examined.mark(Kind.SOURCE_BLIND, resource_id, Look.CLEAR)
        elif since is None:
            # The first run that misses it: a restart of the source must not wake anybody.
            examined.mark(Kind.SOURCE_BLIND, resource_id, Look.HELD)
        else:
            examined.mark(Kind.SOURCE_BLIND, resource_id, Look.PRESENT)
            observations.append(_observation(state.name, blind[state.name], since, now))
    return observations


def _blind_since(previous: Mapping[tuple[str, str], Counter], name: str) -> datetime | None:
    known = previous.get((source_id(name), _NAME))
    return known.at if known is not None and known.values.get("blind") else None


def _is_whole(gap: Gap) -> bool:
    return gap.topic is Topic.INVENTORY and gap.resource_id is None


def _observation(name: str, detail: str, since: datetime, now: datetime) -> Observation:
    blind = now - since
    return Observation(
        resource_id=source_id(name),
        resource_name=name,
        resource_type="source",
        kind=Kind.SOURCE_BLIND,
        severity=Severity.CRITICAL if blind >= CRITICAL_AFTER else Severity.WARNING,
        category=KINDS[Kind.SOURCE_BLIND].category,
        summary=f"The source {name} cannot be read: {detail}",
        value=round(blind / timedelta(minutes=1), 1),
        limit=WARNING_AFTER / timedelta(minutes=1),
        limit_source="built-in: the second run, or minutes without a read",
        evidence=detail[:500],
    )
