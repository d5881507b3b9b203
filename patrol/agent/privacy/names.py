"""What has to be hidden of an estate: everything that its owners named, and everything that can be looked up."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import unquote

import msgspec

from findings.model import ResourceId
from patrol.estate.model import Estate, Resource, ResourceType

_WORLD_WIDE_PREFIXES = ("0x", "naa.", "eui.")


class Label(StrEnum):
    """The word that a pseudonym begins with: what sort of thing is meant."""

    HOST = "host"
    GUEST = "guest"
    CONTAINER = "container"
    STORAGE = "storage"
    RAID = "raid"
    DISK = "disk"
    CLUSTER = "cluster"
    POD = "pod"
    NETWORK = "network"
    ORIGIN = "origin"  # a cluster, instance or source that ids are made in
    ADDRESS = "addr"
    MAC = "mac"
    SERIAL = "serial"
    UUID = "uuid"
    DOMAIN = "domain"
    USER = "user"
    TAG = "tag"  # a tag, label, namespace or comment
    NAME = "name"  # anything else


_BY_TYPE = {
    ResourceType.NODE: Label.HOST,
    ResourceType.AGENT: Label.HOST,
    ResourceType.DOCKER_HOST: Label.HOST,
    ResourceType.PBS: Label.HOST,
    ResourceType.K8S_NODE: Label.HOST,
    ResourceType.VM: Label.GUEST,
    ResourceType.SYSTEM_CONTAINER: Label.GUEST,
    ResourceType.APP_CONTAINER: Label.CONTAINER,
    ResourceType.STORAGE: Label.STORAGE,
    ResourceType.RAID: Label.RAID,
    ResourceType.DISK: Label.DISK,
    ResourceType.K8S_CLUSTER: Label.CLUSTER,
    ResourceType.POD: Label.POD,
    ResourceType.NETWORK: Label.NETWORK,
}


@dataclass(frozen=True, slots=True)
class Named:
    """A resource that ids and names are known of: one of this estate, or one that a finding remembers."""

    resource_id: ResourceId
    type: str
    names: tuple[str, ...] = ()  # the first is what it is called, the rest are other words for it


class Text(NamedTuple):
    """A piece of text to hide, and what it names."""

    text: str
    label: Label


def label_of_type(resource_type: str) -> Label:
    """What a thing of this type is called."""
    try:
        return _BY_TYPE[ResourceType(resource_type.casefold())]
    except ValueError:
        return Label.ORIGIN if resource_type.casefold() == "source" else Label.NAME


def named_resources(estate: Estate) -> Iterator[Named]:
    """Every resource with everything that names it alone, hosts first: what lives on them is called after them."""
    hosts = [each for each in estate.resources if label_of_type(each.type) is Label.HOST]
    others = [each for each in estate.resources if label_of_type(each.type) is not Label.HOST]
    for resource in (*hosts, *others):
        yield Named(resource.id, resource.type.value, tuple(_names(resource)))


def _names(resource: Resource) -> Iterator[str]:
    # What a disk is called is often its model, which is no secret and says what to expect of it.
    if resource.name and not (resource.disk is not None and resource.name == resource.disk.model):
        yield resource.name
    if resource.disk is not None:
        yield resource.disk.serial or ""
        yield from _world_wide(resource.disk.wwn or "")
    if resource.pool is not None:
        yield resource.pool.name or ""
        yield resource.pool.zfs.name if resource.pool.zfs is not None else ""
        if resource.pool.btrfs is not None:
            yield resource.pool.btrfs.label
            yield resource.pool.btrfs.uuid
    if resource.raid is not None:
        yield resource.raid.name or ""
        yield resource.raid.uuid or ""
    yield from resource.aliases


def _world_wide(name: str) -> Iterator[str]:
    yield name
    for prefix in _WORLD_WIDE_PREFIXES:
        if name.casefold().startswith(prefix):
            yield name[len(prefix) :]


# Fields of an estate, wherever they are in it, whose text names something.
_FIELDS = {
    **dict.fromkeys(("hostname", "host", "node", "nodes", "source_node", "target_node", "active_mgr"), Label.HOST),
    **dict.fromkeys(("vm_name", "guest_name"), Label.GUEST),
    **dict.fromkeys(("instance", "instances", "source"), Label.ORIGIN),
    **dict.fromkeys(("datastore", "store", "storage"), Label.STORAGE),
    **dict.fromkeys(("tags", "snapshot_name", "namespace"), Label.TAG),
    **dict.fromkeys(("address", "addresses", "addr"), Label.ADDRESS),
    **dict.fromkeys(("serial", "wwn"), Label.SERIAL),
    **dict.fromkeys(("uuid", "fsid"), Label.UUID),
    "mac": Label.MAC,
    "resource_name": Label.NAME,
}
# Fields called `name`, by the list that they stand in: those of sensors and units are the same in every house.
_LISTS = {
    "sources": Label.ORIGIN,
    "pbs_servers": Label.HOST,
    "datastores": Label.STORAGE,
    "backup_stores": Label.STORAGE,
    "monitors": Label.HOST,
    "mons": Label.HOST,
    "pools": Label.STORAGE,
    "interfaces": Label.NETWORK,
}
_PARTED = frozenset({"address", "addresses", "addr", "namespace"})


def other_texts(estate: Estate) -> Iterator[Text]:
    """What names something beside the names of resources: addresses, clusters, servers, stores, tags, guests of old."""
    yield from (Text(zone, Label.ORIGIN) for zone in estate.zones)
    yield from _texts_in(estate, "")


def _texts_in(value: object, field: str) -> Iterator[Text]:
    """The named texts in a value that stands in a field of this name."""
    if isinstance(value, str):
        label = _FIELDS.get(field)
        if label is not None and value:
            # `10.0.0.1/24` is an address in a network, `team/shop` a namespace in another.
            yield from (Text(part, label) for part in (value.split("/") if field in _PARTED else (value,)))
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            inner = getattr(value, name)
            if name == "name" and field in _LISTS and isinstance(inner, str):
                yield Text(inner, _LISTS[field])
            elif isinstance(inner, (str, list, msgspec.Struct)):
                yield from _texts_in(inner, name)
    elif isinstance(value, list):
        for each in value:
            yield from _texts_in(each, field)


def parts_of_id(resource_id: ResourceId) -> tuple[str, str, str] | None:
    """Type, origin and native name of a canonical id; None for what has no such parts."""
    kind, _, rest = resource_id.partition(":")
    origin, _, native = rest.partition(":")
    return (kind, origin, native) if kind and origin and native else None


def unescaped(part: str) -> str:
    """A part of an id as the thing itself is called."""
    return unquote(part.replace("%", "%25").replace("~", "%"), errors="replace")


def single_names(texts: Iterable[str]) -> Iterator[str]:
    """Names without those that are made of others: `host/device` is known by its parts."""
    for text in texts:
        yield from text.split("/") if "/" in text else (text,)
