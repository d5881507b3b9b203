"""Ways in which a source can lose sight: of some sections, of a topic, of some resources, of everything."""

from collections.abc import Callable
from random import Random

from findings.model import Gap, GapReason, Sight, Topic
from patrol.estate.model import Estate, Metric, Resource, SourceState
from signals.backup_evidence import BackupTaskRow
from signals.evidence import DiskRow
from signals.times import parse_time
from tests.acceptance.things import ZONES

Blinder = Callable[[str, Estate, Random], Estate | Exception]
"""What a source of this name brings instead."""

_METRICS = {
    Topic.CPU: (Metric.CPU,),
    Topic.MEMORY: (Metric.MEMORY,),
    Topic.SWAP: (Metric.SWAP,),
    Topic.PRESSURE: (Metric.PRESSURE_CPU, Metric.PRESSURE_MEMORY, Metric.PRESSURE_IO),
}
_SECTIONS = {
    Topic.UNITS: "units",
    Topic.TEMPERATURES: "sensors",
    Topic.REACHABILITY: "probes",
    Topic.POOLS: "pool",
    Topic.RAID: "raid",
    Topic.SNAPSHOTS: "snapshots",
    Topic.CEPH: "ceph",
    Topic.NETWORK: "interfaces",
}


_LISTS = (Topic.BACKUPS, Topic.BACKUP_TASKS, Topic.REPLICATION)


def _gap(source: str, topic: Topic, resource_id: str | None = None) -> Gap:
    return Gap(
        source=source,
        topic=topic,
        reason=GapReason.FAILED,
        detail="lost from sight",
        resource_id=resource_id,
        sight=Sight.LOST,
    )


def _hide(resource: Resource, topic: Topic) -> None:
    for metric in _METRICS.get(topic, ()):
        resource.metrics.pop(metric, None)
    if topic is Topic.SMART and resource.disk is not None:
        # Which disk it is remains to be seen, else it would be another resource.
        row = resource.disk
        resource.disk = DiskRow(
            dev_path=row.dev_path, model=row.model, serial=row.serial, wwn=row.wwn, type=row.type, rpm=row.rpm
        )
    elif topic in _SECTIONS:
        setattr(resource, _SECTIONS[topic], None)
    if topic is Topic.FILESYSTEMS:
        resource.filesystems = None
        resource.metrics.pop(Metric.DISK, None)


def nothing_lost(name: str, part: Estate, random: Random) -> Estate:
    return part


def sections_lost(name: str, part: Estate, random: Random) -> Estate:
    """Some sections of some resources, each with its gap."""
    for resource in part.resources:
        for topic in (*_METRICS, *_SECTIONS, Topic.SMART, Topic.FILESYSTEMS):
            if random.random() < 0.3 and resource.id:
                _hide(resource, topic)
                part.gaps.append(_gap(name, topic, resource.id))
    return part


def sections_silently_lost(name: str, part: Estate, random: Random) -> Estate:
    """Sections that are just not there: nobody says why."""
    for resource in part.resources:
        for topic in (*_METRICS, *_SECTIONS, Topic.SMART, Topic.FILESYSTEMS):
            # A kernel that shows no pressure is no loss of sight.
            if topic is not Topic.PRESSURE and random.random() < 0.3:
                _hide(resource, topic)
    return part


def topic_lost(name: str, part: Estate, random: Random) -> Estate:
    """A topic of the source as a whole."""
    topic = random.choice((*_METRICS, *_SECTIONS, Topic.SMART, Topic.FILESYSTEMS, *_LISTS))
    for resource in part.resources:
        _hide(resource, topic)
    if topic is Topic.BACKUPS:
        part.pbs_backups, part.pve_backups, part.backup_stores = [], [], []
    elif topic is Topic.BACKUP_TASKS:
        part.backup_tasks, part.pbs_jobs = [], []
    elif topic is Topic.REPLICATION:
        part.replication_jobs = []
    part.gaps.append(_gap(name, topic))
    return part


def list_cut(name: str, part: Estate, random: Random) -> Estate:
    """Lists that end too early, and say so."""
    for topic, rows in (
        (Topic.INVENTORY, part.resources),
        (Topic.BACKUPS, part.pbs_backups),
        (Topic.BACKUPS, part.pve_backups),
        (Topic.BACKUP_TASKS, part.backup_tasks),
        (Topic.BACKUP_TASKS, part.pbs_jobs),
        (Topic.REPLICATION, part.replication_jobs),
    ):
        if random.random() < 0.5:
            if rows is part.backup_tasks:
                part.backup_tasks.sort(key=_age)  # such lists are cut at their old end
            del rows[random.randint(0, len(rows)) :]
            part.gaps.append(_gap(name, topic))
    return part


def _age(task: BackupTaskRow) -> float:
    at = parse_time(task.end_time or task.start_time, ZONES.get(task.instance or "", ""))
    return -at.timestamp() if at is not None else 0


def store_unreadable(name: str, part: Estate, random: Random) -> Estate:
    """A place of backups that cannot be read: what it holds is not known."""
    for store in part.backup_stores:
        store.readable = False
        part.pbs_backups = []
    return part


def source_down(name: str, part: Estate, random: Random) -> Estate:
    kind = part.sources[0].type
    return Estate(
        gaps=[_gap(name, Topic.INVENTORY)] if random.random() < 0.5 else [],
        sources=[SourceState(name=name, type=kind, connected=False, detail="connection refused")],
    )


def nothing_returned(name: str, part: Estate, random: Random) -> Estate:
    return Estate(sources=part.sources)


def source_raises(name: str, part: Estate, random: Random) -> Exception:
    return RuntimeError("a bug in this source")


def node_out_of_reach(name: str, part: Estate, random: Random) -> Estate:
    """One host is not asked: it stands in the list, and nothing of it or on it is known."""
    for host in part.resources[:1]:
        for topic in (*_METRICS, *_SECTIONS, Topic.SMART, Topic.FILESYSTEMS):
            _hide(host, topic)
        part.gaps.append(_gap(name, Topic.INVENTORY, host.id))
        part.resources = [each for each in part.resources if each.parent != host.id]
        part.gaps.append(_gap(name, Topic.INVENTORY))
    return part


BLINDERS: tuple[Blinder, ...] = (
    nothing_lost,
    sections_lost,
    sections_silently_lost,
    topic_lost,
    list_cut,
    store_unreadable,
    source_down,
    nothing_returned,
    source_raises,
    node_out_of_reach,
)
