"""The outputs of the read tools as structs: built by the tools in a run, decoded from recorded text in a replay.

Here are the inventory, the metrics and the health of things; `signals.*_evidence` has the others (see `signals.pages`
for what all of them share).
"""

import msgspec

from signals.pages import Id, Page, Row, Time, Whole, always, always_list, always_map

# --- pulse_query action=inventory: the view of the world that a transcript carries (Patrol adds) --------------------


class InventoryRow(Row):
    """One watched thing. `aliases`: every other id and name it was ever seen under."""

    id: str
    type: str = ""
    name: str = ""
    status: str = ""
    aliases: list[str] = msgspec.field(default_factory=list)
    parent: str = ""  # id of the node, host or server it lives on
    source: str = ""  # configured source that reported it
    tags: list[str] = msgspec.field(default_factory=list)
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
    # Instances whose guests may be backed up there; empty: any.
    instances: list[str] = msgspec.field(default_factory=list)


class InventoryOutput(Page):
    resources: list[InventoryRow] = always_list()
    backup_stores: list[BackupStore] = msgspec.field(default_factory=list)


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
    resources: list[PerformanceRow] = msgspec.field(default_factory=list)
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
    failing: list[FailingAttribute] = msgspec.field(default_factory=list)
    # What the drive or smartctl named as its fault, in plain words.
    reasons: list[str] = msgspec.field(default_factory=list)
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
    sensors: list[SensorRow] = msgspec.field(default_factory=list)


class TemperaturesOutput(Page):
    hosts: list[HostTemperatures] = always_list()


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
    units: list[UnitRow] = msgspec.field(default_factory=list)
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
    probes: list[ProbeRow] = msgspec.field(default_factory=list)


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
    hosts: list[HostHealth] = msgspec.field(default_factory=list)
    guests: list[GuestHealth] = msgspec.field(default_factory=list)
    nodes: list[NodeHealth] = msgspec.field(default_factory=list)
