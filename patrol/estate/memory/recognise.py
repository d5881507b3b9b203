"""Which collected resource is which remembered one. Pure.

First by proof (serial number, WWN, cluster and VMID, machine-id, UUID), then by the id alone, then by the place on
the parent; a weak key only where nothing contradicts it, and never a name. What nobody knows gets an id of its own,
minted once. A key that several resources claim at one time proves nothing for any of them.
"""

from collections import Counter as Count
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

import msgspec

from findings.model import ResourceId
from findings.rows import storable
from patrol.estate.identity import GUESTS, HOSTS, same_disk
from patrol.estate.memory.keys import (
    PLACED,
    generation,
    is_contradicted,
    is_plainly,
    is_replaced,
    place_of,
    strong_keys,
)
from patrol.estate.memory.model import (
    Alias,
    Changed,
    Memory,
    Merge,
    Presence,
    Recognition,
    Remembered,
    Strength,
)
from patrol.estate.memory.presence import Absences
from patrol.estate.model import Estate, Resource, ResourceType

ALIAS_STEP = timedelta(days=1)
"""How exact the last sight of an alias is kept."""

MOST_ALIASES = 100
"""Weak aliases of one resource that are kept: a source that invents one each time must not fill the database."""

_LONGEST_ALIAS = 300


def recognise(estate: Estate, memory: Memory, now: datetime, *, counts_absence: bool = True) -> Recognition:
    """Compares one collection with what is remembered. `counts_absence` False: a run that is not about everything.

    Changes neither: `patrol.estate.memory.follow` rewrites the estate, `patrol.estate.memory.store` keeps the rest.
    """
    matching = _Matching(estate.resources, memory)
    minted = matching.minted
    sightings = _Sightings(memory, now)
    for resource, keys, resource_id, place in zip(
        estate.resources, matching.keys, minted, matching.places, strict=True
    ):
        sightings.note(resource, keys, resource_id, matching.parent(resource), place)
    merges = sorted(matching.merges)
    for merge in merges:
        sightings.unite(merge)
    gone = Absences(estate, memory, minted, retired={each.retired for each in merges}, now=now)
    missed = [each for each in memory.resources.values() if gone.is_missing(each)]
    changed = [*sightings.changed(), *(gone.changes(missed) if counts_absence else ())]
    removed = {each.id for each in missed if each.presence is Presence.REMOVED}
    removed.update(each.after.id for each in changed if each.after.presence is Presence.REMOVED)
    collected = [resource.id for resource in estate.resources]
    return Recognition(
        ids={old: new for old, new in zip(collected, minted, strict=True) if old != new},
        also_called=sightings.also_called,
        known_since=sightings.known_since,
        new=tuple(sightings.new.values()),
        changed=tuple(changed),
        aliases=tuple(sightings.aliases.values()),
        merges=tuple(merges),
        removed=frozenset(removed) if counts_absence else frozenset(),
        saw_all=counts_absence or all(each.presence is not Presence.PRESENT for each in missed),
        memory=memory,
    )


class _Matching:
    """The minted id of each collected resource, in their order."""

    def __init__(self, rows: list[Resource], memory: Memory) -> None:
        self._rows = rows
        self._memory = memory
        self.keys = [strong_keys(row) for row in rows]
        self.places = [place_of(row) for row in rows]
        self._claims = Count([key.casefold() for keys in self.keys for key in dict.fromkeys(keys)])
        self._found: dict[int, ResourceId] = {}
        self._taken: dict[ResourceId, int] = {}
        self._fresh: set[ResourceId] = set()
        self._position_of = {row.id: position for position, row in enumerate(rows)}
        self.merges: list[Merge] = []
        self._match_proven()
        proven = list(self._found)
        self._match_called()
        self._match_placed()
        self._mint(position for position in range(len(rows)))
        self._unite_left_behind(proven)
        self.minted = [self._found[position] for position in range(len(rows))]

    def parent(self, row: Resource) -> ResourceId:
        """The minted id of the parent, as far as it is known."""
        if not row.parent:
            return ""
        position = self._position_of.get(row.parent)
        found = self._found.get(position) if position is not None else None
        return found or self._memory.find_id(row.parent) or row.parent

    def _match_proven(self) -> None:
        memory = self._memory
        candidates: dict[int, list[Remembered]] = {}
        for position, keys in enumerate(self.keys):
            as_ever = memory.resources.get(self._rows[position].id)
            unshared = all(self._claims[key.casefold()] == 1 for key in keys)
            if as_ever is not None and unshared and is_plainly(self._rows[position], keys, as_ever, memory):
                candidates[position] = [as_ever]
                continue
            known: dict[ResourceId, Remembered] = {}
            for key in keys:
                holders = memory.proven_holders(key) if self._claims[key.casefold()] == 1 else ()
                if len(holders) == 1 and not self._contradicts(position, memory.resources[holders[0]]):
                    known[holders[0]] = memory.resources[holders[0]]
            if known:
                candidates[position] = sorted(known.values(), key=lambda each: (each.first_seen_at, each.id))
        # Whoever is called by its minted id comes first: of two that claim one resource, it is that one.
        for position in sorted(candidates, key=lambda each: self._rows[each].id != candidates[each][0].id):
            self._take_proven(position, candidates[position])

    def _take_proven(self, position: int, candidates: list[Remembered]) -> None:
        free = [each for each in candidates if self._may_take(position, each.id)]
        if not free:
            return
        kept, *others = free
        self._take(position, kept.id)
        for other in others:
            if other.id not in self._taken and not self._are_apart(kept, other):
                self._retire(other.id, kept.id, position)

    def _match_called(self) -> None:
        """By the id (or an id that was given up), and by keys that prove nothing because several hold them."""
        for exact in (True, False):
            for position, row in enumerate(self._rows):
                if position in self._found:
                    continue
                texts = [row.id] if exact else [row.id, *self.keys[position]]
                found = [each for text in texts for each in self._memory.holders(text)]
                wanted = [each for each in dict.fromkeys(found) if not exact or each == row.id]
                self._take_best(position, wanted)

    def _match_placed(self) -> None:
        for position, row in enumerate(self._rows):
            if position not in self._found and row.type in PLACED and row.parent and self.places[position]:
                parent = self.parent(row)
                self._take_best(position, self._memory.at_place(row.type.value, parent, self.places[position]))

    def _take_best(self, position: int, resource_ids: Iterable[ResourceId]) -> None:
        known = [self._memory.resources[each] for each in resource_ids if each not in self._taken]
        fitting = [each for each in known if not self._contradicts(position, each)]
        if fitting:
            best = min(fitting, key=_liveliest_first)
            self._take(position, best.id)

    def _mint(self, positions: Iterable[int]) -> None:
        for position in positions:
            if position not in self._found:
                self._take(position, self._new_id(self._rows[position].id))

    def _new_id(self, natural: ResourceId) -> ResourceId:
        number, wanted = 1, natural
        while wanted in self._memory.resources or wanted in self._taken or self._memory.proven_holders(wanted):
            number += 1
            wanted = generation(natural, number)
        return wanted

    def _unite_left_behind(self, proven: Iterable[int]) -> None:
        """A resource known by weak keys alone that turns out to be a proven one: nothing was seen of it but this.

        Two that were seen side by side on one parent are two, whatever they are called now.
        """
        for position in proven:
            row, kept = self._rows[position], self._memory.resources[self._found[position]]
            if row.type not in HOSTS and row.type is not ResourceType.DISK:
                continue
            parent, place = self.parent(row), self.places[position]
            if row.id == kept.id and (parent, place) == (kept.parent, kept.place):
                continue
            at_place = self._memory.at_place(row.type.value, parent, place) if place else ()
            for each in dict.fromkeys([row.id, *at_place]):
                other = self._memory.resources.get(each)
                if other is None or each in self._taken or self._contradicts(position, other):
                    continue
                if not self._are_apart(kept, other) and not _lived_beside(kept, other):
                    self._retire(other.id, kept.id, position)

    def _retire(self, retired: ResourceId, kept: ResourceId, position: int) -> None:
        self.merges.append(Merge(kept=kept, retired=retired))
        self._taken[retired] = position

    def _take(self, position: int, resource_id: ResourceId) -> None:
        self._found[position] = resource_id
        self._taken.setdefault(resource_id, position)

    def _contradicts(self, position: int, known: Remembered) -> bool:
        row, keys = self._rows[position], self.keys[position]
        return is_contradicted(row, self.places[position], keys, known, self._memory)

    def _may_take(self, position: int, resource_id: ResourceId) -> bool:
        """Whether nobody has it yet, or only a row that can be the same thing: proof has united them."""
        holder = self._taken.get(resource_id)
        if holder is None:
            return True
        first, second = self._rows[holder], self._rows[position]
        if first.disk is not None and second.disk is not None:
            return same_disk(first.disk, second.disk) is None
        return first.type in HOSTS

    def _are_apart(self, one: Remembered, other: Remembered) -> bool:
        """Whether two remembered resources have proofs against each other."""
        row = Resource(id=other.id, type=ResourceType(other.type), aliases=self._memory.strong_texts(other.id))
        return is_contradicted(row, "", row.aliases, one, self._memory)


_PRESENCE_ORDER = {presence: number for number, presence in enumerate(Presence)}


def _as_stored(text: str) -> str:
    """As it comes back from a database: what no database takes must not look like news in every run."""
    return text if text.isprintable() else storable(text)


def _liveliest_first(known: Remembered) -> tuple[int, float, ResourceId]:
    return _PRESENCE_ORDER[known.presence], -known.last_seen_at.timestamp(), known.id


def _lived_beside(one: Remembered, other: Remembered) -> bool:
    together = one.first_seen_at <= other.last_seen_at and other.first_seen_at <= one.last_seen_at
    return together and one.parent == other.parent


class _Sightings:
    """What is to be remembered of what was seen."""

    def __init__(self, memory: Memory, now: datetime) -> None:
        self._memory = memory
        self._now = now
        self.new: dict[ResourceId, Remembered] = {}
        self._seen: dict[ResourceId, Remembered] = {}
        self.aliases: dict[tuple[ResourceId, str], Alias] = {}
        self.also_called: dict[ResourceId, list[str]] = {}
        self.known_since: dict[ResourceId, datetime] = {}

    def note(self, row: Resource, keys: list[str], resource_id: ResourceId, parent: ResourceId, place: str) -> None:
        """One collected resource, recognised as `resource_id`."""
        name, place = _as_stored(row.name), _as_stored(place)
        known = self._memory.resources.get(resource_id)
        source = row.source or (known.source if known is not None else "")
        if known is None:
            first_seen = self._now
            if resource_id not in self.new:
                self.new[resource_id] = Remembered(
                    id=resource_id,
                    type=row.type.value,
                    name=name,
                    source=source,
                    parent=parent,
                    place=place,
                    first_seen_at=self._now,
                    last_seen_at=self._now,
                )
        else:
            first_seen = min(known.first_seen_at, self._now)
            if resource_id not in self._seen:
                self._seen[resource_id] = self._after(known, name, source, parent, place)
        since = self._memory.watched_since.get(source)
        if row.type in GUESTS and since is not None and first_seen > since:
            self.known_since[resource_id] = first_seen
        self._note_aliases(row, keys, resource_id, known, source)

    def unite(self, merge: Merge) -> None:
        """The kept resource is as old as the older one, and answers to the retired id."""
        kept, retired = self._seen[merge.kept], self._memory.resources[merge.retired]
        self._seen[kept.id] = msgspec.structs.replace(
            kept, first_seen_at=min(kept.first_seen_at, retired.first_seen_at)
        )
        self._add(kept.id, merge.retired, retired.source, Strength.STRONG)
        self.also_called.setdefault(kept.id, []).append(merge.retired)

    def changed(self) -> Iterator[Changed]:
        """The remembered ones of which more changed than the time."""
        for after in self._seen.values():
            before = self._memory.resources[after.id]
            if after is not before:
                yield Changed(before, after)

    def _after(self, known: Remembered, name: str, source: str, parent: str, place: str) -> Remembered:
        name = name or known.name
        as_before = (
            known.presence is Presence.PRESENT
            and known.absent_runs == 0
            and known.first_seen_at <= self._now
            and (name, source, parent, place) == (known.name, known.source, known.parent, known.place)
        )
        if as_before:
            return known
        return Remembered(
            id=known.id,
            type=known.type,
            name=name,
            source=source,
            parent=parent,
            place=place,
            # A clock that went back takes the times with it: nothing is known from the future.
            first_seen_at=min(known.first_seen_at, self._now),
            last_seen_at=self._now,
        )

    def _note_aliases(
        self, row: Resource, keys: list[str], resource_id: ResourceId, known: Remembered | None, source: str
    ) -> None:
        for key in keys:
            if key != resource_id:
                self._add(resource_id, key, source, Strength.STRONG)
        if row.id != resource_id:
            self._add(resource_id, row.id, source, Strength.WEAK)
        for text in row.aliases:
            self._add(resource_id, text, source, Strength.WEAK, but=row.name)
        if known is not None and row.name and known.name != _as_stored(row.name):
            self._add(resource_id, known.name, source, Strength.WEAK)
        remembered = self._memory.aliases.get(resource_id)
        if remembered is None:
            return
        called = [text for text, alias in remembered.items() if alias.strength is Strength.STRONG]
        if called:
            self.also_called[resource_id] = called
        for text in called:
            if is_replaced(keys, text):
                self.aliases[resource_id, text] = msgspec.structs.replace(remembered[text], strength=Strength.WEAK)

    def _add(self, resource_id: ResourceId, text: str, source: str, strength: Strength, *, but: str = "") -> None:
        if text in ("", resource_id, but) or len(text) > _LONGEST_ALIAS:
            return
        remembered = self._memory.aliases_of(resource_id)
        known = self.aliases.get((resource_id, text)) or remembered.get(text)
        if known is None:
            if strength is Strength.WEAK and len(remembered) >= MOST_ALIASES:
                return
            self.aliases[resource_id, text] = Alias(
                alias=text,
                resource_id=resource_id,
                source=source,
                strength=strength,
                first_seen_at=self._now,
                last_seen_at=self._now,
            )
            return
        stronger = known.strength is Strength.WEAK and strength is Strength.STRONG
        if stronger or not timedelta(0) <= self._now - known.last_seen_at < ALIAS_STEP:
            self.aliases[resource_id, text] = msgspec.structs.replace(
                known,
                strength=Strength.STRONG if stronger else known.strength,
                first_seen_at=min(known.first_seen_at, self._now),
                last_seen_at=self._now,
            )
