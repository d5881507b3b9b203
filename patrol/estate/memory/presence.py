"""What it means that a resource was not seen: gone, or out of sight.

Gone for good only after two complete reads of its own source without it, or because an operator says so. An outage,
a partial or an empty answer, another source, or a source that is not configured any more says nothing.
"""

from collections import Counter as Count
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime

import msgspec

from findings.model import ResourceId, Topic
from patrol.estate.memory.keys import strong_keys
from patrol.estate.memory.model import Changed, Memory, Presence, Remembered, RemovedBy
from patrol.estate.model import Estate, ResourceType, Status

COMPLETE_RUNS = 2
"""Complete reads without a resource, in a row, after which it counts as removed."""

_LISTED_BY = {
    ResourceType.DISK.value: (Topic.SMART,),
    ResourceType.STORAGE.value: (Topic.POOLS, Topic.BTRFS, Topic.CEPH),
    ResourceType.RAID.value: (Topic.RAID,),
}
"""Types that are found by reading a topic of their own, which may fail while the inventory does not."""

_NEVER_ALL_GONE = frozenset(each.value for each in (ResourceType.NODE, ResourceType.VM, ResourceType.SYSTEM_CONTAINER))
"""Types of which an answer without any one is not believed where there were several: an operator must say it."""

_HIDES_WHAT_IS_ON_IT = frozenset({Status.OFFLINE, Status.STOPPED, Status.PAUSED})


class Absences:
    """Judges the resources that one collection did not see.

    `minted`, `parents`: the ids of those that it saw, and of what these are on.
    """

    def __init__(
        self,
        estate: Estate,
        memory: Memory,
        minted: Collection[ResourceId],
        parents: Iterable[ResourceId],
        *,
        retired: Collection[ResourceId],
        now: datetime,
    ) -> None:
        self._now = now
        self._memory = memory
        self._seen = {*minted, *retired}
        self._returned = Count((resource.source, resource.type.value) for resource in estate.resources)
        answered = {resource.source for resource in estate.resources}
        unlisted = {gap.source for gap in estate.gaps if gap.topic is Topic.INVENTORY}
        self._read = {
            state.name: frozenset(state.read)
            for state in estate.sources
            if state.connected and Topic.INVENTORY in state.read and state.name in answered - unlisted
        }
        self._whole_gaps = {(gap.source, gap.topic) for gap in estate.gaps if gap.resource_id is None}
        self._spoken_of = {memory.find_id(gap.resource_id) for gap in estate.gaps if gap.resource_id}
        self._dark = {
            resource_id
            for resource_id, resource in zip(minted, estate.resources, strict=True)
            if resource.status in _HIDES_WHAT_IS_ON_IT
        }

        # A disk that does not say which one it is may be any disk that is missed on the same host.
        self._unnamed = {
            (resource.source, parent)
            for resource, parent in zip(estate.resources, parents, strict=True)
            if resource.type is ResourceType.DISK and not strong_keys(resource)
        }

    def is_missing(self, known: Remembered) -> bool:
        """Whether this collection did not see it."""
        return known.id not in self._seen

    def changes(self, missed: Iterable[Remembered]) -> Iterator[Changed]:
        """What becomes of resources that were not seen, as far as it changes."""
        waiting = [each for each in missed if each.presence is not Presence.REMOVED]
        missing = Count((each.source, each.type) for each in waiting)
        for known in waiting:
            after = self._after(known, missing[known.source, known.type])
            if after != known:
                yield Changed(known, after)

    def _after(self, known: Remembered, missing_alike: int) -> Remembered:
        if not self._is_complete_about(known, missing_alike):
            return msgspec.structs.replace(known, presence=Presence.UNSEEN)
        absent_runs = known.absent_runs + 1
        if absent_runs < COMPLETE_RUNS:
            return msgspec.structs.replace(known, presence=Presence.UNSEEN, absent_runs=absent_runs)
        return msgspec.structs.replace(
            known,
            presence=Presence.REMOVED,
            absent_runs=absent_runs,
            removed_at=self._now,
            removed_by=RemovedBy.ABSENCE,
        )

    def _is_complete_about(self, known: Remembered, missing_alike: int) -> bool:
        read = self._read.get(known.source)
        if read is None or known.id in self._spoken_of or known.parent in self._dark:
            return False
        if known.type == ResourceType.DISK.value and (known.source, known.parent) in self._unnamed:
            return False
        topics = _LISTED_BY.get(known.type, ())
        if any((known.source, topic) in self._whole_gaps for topic in topics):
            return False
        if self._returned[known.source, known.type]:
            return True
        if topics:
            return not read.isdisjoint(topics)
        # All of them gone at once is what a token without its rights looks like.
        return known.type not in _NEVER_ALL_GONE or missing_alike < 2
