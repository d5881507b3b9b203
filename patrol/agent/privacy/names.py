"""What has to be hidden of an estate: everything that its owners named, and everything that can be looked up."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote

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


@dataclass(frozen=True, slots=True)
class Text:
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


def other_texts(estate: Estate) -> Iterator[Text]:
    """What names something that is no resource: addresses, clusters, backup servers, stores, tags."""
    for source in estate.sources:
        yield Text(source.name, Label.ORIGIN)
    for zone in estate.zones:
        yield Text(zone, Label.ORIGIN)
    for resource in estate.resources:
        yield Text(resource.instance, Label.ORIGIN)
        yield Text(resource.source, Label.ORIGIN)
        yield from _addresses(resource)
        yield from (Text(tag, Label.TAG) for tag in resource.tags)
        if resource.disk is not None:
            yield Text(resource.disk.node or "", Label.HOST)
    yield from _of_backups(estate)
    for alert in estate.alerts:
        yield Text(alert.resource_name, Label.NAME)


def _addresses(resource: Resource) -> Iterator[Text]:
    for address in resource.addresses:
        yield Text(address.partition("/")[0], Label.ADDRESS)
    for probe in resource.probes or ():
        yield Text(probe.address, Label.ADDRESS)


def _of_backups(estate: Estate) -> Iterator[Text]:
    for server in estate.pbs_servers:
        yield Text(server.name, Label.HOST)
        yield Text(server.host, Label.HOST)
        yield from (Text(each.name, Label.STORAGE) for each in server.datastores)
    for store in estate.backup_stores:
        yield Text(store.name, Label.STORAGE)
        yield from (Text(each, Label.ORIGIN) for each in store.instances)
    for task in estate.backup_tasks:
        yield Text(task.vm_name or "", Label.GUEST)
        yield Text(task.node or "", Label.HOST)
        yield Text(task.instance or "", Label.ORIGIN)
    for backup in estate.pbs_backups:
        yield Text(backup.instance or "", Label.ORIGIN)
        yield Text(backup.datastore or "", Label.STORAGE)
        yield from (Text(each, Label.TAG) for each in (backup.namespace or "").split("/"))
    for copy in estate.pve_backups:
        yield Text(copy.storage or "", Label.STORAGE)
        yield Text(copy.instance or "", Label.ORIGIN)
    for job in estate.pbs_jobs:
        yield Text(job.store or "", Label.STORAGE)
        yield Text(job.instance or "", Label.ORIGIN)


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
