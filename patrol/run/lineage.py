"""What each resource lives on or in: whoever works on a host knows what that means for everything on it."""

from findings.model import ResourceId
from patrol.estate.model import Estate


def lineage(estate: Estate) -> dict[ResourceId, tuple[ResourceId, ...]]:
    """For each resource the ids of what it lives on or in, nearest first. A circle ends where it closes."""
    parents = {resource.id: resource.parent for resource in estate.resources}
    found: dict[ResourceId, tuple[ResourceId, ...]] = {}
    one: dict[tuple[ResourceId, ...], tuple[ResourceId, ...]] = {}  # thirty guests of a node live on the same
    for resource_id, nearest in parents.items():
        above: list[ResourceId] = []
        parent = nearest
        while parent and parent != resource_id and parent not in above:
            above.append(parent)
            parent = parents.get(parent, "")
        line = tuple(above)
        found[resource_id] = one.setdefault(line, line)
    return found
