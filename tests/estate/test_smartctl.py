"""What a smartctl document says: the verdict, the counters, and what keeps a reading from being whole."""

import json

import pytest

from findings.model import GapReason
from patrol.estate.smartctl import ExitBit, disk_row_from_smartctl, parse_smartctl

ATA = {"name": "/dev/sda", "type": "sat", "protocol": "ATA"}
NVME = {"name": "/dev/nvme0", "type": "nvme", "protocol": "NVMe"}
SCSI = {"name": "/dev/sdc", "type": "scsi", "protocol": "SCSI"}
LOG = {
    "critical_warning": 0,
    "available_spare": 100,
    "available_spare_threshold": 10,
    "percentage_used": 3,
    "media_errors": 0,
}


def attribute(number, raw=0, name="", **fields):
    return {"id": number, "name": name, "raw": {"value": raw, "string": str(raw)}, **fields}


def ata(*table, passed=True, exit_status=0, **more):
    document = {
        "smartctl": {"exit_status": exit_status},
        "device": ATA,
        "ata_smart_attributes": {"table": [*table, attribute(9, 1200, "Power_On_Hours")]},
        **more,
    }
    if passed is not None:
        document["smart_status"] = {"passed": passed}
    return document


def nvme(*, passed=True, **log):
    document = {
        "smartctl": {"exit_status": 0},
        "device": NVME,
        "nvme_smart_health_information_log": {**LOG, **log},
    }
    if passed is not None:
        document["smart_status"] = {"passed": passed}
    return document


def scsi(*, passed=True, uncorrected=(0, 0, 0), **more):
    kinds = zip(("read", "write", "verify"), uncorrected, strict=True)
    return {
        "smartctl": {"exit_status": 0},
        "device": SCSI,
        "smart_status": {"passed": passed},
        "scsi_error_counter_log": {kind: {"total_uncorrected_errors": count} for kind, count in kinds},
        **more,
    }


def refused(message, exit_status=2):
    return {"smartctl": {"exit_status": exit_status, "messages": [{"string": message, "severity": "error"}]}}


# --- the verdict ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "health"),
    [
        (ata(), "PASSED"),
        (ata(passed=False), "FAILED"),
        (ata(passed=None), "UNKNOWN"),
        (ata(passed="false"), "UNKNOWN"),
        (ata(passed=0), "UNKNOWN"),
        ({"device": {"name": "/dev/bus/0", "type": "megaraid,3"}, "smartctl": {"exit_status": 0}}, "UNKNOWN"),
        ({"device": ATA, "smartctl": {"exit_status": 8}}, "FAILED"),
        ({"device": ATA, "smartctl": {"exit_status": 72}}, "FAILED"),
        ({"device": ATA, "smartctl": {"exit_status": 16}}, "FAILED"),
        ({"device": ATA, "smartctl": {"exit_status": 4}}, "UNKNOWN"),
        ({"device": ATA, "smartctl": {"exit_status": 64}}, "UNKNOWN"),
        (ata(exit_status=32), "PASSED"),
        (ata(exit_status=64), "PASSED"),
        (nvme(), "PASSED"),
        (nvme(passed=None), "UNKNOWN"),
        (nvme(passed=False, critical_warning=4), "FAILED"),
        (nvme(passed=None, critical_warning=1), "FAILED"),
        (nvme(passed=True, critical_warning=8), "FAILED"),
        (scsi(), "PASSED"),
        (scsi(passed=None, smart_status={"scsi": {"asc": 0x5D, "ascq": 0x10}}), "FAILED"),
        (refused("Smartctl open device: /dev/sda failed: Permission denied"), "UNKNOWN"),
        ({}, "UNKNOWN"),
        ("", "UNKNOWN"),
        ("[1, 2]", "UNKNOWN"),
    ],
)
def test_only_a_verdict_that_was_given_counts(document, health):
    assert parse_smartctl(document).row.health == health


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (ata(passed=False), "own health check"),
        ({"device": ATA, "smartctl": {"exit_status": 8}}, "DISK FAILING"),
        ({"device": ATA, "smartctl": {"exit_status": 16}}, "at or below its threshold"),
        (
            ata(
                attribute(
                    5, 9, "Reallocated_Sector_Ct", value=1, thresh=5, when_failed="now", flags={"prefailure": True}
                )
            ),
            "attribute 5 Reallocated_Sector_Ct (value 1, threshold 5) is failing now",
        ),
        (ata(attribute(5, 9, when_failed="now")), "attribute 5 is failing now"),
        (nvme(critical_warning=0x10), "backup of volatile memory failed"),
        (nvme(critical_warning=0x41), "critical warning 0x40"),
        (scsi(smart_status={"scsi": {"asc": 93, "ie_string": "HARDWARE IMPENDING FAILURE"}}), "IMPENDING"),
        (scsi(smart_status={"scsi": {"asc": 93}}), "failure prediction"),
    ],
)
def test_a_failed_disk_says_why(document, words):
    reasons = parse_smartctl(document).row.reasons
    assert any(words in reason for reason in reasons), reasons


def test_an_attribute_at_its_threshold_predicts_failure_even_where_the_disk_passed():
    row = disk_row_from_smartctl(ata(attribute(5, 9, when_failed="FAILING_NOW", flags={"prefailure": True})))
    assert row.health == "FAILED"


@pytest.mark.parametrize(
    "flagged",
    [
        attribute(190, 47, "Airflow_Temperature_Cel", when_failed="past"),
        attribute(5, 9, "Reallocated_Sector_Ct", when_failed="In_the_past", flags={"prefailure": True}),
        attribute(190, 47, "Airflow_Temperature_Cel", when_failed="now", flags={"prefailure": False}),
        attribute(202, 99, "Percent_Lifetime_Remain", when_failed="now", flags={"prefailure": True}),
    ],
)
def test_past_age_and_wear_are_kept_but_are_no_verdict(flagged):
    row = disk_row_from_smartctl(ata(flagged))
    assert row.health == "PASSED"
    assert [failing.id for failing in row.failing] == [flagged["id"]]


@pytest.mark.parametrize(("number", "wear"), [(202, True), (231, True), (5, False), (232, False)])
def test_a_failing_attribute_says_whether_it_counts_wear(number, wear):
    row = disk_row_from_smartctl(ata(attribute(number, 99, when_failed="now")))
    assert row.failing[0].wear is wear


def test_every_bit_of_the_exit_status_is_known():
    assert sum(ExitBit) == 255
    assert parse_smartctl(ata(exit_status=200)).exit_bits == (
        ExitBit.SELF_TEST_LOG | ExitBit.ERROR_LOG | ExitBit.DISK_FAILING
    )


@pytest.mark.parametrize("nonsense", [None, -1, 256, "x", True, 1e99])
def test_an_exit_status_that_is_none_has_no_bits(nonsense):
    assert parse_smartctl(ata(exit_status=nonsense)).exit_bits == ExitBit(0)


# --- why a reading is not whole ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (refused("Smartctl open device: /dev/sda failed: Permission denied"), GapReason.NO_PERMISSION),
        (
            refused("Read NVMe Identify Controller failed: NVME_IOCTL_ADMIN_CMD: Permission denied"),
            GapReason.NO_PERMISSION,
        ),
        (refused("Smartctl open device: /dev/sda failed: No such device"), GapReason.FAILED),
        (refused("/dev/bus/0: Unable to detect device type", 1), GapReason.NOT_REPORTED),
        (refused("/dev/sdd: Unknown USB bridge [0x0bda:0x9210 (0xf200)]", 1), GapReason.NOT_REPORTED),
        ({"device": ATA, "smartctl": {"exit_status": 2}}, GapReason.FAILED),
        ({"device": ATA, "smart_support": {"available": False}}, GapReason.NOT_REPORTED),
        ({"device": ATA, "smart_support": {"available": True, "enabled": False}}, GapReason.NOT_REPORTED),
        ({"device": ATA}, GapReason.UNREADABLE),
        ("smartctl: unrecognized option '--json'", GapReason.UNREADABLE),
        (b"\xff\xfe{", GapReason.UNREADABLE),
        (refused("Device is in STANDBY mode, exit(2)"), GapReason.ASLEEP),
        (refused("Device is in STANDBY BY TIMER mode, exit(2)"), GapReason.ASLEEP),
        ({"device": ATA, "power_mode": {"string": "STANDBY"}, "smartctl": {"exit_status": 2}}, GapReason.ASLEEP),
        ("smartctl 7.4\n\nDevice is in STANDBY mode, exit(2)\n", GapReason.ASLEEP),
        ({"device": ATA, "smart_status": {"passed": True}}, GapReason.UNREADABLE),
        (ata(exit_status=2), GapReason.UNREADABLE),
        (ata(exit_status=4, ata_smart_error_log={"summary": {"count": 0}}), GapReason.UNREADABLE),
        (nvme(media_errors=None), GapReason.UNREADABLE),
        (nvme(critical_warning="?"), GapReason.UNREADABLE),
        ({"device": SCSI, "smart_status": {"passed": True}}, GapReason.UNREADABLE),
        (scsi(smartctl={"exit_status": 4}), GapReason.UNREADABLE),
    ],
)
def test_what_is_missing_has_its_reason_and_closes_nothing(document, reason):
    reading = parse_smartctl(document)
    assert reading.shortfall is not None
    assert reading.shortfall.reason is reason
    assert reading.shortfall.detail
    assert reading.asleep == (reason is GapReason.ASLEEP)
    assert not reading.row.smart_complete


@pytest.mark.parametrize(
    "document",
    [
        ata(),
        ata(passed=False),
        ata(exit_status=64, ata_smart_error_log={"summary": {"count": 2}}),
        nvme(),
        {**nvme(), "smartctl": {"exit_status": 4}},
        {**nvme(critical_warning=None), "smart_status": {"passed": True, "nvme": {"value": 0}}},
        scsi(),
        scsi(uncorrected=(None, None, None), scsi_grown_defect_list=0),
        {"device": SCSI, "smart_status": {"passed": True}, "smartctl": {"argv": ["smartctl", "-x"], "exit_status": 0}},
    ],
)
def test_a_reading_with_verdict_and_counters_is_whole(document):
    row = disk_row_from_smartctl(document)
    assert row.smart_complete
    assert row.health in ("PASSED", "FAILED")


def test_cheap_disks_without_an_error_log_are_read_wholly_though_one_command_always_fails():
    assert disk_row_from_smartctl(ata(exit_status=4)).smart_complete


def test_a_verdict_that_smartctl_made_of_attributes_is_not_the_disks_own():
    document = ata(exit_status=4)
    document["smartctl"]["messages"] = [{"string": "Warning: This result is based on an Attribute check."}]
    reading = parse_smartctl(document)
    assert reading.row.health == "PASSED"
    assert not reading.row.smart_complete


def test_a_controller_that_swallows_the_verdict_leaves_it_unknown_and_tells_of_the_attributes():
    document = ata(passed=None, exit_status=4)
    document["smartctl"]["messages"] = [{"string": "SMART status not supported: incomplete response"}]
    reading = parse_smartctl(document)
    assert reading.row.health == "UNKNOWN"
    assert reading.row.reasons == ["SMART status not supported: incomplete response (attribute check passed)"]


# --- counters ---------------------------------------------------------------------------------------------------------


def counters(document):
    found = disk_row_from_smartctl(document).smart_attributes
    return (
        {name: value for name in found.__struct_fields__ if (value := getattr(found, name)) is not None}
        if found
        else {}
    )


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (attribute(5, 2872, "Reallocated_Sector_Ct"), {"reallocated_sectors": 2872}),
        (attribute(5, 1, "Retired_Block_Count"), {"reallocated_sectors": 1}),
        (attribute(5, 0, "Reallocated_Sector_Ct"), {}),
        (attribute(197, 624, "Current_Pending_Sector"), {"pending_sectors": 624}),
        (attribute(197, 1, "Current_Pending_ECC_Cnt"), {"pending_sectors": 1}),
        (attribute(197, 8), {"pending_sectors": 8}),
        (attribute(197, 7, "Not_In_Use"), {}),
        (attribute(197, 7, "ECC_Error_Count"), {}),
        (attribute(198, 624, "Offline_Uncorrectable"), {"offline_uncorrectable": 624}),
        (attribute(198, 90000, "Host_Reads_GiB"), {}),
        (attribute(199, 108, "UDMA_CRC_Error_Count"), {"udma_crc_errors": 108}),
        (attribute(199, 4, "CRC_Error_Count"), {"udma_crc_errors": 4}),
        (attribute(199, 90000, "Host_Writes_GiB"), {}),
        ({"id": 5, "raw": {"value": 0x000200000003, "string": "3 (2)"}}, {"reallocated_sectors": 3}),
        ({"id": 5, "raw": {"value": 0x000200000003}}, {"reallocated_sectors": 3}),
        ({"id": 197, "raw": 12}, {"pending_sectors": 12}),
        ({"id": 197, "raw": "12"}, {"pending_sectors": 12}),
        ({"id": "197", "raw": {"value": "12"}}, {"pending_sectors": 12}),
        ({"id": 197, "raw": {"value": 2**63 - 1}}, {}),
        ({"id": 197, "raw": {"value": 2**63 - 1, "string": str(2**63 - 1)}}, {}),
        ({"id": 197, "raw": {"value": 1 << 48, "string": str(1 << 48)}}, {}),
        ({"id": 197, "raw": {"value": -1}}, {}),
        ({"id": 197, "raw": None}, {}),
        ({"id": 197}, {}),
        ({"raw": {"value": 12}}, {}),
        (attribute(196, 5, "Reallocated_Event_Count"), {}),
        (attribute(187, 1, "Reported_Uncorrect"), {}),
    ],
)
def test_ata_counters_are_read_by_id_and_name(row, expected):
    assert counters(ata(row)) == expected


@pytest.mark.parametrize("errors", [1, 2, 3])
def test_a_handful_of_transmission_errors_in_a_life_is_history(errors):
    reading = parse_smartctl(ata(attribute(199, errors, "UDMA_CRC_Error_Count")))
    assert reading.row.smart_attributes is None
    assert reading.history == {"few_crc_errors": errors}


@pytest.mark.parametrize(
    ("raw", "timeouts"), [(4295032833, 1), (17180131332, 4), (33, 33), (0x0003_0002_0001, 3), (0, None), (2**60, None)]
)
def test_command_timeouts_are_three_packed_counters_and_never_billions(raw, timeouts):
    reading = parse_smartctl(ata(attribute(188, raw, "Command_Timeout")))
    assert reading.history.get("command_timeout") == timeouts
    assert reading.row.smart_attributes is None


def test_raw_error_rates_are_packed_and_not_read_at_all():
    table = (attribute(1, 187654321, "Raw_Read_Error_Rate"), attribute(7, 9123456789, "Seek_Error_Rate"))
    assert counters(ata(*table)) == {}


def test_a_healthy_disk_has_no_counters_and_a_sick_one_keeps_them_all():
    sick = ata(
        attribute(5, 2872), attribute(197, 624), attribute(198, 624), ata_smart_error_log={"extended": {"count": 1693}}
    )
    assert counters(sick) == {
        "reallocated_sectors": 2872,
        "pending_sectors": 624,
        "offline_uncorrectable": 624,
        "error_log_count": 1693,
    }
    assert counters(ata()) == {}


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ({"media_errors": 7}, {"media_errors": 7, "percentage_used": 3}),
        ({"media_errors": "7"}, {"media_errors": 7, "percentage_used": 3}),
        ({"media_errors": -1}, {"percentage_used": 3}),
        ({"num_err_log_entries": 8382}, {"percentage_used": 3}),
        ({"critical_warning": 300, "percentage_used": 0}, {}),
        (
            {"available_spare": 4, "percentage_used": 0},
            {"available_spare": 4, "available_spare_threshold": 10},
        ),
        ({"available_spare": 99, "available_spare_threshold": 0, "percentage_used": 0}, {"available_spare": 99}),
    ],
)
def test_nvme_counters(log, expected):
    assert counters(nvme(**log)) == expected


def test_entries_in_an_nvme_error_log_are_history():
    assert parse_smartctl(nvme(num_err_log_entries=8382)).history == {"err_log_entries": 8382}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (scsi(uncorrected=(3, 0, 0), scsi_grown_defect_list=5), {"uncorrected_errors": 3, "grown_defects": 5}),
        (scsi(uncorrected=(1, 535, 2)), {"uncorrected_errors": 538}),
        (scsi(uncorrected=("3", None, [])), {"uncorrected_errors": 3}),
        (scsi(scsi_grown_defect_list="x"), {}),
    ],
)
def test_scsi_counters(document, expected):
    assert counters(document) == expected


def test_corrected_scsi_errors_are_daily_work():
    document = scsi()
    document["scsi_error_counter_log"]["read"]["total_errors_corrected"] = 647736
    assert counters(document) == {}


# --- self-tests -------------------------------------------------------------------------------------------------------


def log_of(*results):
    return {"standard": {"table": [{"status": result} for result in results]}}


PASSED, READ_FAILURE, ABORTED = {"value": 0, "passed": True}, {"value": 121, "passed": False}, {"value": 16}


@pytest.mark.parametrize(
    ("log", "failed"),
    [
        (log_of(READ_FAILURE, READ_FAILURE, PASSED), 2),
        (log_of(PASSED, READ_FAILURE), None),
        (log_of(ABORTED, READ_FAILURE, PASSED), 1),
        (log_of({"value": 249, "remaining_percent": 90}, PASSED), None),
        (log_of({"passed": False}, {"passed": True}), 1),
        (log_of({}, {"value": "x"}), None),
        ({"standard": {"revision": 1}}, None),
        ({"extended": {"table": [{"status": READ_FAILURE}]}}, 1),
    ],
)
def test_failed_self_tests_newer_than_the_last_good_one(log, failed):
    assert counters(ata(ata_smart_self_test_log=log)).get("self_test_errors") == failed


def test_the_exit_status_tells_of_failed_self_tests_where_the_log_is_missing():
    assert counters(ata(exit_status=128))["self_test_errors"] == 1
    assert "self_test_errors" not in counters(
        ata(exit_status=128, ata_smart_self_test_log=log_of(PASSED, READ_FAILURE))
    )


@pytest.mark.parametrize(("results", "failed"), [((0, 7), None), ((7, 5, 0), 2), ((15, 1, 3), 1), ((None,), None)])
def test_scsi_self_tests(results, failed):
    log = {f"scsi_self_test_{position}": {"result": {"value": value}} for position, value in enumerate(results)}
    assert counters(scsi(**log)).get("self_test_errors") == failed


@pytest.mark.parametrize(("results", "failed"), [((0, 7), None), ((7, 6, 0), 2), ((1, 15), None), ((), None)])
def test_nvme_self_tests(results, failed):
    document = nvme(percentage_used=0)
    document["nvme_self_test_log"] = {"table": [{"self_test_result": {"value": value}} for value in results], "nsid": 1}
    assert counters(document).get("self_test_errors") == failed


# --- temperature ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "celsius"),
    [
        (ata(temperature={"current": 34}), 34),
        (ata(temperature={"current": 0}), None),
        (ata(temperature={"current": 400}), None),
        (ata(temperature={"current": "41"}), 41),
        (ata(temperature={"current": "3" * 300}), None),
        (ata(ata_sct_status={"temperature": {"current": 37}}), 37),
        (ata(ata_sct_status={"current": {"value": 36}}), 36),
        (ata(attribute(194, 163210330144) | {"raw": {"value": 163210330144, "string": "32 (Min/Max 24/38)"}}), 32),
        (ata({"id": 194, "raw": {"value": 163210330144}}), 32),
        (ata({"id": 194, "raw": {"value": 31}}), 31),
        (ata({"id": 194, "raw": {"value": 0, "string": "54 (Min/Max 19/57)"}}, attribute(190, 39)), 54),
        (ata(attribute(190, 39, "Airflow_Temperature_Cel")), 39),
        (ata({"id": 194, "raw": {"value": 2**63 - 1, "string": str(2**63 - 1)}}), None),
        (ata(attribute(194, 255)), None),
        (ata(attribute(194, 0)), None),
        (nvme(temperature=48), 48),
        (nvme(temperature=350), None),
        (scsi(temperature={"current": 0}, scsi_environmental_reports={"temperature_1": {"current": 38}}), 38),
        (scsi(scsi_environmental_reports={"humidity_1": {"current": 38}}), None),
    ],
)
def test_the_temperature_is_the_first_plausible_one(document, celsius):
    assert disk_row_from_smartctl(document).temperature == celsius


@pytest.mark.parametrize(
    ("fields", "limit"),
    [
        ({"temperature": {"current": 33, "op_limit_max": 70, "limit_max": 75}}, 70),
        ({"temperature": {"limit_max": 75}}, 75),
        ({"temperature": {"drive_trip": 68}}, 68),
        ({"temperature": {"drive_trip": 0}}, None),
        ({"scsi_temperature": {"drive_trip": 65}}, 65),
        ({"nvme_composite_temperature_threshold": {"warning": 84}}, 84),
        ({}, None),
    ],
)
def test_the_limit_is_the_one_that_the_disk_names(fields, limit):
    assert disk_row_from_smartctl(ata(**fields)).temperature_limit == limit


# --- identity ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (
            ata(
                model_name=" Samsung\tSSD ",
                serial_number="S3Z8NB0K",
                wwn={"naa": 5, "oui": 9528, "id": 52},
                rotation_rate=0,
                user_capacity={"bytes": 500107862016},
            ),
            {
                "device": "sda",
                "dev_path": "/dev/sda",
                "model": "Samsung SSD",
                "serial": "S3Z8NB0K",
                "wwn": "0x5002538000000034",
                "type": "sata",
                "size_bytes": 500107862016,
                "rpm": None,
            },
        ),
        (ata(rotation_rate=7200), {"type": "hdd", "rpm": 7200}),
        (nvme(), {"type": "nvme", "device": "nvme0", "wwn": None}),
        (
            {
                **nvme(),
                "nvme_total_capacity": 1000,
                "nvme_namespaces": [{"eui64": {"oui": 6980, "ext_id": 281378392463}}],
            },
            {"size_bytes": 1000, "wwn": "eui.001b44418375898f"},
        ),
        ({**nvme(), "nvme_namespaces": [{"eui64": {"oui": 1, "ext_id": 2}}] * 2}, {"wwn": None}),
        (
            scsi(scsi_vendor="HGST", scsi_product="HUH721212AL5200", logical_unit_id="0x5000CCA2ABC"),
            {"type": "sas", "model": "HGST HUH721212AL5200", "wwn": "0x5000cca2abc"},
        ),
        (
            scsi(rotation_rate=10020, vendor="A", product="B", logical_unit_id="hidden"),
            {"type": "hdd", "model": "A B", "wwn": None},
        ),
        (scsi(scsi_model_name="HP X"), {"model": "HP X"}),
        (ata(wwn={"naa": 5, "oui": 1 << 30, "id": 1}), {"wwn": None}),
        ({"ata_smart_attributes": {"table": []}}, {"type": "sata", "device": None}),
        ({"nvme_version": {}}, {"type": "nvme"}),
        ({}, {"type": None, "serial": None, "model": None, "size_bytes": None}),
    ],
)
def test_the_row_names_the_disk(document, expected):
    row = disk_row_from_smartctl(document)
    assert {name: getattr(row, name) for name in expected} == expected


def test_text_and_bytes_are_read_like_the_object():
    document = ata(attribute(197, 8))
    assert disk_row_from_smartctl(json.dumps(document)) == disk_row_from_smartctl(document)
    assert disk_row_from_smartctl(json.dumps(document).encode()) == disk_row_from_smartctl(document)
