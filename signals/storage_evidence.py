"""The outputs of `pulse_storage` about pools, arrays, disks and file systems (see `signals.pages`)."""

import msgspec

from signals.evidence import DiskRow
from signals.pages import Id, Page, Row, Whole, always, always_list


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
    vdevs: list[VdevRow] = msgspec.field(default_factory=list)


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
    devices: list[BtrfsDeviceRow] = msgspec.field(default_factory=list)


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
    smart: list[DiskRow] = msgspec.field(default_factory=list)
    raid: list[RaidRow] = msgspec.field(default_factory=list)
    arrays: list[RaidRow] = msgspec.field(default_factory=list)  # the raid page's name for it


class DiskHealthOutput(Page):
    """`hosts` as documented; `disks` at the top is an older recorded shape, with `node` beside it."""

    hosts: list[HostDisks] = always_list()
    disks: list[DiskRow] = msgspec.field(default_factory=list)
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
