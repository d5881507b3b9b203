"""Disks: failure, wear and heat. One statement a disk, and none without a fact."""

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.kinds import Kind
from findings.model import Look, Severity
from signals.detector import Context, EvidencePage, Notes, Sweep
from signals.evidence import DiskRow, DisksOutput, FailingAttribute, InventoryOutput, InventoryRow, SmartAttributes
from signals.inventory import Inventory
from signals.model import Origin
from signals.smart import SmartDetector
from signals.storage_evidence import DiskHealthOutput
from signals.thresholds import Limit, Limited

NOW = datetime(2025, 1, 2, tzinfo=UTC)
SWEEP = Sweep("pulse_metrics", "disks", ())
WEAR = Limit(trigger=80, clear=75, critical=95, provenance="built-in")
HEAT = {"nvme": Limit(trigger=70, clear=65, critical=75, provenance="diskTempByType.nvme")}
ANY_HEAT = Limit(trigger=55, clear=50, critical=60, provenance="diskTempByType.sata")


class Limits:
    """The limits above; `off` switches a check off."""

    def __init__(self, *off):
        self.off = off

    def limit(self, resource, metric, *, disk_type=""):
        if metric in self.off:
            return None
        return WEAR if metric is Limited.DISK_WEAR else HEAT.get(disk_type, ANY_HEAT)


def detect(*outputs, inventory=(), origin=Origin.PATROL, off=(), complete=True):
    view = Inventory([InventoryOutput(resources=list(inventory))], complete=True)
    notes = Notes()
    detector = SmartDetector(Context(Limits(*off), view, NOW), notes)
    for position, output in enumerate(outputs):
        assert isinstance(output, detector.reads)
        detector.read(EvidencePage(f"call-{position}", output, origin, SWEEP, "disks", {}))
    detector.finish()
    notes.settle([SWEEP] if complete else [])
    return notes


def disk(**fields):
    return DiskRow(**{"id": "disk:serial:S1", "device": "sda", "health": "PASSED", "smart_complete": True, **fields})


def detect_rows(*rows, **more):
    return detect(DisksOutput(disks=list(rows)), **more)


def signals(notes, kind=Kind.SMART_FAILURE):
    return [signal for signal in notes.signals.values() if signal.signal_type is kind]


def look(notes, kind=Kind.SMART_FAILURE, resource="disk:serial:S1"):
    return notes.examined.look(kind, resource)


def now(number=None, name="", **fields):
    return FailingAttribute(id=number, name=name, when="now", **fields)


# --- failure ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("health", ["PASSED", "OK", " passed ", "Good", "HEALTHY", "PASS"])
def test_a_sound_verdict_with_every_counter_read_is_clear(health):
    notes = detect_rows(disk(health=health))
    assert not notes.signals
    assert look(notes) is Look.CLEAR


@pytest.mark.parametrize("health", [None, "", "UNKNOWN", " unknown", "N/A", "STANDBY", "NOT SUPPORTED"])
def test_a_missing_verdict_is_no_verdict(health):
    notes = detect_rows(disk(health=health, reasons=["Permission denied"], smart_complete=False))
    assert not notes.signals
    assert look(notes) is Look.BLIND
    assert notes.examined.blind_reason(Kind.SMART_FAILURE, "disk:serial:S1") == "Permission denied"


@pytest.mark.parametrize("health", ["FAILED", "failed ", "FAILING", "BAD", "DEGRADED", "ERROR"])
def test_any_other_verdict_is_bad_and_is_itself_the_fact(health):
    (signal,) = signals(detect_rows(disk(health=health)))
    assert signal.severity is Severity.CRITICAL
    assert signal.facts == {"verdict_failed": 1}
    assert "verdict is FAILED" in signal.summary


@pytest.mark.parametrize(
    ("counters", "severity", "said"),
    [
        (
            {"pending_sectors": 2, "offline_uncorrectable": 1},
            Severity.CRITICAL,
            "pendingSectors=2; offlineUncorrectable=1",
        ),
        ({"pending_sectors": 1}, Severity.CRITICAL, "pendingSectors=1"),
        ({"offline_uncorrectable": 624}, Severity.CRITICAL, "offlineUncorrectable=624"),
        ({"media_errors": 1}, Severity.CRITICAL, "mediaErrors=1"),
        ({"uncorrected_errors": 538}, Severity.CRITICAL, "uncorrectedErrors=538"),
        ({"reallocated_sectors": 1}, Severity.WARNING, "reallocatedSectors=1"),
        ({"udma_crc_errors": 4}, Severity.WARNING, "udmaCrcErrors=4"),
        ({"grown_defects": 5}, Severity.WARNING, "grownDefects=5"),
        ({"self_test_errors": 1}, Severity.WARNING, "selfTestErrors=1"),
    ],
)
@pytest.mark.parametrize("spelling", ["attributes", "smart_attributes", "smartAttributes"])
def test_counters_above_zero_speak_against_a_disk_that_passed(counters, severity, said, spelling):
    (signal,) = signals(detect_rows(disk(**{spelling: SmartAttributes(**counters)})))
    assert signal.severity is severity
    assert said in signal.summary
    assert signal.facts == {**counters, "verdict_failed": 0}
    assert (signal.value, signal.limit) == (next(iter(counters.values())), 0)
    assert signal.limit_source


@pytest.mark.parametrize(
    "counters",
    [
        {},
        {"pending_sectors": 0, "reallocated_sectors": 0},
        {"error_log_count": 8382},
        {"power_on_hours": 102880},
        {"percentage_used": 3},
        {"available_spare": 90, "available_spare_threshold": 10},
        {"available_spare": 10, "available_spare_threshold": 10},
        {"available_spare": 5},
    ],
)
def test_zero_and_history_are_no_trouble(counters):
    notes = detect_rows(disk(smart_attributes=SmartAttributes(**counters)))
    assert not signals(notes)
    assert look(notes) is Look.CLEAR


@pytest.mark.parametrize(
    "counters",
    [
        {"pending_sectors": -1},
        {"udma_crc_errors": -1},
        {"critical_warning": -1},
        {"available_spare": -1, "available_spare_threshold": 10},
    ],
)
def test_a_counter_below_0_was_not_read(counters):
    notes = detect_rows(disk(smart_attributes=SmartAttributes(**counters)))
    assert not signals(notes)
    assert look(notes) is Look.BLIND
    (signal,) = signals(detect_rows(disk(smart_attributes=SmartAttributes(**{**counters, "media_errors": 3}))))
    assert signal.facts == {"media_errors": 3, "verdict_failed": 0}


@pytest.mark.parametrize(
    "row", [{"life_used_percent": -5}, {"smart_attributes": SmartAttributes(percentage_used=-1)}, {"wearout": -1}]
)
def test_wear_below_0_is_no_reading(row):
    assert look(detect_rows(disk(type="nvme", **row)), Kind.DISK_WEAR) is Look.BLIND


def test_counters_of_all_spellings_are_merged_and_the_first_value_wins():
    row = disk(
        attributes=SmartAttributes(pending_sectors=2),
        smart_attributes=SmartAttributes(pending_sectors=9, media_errors=1),
        smartAttributes=SmartAttributes(udma_crc_errors=7),
    )
    (signal,) = signals(detect_rows(row))
    assert signal.facts == {"pending_sectors": 2, "media_errors": 1, "udma_crc_errors": 7, "verdict_failed": 0}


def test_a_sound_first_spelling_does_not_hide_the_second():
    row = disk(attributes=SmartAttributes(pending_sectors=0), smart_attributes=SmartAttributes(media_errors=1))
    assert signals(detect_rows(row))


def test_one_statement_names_every_fact_and_is_as_bad_as_the_worst():
    row = disk(
        smart_attributes=SmartAttributes(reallocated_sectors=2872, pending_sectors=624, offline_uncorrectable=624),
        failing=[now(5, "Reallocated_Sector_Ct")],
    )
    (signal,) = signals(detect_rows(row))
    assert signal.severity is Severity.CRITICAL
    for fact in (
        "pendingSectors=624",
        "offlineUncorrectable=624",
        "reallocatedSectors=2872",
        "5 Reallocated_Sector_Ct",
    ):
        assert fact in signal.summary
    assert signal.value == 624


def test_counters_count_where_no_verdict_came():
    (signal,) = signals(detect_rows(disk(health="UNKNOWN", smart_attributes=SmartAttributes(pending_sectors=8))))
    assert signal.severity is Severity.CRITICAL
    assert "verdict_failed" not in signal.facts


@pytest.mark.parametrize(
    ("failing", "severity"),
    [
        ([now(190, "Airflow_Temperature_Cel")], Severity.WARNING),
        ([now()], Severity.WARNING),
        ([FailingAttribute(id=190, when="past")], None),
        ([FailingAttribute(id=5, when="")], None),
    ],
)
def test_an_attribute_at_its_threshold_now_is_a_warning_and_once_is_nothing(failing, severity):
    found = signals(detect_rows(disk(failing=failing)))
    assert [signal.severity for signal in found] == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("bits", "said"),
    [(1, "spare below"), (2, "temperature beyond"), (8, "read-only"), (16, "backup failed"), (32, "persistent memory")],
)
def test_an_nvme_warning_is_critical_and_named(bits, said):
    (signal,) = signals(detect_rows(disk(health="FAILED", smart_attributes=SmartAttributes(critical_warning=bits))))
    assert signal.severity is Severity.CRITICAL
    assert said in signal.summary


def test_spare_below_its_threshold_is_critical():
    counters = SmartAttributes(available_spare=4, available_spare_threshold=10)
    (signal,) = signals(detect_rows(disk(smart_attributes=counters)))
    assert signal.severity is Severity.CRITICAL
    assert "spare 4 %" in signal.summary


# --- rated endurance --------------------------------------------------------------------------------------------------

WORN_NVME = {"critical_warning": 4, "available_spare": 100, "available_spare_threshold": 10, "media_errors": 0}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"smart_attributes": SmartAttributes(percentage_used=100, **WORN_NVME)},
            ("100 % used", "no media errors", "spare intact", "replacement"),
        ),
        ({"smart_attributes": SmartAttributes(**WORN_NVME)}, ("rated endurance used up;",)),
        (
            {"failing": [now(202, "Percent_Lifetime_Remain", wear=True)], "life_used_percent": 99},
            ("99 % used", "202 Percent_Lifetime_Remain", "no failing sectors"),
        ),
    ],
)
def test_used_up_endurance_alone_is_a_warning_that_says_so(fields, said):
    (signal,) = signals(detect_rows(disk(health="FAILED", **fields)))
    assert signal.severity is Severity.WARNING
    assert all(words in signal.summary for words in said), signal.summary
    assert "sectors=" not in signal.summary
    assert signal.facts["verdict_failed"] == 1


def test_a_wear_attribute_at_its_threshold_is_a_warning_though_the_disk_passed():
    (signal,) = signals(detect_rows(disk(failing=[now(202, wear=True)], life_used_percent=99)))
    assert signal.severity is Severity.WARNING
    assert "rated endurance" in signal.summary


@pytest.mark.parametrize(
    "fields",
    [
        {"smart_attributes": SmartAttributes(**WORN_NVME | {"media_errors": 1})},
        {"smart_attributes": SmartAttributes(**WORN_NVME | {"available_spare": 5})},
        {"smart_attributes": SmartAttributes(**WORN_NVME | {"critical_warning": 5})},
        {"smart_attributes": SmartAttributes(percentage_used=3, **WORN_NVME)},
        {"failing": [now(202, wear=True), now(5, "Reallocated_Sector_Ct")]},
        {"failing": [now(202, wear=True)], "smart_attributes": SmartAttributes(pending_sectors=1)},
        {"failing": [now(5, "Reallocated_Sector_Ct")]},
        {"failing": [FailingAttribute(id=202, when="past", wear=True)]},
        {},
    ],
)
def test_used_up_endurance_is_no_excuse_for_anything_else(fields):
    (signal,) = signals(detect_rows(disk(health="FAILED", **fields)))
    assert signal.severity is Severity.CRITICAL
    assert "rated endurance used up" not in signal.summary


def test_reallocated_sectors_on_a_worn_disk_are_named_beside_the_wear():
    row = disk(health="FAILED", failing=[now(202, wear=True)], smart_attributes=SmartAttributes(reallocated_sectors=3))
    (signal,) = signals(detect_rows(row))
    assert signal.severity is Severity.WARNING
    assert "reallocatedSectors=3" in signal.summary


# --- what may say clear -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "more", "expected"),
    [
        (disk(), {}, Look.CLEAR),
        (disk(), {"complete": False}, None),
        (disk(), {"origin": Origin.MODEL}, None),
        (disk(smart_complete=False), {}, Look.BLIND),
        (disk(smart_complete=False), {"origin": Origin.MODEL}, None),
        (disk(health="OK", smart_complete=False), {}, Look.BLIND),
        (disk(health="UNKNOWN"), {}, Look.BLIND),
        (disk(health="UNKNOWN"), {"origin": Origin.MODEL}, None),
        (disk(smart_complete=False, smart_attributes=SmartAttributes(pending_sectors=1)), {}, Look.PRESENT),
    ],
)
def test_only_a_whole_reading_in_a_complete_sweep_is_clear(row, more, expected):
    assert look(detect_rows(row, **more)) is expected


def test_a_reading_that_lacks_counters_says_so():
    notes = detect_rows(disk(smart_complete=False))
    assert "counters" in notes.examined.blind_reason(Kind.SMART_FAILURE, "disk:serial:S1")
    notes = detect_rows(disk(health="OK", smart_complete=False))
    assert "counters" in notes.examined.blind_reason(Kind.SMART_FAILURE, "disk:serial:S1")
    notes = detect_rows(disk(health=None))
    assert "verdict" in notes.examined.blind_reason(Kind.SMART_FAILURE, "disk:serial:S1")


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    "unread",
    [
        {"health": "UNKNOWN"},
        {"health": "FAILED", "reasons": ["smartctl could not open device"]},
        {"health": "FAILED", "reasons": ["Smartctl open device: /dev/sdb failed: Permission denied"]},
    ],
)
def test_of_two_observers_of_one_disk_the_real_verdict_counts(unread, order):
    guest = DiskRow(node="nas-vm", device="sdb", serial="SER-1", smart_complete=False, **unread)
    host = DiskRow(node="pve-a", device="sda", serial="SER-1", health="PASSED", smart_complete=True)
    notes = detect_rows(*[guest, host][::order])
    assert not notes.signals
    assert look(notes, resource="disk:serial:SER-1") is Look.CLEAR


@pytest.mark.parametrize(
    "fields",
    [
        {"reasons": ["the disk's own health check says FAILED"]},
        {"reasons": ["could not open device", "attribute 5 is failing now"]},
        {"reasons": ["could not open device"], "smart_attributes": SmartAttributes(pending_sectors=1)},
        {"reasons": ["could not open device"], "failing": [now(5)]},
    ],
)
def test_a_failed_verdict_with_any_fact_of_the_disk_stays_one(fields):
    assert signals(detect_rows(disk(health="FAILED", **fields)))


# --- which disk -------------------------------------------------------------------------------------------------------

KNOWN = InventoryRow(
    id="disk:serial:S1", type="disk", name="pve1/sda", aliases=["pve1:ata-x", "S1", "0x5000c5001", "old/sda"]
)
OTHER = InventoryRow(id="vm:pve1:101", type="vm", name="S2", aliases=["pve1/sdz"])


@pytest.mark.parametrize(
    ("fields", "resource"),
    [
        ({"id": "disk:serial:S1"}, "disk:serial:S1"),
        ({"id": "pve1:ata-x"}, "disk:serial:S1"),
        ({"serial": "S1"}, "disk:serial:S1"),
        ({"wwn": "0x5000c5001"}, "disk:serial:S1"),
        ({"node": "old", "dev_path": "/dev/sda"}, "disk:serial:S1"),
        ({"id": "physical-disk-1"}, "physical-disk-1"),
        ({"id": 7}, "7"),
        ({"serial": "S2"}, "disk:serial:S2"),
        ({"node": "pve1", "device": "sdz"}, "disk:pve1:sdz"),
        ({"node": "pve1", "device": "/dev/sdb"}, "disk:pve1:sdb"),
        ({"node": "pve1", "device": "sdb", "serial": "0000"}, "disk:pve1:sdb"),
        ({"node": "pve1", "device": "sdb", "serial": "N/A", "wwn": "0x0000000000000000"}, "disk:pve1:sdb"),
        ({"serial": "123456789ABC", "wwn": "0x5000c50012345678"}, "disk:wwn:0x5000c50012345678"),
        ({"serial": "QM00001", "wwn": "eui.0025385b71b0c0d1"}, "disk:wwn:eui.0025385b71b0c0d1"),
        ({"node": "pve1", "device": "sdb", "serial": "drive-scsi0"}, "disk:pve1:sdb"),
        ({"node": "pve1", "device": "sdb", "serial": "A1", "model": "QEMU HARDDISK"}, "disk:pve1:sdb"),
        ({"node": "pve1"}, "pve1"),
        ({"model": "ST4000"}, "ST4000"),
        ({}, "disk"),
    ],
)
def test_a_disk_is_known_by_id_serial_wwn_or_place(fields, resource):
    (signal,) = signals(detect_rows(DiskRow(health="FAILED", **fields), inventory=[KNOWN, OTHER]))
    assert signal.resource_id == resource


def test_two_failed_disks_of_one_host_are_two_signals():
    page = DiskHealthOutput(node="pve1", disks=[DiskRow(device=name, health="FAILED") for name in ("sda", "sdb")])
    assert [signal.resource_id for signal in signals(detect(page))] == ["disk:pve1:sda", "disk:pve1:sdb"]


def test_the_documented_health_page_is_read_host_by_host():
    page = msgspec.convert(
        {
            "hosts": [
                {
                    "hostname": "nas",
                    "smart": [{"device": "sda", "health": "FAILED", "model": "M"}, {"device": "sdb", "health": "OK"}],
                },
                {
                    "target_id": "agent-7",
                    "smart": [{"device": "sda", "health": "PASSED", "smartAttributes": {"udmaCrcErrors": 4}}],
                },
                {"hostname": "empty"},
            ],
            "hostname": "top",
            "disks": [{"device": "sdc", "health": "FAILED"}],
        },
        DiskHealthOutput,
    )
    found = [(signal.resource_id, signal.severity, signal.resource_type) for signal in signals(detect(page))]
    assert found == [
        ("disk:nas:sda", Severity.CRITICAL, "disk"),
        ("disk:agent-7:sda", Severity.WARNING, "disk"),
        ("disk:top:sdc", Severity.CRITICAL, "disk"),
    ]


def test_a_disk_on_both_pages_is_one_signal_and_the_worse_statement_stays():
    row = {"serial": "S9", "node": "pve1", "device": "sda", "smart_complete": True}
    mild = DisksOutput(disks=[DiskRow(health="PASSED", smart_attributes=SmartAttributes(reallocated_sectors=1), **row)])
    bad = DiskHealthOutput(disks=[DiskRow(health="FAILED", **row)])
    for pages in ([mild, bad], [bad, mild]):
        (signal,) = signals(detect(*pages))
        assert signal.severity is Severity.CRITICAL


def test_the_evidence_is_the_row_of_the_disk():
    (signal,) = signals(detect_rows(disk(id="other"), disk(id="bad", health="FAILED", model="WD" * 400)))
    assert '"bad"' in signal.evidence
    assert len(signal.evidence.encode()) <= 500
    assert signal.tool_call_id == "call-0"


def test_a_page_of_something_else_is_left_alone():
    notes = Notes()
    detector = SmartDetector(Context(Limits(), Inventory(), NOW), notes)
    detector.read(EvidencePage("call", InventoryOutput(), Origin.PATROL, SWEEP, "inventory", {}))
    assert not notes.signals


# --- wear -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "expected", "severity"),
    [
        ({"life_used_percent": 5}, Look.CLEAR, None),
        ({"life_used_percent": 74.9}, Look.CLEAR, None),
        ({"life_used_percent": 75}, Look.HELD, None),
        ({"life_used_percent": 80}, Look.HELD, None),
        ({"life_used_percent": 80.1}, Look.PRESENT, Severity.WARNING),
        ({"life_used_percent": 96}, Look.PRESENT, Severity.CRITICAL),
        ({"life_used_percent": 130}, Look.PRESENT, Severity.CRITICAL),
        ({"life_used_percent": 0, "wearout": 3}, Look.CLEAR, None),
        ({"wearout": 95}, Look.CLEAR, None),
        ({"wearout": 18}, Look.PRESENT, Severity.WARNING),
        ({"wearout": 100}, Look.CLEAR, None),
        ({"wearout": 0}, Look.BLIND, None),
        ({"wearout": -1}, Look.BLIND, None),
        ({"wearout": 101}, Look.BLIND, None),
        ({"smart_attributes": SmartAttributes(percentage_used=85)}, Look.PRESENT, Severity.WARNING),
        ({"smart_attributes": SmartAttributes(power_on_hours=1), "wearout": 18}, Look.PRESENT, Severity.WARNING),
        ({"wearout": 0, "type": "hdd"}, Look.CLEAR, None),
        ({"wearout": 1, "type": "hdd"}, Look.CLEAR, None),
        ({"wearout": 1, "rpm": 7200}, Look.CLEAR, None),
        ({}, Look.BLIND, None),
    ],
)
def test_wear_is_judged_where_it_is_known(fields, expected, severity):
    notes = detect_rows(disk(**{"type": "sata", **fields}))
    assert look(notes, Kind.DISK_WEAR) is expected
    assert [signal.severity for signal in signals(notes, Kind.DISK_WEAR)] == ([severity] if severity else [])
    assert not signals(notes)


def test_a_worn_disk_shows_value_limit_and_where_the_limit_comes_from():
    (signal,) = signals(detect_rows(disk(life_used_percent=82)), Kind.DISK_WEAR)
    assert (signal.value, signal.limit, signal.limit_source) == (82, 80, "built-in")


# --- heat -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "expected", "severity"),
    [
        ({"temperature": 49}, Look.CLEAR, None),
        ({"temperature": 50}, Look.HELD, None),
        ({"temperature": 55}, Look.HELD, None),
        ({"temperature": 56}, Look.PRESENT, Severity.WARNING),
        ({"temperature": 61}, Look.PRESENT, Severity.CRITICAL),
        ({"temperature": 61, "type": "nvme"}, Look.CLEAR, None),
        ({"temperature": 71, "type": "nvme"}, Look.PRESENT, Severity.WARNING),
        ({"temperature": 0}, Look.BLIND, None),
        ({"temperature": -5}, Look.BLIND, None),
        ({"temperature": 400}, Look.BLIND, None),
        ({}, Look.BLIND, None),
        ({"temperature": 61, "type": "nvme", "temperature_limit": 60}, Look.PRESENT, Severity.WARNING),
        ({"temperature": 60, "type": "nvme", "temperature_limit": 60}, Look.CLEAR, None),
        ({"temperature": 53, "temperature_limit": 52}, Look.PRESENT, Severity.WARNING),
        ({"temperature": 61, "temperature_limit": 58}, Look.PRESENT, Severity.CRITICAL),
        ({"temperature": 40, "temperature_limit": 0}, Look.CLEAR, None),
    ],
)
def test_heat_is_judged_by_the_kind_of_disk_and_by_its_own_limit(fields, expected, severity):
    notes = detect_rows(disk(**{"type": "sata", **fields}))
    assert look(notes, Kind.HIGH_TEMPERATURE) is expected
    assert [signal.severity for signal in signals(notes, Kind.HIGH_TEMPERATURE)] == ([severity] if severity else [])


class OneSpecial(Limits):
    """Limits in which one disk has its own, and says so; counts how often it is asked."""

    has_special = True

    def __init__(self):
        super().__init__()
        self.asked = 0

    def is_special(self, resource):
        return resource.id == "disk:serial:SPECIAL"

    def limit(self, resource, metric, *, disk_type=""):
        self.asked += 1
        if metric is Limited.DISK_TEMPERATURE and self.is_special(resource):
            return Limit(trigger=30, clear=25, provenance="override")
        return super().limit(resource, metric, disk_type=disk_type)


def test_disks_of_one_type_share_their_limits_and_a_special_one_has_its_own():
    limits, notes = OneSpecial(), Notes()
    rows = [disk(id=f"disk:serial:{name}", temperature=34, life_used_percent=3) for name in ("A", "B", "SPECIAL", "C")]
    detector = SmartDetector(Context(limits, Inventory(), NOW), notes)
    detector.read(EvidencePage("call", DisksOutput(disks=rows), Origin.PATROL, SWEEP, "disks", {}))
    (signal,) = notes.signals.values()
    assert (signal.resource_id, signal.limit_source) == ("disk:serial:SPECIAL", "override")
    assert limits.asked == 4


@pytest.mark.parametrize(
    "fields", [{"type": "hdd"}, {"life_used_percent": 3}, {"life_used_percent": 3, "temperature_limit": 60}]
)
def test_a_disk_that_is_well_in_every_way_is_clear_of_all_three(fields):
    row = disk(temperature=34, smart_attributes=SmartAttributes(power_on_hours=9), **fields)
    notes = detect_rows(row)
    assert not notes.signals
    assert [look(notes, kind) for kind in (Kind.SMART_FAILURE, Kind.DISK_WEAR, Kind.HIGH_TEMPERATURE)] == [
        Look.CLEAR
    ] * 3
    assert len(detect_rows(row, origin=Origin.MODEL).examined) == 0


def test_a_hot_worn_and_failed_disk_says_all_three():
    notes = detect_rows(disk(health="FAILED", life_used_percent=99, temperature=70))
    assert {signal.signal_type for signal in notes.signals.values()} == {
        Kind.SMART_FAILURE,
        Kind.DISK_WEAR,
        Kind.HIGH_TEMPERATURE,
    }


def test_a_check_that_is_switched_off_says_nothing_and_failure_cannot_be_switched_off():
    row = disk(health="FAILED", life_used_percent=99, temperature=70)
    notes = detect_rows(row, off=(Limited.DISK_WEAR, Limited.DISK_TEMPERATURE))
    assert [signal.signal_type for signal in notes.signals.values()] == [Kind.SMART_FAILURE]
    assert look(notes, Kind.DISK_WEAR) is None
    assert look(notes, Kind.HIGH_TEMPERATURE) is None


def test_the_model_looking_at_a_disk_makes_nothing_blind():
    notes = detect_rows(disk(smart_complete=False), origin=Origin.MODEL)
    assert len(notes.examined) == 0


# --- in general -------------------------------------------------------------------------------------------------------

numbers = st.none() | st.floats(-10, 300) | st.integers(-10, 2**40)
counters = st.none() | st.builds(
    SmartAttributes,
    pending_sectors=numbers,
    reallocated_sectors=numbers,
    media_errors=numbers,
    available_spare=numbers,
    available_spare_threshold=numbers,
    percentage_used=numbers,
    critical_warning=st.none() | st.integers(0, 255),
)
disks = st.builds(
    DiskRow,
    id=st.none() | st.integers() | st.text(max_size=5),
    node=st.none() | st.text(max_size=5),
    device=st.none() | st.text(max_size=5),
    serial=st.none() | st.text(max_size=5),
    wwn=st.none() | st.text(max_size=5),
    type=st.sampled_from([None, "nvme", "sata", "hdd", "?"]),
    health=st.sampled_from([None, "", "PASSED", "OK", "FAILED", "UNKNOWN", "x"]),
    wearout=numbers,
    temperature=numbers,
    temperature_limit=numbers,
    life_used_percent=numbers,
    attributes=counters,
    smart_attributes=counters,
    failing=st.lists(
        st.builds(FailingAttribute, when=st.sampled_from(["now", "past"]), wear=st.booleans()), max_size=2
    ),
    reasons=st.lists(st.sampled_from(["could not open device", "x"]), max_size=2),
    smart_complete=st.booleans(),
)


@given(st.lists(disks, max_size=4))
def test_whatever_a_page_holds_a_signal_has_a_fact_and_is_never_clear(rows):
    notes = detect_rows(*rows)
    for signal in notes.signals.values():
        assert signal.summary
        assert signal.resource_id
        assert look(notes, signal.signal_type, signal.resource_id) is Look.PRESENT
        if signal.signal_type is Kind.SMART_FAILURE:
            assert any(value > 0 for value in signal.facts.values())


@given(st.lists(disks, max_size=3))
def test_the_same_page_gives_the_same_signals(rows):
    page = msgspec.json.encode(DisksOutput(disks=rows))
    decoded = [msgspec.json.decode(page, type=DisksOutput) for _ in range(2)]
    first, second = (list(detect(page).signals.values()) for page in decoded)
    assert first == second


def test_a_warning_bit_without_a_name_is_told_as_it_is() -> None:
    (signal,) = signals(detect_rows(disk(smart_attributes=SmartAttributes(critical_warning=0x48))))
    assert signal.summary.endswith("media read-only; critical warning 0x40, which has no name")
