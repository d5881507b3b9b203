"""The view of the world that detection needs, made from an estate."""

from collections.abc import Iterable

from findings.model import Gap, GapReason, Sight, Topic
from patrol.estate.model import Estate, Resource
from signals.evidence import InventoryOutput, InventoryRow


def inventory_row(resource: Resource) -> InventoryRow:
    """What a resource is called, where it lives and whether it runs, without what was measured on it."""
    disk_type = ""
    if resource.disk is not None:
        disk_type = resource.disk.type or ""
    elif resource.pool is not None:
        disk_type = resource.pool.disk_type
    return InventoryRow(
        id=resource.id,
        type=resource.type.value,
        name=resource.name,
        status=resource.status.value,
        aliases=resource.aliases,
        parent=resource.parent,
        source=resource.source,
        tags=resource.tags,
        vmid=resource.vmid,
        instance=resource.instance,
        template=resource.template,
        first_seen=resource.first_seen.isoformat() if resource.first_seen is not None else None,
        disk_type=disk_type,
    )


def inventory_of(estate: Estate) -> InventoryOutput:
    """All resources in one page, ordered by id."""
    gaps = inventory_gaps(estate)
    return InventoryOutput(
        resources=[inventory_row(resource) for resource in sorted(estate.resources, key=lambda row: row.id)],
        backup_stores=estate.backup_stores,
        complete=not gaps,
        gaps=gaps,
    )


def inventory_gaps(estate: Estate) -> list[Gap]:
    """Why the list of resources may lack some: gaps of whole sources, sources that did not answer, no resource."""
    gaps = [gap for gap in estate.gaps if gap.topic is Topic.INVENTORY and gap.resource_id is None]
    gaps.extend(unanswered_sources(estate, explained={gap.source for gap in gaps}))
    if not gaps and not estate.resources:
        gaps.append(
            Gap(
                source="",
                topic=Topic.INVENTORY,
                reason=GapReason.UNREADABLE,
                detail="no source returned any resource",
                sight=Sight.LOST,
            )
        )
    return gaps


def unanswered_sources(estate: Estate, *, explained: Iterable[str]) -> list[Gap]:
    """A gap for each source that did not answer and that no gap speaks of yet."""
    spoken_of = set(explained)
    return [
        Gap(
            source=source.name,
            topic=Topic.INVENTORY,
            reason=GapReason.UNREACHABLE,
            detail=source.detail or "the source did not answer",
            sight=Sight.LOST,
        )
        for source in estate.sources
        if not source.connected and source.name not in spoken_of
    ]
