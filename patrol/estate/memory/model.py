"""What is remembered of resources, and what one collection adds to it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

import msgspec

from findings.model import ResourceId
from patrol.estate.identity import has_canonical_form


class Presence(StrEnum):
    """Whether a resource is there."""

    PRESENT = "present"  # the last full run saw it
    UNSEEN = "unseen"  # the last full run did not: gone, or out of sight
    REMOVED = "removed"  # its source answered completely without it, twice; or an operator said so


class RemovedBy(StrEnum):
    """Who says that a resource does not exist any more."""

    ABSENCE = "absence"  # complete reads of its source without it
    OPERATOR = "operator"


class Strength(StrEnum):
    """What an alias is good for."""

    STRONG = "strong"  # proves: serial number, WWN, machine-id, UUID, cluster and VMID, an id that was merged
    WEAK = "weak"  # says what the thing is or was called, or where it sits


class Remembered(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One resource. `id` is minted once and never changes; everything else is as it was last seen.

    `place`: what it is called on its parent (device, pool, array, container). `absent_runs`: complete reads of
    its source without it, in a row. `removed_at` and `removed_by` are set exactly while it is removed.
    """

    id: ResourceId
    type: str
    name: str
    source: str
    parent: ResourceId = ""
    place: str = ""
    first_seen_at: datetime
    last_seen_at: datetime
    presence: Presence = Presence.PRESENT
    absent_runs: int = 0
    removed_at: datetime | None = None
    removed_by: RemovedBy | None = None

    @property
    def is_there(self) -> bool:
        """Whether it is not known to be gone."""
        return self.presence is not Presence.REMOVED


class Alias(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One other id or name of a resource. `last_seen_at` is exact to a day."""

    alias: str
    resource_id: ResourceId
    source: str
    strength: Strength
    first_seen_at: datetime
    last_seen_at: datetime


class Merge(NamedTuple):
    """Two minted ids that turned out to be one thing: `retired` becomes an alias of `kept`."""

    kept: ResourceId
    retired: ResourceId


class Changed(NamedTuple):
    """A remembered resource before and after."""

    before: Remembered
    after: Remembered


def folded(text: str) -> str:
    """How ids and aliases are compared."""
    return text.casefold()


class Memory:
    """All resources of one organisation, by id, and their aliases by resource and text. Indexes are built on use."""

    def __init__(self, resources: Iterable[Remembered] = (), aliases: Iterable[Alias] = ()) -> None:
        self.resources = {each.id: each for each in resources}
        self.aliases: dict[ResourceId, dict[str, Alias]] = {}
        for alias in aliases:
            if alias.resource_id in self.resources:
                self.aliases.setdefault(alias.resource_id, {})[alias.alias] = alias

    def aliases_of(self, resource_id: ResourceId) -> Mapping[str, Alias]:
        """The aliases of one resource, by their text."""
        return self.aliases.get(resource_id, _NO_ALIASES)

    def strong_texts(self, resource_id: ResourceId) -> list[str]:
        """The id of a resource and every alias that proves it."""
        proving = [each.alias for each in self.aliases_of(resource_id).values() if each.strength is Strength.STRONG]
        return [resource_id, *proving]

    def proven_holders(self, text: str) -> Sequence[ResourceId]:
        """Whose id or strong alias this is. More than one: it proves nothing any more."""
        return self._proven.get(text.casefold(), ())

    def holders(self, text: str) -> Sequence[ResourceId]:
        """Whose id or alias this is, strong or weak."""
        token = folded(text)
        return [*self._proven.get(token, ()), *self._weakly.get(token, ())]

    def at_place(self, resource_type: str, parent: ResourceId, place: str) -> Sequence[ResourceId]:
        """The resources that were last seen there."""
        return self._places.get((resource_type, parent, place), ())

    def find_id(self, text: str) -> ResourceId | None:
        """The one resource that has or had this canonical id; None if unknown, ambiguous, or no such id."""
        if text in self.resources:
            return text
        if not has_canonical_form(text):
            return None
        found = self.proven_holders(text) or self.holders(text)
        return found[0] if len(found) == 1 else None

    def candidates(self, name: str) -> list[Remembered]:
        """Every resource that an operator may mean: by id, else by alias or name; sorted by id."""
        if name in self.resources:
            return [self.resources[name]]
        token = folded(name.strip())
        found = set(self.holders(token)) | {each.id for each in self.resources.values() if folded(each.name) == token}
        return [self.resources[each] for each in sorted(found)]

    @cached_property
    def watched_since(self) -> Mapping[str, datetime]:
        """Since when each source is watched: its oldest resource."""
        since: dict[str, datetime] = {}
        for each in self.resources.values():
            known = since.get(each.source)
            if known is None or each.first_seen_at < known:
                since[each.source] = each.first_seen_at
        return since

    @cached_property
    def _proven(self) -> dict[str, list[ResourceId]]:
        index = {resource_id.casefold(): [resource_id] for resource_id in self.resources}
        if len(index) < len(self.resources):  # ids that differ in case alone
            index = {}
            for resource_id in self.resources:
                index.setdefault(resource_id.casefold(), []).append(resource_id)
        self._add_aliases(index, Strength.STRONG)
        return index

    @cached_property
    def _weakly(self) -> dict[str, list[ResourceId]]:
        index: dict[str, list[ResourceId]] = {}
        self._add_aliases(index, Strength.WEAK)
        return index

    def _add_aliases(self, index: dict[str, list[ResourceId]], strength: Strength) -> None:
        for resource_id, aliases in self.aliases.items():
            for each in aliases.values():
                if each.strength is strength:
                    holders = index.setdefault(each.alias.casefold(), [])
                    if resource_id not in holders:
                        holders.append(resource_id)

    @cached_property
    def _places(self) -> dict[tuple[str, ResourceId, str], list[ResourceId]]:
        places: dict[tuple[str, ResourceId, str], list[ResourceId]] = {}
        for each in self.resources.values():
            if each.parent and each.place:
                places.setdefault((each.type, each.parent, each.place), []).append(each.id)
        return places


_NO_ALIASES: Mapping[str, Alias] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognition:
    """Which collected resource is which remembered one, and what is to be remembered from now on.

    `ids`: the minted id of each collected one, where it is another. `also_called`: further ids that references to a
    resource of this estate may use, by minted id. `known_since`: when resources were first seen whose beginning fell
    into the time of the watch. `removed`: all that are certain not to exist any more. `saw_all`: no resource counts
    as present that this run did not see.
    """

    ids: Mapping[ResourceId, ResourceId] = field(default_factory=dict)
    also_called: Mapping[ResourceId, Sequence[str]] = field(default_factory=dict)
    known_since: Mapping[ResourceId, datetime] = field(default_factory=dict)
    new: Sequence[Remembered] = ()
    changed: Sequence[Changed] = ()
    aliases: Sequence[Alias] = ()
    merges: Sequence[Merge] = ()
    removed: frozenset[ResourceId] = frozenset()
    saw_all: bool = False
    memory: Memory = field(default_factory=Memory)
