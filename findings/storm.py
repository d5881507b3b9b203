"""Storms: so much news from one place at once that it is one piece of news. Pure.

Nothing is held back: every finding is filed, counted and shown as always. A storm only says that these belong together,
so that whoever is told is told once, the worst first. It has no life of its own: a run has storms or it has none, and
when the news stops there is nothing left that would have to be closed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from findings.grouping import Places
from findings.model import Finding, ResourceId, Severity

MOST_NEWS = 10
"""How much news from one place is still told one by one. Runs are an hour apart: a full host rarely has more to say."""

WINDOW = timedelta(minutes=10)
"""What counts as at once. Longer than one run, so that runs close to each other cannot share a storm out."""

SHOWN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Storm:
    """News that belongs together. `resource_id`: the host, node or source it comes from; ids: the worst first."""

    resource_id: ResourceId
    count: int
    worst: Severity
    finding_ids: tuple[str, ...]

    def shown(self) -> "Storm":
        """The storm with the first ids only: enough to begin with, and to keep with a run."""
        return replace(self, finding_ids=self.finding_ids[:SHOWN])


def storms(findings: Iterable[Finding], places: Places, now: datetime) -> list[Storm]:
    """The storms that the run of this time adds to, the worst and largest first; no finding is in two of them.

    `findings`: those that somebody would be told of (open, not silenced) after the run. What another finding explains
    is no news by itself. The nearest place with more than `MOST_NEWS` is the place of the storm: twenty full file
    systems are a storm of their host, not of the source that reports a hundred hosts.
    """
    news = [each for each in findings if not each.parent_finding and now - WINDOW < news_at(each) <= now]
    members: dict[ResourceId, list[Finding]] = {}
    nearness: dict[ResourceId, int] = {}
    for finding in news:
        for steps, place in enumerate(_chain(finding, places)):
            members.setdefault(place, []).append(finding)
            nearness[place] = min(steps, nearness.get(place, steps))
    taken: set[str] = set()
    found = []
    # What lies inside a place has no more news than the place itself, so it is asked first.
    for place in sorted(members, key=lambda each: (len(members[each]), nearness[each], each)):
        left = [each for each in members[place] if each.id not in taken]
        if len(left) > MOST_NEWS and any(news_at(each) == now for each in left):
            taken.update(each.id for each in left)
            found.append(_storm(place, left))
    return sorted(found, key=lambda storm: (-storm.worst.rank, -storm.count, storm.resource_id))


def news_at(finding: Finding) -> datetime:
    """When it was last news: when it was first seen, or came back."""
    return max(finding.first_seen_at, finding.last_regression_at or finding.first_seen_at)


def _chain(finding: Finding, places: Places) -> Sequence[ResourceId]:
    """Where it comes from: its resource, what that lives on, and at last the source that reports it."""
    source = places.source_of(finding)
    return tuple(dict.fromkeys((finding.resource_id, *places.line_of(finding), *((source,) if source else ()))))


def _storm(place: ResourceId, members: Sequence[Finding]) -> Storm:
    ordered = sorted(members, key=lambda each: (-each.severity.rank, each.resource_id, each.kind, each.subject))
    return Storm(
        resource_id=place,
        count=len(ordered),
        worst=ordered[0].severity,
        finding_ids=tuple(each.id for each in ordered),
    )
