"""Random estates of three sources, with what was broken in them, and with the junk that real estates are full of."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st

from findings.model import Gap, GapReason, Topic
from patrol.estate.collect import merge_estates
from patrol.estate.model import Alert, Estate, Metric, Reading, Resource, ResourceType, SourceState, Status
from signals.backup_evidence import BackupTaskRow, PbsBackupRow, PbsServerRow
from signals.evidence import BackupStore, ProbeRow
from signals.storage_evidence import PoolRow
from tests.acceptance.faults import FAULTS, Condition, Fault
from tests.acceptance.things import CLUSTERS, DATASTORE, HOSTILE, PBS, THINGS, ZONES, Place, Thing, ago, spelled
from tests.run.builders import NOW

SOURCES = {"lab": "pve", "site2": "pve", "pbs1": "pbs", "hosts": "local"}

Parts = dict[str, Estate]
"""What each source brings, by its name."""


@dataclass(frozen=True, slots=True)
class Planting:
    """One thing of an estate, and what is wrong with it (None: nothing)."""

    thing: str
    cluster: str
    seed: int
    fault: Fault | None


@dataclass(frozen=True, slots=True)
class Plan:
    """An estate that can be told again and again. `junk`: what else is in it, none of it a fault."""

    plantings: tuple[Planting, ...]
    junk: tuple[str, ...] = ()
    seed: int = 0

    def parts(self, *, mended: bool = False) -> Parts:
        """What the sources bring. `mended`: nothing is wrong, nothing is near a limit, and all can be read."""
        return self._told(mended=mended)[0]

    def estate(self, *, mended: bool = False) -> Estate:
        """The same as one estate with canonical ids, as a run has it."""
        return merge_estates(self.parts(mended=mended).values())

    @property
    def faults(self) -> set[Condition]:
        """Everything that is wrong, and must be found; nothing else may be."""
        return self._told(mended=False)[1]

    def _told(self, *, mended: bool) -> tuple[Parts, set[Condition]]:
        parts, faults = _empty_house(), set[Condition]()
        numbers = dict.fromkeys(CLUSTERS, 0)
        for planting in self.plantings:
            numbers[planting.cluster] += 1
            place = Place(planting.cluster, numbers[planting.cluster], calm=mended)
            thing = THINGS[planting.thing](Random(planting.seed), place)
            if planting.fault is not None:
                struck = thing if not mended else deepcopy(thing)
                found = list(planting.fault.strike(struck, Random(planting.seed + 1)))
                faults.update(found)
            _settle(parts, thing)
        if not mended:
            random = Random(self.seed)
            faulty = {each.resource_id for each in faults}
            for name in self.junk:
                JUNK[name](parts, random, faulty)
        return parts, faults


def _empty_house() -> Parts:
    """Two clusters with a node of one name, two hosts, a backup server with its datastore: all well."""
    parts = {
        name: Estate(
            collected_at=NOW,
            sources=[SourceState(name=name, type=kind, read=list(Topic))],
            zones={name: ZONES[name]} if name in ZONES else {},
        )
        for name, kind in SOURCES.items()
    }
    for cluster in CLUSTERS:
        parts[cluster].resources.append(
            Resource(
                id=f"node:{cluster}:pve1",
                type=ResourceType.NODE,
                name="pve1",
                status=Status.ONLINE,
                source=cluster,
                instance=cluster,
                metrics={Metric.CPU: Reading(value=12, window_seconds=300), Metric.MEMORY: Reading(value=40)},
            )
        )
    parts["hosts"].resources = [
        Resource(
            id=f"agent:local:{name}", type=ResourceType.AGENT, name=name, status=Status.ONLINE, source="hosts", units=[]
        )
        for name in ("nas", "nas2")
    ]
    server = parts["pbs1"]
    server.resources = [
        Resource(id=PBS, type=ResourceType.PBS, name="pbs1", status=Status.ONLINE, source="pbs1", instance="pbs1"),
        Resource(
            id=DATASTORE,
            type=ResourceType.STORAGE,
            name="main",
            source="pbs1",
            parent=PBS,
            pool=PoolRow(usage_percent=33, total_gb=9000, status="available", active=True),
        ),
    ]
    server.backup_stores = [BackupStore(id=DATASTORE, name="main")]
    server.pbs_servers = [PbsServerRow(name="pbs1", host="10.0.0.5", status="online")]
    return parts


def _settle(parts: Parts, thing: Thing) -> None:
    for resource in thing.resources:
        parts[resource.source].resources.append(resource)
    for task in thing.tasks:
        parts[task.instance or ""].backup_tasks.append(task)
    parts["pbs1"].pbs_backups.extend(thing.pbs)
    parts["pbs1"].pbs_jobs.extend(thing.jobs)
    for job in thing.replications:
        parts[job.instance or ""].replication_jobs.append(job)
    for backup in thing.pve:
        parts[backup.instance or ""].pve_backups.append(backup)


# --- junk: none of it may become a signal, or hide one ----------------------------------------------------------------


def _seen_twice(parts: Parts, random: Random, faulty: set[str]) -> None:
    """Another observer of some resources, who measured nothing of them; and rows that are listed twice."""
    for part in parts.values():
        for resource in list(part.resources):
            if random.random() < 0.5 and resource.id:
                seen = Resource(
                    id=resource.id,
                    type=resource.type,
                    name=resource.name,
                    status=resource.status,
                    source="hosts",
                    parent=resource.parent,
                    vmid=resource.vmid,
                    instance=resource.instance,
                    template=resource.template,
                    disk=deepcopy(resource.disk),
                )
                if seen.disk is not None:
                    seen.disk.health, seen.disk.smart_complete, seen.disk.failing = None, False, []
                    seen.disk.attributes = seen.disk.smart_attributes = seen.disk.smartAttributes = None
                    seen.disk.reasons = ["Smartctl open device: /dev/sda failed: Permission denied"]
                    seen.disk.temperature = seen.disk.wearout = seen.disk.life_used_percent = None
                part.resources.append(seen)
        for rows in (part.backup_tasks, part.pbs_backups, part.pve_backups):
            rows.extend(deepcopy(random.sample(rows, len(rows) // 2)))  # type: ignore[attr-defined,arg-type]


def _called_alike(parts: Parts, random: Random, faulty: set[str]) -> None:
    """Names and aliases that several resources share, and that are ids of others."""
    resources = [resource for part in parts.values() for resource in part.resources]
    for resource in resources:
        resource.aliases.extend(random.sample(("100", "101", "pve1", "main", "local1", resources[0].name, "nas"), 2))


def _gone(parts: Parts, random: Random, faulty: set[str]) -> None:
    """Backups and failed attempts of guests that do not exist any more, and of no guest at all."""
    pbs = parts["pbs1"]
    for vmid in (900, "901", "vm/902", 0, None):
        pbs.pbs_backups.append(
            PbsBackupRow(vmid=vmid, backup_type="vm", instance="pbs1", backup_time=spelled(ago(1400), random, "pbs1"))
        )
        parts["lab"].backup_tasks.append(
            BackupTaskRow(
                vmid=vmid or 903,
                instance="lab",
                type="vzdump",
                status="job errors",
                end_time=spelled(ago(3), random, "lab"),
            )
        )
    pbs.pbs_backups.append(PbsBackupRow(vmid="router", backup_type="host", backup_time=ago(9000).isoformat()))
    parts["lab"].backup_tasks.append(
        BackupTaskRow(
            vmid=101, instance="lab", type="qmstart", status="start failed: timeout", end_time=ago(1).isoformat()
        )
    )


def _ahead_of_time(parts: Parts, random: Random, faulty: set[str]) -> None:
    """Backups that claim to be of the future, and times that are none, of guests that have a fresh one beside them."""
    for cluster in CLUSTERS:
        for row in list(parts[cluster].pve_backups):
            owner = f"{cluster}:{row.vmid}"
            if not any(each.endswith(owner) for each in faulty):
                odd = random.choice((ago(-300).isoformat(), "yesterday", "0001-01-01T00:00:00Z", -1, 1e300))
                parts[cluster].pve_backups.append(deepcopy(row))
                parts[cluster].pve_backups[-1].backup_time = odd


def _unmeasured(parts: Parts, random: Random, faulty: set[str]) -> None:
    """Values that are none, on resources that have no fault."""
    for resource in _healthy(parts, faulty):
        for metric in list(resource.metrics):
            if random.random() < 0.3:
                resource.metrics[metric] = random.choice(
                    (
                        Reading(value=-1),
                        Reading(value=0),
                        Reading(value=796, window_seconds=300),
                        Reading(value=99, window_seconds=60),
                    )
                    if metric is Metric.CPU
                    else (Reading(value=-1), Reading(value=0), Reading(value=250))
                )
        if resource.disk is not None and random.random() < 0.4:
            resource.disk.temperature = random.choice((None, 0, -1, 255))
            resource.disk.health = random.choice((None, "", "UNKNOWN", "n/a"))
        if resource.pool is not None and random.random() < 0.4:
            resource.pool.usage_percent = random.choice((None, -1, 101))
        for row in resource.filesystems or ():
            if random.random() < 0.3:
                row.usage_percent, row.free_bytes = random.choice((None, -1, 0)), None


def _unread(parts: Parts, random: Random, faulty: set[str]) -> None:
    """Gaps, some on resources with faults: what was read beside them counts all the same."""
    for name, part in parts.items():
        for resource in part.resources:
            topic = random.choice(list(set(Topic) - {Topic.BACKUPS, Topic.INVENTORY}))
            if random.random() < 0.4 and resource.id:
                part.gaps.append(_gap(name, topic, resource.id))
        for topic in (Topic.SMART, Topic.POOLS, Topic.CPU, Topic.UNITS, Topic.RAID, Topic.FILESYSTEMS):
            if random.random() < 0.1:
                part.gaps.append(_gap(name, topic))


def _alerted(parts: Parts, random: Random, faulty: set[str]) -> None:
    """Alerts of the monitoring system: they are not mirrored."""
    for resource in _healthy(parts, faulty):
        parts["lab"].alerts.append(
            Alert(
                id=f"alert-{resource.id}",
                resource_id=resource.id,
                type="cpu",
                severity="critical",
                value=99,
                threshold=80,
                message=random.choice(HOSTILE),
            )
        )


def _many_names(parts: Parts, random: Random, faulty: set[str]) -> None:
    """Hostile names on everything whose name decides nothing."""
    for resource in _healthy(parts, faulty):
        if resource.type in {ResourceType.VM, ResourceType.SYSTEM_CONTAINER, ResourceType.DISK}:
            resource.name = random.choice(HOSTILE)
            resource.tags.append(random.choice(HOSTILE))


def _silent_below_offline(parts: Parts, random: Random, faulty: set[str]) -> None:
    """A guest that does not answer because its node is away, which is the node's finding."""
    part = parts["lab"]
    offline = [each for each in part.resources if each.status is Status.OFFLINE and each.type is ResourceType.NODE]
    for number, above in enumerate(offline):
        part.resources.append(
            Resource(
                id=f"vm:lab:{700 + number}",
                type=ResourceType.VM,
                status=random.choice((Status.RUNNING, Status.UNKNOWN)),
                source="lab",
                instance="lab",
                parent=above.id,
                vmid=700 + number,
                first_seen=ago(1),
                probes=[ProbeRow(kind="tcp:22", ok=False, address="10.0.0.8")],
            )
        )


def _healthy(parts: Parts, faulty: set[str]) -> list[Resource]:
    """Resources that have no fault under any of the ids that they may get."""
    return [
        resource
        for part in parts.values()
        for resource in part.resources
        if resource.id not in faulty and not any(alias.removeprefix("the-id:") in faulty for alias in resource.aliases)
    ]


def _gap(source: str, topic: Topic, resource_id: str | None = None) -> Gap:
    return Gap(source=source, topic=topic, reason=GapReason.FAILED, detail="it failed", resource_id=resource_id)


JUNK: dict[str, Callable[[Parts, Random, set[str]], None]] = {
    "seen twice": _seen_twice,
    "called alike": _called_alike,
    "gone": _gone,
    "ahead of time": _ahead_of_time,
    "unmeasured": _unmeasured,
    "unread": _unread,
    "alerted": _alerted,
    "many names": _many_names,
    "silent below offline": _silent_below_offline,
}


# --- strategies -------------------------------------------------------------------------------------------------------

_SEEDS = st.integers(0, 2**16)


def plantings(things: Sequence[str] = tuple(THINGS)) -> st.SearchStrategy[Planting]:
    """A thing of one of these sorts, well or with one fault."""

    def of(thing: str) -> st.SearchStrategy[Planting]:
        faults = st.sampled_from((None, *FAULTS.get(thing, ())))
        return st.builds(Planting, st.just(thing), st.sampled_from(CLUSTERS), _SEEDS, faults)

    return st.sampled_from(things).flatmap(of)


def plans(*, most: int = 14, junk: Sequence[str] = tuple(JUNK)) -> st.SearchStrategy[Plan]:
    """Estates of up to `most` things beside the nodes, hosts and backup server that are always there."""
    return st.builds(
        Plan,
        st.lists(plantings(), min_size=1, max_size=most).map(tuple),
        st.lists(st.sampled_from(junk), unique=True).map(tuple) if junk else st.just(()),
        _SEEDS,
    )
