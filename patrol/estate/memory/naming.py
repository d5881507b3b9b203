"""What people and other systems call a remembered resource. Pure.

By id, alias or name; where nothing is called so, guests also by their number, as hypervisors write it: `101`,
`qemu/101`, `lxc/101`, `<cluster or node>/101`, `<node>/qemu/101`. The same words name a resource in a run
(`patrol.estate.names`).
"""

from patrol.estate.identity import GUESTS
from patrol.estate.memory.model import Memory, Remembered, folded
from patrol.estate.model import ResourceType

_WORDS = {
    "vm": ResourceType.VM,
    "qemu": ResourceType.VM,
    "lxc": ResourceType.SYSTEM_CONTAINER,
    "ct": ResourceType.SYSTEM_CONTAINER,
}


def resources_called(memory: Memory, name: str) -> list[Remembered]:
    """Every resource that may be meant, and that is not known to be gone; sorted by id."""
    found = [each for each in memory.candidates(name) if each.is_there]
    return found or _guests_called(memory, folded(name.strip()))


def _guests_called(memory: Memory, token: str) -> list[Remembered]:
    *places, number = token.replace(":", "/").split("/")
    if not (number.isascii() and number.isdecimal()) or len(places) > 2:
        return []
    found = [each for each in memory.resources.values() if each.is_there and _number(each) == number]
    for place in places:
        kind = _WORDS.get(place)
        found = [each for each in found if (each.type == kind if kind is not None else place in _places(each, memory))]
    return sorted(found, key=lambda each: each.id)


def _number(known: Remembered) -> str:
    """The number of a guest, as it stands in its id (`vm:<cluster>:<number>`)."""
    return known.id.rpartition(":")[2] if known.type in GUESTS else ""


def _places(guest: Remembered, memory: Memory) -> set[str]:
    host = memory.resources.get(guest.parent)
    origin = guest.id.split(":")[1] if guest.id.count(":") >= 2 else ""
    return {folded(text) for text in (origin, guest.source, host.name if host is not None else "") if text}
