"""A report of a value above its limit is held against the same value and limit that the checks use."""

import pytest

from findings.kinds import Kind
from patrol.estate.model import Metric, Reading, Resource, ResourceType
from patrol.tools.finding_desk.breaches import checked_subject
from patrol.tools.model import ErrorCode, ToolError
from signals.alert_settings import parse_alert_settings
from signals.evidence import DiskRow, SensorRow
from signals.storage_evidence import FilesystemRow, PoolRow
from signals.thresholds import AlertThresholds, Limited
from signals.usage import MAIN_DISK

BUILT_IN = AlertThresholds()


def vm(**fields: object) -> Resource:
    return Resource(**{"id": "vm:a:1", "type": ResourceType.VM, "name": "one", **fields})


def host(**fields: object) -> Resource:
    return Resource(**{"id": "agent:local:h", "type": ResourceType.AGENT, "name": "h", **fields})


def reading(metric: Metric, value: float, window: float = 300) -> Resource:
    return vm(metrics={metric: Reading(value=value, window_seconds=window)})


def pool(value: float | None) -> Resource:
    return Resource(id="storage:a:p", type=ResourceType.STORAGE, name="p", pool=PoolRow(usage_percent=value))


def disk(**row: object) -> Resource:
    return Resource(id="disk:a:d", type=ResourceType.DISK, name="d", disk=DiskRow(type="nvme", **row))


def mounts(*uses: tuple[str, float | None], inodes: bool = False) -> Resource:
    field = "inodes_percent" if inodes else "usage_percent"
    return host(filesystems=[FilesystemRow(mountpoint=mount, **{field: use}) for mount, use in uses])


def sensors(celsius: float, **own: float) -> Resource:
    return host(sensors=[SensorRow(name="cpu", label="die", celsius=celsius, **own)])


def outcome(kind: str, resource: Resource, subject: str = "", evidence: str = "", limits=BUILT_IN) -> str:
    """The subject of a report that is taken, else why it is not."""
    try:
        return checked_subject(kind, resource, subject, evidence, limits)
    except ToolError as error:
        return error.code


BELOW = ErrorCode.BELOW_LIMIT


@pytest.mark.parametrize(
    ("kind", "resource", "expected"),
    [
        (Kind.HIGH_CPU, reading(Metric.CPU, 20), BELOW),
        (Kind.HIGH_CPU, reading(Metric.CPU, 99), ""),
        (Kind.HIGH_CPU, reading(Metric.CPU, 20, window=60), ""),  # too short a time to say so
        (Kind.HIGH_CPU, vm(), ""),
        (Kind.HIGH_MEMORY, reading(Metric.MEMORY, 20), BELOW),
        (Kind.HIGH_MEMORY, reading(Metric.MEMORY, 99), ""),
        (Kind.HIGH_SWAP, reading(Metric.SWAP, 1), BELOW),
        (Kind.HIGH_SWAP, vm(), ""),
        (Kind.HIGH_DISK, pool(20), BELOW),
        (Kind.HIGH_DISK, pool(99), ""),
        (Kind.HIGH_DISK, pool(None), ""),
        (Kind.HIGH_DISK, reading(Metric.DISK, 20), BELOW),
        (Kind.HIGH_DISK, reading(Metric.DISK, 99), MAIN_DISK),
        (Kind.HIGH_DISK, vm(), ""),
        (Kind.HIGH_DISK, mounts(("/", 20), ("/var", 30)), BELOW),
        (Kind.HIGH_DISK, mounts(("/", 20), ("/var", 99)), "/var"),
        (Kind.HIGH_DISK, mounts(("/", 97), ("/var", 99)), "/var"),  # the worst
        (Kind.HIGH_DISK, mounts(("/", 20), ("/var", None)), "/var"),  # it was not measured: it may be
        (Kind.HIGH_INODES, mounts(("/", 20), inodes=True), BELOW),
        (Kind.HIGH_INODES, mounts(("/", 99), inodes=True), "/"),
        (Kind.DISK_WEAR, disk(life_used_percent=5), BELOW),
        (Kind.DISK_WEAR, disk(life_used_percent=99), ""),
        (Kind.HIGH_TEMPERATURE, disk(temperature=30), BELOW),
        (Kind.HIGH_TEMPERATURE, disk(temperature=30, temperature_limit=25), ""),  # its own limit
        (Kind.HIGH_TEMPERATURE, sensors(40), BELOW),
        (Kind.HIGH_TEMPERATURE, sensors(40, high=35), "cpu/die"),
        (Kind.HIGH_TEMPERATURE, host(), ""),
        (Kind.HIGH_PRESSURE, reading(Metric.PRESSURE_IO, 0), ""),  # the others were not measured
        (Kind.SMART_FAILURE, disk(health="PASSED"), ""),  # no value above a limit: the checks tell
        ("claim_high_something", reading(Metric.CPU, 1), ""),
    ],
)
def test_what_is_taken_and_under_which_subject(kind: str, resource: Resource, expected: str) -> None:
    if kind == Kind.HIGH_PRESSURE:
        assert outcome(kind, resource, "io") == BELOW
    else:
        assert outcome(kind, resource) == expected


def test_of_several_mounts_the_evidence_names_the_one() -> None:
    both = mounts(("/", 97), ("/var", 99))
    assert outcome(Kind.HIGH_DISK, both, evidence='"mountpoint":"/","usage_percent":97') == "/"


@pytest.mark.parametrize("given", ["/var", "/VAR/", " /var "])
def test_a_mount_is_named_as_the_host_names_it(given: str) -> None:
    two = mounts(("/", 97), ("/var", 99))
    assert outcome(Kind.HIGH_DISK, two, given) == "/var"
    assert outcome(Kind.HIGH_DISK, two, "/srv") == ErrorCode.NOT_FOUND


@pytest.mark.parametrize("kind", [Kind.SMART_FAILURE, Kind.HIGH_CPU, Kind.BACKUP_STALE, Kind.POOL_DEGRADED])
def test_kinds_of_a_resource_as_a_whole_have_no_subject(kind: Kind) -> None:
    assert outcome(kind, host(), "sda") == ""


class AllOff:
    """Thresholds of an operator who switched everything off."""

    def limit(self, resource: object, metric: Limited, *, disk_type: str = "") -> None:
        """No limit."""

    def window_seconds(self, resource: object, metric: Limited) -> float:
        return 0

    def offline_expected(self, resource: object) -> bool:
        return True


@pytest.mark.parametrize(
    ("kind", "resource"),
    [
        (Kind.HIGH_CPU, reading(Metric.CPU, 99)),
        (Kind.HIGH_MEMORY, vm()),
        (Kind.HIGH_DISK, mounts(("/", 99))),
        (Kind.HIGH_TEMPERATURE, disk(temperature=99)),
        *((kind, vm()) for kind in (Kind.BACKUP_STALE, Kind.SNAPSHOT_OLD, Kind.SNAPSHOT_LARGE, Kind.HIGH_NETWORK)),
        *((kind, vm()) for kind in (Kind.NETWORK_ERRORS, Kind.HIGH_DISK_IO, Kind.GUEST_UNREACHABLE)),
        (Kind.NODE_OFFLINE, host()),
    ],
)
def test_a_check_that_is_off_is_off_for_a_model_as_well(kind: Kind, resource: Resource) -> None:
    assert outcome(kind, resource, limits=AllOff()) == ErrorCode.DISABLED_BY_ALERT_SETTINGS


@pytest.mark.parametrize("kind", [Kind.SMART_FAILURE, Kind.UNIT_FAILED, Kind.BACKUP_FAILED, "claim_odd"])
def test_what_no_limit_decides_cannot_be_switched_off_by_one(kind: str) -> None:
    assert outcome(kind, host(), limits=AllOff()) == ""


def test_the_refusal_names_value_limit_and_where_it_comes_from() -> None:
    settings = parse_alert_settings('{"storageDefault": {"trigger": 60, "clear": 55}}', source="alerts.json")
    with pytest.raises(ToolError) as caught:
        checked_subject(Kind.HIGH_DISK, pool(41), "", "", AlertThresholds(settings))
    assert "is at 41, and the limit is 60" in caught.value.message
    assert "alerts.json" in caught.value.message
