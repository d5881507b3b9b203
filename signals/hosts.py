"""Failed units and hot sensors of hosts.

    {"hosts": [{"id": "agent:local:nas", "units_read": true,
     "units": [{"name": "nginx.service", "state": "failed", "result": "exit-code"}]}]}
    {"hosts": [{"id": "agent:local:nas", "hostname": "nas",
     "sensors": [{"name": "coretemp", "label": "Package id 0", "celsius": 91.0, "critical": 100.0}]}]}

Which temperatures are judged, and against what:

- The processor, against the limit from the alert settings; above its own critical limit it is critical. One value a
  chip: the package where there is one, for it is its hottest core. AMD's `Tctl` may carry an offset and counts only
  where there is no `Tdie`.
- Every other sensor against its own limits alone. Without a critical limit of its own a sensor is only shown: what is
  hot for a chip nobody knows is not known either.
"""

import re
from collections.abc import Sequence
from typing import ClassVar

from findings.kinds import Kind
from findings.model import Look, Severity
from signals.detector import Context, EvidencePage, Notes
from signals.evidence import HealthOutput, HostHealth, HostTemperatures, InventoryRow, SensorRow, TemperaturesOutput
from signals.pages import Page
from signals.thresholds import Limit, Limited

_FAILED = "failed"

_CPU_CHIP = re.compile(
    r"(?:coretemp|k8temp|k10temp|zenpower|via_cputemp|x86_pkg_temp)\Z|(?:cpu|soc|package)[a-z0-9_-]*(?:thermal|temp)",
    re.IGNORECASE,
)
_BEST = re.compile(r"package|tdie|physical id")
_PACKAGE = re.compile(r"package|tdie|tctl|physical id", re.IGNORECASE)

_PLAUSIBLE_CELSIUS = (-40, 150)
_LEAST_HIGH_CELSIUS = 50  # a `high` below it is a leftover of the chip's reset, not a warning that someone set
_LEAST_CRITICAL_CELSIUS = 40  # likewise: below it a warm room alone would be critical
_UNCONNECTED_CELSIUS = frozenset({127.0, 127.5, 128.0})
"""What a chip reads where nothing is connected to an input: its scale from one end to the other."""

_HYSTERESIS_CELSIUS = 5
_OWN_LIMITS = "the sensor's own limits"


class HostDetector:
    """unit_failed and high_temperature of hosts."""

    reads: ClassVar[tuple[type[Page], ...]] = (HealthOutput, TemperaturesOutput)

    def __init__(self, context: Context, notes: Notes) -> None:
        self._thresholds = context.thresholds
        self._inventory = context.inventory
        self._notes = notes

    def read(self, page: EvidencePage[Page]) -> None:
        """Judges the hosts of one page."""
        output = page.output
        if isinstance(output, HealthOutput):
            for number, health in enumerate(output.hosts):
                host = self._resolve(page, f"hosts[{number}]", health.id, health.hostname)
                if host is not None:
                    self._judge_units(page, host, health)
        elif isinstance(output, TemperaturesOutput):
            judged: list[str] = []
            for number, temperatures in enumerate(output.hosts):
                host = self._resolve(page, f"hosts[{number}]", str(temperatures.id or ""), temperatures.hostname)
                if host is not None and self._judge_sensors(page, host, temperatures):
                    judged.append(host.id)
            self._notes.clear(page, Kind.HIGH_TEMPERATURE, judged)

    def finish(self) -> None:
        """Every host was judged when it was read."""

    def _resolve(self, page: EvidencePage[Page], place: str, host_id: str, hostname: str) -> InventoryRow | None:
        if not (host_id or hostname):
            self._notes.problem(page.call_id, place, "a host without id and name")
            return None
        return self._inventory.resolve(host_id or hostname, resource_type="agent", display_name=hostname)

    # --- units

    def _judge_units(self, page: EvidencePage[Page], host: InventoryRow, health: HostHealth) -> None:
        for unit in health.units:
            if unit.state.strip().lower() == _FAILED and unit.name:
                why = f" ({unit.result})" if unit.result not in ("", "success") else ""
                what = f": {unit.description}" if unit.description else ""
                self._notes.signal(
                    page,
                    Kind.UNIT_FAILED,
                    host,
                    Severity.WARNING,
                    f"{unit.name} failed{why}{what}",
                    row=unit,
                    subject=unit.name,
                )
        if health.units_read:
            self._notes.clear(page, Kind.UNIT_FAILED, [host.id])
        else:
            self._notes.blind(Kind.UNIT_FAILED, host.id, "failed units could not be listed")

    # --- temperatures

    def _judge_sensors(self, page: EvidencePage[Page], host: InventoryRow, temperatures: HostTemperatures) -> bool:
        """States which sensors are hot; returns whether they were judged, so that the others are fine."""
        general = self._thresholds.limit(host, Limited.TEMPERATURE)
        if general is None:
            return False
        for sensor in temperatures.sensors:
            if _is_cool_at_a_glance(sensor, general):
                continue
            limit = _limit_of(sensor, temperatures.sensors, general)
            if not page.intact and _stands_in(sensor):
                continue  # the better sensor of its chip may be among what was lost
            if limit is not None:
                self._judge_sensor(page, host, sensor, limit)
        return True

    def _judge_sensor(self, page: EvidencePage[Page], host: InventoryRow, sensor: SensorRow, limit: Limit) -> None:
        subject = f"{sensor.name}/{sensor.label}" if sensor.label else sensor.name
        celsius = sensor.celsius
        coldest, hottest = _PLAUSIBLE_CELSIUS
        if celsius is None or not coldest < celsius <= hottest or celsius in _UNCONNECTED_CELSIUS:
            self._notes.blind(Kind.HIGH_TEMPERATURE, host.id, "no plausible temperature", subject)
            return
        look = limit.look(celsius)
        if look is Look.PRESENT:
            self._notes.signal(
                page,
                Kind.HIGH_TEMPERATURE,
                host,
                limit.severity(celsius),
                f"{subject} is at {celsius:.0f} °C (limit {limit.trigger:g} °C)",
                row=sensor,
                subject=subject,
                value=celsius,
                limit=limit,
            )
        elif look is Look.HELD:
            self._notes.held(Kind.HIGH_TEMPERATURE, host.id, subject)


def _is_cool_at_a_glance(sensor: SensorRow, general: Limit) -> bool:
    """Whether a temperature is below whatever limit it may be judged by: the way of nearly every sensor."""
    celsius, high, critical = sensor.celsius, sensor.high, sensor.critical
    coldest, hottest = _PLAUSIBLE_CELSIUS
    return (
        celsius is not None
        and coldest < celsius < general.clear
        and celsius <= hottest
        and (high is None or celsius < high - _HYSTERESIS_CELSIUS)
        and (critical is None or celsius < critical - _HYSTERESIS_CELSIUS)
    )


def _limit_of(sensor: SensorRow, all_sensors: Sequence[SensorRow], general: Limit) -> Limit | None:
    """The limit that this sensor is judged by; None: it is only shown."""
    if _CPU_CHIP.match(_chip(sensor)):
        return _cpu_limit(sensor, general) if _speaks_for_its_chip(sensor, all_sensors) else None
    if sensor.critical is None or sensor.critical < _LEAST_CRITICAL_CELSIUS:
        return None
    trigger = sensor.critical
    if sensor.high is not None and _LEAST_HIGH_CELSIUS <= sensor.high < sensor.critical:
        trigger = sensor.high
    return Limit(
        trigger=trigger,
        clear=trigger - _HYSTERESIS_CELSIUS,
        critical=sensor.critical,
        provenance=_OWN_LIMITS,
    )


def _cpu_limit(sensor: SensorRow, general: Limit) -> Limit:
    if sensor.critical is None or sensor.critical < _LEAST_CRITICAL_CELSIUS:
        return general
    trigger = min(general.trigger, sensor.critical)
    return Limit(
        trigger=trigger,
        clear=min(general.clear, trigger),
        critical=sensor.critical,
        provenance=f"{general.provenance}; critical: {_OWN_LIMITS}",
    )


def _chip(sensor: SensorRow) -> str:
    return sensor.name.partition("@")[0]


def _stands_in(sensor: SensorRow) -> bool:
    """Whether this sensor of a processor counts only where no better one was measured."""
    return _CPU_CHIP.match(_chip(sensor)) is not None and _BEST.search(sensor.label.lower()) is None


def _speaks_for_its_chip(sensor: SensorRow, all_sensors: Sequence[SensorRow]) -> bool:
    """Whether no better sensor of the same chip was measured."""
    measured = [
        other.label.lower() for other in all_sensors if _chip(other) == _chip(sensor) and other.celsius is not None
    ]
    label = sensor.label.lower()
    if label == "tctl":
        return "tdie" not in measured
    return _PACKAGE.search(label) is not None or not any(_PACKAGE.search(other) for other in measured)
