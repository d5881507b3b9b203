"""The outputs of the read tools as structs: built by the tools in a run, decoded from recorded text in a replay.

Field names are the documented ones (JSON, snake_case unless the wire says otherwise); percentages are
0-100, `_gb` is 2^30 bytes. Fields marked "Patrol adds" travel beside the documented ones, so that a
detection is a function of its transcript alone. None means "not measured", never zero.

Every output of Patrol's own tools carries `complete` (everything asked for was read and understood) and
`gaps` (what was not). A recorded output without `complete` never clears anything.
"""

from typing import Annotated, TypeVar

import msgspec

from findings.model import Gap

Id = str | int | None
"""An id as it comes: text or a number (VMIDs come as either)."""

Time = str | int | float | None
"""An instant as it comes: RFC 3339, the same with a space or without a zone, or epoch seconds."""


Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""A whole number that a counter can hold. One without end is no reading: it costs its row."""

Value = TypeVar("Value")


def always(value: Value) -> Value:
    """The default of a field that is written also where it holds just this, as the documents promise it."""
    return msgspec.field(default_factory=lambda: value)


def always_list() -> list[Value]:
    """Likewise an empty list: of what was looked for, there is nothing."""
    return msgspec.field(default_factory=_new_list)


def always_map() -> dict[str, Value]:
    """Likewise an empty object."""
    return msgspec.field(default_factory=_new_map)


def _new_list() -> list[Value]:
    # Not `list` itself: an empty one of those is left out.
    return []


def _new_map() -> dict[str, Value]:
    return {}


class Row(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """One row of a page."""


class Pagination(Row, omit_defaults=False):
    total: Whole = 0
    limit: Whole = 0
    offset: Whole = 0


class Page(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """What every output has beside its rows. `zone`: IANA name that naive times of this page are in."""

    pagination: Pagination | None = None
    complete: bool = always(False)  # noqa: FBT003
    gaps: list[Gap] = always_list()
    zone: str = ""


# --- pulse_query action=inventory: the view of the world that a transcript carries (Patrol adds) --------------------


class InventoryRow(Row):
    """One watched thing. `aliases`: every other id and name it was ever seen under."""

    id: str
    type: str = ""
    name: str = ""
    status: str = ""
    aliases: list[str] = []
    parent: str = ""  # id of the node, host or server it lives on
    source: str = ""  # configured source that reported it
    tags: list[str] = []
    vmid: Whole | None = None
    instance: str = ""  # cluster or instance: VMIDs are unique inside one
    template: bool = False
    first_seen: Time = None
    disk_type: str = ""  # nvme | sata | sas | hdd, where the resource is a disk or lies on one


class BackupStore(Row):
    """A place that holds backups. `readable` False: what it holds is unknown, so its guests are not stale."""

    id: str
    name: str = ""
    readable: bool = True
    instances: list[str] = []  # instances whose guests may be backed up there; empty: any


class InventoryOutput(Page):
    resources: list[InventoryRow] = always_list()
    backup_stores: list[BackupStore] = []


# --- pulse_metrics -----------------------------------------------------------------------------------------------


class PerformanceRow(Row):
    """Averages of one resource over the period, or (percent fields) its values of now."""

    id: Id = None
    name: str | None = None
    type: str | None = None
    node: str | None = None
    resource_id: Id = None
    resource_name: str | None = None
    resource_type: str | None = None
    avg_cpu: float | None = None
    max_cpu: float | None = None
    avg_memory: float | None = None
    max_memory: float | None = None
    avg_disk: float | None = None
    max_disk: float | None = None
    cpu_percent: float | None = None
    mem_percent: float | None = None
    memory_percent: float | None = None
    disk_percent: float | None = None
    trend: str | None = None
    # Patrol adds
    cpu_window_seconds: float | None = None  # None in a recorded page: the average of its period
    swap_percent: float | None = None
    pressure_cpu: float | None = None  # "some", average of the last 300 s, percent of time
    pressure_memory: float | None = None  # "full", likewise
    pressure_io: float | None = None  # "full", likewise
    memory_arc_bytes: Whole | None = None  # ZFS cache that was not counted as memory in use


class PerformanceOutput(Page):
    """`summary` is the documented map; `resources` and the flat fields are older recorded shapes."""

    period: str = ""
    summary: dict[str, PerformanceRow] = always_map()
    resources: list[PerformanceRow] = []
    points: list[msgspec.Raw] = always_list()
    downsampled: bool | None = None  # the points are averages of buckets
    original_count: Whole | None = None  # how many points there were before
    # the flat shape: one resource, its fields beside the period
    id: Id = None
    name: str | None = None
    type: str | None = None
    node: str | None = None
    resource_id: Id = None
    resource_name: str | None = None
    resource_type: str | None = None
    avg_cpu: float | None = None
    max_cpu: float | None = None
    avg_memory: float | None = None
    max_memory: float | None = None
    cpu_percent: float | None = None
    mem_percent: float | None = None
    memory_percent: float | None = None


class SmartAttributes(Row, rename="camel"):
    """Counters of a disk. None: the disk has no such counter, or it was not read."""

    reallocated_sectors: float | None = None
    pending_sectors: float | None = None
    offline_uncorrectable: float | None = None
    udma_crc_errors: float | None = None
    media_errors: float | None = None
    percentage_used: float | None = None
    available_spare: float | None = None
    available_spare_threshold: float | None = None
    power_on_hours: float | None = None
    # Patrol adds
    uncorrected_errors: float | None = None  # SCSI error counter log, all three rows
    grown_defects: float | None = None  # SCSI grown defect list
    self_test_errors: float | None = None  # failed self-tests newer than the last good one
    error_log_count: float | None = None  # ATA error log; not a fault by itself
    critical_warning: Whole | None = None  # NVMe bits


class FailingAttribute(Row):
    """An attribute that the drive itself flags. `when`: "now" or "past"."""

    id: Whole | None = None
    name: str = ""
    when: str = ""
    value: float | None = None
    raw: float | None = None
    wear: bool = False  # it counts rated endurance: used up is not broken


class DiskRow(Row):
    """A physical disk, in all three documented spellings of its counters.

    The identity is `id`, else what `node` (or the enclosing host) and the device name give.
    """

    id: Id = None
    node: str | None = None
    instance: str | None = None
    device: str | None = None
    dev_path: str | None = None
    model: str | None = None
    serial: str | None = None
    wwn: str | None = None
    type: str | None = None  # nvme | sata | sas | hdd ...
    size_bytes: Whole | None = None
    health: str | None = None  # PASSED | OK | FAILED | UNKNOWN | anything else is bad
    wearout: float | None = None  # documented: percent of life left, absent when unknown
    temperature: float | None = None
    rpm: Whole | None = None
    used: str | None = None
    last_checked: Time = None
    attributes: SmartAttributes | None = None
    smart_attributes: SmartAttributes | None = None
    smartAttributes: SmartAttributes | None = None  # noqa: N815 - the third documented spelling
    # Patrol adds
    life_used_percent: float | None = None  # rated endurance used, from whichever attribute tells
    failing: list[FailingAttribute] = []
    reasons: list[str] = []  # what the drive or smartctl named as its fault, in plain words
    smart_complete: bool = False  # verdict and every counter that this disk has were read without error
    temperature_limit: float | None = None  # the drive's own operating limit, degrees Celsius


class DisksOutput(Page):
    disks: list[DiskRow] = always_list()
    total: Whole | None = None


class SensorRow(Row):
    """One temperature. `high`/`critical`: the sensor's own limits, degrees Celsius."""

    name: str = ""
    label: str = ""
    celsius: float | None = None
    high: float | None = None
    critical: float | None = None


class HostTemperatures(Row):
    hostname: str = ""
    id: Id = None
    sensors: list[SensorRow] = []


class TemperaturesOutput(Page):
    hosts: list[HostTemperatures] = always_list()


# --- pulse_storage -----------------------------------------------------------------------------------------------


class VdevRow(Row):
    """A vdev or leaf of a pool. `role`: data | log | cache | spare | special | dedup."""

    name: str = ""
    role: str = "data"
    state: str = ""
    path: str = ""
    parent: str = ""  # the mirror or raidz it belongs to
    read_errors: Whole = 0
    write_errors: Whole = 0
    checksum_errors: Whole = 0
    note: str = ""


class ZfsRow(Row):
    name: str = ""
    state: str = ""
    read_errors: Whole = always(0)
    write_errors: Whole = always(0)
    checksum_errors: Whole = always(0)
    scan: str = ""
    # Patrol adds
    data_errors: Whole | None = None  # permanent errors: files or objects lost
    status: str = ""
    vdevs: list[VdevRow] = []


class BtrfsDeviceRow(Row):
    path: str = ""
    devid: Whole | None = None  # names the device for life; its path may change with the next boot
    write_io_errs: Whole = 0
    read_io_errs: Whole = 0
    flush_io_errs: Whole = 0
    corruption_errs: Whole = 0
    generation_errs: Whole = 0


class BtrfsRow(Row):
    """A btrfs file system. Counters are for life, until an operator resets them with -z."""

    uuid: str = ""
    label: str = ""
    missing_devices: Whole | None = None
    devices: list[BtrfsDeviceRow] = []


class PoolRow(Row):
    id: Id = None
    name: str | None = None
    node: str | None = None
    instance: str | None = None
    nodes: list[str] | None = None
    type: str | None = None
    status: str | None = None
    enabled: bool | None = None
    active: bool | None = None
    path: str | None = None
    usage_percent: float | None = None
    used_gb: float | None = None
    total_gb: float | None = None
    free_gb: float | None = None
    content: str | None = None
    shared: bool | None = None
    zfs: ZfsRow | None = None
    # Patrol adds
    btrfs: BtrfsRow | None = None
    disk_type: str = ""


class CephClusterRow(Row):
    name: str = ""
    health: str = ""
    health_message: str = ""
    usage_percent: float | None = None
    used_tb: float | None = None
    total_tb: float | None = None
    num_osds: Whole | None = None
    num_osds_up: Whole | None = None
    num_osds_in: Whole | None = None
    num_mons: Whole | None = None
    num_mgrs: Whole | None = None
    id: Id = None  # Patrol adds: canonical id of the cluster


class PoolsOutput(Page):
    pools: list[PoolRow] = always_list()
    ceph_clusters: list[CephClusterRow] = always_list()


class RaidDeviceRow(Row):
    device: str = ""
    state: str = ""
    slot: Whole | None = None


class RaidRow(Row):
    device: str = ""
    name: str | None = None
    level: str = ""
    state: str = ""
    total_devices: Whole | None = None
    active_devices: Whole | None = None
    working_devices: Whole | None = None
    failed_devices: Whole | None = None
    spare_devices: Whole | None = None
    uuid: str | None = None
    rebuild_percent: float | None = None
    rebuild_speed: str | None = None
    operation: str | None = None
    devices: list[RaidDeviceRow] = always_list()
    # Patrol adds
    id: Id = None
    raid_devices: Whole | None = None  # members that the array is made for; `total_devices` counts those it has


class HostDisks(Row):
    hostname: str = ""
    target_id: Id = None
    smart: list[DiskRow] = []
    raid: list[RaidRow] = []
    arrays: list[RaidRow] = []  # the raid page's name for it


class DiskHealthOutput(Page):
    """`hosts` as documented; `disks` at the top is an older recorded shape, with `node` beside it."""

    hosts: list[HostDisks] = always_list()
    disks: list[DiskRow] = []
    node: str | None = None
    hostname: str | None = None


class RaidOutput(Page):
    hosts: list[HostDisks] = always_list()
    total: Whole | None = None


class FilesystemRow(Row):
    """A mounted file system. `usage_percent` is df's: used / (used + available to users)."""

    device: str | None = None
    mountpoint: str | None = None
    type: str | None = None
    total_bytes: Whole | None = None
    used_bytes: Whole | None = None
    free_bytes: Whole | None = None
    usage_percent: float | None = None
    # Patrol adds
    inodes_percent: float | None = None  # None: the file system has no fixed number of inodes
    disk_type: str = ""
    error_count: Whole | None = None  # errors noted in the file system itself (ext4), for life; None: it keeps no count
    forced_read_only: bool = False  # mounted for writing, but the file system has made itself read-only


class ResourceDisks(Row):
    id: Id = None
    vmid: Id = None
    name: str | None = None
    type: str | None = None
    node: str | None = None
    instance: str | None = None
    disks: list[FilesystemRow] = always_list()


class ResourceDisksOutput(Page):
    resources: list[ResourceDisks] = always_list()
    total: Whole | None = None


class BackupTaskRow(Row):
    """One attempt. `exitstatus` holds the result where `status` only says that the task has ended."""

    id: Id = None
    vmid: Id = None
    vm_name: str | None = None
    node: str | None = None
    instance: str | None = None
    type: str | None = None
    status: str | None = None
    exitstatus: str | None = None
    start_time: Time = None
    end_time: Time = None
    size_bytes: Whole | None = None
    error: str | int | None = None
    # Patrol adds
    resource_id: str = ""  # canonical id of the guest, where the tool could decide it
    log: list[str] = []  # lines that name a failed guest


class BackupTasksOutput(Page):
    tasks: list[BackupTaskRow] = always_list()
    total: Whole | None = None
    filtered: Whole | None = None


class PbsBackupRow(Row):
    vmid: Id = None
    backup_type: str | None = None
    backup_time: Time = None
    instance: str | None = None
    datastore: str | None = None
    size_gb: float | None = None
    verified: bool | None = None
    protected: bool | None = None
    # Patrol adds
    namespace: str | None = None
    comment: str | None = None  # notes of the backup: by default the guest's name, often its node as well
    resource_id: str = ""


class PveBackupRow(Row):
    vmid: Id = None
    backup_time: Time = None
    size_gb: float | None = None
    storage: str | None = None
    # Patrol adds
    instance: str | None = None
    resource_id: str = ""


class DatastoreRow(Row):
    name: str = ""
    usage_percent: float | None = None
    free_gb: float | None = None


class PbsServerRow(Row):
    name: str = ""
    host: str = ""
    status: str = ""
    datastores: list[DatastoreRow] = always_list()


class BackupsOutput(Page):
    pbs: list[PbsBackupRow] = always_list()
    pve: list[PveBackupRow] = always_list()
    pbs_servers: list[PbsServerRow] = always_list()
    recent_tasks: list[BackupTaskRow] = always_list()


class PbsJobRow(Row):
    """A job of a backup server. Not OK, not WARNINGS, not empty = failed."""

    id: Id = None
    type: str = ""  # backup | sync | verify | prune | garbage
    store: str | None = None
    status: str | None = None
    last_run: Time = None
    next_run: Time = None
    error: str | None = None
    vmid: Id = None
    # Patrol adds
    resource_id: str = ""  # canonical id of the server or datastore it runs on
    instance: str | None = None


class PbsJobsOutput(Page):
    instance: str | None = None
    jobs: list[PbsJobRow] = always_list()
    total: Whole | None = None


# --- pulse_query action=health -----------------------------------------------------------------------------------


class ConnectionRow(Row):
    instance_id: str = ""
    connected: bool = always(False)  # noqa: FBT003


class UnitRow(Row):
    """A systemd unit that is in the state failed. `result`: systemd's own word for why."""

    name: str = ""
    state: str = ""
    result: str = ""
    description: str = ""


class HostHealth(Row):
    """`units`: all failed units of the host; `units_read` False: they could not be listed."""

    id: str = ""
    hostname: str = ""
    type: str = ""
    units: list[UnitRow] = []
    units_read: bool = False


class ProbeRow(Row):
    kind: str = ""  # icmp | tcp:PORT | agent
    ok: bool | None = None  # None: not answered either way
    address: str = ""
    detail: str = ""


class GuestHealth(Row):
    """`reachable` False only where every way that was tried failed, at least one of them conclusive."""

    id: str = ""
    name: str = ""
    type: str = ""
    reachable: bool | None = None
    probes: list[ProbeRow] = []


class NodeHealth(Row):
    """A host as its peers see it: `online` None is unknown."""

    id: str = ""
    name: str = ""
    type: str = "node"
    online: bool | None = None
    detail: str = ""


class HealthOutput(Page):
    connections: list[ConnectionRow] = always_list()
    total: Whole | None = None
    connected: Whole | None = None
    disconnected: Whole | None = None
    # Patrol adds
    hosts: list[HostHealth] = []
    guests: list[GuestHealth] = []
    nodes: list[NodeHealth] = []
