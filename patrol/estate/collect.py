"""From what each source brought to one estate: canonical ids, one resource for each thing, references that hold."""

import dataclasses
from collections.abc import Iterable, Mapping

from findings.identity import canonical_id
from findings.model import Gap, GapReason, ResourceId, Sight, Topic
from patrol.estate.identity import (
    GUESTS,
    groups_of_same,
    has_canonical_form,
    minted_id,
    proofs,
    strong_aliases,
    weak_disk_id,
)
from patrol.estate.merging import merge_resources
from patrol.estate.model import Estate, Resource, ResourceType, lists_about_resources
from patrol.estate.names import AliasIndex, find_host

NOTHING_RETURNED = "the source answered, but returned no resource at all"


def merge_estates(parts: Iterable[Estate]) -> Estate:
    """All sources' parts as one estate. The parts are used up: their structs become the result's.

    Every resource has a canonical id, its given id is an alias, and what several sources saw is one resource.
    Parents and the resource ids of gaps, alerts and backups follow. A connected source that returned nothing
    is a gap about the source, never the news that everything is gone.
    """
    known = [canonicalise(part) for part in parts]
    whole = Estate(collected_at=max((part.collected_at for part in known if part.collected_at), default=None))
    for part in known:
        whole.resources.extend(part.resources)
        whole.gaps.extend(part.gaps)
        whole.gaps.extend(_gaps_of_silence(part))
        whole.sources.extend(part.sources)
        whole.alerts.extend(part.alerts)
        whole.resolved_alerts.extend(part.resolved_alerts)
        whole.backup_stores.extend(part.backup_stores)
        whole.backup_tasks.extend(part.backup_tasks)
        whole.pbs_backups.extend(part.pbs_backups)
        whole.pve_backups.extend(part.pve_backups)
        whole.pbs_servers.extend(part.pbs_servers)
        whole.pbs_jobs.extend(part.pbs_jobs)
        whole.replication_jobs.extend(part.replication_jobs)
        whole.zones.update(part.zones)
    if len(known) > 1:
        renamed = _unify(whole)
        if renamed:
            _follow(whole, renamed)
    whole.gaps = list(dict.fromkeys(_standing_gaps(whole)))
    whole.backup_stores = list({store.id: store for store in whole.backup_stores}.values())
    return whole


def canonicalise(estate: Estate) -> Estate:
    """Gives every resource of one part its canonical id, in place, and unites rows of one thing.

    A given id of canonical form (`<type>:<origin>:<native>`, the type being the resource's) is kept; any
    other becomes an alias. Where two resources would be given one id and nothing proves them to be one,
    each gets its given id as the native part.
    """
    given = [resource.id for resource in estate.resources]
    _assign_ids(estate)
    renamed = _only_one_meaning(given, [resource.id for resource in estate.resources])
    for resource in estate.resources:
        resource.aliases.extend(text for text in strong_aliases(resource) if text not in resource.aliases)
    for old, new in _unify(estate).items():
        renamed[old] = new
        renamed.update({text: new for text, target in renamed.items() if target == old})
    _follow(estate, renamed)
    return estate


def _assign_ids(estate: Estate) -> None:
    source = estate.sources[0].name if len(estate.sources) == 1 else ""
    hosts = AliasIndex(estate.resources)
    minted: dict[ResourceId, list[Resource]] = {}
    for resource in estate.resources:
        if has_canonical_form(resource.id, resource.type):
            minted.setdefault(resource.id, [])
            continue
        new = minted_id(resource, host=_host_name(hosts, resource), source=resource.source or source)
        minted.setdefault(new, []).append(resource)
    taken = {resource.id for resource in estate.resources if resource.id in minted}
    for new, resources in minted.items():
        several = len({resource.id for resource in resources}) > 1  # one given id, listed again, is one thing
        clash = (several or (resources and new in taken)) and not _proves_identity(new, resources)
        for resource in resources:
            old = resource.id
            resource.id = _id_from_given(new, old) if clash else new
            if old and old not in resource.aliases:
                resource.aliases.append(old)


def _proves_identity(new: ResourceId, resources: list[Resource]) -> bool:
    """Whether a minted id stands for one thing: a disk by serial or WWN, a guest by cluster and VMID."""
    if new.startswith(("disk:serial:", "disk:wwn:")):
        return True
    return all(resource.type in GUESTS and any(proofs(resource)) for resource in resources)


def _id_from_given(new: ResourceId, given: str) -> ResourceId:
    kind, origin, _ = new.split(":", 2)
    return canonical_id(kind, origin, given) if given else new


def _host_name(hosts: AliasIndex, resource: Resource) -> str:
    if not resource.parent:
        return ""
    host = hosts.get(resource.parent) or find_host(hosts, resource.parent, instance=resource.instance)
    return (host.name if host else "") or resource.parent.rpartition(":")[2]


def _only_one_meaning(given: list[str], assigned: list[ResourceId]) -> dict[str, ResourceId]:
    """Given ids that changed. One that two resources were given refers to neither."""
    meanings: dict[str, set[ResourceId]] = {}
    for old, new in zip(given, assigned, strict=True):
        if old != new:
            meanings.setdefault(old, set()).add(new)
    return {old: next(iter(new)) for old, new in meanings.items() if len(new) == 1}


def _unify(estate: Estate) -> dict[ResourceId, ResourceId]:
    """Unites rows of one thing, in place. Returns which ids became another one.

    United rows know more than each did, and may prove to be one with a third: each pass makes them fewer, or is
    the last.
    """
    renamed: dict[ResourceId, ResourceId] = {}
    while True:
        count = len(estate.resources)
        newly = _unite_once(estate)
        renamed = {old: newly.get(new, new) for old, new in renamed.items()} | newly
        if len(estate.resources) == count:
            return renamed


def _unite_once(estate: Estate) -> dict[ResourceId, ResourceId]:
    groups = groups_of_same(estate.resources)
    _part_false_twins(groups)
    renamed: dict[ResourceId, ResourceId] = {}
    resources: list[Resource] = []
    for group in groups:
        if len(group) == 1:
            resources.append(group[0])
            continue
        best = min((resource.id for resource in group), key=_weakness)
        renamed.update({resource.id: best for resource in group if resource.id != best})
        resources.append(merge_resources(group, best))
    estate.resources = resources
    return renamed


def _part_false_twins(groups: list[list[Resource]]) -> None:
    """Disks that claim one id although they are proven to be different fall back to where they sit."""
    by_id: dict[ResourceId, list[Resource]] = {}
    for group in groups:
        if group[0].type is ResourceType.DISK:
            for resource_id in {resource.id for resource in group}:
                by_id.setdefault(resource_id, []).append(group[0])
    taken = set(by_id)
    for resource_id, twins in by_id.items():
        if len(twins) == 1:
            continue
        for number, twin in enumerate(twins):
            place = twin.parent or twin.source or "unknown"
            weak = weak_disk_id(twin, place.rpartition(":")[2])
            twin.id = weak if weak not in taken else f"{weak[:190]}~{number}"
            taken.add(twin.id)
            twin.aliases = [text for text in twin.aliases if text != resource_id]


def _weakness(resource_id: ResourceId) -> int:
    """Ids that say what a thing is come before ids that say where it sits."""
    return 0 if resource_id.startswith("disk:serial:") else 1 if resource_id.startswith("disk:wwn:") else 2


def _follow(estate: Estate, renamed: Mapping[str, ResourceId]) -> None:
    """Makes every reference to a resource say its canonical id, where that can be decided."""
    index = AliasIndex(estate.resources)
    hosts: dict[tuple[str, str], str] = {}  # a host is the parent of many

    def now_called(text: str) -> str:
        if not text or index.get(text) is not None:
            return text
        found = None if text in renamed else index.find(text)
        return renamed.get(text, text) if found is None else found.id

    def host_called(text: str, instance: str) -> str:
        host = None if text in renamed or index.get(text) is not None else find_host(index, text, instance=instance)
        return host.id if host is not None else now_called(text)

    for resource in estate.resources:
        if not resource.parent:
            continue
        key = resource.parent, resource.instance
        if key not in hosts:
            hosts[key] = host_called(*key)
        if hosts[key] != resource.id:
            resource.parent = hosts[key]
    for rows in lists_about_resources(estate):
        for row in rows:
            if row.resource_id:
                row.resource_id = now_called(row.resource_id)
    estate.gaps = [
        gap if gap.resource_id is None else dataclasses.replace(gap, resource_id=now_called(gap.resource_id))
        for gap in estate.gaps
    ]


def _standing_gaps(estate: Estate) -> Iterable[Gap]:
    """The gaps that are still gaps: a disk that another source read wholly is not unseen."""
    read = {resource.id for resource in estate.resources if resource.disk is not None and resource.disk.smart_complete}
    return (gap for gap in estate.gaps if not (gap.topic is Topic.SMART and gap.resource_id in read))


def _gaps_of_silence(part: Estate) -> Iterable[Gap]:
    if part.resources or any(gap.topic is Topic.INVENTORY and gap.resource_id is None for gap in part.gaps):
        return
    for source in part.sources:
        if source.connected:
            yield Gap(
                source=source.name,
                topic=Topic.INVENTORY,
                reason=GapReason.UNREADABLE,
                detail=NOTHING_RETURNED,
                sight=Sight.LOST,
            )
