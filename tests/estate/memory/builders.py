"""Estates in few words, and a memory that lives from one to the next."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import msgspec

from findings.model import Gap, GapReason, Topic
from patrol.estate.memory.follow import follow
from patrol.estate.memory.model import Memory, Recognition, Remembered
from patrol.estate.memory.recognise import recognise
from patrol.estate.model import Estate, Resource, ResourceType, SourceState, Status
from signals.evidence import DiskRow

NOW = datetime(2026, 11, 29, 21, 0, tzinfo=UTC)


def host(name: str = "hosta", machine: str = "", **more) -> Resource:
    aliases = [f"machine-id:{machine}"] if machine else []
    return Resource(
        id=f"agent:local:{name}",
        type=ResourceType.AGENT,
        name=name,
        status=more.pop("status", Status.ONLINE),
        source="local",
        aliases=aliases,
        **more,
    )


def disk(device: str = "sda", serial: str = "", wwn: str = "", *, on: str = "hosta", **more) -> Resource:
    """A disk with the id that a source gives it."""
    natural = f"serial:{serial}" if serial else f"wwn:{wwn}" if wwn else f"{on}:{device}"
    row = DiskRow(device=device, serial=serial or None, wwn=wwn or None)
    return Resource(
        id=f"disk:{natural}",
        type=ResourceType.DISK,
        name=device,
        source=more.pop("source", "local"),
        parent=f"agent:local:{on}",
        disk=row,
        **more,
    )


def guest(vmid: int = 101, name: str = "web", *, cluster: str = "pve", kind: str = "vm", **more) -> Resource:
    return Resource(
        id=f"{kind}:{cluster}:{vmid}",
        type=ResourceType(kind),
        name=name,
        status=Status.RUNNING,
        source=more.pop("source", "local"),
        vmid=vmid,
        instance=cluster,
        **more,
    )


def estate(
    *resources: Resource, gaps: Sequence[Gap] = (), connected: bool = True, sources: Sequence[str] = ("local",)
) -> Estate:
    states = [SourceState(name=name, connected=connected, read=list(Topic) if connected else []) for name in sources]
    return Estate(collected_at=NOW, resources=list(resources), gaps=list(gaps), sources=states)


def gap(topic: Topic = Topic.INVENTORY, resource_id: str | None = None, source: str = "local") -> Gap:
    return Gap(source=source, topic=topic, reason=GapReason.FAILED, detail="it failed", resource_id=resource_id)


@dataclass(slots=True)
class Life:
    """What a database does, without one."""

    memory: Memory = field(default_factory=Memory)
    now: datetime = NOW

    def sees(self, *resources: Resource, counts_absence: bool = True, **more) -> list[str]:
        """One run over what was collected; gives the ids that it goes by, in the order of the resources."""
        return self.takes(estate(*resources, **more), counts_absence=counts_absence)

    def takes(self, collected: Estate, *, counts_absence: bool = True) -> list[str]:
        self.now += timedelta(hours=1)
        self.recognises(collected, counts_absence=counts_absence)
        return [resource.id for resource in collected.resources]

    def recognises(self, collected: Estate, *, counts_absence: bool = True) -> Recognition:
        recognition = recognise(collected, self.memory, self.now, counts_absence=counts_absence)
        follow(collected, recognition)
        self.memory = after(self.memory, recognition, self.now)
        return recognition

    def __getitem__(self, resource_id: str) -> Remembered:
        return self.memory.resources[resource_id]

    def presences(self) -> dict[str, str]:
        return {each.id: str(each.presence) for each in self.memory.resources.values()}


def after(memory: Memory, recognition: Recognition, now: datetime) -> Memory:
    """The memory as the store leaves it behind."""
    kept = {merge.retired: merge.kept for merge in recognition.merges}
    resources = {each.id: each for each in memory.resources.values() if each.id not in kept}
    resources |= {each.id: each for each in recognition.new}
    resources |= {each.after.id: each.after for each in recognition.changed}
    aliases = {}
    for each in [*(alias for texts in memory.aliases.values() for alias in texts.values()), *recognition.aliases]:
        owner = kept.get(each.resource_id, each.resource_id)
        if each.alias != owner:
            aliases[owner, each.alias] = msgspec.structs.replace(each, resource_id=owner)
    if recognition.saw_all:
        resources = {
            key: msgspec.structs.replace(each, last_seen_at=now) if each.presence == "present" else each
            for key, each in resources.items()
        }
    return Memory(resources.values(), aliases.values())
