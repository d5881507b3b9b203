"""Evidence in shapes on which a patrol is easily blind, wrong or fickle; and what is right all the same."""

import time
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from findings.identity import finding_key
from findings.kinds import Kind
from findings.model import Look, Severity, Topic
from patrol.estate.model import Estate, Metric, Reading, Resource, ResourceType, SourceState, Status
from patrol.tools.registry import Toolbox
from signals.backup_evidence import BackupsOutput, BackupTaskRow, PveBackupRow
from signals.evidence import (
    BackupStore,
    DiskRow,
    InventoryOutput,
    InventoryRow,
    PerformanceOutput,
    PerformanceRow,
    ProbeRow,
    SmartAttributes,
)
from signals.matching import unmatched_signals
from signals.model import Origin, Signal, ToolCall
from signals.storage_evidence import FilesystemRow
from signals.thresholds import Limited
from tests.acceptance.faults import Condition
from tests.acceptance.recordings import call, conditions, judged, limits_of, swept
from tests.run.builders import NOW, House, estate, host
from tests.run.test_run import limits_from

STORAGE, METRICS = "pulse_storage", "pulse_metrics"


def ago(hours: float) -> str:
    return f"{NOW - timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}"


def told(*calls: ToolCall) -> list[tuple[str, str]]:
    return [(str(each.signal_type), each.resource_id) for each in judged(calls).signals]


def one(*calls: ToolCall) -> Signal:
    (signal,) = judged(calls).signals
    return signal


def attempts(*rows: dict[str, object]) -> ToolCall:
    return call(STORAGE, {"tasks": list(rows)}, type="backup_tasks")


def pve_host(*resources: Resource, **sections: object) -> Estate:
    """A node with things on it, all from one source that reads everything."""
    source = [SourceState(name="lab", type="pve", read=list(Topic))]
    node = Resource(
        id="node:lab:pve1", type=ResourceType.NODE, name="pve1", status=Status.ONLINE, instance="lab", source="lab"
    )
    return Estate(sources=source, resources=[node, *resources], **sections)


def disk(device: str, **row: object) -> Resource:
    return Resource(
        id=f"disk:pve1:{device}",
        type=ResourceType.DISK,
        parent="node:lab:pve1",
        source="lab",
        disk=DiskRow(device=f"/dev/{device}", smart_complete=True, **row),
    )


def guest(vmid: int, **fields: object) -> Resource:
    return Resource(
        id=f"vm:lab:{vmid}",
        type=ResourceType.VM,
        name=f"vm{vmid}",
        status=Status.RUNNING,
        parent="node:lab:pve1",
        instance="lab",
        vmid=vmid,
        source="lab",
        **fields,
    )


class TestShapesOfPages:
    def test_averages_stand_in_a_map_by_id(self) -> None:
        assert told(call(METRICS, {"summary": {"n1": {"avg_cpu": 99}}}, type="performance")) == [("high_cpu", "n1")]

    def test_points_alone_say_nothing_and_break_nothing(self) -> None:
        points = {"resource_id": "n1", "period": "24h", "points": [{"timestamp": ago(1), "cpu": 99}], "summary": {}}
        assert told(call(METRICS, points, type="performance")) == []

    def test_the_selector_of_a_page_of_disks_is_no_filter_by_kind(self) -> None:
        toolbox = Toolbox(pve_host(disk("sda", health="FAILED", type="sata"), disk("nvme0n1", type="nvme")), NOW)
        everything = toolbox.call(METRICS, {"type": "disks"})
        solid = toolbox.call(METRICS, {"type": "disks", "disk_type": "nvme"})
        assert [len(page.disks) for page in (everything, solid)] == [2, 1]  # type: ignore[attr-defined]

    def test_file_systems_have_a_selector_of_their_own(self) -> None:
        full = guest(101, filesystems=[FilesystemRow(mountpoint="/data", usage_percent=97)])
        assert Condition(Kind.HIGH_DISK, "vm:lab:101", "/data") in conditions(judged(swept(pve_host(full))).signals)

    def test_both_pages_of_disks_carry_identity_and_counters(self) -> None:
        sick = pve_host(disk("sda", health="PASSED", serial="WD-1", attributes=SmartAttributes(pending_sectors=900)))
        toolbox = Toolbox(sick, NOW)
        for tool, selector in ((STORAGE, "disk_health"), (METRICS, "disks")):
            output = toolbox.call(tool, {"type": selector})
            signal = one(ToolCall(id="c1", tool_name=tool, input={"type": selector}, output=output))
            assert (signal.resource_id, signal.value) == ("disk:pve1:sda", 900)

    def test_two_failed_disks_of_a_host_are_two_signals(self) -> None:
        disks = [{"device": device, "health": "FAILED"} for device in ("sda", "sdb")]
        page = {"hosts": [{"hostname": "pve1", "smart": disks}]}
        assert [resource for _, resource in told(call(STORAGE, page, type="disk_health"))] == [
            "disk:pve1:sda",
            "disk:pve1:sdb",
        ]

    def test_a_guest_is_asked_for_by_its_number(self) -> None:
        both = pve_host(
            guest(100),
            guest(101),
            pve_backups=[PveBackupRow(vmid=vmid, instance="lab", backup_time=ago(3)) for vmid in (100, 101)],
        )
        page = Toolbox(both, NOW).call(STORAGE, {"type": "backups", "resource_id": "100"})
        assert isinstance(page, BackupsOutput)
        assert [row.resource_id for row in page.pve] == ["vm:lab:100"]


class TestBackups:
    def test_the_last_of_sixty_guests_is_seen_like_the_first(self) -> None:
        guests = [guest(vmid) for vmid in range(100, 160)]
        tasks = [
            BackupTaskRow(vmid=vmid, instance="lab", type="vzdump", status="error", end_time=ago(2))
            for vmid in range(100, 160)
        ]
        signals = judged(swept(pve_host(*guests, backup_tasks=tasks))).signals
        assert len([each for each in signals if each.signal_type is Kind.BACKUP_FAILED]) == 60

    def test_a_guest_is_missed_though_no_backup_and_no_task_speaks_of_it(self) -> None:
        lab = pve_host(
            guest(100, first_seen=NOW - timedelta(days=90)),
            guest(101),
            guest(102),
            backup_stores=[BackupStore(id="storage:lab:nas")],
            pve_backups=[
                PveBackupRow(vmid=101, instance="lab", backup_time=ago(24 * 30)),  # its job was deleted last month
                PveBackupRow(vmid=102, instance="lab", backup_time="eight o'clock"),
            ],
        )
        detection = judged(swept(lab))
        stale = {each.resource_id: each for each in detection.signals}
        assert set(stale) == {"vm:lab:100", "vm:lab:101"}
        assert "No backup at all" in stale["vm:lab:100"].summary
        assert detection.examined.look(Kind.BACKUP_STALE, "vm:lab:102") is Look.BLIND
        assert "cannot be placed" in detection.examined.blind_reason(Kind.BACKUP_STALE, "vm:lab:102")

    @pytest.mark.parametrize("when", [None, "0001-01-01T00:00:00Z", "sometime"])
    def test_an_attempt_without_a_time_is_not_of_now(self, when: str | None) -> None:
        failed = {"vmid": 101, "status": "ERROR", "start_time": when, "end_time": when}
        assert told(attempts(failed, {"vmid": 101, "status": "OK", "end_time": ago(30)})) == []
        assert told(attempts(failed, {"vmid": 101, "status": "OK", "end_time": when})) == []
        assert "at an unknown time" in one(attempts(failed)).summary

    @pytest.mark.parametrize("order", [(0, 1), (1, 0)])
    def test_at_one_instant_the_success_counts_in_any_order(self, order: tuple[int, int]) -> None:
        rows = [{"vmid": 101, "status": word, "end_time": ago(1)} for word in ("ERROR", "OK")]
        assert told(attempts(*(rows[place] for place in order))) == []

    @pytest.mark.parametrize(
        ("status", "failed"),
        [
            ("WARNINGS: 1", False),
            ("unknown", False),
            ("queued", False),
            ("stopped", False),
            ("running", False),
            ("ERROR: storage nfs1 is inactive", True),
            ("unsuccessful", True),
            ("job errors", True),
            ("Success", False),
        ],
    )
    def test_words_are_read_whole(self, status: str, failed: bool) -> None:
        assert bool(told(attempts({"vmid": 101, "status": status, "end_time": ago(1)}))) is failed

    def test_the_sentence_names_the_limit_in_force(self) -> None:
        lab = pve_host(
            guest(101),
            backup_stores=[BackupStore(id="storage:lab:nas")],
            pve_backups=[PveBackupRow(vmid=101, instance="lab", backup_time=ago(200))],
        )
        (signal,) = judged(swept(lab), limits_of("{}", backup_stale_hours=100)).signals
        assert "the limit is 4.2 days" in signal.summary
        assert (signal.limit, signal.value) == (100, 200)

    @pytest.mark.parametrize(
        ("written", "zone", "hours"),
        [
            (f"{NOW - timedelta(hours=39):%Y-%m-%d %H:%M:%S}", "Australia/Brisbane", 49),  # ten hours ahead of UTC
            (f"{NOW - timedelta(hours=49):%Y-%m-%d %H:%M:%S +0000}", "Australia/Brisbane", 49),
            (f"{NOW - timedelta(hours=49):%Y-%m-%dT%H:%M:%S.123456789Z}", "", 49),
            (str(int((NOW - timedelta(hours=49)).timestamp())), "Asia/Tokyo", 49),
            (int((NOW - timedelta(hours=49)).timestamp()), "Asia/Tokyo", 49),
        ],
    )
    def test_times_are_placed_in_the_zone_of_their_source(self, written: str | int, zone: str, hours: float) -> None:
        lab = pve_host(
            guest(101),
            backup_stores=[BackupStore(id="storage:lab:nas")],
            pve_backups=[PveBackupRow(vmid=101, instance="lab", backup_time=written)],
            zones={"lab": zone} if zone else {},
        )
        (signal,) = judged(swept(lab)).signals
        assert signal.value == pytest.approx(hours, abs=0.01)

    def test_rows_that_spell_their_ids_differently_are_all_read(self) -> None:
        page = {
            "pbs": [{"vmid": 200, "backup_time": ago(96)}, {"vmid": "201", "backup_time": ago(96)}],
            "pve": [{"vmid": "202", "backup_time": ago(96)}],
            "recent_tasks": [{"vmid": vmid, "status": "OK", "start_time": ago(1)} for vmid in ("200", 201, "202")],
        }
        assert [resource for _, resource in told(call(STORAGE, page, type="backups"))] == ["200", "201", "202"]

    def test_a_weekly_backup_is_not_stale_where_the_operator_said_a_week(self) -> None:
        weekly = limits_of('{"backupDefaults": {"enabled": true, "warningDays": 8, "criticalDays": 14}}')
        ignored = limits_of('{"backupDefaults": {"ignoreVMIDs": ["10*"]}}')
        for hours, limits, expected in (
            (24 * 7, weekly, 0),
            (24 * 9, weekly, 1),
            (24 * 9, ignored, 0),
            (24 * 3, limits_of("{}"), 1),
        ):
            lab = pve_host(
                guest(101),
                backup_stores=[BackupStore(id="storage:lab:nas")],
                pve_backups=[PveBackupRow(vmid=101, instance="lab", backup_time=ago(hours))],
            )
            assert len(judged(swept(lab), limits).signals) == expected


class TestWhatIsShown:
    def test_the_evidence_is_the_offending_row_cut_at_a_character(self) -> None:
        pools = [{"id": f"pool-{number}", "usage_percent": 20} for number in range(34)]
        signal = one(call(STORAGE, {"pools": [*pools, {"id": "ä" * 600, "usage_percent": 99}]}, type="pools"))
        assert signal.evidence.startswith('{"id":"ää')
        assert 498 <= len(signal.evidence.encode()) <= 500
        assert "pool-3" not in signal.evidence

    def test_order_is_severity_type_and_resource_whatever_was_read_first(self) -> None:
        rows = [{"vmid": vmid, "status": "error", "end_time": ago(1)} for vmid in (900, 20, 3)]
        pools = {"pools": [{"id": name, "usage_percent": used} for name, used in (("b", 80), ("a", 99))]}
        assert told(attempts(*rows), call(STORAGE, pools, type="pools")) == [
            ("high_disk", "a"),
            ("high_disk", "b"),
            ("backup_failed", "20"),
            ("backup_failed", "3"),
            ("backup_failed", "900"),
        ]

    def test_a_report_matches_by_the_canonical_resource(self) -> None:
        known = InventoryOutput(
            resources=[InventoryRow(id="vm:lab:101", type="vm", vmid=101, instance="lab", aliases=["qemu/101"])],
            complete=True,
        )
        calls = [
            ToolCall(
                id="i", tool_name="pulse_query", input={"action": "inventory"}, output=known, origin=Origin.PATROL
            ),
            attempts({"vmid": "101", "status": "error", "end_time": ago(1)}),
        ]
        signals = judged(calls).signals
        assert [each.resource_id for each in signals] == ["vm:lab:101"]
        assert unmatched_signals(signals, {finding_key("vm:lab:101", Kind.BACKUP_FAILED)}) == []

    def test_a_silent_guest_is_one_finding(self, house: House) -> None:
        silent = guest(101, probes=[ProbeRow(kind="tcp:22", ok=False, address="10.0.0.9")], os="debian")
        silent.source = "local"
        report = house.run(estate(host(), silent))
        assert [(each.kind, each.category) for each in report.findings] == [("guest_unreachable", "reliability")]


class TestTextAroundDocuments:
    FAILED = '{"node": "pve1", "disks": [{"device": "sdb", "health": "FAILED"}]}'

    @pytest.mark.parametrize(
        "text",
        [
            f"No cache, live data: {FAILED}",
            f"{{see below}} {FAILED}",
            f"{{see below {FAILED}",
            f"note [1]: {FAILED} and {{more}}",
            f"```json\n{FAILED}\n```",
            f'{FAILED[:-1]} "x',
        ],
    )
    def test_a_document_is_found(self, text: str) -> None:
        assert told(call(STORAGE, text, type="disk_health")) == [("smart_failure", "disk:pve1:sdb")]

    def test_a_bare_list_is_a_document_too(self) -> None:
        assert told(call(STORAGE, 'these: [{"id": "a", "usage_percent": 99}]', type="pools")) == [("high_disk", "a")]

    @pytest.mark.parametrize("junk", ["}" * 50_000, '{"a":' * 50_000, "[" * 200_000, '{"x": [' + '{"y": 1},' * 100_000])
    def test_much_text_that_is_no_document_costs_little(self, junk: str) -> None:
        started = time.process_time()
        assert told(call(STORAGE, f'{{"disks": {junk}', type="disk_health")) == []
        assert time.process_time() - started < 5


class TestConditionsBesideTheSeven:
    @pytest.mark.parametrize(
        ("page", "selector", "kind", "resource"),
        [
            (
                {"pools": [{"id": "tank", "usage_percent": 20, "zfs": {"state": "DEGRADED"}}]},
                "pools",
                Kind.POOL_DEGRADED,
                "tank",
            ),
            (
                {"pools": [], "ceph_clusters": [{"name": "ceph", "health": "HEALTH_ERR", "usage_percent": 20}]},
                "pools",
                Kind.CEPH_UNHEALTHY,
                "storage:ceph:ceph",
            ),
            (
                {
                    "pbs_servers": [
                        {"name": "pbs1", "datastores": [{"name": "main", "usage_percent": 97, "free_gb": 5}]}
                    ]
                },
                "backups",
                Kind.HIGH_DISK,
                "storage:pbs1:main",
            ),
            (
                {"hosts": [{"hostname": "nas", "arrays": [{"device": "/dev/md0", "state": "clean, degraded"}]}]},
                "raid",
                Kind.RAID_DEGRADED,
                "raid:nas:md0",
            ),
            (
                {"hosts": [{"hostname": "nas", "raid": [{"device": "/dev/md0", "failed_devices": 1}]}]},
                "disk_health",
                Kind.RAID_DEGRADED,
                "raid:nas:md0",
            ),
            (
                {"instance": "pbs1", "jobs": [{"id": "v1", "type": "verify", "status": "read failed - ESTALE"}]},
                "pbs_jobs",
                Kind.BACKUP_FAILED,
                "pbs1",
            ),
            (
                [{"name": "lab", "health": "HEALTH_WARN", "details": {"health_message": "x", "usage_percent": 20}}],
                "ceph",
                Kind.CEPH_UNHEALTHY,
                "storage:ceph:lab",
            ),
            (
                {"hosts": [{"fsid": "f1", "health": {"status": "HEALTH_OK"}, "osd_map": {"num_up": 2, "num_in": 3}}]},
                "ceph_details",
                Kind.CEPH_UNHEALTHY,
                "storage:ceph:f1",
            ),
            (
                [{"id": "101-0", "guest_id": 101, "source_node": "pve1", "target_node": "pve2", "status": "error"}],
                "replication",
                Kind.REPLICATION_FAILED,
                "vm:pve1:101",
            ),
            (
                {
                    "snapshots": [
                        {"vmid": "110", "type": "lxc", "node": "pve1", "snapshot_name": "s", "time": "2020-01-01"},
                    ]
                },
                "snapshots",
                Kind.SNAPSHOT_OLD,
                "system-container:pve1:110",
            ),
        ],
    )
    def test_what_a_page_shows_is_judged(self, page: object, selector: str, kind: Kind, resource: str) -> None:
        assert told(call(STORAGE, page, type=selector)) == [(kind, resource)]

    @pytest.mark.parametrize(
        ("used", "free", "look"),
        [(97, 5, Look.PRESENT), (75, 5, Look.HELD), (40, 5, Look.CLEAR), (0, None, Look.BLIND), (120, 5, Look.BLIND)],
    )
    def test_a_datastore_is_judged_by_the_limit_of_storages(self, used: float, free: float | None, look: Look) -> None:
        server = {"name": "pbs1", "datastores": [{"name": "main", "usage_percent": used, "free_gb": free}]}
        page = msgspec.convert({"pbs_servers": [server], "complete": True}, BackupsOutput)
        swept_page = ToolCall(id="c1", tool_name=STORAGE, input={"type": "backups"}, output=page, origin=Origin.PATROL)
        assert judged([swept_page]).examined.look(Kind.HIGH_DISK, "storage:pbs1:main") is look
        off = limits_of('{"storageDefault": {"trigger": 0, "clear": 0}}')
        assert judged([swept_page], off).examined.look(Kind.HIGH_DISK, "storage:pbs1:main") is None

    def test_a_nameless_datastore_is_nobodys(self) -> None:
        servers = [{"name": "", "datastores": [{"name": "x", "usage_percent": 99}]}, {"name": "p", "datastores": [{}]}]
        assert told(call(STORAGE, {"pbs_servers": servers}, type="backups")) == []


class TestLimits:
    POOL = call(STORAGE, {"pools": [{"id": "storage:pve1:nvr", "name": "nvr", "usage_percent": 99.5}]}, type="pools")

    @pytest.mark.parametrize(
        ("settings", "severity"),
        [
            ("{}", Severity.CRITICAL),
            ('{"storageDefault": {"trigger": 0, "clear": 0}}', None),
            ('{"storageDefault": {"trigger": -1, "clear": 0}}', None),
            ('{"disableAllStorage": true}', None),
            ('{"overrides": {"storage:nvr": {"disabled": true}}}', None),
            ('{"overrides": {"storage:nvr": {"usage": {"trigger": 0, "clear": 0}}}}', None),
            ('{"storageDefault": {"trigger": 96, "clear": 90}}', Severity.WARNING),  # critical from 100 on
            ('{"storageDefault": {"trigger": 99.6, "clear": 90}}', None),
        ],
    )
    def test_what_the_operator_wrote_is_in_force(self, settings: str, severity: Severity | None) -> None:
        signals = judged([self.POOL], limits_of(settings)).signals
        assert [each.severity for each in signals] == ([severity] if severity else [])

    @pytest.mark.parametrize("trigger", [1, 3, 8, 12, 50, 94, 95, 96, 99.5, 100])
    def test_tiers_are_in_order_and_can_be_reached(self, trigger: float) -> None:
        limits = limits_of(f'{{"storageDefault": {{"trigger": {trigger}, "clear": {trigger / 2}}}}}')
        limit = limits.limit(InventoryRow(id="s", type="storage"), Limited.STORAGE)
        assert limit is not None
        assert limit.watch is not None
        assert limit.watch < limit.trigger
        assert limit.critical is None or limit.trigger < limit.critical <= 100
        assert limit.look(100) is Look.PRESENT
        if limit.critical is not None:
            assert limit.severity(100) is Severity.CRITICAL

    def test_a_kind_of_disk_may_fill_up_further(self) -> None:
        limits = limits_of('{"diskFillByType": {"nvme": {"trigger": 95, "clear": 92}}}')
        rows = [FilesystemRow(mountpoint=f"/{kind}", usage_percent=94, disk_type=kind) for kind in ("nvme", "hdd")]
        lab = Estate(
            sources=[SourceState(name="local", type="local", read=list(Topic))],
            resources=[Resource(id="agent:local:a", type=ResourceType.AGENT, name="a", filesystems=rows)],
        )
        assert [each.subject for each in judged(swept(lab), limits).signals] == ["/hdd"]

    def test_settings_that_were_edited_are_in_force_in_the_next_run(self, house: House, tmp_path: Path) -> None:
        file = tmp_path / "alerts.json"
        house.settings = limits_from(house, file)
        for trigger, found in ((90, 0), (80, 1), (90, 0), (0, 0), (70, 1)):
            clear = max(trigger - 1, 0)
            file.write_text(
                f'{{"agentDefaults": {{"disk": {{"trigger": {trigger}, "clear": {clear}}}}}, "diskFillByType": {{}}}}'
            )
            assert len(house.run(estate(host(usage=89.5))).findings) == found, trigger


class TestAViewWithHoles:
    """The list of resources was read, and not wholly."""

    CUT = ToolCall(
        id="i",
        tool_name="pulse_query",
        input={"action": "inventory"},
        output='{"resources": [{"id": "node:lab:pve1", "type": "node", "name": "pve1", "instance": "lab"}, {"id": "vm',
        origin=Origin.PATROL,
    )

    def test_a_guest_out_of_sight_may_be_stopped(self) -> None:
        row = PerformanceRow(resource_id="vm:lab:101", avg_cpu=99, avg_memory=99, cpu_window_seconds=3600)
        page = PerformanceOutput(summary={"vm:lab:101": row}, complete=True)
        use = ToolCall(id="c1", tool_name=METRICS, input={"type": "performance"}, output=page, origin=Origin.PATROL)
        detection = judged([self.CUT, use])
        assert detection.signals == ()
        for kind in (Kind.HIGH_CPU, Kind.HIGH_MEMORY):
            assert detection.examined.look(kind, "vm:lab:101") is Look.BLIND
        assert len(judged([use]).signals) == 2
        silent = call("pulse_query", {"guests": [{"id": "vm:lab:101", "reachable": False}]}, action="health")
        assert told(self.CUT, silent) == []
        assert told(silent) == [("guest_unreachable", "vm:lab:101")]

    @pytest.mark.parametrize(
        ("row", "resource"),
        [
            ({"vmid": 101}, None),
            ({"vmid": 101, "instance": "lab"}, None),
            ({"vmid": None, "resource_id": "vm:lab:101"}, "vm:lab:101"),
            ({"vmid": 0, "node": "pve1", "instance": "lab", "type": "vzdump"}, "node:lab:pve1"),
            ({"vmid": 0, "node": "pve1", "type": "vzdump"}, None),
            ({"vmid": 0, "node": "pve1", "instance": "site2", "type": "vzdump"}, None),
        ],
    )
    def test_a_number_or_name_alone_attributes_nothing(self, row: dict[str, object], resource: str | None) -> None:
        failed = attempts({**row, "status": "error", "end_time": ago(1)})
        assert [found for _, found in told(self.CUT, failed)] == ([resource] if resource else [])

    def test_a_job_is_told_only_where_its_place_is_known(self) -> None:
        job = {"id": "v1", "type": "verify", "status": "read failed"}
        page = {"instance": "pbs1", "jobs": [job, {**job, "id": "v2", "resource_id": "storage:pbs1:main"}]}
        assert told(self.CUT, call(STORAGE, page, type="pbs_jobs")) == [("backup_failed", "storage:pbs1:main")]

    def test_a_list_that_a_model_looked_up_in_part_makes_no_holes_in_the_whole_one(self) -> None:
        lab = pve_host(
            guest(101),
            backup_stores=[BackupStore(id="storage:lab:nas")],
            pve_backups=[PveBackupRow(vmid=101, instance="lab", backup_time=ago(1))],
        )
        part = Toolbox(lab, NOW).call("pulse_query", {"action": "inventory", "limit": 1})
        looked_up = ToolCall(id="m", tool_name="pulse_query", input={"action": "inventory", "limit": 1}, output=part)
        detection = judged([looked_up, *swept(lab)])
        assert detection.examined.look(Kind.BACKUP_STALE, "vm:lab:101") is Look.CLEAR


def test_live_and_recorded_numbers_are_the_same_bytes() -> None:
    sick = pve_host(disk("sda", health="PASSED", attributes=SmartAttributes(pending_sectors=2)))
    (signal,) = judged(swept(sick)).signals
    assert '"pendingSectors":2.0' in signal.evidence
    assert b'"value":2.0' in msgspec.json.encode(signal)


def test_pressure_beyond_all_time_says_nothing_of_memory() -> None:
    metrics = {
        Metric.SWAP: Reading(value=99),
        Metric.MEMORY: Reading(value=40),
        Metric.PRESSURE_MEMORY: Reading(value=250),
    }
    lab = pve_host(guest(101, metrics=metrics))
    assert judged(swept(lab)).signals == ()


def test_a_core_does_not_speak_for_a_package_that_may_have_been_cut_off() -> None:
    sensors = '{"name": "coretemp", "label": "Core 1", "celsius": 99}, {"name": "coretemp", "label": "Pack'
    text = '{"hosts": [{"id": "agent:local:nas", "sensors": [' + sensors
    assert told(call(METRICS, text, type="temperatures")) == []
    whole = text.removesuffix(', {"name": "coretemp", "label": "Pack') + "]}]}"
    assert told(call(METRICS, whole, type="temperatures")) == [("high_temperature", "agent:local:nas")]


def test_a_number_that_was_cut_in_its_exponent_is_lost() -> None:
    text = '{"pools": [{"id": "a", "usage_percent": 20}, {"id": "b", "usage_percent": 99.5e'
    assert told(call(STORAGE, text, type="pools")) == []
