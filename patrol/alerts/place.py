"""Which remembered resource an alert is about. Pure.

Names are tried from the most exact to the one of the host. Equal names are never identity: where several resources
are called alike, only what they live on or in can tell which is meant, and what nothing tells stays open.
"""

from dataclasses import dataclass

from findings.model import ResourceId
from patrol.alerts.model import Naming
from patrol.estate.memory.model import Memory, Remembered
from patrol.estate.memory.naming import resources_called


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The answer: one resource, or none; `candidates`: the ids of those that were equally likely."""

    resource: Remembered | None = None
    candidates: tuple[ResourceId, ...] = ()


NOWHERE = Place()


def place_of(naming: Naming, memory: Memory) -> Place:
    """The resource that is meant. One that is known to be gone is none."""
    for name in naming.names:
        found = resources_called(memory, name)
        if len(found) > 1:
            hosts = {each.id for place in naming.places for each in resources_called(memory, place)}
            inside = [each for each in found if each.parent in hosts]
            if len(inside) != 1:
                # What a less exact name means would be the host at best, and the alert is not about that.
                return Place(candidates=tuple(each.id for each in found))
            found = inside
        if found:
            return Place(resource=found[0])
    return NOWHERE
