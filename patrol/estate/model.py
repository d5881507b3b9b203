"""An estate: resources with what was measured on them, backups, alerts, and the gaps.

The same structs hold a collection in a run and are the estate document (`patrol schema estate`) that the
source `snapshot` reads. The rows inside a resource are the rows that the read tools show: one shape from
the source to the detector.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Protocol

import msgspec

from findings.model import Gap, Topic
from signals.backup_evidence import BackupTaskRow, PbsBackupRow, PbsJobRow, PbsServerRow, PveBackupRow
from signals.ceph_evidence import CephRow
from signals.evidence import BackupStore, DiskRow, ProbeRow, SensorRow, UnitRow
from signals.pages import Whole
from signals.protection_evidence import ReplicationRow, SnapshotRow
from signals.storage_evidence import FilesystemRow, PoolRow, RaidRow
from signals.traffic_evidence import BlockDeviceRow, InterfaceRow

SCHEMA_VERSION = 1


class ResourceType(StrEnum):
    """What a resource is. The word is also the first part of its canonical id."""

    NODE = "node"  # a hypervisor of a cluster
    VM = "vm"
    SYSTEM_CONTAINER = "system-container"  # LXC
    APP_CONTAINER = "app-container"  # Docker, Podman
    DOCKER_HOST = "docker-host"
    AGENT = "agent"  # a Linux host read from inside
    STORAGE = "storage"  # a pool, datastore or multi-device file system
    RAID = "raid"  # a software RAID array
    DISK = "disk"  # a physical disk
    PBS = "pbs"  # a backup server
    K8S_CLUSTER = "k8s-cluster"
    K8S_NODE = "k8s-node"
    POD = "pod"
    NETWORK = "network"


class Status(StrEnum):
    """Whether a resource is up. `running` and `online` mean the same to every check."""

    RUNNING = "running"
    ONLINE = "online"
    STOPPED = "stopped"
    PAUSED = "paused"
    OFFLINE = "offline"
    UNKNOWN = "unknown"


class Reading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One metric. `window_seconds`: what it is the average of; 0 is a value of the moment."""

    value: float
    window_seconds: float = 0
    at: datetime | None = None


class Metric(StrEnum):
    """Metrics that a resource can carry, all in percent (0-100)."""

    CPU = "cpu"
    MEMORY = "memory"
    DISK = "disk"  # the main file system of a guest, as its hypervisor sees it
    SWAP = "swap"
    PRESSURE_CPU = "pressure_cpu"  # share of time in which some work waited for CPU
    PRESSURE_MEMORY = "pressure_memory"  # share of time in which all work waited for memory
    PRESSURE_IO = "pressure_io"  # share of time in which all work waited for I/O


class GuestConfig(msgspec.Struct, kw_only=True, omit_defaults=True):
    """How a guest or container is set up, as its host has it. `raw`: every other key as it stands there.

    It says how things are meant to be, so nothing in it is judged. Values of keys that hold secrets are never shown.
    """

    hostname: str = ""
    os_type: str = ""
    rootfs: str = ""
    image: str = ""
    mounts: list[str] = []
    disks: list[str] = []
    ports: list[str] = []
    raw: dict[str, str] = {}


class Resource(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One watched thing. A section that is None was not read: the gaps say why."""

    id: str
    type: ResourceType
    name: str = ""
    status: Status = Status.UNKNOWN
    aliases: list[str] = []
    parent: str = ""  # id of the resource it lives on or in
    source: str = ""  # configured source that reported it
    tags: list[str] = []
    vmid: Whole | None = None
    instance: str = ""  # cluster: VMIDs are unique inside one
    template: bool = False
    first_seen: datetime | None = None
    boot_with_host: bool | None = None  # onboot: whether a stopped guest is stopped by intent
    os: str = ""
    cores: Whole | None = None
    memory_total_bytes: Whole | None = None
    memory_used_bytes: Whole | None = None
    memory_arc_bytes: Whole | None = None  # ZFS cache above its minimum: counted as used by the kernel, not above
    metrics: dict[Metric, Reading] = {}
    addresses: list[str] = []
    probes: list[ProbeRow] | None = None
    filesystems: list[FilesystemRow] | None = None
    units: list[UnitRow] | None = None  # failed units only
    sensors: list[SensorRow] | None = None
    disk: DiskRow | None = None
    pool: PoolRow | None = None
    raid: RaidRow | None = None
    ceph: CephRow | None = None
    snapshots: list[SnapshotRow] | None = None
    interfaces: list[InterfaceRow] | None = None
    block_devices: list[BlockDeviceRow] | None = None
    config: GuestConfig | None = None


class Alert(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An alert of the monitoring system: shown to the model, never mirrored as a finding."""

    id: str
    resource_id: str
    resource_name: str = ""
    type: str = ""
    severity: str = ""
    value: float | None = None
    threshold: float | None = None
    start_time: datetime | None = None
    message: str = ""


class ResolvedAlert(Alert, kw_only=True, omit_defaults=True):
    """An alert that is over."""

    resolved_time: datetime | None = None


class SourceState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """How the collection of one source went. `read`: the topics that were read completely."""

    name: str
    type: str = ""
    connected: bool = True
    detail: str = ""
    duration_seconds: float = 0
    read: list[Topic] = []


class Estate(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Everything one collection read. Naive times are in the zone of their instance (`zones`), else UTC."""

    version: Whole = SCHEMA_VERSION
    collected_at: datetime | None = None
    resources: list[Resource] = []
    gaps: list[Gap] = []
    sources: list[SourceState] = []
    alerts: list[Alert] = []
    resolved_alerts: list[ResolvedAlert] = []
    backup_stores: list[BackupStore] = []
    backup_tasks: list[BackupTaskRow] = []
    pbs_backups: list[PbsBackupRow] = []
    pve_backups: list[PveBackupRow] = []
    pbs_servers: list[PbsServerRow] = []
    pbs_jobs: list[PbsJobRow] = []
    replication_jobs: list[ReplicationRow] = []
    zones: dict[str, str] = {}


class AboutResource(Protocol):
    """A row that names the resource it is about, "" where nothing says which."""

    resource_id: str


def lists_about_resources(estate: Estate) -> tuple[Sequence[AboutResource], ...]:
    """The lists of an estate whose rows refer to a resource: what renames one must follow in all of them."""
    return (
        estate.alerts,
        estate.resolved_alerts,
        estate.backup_tasks,
        estate.pbs_backups,
        estate.pve_backups,
        estate.pbs_jobs,
        estate.replication_jobs,
    )
