"""Estates over several runs: what is told, what stays open, and what nobody may be told."""

import json
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from findings.kinds import Kind
from findings.model import Finding, FindingState, Gap, GapReason, Look, ResolveReason, Severity, Topic
from findings.store import FindingStore
from patrol.estate.document import decode_estate
from patrol.estate.model import Estate, Metric, Reading, Resource, ResourceType, SourceState, Status
from patrol.run import RunReport, RunRequest
from signals.backup_evidence import BackupTaskRow, PbsBackupRow, PbsJobRow, PveBackupRow
from signals.evidence import BackupStore, DiskRow, ProbeRow, SensorRow
from signals.storage_evidence import FilesystemRow, PoolRow, VdevRow, ZfsRow
from tests.acceptance.recordings import judged, swept
from tests.run.builders import NOW, GivenSource, House
from tests.run.test_run import limits_from

GUEST = "vm:lab:101"
STORE = BackupStore(id="storage:lab:nas", name="nas")


def lab(*resources: Resource, gaps: Sequence[Gap] = (), **sections: object) -> Estate:
    """A cluster of two nodes, and what is given; read by one source."""
    nodes = [
        Resource(
            id=f"node:lab:{name}",
            type=ResourceType.NODE,
            name=name,
            status=Status.ONLINE,
            instance="lab",
            source="lab",
        )
        for name in ("pve-a", "pve-b")
        if not any(resource.id == f"node:lab:{name}" for resource in resources)
    ]
    return Estate(
        sources=[SourceState(name="lab", type="pve", read=list(Topic))],
        resources=[*nodes, *resources],
        gaps=list(gaps),
        **sections,
    )


def guest(vmid: int = 101, instance: str = "lab", **fields: object) -> Resource:
    return Resource(
        **{
            "id": f"vm:{instance}:{vmid}",
            "type": ResourceType.VM,
            "name": f"vm{vmid}",
            "status": Status.RUNNING,
            "parent": f"node:{instance}:pve-a",
            "instance": instance,
            "vmid": vmid,
            "source": instance,
            "first_seen": NOW - timedelta(days=90),
            **fields,
        }
    )


def using(**metrics: float) -> Resource:
    return guest(metrics={Metric(name): Reading(value=value) for name, value in metrics.items()})


def storage(name: str, **row: object) -> Resource:
    return Resource(
        id=f"storage:pve-a:{name}",
        type=ResourceType.STORAGE,
        name=name,
        source="lab",
        parent="node:lab:pve-a",
        pool=PoolRow(**{"status": "available", "total_gb": 900, **row}),
    )


def ago(hours: float) -> str:
    return f"{NOW - timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}"


def task(vmid: int = 101, *, hours: float = 5, **row: object) -> BackupTaskRow:
    return BackupTaskRow(**{"vmid": vmid, "instance": "lab", "type": "vzdump", "end_time": ago(hours), **row})


def run(house: House, *estates: Estate) -> RunReport:
    house.clock.advance(minutes=5)
    sources = [GivenSource([each], name=each.sources[0].name) for each in estates]
    return house.patrol(*sources).run(RunRequest())


def everything(house: House) -> list[Finding]:
    with house.database.read() as connection:
        return list(FindingStore(connection, "default").list_findings())


def open_kinds(report: RunReport) -> list[tuple[str, str, str]]:
    return sorted((each.kind, each.resource_id, each.subject) for each in report.findings)


class TestDisks:
    def smart(self, **facts: object) -> Estate:
        """A host with one disk, as smartctl itself describes it."""
        values = {"passed": True, "pending": 0, "uncorrectable": 0, "reallocated": 0} | facts
        table = [
            {"id": number, "name": name, "value": 100, "worst": 100, "thresh": thresh, "when_failed": ""}
            | {"raw": {"value": values[fact]}}
            for number, name, thresh, fact in (
                (5, "Reallocated_Sector_Ct", 10, "reallocated"),
                (197, "Current_Pending_Sector", 0, "pending"),
                (198, "Offline_Uncorrectable", 0, "uncorrectable"),
            )
        ]
        smartctl = {
            "smartctl": {"version": [7, 3], "exit_status": 0},
            "device": {"name": "/dev/sdb", "type": "sat", "protocol": "ATA"},
            "model_name": "Twelve TB",
            "serial_number": "SER-12TB",
            "rotation_rate": 7200,
            "smart_support": {"available": True, "enabled": True},
            "smart_status": {"passed": values["passed"]},
            "temperature": {"current": 31},
            "ata_smart_attributes": {"table": table},
            "ata_smart_data": {"self_test": {"status": {"value": 0}}},
            "ata_smart_error_log": {"summary": {"count": 1693}},
        }
        document = {
            "sources": [{"name": "local", "type": "local", "read": ["inventory", "smart"]}],
            "resources": [
                {"id": "agent:local:nas", "type": "agent", "name": "nas", "status": "online", "source": "local"},
                {"id": "sdb", "type": "disk", "parent": "agent:local:nas", "source": "local", "disk": smartctl},
            ],
        }
        return decode_estate(json.dumps(document).encode())

    def test_a_disk_that_passed_with_bad_sectors_is_critical_and_shows_its_counts(self, house: House) -> None:
        (finding,) = run(house, self.smart(pending=624, uncorrectable=624, reallocated=2872)).findings
        assert (finding.resource_id, finding.severity) == ("disk:serial:SER-12TB", Severity.CRITICAL)
        for count in ("pendingSectors=624", "offlineUncorrectable=624", "reallocatedSectors=2872"):
            assert count in finding.summary
        assert finding.facts["pending_sectors"] == 624

    def test_sectors_that_come_and_go_are_one_finding_and_no_alarm_the_second_time(self, house: House) -> None:
        seen = []
        for pending in (0, 1, 1, 0, 0, 1, 0, 0):
            report = run(house, self.smart(pending=pending))
            seen.append([finding.severity for finding in report.findings])
        critical, warning = [Severity.CRITICAL], [Severity.WARNING]
        assert seen == [[], critical, critical, critical, [], warning, warning, []]
        (finding,) = everything(house)
        assert (finding.state, finding.regression_count) == (FindingState.RESOLVED, 1)

    def test_a_status_is_looked_at_anew_and_never_latched(self, house: House) -> None:
        run(house, self.smart(pending=8))
        run(house, self.smart())
        assert run(house, self.smart()).findings == []
        (finding,) = everything(house)
        assert finding.resolve_reason is ResolveReason.CLEARED

    def test_a_guest_that_cannot_open_its_disk_does_not_make_it_bad(self, house: House) -> None:
        row = DiskRow(dev_path="/dev/sdb", serial="SER-12TB", model="Twelve TB", health="FAILED")
        row.reasons = ["Smartctl open device: /dev/sdb failed: Permission denied"]
        inside = Estate(
            sources=[SourceState(name="nas-vm", type="local", read=[Topic.INVENTORY])],
            resources=[Resource(id="d", type=ResourceType.DISK, name="sdb", source="nas-vm", disk=row)],
        )
        report = run(house, self.smart(), inside)
        assert report.findings == []
        assert report.resources == {"agent": 1, "disk": 1}


class TestStorage:
    def test_a_degraded_log_is_a_warning_that_names_it_and_the_data_is_not_full(self, house: House) -> None:
        vdevs = [
            VdevRow(name="mirror-0", state="ONLINE"),
            *(VdevRow(name=name, state="ONLINE", parent="mirror-0") for name in ("sda", "sdb")),
            VdevRow(name="mirror-1", state="DEGRADED", role="log"),
            VdevRow(name="nvme0n1p1", state="ONLINE", role="log", parent="mirror-1"),
            VdevRow(name="nvme1n1p1", state="FAULTED", role="log", parent="mirror-1"),
        ]
        zfs = ZfsRow(name="tank", state="DEGRADED", data_errors=0, vdevs=vdevs)
        (finding,) = run(house, lab(storage("tank", usage_percent=30, zfs=zfs))).findings
        assert (finding.kind, finding.severity) == (Kind.POOL_DEGRADED, Severity.WARNING)
        assert "log mirror-1" in finding.summary

    def test_online_is_not_yet_healthy(self, house: House) -> None:
        leaf = VdevRow(name="sda", state="ONLINE", checksum_errors=3)
        repaired = ZfsRow(name="p1", state="ONLINE", data_errors=0, scan="repaired 192K with 0 errors", vdevs=[leaf])
        lost = ZfsRow(name="p2", state="ONLINE", data_errors=21)
        report = run(house, lab(storage("p1", zfs=repaired), storage("p2", zfs=lost)))
        assert [(each.kind, each.severity, each.value) for each in report.findings] == [
            (Kind.POOL_DATA_ERRORS, Severity.CRITICAL, 21),
            (Kind.VDEV_ERRORS, Severity.WARNING, 3),
        ]

    @pytest.mark.parametrize("unmeasured", [0, -1, None])
    def test_a_disk_that_nobody_measured_is_neither_empty_nor_full(
        self, house: House, unmeasured: float | None
    ) -> None:
        full = [FilesystemRow(mountpoint="/", usage_percent=91, free_bytes=1)]
        unknown = [FilesystemRow(mountpoint="/", usage_percent=unmeasured)]
        assert run(house, lab(guest(filesystems=unknown))).findings == []
        assert len(run(house, lab(guest(filesystems=full))).findings) == 1
        assert len(run(house, lab(guest(filesystems=unknown))).findings) == 1
        assert len(run(house, lab(using(disk=unmeasured or 0))).findings) == 1

    def test_a_volume_that_is_full_by_design_is_left_alone_for_good(self, house: House, tmp_path: Path) -> None:
        file = tmp_path / "alerts.json"
        file.write_text('{"overrides": {"storage:nvr": {"usage": {"trigger": 0, "clear": 0}}}}')
        house.settings = limits_from(house, file)
        full = lab(storage("nvr", usage_percent=99), storage("root", usage_percent=93))
        for _ in range(2):
            assert open_kinds(run(house, full)) == [(Kind.HIGH_DISK, "storage:pve-a:root", "")]
        house.clock.advance(hours=1)  # a restart: nothing but the file and the database is left
        again = House(house.database, clock=house.clock, settings=limits_from(house, file))
        again._ids = lambda: f"later-{house.clock.now:%H%M%S}"
        assert open_kinds(run(again, full)) == [(Kind.HIGH_DISK, "storage:pve-a:root", "")]

    def test_a_mount_that_was_not_measured_is_said_to_be_unseen(self, house: House) -> None:
        def container(percent: float | None) -> Resource:
            mounts = [FilesystemRow(mountpoint="/", usage_percent=30, free_bytes=1 << 30)]
            return guest(filesystems=[*mounts, FilesystemRow(mountpoint="/data", usage_percent=percent)])

        detection = judged(swept(lab(container(None))))
        assert detection.signals == ()
        assert detection.examined.look(Kind.HIGH_DISK, GUEST, "/data") is Look.BLIND
        assert detection.examined.look(Kind.HIGH_DISK, GUEST, "/") is Look.CLEAR
        assert open_kinds(run(house, lab(container(97)))) == [(Kind.HIGH_DISK, GUEST, "/data")]

    def test_a_value_that_wobbles_opens_once_and_closes_below_its_clear_limit(
        self, house: House, tmp_path: Path
    ) -> None:
        file = tmp_path / "alerts.json"
        file.write_text('{"storageDefault": {"trigger": 95, "clear": 90}}')
        house.settings = limits_from(house, file)
        series = (94.9, 95, 95.1, 94.8, 93, 91, 90.1, 90, 89.9, 95.2)
        found = [len(run(house, lab(storage("root", usage_percent=value))).findings) for value in series]
        assert found == [0, 0, 1, 1, 1, 1, 1, 1, 0, 1]
        (finding,) = everything(house)
        assert finding.regression_count == 1

    def test_a_limit_that_was_raised_above_the_value_closes_it(self, house: House, tmp_path: Path) -> None:
        file = tmp_path / "alerts.json"
        house.settings = limits_from(house, file)
        for trigger, clear, found in ((90, 85, 1), (95, 90, 0)):
            file.write_text(f'{{"storageDefault": {{"trigger": {trigger}, "clear": {clear}}}}}')
            assert len(run(house, lab(storage("root", usage_percent=91))).findings) == found
        (finding,) = everything(house)
        assert finding.resolve_reason is ResolveReason.LIMIT_CHANGED

    @pytest.mark.parametrize(("trigger", "value", "found"), [(0, 97, 0), (-1, 97, 0), (100, 100, 1), (100, 99.9, 0)])
    def test_zero_and_less_is_off_and_a_hundred_is_not(
        self, house: House, tmp_path: Path, trigger: float, value: float, found: int
    ) -> None:
        file = tmp_path / "alerts.json"
        file.write_text("{}")
        house.settings = limits_from(house, file)
        assert len(run(house, lab(using(memory=97))).findings) == 1
        file.write_text(f'{{"guestDefaults": {{"memory": {{"trigger": {trigger}, "clear": 60}}}}}}')
        report = run(house, lab(using(memory=value)))
        still_held = trigger == 100 and value == 99.9  # below the limit, and not below clear
        assert len(report.findings) == found
        assert everything(house)[0].is_open == bool(found)
        assert still_held is (everything(house)[0].resolve_reason is ResolveReason.LIMIT_CHANGED)


class TestUse:
    def test_a_spike_is_nothing_and_five_minutes_are(self, house: House) -> None:
        def busy(percent: float, window: float) -> Estate:
            return lab(guest(metrics={Metric.CPU: Reading(value=percent, window_seconds=window)}))

        for percent, window in ((100, 60), (95, 240), (28, 300)):
            assert run(house, busy(percent, window)).findings == []
        (finding,) = run(house, busy(95, 300)).findings
        assert (finding.kind, finding.value) == (Kind.HIGH_CPU, 95)
        assert "over 5 min" in finding.summary

    @pytest.mark.parametrize("percent", [250, 796, -3])
    def test_a_percentage_of_something_else_is_no_reading(self, house: House, percent: float) -> None:
        assert run(house, lab(guest(metrics={Metric.CPU: Reading(value=percent, window_seconds=300)}))).findings == []

    def test_no_bytes_in_use_are_no_reading_and_close_nothing(self, house: House) -> None:
        assert run(house, lab(using(memory=0))).findings == []
        run(house, lab(using(memory=91)))
        assert open_kinds(run(house, lab(using(memory=0)))) == [(Kind.HIGH_MEMORY, GUEST, "")]


class TestBackups:
    def fresh(self, *rows: BackupTaskRow, hours: float = 30) -> Estate:
        backup = PveBackupRow(vmid=101, instance="lab", storage="nas", backup_time=ago(hours))
        return lab(guest(), backup_tasks=list(rows), pve_backups=[backup], backup_stores=[STORE])

    @pytest.mark.parametrize(
        ("rows", "found"),
        [
            ([task(status="WARNINGS: 2")], False),
            ([task(status="job errors")], True),
            ([task(status="OK")], False),
            ([task(status="WARNINGS: 1", type="syncjob")], True),
            ([task(status="WARNINGS: 1", log=["ERROR: Backup of VM 101 failed - timeout"])], True),
            ([task(status="stopped", exitstatus="OK")], False),
            ([task(status="stopped", exitstatus="unexpected status")], True),
            ([task(status="running")], False),
            ([], False),
            ([task(status="error", hours=7), task(status="OK", hours=6.7)], False),
            ([task(status="OK", hours=30), task(status="failed: no space left", hours=6)], True),
        ],
    )
    def test_the_newest_finished_attempt_decides(self, house: House, rows: list[BackupTaskRow], found: bool) -> None:
        report = run(house, self.fresh(*rows))
        assert open_kinds(report) == ([(Kind.BACKUP_FAILED, GUEST, "")] if found else [])

    def test_a_failure_ends_with_a_later_success_and_not_with_age(self, house: House) -> None:
        run(house, self.fresh(task(status="error", hours=4)))
        house.clock.advance(hours=12)
        assert len(run(house, self.fresh(task(status="error", hours=4))).findings) == 1
        assert len(run(house, self.fresh()).findings) == 1  # the list was rotated: nothing newer is seen
        assert run(house, self.fresh(task(status="OK", hours=-12), hours=-12)).findings == []

    def test_the_state_of_a_servers_job_is_free_text(self, house: House) -> None:
        jobs = [
            PbsJobRow(id=name, type=kind, instance="pbs1", status=status, last_run=ago(3))
            for name, kind, status in (
                ("sync1", "sync", "permission check failed."),
                ("verify1", "verify", "read failed - ESTALE: Stale file handle"),
                ("gc", "garbage", "OK"),
                ("prune1", "prune", ""),
                ("prune2", "prune", "WARNINGS: 1"),
            )
        ]
        server = Resource(
            id="pbs:pbs1:pbs1", type=ResourceType.PBS, name="pbs1", status=Status.ONLINE, instance="pbs1", source="lab"
        )
        report = run(house, lab(server, pbs_jobs=jobs))
        assert {(each.subject, each.resource_id) for each in report.findings} == {
            ("sync1", "pbs:pbs1:pbs1"),
            ("verify1", "pbs:pbs1:pbs1"),
        }
        assert any("Stale file handle" in each.summary for each in report.findings)

    def two_clusters(self, *rows: PbsBackupRow, **sections: object) -> list[Estate]:
        """Guest 101 in two clusters that back up to one server."""

        def cluster(name: str, guest_name: str) -> Estate:
            node = Resource(
                id=f"node:{name}:{name}",
                type=ResourceType.NODE,
                name=name,
                status=Status.ONLINE,
                instance=name,
                source=name,
            )
            own = guest(instance=name, name=guest_name, parent=node.id)
            return Estate(sources=[SourceState(name=name, type="pve", read=list(Topic))], resources=[node, own])

        server = Resource(
            id="pbs:pbs1:pbs1", type=ResourceType.PBS, name="pbs1", status=Status.ONLINE, instance="pbs1", source="pbs1"
        )
        backup_server = Estate(
            sources=[SourceState(name="pbs1", type="pbs", read=list(Topic))],
            resources=[server],
            pbs_backups=list(rows),
            backup_stores=[STORE],
            **sections,
        )
        return [cluster("h1", "db"), cluster("h2", "cache"), backup_server]

    def test_a_guest_does_not_inherit_the_backup_of_its_namesake(self, house: House) -> None:
        row = PbsBackupRow(vmid=101, comment="db, h1", namespace="h1", instance="pbs1", backup_time=ago(8))
        (finding,) = run(house, *self.two_clusters(row)).findings
        assert (finding.kind, finding.resource_id) == (Kind.BACKUP_STALE, "vm:h2:101")
        assert "No backup at all" in finding.summary

    def test_what_cannot_be_attributed_is_told_of_nobody(self, house: House) -> None:
        row = PbsBackupRow(vmid=101, instance="pbs1", backup_time=ago(8))
        failed = BackupTaskRow(vmid=101, instance="pbs1", status="error", end_time=ago(8))
        report = run(house, *self.two_clusters(row, backup_tasks=[failed]))
        assert report.findings == []
        assert report.looks[Look.BLIND] >= 4

    @pytest.mark.parametrize("status", ["error", "OK"])
    def test_while_a_cluster_is_out_of_sight_its_namesakes_get_nothing_of_its(self, house: House, status: str) -> None:
        """What would be ambiguous with both in sight is no more certain with one of them gone."""
        tasks = [BackupTaskRow(vmid=101, instance="pbs1", status=status, end_time=ago(8))]
        first, second, server = self.two_clusters(backup_tasks=tasks)
        second.resources = []
        second.sources[0].connected = False
        assert [each for each in run(house, first, second, server).findings if each.kind == Kind.BACKUP_FAILED] == []

    def test_inside_a_cluster_a_guest_keeps_its_backups_wherever_it_runs(self, house: House) -> None:
        moved = guest(130, parent="node:lab:pve-b")
        row = PbsBackupRow(vmid=130, comment="vm130, pve-a", instance="pbs1", backup_time=ago(5))
        failed = task(130, node="pve-a", status="error")
        report = run(house, lab(moved, pbs_backups=[row], backup_stores=[STORE], backup_tasks=[failed]))
        assert open_kinds(report) == [(Kind.BACKUP_FAILED, "vm:lab:130", "")]

    def test_a_guest_that_was_deleted_is_not_missed(self, house: House) -> None:
        row = PbsBackupRow(vmid=140, protected=True, instance="pbs1", backup_time=ago(60 * 24))
        for _ in range(2):
            assert run(house, lab(pbs_backups=[row], backup_stores=[STORE])).findings == []

    @pytest.mark.parametrize("namespace", ["", "site1/vm", "lab", "deep/er/lab/x"])
    def test_backups_in_any_namespace_count(self, house: House, namespace: str) -> None:
        row = PbsBackupRow(vmid="101", backup_type="vm", namespace=namespace, instance="pbs1", backup_time=ago(7))
        assert run(house, lab(guest(), pbs_backups=[row], backup_stores=[STORE])).findings == []

    def test_a_namespace_that_may_not_be_read_leaves_its_guests_undecided(self, house: House) -> None:
        closed = BackupStore(id="storage:pbs1:ds1", name="ds1", readable=False)
        assert run(house, lab(guest(), backup_stores=[closed])).findings == []
        assert len(run(house, lab(guest(), backup_stores=[STORE])).findings) == 1

    def test_of_many_files_on_a_plain_storage_the_newest_counts(self, house: House) -> None:
        rows = [
            PveBackupRow(vmid=101, instance="lab", storage="dir", backup_time=ago(11 + 48 * number))
            for number in (3, 0, 8, 1)
        ]
        assert run(house, lab(guest(), pve_backups=rows, backup_stores=[STORE])).findings == []


class TestReachability:
    def test_any_answer_wins_over_silence_elsewhere(self, house: House) -> None:
        probes = [
            ProbeRow(kind="icmp", ok=False, address="10.0.0.50"),
            ProbeRow(kind="tcp:3389", ok=True, address="10.0.0.50"),
            ProbeRow(kind="agent", ok=True),
        ]
        assert run(house, lab(guest(os="win11", probes=probes))).findings == []
        ping_only = lab(guest(os="win11", probes=probes[:1]))
        assert run(house, ping_only).findings == []
        assert len(run(house, lab(guest(os="debian", probes=probes[:1]))).findings) == 1

    def test_addresses_that_mean_something_inside_only_prove_nothing(self, house: House) -> None:
        local = [
            ProbeRow(kind="tcp:22", ok=False, address=address)
            for address in ("127.0.0.1", "172.17.0.1", "169.254.10.2", "fe80::1")
        ]
        assert run(house, lab(guest(probes=local))).findings == []
        assert (
            run(house, lab(guest(probes=[*local, ProbeRow(kind="icmp", ok=True, address="10.0.0.61")]))).findings == []
        )
        silent = [*local, ProbeRow(kind="tcp:22", ok=False, address="10.0.0.61")]
        assert len(run(house, lab(guest(probes=silent))).findings) == 1

    def test_a_routers_word_is_no_answer(self, house: House) -> None:
        refused = "From 10.0.0.1 icmp_seq=1 Destination Host Unreachable"
        probe = ProbeRow(kind="icmp", ok=True, address="10.0.0.9", detail=refused)
        assert len(run(house, lab(guest(os="debian", probes=[probe]))).findings) == 1

    def test_a_silent_agent_alone_is_no_silence(self, house: House) -> None:
        probes = [ProbeRow(kind="agent", ok=False, detail="timeout: file systems are frozen for a snapshot")]
        assert run(house, lab(guest(probes=probes))).findings == []

    def test_an_empty_answer_is_not_the_news_that_everything_is_gone(self, house: House) -> None:
        whole = lab(using(memory=91))
        assert len(run(house, whole).findings) == 1
        nothing = Estate(sources=[SourceState(name="lab", type="pve", read=list(Topic))])
        report = run(house, nothing)
        assert open_kinds(report) == [(Kind.HIGH_MEMORY, GUEST, "")]
        assert [gap.topic for gap in report.gaps] == [Topic.INVENTORY]
        assert open_kinds(run(house, lab(using(memory=91)))) == [(Kind.HIGH_MEMORY, GUEST, "")]

    def test_a_host_that_is_off_is_one_finding_and_its_guests_are_none(self, house: House) -> None:
        silent = [ProbeRow(kind="tcp:22", ok=False, address="10.0.0.7")]
        off = Resource(
            id="node:lab:pve-b",
            type=ResourceType.NODE,
            name="pve-b",
            status=Status.OFFLINE,
            instance="lab",
            source="lab",
        )
        below = [guest(vmid, parent=off.id, probes=silent, status=Status.UNKNOWN) for vmid in (201, 202)]
        idle = guest(109, status=Status.STOPPED, boot_with_host=False, probes=silent)
        assert open_kinds(run(house, lab(off, *below, idle))) == [(Kind.NODE_OFFLINE, "node:lab:pve-b", "")]

    def test_one_guest_that_is_out_of_sight_costs_nothing_else(self, house: House) -> None:
        gap = Gap(
            source="lab",
            topic=Topic.INVENTORY,
            reason=GapReason.FAILED,
            detail="configuration file for VM 160 does not exist",
            resource_id="vm:lab:160",
        )
        report = run(house, lab(using(memory=91), guest(160), gaps=[gap]))
        assert open_kinds(report) == [(Kind.HIGH_MEMORY, GUEST, "")]
        assert report.looks[Look.CLEAR] > 0

    def test_a_server_that_may_be_away_is_expected_to_be(self, house: House, tmp_path: Path) -> None:
        file = tmp_path / "alerts.json"
        file.write_text('{"overrides": {"pbs-cold": {"disableConnectivity": true}}}')
        cold = Resource(
            id="pbs:cold:pbs-cold", type=ResourceType.PBS, name="pbs-cold", status=Status.OFFLINE, source="lab"
        )
        assert open_kinds(run(house, lab(cold))) == [(Kind.NODE_OFFLINE, "pbs:cold:pbs-cold", "")]
        house.settings = limits_from(house, file)
        assert run(house, lab(cold)).findings == []
        (finding,) = everything(house)
        assert finding.resolve_reason is ResolveReason.CHECK_OFF

    def test_one_node_of_a_cluster_that_does_not_answer_costs_the_others_nothing(self, house: House) -> None:
        both = [
            guest(101, metrics={Metric.MEMORY: Reading(value=91)}),
            guest(201, parent="node:lab:pve-b", metrics={Metric.MEMORY: Reading(value=92)}),
        ]
        assert len(run(house, lab(*both)).findings) == 2
        away = Gap(
            source="lab",
            topic=Topic.INVENTORY,
            reason=GapReason.UNREACHABLE,
            detail="pve-b answered 595",
            resource_id="node:lab:pve-b",
        )
        unknown = Resource(id="node:lab:pve-b", type=ResourceType.NODE, name="pve-b", instance="lab", source="lab")
        report = run(house, lab(unknown, using(memory=40), gaps=[away]))
        assert open_kinds(report) == [(Kind.HIGH_MEMORY, "vm:lab:201", "")]


def _metric(name: str, window: float = 300) -> Callable[[float], Estate]:
    def at(value: float) -> Estate:
        metrics = {Metric(name): Reading(value=value, window_seconds=window)}
        if name == "swap":
            metrics[Metric.MEMORY] = Reading(value=80.5)  # short of memory all the time, and held for itself
        return lab(guest(metrics=metrics))

    return at


def _mount(field: str, **row: object) -> Callable[[float], Estate]:
    def at(value: float) -> Estate:
        mount = FilesystemRow(mountpoint="/srv", **{"usage_percent": 20, "free_bytes": 9, field: value, **row})
        return lab(guest(filesystems=[mount]))

    return at


def _disk(kind: str, **row: object) -> Callable[[float], Estate]:
    def at(value: float) -> Estate:
        values = {name: value if number is ... else number for name, number in row.items()}
        made = DiskRow(serial="SER-9", health="PASSED", type=kind, smart_complete=True, **values)
        return lab(Resource(id="disk:serial:SER-9", type=ResourceType.DISK, source="lab", disk=made))

    return at


def _sensor(name: str, **limits: float) -> Callable[[float], Estate]:
    return lambda value: lab(guest(sensors=[SensorRow(name=name, label="", celsius=value, **limits)]))


HYSTERESIS: list[tuple[str, Callable[[float], Estate], tuple[float, float, float]]] = [
    ("CPU", _metric("cpu"), (71, 67, 40)),
    ("memory", _metric("memory"), (81, 78, 40)),
    ("main disk", _metric("disk"), (76, 72, 40)),
    ("pressure on CPU", _metric("pressure_cpu"), (81, 77, 40)),
    ("pressure on memory", _metric("pressure_memory"), (11, 7, 1)),
    ("pressure on I/O", _metric("pressure_io"), (41, 37, 4)),
    ("mount", _mount("usage_percent"), (76, 72, 40)),
    ("mount on an NVMe disk", _mount("usage_percent", disk_type="nvme"), (76, 72, 40)),
    ("inodes", _mount("inodes_percent"), (91, 87, 40)),
    ("storage", lambda value: lab(storage("root", usage_percent=value)), (76, 72, 40)),
    ("NVMe temperature", _disk("nvme", temperature=..., life_used_percent=3), (71, 67, 40)),
    ("SATA temperature", _disk("sata", temperature=..., life_used_percent=3), (56, 52, 40)),
    ("temperature beyond the disk's own limit", _disk("nvme", temperature=..., temperature_limit=66.5), (67, 66, 40)),
    ("wear", _disk("sata", temperature=30, life_used_percent=...), (81, 77, 40)),
    ("processor", _sensor("coretemp@0"), (81, 77, 40)),
    ("sensor with limits of its own", _sensor("mlx5", critical=105), (106, 102, 40)),
]


@pytest.mark.parametrize(("what", "at", "values"), HYSTERESIS, ids=[case[0] for case in HYSTERESIS])
def test_between_clear_and_limit_what_is_open_stays_and_nothing_opens(
    house: House, what: str, at: Callable[[float], Estate], values: tuple[float, float, float]
) -> None:
    present, held, clear = values
    series = ((held, 0), (present, 1), (held, 1), (held, 1), (clear, 0), (held, 0), (present, 1))
    found = [len(run(house, at(value)).findings) for value, _ in series]
    assert found == [expected for _, expected in series]
    (finding,) = everything(house)
    assert finding.regression_count == 1
