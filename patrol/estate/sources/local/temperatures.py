"""Temperatures of the host: its hwmon chips, or its thermal zones where it has none.

Chips of disks are left out: a disk is a resource of its own, with its own limits.
"""

import re
from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from findings.model import GapReason, Topic
from patrol.estate.sources.local.host import Host, Part, Where, find_text, reason_of
from signals.evidence import SensorRow

_HWMON = "/sys/class/hwmon"
_ZONES = "/sys/class/thermal"

_DISK_CHIPS = frozenset({"drivetemp", "nvme"})

# Inputs of these chips (fan and voltage controllers of mainboards) show noise where nothing is connected, and their
# limits are what the chip powers up with. Their values are shown; no limit of theirs is believed.
_BOARD_CHIPS = re.compile(r"(?:nct|it8|w83|f71|f81|sch5|smsc|pc87|dme1737|adt74|vt1)")

_INPUT = re.compile(r"temp([0-9]+)_input")
_ZONE = re.compile(r"thermal_zone[0-9]+")
_TRIP = re.compile(r"trip_point_([0-9]+)_type")

_COLDEST_CELSIUS = -40  # below what any of these sensors is built for: an open or shorted input
_HOTTEST_CELSIUS = 150
_OPEN_INPUT_CELSIUS = (127, 128)  # what 8-bit inputs show when nothing is connected
_SANE_LIMIT_CELSIUS = (40, 130)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawSensor:
    """One input as its files have it (millidegrees as text, None: no such file or it cannot be read)."""

    chip: str
    device: str  # what the chip sits on, to tell two of a kind
    label: str
    input: str | None
    fault: str | None = None
    high: str | None = None
    critical: str | None = None


def parse_celsius(text: str | None) -> float | None:
    """Degrees from millidegrees; None for anything that is no whole number."""
    text = (text or "").strip()
    digits = text.removeprefix("-")
    return int(text) / 1000 if digits.isascii() and digits.isdecimal() and len(digits) <= 9 else None


def find_temperature(raw: str | None, fault: str | None = None) -> float | None:
    """A plausible temperature in degrees Celsius, else None: no sensor is better than a nonsense one."""
    celsius = parse_celsius(raw)
    if celsius is None or (fault or "").strip() == "1":
        return None
    if not _COLDEST_CELSIUS < celsius <= _HOTTEST_CELSIUS:
        return None
    lowest, highest = _OPEN_INPUT_CELSIUS
    return None if lowest <= celsius <= highest else celsius


def find_limit(raw: str | None) -> float | None:
    """A limit that someone may have meant, else None: many chips power up with 0 or -128 in its place."""
    celsius = parse_celsius(raw)
    lowest, highest = _SANE_LIMIT_CELSIUS
    return celsius if celsius is not None and lowest <= celsius <= highest else None


def to_rows(sensors: Sequence[RawSensor]) -> list[SensorRow]:
    """One row a sensor, with names that stay the same when the kernel numbers the chips anew.

    Where two sensors have the same chip and label, both carry the device that their chip sits on.
    """
    tally = Tally((sensor.chip, sensor.label) for sensor in sensors)
    return [_to_row(sensor, is_twin=tally[sensor.chip, sensor.label] > 1) for sensor in sensors]


def _to_row(sensor: RawSensor, *, is_twin: bool) -> SensorRow:
    trusted = _BOARD_CHIPS.match(sensor.chip) is None
    critical = find_limit(sensor.critical) if trusted else None
    high = find_limit(sensor.high) if trusted else None
    return SensorRow(
        name=f"{sensor.chip}@{sensor.device}" if is_twin else sensor.chip,
        label=sensor.label,
        celsius=find_temperature(sensor.input, sensor.fault),
        high=high if high is None or critical is None or high <= critical else None,
        critical=critical,
    )


# --- reading ----------------------------------------------------------------------------------------------------------


def read_temperatures(host: Host, where: Where) -> Part:
    """All sensors of the host that are not a disk's. A host without any (a virtual machine) has no gap."""
    try:
        sensors = list(_list_chips(host)) or list(_list_zones(host))
    except OSError as error:
        gap = where.gap(Topic.TEMPERATURES, reason_of(error), f"{error}", fix="mount /sys for this process")
        return Part(gaps=[gap], complete=False)
    rows = to_rows(sensors)
    if rows and all(row.celsius is None for row in rows):
        gap = where.gap(Topic.TEMPERATURES, GapReason.NOT_REPORTED, "no sensor shows a plausible temperature")
        return Part(sensors=rows, gaps=[gap], complete=False)
    return Part(sensors=rows)


def _names(host: Host, folder: str) -> list[str]:
    try:
        return host.list_names(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _list_chips(host: Host) -> Iterator[RawSensor]:
    for number in _names(host, _HWMON):
        folder = f"{_HWMON}/{number}"
        names = _names(host, folder)
        chip = (find_text(host, f"{folder}/name") or "").strip()
        if "name" not in names and find_text(host, f"{folder}/device/name") is not None:  # kernels before 3.16
            folder = f"{folder}/device"
            names = _names(host, folder)
            chip = (find_text(host, f"{folder}/name") or "").strip()
        if chip in _DISK_CHIPS:
            continue
        for name in names:
            match = _INPUT.fullmatch(name)
            if match:
                yield _read_input(host, f"{folder}/temp{match.group(1)}", chip or number, _device(host, number))


def _read_input(host: Host, stem: str, chip: str, device: str) -> RawSensor:
    def text(part: str) -> str | None:
        return find_text(host, f"{stem}_{part}")

    return RawSensor(
        chip=chip,
        device=device,
        label=(text("label") or "").strip() or stem.rpartition("/")[2],
        input=text("input"),
        fault=text("fault"),
        high=text("max"),
        critical=text("crit"),
    )


def _device(host: Host, number: str) -> str:
    path = host.path(f"{_HWMON}/{number}/device")
    return path.readlink().name if path.is_symlink() else number


def _list_zones(host: Host) -> Iterator[RawSensor]:
    for zone in _names(host, _ZONES):
        if not _ZONE.fullmatch(zone):
            continue
        folder = f"{_ZONES}/{zone}"
        trips = dict(_list_trips(host, folder))
        yield RawSensor(
            chip=(find_text(host, f"{folder}/type") or "").strip() or zone,
            device=zone,
            label="",
            input=find_text(host, f"{folder}/temp"),
            high=trips.get("hot"),
            critical=trips.get("critical"),
        )


def _list_trips(host: Host, folder: str) -> Iterator[tuple[str, str | None]]:
    for name in _names(host, folder):
        match = _TRIP.fullmatch(name)
        if match:
            kind = (find_text(host, f"{folder}/{name}") or "").strip()
            yield kind, find_text(host, f"{folder}/trip_point_{match.group(1)}_temp")
