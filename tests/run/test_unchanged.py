"""An estate counts as unchanged only where nothing that matters differs, and never for longer than a day."""

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec
import pytest

from findings.model import Category, Severity, Topic
from patrol.estate.model import Alert, Estate, Metric, Reading, Resource, Status
from patrol.run.triage import Flag
from patrol.run.unchanged import LONGEST, Fingerprint, fingerprint, remembered_fingerprint, what_changed
from signals.backup_evidence import BackupTaskRow
from signals.evidence import ProbeRow, SensorRow, SmartAttributes, UnitRow
from tests.run.builders import NOW, disk, estate, gap, host

FLAG = Flag(
    resource_id="agent:local:hosta",
    resource_name="hosta",
    resource_type="agent",
    category=Category.CAPACITY,
    severity=Severity.WATCH,
    reason="/ at 66%",
    metric="disk /",
    value=66,
)
GAP = gap(Topic.SMART)


def seen(*resources: Resource) -> Estate:
    made = estate(*(resources or (host(memory=30), disk())))
    made.alerts = [
        Alert(id="a1", resource_id="agent:local:hosta", type="cpu", severity="warning", value=81, message="81 %")
    ]
    made.backup_tasks = [BackupTaskRow(vmid=101, status="OK", start_time="2026-11-29T01:00:00Z")]
    return made


def taken(
    made: Estate | None = None, *, flags=(FLAG,), gaps=(GAP,), settings=("limits",), now: datetime = NOW
) -> Fingerprint:
    return fingerprint(made if made is not None else seen(), flags, gaps, settings, now)


BEFORE = taken()
AFTER_AN_HOUR = NOW + timedelta(hours=1)


def test_the_same_estate_is_unchanged_whatever_the_order_of_what_was_read():
    made = seen()
    made.resources.reverse()
    assert what_changed(taken(made, now=AFTER_AN_HOUR), BEFORE) == ""


def test_what_changes_by_itself_plays_no_part():
    made = seen()
    made.collected_at = AFTER_AN_HOUR
    made.alerts[0].value, made.alerts[0].message = 84, "84 %"
    made.backup_tasks.append(BackupTaskRow(vmid=101, status="OK", start_time="2026-11-30T01:00:00Z"))
    made.resources[0].metrics = {Metric.MEMORY: Reading(value=34.9, at=AFTER_AN_HOUR)}
    made.resources[1].disk.smart_attributes = SmartAttributes(power_on_hours=1_001, error_log_count=5)
    made.resources[1].aliases.append("disk:wwn:5000000092060fa4")
    flag = msgspec.json.decode(b"67")
    before_disk = seen()
    before_disk.resources[1].disk.smart_attributes = SmartAttributes(power_on_hours=1_000, error_log_count=4)
    nudged = Flag(**{**{name: getattr(FLAG, name) for name in FLAG.__slots__}, "value": flag, "reason": "/ at 67%"})
    assert what_changed(taken(made, flags=[nudged], now=AFTER_AN_HOUR), taken(before_disk)) == ""


def _unit(made: Estate) -> None:
    made.resources[0].units = [UnitRow(name="ssh.service", state="failed")]


def _stopped(made: Estate) -> None:
    made.resources[0].status = Status.OFFLINE


def _probe(made: Estate) -> None:
    made.resources[0].probes = [ProbeRow(kind="icmp", ok=False)]


def _health(made: Estate) -> None:
    made.resources[1].disk.health = "FAILED"


def _counter(made: Estate) -> None:
    made.resources[1].disk.smart_attributes = SmartAttributes(pending_sectors=8)


def _alert(made: Estate) -> None:
    made.alerts[0].severity = "critical"


def _no_alert(made: Estate) -> None:
    made.alerts = []


def _backup(made: Estate) -> None:
    made.backup_tasks.append(BackupTaskRow(vmid=101, status="job errors"))


def _resource(made: Estate) -> None:
    made.resources.append(host(name="hostb"))


def _five_points(made: Estate) -> None:
    made.resources[0].metrics = {Metric.MEMORY: Reading(value=35)}


def _file_system(made: Estate) -> None:
    made.resources[0].filesystems[0].usage_percent = 35


def _sensor(made: Estate) -> None:
    made.resources[0].sensors = [SensorRow(name="cpu", celsius=50)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_unit, "the inventory changed"),
        (_stopped, "the inventory changed"),
        (_probe, "the inventory changed"),
        (_health, "the inventory changed"),
        (_counter, "the inventory changed"),
        (_resource, "the inventory changed"),
        (_alert, "the alerts changed"),
        (_no_alert, "the alerts changed"),
        (_backup, "the backups changed"),
        (_five_points, "memory of hosta (agent:local:hosta) moved from 30 to 35"),
        (_file_system, "disk / (/dev/sda1) of hosta (agent:local:hosta) moved from 40 to 35"),
        (_sensor, "the inventory changed"),
    ],
)
def test_each_thing_that_matters_is_seen(change: Callable[[Estate], None], said: str):
    made = seen()
    change(made)
    assert what_changed(taken(made, now=AFTER_AN_HOUR), BEFORE) == said


def test_a_tier_is_another_flag():
    raised = Flag(**{**{name: getattr(FLAG, name) for name in FLAG.__slots__}, "severity": Severity.WARNING})
    assert what_changed(taken(flags=[raised], now=AFTER_AN_HOUR), BEFORE) == "the flags changed"


def test_gaps_and_settings_count():
    assert what_changed(taken(gaps=[], now=AFTER_AN_HOUR), BEFORE) == "the gaps changed"
    assert what_changed(taken(settings=["other"], now=AFTER_AN_HOUR), BEFORE) == "the settings changed"


@pytest.mark.parametrize("after", [LONGEST, timedelta(days=30), timedelta(seconds=-1)])
def test_a_model_looks_once_a_day_and_after_a_clock_that_went_back(after):
    assert what_changed(taken(now=NOW + after), BEFORE) == "no model has looked for a day"
    assert what_changed(taken(now=NOW + LONGEST - timedelta(seconds=1)), BEFORE) == ""


def test_small_steps_add_up_for_they_are_held_against_the_last_look_of_a_model():
    for value, said in ((33.0, ""), (34.9, ""), (35.1, "memory of hosta (agent:local:hosta) moved from 30 to 35")):
        made = seen(host(memory=value), disk())
        assert what_changed(taken(made, now=AFTER_AN_HOUR), BEFORE) == said


def test_it_is_remembered_as_json_and_what_cannot_be_read_is_no_memory():
    stored = msgspec.json.decode(msgspec.json.encode(BEFORE))
    assert remembered_fingerprint(stored) == BEFORE
    assert remembered_fingerprint(None) is None
    assert remembered_fingerprint({"at": 3}) is None
    assert what_changed(BEFORE, None) == "no model has looked at this estate yet"
