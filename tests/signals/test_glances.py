"""A healthy row costs one glance. Whatever is passed at a glance must be fine by the careful rules as well."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from findings.kinds import Kind
from signals.detector import Context, EvidencePage, Notes, Sweep
from signals.evidence import DiskRow, DisksOutput, InventoryOutput, InventoryRow, SensorRow, SmartAttributes
from signals.filesystems import FilesystemDetector
from signals.hosts import _is_cool_at_a_glance, _limit_of
from signals.inventory import Inventory
from signals.model import Origin
from signals.pages import Page
from signals.pools import PoolDetector, _is_whole_at_a_glance
from signals.pools import _Case as PoolCase
from signals.smart import SmartDetector, _is_well_at_a_glance
from signals.smart import _Case as DiskCase
from signals.smart import _Fine as FineDisks
from signals.storage_evidence import (
    FilesystemRow,
    PoolRow,
    PoolsOutput,
    ResourceDisks,
    ResourceDisksOutput,
    VdevRow,
    ZfsRow,
)
from signals.thresholds import AlertThresholds, Limit

NOW = datetime(2026, 11, 29, tzinfo=UTC)
SWEEP = Sweep("pulse_storage", "pools", ())
RESOURCE = InventoryRow(id="storage:nas:tank", type="storage", name="tank")


def page(output: Page) -> EvidencePage[Page]:
    return EvidencePage("call-1", output, Origin.PATROL, SWEEP, "pools", {})


def context() -> Context:
    return Context(AlertThresholds(), Inventory([InventoryOutput(resources=[RESOURCE])]), NOW)


def mostly(usual: object, *others: object) -> st.SearchStrategy[object]:
    """The value of a healthy row three times out of four, so that whole rows are healthy often enough."""
    return st.sampled_from([usual] * 3 * max(1, len(others)) + list(others))


states = mostly("ONLINE", "DEGRADED", "FAULTED", "UNAVAIL", "OFFLINE", "AVAIL", "INUSE", "")
counts = mostly(0, 1, 7)
vdevs = st.builds(
    VdevRow,
    name=st.sampled_from(["mirror-0", "sda", "sdb", "spare-1", "raidz2-0"]),
    role=mostly("data", "log", "spare"),
    state=states,
    parent=st.sampled_from(["", "mirror-0", "spare-1"]),
    read_errors=counts,
    write_errors=counts,
    checksum_errors=counts,
)
pools_of_zfs = st.builds(
    ZfsRow,
    state=states,
    read_errors=counts,
    write_errors=counts,
    checksum_errors=counts,
    scan=mostly("scrub repaired 0B with 0 errors on Sunday", "", "scrub repaired 4K with 3 errors", "none requested"),
    data_errors=mostly(0, None, 2),
    vdevs=st.lists(vdevs, max_size=4),
)


@given(pools_of_zfs)
def test_a_pool_that_is_whole_at_a_glance_is_whole(zfs: ZfsRow) -> None:
    if _is_whole_at_a_glance(zfs):
        notes = Notes()
        row = PoolRow(usage_percent=20, total_gb=100, zfs=zfs)
        fine = PoolDetector(context(), notes)._judge(PoolCase(page(PoolsOutput(pools=[row])), row, RESOURCE))
        assert set(fine) == {Kind.HIGH_DISK, Kind.POOL_DEGRADED, Kind.POOL_DATA_ERRORS, Kind.VDEV_ERRORS}
        assert not notes.signals
        assert not len(notes.examined)


filesystems = st.builds(
    FilesystemRow,
    mountpoint=mostly("/", "/srv", ""),
    usage_percent=st.none() | st.floats(min_value=-1, max_value=101) | st.sampled_from([0.0, 70.0, 75.0, 95.0]),
    inodes_percent=st.none() | st.floats(min_value=-1, max_value=101),
    free_bytes=mostly(1 << 30, None, 0),
    error_count=mostly(None, 0, 3),
    forced_read_only=st.sampled_from([False, False, False, True]),
)


@given(st.lists(filesystems, min_size=1, max_size=3))
def test_file_systems_that_are_fine_at_a_glance_are_fine(rows: list[FilesystemRow]) -> None:
    notes = Notes()
    detector = FilesystemDetector(context(), notes)
    if detector._is_fine_at_a_glance(RESOURCE, rows):
        owner = ResourceDisks(id=RESOURCE.id, disks=rows)
        fine = detector._judge(page(ResourceDisksOutput(resources=[owner])), owner, RESOURCE)
        assert set(fine) == {Kind.HIGH_DISK, Kind.HIGH_INODES}
        assert not notes.signals
        assert not len(notes.examined)


sensors = st.builds(
    SensorRow,
    name=st.sampled_from(["coretemp", "k10temp", "acpitz", "nct6775"]),
    label=st.sampled_from(["", "Package id 0", "Core 0", "Tctl", "Tdie"]),
    celsius=st.none() | st.floats(min_value=-60, max_value=210),
    high=st.none() | st.floats(min_value=-10, max_value=220),
    critical=st.none() | st.floats(min_value=-10, max_value=220),
)


@given(st.lists(sensors, max_size=4), st.floats(min_value=1, max_value=220))
def test_a_sensor_that_is_cool_at_a_glance_is_cool(rows: list[SensorRow], trigger: float) -> None:
    general = Limit(trigger=trigger, clear=trigger - 5, provenance="test")
    for sensor in rows:
        if _is_cool_at_a_glance(sensor, general):
            limit = _limit_of(sensor, rows, general)
            assert sensor.celsius is not None
            assert -40 < sensor.celsius <= 150
            assert limit is None or sensor.celsius < limit.clear


counters = st.none() | st.builds(
    SmartAttributes,
    pending_sectors=mostly(None, 0, 3),
    media_errors=mostly(0, None, 1),
    reallocated_sectors=mostly(0, 5),
    critical_warning=mostly(None, 0, 4),
    available_spare=mostly(100, None, 3),
    available_spare_threshold=mostly(10, None),
    percentage_used=mostly(None, 3, 99),
)
disks = st.builds(
    DiskRow,
    type=mostly("nvme", "sata", "hdd", "sas"),
    rpm=mostly(None, 7200),
    health=mostly("PASSED", "FAILED", "UNKNOWN", None),
    temperature=mostly(30, None, 0, 66, 71, 200),
    temperature_limit=mostly(None, 29, 90),
    wearout=mostly(None, 0, 40),
    life_used_percent=mostly(None, 10, 79, 95),
    attributes=counters,
    smart_attributes=mostly(None, SmartAttributes(pending_sectors=2), SmartAttributes(pending_sectors=0)),
    smart_complete=st.just(value=True),
)


@given(disks)
def test_a_disk_that_is_well_at_a_glance_is_well(row: DiskRow) -> None:
    notes = Notes()
    detector = SmartDetector(context(), notes)
    limits = detector._ask(RESOURCE, row.type or "")
    if _is_well_at_a_glance(row, limits, row.life_used_percent):
        fine = FineDisks([], [], [])
        case = DiskCase(page(DisksOutput(disks=[row])), row, RESOURCE, limits, row.life_used_percent)
        detector._look_closely(case, fine)
        assert all(fine)
        assert not notes.signals
        assert not len(notes.examined)
