"""Temperatures: plausible ones, under names that outlive a boot, with limits that someone meant."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.model import GapReason, Topic
from patrol.estate.sources.local.host import Host
from patrol.estate.sources.local.temperatures import (
    RawSensor,
    find_limit,
    find_temperature,
    parse_celsius,
    read_temperatures,
    to_rows,
)
from signals.evidence import SensorRow
from tests.estate.local.tree import WHERE, TreeHost


def chip(number: int, name: str, **files: str) -> dict[str, str]:
    folder = f"/sys/class/hwmon/hwmon{number}"
    return {f"{folder}/name": f"{name}\n", **{f"{folder}/{file}": f"{text}\n" for file, text in files.items()}}


CORETEMP = chip(
    0,
    "coretemp",
    temp1_input="61000",
    temp1_label="Package id 0",
    temp1_max="84000",
    temp1_crit="100000",
    temp2_input="58000",
    temp2_label="Core 0",
)


def rows(root: Path, *chips: dict[str, str]) -> list[SensorRow]:
    files = {name: text for each in chips for name, text in each.items()}
    part = read_temperatures(TreeHost(root, files), WHERE)
    assert part.sensors is not None
    return list(part.sensors)


def test_a_sensor_has_chip_label_value_and_its_own_limits(tmp_path: Path) -> None:
    assert rows(tmp_path, CORETEMP) == [
        SensorRow(name="coretemp", label="Package id 0", celsius=61, high=84, critical=100),
        SensorRow(name="coretemp", label="Core 0", celsius=58),
    ]


@pytest.mark.parametrize("name", ["drivetemp", "nvme"])
def test_chips_of_disks_are_not_sensors_of_the_host(name: str, tmp_path: Path) -> None:
    found = rows(tmp_path, CORETEMP, chip(1, name, temp1_input="40000"))
    assert {row.name for row in found} == {"coretemp"}


@pytest.mark.parametrize(
    ("raw", "fault", "celsius"),
    [
        pytest.param("45000", None, 45, id="plausible"),
        pytest.param("0", None, 0, id="zero is cold"),
        pytest.param("-5500", None, -5.5, id="frost"),
        pytest.param("150000", None, 150, id="as hot as it gets"),
        pytest.param("150001", None, None, id="hotter than anything"),
        pytest.param("-40000", None, None, id="an open input, cold"),
        pytest.param("127000", None, None, id="an open 8-bit input"),
        pytest.param("127500", None, None, id="an open 9-bit input"),
        pytest.param("128000", None, None, id="an unsigned open input"),
        pytest.param("45000", "1", None, id="the chip says it is broken"),
        pytest.param("0", "1", None, id="broken, and zero"),
        pytest.param("45000", "0", 45, id="the chip says it is fine"),
        pytest.param("hot", None, None, id="no number"),
        pytest.param("", None, None, id="empty"),
        pytest.param(None, None, None, id="could not be read"),
    ],
)
def test_a_nonsense_temperature_is_unmeasured(raw: str | None, fault: str | None, celsius: float | None) -> None:
    assert find_temperature(raw, fault) == celsius


@pytest.mark.parametrize(
    ("raw", "limit"),
    [
        ("100000", 100),
        ("0", None),
        ("-128000", None),
        ("20800", None),
        ("65261850", None),
        ("255000", None),
        (None, None),
    ],
)
def test_a_limit_that_nobody_meant_is_none(raw: str | None, limit: float | None) -> None:
    assert find_limit(raw) == limit


def test_a_warning_limit_above_the_critical_one_is_dropped(tmp_path: Path) -> None:
    (row,) = rows(tmp_path, chip(0, "amdgpu", temp1_input="50000", temp1_max="110000", temp1_crit="100000"))
    assert (row.high, row.critical) == (None, 100)


@pytest.mark.parametrize("name", ["nct6775", "it8686", "w83627ehf", "f71882fg", "sch5636"])
def test_limits_of_board_controllers_are_not_believed(name: str, tmp_path: Path) -> None:
    sensor = chip(0, name, temp3_input="116000", temp3_label="AUXTIN1", temp3_max="80000", temp3_crit="100000")
    assert rows(tmp_path, sensor) == [SensorRow(name=name, label="AUXTIN1", celsius=116)]


def test_a_sensor_without_label_goes_by_its_input(tmp_path: Path) -> None:
    assert [row.label for row in rows(tmp_path, chip(0, "acpitz", temp1_input="28000"))] == ["temp1"]


def test_inputs_are_ordered_by_number(tmp_path: Path) -> None:
    inputs = {f"temp{number}_input": "40000" for number in (10, 2, 1)}
    assert [row.label for row in rows(tmp_path, chip(0, "jc42", **inputs))] == ["temp1", "temp2", "temp10"]


def with_device(root: Path, number: int, target: str) -> None:
    link = root / f"sys/class/hwmon/hwmon{number}/device"
    link.symlink_to(f"../../../devices/{target}")


def test_two_chips_of_a_kind_keep_their_names_when_the_kernel_numbers_them_anew(tmp_path: Path) -> None:
    hot, cold = ({"temp1_input": value, "temp1_label": "Core 0"} for value in ("90000", "40000"))
    for folder, order in (("one", (0, 1)), ("two", (1, 0))):
        root = tmp_path / folder
        host = TreeHost(root, {**chip(order[0], "coretemp", **hot), **chip(order[1], "coretemp", **cold)})
        with_device(root, order[0], "coretemp.0")
        with_device(root, order[1], "coretemp.1")
        found = {row.name: row.celsius for row in read_temperatures(host, WHERE).sensors or ()}
        assert found == {"coretemp@coretemp.0": 90, "coretemp@coretemp.1": 40}


def test_chips_without_a_device_go_by_their_number(tmp_path: Path) -> None:
    twins = (chip(number, "pch", temp1_input="50000") for number in (0, 1))
    assert [row.name for row in rows(tmp_path, *twins)] == ["pch@hwmon0", "pch@hwmon1"]


def test_old_kernels_keep_the_files_at_the_device(tmp_path: Path) -> None:
    files = {"device/name": "k8temp\n", "device/temp1_input": "55000\n"}
    host = TreeHost(tmp_path, {f"/sys/class/hwmon/hwmon0/{name}": text for name, text in files.items()})
    assert read_temperatures(host, WHERE).sensors == [SensorRow(name="k8temp", label="temp1", celsius=55)]


def test_a_chip_without_name_goes_by_its_number(tmp_path: Path) -> None:
    host = TreeHost(tmp_path, {"/sys/class/hwmon/hwmon3/temp1_input": "55000\n"})
    assert [row.name for row in read_temperatures(host, WHERE).sensors or ()] == ["hwmon3"]


# --- thermal zones

ZONE = {
    "type": "cpu-thermal\n",
    "temp": "72000\n",
    "trip_point_0_type": "passive\n",
    "trip_point_0_temp": "75000\n",
    "trip_point_1_type": "hot\n",
    "trip_point_1_temp": "85000\n",
    "trip_point_2_type": "critical\n",
    "trip_point_2_temp": "95000\n",
}


def zone(number: int, files: dict[str, str]) -> dict[str, str]:
    return {f"/sys/class/thermal/thermal_zone{number}/{name}": text for name, text in files.items()}


def test_a_host_without_chips_shows_its_thermal_zones(tmp_path: Path) -> None:
    fan = {"/sys/class/thermal/cooling_device0/type": "Fan\n"}
    assert rows(tmp_path, zone(0, ZONE), fan) == [SensorRow(name="cpu-thermal", celsius=72, high=85, critical=95)]


def test_zones_are_not_read_beside_chips(tmp_path: Path) -> None:
    assert rows(tmp_path, CORETEMP, zone(0, ZONE)) == rows(tmp_path / "chips", CORETEMP)


def test_zones_of_one_type_go_by_their_number(tmp_path: Path) -> None:
    twins = [zone(number, {"temp": "50000", "type": "acpitz"}) for number in (0, 1)]
    assert [row.name for row in rows(tmp_path, *twins)] == ["acpitz@thermal_zone0", "acpitz@thermal_zone1"]


def test_a_zone_without_type_goes_by_its_number(tmp_path: Path) -> None:
    assert [row.name for row in rows(tmp_path, zone(4, {"temp": "50000"}))] == ["thermal_zone4"]


# --- nothing to see, and what cannot be seen


def test_a_host_without_sensors_has_no_gap(tmp_path: Path) -> None:
    part = read_temperatures(TreeHost(tmp_path, {}), WHERE)
    assert (part.sensors, part.gaps, part.complete) == ([], (), True)


def test_sensors_that_all_show_nonsense_are_a_gap(tmp_path: Path) -> None:
    part = read_temperatures(TreeHost(tmp_path, chip(0, "k10temp", temp1_input="-128000")), WHERE)
    assert part.sensors == [SensorRow(name="k10temp", label="temp1")]
    assert [(gap.topic, gap.reason) for gap in part.gaps] == [(Topic.TEMPERATURES, GapReason.NOT_REPORTED)]
    assert not part.complete


def test_one_nonsense_sensor_beside_good_ones_is_no_gap(tmp_path: Path) -> None:
    part = read_temperatures(TreeHost(tmp_path, {**CORETEMP, **chip(1, "acpitz", temp1_input="-273200")}), WHERE)
    assert part.complete


class ClosedHost(Host):
    def list_names(self, absolute: str) -> list[str]:
        raise PermissionError(13, "Permission denied", absolute)


def test_a_closed_folder_is_a_gap_with_a_fix() -> None:
    part = read_temperatures(ClosedHost(), WHERE)
    (gap,) = part.gaps
    assert (gap.reason, part.sensors, part.complete) == (GapReason.NO_PERMISSION, None, False)
    assert gap.fix


# --- whatever the files say


@given(st.none() | st.text() | st.integers().map(str), st.none() | st.text())
def test_a_temperature_is_plausible_or_none(raw: str | None, fault: str | None) -> None:
    celsius = find_temperature(raw, fault)
    assert celsius is None or -40 < celsius <= 150
    limit = find_limit(raw)
    assert limit is None or 40 <= limit <= 130


@given(st.integers(min_value=-(10**8), max_value=10**8))
def test_millidegrees_become_degrees(milli: int) -> None:
    assert parse_celsius(f" {milli}\n") == milli / 1000


words = st.text(min_size=1, max_size=6)


@given(st.lists(st.tuples(words, words), unique=True, max_size=6))
def test_every_sensor_has_a_row_of_its_own(pairs: list[tuple[str, str]]) -> None:
    sensors = [RawSensor(chip=name, device="d", label=label, input="40000") for name, label in pairs]
    assert [(row.name, row.label) for row in to_rows(sensors)] == pairs
