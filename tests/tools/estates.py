"""Small estates for the tests of the tools."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from findings.model import Finding, Gap, GapReason, Topic
from findings.silence import Silence
from patrol.estate.model import Estate, Metric, Reading, Resource, ResourceType, SourceState, Status
from patrol.history.model import Level, Measure, Point, SeriesKey, moment
from patrol.tools.registry import Toolbox
from signals.ceph_evidence import CephHealthRow, CephRow
from signals.evidence import DiskRow
from signals.storage_evidence import FilesystemRow, PoolRow, RaidRow

NOW = datetime(2026, 3, 2, 6, tzinfo=UTC)


def source(name: str = "lab", kind: str = "pve", *, connected: bool = True) -> SourceState:
    return SourceState(name=name, type=kind, connected=connected, read=list(Topic))


def node(instance: str, name: str, **fields: object) -> Resource:
    return Resource(
        **{
            "id": f"node:{instance}:{name}",
            "type": ResourceType.NODE,
            "name": name,
            "status": Status.ONLINE,
            "instance": instance,
            "source": "lab",
            **fields,
        }
    )


def guest(instance: str, vmid: int, on: str, **fields: object) -> Resource:
    kind = fields.get("type", ResourceType.VM)
    return Resource(
        **{
            "id": f"{kind}:{instance}:{vmid}",
            "type": kind,
            "name": f"guest-{vmid}",
            "status": Status.RUNNING,
            "parent": f"node:{instance}:{on}",
            "instance": instance,
            "vmid": vmid,
            "source": "lab",
            **fields,
        }
    )


def disk(host: str, device: str, **row: object) -> Resource:
    return Resource(
        id=f"disk:{host}:{device}",
        type=ResourceType.DISK,
        name=device,
        parent=f"node:a:{host}",
        source="lab",
        disk=DiskRow(device=f"/dev/{device}", **row),
    )


def pool(host: str, name: str, **row: object) -> Resource:
    return Resource(
        id=f"storage:{host}:{name}",
        type=ResourceType.STORAGE,
        name=name,
        parent=f"node:a:{host}",
        source="lab",
        pool=PoolRow(**row),
    )


def cluster(fsid: str, **row: object) -> Resource:
    return Resource(
        id=f"storage:ceph:{fsid}",
        type=ResourceType.STORAGE,
        name="ceph",
        source="lab",
        ceph=CephRow(**{"fsid": fsid, "health": CephHealthRow(status="HEALTH_OK"), **row}),
    )


def array(host: str, name: str, **row: object) -> Resource:
    return Resource(
        id=f"raid:{host}:{name}",
        type=ResourceType.RAID,
        name=name,
        parent=f"node:a:{host}",
        source="lab",
        raid=RaidRow(**row),
    )


def filesystem(mountpoint: str, percent: float | None) -> FilesystemRow:
    return FilesystemRow(device="/dev/sda1", mountpoint=mountpoint, usage_percent=percent)


def readings(cpu: float | None = None, *, window: float = 300, memory: float | None = None) -> dict[Metric, Reading]:
    found = {}
    if cpu is not None:
        found[Metric.CPU] = Reading(value=cpu, window_seconds=window)
    if memory is not None:
        found[Metric.MEMORY] = Reading(value=memory)
    return found


def gap(topic: Topic, resource_id: str | None = None, *, of: str = "lab", subject: str = "") -> Gap:
    return Gap(
        source=of, topic=topic, reason=GapReason.FAILED, detail="it failed", resource_id=resource_id, subject=subject
    )


def two_nodes(**sections: object) -> Estate:
    """Two nodes of cluster `a` with guests, disks, pools and arrays."""
    return Estate(
        sources=[source()],
        resources=[
            node("a", "pve1", metrics=readings(90, memory=50), filesystems=[filesystem("/", 40)], units=[], sensors=[]),
            node("a", "pve2", metrics=readings(10, window=0), filesystems=[filesystem("/", 91)]),
            guest("a", 101, "pve1", metrics=readings(5), filesystems=[]),
            guest("a", 102, "pve2", status=Status.STOPPED),
            guest("a", 103, "pve2", type=ResourceType.SYSTEM_CONTAINER),
            disk("pve1", "sda", health="PASSED", type="sata", serial="WD-AAA111"),
            disk("pve1", "sdb", health="FAILED", type="sata"),
            disk("pve2", "nvme0n1", health="PASSED", type="nvme"),
            pool("pve1", "local-lvm", usage_percent=91, status="available"),
            pool("pve2", "local-lvm", usage_percent=20, status="available"),
            array("pve1", "md0", state="clean", device="/dev/md0"),
            array("pve2", "md0", state="degraded", device="/dev/md0"),
        ],
        **sections,
    )


@dataclass(frozen=True, kw_only=True)
class GivenFindings:
    """Findings of earlier runs, as a test gives them."""

    findings: Sequence[Finding] = ()
    quiet_by: Sequence[Silence] = ()
    now: datetime = NOW

    def open_findings(self) -> Sequence[Finding]:
        return self.findings

    def silences(self) -> Sequence[Silence]:
        return self.quiet_by


@dataclass(frozen=True, kw_only=True)
class GivenPast:
    """Stored averages of hours, the newest last, as a test gives them: by resource, measure and subject."""

    series: dict[SeriesKey, Sequence[float]]
    now: datetime = NOW

    def points(
        self,
        resource_ids: Collection[str],
        measures: Collection[Measure],
        period: timedelta,
        *,
        step: Level,
        extremes: bool = True,
    ) -> dict[SeriesKey, list[Point]]:
        return {
            key: self._of_hours(values, period)
            for key, values in self.series.items()
            if key.resource_id in resource_ids and key.measure in measures
        }

    def _of_hours(self, values: Sequence[float], period: timedelta) -> list[Point]:
        until = self.now.timestamp() // 3600 * 3600
        points = [moment(until - 3600 * back, value) for back, value in enumerate(reversed(values), 1)]
        return sorted(point for point in points if point.at_seconds >= self.now.timestamp() - period.total_seconds())


def toolbox(estate: Estate, known: GivenFindings | None = None, past: GivenPast | None = None) -> Toolbox:
    """Tools over an estate, a record of findings and a history: empty ones where none are given."""
    return Toolbox(estate, NOW, past or GivenPast(series={}), known or GivenFindings())
