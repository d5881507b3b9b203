"""The stages of a run one by one: bounded collection, lost or standing, status, flags, blindness."""

import itertools
import threading
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.kinds import Kind
from findings.lifecycle import Outcome
from findings.model import Category, Finding, Gap, GapReason, Look, Severity, Sight, Topic
from patrol.estate.model import Alert, Estate, Metric, Reading, Resource, ResourceType, SourceState, Status
from patrol.estate.sources.model import Collected, CollectRequest, Counter
from patrol.run.blindness import blindness_counters, observe_sources, source_id
from patrol.run.collect import BoundedSource, collect
from patrol.run.record_model import RunStatus
from patrol.run.sight import ASLEEP_AT_MOST, classify, readings
from patrol.run.status import is_complete, run_status, status_text
from patrol.run.sweep import PAGE_ROWS, SWEPT, sweep
from patrol.run.triage import triage
from patrol.settings.sources import AcceptedGap
from patrol.tools.reachability import is_reachable
from patrol.tools.registry import Toolbox
from signals.alert_settings import parse_alert_settings
from signals.backup_evidence import PbsBackupRow
from signals.evidence import ProbeRow
from signals.model import Examined, Origin, Problem
from signals.storage_evidence import PoolRow, ZfsRow
from signals.thresholds import AlertThresholds
from tests.run.builders import HOST, NOW, GivenSource, disk, estate, gap, host

# --- collect -------------------------------------------------------------------------------------------------------


class HangingSource:
    """Never answers until it is let go."""

    name = "hangs"
    type = "given"

    def __init__(self) -> None:
        self.let_go = threading.Event()

    def collect(self, request: CollectRequest) -> Collected:
        self.let_go.wait()
        return Collected(estate=Estate())


def test_sources_that_hang_or_crash_are_gaps_and_the_others_are_read() -> None:
    hanging = HangingSource()
    sources = [
        BoundedSource(source=hanging, timeout_seconds=0.05),
        BoundedSource(source=GivenSource([ValueError("a bug")], name="crashes"), timeout_seconds=0.05),
        BoundedSource(source=GivenSource([estate(host())]), timeout_seconds=0.05),
    ]
    found = collect(sources, now=NOW, previous={}, progress=lambda _text: None).estate
    hanging.let_go.set()
    assert [resource.id for resource in found.resources] == [HOST]
    assert {(each.source, each.topic, each.reason, each.sight) for each in found.gaps} == {
        ("hangs", Topic.INVENTORY, GapReason.TIMED_OUT, Sight.LOST),
        ("crashes", Topic.INVENTORY, GapReason.FAILED, Sight.LOST),
    }
    assert "ValueError: a bug" in {each.detail for each in found.gaps}
    assert {state.name: state.connected for state in found.sources} == {
        "hangs": False,
        "crashes": False,
        "local": True,
    }


# --- lost or standing ----------------------------------------------------------------------------------------------

SMART = gap(Topic.SMART, "disk:serial:S1")
ASLEEP = gap(Topic.SMART, "disk:serial:S1", GapReason.ASLEEP)
YOUNG, OLD = NOW - timedelta(days=1), NOW - ASLEEP_AT_MOST - timedelta(seconds=1)


@pytest.mark.parametrize(
    ("found", "read_at", "sight"),
    [
        (SMART, None, Sight.STANDING),
        (SMART, YOUNG, Sight.LOST),
        (gap(Topic.INVENTORY), None, Sight.LOST),
        (gap(Topic.INVENTORY, HOST), None, Sight.STANDING),
        (ASLEEP, None, Sight.STANDING),
        (ASLEEP, YOUNG, Sight.STANDING),
        (ASLEEP, NOW - ASLEEP_AT_MOST, Sight.STANDING),
        (ASLEEP, OLD, Sight.LOST),
        (gap(Topic.CPU, HOST, GapReason.NO_HISTORY), YOUNG, Sight.STANDING),
    ],
)
def test_a_gap_is_lost_where_something_was_there_to_lose(found: Gap, read_at: datetime | None, sight: Sight) -> None:
    (classified,) = classify([found], lambda _reading: read_at, [], NOW)
    assert classified.sight is sight


@pytest.mark.parametrize(
    ("accepted", "sight"),
    [
        (("local", Topic.SMART, ""), Sight.STANDING),
        (("local", Topic.SMART, "disk:serial:S1"), Sight.STANDING),
        (("local", Topic.SMART, "disk:serial:S2"), Sight.LOST),
        (("local", Topic.UNITS, ""), Sight.LOST),
        (("pve", Topic.SMART, ""), Sight.LOST),
    ],
)
def test_an_accepted_gap_stands(accepted: tuple[str, Topic, str], sight: Sight) -> None:
    source, topic, resource = accepted
    words = AcceptedGap(source=source, topic=topic, resource=resource, reason="known")
    assert classify([SMART], lambda _reading: YOUNG, [words], NOW)[0].sight is sight


def test_a_gap_that_came_as_lost_stays_lost() -> None:
    lost = Gap(source="s", topic=Topic.UNITS, reason=GapReason.FAILED, detail="x", sight=Sight.LOST)
    assert classify([lost], lambda _reading: None, [], NOW) == [lost]


def test_readings_are_the_sections_that_were_read() -> None:
    found = readings(Estate(resources=[host(), disk(), disk(read=False, serial="S2")]))
    assert found == {
        ("local", Topic.SMART): ["disk:serial:S1"],
        **{("local", topic): [HOST] for topic in (Topic.MEMORY, Topic.FILESYSTEMS, Topic.UNITS, Topic.TEMPERATURES)},
    }


# --- status --------------------------------------------------------------------------------------------------------


def finding(severity: Severity) -> Finding:
    return Finding(
        org_id="default", id="f", key="k", resource_id=HOST, resource_name="a", resource_type="agent", kind="high_disk",
        category=Category.CAPACITY, severity=severity, title="t", summary="s", first_seen_at=NOW, last_seen_at=NOW,
    )  # fmt: skip


@pytest.mark.parametrize("errors", [0, 1])
@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("uncertain", [0, 1])
@pytest.mark.parametrize("severities", [[], ["info"], ["watch"], ["warning"], ["critical"], ["warning", "critical"]])
def test_the_first_status_that_applies_holds(
    errors: int, complete: bool, uncertain: int, severities: Sequence[str]
) -> None:  # fmt: skip
    active = [finding(Severity(word)) for word in severities]
    status = run_status(errors=errors, active=active, complete=complete, uncertain=uncertain)
    expected = (
        RunStatus.ERROR if errors
        else RunStatus.CRITICAL if "critical" in severities
        else RunStatus.ISSUES_FOUND if "warning" in severities
        else RunStatus.INCOMPLETE if uncertain or not complete
        else RunStatus.HEALTHY
    )  # fmt: skip
    assert status is expected


@given(
    st.sampled_from(RunStatus), st.integers(0, 3), st.integers(0, 3), st.integers(0, 2),
    st.dictionaries(st.sampled_from(Outcome), st.integers(0, 3)),
)  # fmt: skip
def test_all_clear_is_said_of_healthy_runs_over_something_only(
    status: RunStatus, resources: int, lost: int, errors: int, outcomes: dict[Outcome, int]
) -> None:
    text = status_text(status=status, resources=resources, outcomes=outcomes, resolved=0, lost=lost, errors=errors)
    assert text.endswith(".")
    if "all clear" in text:
        assert status is RunStatus.HEALTHY
        assert resources
        assert not lost
        assert not errors


def test_a_run_is_complete_without_lost_gaps_and_without_unusable_evidence() -> None:
    assert is_complete([SMART], [])
    assert not is_complete([Gap(source="s", topic=Topic.CPU, reason=GapReason.FAILED, detail="", sight=Sight.LOST)], [])
    assert not is_complete([], [Problem(tool_call_id="c", place="pools[0]", message="lost")])


# --- sweep ---------------------------------------------------------------------------------------------------------


def test_the_sweep_reads_every_page_of_everything() -> None:
    hosts = [host(name=f"h{number}") for number in range(PAGE_ROWS + 5)]
    calls = list(sweep(Toolbox(estate(*hosts), NOW), "run-1"))
    assert len({call.id for call in calls}) == len(calls)
    assert {call.origin for call in calls} == {Origin.PATROL}
    asked = [(call.tool_name, str(dict(call.input or {})), call.success) for call in calls]  # type: ignore[arg-type]
    for (tool, selector, value), paged in itertools.product(SWEPT, (0, PAGE_ROWS)):
        if value in ("inventory", "health", "performance", "resource_disks"):
            assert (tool, str({selector: value, "limit": PAGE_ROWS, "offset": paged}), True) in asked


# --- triage --------------------------------------------------------------------------------------------------------


def flags(*resources: Resource, **sections: object) -> list[tuple[str, Severity, str]]:
    found = estate(*resources)
    for name, value in sections.items():
        setattr(found, name, value)
    return [(flag.resource_id, flag.severity, flag.metric) for flag in triage(found, AlertThresholds(), NOW)]


def guest(status: Status = Status.RUNNING, *, probes: list[ProbeRow] | None = None, **metrics: float) -> Resource:
    return Resource(
        id="vm:lab:101", type=ResourceType.VM, name="web", status=status, vmid=101, instance="lab", probes=probes,
        metrics={Metric(name): Reading(value=value, window_seconds=600) for name, value in metrics.items()},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("usage", "severity"),
    [(70.0, None), (70.1, Severity.WATCH), (75.0, Severity.WATCH), (75.1, Severity.WARNING), (95.1, Severity.CRITICAL)],
)
def test_what_comes_near_a_limit_is_flagged(usage: float, severity: Severity | None) -> None:
    expected = [] if severity is None else [(HOST, severity, "disk /")]
    assert flags(host(usage=usage)) == expected


def test_flags_name_what_the_estate_shows() -> None:
    pool = Resource(
        id="storage:hosta:tank", type=ResourceType.STORAGE, name="tank",
        pool=PoolRow(usage_percent=96, zfs=ZfsRow(state="DEGRADED")),
    )  # fmt: skip
    assert flags(pool) == [
        ("storage:hosta:tank", Severity.CRITICAL, "pool"),
        ("storage:hosta:tank", Severity.CRITICAL, "usage"),
    ]
    assert flags(disk("FAILED")) == [("disk:serial:S1", Severity.CRITICAL, "health")]
    assert flags(guest(memory=90, cpu=71, disk=0)) == [
        ("vm:lab:101", Severity.WARNING, "cpu"),
        ("vm:lab:101", Severity.WARNING, "memory"),
    ]
    silent = [ProbeRow(kind="tcp:22", ok=False)]
    assert flags(guest(probes=silent)) == [("vm:lab:101", Severity.WARNING, "")]
    assert flags(guest(Status.STOPPED, probes=silent)) == []
    down = [SourceState(name="pve", connected=False, detail="refused")]
    assert flags(sources=down) == [("source:pve", Severity.CRITICAL, "")]


@pytest.mark.parametrize(
    ("os", "probe", "is_flagged"),
    [
        ("debian", ProbeRow(kind="icmp", ok=False, address="10.0.0.5"), True),
        ("win11", ProbeRow(kind="icmp", ok=False, address="10.0.0.5"), False),  # it does not answer ping as it comes
        ("", ProbeRow(kind="icmp", ok=False, address="10.0.0.5"), False),
        ("win11", ProbeRow(kind="tcp:3389", ok=False, address="10.0.0.5"), True),
        ("debian", ProbeRow(kind="tcp:22", ok=False, address="169.254.10.2"), False),  # means something inside only
        ("debian", ProbeRow(kind="tcp:22", ok=False, address="10.0.0.5", detail="connection refused"), False),
        ("debian", ProbeRow(kind="icmp", ok=True, address="10.0.0.5", detail="Destination Host Unreachable"), True),
        ("debian", ProbeRow(kind="agent", ok=False), False),
    ],
)
def test_a_guest_is_flagged_as_silent_by_the_rule_of_its_check(os: str, probe: ProbeRow, *, is_flagged: bool) -> None:
    asked = guest(probes=[probe])
    asked.os = os
    assert (is_reachable(asked) is False) is is_flagged
    assert flags(asked) == ([("vm:lab:101", Severity.WARNING, "")] if is_flagged else [])


def test_a_guest_that_may_be_away_is_not_flagged_as_silent() -> None:
    settings = parse_alert_settings('{"guestDefaults": {"disableConnectivity": true}}')
    silent = estate(guest(probes=[ProbeRow(kind="tcp:22", ok=False)]))
    assert triage(silent, AlertThresholds(settings), NOW) == []


def test_backups_are_flagged_where_any_are_known() -> None:
    old = PbsBackupRow(vmid=101, resource_id="vm:lab:101", backup_time="2026-11-20T00:00:00Z")
    other = PbsBackupRow(vmid=102, resource_id="vm:lab:102", backup_time="2026-11-29T00:00:00Z")
    fresh = PbsBackupRow(vmid=101, resource_id="vm:lab:101", backup_time="2026-11-29T00:00:00Z")
    assert flags(guest(), pbs_backups=[old]) == [("vm:lab:101", Severity.WARNING, "backup")]
    assert flags(guest(), pbs_backups=[other]) == [("vm:lab:101", Severity.WARNING, "backup")]
    assert flags(guest(), pbs_backups=[old, fresh]) == []
    assert flags(guest()) == []


@pytest.mark.parametrize(
    ("kind", "level", "severity", "category"),
    [
        ("cpu", "critical", Severity.CRITICAL, Category.PERFORMANCE),
        ("disk-usage", "warning", Severity.WARNING, Category.CAPACITY),
        ("backup-age", "unheard", Severity.WATCH, Category.BACKUP),
        ("offline", "critical", Severity.CRITICAL, Category.RELIABILITY),
    ],
)
def test_alerts_are_flags(kind: str, level: str, severity: Severity, category: Category) -> None:
    alert = Alert(id="a", resource_id="vm:lab:101", type=kind, severity=level)
    (flag,) = triage(Estate(alerts=[alert]), AlertThresholds(), NOW)
    assert (flag.severity, flag.category, flag.reason) == (severity, category, f"{kind} alert ({level})")


def test_of_two_flags_for_one_metric_the_worse_stays() -> None:
    alerts = [
        Alert(id=level, resource_id=HOST, type="cpu", severity=level, message=level)
        for level in ("warning", "critical")
    ]
    for order in (alerts, alerts[::-1]):
        (flag,) = triage(Estate(alerts=order), AlertThresholds(), NOW)
        assert flag.severity is Severity.CRITICAL


# --- blindness -----------------------------------------------------------------------------------------------------


def test_blindness_is_counted_from_its_first_run_and_ends_with_a_read() -> None:
    down, up = estate(gaps=[gap(Topic.INVENTORY)], connected=False), estate(host())
    key = (source_id("local"), "blind")
    first = blindness_counters(down, {}, NOW)
    assert first[key] == Counter(at=NOW, values={"blind": 1})
    later = NOW + timedelta(hours=1)
    assert blindness_counters(down, first, later)[key].at == NOW
    read = blindness_counters(up, first, later)
    assert read[key].values == {"blind": 0}
    assert blindness_counters(down, read, later)[key].at == later
    assert blindness_counters(up, {}, NOW) == {}


@pytest.mark.parametrize(
    ("hours", "severity"), [(0.02, Severity.WARNING), (23.99, Severity.WARNING), (24, Severity.CRITICAL)]
)
def test_long_blindness_is_critical(hours: float, severity: Severity) -> None:
    down = estate(gaps=[gap(Topic.INVENTORY)], connected=False)
    since = {(source_id("local"), "blind"): Counter(at=NOW, values={"blind": 1})}
    examined = Examined()
    (seen,) = observe_sources(down, examined, since, NOW + timedelta(hours=hours))
    assert seen.severity is severity
    assert examined.look(Kind.SOURCE_BLIND, source_id("local")) is Look.PRESENT
