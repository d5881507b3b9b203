"""The documented inputs of the detectors, each as a recorded call, and what must come of it."""

from datetime import timedelta
from typing import NamedTuple

import pytest

from findings.identity import finding_key
from findings.kinds import Kind
from findings.model import Severity
from signals.backups.owners import read_vmid
from signals.detector import cut
from signals.evidence import InventoryRow
from signals.matching import unmatched_signals
from signals.model import ToolCall
from signals.pages import Id
from signals.thresholds import AlertThresholds, Limited
from signals.transcript import parse_arguments
from tests.acceptance.recordings import BUILT_IN, call, judged, limits_of
from tests.run.builders import NOW

STORAGE, METRICS, ALERTS = "pulse_storage", "pulse_metrics", "pulse_alerts"
WARNING, CRITICAL = Severity.WARNING, Severity.CRITICAL


def ago(hours: float) -> str:
    return f"{NOW - timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}"


class Case(NamedTuple):
    rule: str
    calls: list[ToolCall]
    told: list[tuple[Kind, str, Severity]]
    limits: AlertThresholds = BUILT_IN


FAILED_DISK = {"node": "pve1", "disks": [{"device": "sda", "health": "PASSED"}, {"device": "sdb", "health": "FAILED"}]}
FAILED = [(Kind.SMART_FAILURE, "disk:pve1:sdb", CRITICAL)]
POOLS = {"pools": [{"id": name, "usage_percent": used} for name, used in (("a", 80.5), ("b", 50), ("backup", 97))]}
CPU = {"resources": [{"id": "node1", "avg_cpu": 55, "avg_memory": 40}]}

CASES = [
    Case("a disk that failed is the disk's own trouble", [call(STORAGE, FAILED_DISK, type="disk_health")], FAILED),
    Case(
        "a disk that passed or is ok is sound",
        [call(STORAGE, {"node": "n", "disks": [{"device": "a", "health": "PASSED"}, {"device": "b", "health": "OK"}]})],
        [],
    ),
    Case(
        "counters speak against a disk that passed",
        [
            call(
                STORAGE,
                {
                    "disks": [
                        {
                            "id": "physical-disk-1",
                            "health": "PASSED",
                            "attributes": {"pendingSectors": 2, "offlineUncorrectable": 1},
                        }
                    ]
                },
                type="disk_health",
            )
        ],
        [(Kind.SMART_FAILURE, "physical-disk-1", CRITICAL)],
    ),
    Case(
        "a disk of a host that has no name of its own is told of the host",
        [
            call(
                STORAGE,
                {
                    "hosts": [
                        {
                            "hostname": "pve-host",
                            "smart": [{"health": "PASSED", "smartAttributes": {"udmaCrcErrors": 4}}],
                        }
                    ]
                },
                type="disk_health",
            )
        ],
        [(Kind.SMART_FAILURE, "pve-host", WARNING)],
    ),
    Case(
        "the page of disks shows counters as well",
        [
            call(
                METRICS,
                {"disks": [{"id": "disk-nvme", "health": "PASSED", "smart_attributes": {"mediaErrors": 1}}]},
                type="disks",
            )
        ],
        [(Kind.SMART_FAILURE, "disk-nvme", CRITICAL)],
    ),
    Case(
        "of many resources the one above its limit",
        [
            call(
                METRICS,
                {
                    "resources": [
                        {"id": "node1", "avg_cpu": 85.5, "avg_memory": 40},
                        {"id": "node2", "avg_cpu": 30, "avg_memory": 50},
                    ]
                },
                type="performance",
            )
        ],
        [(Kind.HIGH_CPU, "node1", WARNING)],
    ),
    Case(
        "a page of one resource",
        [call(METRICS, {"id": "node1", "avg_memory": 92.3, "avg_cpu": 20}, type="performance")],
        [(Kind.HIGH_MEMORY, "node1", WARNING)],
    ),
    Case(
        "values of now stand in for averages of 0",
        [
            call(
                METRICS,
                {"resources": [{"id": "n", "avg_cpu": 0, "avg_memory": 0, "cpu_percent": 75, "mem_percent": 85}]},
                type="performance",
            )
        ],
        [(Kind.HIGH_CPU, "n", WARNING), (Kind.HIGH_MEMORY, "n", WARNING)],
    ),
    Case("another selector holds no such values", [call(METRICS, {"id": "n", "avg_cpu": 90}, type="temperature")], []),
    Case(
        "pools by the built-in limits",
        [call(STORAGE, POOLS, type="pools")],
        [(Kind.HIGH_DISK, "backup", CRITICAL), (Kind.HIGH_DISK, "a", WARNING)],
    ),
    Case(
        "pools by the operator's limit",
        [call(STORAGE, {"pools": POOLS["pools"][:2]}, type="pools")],
        [],
        limits_of('{"storageDefault": {"trigger": 90, "clear": 85}}'),
    ),
    Case("CPU below the built-in limit", [call(METRICS, CPU, type="performance")], []),
    Case(
        "CPU above the operator's limit",
        [call(METRICS, CPU, type="performance")],
        [(Kind.HIGH_CPU, "node1", WARNING)],
        limits_of('{"nodeDefaults": {"cpu": {"trigger": 50, "clear": 45}}}'),
    ),
    Case(
        "an attempt that failed",
        [
            call(
                STORAGE,
                {
                    "tasks": [
                        {"vmid": "100", "status": "OK", "end_time": ago(0)},
                        {"vmid": "101", "status": "ERROR: backup failed", "end_time": ago(0)},
                    ]
                },
                type="backup_tasks",
            )
        ],
        [(Kind.BACKUP_FAILED, "101", WARNING)],
    ),
    Case(
        "a later success ends a failure",
        [
            call(
                STORAGE,
                {
                    "tasks": [
                        {"vmid": "100", "status": "error", "end_time": ago(2)},
                        {"vmid": "100", "status": "OK", "end_time": ago(1)},
                    ]
                },
                type="backup_tasks",
            )
        ],
        [],
    ),
    Case(
        "an old success among attempts says nothing of backups",
        [call(STORAGE, {"tasks": [{"vmid": "100", "status": "OK", "end_time": ago(72)}]}, type="backup_tasks")],
        [],
    ),
    Case(
        "recent attempts count, numbers as they come",
        [
            call(
                STORAGE,
                {
                    "recent_tasks": [
                        {"vmid": 105, "status": "OK", "start_time": ago(1)},
                        {"vmid": 106, "status": "error", "start_time": ago(1)},
                    ]
                },
                type="backups",
            )
        ],
        [(Kind.BACKUP_FAILED, "106", WARNING)],
    ),
    Case(
        "a later success among recent attempts",
        [
            call(
                STORAGE,
                {
                    "recent_tasks": [
                        {"vmid": 105, "status": "error", "start_time": ago(2)},
                        {"vmid": 105, "status": "OK", "start_time": ago(0.5)},
                    ]
                },
                type="backups",
            )
        ],
        [],
    ),
    Case(
        "backups that are too old, wherever they lie",
        [
            call(
                STORAGE,
                {
                    "pbs": [{"vmid": "200", "backup_type": "vm", "backup_time": ago(96)}],
                    "pve": [{"vmid": 201, "backup_time": ago(96), "storage": "nas"}],
                    "recent_tasks": [{"vmid": vmid, "status": "OK", "start_time": ago(0)} for vmid in (200, 201)],
                },
                type="backups",
            )
        ],
        [(Kind.BACKUP_STALE, "200", WARNING), (Kind.BACKUP_STALE, "201", WARNING)],
    ),
    Case(
        "alerts are not mirrored",
        [
            call(
                ALERTS,
                {"alerts": [{"id": "a", "resource_id": "n", "type": "cpu", "severity": word, "value": 99}]},
                action="list",
            )
            for word in ("critical", "warning", "info")
        ],
        [],
    ),
    Case("nor by another action", [call(ALERTS, {"alerts": [{"id": "a", "severity": "critical"}]}, action="get")], []),
    Case("a call that failed is no evidence", [call(STORAGE, FAILED_DISK, success=False, type="disk_health")], []),
    Case("no output is no evidence", [call(STORAGE, "", type="disk_health")], []),
    Case("nor is garbage", [call(STORAGE, "not valid json at all", type="disk_health")], []),
    Case("nor a sentence", [call(STORAGE, "No storage data available", type="pools")], []),
    Case("nor a provider's excuse", [call(STORAGE, "State provider not available", type="pools")], []),
    Case(
        "a document that was cut inside a text",
        [call(STORAGE, '{"node": "pve1", "disks": [{"device": "sdb", "health": "FAI', type="disk_health")],
        [],
    ),
    Case(
        "a document with words around it",
        [
            call(
                STORAGE,
                'Here it is: {"node": "pve1", "disks": [{"device": "sdb", "health": "FAILED"}]} as asked.',
                type="disk_health",
            )
        ],
        FAILED,
    ),
    Case(
        "a call without its selector is read as what it holds",
        [call(STORAGE, FAILED_DISK), call(METRICS, {"id": "n", "avg_cpu": 90}, number=2)],
        [*FAILED, (Kind.HIGH_CPU, "n", WARNING)],
    ),
    Case(
        "one statement for each condition, whatever is read twice",
        [
            call(STORAGE, FAILED_DISK, type="disk_health"),
            call(STORAGE, FAILED_DISK, number=2, type="disk_health"),
            call(STORAGE, {**FAILED_DISK, "node": "pve2"}, number=3, type="disk_health"),
            call(METRICS, {"id": "pve1", "avg_cpu": 99}, number=4, type="performance"),
        ],
        [*FAILED, (Kind.SMART_FAILURE, "disk:pve2:sdb", CRITICAL), (Kind.HIGH_CPU, "pve1", WARNING)],
    ),
    Case(
        "a guest that answers on no path",
        [
            call(
                "pulse_query",
                {
                    "guests": [
                        {"id": "vm-1", "reachable": False},
                        {"id": "vm-2", "reachable": True},
                        {"id": "vm-3", "reachable": None},
                        {"id": "vm-4"},
                    ]
                },
                action="health",
            )
        ],
        [(Kind.GUEST_UNREACHABLE, "vm-1", WARNING)],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.rule for case in CASES])
def test_recorded(case: Case) -> None:
    told = [(each.signal_type, each.resource_id, each.severity) for each in judged(case.calls, case.limits).signals]
    assert told == sorted(case.told, key=lambda each: (-each[2].rank, list(Kind).index(each[0]), each[1]))


def test_the_summary_of_a_disk_names_its_counters_and_the_page_it_was_seen_on() -> None:
    (signal,) = judged(CASES[2].calls).signals
    assert (signal.resource_type, signal.tool_call_id) == ("disk", "c1")
    assert "pendingSectors=2" in signal.summary
    assert "offlineUncorrectable=1" in signal.summary


def test_a_guest_without_a_name_goes_by_its_id() -> None:
    (signal,) = judged(CASES[-1].calls).signals
    assert (signal.resource_name, signal.category) == ("vm-1", "reliability")


def test_unmatched_is_what_no_finding_says_of_the_same_condition() -> None:
    calls = [
        call(STORAGE, FAILED_DISK, type="disk_health"),
        call(METRICS, {"id": "node1", "avg_cpu": 99}, type="performance"),
        call(STORAGE, {"pools": [{"id": "local-lvm", "usage_percent": 99}]}, type="pools"),
    ]
    signals = judged(calls).signals
    known = {finding_key("disk:pve1:sdb", Kind.SMART_FAILURE)}
    assert [each.resource_id for each in unmatched_signals(signals, known)] == ["local-lvm", "node1"]
    everything = {finding_key(each.resource_id, each.signal_type, each.subject) for each in signals}
    assert unmatched_signals(signals, everything) == []
    assert unmatched_signals([], known) == []


@pytest.mark.parametrize(
    ("given", "selector"),
    [
        ({"type": "disk_health"}, "disk_health"),
        ('{"type": "pools", "limit": 5}', "pools"),
        ("{}", None),
        ("", None),
        ("no JSON", None),
        ("[1]", None),
        (None, None),
    ],
)
def test_the_selector_of_a_call(given: dict[str, object] | str | None, selector: str | None) -> None:
    assert parse_arguments(given).get("type") == selector


GUEST = InventoryRow(id="vm:lab:101", type="vm")


def tiers(limits: AlertThresholds, resource: InventoryRow, metric: Limited) -> tuple[float, float | None]:
    limit = limits.limit(resource, metric)
    assert limit is not None
    return limit.trigger, limit.critical


def test_the_built_in_limits() -> None:
    node, storage = InventoryRow(id="n", type="node"), InventoryRow(id="s", type="storage")
    assert tiers(BUILT_IN, storage, Limited.STORAGE) == (75, 95)
    assert tiers(BUILT_IN, node, Limited.CPU) == (70, None)
    assert tiers(BUILT_IN, node, Limited.MEMORY) == (80, None)
    assert tiers(BUILT_IN, GUEST, Limited.BACKUP_AGE) == (48, None)


def test_the_operators_limits_are_taken_as_they_are() -> None:
    limits = limits_of(
        '{"storageDefault": {"trigger": 85, "clear": 80},'
        ' "nodeDefaults": {"cpu": {"trigger": 60, "clear": 55}, "memory": {"trigger": 70, "clear": 65}}}'
    )
    node, storage = InventoryRow(id="n", type="node"), InventoryRow(id="s", type="storage")
    assert tiers(limits, storage, Limited.STORAGE) == (85, 90)
    assert tiers(limits, node, Limited.CPU) == (60, None)
    assert tiers(limits, node, Limited.MEMORY) == (70, None)
    assert tiers(limits, GUEST, Limited.BACKUP_AGE) == (48, None)


def test_evidence_has_five_hundred_bytes_at_most() -> None:
    assert cut("x" * 600) == "x" * 500
    assert cut("short") == "short"
    assert cut("é" * 600) == "é" * 250
    assert cut("x" + "é" * 600) == "x" + "é" * 249


@pytest.mark.parametrize(
    ("written", "vmid"),
    [
        ("", None),
        (None, None),
        ("  104  ", 104),
        (205, 205),
        (True, None),
        ("vm/106", 106),
        ("CT/7", 7),
        (0, None),
        ("0", None),
        (-5, None),
        ("12345678901", None),
        ("\u0661\u0660", None),
        ("101a", None),
    ],
)
def test_a_vmid_is_read_or_none(written: Id, vmid: int | None) -> None:
    assert read_vmid(written) == vmid


def test_a_vmid_that_is_none_costs_its_row_and_no_other() -> None:
    rows = [{"vmid": vmid, "status": "error", "end_time": ago(1)} for vmid in (True, {"a": 1}, "much", 101)]
    detection = judged([call(STORAGE, {"tasks": rows}, type="backup_tasks")])
    assert [each.resource_id for each in detection.signals] == ["101"]
    assert {problem.place for problem in detection.problems} >= {"tasks[1].vmid"}
