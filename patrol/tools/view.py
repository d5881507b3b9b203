"""An estate, indexed once for a run: what the tools read from."""

from collections.abc import Callable, Hashable, Iterable
from datetime import datetime
from functools import cached_property
from typing import TypeVar

from findings.model import Gap, ResourceId, Topic
from patrol.estate.identity import HOSTS
from patrol.estate.inventory import unanswered_sources
from patrol.estate.model import Estate, Resource, ResourceType
from patrol.estate.names import AliasIndex
from patrol.tools.known import Known
from patrol.tools.past import Past

_DEEPEST = 8  # a container on a guest on a node on a cluster, and some room; also ends a ring of parents

SelectedT = TypeVar("SelectedT")


class EstateView:
    """One collected estate. Lists are sorted by id; selections are kept, so that every page of them is a slice."""

    def __init__(self, estate: Estate, now: datetime, past: Past | None = None, known: Known | None = None) -> None:
        """`now`: the time of the run. `past`: what history tells; None where none is kept. `known`: likewise, the
        findings of earlier runs.
        """
        self.estate = estate
        self.now = now
        self.past = past
        self.known = known
        self.names = AliasIndex(estate.resources)
        self._selections: dict[Hashable, object] = {}

    @cached_property
    def resources(self) -> list[Resource]:
        """All resources by id."""
        return sorted(self.estate.resources, key=lambda resource: resource.id)

    @cached_property
    def by_type(self) -> dict[ResourceType, list[Resource]]:
        """Resources of each type, by id."""
        found: dict[ResourceType, list[Resource]] = {kind: [] for kind in ResourceType}
        for resource in self.resources:
            found[resource.type].append(resource)
        return found

    @cached_property
    def whole_gaps(self) -> list[Gap]:
        """Gaps about a topic of a source as a whole, with one for each source that did not answer."""
        whole = [gap for gap in self.estate.gaps if gap.resource_id is None]
        explained = {gap.source for gap in whole if gap.topic is Topic.INVENTORY}
        return [*whole, *unanswered_sources(self.estate, explained=explained)]

    @cached_property
    def gaps_by_resource(self) -> dict[ResourceId, list[Gap]]:
        """Gaps about one resource each."""
        found: dict[ResourceId, list[Gap]] = {}
        for gap in self.estate.gaps:
            if gap.resource_id is not None:
                found.setdefault(gap.resource_id, []).append(gap)
        return found

    @cached_property
    def topics_read(self) -> frozenset[Topic]:
        """Topics that some source read, or tried to."""
        read = {topic for source in self.estate.sources for topic in source.read}
        (read.add if self.known is not None else read.discard)(Topic.FINDINGS)  # no source can read that
        return frozenset(read | {gap.topic for gap in self.estate.gaps})

    @cached_property
    def sources_listed(self) -> frozenset[str]:
        """Sources that some resource of the estate is from."""
        return frozenset(resource.source for resource in self.estate.resources)

    def line_of(self, resource: Resource) -> Iterable[Resource]:
        """The resource and, step by step, what it lives on."""
        for _ in range(_DEEPEST):
            yield resource
            above = self.names.get(resource.parent) if resource.parent else None
            if above is None or above is resource:
                return
            resource = above

    def host_of(self, resource: Resource) -> Resource | None:
        """The nearest host in its line: itself, if it is one."""
        return next((each for each in self.line_of(resource) if each.type in HOSTS), None)

    def host_name(self, resource: Resource) -> str:
        """What the host is called that a resource lives on; the native part of an id that nothing explains."""
        host = self.host_of(resource)
        if host is not None:
            return host.name or host.id
        return resource.parent.rpartition(":")[2]

    def instance_of(self, resource: Resource) -> str:
        """The cluster or instance that it belongs to, "" if nothing says so."""
        return resource.instance or next((each.instance for each in self.line_of(resource) if each.instance), "")

    def kept(self, key: Hashable, select: Callable[[], SelectedT]) -> SelectedT:
        """What `select` gave under this key the first time: one selection serves all of its pages."""
        if key not in self._selections:
            self._selections[key] = select()
        return self._selections[key]  # type: ignore[return-value]  # a key stands for one type
