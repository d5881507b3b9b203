"""Whatever stands in a document, reading it ends in a row: foreign JSON is never trusted."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.model import GapReason
from patrol.estate.smartctl import parse_smartctl

WHOLE = {
    "smartctl": {"exit_status": 216, "argv": ["smartctl", "-x"], "messages": [{"string": "x", "severity": "error"}]},
    "device": {"name": "/dev/sda", "type": "sat", "protocol": "ATA"},
    "model_name": "M",
    "serial_number": "S1",
    "rotation_rate": 0,
    "wwn": {"naa": 5, "oui": 1, "id": 2},
    "logical_unit_id": "0x5000",
    "user_capacity": {"bytes": 10},
    "smart_support": {"available": True, "enabled": True},
    "smart_status": {"passed": True, "nvme": {"value": 0}, "scsi": {"asc": 93, "ie_string": "x"}},
    "power_on_time": {"hours": 1},
    "temperature": {"current": 30, "op_limit_max": 70, "drive_trip": 60},
    "ata_sct_status": {"current": {"value": 20}, "temperature": {"current": 25}},
    "ata_smart_attributes": {
        "table": [
            {"id": n, "name": name, "value": 99, "thresh": 5, "raw": {"value": 7, "string": "7"}, "when_failed": "now"}
            for n, name in (
                (5, "Reallocated_Sector_Ct"),
                (188, "x"),
                (194, ""),
                (197, ""),
                (202, ""),
                (230, ""),
                (231, ""),
            )
        ]
    },
    "ata_smart_error_log": {"summary": {"count": 2}},
    "ata_smart_self_test_log": {"standard": {"table": [{"status": {"value": 121, "passed": False}}]}},
    "ata_device_statistics": {"pages": [{"table": [{"name": "Percentage Used Endurance Indicator", "value": 3}]}]},
    "nvme_smart_health_information_log": {"critical_warning": 4, "available_spare": 4, "media_errors": 1},
    "nvme_self_test_log": {"table": [{"self_test_result": {"value": 7}}]},
    "nvme_namespaces": [{"eui64": {"oui": 1, "ext_id": 2}}],
    "scsi_error_counter_log": {"read": {"total_uncorrected_errors": 3}},
    "scsi_grown_defect_list": 5,
    "scsi_self_test_0": {"result": {"value": 7}},
    "scsi_environmental_reports": {"temperature_1": {"current": 38}},
    "endurance_used": {"current_percent": 1},
}

junk = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.sampled_from([2**63 - 1, 2**64, -(2**63), 10**400, "9" * 5000, "1e400", "nan", "\ud800", "\0", "-1"]),
        st.floats(),
        st.text(max_size=20),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def places(value, path=()):
    """The paths of every value in a document."""
    yield path
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in below:
        yield from places(item, (*path, key))


PLACES = [path for path in places(WHOLE) if path]


def mutated(document, changes):
    changed = copy.deepcopy(document)
    for path, value in changes:
        target = changed
        try:
            for key in path[:-1]:
                target = target[key]
            target[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took this place away
    return changed


def check(reading):
    row = reading.row
    assert row.health in ("PASSED", "FAILED", "UNKNOWN")
    assert (reading.shortfall is None) == row.smart_complete
    assert row.health != "FAILED" or row.reasons
    assert row.temperature is None or 0 < row.temperature <= 125
    assert row.life_used_percent is None or 0 <= row.life_used_percent <= 255
    assert (row.life_used_percent is None) == (row.wearout is None)
    if reading.asleep:
        assert row.health == "UNKNOWN"
        assert reading.shortfall.reason is GapReason.ASLEEP
    counters = row.smart_attributes
    if counters is not None:
        values = [getattr(counters, name) for name in counters.__struct_fields__ if name != "available_spare"]
        assert all(value is None or value >= 0 for value in values)


@given(
    protocol=st.sampled_from(["ATA", "NVMe", "SCSI", "ISCSI"]),
    changes=st.lists(st.tuples(st.sampled_from(PLACES), junk), max_size=6),
)
def test_a_document_with_junk_in_any_place_is_read(protocol, changes):
    document = mutated(WHOLE, [(("device", "protocol"), protocol), *changes])
    check(parse_smartctl(document))


@given(junk)
def test_any_json_and_any_text_is_read(value):
    check(parse_smartctl(value if isinstance(value, dict | str) else {"smart_status": value, "device": value}))


@given(st.binary(max_size=200))
def test_any_bytes_are_read(document):
    check(parse_smartctl(document))


@pytest.mark.parametrize("depth", [500, 100_000])
def test_deep_nesting_ends_the_reading_and_not_the_program(depth):
    check(parse_smartctl('{"smartctl":' * depth))
    check(parse_smartctl('{"smartctl":' + "[" * depth + "]" * depth + "}"))


@given(st.integers(min_value=0, max_value=len(json.dumps(WHOLE))))
def test_a_cut_document_is_no_verdict(length):
    text = json.dumps(WHOLE)[:length]
    reading = parse_smartctl(text)
    check(reading)
    if text != json.dumps(WHOLE):
        assert reading.row.health == "UNKNOWN"
