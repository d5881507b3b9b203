"""What proves a collected resource to be a remembered one, and what proves that it is not.

Proof: serial number or WWN of a disk; cluster and VMID of a guest; the UUID of an array, btrfs file system or Ceph
cluster; the aliases `machine-id:…` and `uuid:…` (SMBIOS or configuration) that a source gives. `mac:…` never proves,
but speaks against. Equal names prove nothing.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from findings.identity import canonical_id
from findings.model import ResourceId
from findings.rows import storable
from patrol.estate.identity import GUESTS, device_name, serial_of, wwn_of
from patrol.estate.memory.model import Memory, Presence, Remembered, Strength, folded
from patrol.estate.model import Resource, ResourceType
from signals.evidence import DiskRow

PLACED = frozenset({ResourceType.DISK, ResourceType.STORAGE, ResourceType.RAID, ResourceType.APP_CONTAINER})
"""Types whose device or name is unique on their parent: where one sits is a weak key."""

_SERIAL, _WWN = "disk:serial:", "disk:wwn:"
_PROVING_SCHEMES = ("machine-id:", "uuid:")
_MAC = "mac:"
_OWN_UUIDS = ("raid:uuid:", "storage:uuid:")
_SCHEMES = (_SERIAL, _WWN, *_OWN_UUIDS, *_PROVING_SCHEMES, _MAC)


def strong_keys(resource: Resource) -> list[str]:
    """The texts of which one in common makes a collected resource a remembered one. Compared without case."""
    keys: list[str] = []
    if resource.type is ResourceType.DISK:
        if resource.disk is not None:
            keys.extend(_keys_of_disk(resource.id, resource.disk))
    elif resource.type in GUESTS:
        if resource.vmid is not None and resource.instance:
            natural = f"{resource.type.value}:{resource.instance}:{resource.vmid}"
            # The usual case first: most are called by their key, which then needs no escaping.
            known = resource.id == natural
            keys.append(natural if known else canonical_id(resource.type, resource.instance, str(resource.vmid)))
    elif resource.raid is not None and resource.raid.uuid:
        keys.append(canonical_id(ResourceType.RAID, "uuid", resource.raid.uuid))
    elif resource.pool is not None and resource.pool.btrfs is not None and resource.pool.btrfs.uuid:
        keys.append(canonical_id(ResourceType.STORAGE, "uuid", resource.pool.btrfs.uuid))
    elif resource.ceph is not None and resource.ceph.fsid:
        keys.append(canonical_id(ResourceType.STORAGE, "uuid", resource.ceph.fsid))
    if resource.aliases:
        keys.extend([text for text in resource.aliases if text.startswith(_PROVING_SCHEMES)])
    return keys


def _keys_of_disk(resource_id: ResourceId, row: DiskRow) -> Iterator[str]:
    if row.serial and resource_id == _SERIAL + row.serial:
        yield resource_id
    elif serial := serial_of(row):
        yield canonical_id(ResourceType.DISK, "serial", serial)
    if row.wwn and (wwn := wwn_of(row)):
        yield _WWN + wwn


def place_of(resource: Resource) -> str:
    """What a resource is called on its parent, "" for types where that says nothing."""
    if resource.type is ResourceType.DISK:
        return device_name(resource.disk) if resource.disk is not None else ""
    return resource.name if resource.type in PLACED else ""


def is_plainly(resource: Resource, keys: Sequence[str], known: Remembered, memory: Memory) -> bool:
    """Whether a resource is called as ever and has no proof that is new: nothing then needs to be weighed."""
    if not keys or keys[0] != known.id or len(memory.proven_holders(keys[0])) != 1:
        return False
    # With its name as ever, nothing but an unknown proof could speak against it.
    if resource.type is not ResourceType.DISK and resource.name != known.name:
        return False
    if len(keys) == 1:
        return True
    aliases = memory.aliases_of(known.id)
    return all(key in aliases and len(memory.proven_holders(key)) == 1 for key in keys[1:])


def is_contradicted(resource: Resource, place: str, keys: Collection[str], known: Remembered, memory: Memory) -> bool:
    """Whether a collected resource cannot be the remembered one.

    A disk: another serial number (or WWN where no serial number tells); without either, another device name. An
    array or file system: another UUID. A guest: another UUID; or another name after it was missed in a complete
    read, after its source says it was created, or with none of its network cards. A host: another name together
    with another machine-id or UUID; with its old name it was installed anew, or its machine was replaced.
    """
    if resource.type != known.type:
        return True
    mine = _by_scheme((*keys, *(text for text in resource.aliases if text.startswith(_MAC))))
    theirs = _by_scheme(_telling_texts(memory, known.id))
    compared = mine.keys() & theirs.keys()
    shared = {scheme for scheme in compared if mine[scheme] & theirs[scheme]}
    apart = compared - shared
    if resource.type is ResourceType.DISK:
        proven = not shared.isdisjoint((_SERIAL, _WWN))
        return not proven and (bool(apart) or bool(place and known.place and place != known.place))
    if shared - {_MAC}:
        return False
    if not apart.isdisjoint(_OWN_UUIDS) or (resource.type in GUESTS and "uuid:" in apart):
        return True
    other_name = bool(resource.name and known.name and storable(resource.name) != known.name)
    return other_name and (bool(apart) or (resource.type in GUESTS and _was_away(resource, known)))


def _telling_texts(memory: Memory, resource_id: ResourceId) -> list[str]:
    """The id of a remembered resource, and the aliases that tell it from others."""
    aliases = memory.aliases_of(resource_id).values()
    telling = [each.alias for each in aliases if each.strength is Strength.STRONG or each.alias.startswith(_MAC)]
    return [resource_id, *telling]


def _was_away(resource: Resource, known: Remembered) -> bool:
    missed = known.absent_runs > 0 or known.presence is Presence.REMOVED
    created_later = resource.first_seen is not None and resource.first_seen > known.last_seen_at
    return missed or created_later


def _by_scheme(texts: Iterable[str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for text in texts:
        for scheme in _SCHEMES:
            if text.startswith(scheme):
                found.setdefault(scheme, set()).add(folded(text))
                break
    return found


def is_replaced(keys: Collection[str], alias: str) -> bool:
    """Whether an older proof of a host gives way: it has another of the same sort now."""
    schemes = [scheme for scheme in _PROVING_SCHEMES if alias.startswith(scheme)]
    return any(key.startswith(scheme) and folded(key) != folded(alias) for scheme in schemes for key in keys)


def generation(resource_id: ResourceId, number: int) -> ResourceId:
    """The id of the next thing under the same natural id. `g` is no hexadecimal digit, so it is no escape."""
    return f"{resource_id[:190]}~g{number}"
