"""Makes estates of any size from a seed, with known faults planted, and the tool calls that a run over them records.

    python -m tests.bench.generate --resources 10000 --estate estate.json --calls calls.jsonl

Of the resources 2 % are nodes, 60 % guests, 8 % pools and 30 % disks; a guest has about 1.3 attempts at a backup
and 2 backups. The calls come from the real sweep over the real tools, so that they cannot drift from them.
"""

import argparse
import json
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec

from findings.kinds import Kind
from findings.model import Topic
from patrol.estate.collect import merge_estates
from patrol.estate.model import Estate, Metric, Reading, Resource, ResourceType, SourceState, Status
from patrol.run.sweep import sweep
from patrol.tools.registry import Toolbox
from signals.backup_evidence import BackupTaskRow, DatastoreRow, PbsBackupRow, PbsServerRow, PveBackupRow
from signals.evidence import BackupStore, DiskRow, ProbeRow, SensorRow, SmartAttributes, UnitRow
from signals.model import ToolCall
from signals.storage_evidence import FilesystemRow, PoolRow, VdevRow, ZfsRow

NOW = datetime.fromisoformat("2026-03-02T06:00:00Z")
FAULTS = 0.02
NODES_IN_A_CLUSTER = 16
RUN_ID = "0123456789abcdef"

_SOURCE = "lab"
_READ = [Topic(word) for word in Topic if word not in (Topic.RAID, Topic.BTRFS)]
_GUEST_NAMES = ("web", "db", "mail", "ci", "git", "cache", "mon", "dns")
_MODELS = (
    ("Example SATA SSD 2TB", "sata"),
    ("EXAMPLE HDD 4TB RED", "hdd"),
    ("Example_NVMe_3T8", "nvme"),
    ("EXAMPLE SAS 16TB", "sas"),
    ("Example NVMe Fast 4T", "nvme"),
)
_NODE_FAULTS = (Kind.HIGH_CPU, Kind.HIGH_MEMORY, Kind.UNIT_FAILED, Kind.HIGH_DISK, Kind.HIGH_TEMPERATURE)
_GUEST_FAULTS = (
    Kind.HIGH_CPU,
    Kind.HIGH_MEMORY,
    Kind.HIGH_DISK,
    Kind.BACKUP_FAILED,
    Kind.BACKUP_STALE,
    Kind.GUEST_UNREACHABLE,
)
_POOL_FAULTS = (Kind.HIGH_DISK, Kind.POOL_DEGRADED, Kind.VDEV_ERRORS)
_DISK_FAULTS = (Kind.SMART_FAILURE, Kind.DISK_WEAR, Kind.HIGH_TEMPERATURE)


class Planted(NamedTuple):
    """One fault that the detectors have to find."""

    kind: Kind
    resource_id: str
    subject: str


@dataclass(frozen=True, slots=True)
class Generated:
    """An estate and everything that is wrong with it."""

    estate: Estate
    planted: frozenset[Planted]


def generate(resources: int, *, seed: int = 1, now: datetime = NOW, faults: float = FAULTS) -> Generated:
    """The estate of this size and seed: equal arguments give equal estates."""
    return _Builder(resources, seed, now, faults).build()


def recorded_calls(estate: Estate, now: datetime = NOW) -> list[ToolCall]:
    """What a run's sweep over this estate calls and gets, with structs as outputs. The estate is used up."""
    return list(sweep(Toolbox(merge_estates([estate]), now), RUN_ID))


def recorded_lines(calls: list[ToolCall]) -> Iterator[bytes]:
    """The calls as lines of a recording, outputs as JSON objects."""
    for call in calls:
        yield msgspec.json.encode(call) + b"\n"


def estate_document(estate: Estate) -> bytes:
    """The estate as `patrol run --snapshot` reads it."""
    return msgspec.json.encode(estate)


class _Builder:
    def __init__(self, resources: int, seed: int, now: datetime, faults: float) -> None:
        self._random = random.Random(f"{seed}/{resources}")
        self._now = now
        self._faults = faults
        self._planted: set[Planted] = set()
        self._estate = Estate(
            collected_at=now,
            sources=[SourceState(name=_SOURCE, type="pve", read=_READ)],
            backup_stores=[BackupStore(id="storage:pbs1:main", name="main")],
            pbs_servers=[
                PbsServerRow(name="pbs1", host="10.0.0.9", status="online", datastores=[DatastoreRow(name="main")])
            ],
        )
        nodes, guests, pools = (max(1, round(resources * share)) for share in (0.02, 0.6, 0.08))
        self._sizes = nodes, guests, pools, max(1, resources - nodes - guests - pools)

    def build(self) -> Generated:
        nodes, guests, pools, disks = self._sizes
        for number in range(nodes):
            self._add_node(number)
        for number in range(guests):
            self._add_guest(number)
        for number in range(pools):
            self._add_pool(number)
        for number in range(disks):
            self._add_disk(number)
        return Generated(self._estate, frozenset(self._planted))

    def _fault(self, kinds: tuple[Kind, ...], resource_id: str, subjects: dict[Kind, str] | None = None) -> Kind | None:
        """What is wrong with a resource; of most of them nothing."""
        if self._random.random() >= self._faults:
            return None
        kind = self._random.choice(kinds)
        self._planted.add(Planted(kind, resource_id, (subjects or {}).get(kind, "")))
        return kind

    def _between(self, low: float, high: float) -> float:
        return round(self._random.uniform(low, high), 2)

    def _cluster(self, node: int) -> str:
        return f"{_SOURCE}-{node // NODES_IN_A_CLUSTER:03}"

    def _node_of(self, number: int) -> tuple[str, str, str]:
        """Cluster, name and id of the node that the thing of this number lives on."""
        node = number % self._sizes[0]
        cluster, name = self._cluster(node), f"pve-{node:04}"
        return cluster, name, f"node:{cluster}:{name}"

    def _ago(self, hours: float) -> str:
        return f"{self._now - timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}"

    def _filesystem(self, mount: str, device: str, usage: float, disk_type: str = "") -> FilesystemRow:
        size = self._random.randrange(16, 512) << 30
        used = int(size * usage / 100)
        return FilesystemRow(
            device=device,
            mountpoint=mount,
            type="ext4",
            total_bytes=size,
            used_bytes=used,
            free_bytes=size - used,
            usage_percent=usage,
            inodes_percent=self._between(1, 30),
            disk_type=disk_type,
        )

    def _add_node(self, number: int) -> None:
        cluster, name, node_id = self._node_of(number)
        fault = self._fault(
            _NODE_FAULTS,
            node_id,
            {
                Kind.UNIT_FAILED: "backup.service",
                Kind.HIGH_DISK: "/var/lib/vz",
                Kind.HIGH_TEMPERATURE: "coretemp/Core 1",
            },
        )
        cpu = self._between(75, 99) if fault is Kind.HIGH_CPU else self._between(1, 60)
        memory = self._between(85, 99) if fault is Kind.HIGH_MEMORY else self._between(10, 70)
        data = self._between(80, 99) if fault is Kind.HIGH_DISK else self._between(5, 65)
        heat = self._between(85, 99) if fault is Kind.HIGH_TEMPERATURE else self._between(35, 70)
        units = [UnitRow(name="backup.service", state="failed", result="exit-code", description="Nightly copy")]
        total = 1 << self._random.randrange(35, 40)
        node = Resource(
            id=node_id,
            type=ResourceType.NODE,
            name=name,
            status=Status.ONLINE,
            source=_SOURCE,
            instance=cluster,
            os="Proxmox VE 8.4",
            cores=self._random.choice((8, 16, 32, 64)),
            memory_total_bytes=total,
            memory_used_bytes=int(total * memory / 100),
            metrics={
                Metric.CPU: Reading(value=cpu, window_seconds=300),
                Metric.MEMORY: Reading(value=memory),
                Metric.SWAP: Reading(value=self._between(0, 30)),
                Metric.PRESSURE_CPU: Reading(value=self._between(0, 20), window_seconds=300),
                Metric.PRESSURE_MEMORY: Reading(value=0, window_seconds=300),
                Metric.PRESSURE_IO: Reading(value=self._between(0, 10), window_seconds=300),
            },
            addresses=[f"10.{number // 250}.{number % 250}.1"],
            filesystems=[
                self._filesystem("/", "/dev/mapper/pve-root", self._between(10, 65), "nvme"),
                self._filesystem("/var/lib/vz", "/dev/mapper/pve-data", data, "sata"),
            ],
            units=units if fault is Kind.UNIT_FAILED else [],
            sensors=[
                SensorRow(name="coretemp", label="Core 0", celsius=self._between(35, 70), high=84, critical=100),
                SensorRow(name="coretemp", label="Core 1", celsius=heat, high=84, critical=100),
            ],
        )
        self._estate.resources.append(node)

    def _add_guest(self, number: int) -> None:
        cluster, node, node_id = self._node_of(number)
        # Numbered within the cluster, as hypervisors do: the same VMID is another guest elsewhere.
        vmid = 100 + number // self._sizes[0] * NODES_IN_A_CLUSTER + number % self._sizes[0] % NODES_IN_A_CLUSTER
        kind = self._random.choice((ResourceType.VM, ResourceType.SYSTEM_CONTAINER))
        guest_id = f"{kind.value}:{cluster}:{vmid}"
        fault = self._fault(_GUEST_FAULTS, guest_id, {Kind.HIGH_DISK: "main disk"})
        is_up = fault is not None or self._random.random() < 0.95
        cpu = self._between(75, 99) if fault is Kind.HIGH_CPU else self._between(1, 60)
        memory = self._between(85, 99) if fault is Kind.HIGH_MEMORY else self._between(10, 70)
        disk = self._between(80, 99) if fault is Kind.HIGH_DISK else self._between(5, 65)
        address = f"10.{128 + number // 62500}.{number // 250 % 250}.{number % 250 + 1}"
        answers = fault is not Kind.GUEST_UNREACHABLE
        inside = fault is not Kind.HIGH_DISK and self._random.random() < 0.1
        guest = Resource(
            id=guest_id,
            type=kind,
            name=f"{self._random.choice(_GUEST_NAMES)}-{number:05}",
            status=Status.RUNNING if is_up else Status.STOPPED,
            aliases=[f"{'qemu' if kind is ResourceType.VM else 'lxc'}/{vmid}"],
            parent=node_id,
            source=_SOURCE,
            tags=["production"] if self._random.random() < 0.3 else [],
            vmid=vmid,
            instance=cluster,
            first_seen=self._now - timedelta(days=self._random.randrange(30, 900)),
            boot_with_host=True,
            os="Debian 13",
            cores=self._random.choice((1, 2, 4, 8)),
            metrics={
                Metric.CPU: Reading(value=cpu, window_seconds=3600),
                Metric.MEMORY: Reading(value=memory),
                Metric.DISK: Reading(value=disk),
            }
            if is_up
            else {},
            addresses=[address],
            probes=[
                ProbeRow(kind="icmp", ok=answers, address=address),
                ProbeRow(kind="tcp:22", ok=answers, address=address),
            ]
            if is_up
            else [],
            filesystems=[self._filesystem("/", "/dev/sda1", self._between(5, 65))] if inside else None,
        )
        self._estate.resources.append(guest)
        self._add_backups(guest, node, fault)

    def _add_backups(self, guest: Resource, node: str, fault: Kind | None) -> None:
        estate, random_ = self._estate, self._random
        is_vm = guest.type is ResourceType.VM
        age = self._between(60, 240) if fault is Kind.BACKUP_STALE else self._between(1, 28)
        for attempt in range(2 if random_.random() < 0.3 else 1):
            failed = fault is Kind.BACKUP_FAILED and attempt == 0
            began = age + 24 * attempt
            task = BackupTaskRow(
                id=f"UPID:{node}:{random_.randrange(16**8):08X}:{random_.randrange(16**8):08X}:"
                f"{random_.randrange(16**8):08X}:vzdump:{guest.vmid}:root@pam:",
                vmid=guest.vmid,
                vm_name=guest.name,
                node=node,
                instance=guest.instance,
                type="vzdump",
                status="job errors" if failed else "OK",
                start_time=self._ago(began),
                end_time=self._ago(began - self._between(0.02, 0.6)),
                size_bytes=None if failed else random_.randrange(1 << 30, 1 << 38),
                error="storage 'main' is not online" if failed else None,
            )
            estate.backup_tasks.append(task)
        on_node = random_.random() < 0.1
        for copy in range(1 if on_node else 2):
            # Where the newest attempt failed, the newest backup is the one before it.
            row = PbsBackupRow(
                vmid=str(guest.vmid),
                backup_type="vm" if is_vm else "ct",
                backup_time=self._ago(age + 24 * copy + (1 if fault is Kind.BACKUP_FAILED else 0)),
                instance="pbs1",
                datastore="main",
                size_gb=self._between(1, 400),
                verified=True,
                protected=False,
                namespace=guest.instance,
                comment=guest.name,
            )
            estate.pbs_backups.append(row)
        if on_node:
            row_on_node = PveBackupRow(
                vmid=guest.vmid,
                backup_time=self._ago(age + 24),
                size_gb=self._between(1, 400),
                storage="local",
                instance=guest.instance,
            )
            estate.pve_backups.append(row_on_node)

    def _add_pool(self, number: int) -> None:
        cluster, node, node_id = self._node_of(number)
        name = f"{self._random.choice(('tank', 'fast', 'bulk'))}-{number:05}"
        pool_id = f"storage:{node}:{name}"
        is_zfs = number % 2 == 0
        fault = self._fault(
            _POOL_FAULTS if is_zfs else (Kind.HIGH_DISK,), pool_id, {Kind.VDEV_ERRORS: f"ata-EXAMPLE-{number}-1"}
        )
        usage = self._between(78, 99) if fault is Kind.HIGH_DISK else self._between(5, 65)
        total = self._between(200, 20000)
        pool = Resource(
            id=pool_id,
            type=ResourceType.STORAGE,
            name=name,
            status=Status.ONLINE,
            parent=node_id,
            source=_SOURCE,
            instance=cluster,
            pool=PoolRow(
                type="zfspool" if is_zfs else "dir",
                status="available",
                enabled=True,
                active=True,
                path=f"/{name}",
                usage_percent=usage,
                used_gb=round(total * usage / 100, 1),
                total_gb=total,
                free_gb=round(total * (1 - usage / 100), 1),
                content="images,rootdir",
                shared=False,
                disk_type="hdd",
                zfs=_zfs(name, number, fault) if is_zfs else None,
            ),
        )
        self._estate.resources.append(pool)

    def _add_disk(self, number: int) -> None:
        cluster, node, node_id = self._node_of(number)
        slot = number // self._sizes[0]
        model, kind = self._random.choice(_MODELS)
        serial = f"S{number:05X}{self._random.randrange(16**8):08X}"
        disk_id = f"disk:serial:{serial}"
        can_wear = kind in {"nvme", "sata"}
        fault = self._fault(_DISK_FAULTS if can_wear else (Kind.SMART_FAILURE, Kind.HIGH_TEMPERATURE), disk_id)
        used = self._between(85, 99) if fault is Kind.DISK_WEAR else self._between(0, 60)
        heat = self._random.randrange(75, 90) if fault is Kind.HIGH_TEMPERATURE else self._random.randrange(25, 45)
        fails = fault is Kind.SMART_FAILURE
        is_failed = fails and self._random.random() < 0.3
        device = f"nvme{slot}n1" if kind == "nvme" else f"sd{chr(97 + slot % 26)}"
        disk = Resource(
            id=disk_id,
            type=ResourceType.DISK,
            name=device,
            status=Status.ONLINE,
            aliases=[f"{node}/{device}"],
            parent=node_id,
            source=_SOURCE,
            instance=cluster,
            disk=DiskRow(
                device=device,
                dev_path=f"/dev/{device}",
                model=model,
                serial=serial,
                wwn=f"0x5{number:07x}{self._random.randrange(16**8):08x}",
                type=kind,
                size_bytes=4000787030016,
                health="FAILED" if is_failed else "PASSED",
                wearout=round(100 - used) if can_wear else None,
                temperature=heat,
                rpm=7200 if kind in {"hdd", "sas"} else None,
                used="ZFS",
                attributes=self._counters(kind, used, 0 if not fails else self._random.randrange(1, 200)),
                life_used_percent=used if can_wear else None,
                smart_complete=True,
            ),
        )
        self._estate.resources.append(disk)

    def _counters(self, kind: str, used: float, bad: int) -> SmartAttributes:
        hours = self._random.randrange(100, 60000)
        if kind == "nvme":
            return SmartAttributes(
                media_errors=bad,
                percentage_used=int(used),
                available_spare=100,
                available_spare_threshold=10,
                power_on_hours=hours,
                critical_warning=0,
                error_log_count=self._random.randrange(0, 50),
            )
        if kind == "sas":
            return SmartAttributes(uncorrected_errors=bad, grown_defects=0, power_on_hours=hours)
        return SmartAttributes(
            reallocated_sectors=0,
            pending_sectors=bad,
            offline_uncorrectable=0,
            udma_crc_errors=0,
            power_on_hours=hours,
            self_test_errors=0,
            error_log_count=0,
        )


def _zfs(name: str, number: int, fault: Kind | None) -> ZfsRow:
    # A pool with a member that is gone says so once, as a pool that is degraded.
    gone = fault is Kind.POOL_DEGRADED
    leaves = [
        VdevRow(
            name=f"ata-EXAMPLE-{number}-{leaf}",
            state="UNAVAIL" if gone and leaf == 1 else "ONLINE",
            parent="mirror-0",
            checksum_errors=3 if fault is Kind.VDEV_ERRORS and leaf == 1 else 0,
        )
        for leaf in (0, 1)
    ]
    state = "DEGRADED" if gone else "ONLINE"
    return ZfsRow(
        name=name,
        state=state,
        scan="scrub repaired 0B in 01:12:44 with 0 errors on Sun Mar  1 03:36:45 2026",
        data_errors=0,
        vdevs=[VdevRow(name="mirror-0", state=state), *leaves],
    )


def main() -> None:
    """Writes what was asked for, and tells its size as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resources", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=float, default=FAULTS, help="share of resources with a fault")
    parser.add_argument("--now", type=datetime.fromisoformat, default=NOW)
    parser.add_argument("--estate", type=Path, help="where to write the estate document")
    parser.add_argument("--calls", type=Path, help="where to write the recorded tool calls")
    given = parser.parse_args()
    made = generate(given.resources, seed=given.seed, now=given.now, faults=given.faults)
    told: dict[str, object] = {"resources": len(made.estate.resources), "faults": len(made.planted)}
    if given.estate:
        told["estate_bytes"] = given.estate.write_bytes(estate_document(made.estate))
    if given.calls:
        calls = recorded_calls(made.estate, given.now)
        with given.calls.open("wb") as lines:
            lines.writelines(recorded_lines(calls))
        told |= {"calls": len(calls), "calls_bytes": given.calls.stat().st_size}
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
