"""What can be wrong with a thing: every kind that a detector can state, in the shapes that sources tell it in."""

from collections.abc import Callable, Iterable
from random import Random
from typing import NamedTuple

from findings.kinds import Kind
from patrol.estate.model import Metric, Reading, Status
from signals.ceph_evidence import CephHealthRow, CephMessageRow, CephMgrMap, CephRow
from signals.evidence import FailingAttribute, ProbeRow, SensorRow, SmartAttributes, UnitRow
from signals.protection_evidence import SnapshotRow
from signals.storage_evidence import PoolRow, VdevRow, ZfsRow
from signals.usage import MAIN_DISK
from tests.acceptance.things import (
    DATASTORE,
    DISK_CLEAR,
    GIGABIT,
    HOSTILE,
    Thing,
    ago,
    attempt,
    back_up,
    disk_id,
    spelled,
)


class Condition(NamedTuple):
    """What must be found: the identity of a finding."""

    kind: Kind
    resource_id: str
    subject: str = ""


class Fault(NamedTuple):
    """One thing that can go wrong. `strike` does it to a healthy thing, and says what must be found then."""

    name: str
    strike: Callable[[Thing, Random], Iterable[Condition]]


# --- hosts and guests -------------------------------------------------------------------------------------------------


def _metric(
    kind: Kind, metric: Metric, least: float, subject: str = ""
) -> Callable[[Thing, Random], Iterable[Condition]]:
    def strike(thing: Thing, random: Random) -> Iterable[Condition]:
        if metric.startswith("pressure") and metric not in thing.main.metrics:
            return  # a kernel without it would not have it once it is mended either
        window = random.choice((300.0, 3600.0))
        thing.main.metrics[metric] = Reading(value=round(random.uniform(least + 0.1, 100), 2), window_seconds=window)
        yield Condition(kind, thing.main.id, subject)

    return strike


def _short_of_memory(thing: Thing, random: Random) -> Iterable[Condition]:
    if Metric.SWAP in thing.main.metrics:
        thing.main.metrics[Metric.SWAP] = Reading(value=40)  # full swap would be a second fault now
    yield from _metric(Kind.HIGH_MEMORY, Metric.MEMORY, 80)(thing, random)


def _main_disk(thing: Thing, random: Random) -> Iterable[Condition]:
    if thing.main.filesystems is None and Metric.DISK in thing.main.metrics:
        yield from _metric(Kind.HIGH_DISK, Metric.DISK, 75, MAIN_DISK)(thing, random)


def _full_swap(thing: Thing, random: Random) -> Iterable[Condition]:
    thing.main.metrics[Metric.SWAP] = Reading(value=random.uniform(80.5, 100))
    if random.random() < 0.5:
        yield from _metric(Kind.HIGH_MEMORY, Metric.MEMORY, 80)(thing, random)
    else:
        yield from _metric(Kind.HIGH_PRESSURE, Metric.PRESSURE_MEMORY, 10, "memory")(thing, random)
    yield Condition(Kind.HIGH_SWAP, thing.main.id)


def _full_mount(thing: Thing, random: Random) -> Iterable[Condition]:
    if thing.main.filesystems is None:
        return
    row = random.choice((thing.main.filesystems or [])[:3])
    row.usage_percent = round(random.uniform(75.1, 100), 2)
    row.free_bytes = random.choice((0, 4096))
    yield Condition(Kind.HIGH_DISK, thing.main.id, row.mountpoint or "")


def _no_inodes(thing: Thing, random: Random) -> Iterable[Condition]:
    row = random.choice((thing.main.filesystems or [])[:3])
    if row.inodes_percent is None:
        return  # it makes inodes as it needs them, and always will
    row.inodes_percent = round(random.uniform(90.1, 100), 2)
    yield Condition(Kind.HIGH_INODES, thing.main.id, row.mountpoint or "")


def _filesystem_errors(thing: Thing, random: Random) -> Iterable[Condition]:
    row = random.choice((thing.main.filesystems or [])[:3])
    if random.random() < 0.5:
        row.error_count = random.randint(1, 9)
    else:
        row.forced_read_only = True
    yield Condition(Kind.FILESYSTEM_ERRORS, thing.main.id, row.mountpoint or "")


def _failed_unit(thing: Thing, random: Random) -> Iterable[Condition]:
    name = random.choice(("nginx.service", "backup@nas.timer", "mnt-\x1b[0m.mount"))
    description = random.choice(("", *HOSTILE))
    thing.main.units = [UnitRow(name=name, state="failed", result="exit-code", description=description)]
    yield Condition(Kind.UNIT_FAILED, thing.main.id, name)


def _hot_sensor(thing: Thing, random: Random) -> Iterable[Condition]:
    cpu = random.random() < 0.5
    name, label = ("coretemp@1", "Package id 0") if cpu else ("mlx5", random.choice(("", "asic", "\x1b]0;x\x07")))
    sensors = [sensor for sensor in thing.main.sensors or [] if (sensor.name, sensor.label) != (name, label)]
    thing.main.sensors = [*sensors, SensorRow(name=name, label=label, celsius=random.uniform(105.1, 120), critical=105)]
    yield Condition(Kind.HIGH_TEMPERATURE, thing.main.id, f"{name}/{label}" if label else name)


def _faulty_packets(thing: Thing, random: Random) -> Iterable[Condition]:
    row = random.choice(thing.main.interfaces or [])
    setattr(row, random.choice(("rx_errors_percent", "tx_errors_percent")), random.uniform(1.1, 100))
    yield Condition(Kind.NETWORK_ERRORS, thing.main.id, row.name)


def _busy_link(thing: Thing, random: Random) -> Iterable[Condition]:
    row = (thing.main.interfaces or [])[0]
    rate = random.uniform(0.91, 1.1) * GIGABIT
    setattr(row, random.choice(("rx_bytes_per_second", "tx_bytes_per_second")), rate)
    yield Condition(Kind.HIGH_NETWORK, thing.main.id, row.name)


def _offline(thing: Thing, random: Random) -> Iterable[Condition]:
    thing.main.status = random.choice((Status.OFFLINE, Status.STOPPED))
    thing.main.metrics = {}
    yield Condition(Kind.NODE_OFFLINE, thing.main.id)


def _silent(thing: Thing, random: Random) -> Iterable[Condition]:
    thing.main.probes = random.choice(
        (
            [ProbeRow(kind="icmp", ok=False, address="10.0.0.7")],
            [ProbeRow(kind="tcp:22", ok=False, address="10.0.0.7", detail="timed out")],
            [
                ProbeRow(kind="icmp", ok=True, address="10.0.0.7", detail="From 10.0.0.1 Destination Host Unreachable"),
                ProbeRow(kind="tcp:443", ok=False, address="10.0.0.7"),
            ],
            [ProbeRow(kind="agent", ok=False), ProbeRow(kind="tcp:22", ok=False, address="10.0.0.7")],
        )
    )
    yield Condition(Kind.GUEST_UNREACHABLE, thing.main.id)


# --- backups ----------------------------------------------------------------------------------------------------------


def _failed_backup(thing: Thing, random: Random) -> Iterable[Condition]:
    vmid = thing.main.vmid
    how: dict[str, object] = random.choice(
        (
            {"status": "stopped", "exitstatus": "unexpected status"},
            {"status": "job errors"},
            {"status": "ERROR: storage nfs1 is inactive"},
            {"status": "unsuccessful"},
            {"status": "OK", "error": "no space left"},
            {"status": "stopped", "error": 255},
            {"status": "WARNINGS: 1", "log": [f"ERROR: Backup of VM {vmid} failed - timeout"]},
            {"status": "stopped", "exitstatus": "\x1b[31mfailed\x1b[0m"},
        )
    )
    thing.tasks.append(attempt(thing.main, random, hours=random.uniform(2, 20), **how))
    yield Condition(Kind.BACKUP_FAILED, thing.main.id)


def _old_backup(thing: Thing, random: Random) -> Iterable[Condition]:
    thing.pbs, thing.pve = [], []
    back_up(thing, random, hours=random.uniform(48.1, 400))
    yield Condition(Kind.BACKUP_STALE, thing.main.id)


def _no_backup(thing: Thing, random: Random) -> Iterable[Condition]:
    thing.pbs, thing.pve = [], []
    thing.main.first_seen = random.choice((None, ago(49)))
    yield Condition(Kind.BACKUP_STALE, thing.main.id)


def _failed_server_job(thing: Thing, random: Random) -> Iterable[Condition]:
    job = thing.jobs[0]
    job.status = random.choice(("permission check failed.", "read failed - ESTALE: Stale file handle", "unknown host"))
    if job.type == "sync" and random.random() < 0.3:
        job.status = "WARNINGS: 1"
    yield Condition(Kind.BACKUP_FAILED, DATASTORE, str(job.id))


def _failed_node_job(thing: Thing, random: Random) -> Iterable[Condition]:
    old, newest = thing.tasks
    newest.status = random.choice(("job errors", "command 'vzdump' failed: exit code 255"))
    newest.end_time = spelled(ago(2), random, newest.instance or "")
    yield Condition(Kind.BACKUP_FAILED, f"node:{old.instance}:pve1", "vzdump")


def _old_snapshot(thing: Thing, random: Random) -> Iterable[Condition]:
    name = random.choice(("before-upgrade", "\x1b[31mred", "s" * 40))
    taken = spelled(ago(random.uniform(720.1, 30_000)), random, thing.main.instance)
    kept = [row for row in thing.main.snapshots or [] if row.snapshot_name != name]
    thing.main.snapshots = [*kept, SnapshotRow(snapshot_name=name, time=taken)]
    yield Condition(Kind.SNAPSHOT_OLD, thing.main.id, " ".join(name.replace("\x1b", " ").split()))


def _failed_replication(thing: Thing, random: Random) -> Iterable[Condition]:
    job = thing.replications[0]
    job.status, job.error, job.fail_count = random.choice(
        (("error", None, None), ("ok", "No route to host", None), (None, None, 3), ("failed", "\x1b[31mred", 1))
    )
    yield Condition(Kind.REPLICATION_FAILED, thing.main.id, str(job.id))


def _late_replication(thing: Thing, random: Random) -> Iterable[Condition]:
    job = thing.replications[0]
    job.next_sync = spelled(ago(random.uniform(24.1, 900)), random, thing.main.instance)
    yield Condition(Kind.REPLICATION_FAILED, thing.main.id, str(job.id))


# --- disks ------------------------------------------------------------------------------------------------------------


def _counters(thing: Thing) -> SmartAttributes:
    row = thing.main.disk
    assert row is not None
    counters = row.attributes or row.smart_attributes or row.smartAttributes
    assert counters is not None
    return counters


def _verdict(thing: Thing, random: Random) -> Iterable[Condition]:
    assert thing.main.disk is not None
    thing.main.disk.health = random.choice(("FAILED", "failed", "FAILING_NOW", "BAD", "Critical"))
    yield Condition(Kind.SMART_FAILURE, disk_id(thing))


def _counted(thing: Thing, random: Random) -> Iterable[Condition]:
    counters = _counters(thing)
    names = [name for name in counters.__struct_fields__ if getattr(counters, name) == 0 and name != "critical_warning"]
    setattr(counters, random.choice(names), random.choice((1, 2, 624, 2**40)))
    yield Condition(Kind.SMART_FAILURE, disk_id(thing))


def _warned(thing: Thing, random: Random) -> Iterable[Condition]:
    assert thing.main.disk is not None
    counters = _counters(thing)
    if counters.available_spare is not None:
        counters.available_spare, counters.available_spare_threshold = 5, 10
        counters.critical_warning = random.choice((0, 1, 2, 4, 8))
    else:
        counters.self_test_errors = random.choice((None, 2))
        name = random.choice(("Reallocated_Sector_Ct", "\x1b[5m"))
        thing.main.disk.failing = [FailingAttribute(id=5, name=name, when="now", raw=100)]
    yield Condition(Kind.SMART_FAILURE, disk_id(thing))


def _worn(thing: Thing, random: Random) -> Iterable[Condition]:
    row = thing.main.disk
    assert row is not None
    if row.life_used_percent is None:
        return
    percent = random.choice((80.5, 93.0, 100.0, 255.0))
    how = random.choice(("life", "counter", "left"))
    row.life_used_percent = percent if how == "life" else None
    if how == "counter":
        _counters(thing).percentage_used = percent
    elif how == "left":
        _counters(thing).percentage_used = None
        row.wearout = random.choice((1.0, 19.0))
    yield Condition(Kind.DISK_WEAR, disk_id(thing))


def _hot_disk(thing: Thing, random: Random) -> Iterable[Condition]:
    row = thing.main.disk
    assert row is not None
    if random.random() < 0.7:
        row.temperature = round(random.uniform(DISK_CLEAR[row.type or ""] + 5.1, 99), 1)
    else:
        row.temperature, row.temperature_limit = 41, 40
    yield Condition(Kind.HIGH_TEMPERATURE, disk_id(thing))


# --- pools and arrays -------------------------------------------------------------------------------------------------


def _pool(thing: Thing) -> PoolRow:
    assert thing.main.pool is not None
    return thing.main.pool


def _zfs_row(thing: Thing) -> ZfsRow:
    row = _pool(thing).zfs
    assert row is not None
    return row


def _leaf(thing: Thing, random: Random) -> VdevRow:
    return random.choice([vdev for vdev in _zfs_row(thing).vdevs if vdev.parent])


def _full_storage(thing: Thing, random: Random) -> Iterable[Condition]:
    _pool(thing).usage_percent = round(random.uniform(75.1, 100), 2)
    yield Condition(Kind.HIGH_DISK, thing.main.id)


def _storage_away(thing: Thing, random: Random) -> Iterable[Condition]:
    row = _pool(thing)
    row.status, row.active = random.choice((("offline", None), ("Unavailable", True), ("error", None), (None, False)))
    row.usage_percent, row.total_gb = random.choice(((0, 0), (None, None)))
    yield Condition(Kind.POOL_DEGRADED, thing.main.id)


def _lost_member(thing: Thing, random: Random) -> Iterable[Condition]:
    zfs, leaf = _zfs_row(thing), _leaf(thing, random)
    leaf.state = random.choice(("FAULTED", "UNAVAIL", "REMOVED", "OFFLINE"))
    zfs.state = random.choice(("DEGRADED", "ONLINE"))
    yield Condition(Kind.POOL_DEGRADED, thing.main.id)


def _dead_pool(thing: Thing, random: Random) -> Iterable[Condition]:
    zfs = _zfs_row(thing)
    zfs.state, zfs.vdevs, zfs.data_errors = random.choice(("FAULTED", "UNAVAIL", "SUSPENDED")), [], None
    yield Condition(Kind.POOL_DEGRADED, thing.main.id)


def _lost_data(thing: Thing, random: Random) -> Iterable[Condition]:
    zfs = _zfs_row(thing)
    if random.random() < 0.7:
        zfs.data_errors = random.randint(1, 21)
    else:
        zfs.scan = "scrub repaired 0B in 00:10:00 with 3 errors on Sun Nov  8 02:35:47 2026"
    yield Condition(Kind.POOL_DATA_ERRORS, thing.main.id)


def _vdev_errors(thing: Thing, random: Random) -> Iterable[Condition]:
    leaf = _leaf(thing, random)
    setattr(leaf, random.choice(("read_errors", "write_errors", "checksum_errors")), random.choice((1, 3, 10**12)))
    yield Condition(Kind.VDEV_ERRORS, thing.main.id, leaf.name)


def _missing_btrfs(thing: Thing, random: Random) -> Iterable[Condition]:
    row = _pool(thing).btrfs
    assert row is not None
    row.missing_devices = 1
    row.devices.pop()
    yield Condition(Kind.POOL_DEGRADED, thing.main.id)


def _btrfs_errors(thing: Thing, random: Random) -> Iterable[Condition]:
    row = _pool(thing).btrfs
    assert row is not None
    device = random.choice(row.devices)
    setattr(device, random.choice(("write_io_errs", "read_io_errs", "corruption_errs", "generation_errs")), 7)
    yield Condition(Kind.FILESYSTEM_ERRORS, thing.main.id, f"devid {device.devid}")


def _degraded_array(thing: Thing, random: Random) -> Iterable[Condition]:
    row = thing.main.raid
    assert row is not None
    row.state, row.active_devices, row.working_devices, row.failed_devices = random.choice(
        (
            ("clean, degraded", 1, 1, 1),
            ("active, degraded, recovering", 1, 2, 0),
            ("clean", 1, 1, 0),
            ("active", 2, 2, 1),
            ("inactive", None, None, None),
            ("FAILED", 0, 0, 2),
        )
    )
    yield Condition(Kind.RAID_DEGRADED, thing.main.id)


def _ceph(thing: Thing) -> CephRow:
    assert thing.main.ceph is not None
    return thing.main.ceph


def _unhealthy_ceph(thing: Thing, random: Random) -> Iterable[Condition]:
    row = _ceph(thing)
    how = random.choice(("word", "osds", "copies", "manager"))
    if how == "word":
        messages = [CephMessageRow(message=random.choice(HOSTILE))]
        row.health = CephHealthRow(status=random.choice(("HEALTH_WARN", "health_err")), messages=messages)
    elif how == "osds" and row.osd_map is not None:
        row.osd_map.num_up = 2
    elif how == "copies" and row.pg_map is not None:
        row.pg_map.degraded_ratio = 0.01
    else:
        row.mgr_map = CephMgrMap(available=False)
    yield Condition(Kind.CEPH_UNHEALTHY, thing.main.id)


def _full_ceph(thing: Thing, random: Random) -> Iterable[Condition]:
    row, percent = _ceph(thing), round(random.uniform(75.1, 100), 2)
    if row.pg_map is not None and random.random() < 0.5:
        row.pg_map.usage_percent = percent
        yield Condition(Kind.HIGH_DISK, thing.main.id)
    else:
        (row.pools or [])[0].percent_used = percent
        yield Condition(Kind.HIGH_DISK, thing.main.id, "pool vms")


FAULTS: dict[str, tuple[Fault, ...]] = {
    "host": (
        Fault("cpu", _metric(Kind.HIGH_CPU, Metric.CPU, 70)),
        Fault("memory", _short_of_memory),
        Fault("swap", _full_swap),
        Fault("pressure on cpu", _metric(Kind.HIGH_PRESSURE, Metric.PRESSURE_CPU, 80, "cpu")),
        Fault("pressure on io", _metric(Kind.HIGH_PRESSURE, Metric.PRESSURE_IO, 40, "io")),
        Fault("mount", _full_mount),
        Fault("inodes", _no_inodes),
        Fault("file system errors", _filesystem_errors),
        Fault("unit", _failed_unit),
        Fault("sensor", _hot_sensor),
        Fault("faulty packets", _faulty_packets),
        Fault("busy link", _busy_link),
        Fault("offline", _offline),
    ),
    "node": (
        Fault("cpu", _metric(Kind.HIGH_CPU, Metric.CPU, 70)),
        Fault("memory", _short_of_memory),
        Fault("main disk", _main_disk),
        Fault("offline", _offline),
    ),
    "guest": (
        Fault("cpu", _metric(Kind.HIGH_CPU, Metric.CPU, 70)),
        Fault("memory", _short_of_memory),
        Fault("main disk", _main_disk),
        Fault("mount", _full_mount),
        Fault("silent", _silent),
        Fault("failed backup", _failed_backup),
        Fault("old backup", _old_backup),
        Fault("no backup", _no_backup),
        Fault("old snapshot", _old_snapshot),
        Fault("failed replication", _failed_replication),
        Fault("late replication", _late_replication),
    ),
    "stopped guest": (Fault("failed backup", _failed_backup), Fault("old backup", _old_backup)),
    "disk": (
        Fault("verdict", _verdict),
        Fault("counter", _counted),
        Fault("warning", _warned),
        Fault("wear", _worn),
        Fault("heat", _hot_disk),
    ),
    "storage": (Fault("full", _full_storage), Fault("away", _storage_away)),
    "zfs": (
        Fault("full", _full_storage),
        Fault("lost member", _lost_member),
        Fault("dead", _dead_pool),
        Fault("lost data", _lost_data),
        Fault("vdev errors", _vdev_errors),
    ),
    "btrfs": (
        Fault("full", _full_storage),
        Fault("missing device", _missing_btrfs),
        Fault("errors", _btrfs_errors),
    ),
    "raid": (Fault("degraded", _degraded_array),),
    "ceph": (Fault("unhealthy", _unhealthy_ceph), Fault("full", _full_ceph)),
    "server job": (Fault("failed", _failed_server_job),),
    "node job": (Fault("failed", _failed_node_job),),
}
"""By the name of the thing (`tests.acceptance.things.THINGS`). What is not listed cannot be faulty."""
