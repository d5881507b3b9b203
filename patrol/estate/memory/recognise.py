"""Compares one collection with what is remembered. Pure."""

from datetime import datetime

from patrol.estate.memory.matching import Matching
from patrol.estate.memory.model import Memory, Presence, Recognition
from patrol.estate.memory.presence import Absences
from patrol.estate.memory.sightings import Sightings
from patrol.estate.model import Estate
from signals.garbage import paused_garbage_collection


def recognise(estate: Estate, memory: Memory, now: datetime, *, counts_absence: bool = True) -> Recognition:
    """Compares one collection with what is remembered. `counts_absence` False: a run that is not about everything.

    Changes neither: `patrol.estate.memory.follow` rewrites the estate, `patrol.estate.memory.store` keeps the rest.
    """
    with paused_garbage_collection():
        return _recognise(estate, memory, now, counts_absence=counts_absence)


def _recognise(estate: Estate, memory: Memory, now: datetime, *, counts_absence: bool) -> Recognition:
    matching = Matching(estate.resources, memory)
    minted = matching.minted
    sightings = Sightings(memory, now)
    for resource, keys, resource_id, place in zip(
        estate.resources, matching.keys, minted, matching.places, strict=True
    ):
        sightings.note(resource, keys, resource_id, matching.parent(resource), place)
    merges = sorted(matching.merges)
    for merge in merges:
        sightings.unite(merge)
    parents = map(matching.parent, estate.resources)
    gone = Absences(estate, memory, minted, parents, retired={each.retired for each in merges}, now=now)
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
