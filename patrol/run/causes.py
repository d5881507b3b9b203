"""Signals and findings grouped by the cause that they are likely to share: the same host, store or source. Pure.

A model looks at causes, not at fifty consequences of one, and of each cause one finding at a time is looked into.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from findings.model import Category, ResourceId
from signals.model import Signal

MOST_GROUPS = 20
"""Groups that a model is asked about in one run. What is in others is filed without its word."""

_HOSTS = frozenset({"node", "agent", "docker-host", "k8s-node", "pbs"})
_STORES = frozenset({"storage", "raid", "disk", "ceph", "source", "k8s-cluster"})
"""Types that are a cause by themselves where nothing says what they live on: others are that of their source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalGroup:
    """Signals of one cause, the worst first. `cause`: id of the host, store or source."""

    cause: ResourceId
    signals: Sequence[Signal]


class Grouped(NamedTuple):
    """What a model is asked about, and what is filed directly."""

    evaluated: Sequence[SignalGroup]
    direct: Sequence[Signal]


def cause_of(
    resource_id: ResourceId, category: Category, lives_on: Sequence[ResourceId], source_id: ResourceId
) -> ResourceId:
    """What trouble of this resource has in common with that of others.

    `lives_on`: what it lives on or in, nearest first. `source_id`: id of the source that reports it, "" if not known.
    Backups that fail or are missing have their source in common (a backup server that is away concerns guests of all
    hosts); all else has the nearest host.
    """
    chain = (resource_id, *lives_on)
    if category is Category.BACKUP and _type(resource_id) not in _STORES:
        return source_id or chain[-1]
    for each in chain:
        if _type(each) in _HOSTS:
            return each
    if lives_on:
        return chain[-1]
    return resource_id if _type(resource_id) in _STORES else source_id or resource_id


def _type(resource_id: ResourceId) -> str:
    return resource_id.partition(":")[0]


def signals_by_cause(
    signals: Iterable[Signal],
    lives_on: Mapping[ResourceId, Sequence[ResourceId]],
    source_of: Callable[[ResourceId], ResourceId],
    *,
    most: int = MOST_GROUPS,
) -> Grouped:
    """The signals by their cause, groups with the worst signal first, then the largest; past `most` they are direct.

    `lives_on`: see `patrol.run.lineage`. `source_of`: id of the source that reports a resource, "" if not known.
    """
    members: dict[ResourceId, list[Signal]] = {}
    for signal in signals:
        above = lives_on.get(signal.resource_id, ())
        cause = cause_of(signal.resource_id, signal.category, above, source_of(signal.resource_id))
        members.setdefault(cause, []).append(signal)
    groups = [
        SignalGroup(cause=cause, signals=sorted(each, key=lambda signal: -signal.severity.rank))
        for cause, each in members.items()
    ]
    groups.sort(key=lambda group: (-group.signals[0].severity.rank, -len(group.signals), group.cause))
    direct = [signal for group in groups[most:] for signal in group.signals]
    return Grouped(groups[:most], direct)
