"""Which remembered resource each collected one is. Pure.

First by proof (serial number, WWN, cluster and VMID, machine-id, UUID), then by the id alone, then by the place on
the parent; a weak key only where nothing contradicts it, and never a name. What nobody knows gets an id of its own,
minted once. A key that several resources claim at one time proves nothing for any of them.
"""

from collections import Counter as Count
from collections.abc import Iterable, Sequence

from findings.model import ResourceId
from patrol.estate.identity import HOSTS, same_disk
from patrol.estate.memory.keys import PLACED, generation, is_contradicted, is_plainly, place_of, strong_keys
from patrol.estate.memory.model import Memory, Merge, Presence, Remembered
from patrol.estate.model import Resource, ResourceType


class Matching:
    """The minted id of each collected resource, in their order."""

    def __init__(self, rows: list[Resource], memory: Memory) -> None:
        self._rows = rows
        self._memory = memory
        self.keys = [strong_keys(row) for row in rows]
        self.places = [place_of(row) for row in rows]
        claims = Count([key.casefold() for keys in self.keys for key in dict.fromkeys(keys)])
        self._shared = {key for key, claimed in claims.items() if claimed > 1}
        self._found: dict[int, ResourceId] = {}
        self._taken: dict[ResourceId, int] = {}
        self._position_of = {row.id: position for position, row in enumerate(rows)}
        self.merges: list[Merge] = []
        self._parents: dict[str, ResourceId] = {"": ""}
        proven = self._match_proven()
        left = [position for position in range(len(rows)) if position not in self._found]
        # What others sit on comes first: what sits on it may be called by a name that it does not have any more.
        below = [position for position in left if rows[position].type not in PLACED]
        self._match_called(below)
        self._mint(below)
        above = [position for position in left if rows[position].type in PLACED]
        self._match_called([position for position in above if self.parent(rows[position]) == rows[position].parent])
        self._match_placed(above)
        self._mint(above)
        self._unite_left_behind(proven)
        self.minted = [self._found[position] for position in range(len(rows))]

    def parent(self, row: Resource) -> ResourceId:
        """The minted id of the parent; its collected one where that is unknown. Asked when parents are matched."""
        known = self._parents.get(row.parent)
        if known is None:
            position = self._position_of.get(row.parent)
            found = self._found.get(position) if position is not None else None
            known = self._parents[row.parent] = found or self._memory.find_id(row.parent) or row.parent
        return known

    def _match_proven(self) -> list[int]:
        """Returns all that were matched so."""
        memory = self._memory
        candidates: dict[int, list[Remembered]] = {}
        for position, (row, keys) in enumerate(zip(self._rows, self.keys, strict=True)):
            as_ever = memory.resources.get(row.id)
            if as_ever is not None and self._is_unshared(keys) and is_plainly(row, keys, as_ever, memory):
                # Whoever is called by its minted id comes first: of two that claim one resource, it is that one.
                self._take(position, as_ever.id)
                continue
            known = self._proven(position)
            if known:
                candidates[position] = known
        for position in sorted(candidates, key=lambda each: self._rows[each].id != candidates[each][0].id):
            self._take_proven(position, candidates[position])
        return list(self._found)

    def _is_unshared(self, keys: list[str]) -> bool:
        return not self._shared or all(key.casefold() not in self._shared for key in keys)

    def _proven(self, position: int) -> list[Remembered]:
        """The remembered resources that the proofs of a row lead to, the oldest first."""
        known: dict[ResourceId, Remembered] = {}
        for key in self.keys[position]:
            holders = self._memory.proven_holders(key) if key.casefold() not in self._shared else ()
            if len(holders) == 1 and not self._contradicts(position, self._memory.resources[holders[0]]):
                known[holders[0]] = self._memory.resources[holders[0]]
        return sorted(known.values(), key=lambda each: (each.first_seen_at, each.id))

    def _take_proven(self, position: int, candidates: list[Remembered]) -> None:
        free = [each for each in candidates if self._may_take(position, each.id)]
        if not free:
            return
        kept, *others = free
        self._take(position, kept.id)
        for other in others:
            if other.id not in self._taken and not self._are_apart(kept, other):
                self._retire(other.id, kept.id, position)

    def _match_called(self, positions: Sequence[int]) -> None:
        """By the id (or an id that was given up), and by keys that prove nothing because several hold them."""
        memory = self._memory
        for position in positions:
            if self._rows[position].id in memory.resources:
                self._take_best(position, [self._rows[position].id])
        for position in positions:
            if position not in self._found:
                texts = [self._rows[position].id, *self.keys[position]]
                self._take_best(position, dict.fromkeys(each for text in texts for each in memory.holders(text)))

    def _match_placed(self, positions: Iterable[int]) -> None:
        for position in positions:
            row = self._rows[position]
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


def _liveliest_first(known: Remembered) -> tuple[int, float, ResourceId]:
    return _PRESENCE_ORDER[known.presence], -known.last_seen_at.timestamp(), known.id


def _lived_beside(one: Remembered, other: Remembered) -> bool:
    together = one.first_seen_at <= other.last_seen_at and other.first_seen_at <= one.last_seen_at
    return together and one.parent == other.parent
