"""What is to be remembered of what was seen. Pure."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec

from findings.model import ResourceId
from findings.rows import storable
from patrol.estate.identity import GUESTS
from patrol.estate.memory.keys import is_replaced
from patrol.estate.memory.model import Alias, Changed, Memory, Merge, Presence, Remembered, Strength
from patrol.estate.model import Resource

ALIAS_STEP = timedelta(days=1)
"""How exact the last sight of an alias is kept."""

MOST_ALIASES = 100
"""Weak aliases of one resource that are kept: a source that invents one each time must not fill the database."""

_LONGEST_ALIAS = 300


class Sightings:
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


def _as_stored(text: str) -> str:
    """As it comes back from a database: what no database takes must not look like news in every run."""
    return text if text.isprintable() else storable(text)
