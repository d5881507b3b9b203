"""Pools and storages: when they are full, when they are not whole, when they lose data; and what was not seen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.kinds import Kind
from findings.model import Look
from signals.evidence import InventoryRow, PerformanceOutput
from signals.model import Origin
from signals.pools import PoolDetector
from signals.storage_evidence import BtrfsDeviceRow, BtrfsRow, PoolRow, PoolsOutput, VdevRow, ZfsRow
from signals.thresholds import Limit, Limited
from tests.signals.storages import Judged, SameLimits


def judge(*rows: PoolRow, known: tuple[InventoryRow, ...] = (), thresholds: SameLimits | None = None) -> Judged:
    return Judged(PoolDetector, PoolsOutput(pools=list(rows), complete=True), known=known, thresholds=thresholds)


def zfs(state: str, *vdevs: VdevRow, data_errors: int | None = 0, scan: str = "") -> PoolRow:
    row = ZfsRow(name="tank", state=state, vdevs=list(vdevs), data_errors=data_errors, scan=scan)
    return PoolRow(id="tank", name="tank", type="zfspool", usage_percent=30, total_gb=900, zfs=row)


def vdev(name: str, state: str = "ONLINE", parent: str = "", **fields: object) -> VdevRow:
    row = VdevRow(name=name, state=state, parent=parent)
    for field, value in fields.items():
        setattr(row, field, value)
    return row


MIRROR = (vdev("mirror-0"), vdev("sda", parent="mirror-0"), vdev("sdb", parent="mirror-0"))


# --- space -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("percent", "look", "severity"),
    [
        pytest.param(97.0, Look.PRESENT, "critical", id="above the critical tier"),
        pytest.param(90.0, Look.PRESENT, "warning", id="exactly on the critical tier"),
        pytest.param(85.1, Look.PRESENT, "warning", id="above the trigger"),
        pytest.param(85.0, Look.HELD, None, id="exactly on the trigger"),
        pytest.param(80.0, Look.HELD, None, id="exactly on the clear value"),
        pytest.param(79.9, Look.CLEAR, None, id="below the clear value"),
        pytest.param(0.0, Look.CLEAR, None, id="empty, but there"),
        pytest.param(None, None, None, id="not measured"),
        pytest.param(-1.0, Look.BLIND, None, id="no percentage"),
        pytest.param(400.0, Look.BLIND, None, id="another unit"),
    ],
)
def test_space_is_judged_by_the_limit(percent: float | None, look: Look | None, severity: str | None) -> None:
    judged = judge(PoolRow(id="local-lvm", name="local-lvm", status="available", usage_percent=percent, total_gb=100))
    assert judged.look(Kind.HIGH_DISK, "local-lvm") is look
    assert judged.told() == ({("high_disk", severity, "local-lvm", "")} if severity else set())


def test_the_signal_says_value_limit_provenance_and_the_offending_row() -> None:
    judged = judge(
        PoolRow(id="a", name="a", usage_percent=20, total_gb=1), PoolRow(id="b", name="b", usage_percent=88.25)
    )
    signal = judged.one(Kind.HIGH_DISK)
    assert (signal.resource_id, signal.resource_type, signal.value, signal.limit) == ("b", "storage", 88.25, 85)
    assert (signal.limit_source, signal.tool_call_id) == ("test", "call-0")
    assert signal.evidence == '{"id":"b","name":"b","usage_percent":88.25}'
    assert signal.summary == "Storage b is 88.2 % full (limit 85 %)"


def test_a_storage_that_is_away_reports_nothing_in_nothing_which_is_no_reading() -> None:
    judged = judge(PoolRow(id="nas", status="offline", usage_percent=0, total_gb=0))
    assert judged.look(Kind.HIGH_DISK, "nas") is Look.BLIND


def test_a_volume_that_is_full_by_design_is_switched_off_alone() -> None:
    rows = [PoolRow(id=name, status="available", usage_percent=99, total_gb=1) for name in ("recorder", "root")]
    judged = judge(*rows, thresholds=SameLimits(off=frozenset({("recorder", Limited.STORAGE)})))
    assert judged.told() == {("high_disk", "critical", "root", "")}
    assert judged.look(Kind.HIGH_DISK, "recorder") is None


def test_kinds_of_disks_may_have_limits_of_their_own() -> None:
    limits = SameLimits(by_disk_type={"nvme": Limit(trigger=92, clear=87, provenance="by type")})
    rows = [PoolRow(id="a", usage_percent=88, disk_type="nvme"), PoolRow(id="b", usage_percent=88, disk_type="hdd")]
    assert judge(*rows, thresholds=limits).told() == {("high_disk", "warning", "b", "")}


def test_space_that_is_told_in_sizes_alone_is_judged() -> None:
    judged = judge(PoolRow(id="nas", status="available", used_gb=970, total_gb=1000))
    assert judged.one(Kind.HIGH_DISK).value == 97
    judged = judge(PoolRow(id="nas", status="available", used_gb=1970, total_gb=1000))
    assert judged.look(Kind.HIGH_DISK, "nas") is None


# --- identity --------------------------------------------------------------------------------------------------------


def test_equal_names_on_two_nodes_are_two_storages() -> None:
    rows = [PoolRow(name="local", node=node, usage_percent=95) for node in ("pve1", "pve2")]
    assert {s.resource_id for s in judge(*rows).signals} == {"storage:pve1:local", "storage:pve2:local"}


@pytest.mark.parametrize(
    ("row", "resource_id"),
    [
        (PoolRow(name="nas", node="pve1", instance="lab", shared=True), "storage:lab:nas"),
        (PoolRow(name="nas", instance="lab"), "storage:lab:nas"),
        (PoolRow(name="nas"), "nas"),
        (PoolRow(id=7, name="nas"), "7"),
        (PoolRow(id="", name="nas"), "nas"),
    ],
)
def test_a_storage_without_an_id_goes_by_what_is_known_of_it(row: PoolRow, resource_id: str) -> None:
    row.usage_percent = 95
    assert judge(row).signals[0].resource_id == resource_id


def test_a_known_storage_goes_by_the_name_it_is_known_by() -> None:
    known = InventoryRow(id="storage:lab:nas", type="storage", name="NAS")
    judged = judge(PoolRow(id="storage:lab:nas", name="nas", usage_percent=95), known=(known,))
    assert judged.one(Kind.HIGH_DISK).summary.startswith("Storage NAS is")


def test_a_foreign_id_means_the_known_resource() -> None:
    known = InventoryRow(id="storage:lab:nas", type="storage", name="NAS", aliases=["lab-pve1-nas"])
    judged = judge(PoolRow(id="lab-pve1-nas", usage_percent=95), known=(known,))
    assert (judged.signals[0].resource_id, judged.signals[0].resource_name) == ("storage:lab:nas", "NAS")


def test_a_row_of_nobody_says_nothing() -> None:
    assert len(judge(PoolRow(usage_percent=99)).notes.examined) == 0


# --- whether a storage is usable -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "enabled", "active", "look", "severity"),
    [
        pytest.param("available", True, True, Look.CLEAR, None, id="there"),
        pytest.param("Online", None, None, Look.CLEAR, None, id="words in any case"),
        pytest.param(None, None, True, Look.CLEAR, None, id="active without a word"),
        pytest.param("inactive", True, False, Look.PRESENT, "warning", id="enabled but not active"),
        pytest.param("available", True, False, Look.PRESENT, "warning", id="not active whatever the word"),
        pytest.param("offline", False, False, Look.PRESENT, "warning", id="offline shows as not enabled in some pages"),
        pytest.param("DEGRADED", None, None, Look.PRESENT, "warning", id="degraded"),
        pytest.param("FAULTED", None, None, Look.PRESENT, "critical", id="faulted"),
        pytest.param("disabled", False, False, Look.CLEAR, None, id="switched off by its operator"),
        pytest.param("unknown", True, None, Look.BLIND, None, id="the node that would know is away"),
        pytest.param(None, None, None, None, None, id="nothing known"),
    ],
)
def test_a_storage_that_should_be_there_is(
    *, status: str | None, enabled: bool | None, active: bool | None, look: Look | None, severity: str | None
) -> None:
    judged = judge(PoolRow(id="nas", status=status, enabled=enabled, active=active, usage_percent=20, total_gb=1))
    assert judged.look(Kind.POOL_DEGRADED, "nas") is look
    assert judged.told() == ({("pool_degraded", severity, "nas", "")} if severity else set())


# --- ZFS: whole or not -----------------------------------------------------------------------------------------------


def raidz(level: int, lost: int) -> tuple[VdevRow, ...]:
    name = f"raidz{level}-0"
    leaves = [vdev(f"sd{i}", "UNAVAIL" if i < lost else "ONLINE", name) for i in range(level + 2)]
    return (vdev(name, "DEGRADED"), *leaves)


@pytest.mark.parametrize(
    ("row", "severity", "words"),
    [
        pytest.param(zfs("ONLINE", *MIRROR), None, (), id="whole"),
        pytest.param(
            zfs(
                "DEGRADED", vdev("mirror-0", "DEGRADED"), *MIRROR[1:2], vdev("sdb", "UNAVAIL", "mirror-0", note="gone")
            ),
            "critical",
            ("sdb (mirror-0) is UNAVAIL, gone", "no redundancy left in mirror-0"),
            id="a mirror of two lost one",
        ),
        pytest.param(
            zfs("DEGRADED", *MIRROR, vdev("sdc", "OFFLINE", "mirror-0")), "warning", ("sdc",), id="a mirror of three"
        ),
        pytest.param(zfs("DEGRADED", *raidz(1, 1)), "critical", ("sd0",), id="raidz1 lost its one"),
        pytest.param(zfs("DEGRADED", *raidz(2, 1)), "warning", ("sd0",), id="raidz2 lost one of two"),
        pytest.param(zfs("DEGRADED", *raidz(3, 3)), "critical", ("no redundancy left",), id="raidz3 lost three"),
        pytest.param(
            zfs("DEGRADED", vdev("draid2:4d:7c:1s-0"), vdev("sda", "FAULTED", "draid2:4d:7c:1s-0")),
            "warning",
            ("sda",),
            id="draid with parity left",
        ),
        pytest.param(zfs("DEGRADED", vdev("sda", "FAULTED")), "critical", ("sda is FAULTED",), id="a single disk"),
        pytest.param(
            zfs(
                "DEGRADED",
                *MIRROR,
                vdev("mirror-1", "DEGRADED", role="log"),
                vdev("sdc", "ONLINE", "mirror-1", role="log"),
                vdev("1480797522", "UNAVAIL", "mirror-1", role="log"),
            ),
            "warning",
            ("1480797522 (log mirror-1) is UNAVAIL",),
            id="only half of a log mirror",
        ),
        pytest.param(
            zfs("ONLINE", *MIRROR, vdev("nvme0n1", "UNAVAIL", role="cache")),
            "warning",
            ("nvme0n1 (cache) is UNAVAIL",),
            id="a lost cache leaves the pool online",
        ),
        pytest.param(
            zfs("DEGRADED", *MIRROR, vdev("sdz", "FAULTED", role="special")),
            "critical",
            ("special",),
            id="a special device holds data too",
        ),
        pytest.param(
            zfs("ONLINE", *MIRROR, vdev("sdx", "AVAIL", role="spare"), vdev("sdy", "INUSE", role="spare")),
            None,
            (),
            id="spares that wait or work",
        ),
        pytest.param(
            zfs("ONLINE", *MIRROR, vdev("sdx", "UNAVAIL", role="spare")), "warning", ("sdx",), id="a spare that is gone"
        ),
        pytest.param(
            zfs("DEGRADED", *MIRROR[:2], vdev("sdb", "DEGRADED", "mirror-0", note="too many errors")),
            "warning",
            ("sdb (mirror-0) is DEGRADED, too many errors",),
            id="a disk that is kept although it errs",
        ),
        pytest.param(zfs("SUSPENDED"), "critical", ("SUSPENDED",), id="suspended"),
        pytest.param(zfs("UNAVAIL", *MIRROR), "critical", ("UNAVAIL",), id="unavailable"),
        pytest.param(zfs("DEGRADED"), "warning", ("its devices were not read",), id="degraded, and no more known"),
    ],
)
def test_what_is_lost_and_what_is_left_decide_how_bad_it_is(
    row: PoolRow, severity: str | None, words: tuple[str, ...]
) -> None:
    judged = judge(row)
    assert judged.told() == ({("pool_degraded", severity, "tank", "")} if severity else set())
    for word in words:
        assert word in judged.one(Kind.POOL_DEGRADED).summary
    assert judged.look(Kind.POOL_DEGRADED, "tank") is (Look.PRESENT if severity else Look.CLEAR)
    assert judged.look(Kind.HIGH_DISK, "tank") is Look.CLEAR


@pytest.mark.parametrize(("note", "severity"), [("", "warning"), ("(resilvering)", "critical")])
def test_a_hot_spare_is_redundancy_once_it_holds_a_full_copy(note: str, severity: str) -> None:
    row = zfs(
        "DEGRADED",
        *MIRROR[:2],
        vdev("spare-1", "DEGRADED", "mirror-0"),
        vdev("sdb", "FAULTED", "spare-1"),
        vdev("sde", "ONLINE", "spare-1", note=note),
        vdev("sde", "INUSE", role="spare"),
    )
    assert judge(row).told() == {("pool_degraded", severity, "tank", "")}


def test_two_stand_ins_of_one_name_each_belong_to_the_group_above_them() -> None:
    row = zfs(
        "DEGRADED",
        vdev("mirror-0", "DEGRADED"),
        vdev("sda", parent="mirror-0"),
        vdev("replacing-1", "DEGRADED", "mirror-0"),
        vdev("old1", "UNAVAIL", "replacing-1"),
        vdev("new1", "ONLINE", "replacing-1"),
        vdev("mirror-1", "DEGRADED"),
        vdev("sdc", parent="mirror-1"),
        vdev("replacing-1", "DEGRADED", "mirror-1"),
        vdev("old2", "UNAVAIL", "replacing-1"),
        vdev("new2", "ONLINE", "replacing-1", note="(resilvering)"),
    )
    assert judge(row).one(Kind.POOL_DEGRADED).summary.endswith("no redundancy left in mirror-1")


def test_many_lost_devices_are_counted_rather_than_listed() -> None:
    lost = [vdev(f"sd{i}", "REMOVED", role="cache") for i in range(9)]
    assert "and 3 more" in judge(zfs("DEGRADED", *MIRROR, *lost)).one(Kind.POOL_DEGRADED).summary


def test_a_state_that_was_not_read_is_blind_and_a_plain_status_is_none() -> None:
    row = zfs("")
    row.status = "available"
    assert judge(row).look(Kind.POOL_DEGRADED, "tank") is Look.BLIND
    row.status = "degraded"
    assert judge(row).told() == {("pool_degraded", "warning", "tank", "")}


def test_a_status_text_about_features_is_information() -> None:
    row = zfs("ONLINE", *MIRROR)
    assert row.zfs is not None
    row.zfs.status = "Some supported and requested features are not enabled on the pool."
    assert not judge(row).signals


# --- ZFS: errors -----------------------------------------------------------------------------------------------------


def test_online_alone_is_not_healthy() -> None:
    counting = zfs("ONLINE", *MIRROR[:2], vdev("sdb", "ONLINE", "mirror-0", checksum_errors=3), scan="with 0 errors")
    losing = zfs("ONLINE", *MIRROR, data_errors=21)
    losing.id = "other"
    judged = judge(counting, losing)
    assert judged.told() == {("vdev_errors", "warning", "tank", "sdb"), ("pool_data_errors", "critical", "other", "")}
    assert judged.one(Kind.VDEV_ERRORS).facts == {"read_errors": 0, "write_errors": 0, "checksum_errors": 3}
    assert judged.one(Kind.VDEV_ERRORS).summary == "sdb in pool tank counts 3 checksum errors"
    assert judged.one(Kind.POOL_DATA_ERRORS).value == 21
    assert judged.look(Kind.VDEV_ERRORS, "tank", "sda") is Look.CLEAR
    assert judged.look(Kind.POOL_DATA_ERRORS, "tank") is Look.CLEAR


def test_errors_are_told_by_the_device_and_by_the_group_only_where_no_device_counts_them() -> None:
    both = zfs("ONLINE", vdev("mirror-0", checksum_errors=2), vdev("sda", parent="mirror-0", checksum_errors=2))
    assert [s.subject for s in judge(both).signals] == ["sda"]
    group = zfs("ONLINE", vdev("mirror-0", checksum_errors=2), vdev("sda", parent="mirror-0"))
    assert [s.subject for s in judge(group).signals] == ["mirror-0"]


def test_a_page_without_devices_tells_of_the_counters_of_the_pool_and_clears_no_device() -> None:
    row = zfs("ONLINE", data_errors=None)
    assert row.zfs is not None
    row.zfs.read_errors = 5
    judged = judge(row)
    assert judged.told() == {("vdev_errors", "warning", "tank", "")}
    row.zfs.read_errors = 0
    judged = judge(row)
    assert judged.look(Kind.VDEV_ERRORS, "tank", "sda") is None
    assert judged.look(Kind.POOL_DATA_ERRORS, "tank") is None


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (zfs("ONLINE", *MIRROR, data_errors=-1), Kind.POOL_DATA_ERRORS),
        (zfs("ONLINE", *MIRROR, vdev("sdc", checksum_errors=-3)), Kind.VDEV_ERRORS),
        (PoolRow(id="tank", zfs=ZfsRow(state="ONLINE", read_errors=-1, data_errors=0)), Kind.VDEV_ERRORS),
        (PoolRow(id="tank", btrfs=BtrfsRow(missing_devices=-1)), Kind.POOL_DEGRADED),
        (
            PoolRow(id="tank", btrfs=BtrfsRow(missing_devices=0, devices=[BtrfsDeviceRow(devid=1, write_io_errs=-1)])),
            Kind.FILESYSTEM_ERRORS,
        ),
    ],
)
def test_a_count_below_0_is_no_reading(row: PoolRow, kind: Kind) -> None:
    judged = judge(row)
    assert judged.signals == []
    assert judged.look(kind, "tank") is Look.BLIND


def test_a_count_that_is_no_reading_hides_no_other_one() -> None:
    judged = judge(zfs("ONLINE", *MIRROR, vdev("sdc", checksum_errors=-3), vdev("sdd", read_errors=2, write_errors=-2)))
    assert [(each.subject, each.value) for each in judged.signals] == [("sdd", 2.0)]
    lost = judge(zfs("ONLINE", *MIRROR, data_errors=-1, scan="scrub repaired 0B in 00:10 with 2 errors on Sun"))
    assert lost.one(Kind.POOL_DATA_ERRORS).value == 2


def test_a_scan_that_could_not_repair_everything_is_lost_data_whatever_the_state() -> None:
    judged = judge(zfs("ONLINE", *MIRROR, data_errors=None, scan="scrub repaired 1.5K in 00:10 with 2 errors on Sun"))
    assert judged.told() == {("pool_data_errors", "critical", "tank", "")}
    assert judged.one(Kind.POOL_DATA_ERRORS).facts == {"data_errors": 0, "scan_errors": 2}


# --- btrfs -----------------------------------------------------------------------------------------------------------


def btrfs(missing: int | None, *devices: BtrfsDeviceRow) -> PoolRow:
    return PoolRow(id="fs", name="fs", type="btrfs", btrfs=BtrfsRow(missing_devices=missing, devices=list(devices)))


def test_a_missing_btrfs_device_is_critical() -> None:
    assert judge(btrfs(1)).told() == {("pool_degraded", "critical", "fs", "")}


def test_btrfs_counters_warn_for_each_device_by_its_id() -> None:
    judged = judge(
        btrfs(0, BtrfsDeviceRow(devid=1), BtrfsDeviceRow(devid=2, path="/dev/sdb", corruption_errs=12, read_io_errs=1))
    )
    assert judged.told() == {("filesystem_errors", "warning", "fs", "devid 2")}
    assert (
        judged.one(Kind.FILESYSTEM_ERRORS).summary == "/dev/sdb in btrfs fs counts read_io_errs=1, corruption_errs=12"
    )
    assert judged.look(Kind.FILESYSTEM_ERRORS, "fs", "devid 1") is Look.CLEAR
    assert judged.look(Kind.POOL_DEGRADED, "fs") is Look.CLEAR


def test_a_btrfs_device_without_an_id_goes_by_its_path() -> None:
    assert judge(btrfs(0, BtrfsDeviceRow(path="/dev/sdb", write_io_errs=1))).signals[0].subject == "/dev/sdb"


def test_what_was_not_read_of_a_btrfs_is_not_clear() -> None:
    judged = judge(btrfs(None))
    assert judged.look(Kind.POOL_DEGRADED, "fs") is Look.BLIND
    assert judged.look(Kind.FILESYSTEM_ERRORS, "fs") is None


# --- when clear counts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("complete", "origin"), [(False, Origin.PATROL), (True, Origin.MODEL)])
def test_only_a_complete_sweep_by_patrol_clears(*, complete: bool, origin: Origin) -> None:
    output = PoolsOutput(pools=[PoolRow(id="a", status="available", usage_percent=10)])
    judged = Judged(PoolDetector, output, complete=complete, origin=origin)
    assert judged.look(Kind.HIGH_DISK, "a") is None


def test_a_page_of_something_else_is_passed_over() -> None:
    assert not Judged(PoolDetector, PerformanceOutput()).signals


@given(
    st.floats(allow_nan=False),
    st.sampled_from(["ONLINE", "DEGRADED", "FAULTED", "", "odd"]),
    st.lists(st.sampled_from(["ONLINE", "DEGRADED", "UNAVAIL", "AVAIL", ""]), max_size=5),
    st.sampled_from(["mirror-0", "raidz2-0", "draid-0", "spare-0", "sdx", ""]),
)
def test_any_row_is_judged_without_error_and_never_both_ways(
    percent: float, state: str, leaves: list[str], group: str
) -> None:
    row = zfs(state, vdev(group), *(vdev(f"sd{i}", leaf, group) for i, leaf in enumerate(leaves)), data_errors=None)
    row.usage_percent = percent
    judged = judge(row)
    for signal in judged.signals:
        assert judged.look(signal.signal_type, signal.resource_id, signal.subject) is Look.PRESENT


@pytest.mark.parametrize(
    ("row", "severity"),
    [
        (PoolRow(status="faulted"), "critical"),
        (PoolRow(status="Degraded"), "warning"),
        (PoolRow(status="available", active=False), "warning"),
        (PoolRow(status="available", active=True), None),
        (PoolRow(status="ONLINE"), None),
        (PoolRow(status=None), None),
        (PoolRow(status="disabled", enabled=False, active=False), None),
    ],
)
def test_whole_devices_do_not_outweigh_a_storage_that_says_it_is_unusable(row: PoolRow, severity: str | None) -> None:
    pool = zfs("ONLINE", *MIRROR)
    pool.status, pool.active, pool.enabled = row.status, row.active, row.enabled
    judged = judge(pool)
    assert judged.told() == ({("pool_degraded", severity, "tank", "")} if severity else set())
    assert judged.look(Kind.POOL_DEGRADED, "tank") is (Look.PRESENT if severity else Look.CLEAR)


@pytest.mark.parametrize("state", ["removed", " Faulted ", "degraded"])
def test_states_of_devices_are_read_in_any_spelling(state: str) -> None:
    judged = judge(zfs("online", vdev("mirror-0"), vdev("sda", state, "mirror-0"), vdev("sdb", "online", "mirror-0")))
    assert judged.look(Kind.POOL_DEGRADED, "tank") is Look.PRESENT


def test_a_pool_without_id_is_called_by_its_own_name() -> None:
    judged = judge(PoolRow(node="nas", zfs=ZfsRow(name="tank", state="FAULTED")))
    assert judged.told() == {("pool_degraded", "critical", "storage:nas:tank", "")}
