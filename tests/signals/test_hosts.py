"""Failed units and hot sensors: what fires, what is only shown, and what a nonsense sensor must not do."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.kinds import Kind
from findings.model import Look, Severity
from signals.detector import Context, EvidencePage, Notes, Sweep
from signals.evidence import (
    HealthOutput,
    HostHealth,
    HostTemperatures,
    InventoryOutput,
    InventoryRow,
    SensorRow,
    TemperaturesOutput,
    UnitRow,
)
from signals.hosts import HostDetector
from signals.inventory import Inventory
from signals.model import Origin
from signals.pages import Page
from signals.thresholds import Limit, Limited

NOW = datetime(2026, 11, 29, tzinfo=UTC)
NAS = "agent:local:nas"
GENERAL = Limit(trigger=80, clear=75, provenance="built-in")


class FixedThresholds:
    """One limit for the temperature of hosts; None: switched off."""

    def __init__(self, temperature: Limit | None = GENERAL) -> None:
        self.temperature = temperature

    def limit(self, resource: InventoryRow, metric: Limited, *, disk_type: str = "") -> Limit | None:
        return self.temperature

    def window_seconds(self, resource: InventoryRow, metric: Limited) -> float:
        return 0

    def offline_expected(self, resource: InventoryRow) -> bool:
        return False


def judged(output: Page, *, temperature: Limit | None = GENERAL, origin: Origin = Origin.PATROL) -> Notes:
    sweep = Sweep("pulse_query", "health", ())
    known = InventoryRow(id=NAS, type="agent", name="nas", aliases=["machine-id:1"])
    notes = Notes()
    context = Context(FixedThresholds(temperature), Inventory([InventoryOutput(resources=[known])]), NOW)
    detector = HostDetector(context, notes)
    detector.read(EvidencePage("call-1", output, origin, sweep, "health", {}))
    detector.finish()
    notes.settle([sweep])
    return notes


def units(*rows: UnitRow, read: bool = True) -> HealthOutput:
    return HealthOutput(hosts=[HostHealth(id=NAS, hostname="nas", units=list(rows), units_read=read)])


def sensors(*rows: SensorRow) -> TemperaturesOutput:
    return TemperaturesOutput(hosts=[HostTemperatures(hostname="nas", id=NAS, sensors=list(rows))])


def fired(notes: Notes) -> list[tuple[str, Severity]]:
    return [(signal.subject, signal.severity) for signal in notes.signals.values()]


# --- units

NGINX = UnitRow(name="nginx.service", state="failed", result="exit-code", description="A web server")


def test_a_failed_unit_is_a_warning_that_says_why() -> None:
    (signal,) = judged(units(NGINX)).signals.values()
    assert (signal.signal_type, signal.severity, signal.category) == (Kind.UNIT_FAILED, "warning", "reliability")
    assert (signal.resource_id, signal.resource_name, signal.subject) == (NAS, "nas", "nginx.service")
    assert signal.summary == "nginx.service failed (exit-code): A web server"
    assert '"result":"exit-code"' in signal.evidence


def test_each_failed_unit_is_a_subject_and_every_other_unit_is_clear() -> None:
    backup = UnitRow(name="backup.timer", state="failed", result="success")
    notes = judged(units(NGINX, backup))
    assert fired(notes) == [("nginx.service", Severity.WARNING), ("backup.timer", Severity.WARNING)]
    assert notes.signals[Kind.UNIT_FAILED, NAS, "backup.timer"].summary == "backup.timer failed"
    assert notes.examined.look(Kind.UNIT_FAILED, NAS, "nginx.service") is Look.PRESENT
    assert notes.examined.look(Kind.UNIT_FAILED, NAS, "cron.service") is Look.CLEAR


def test_a_host_without_failed_units_is_clear() -> None:
    assert judged(units()).examined.look(Kind.UNIT_FAILED, NAS) is Look.CLEAR


def test_units_that_could_not_be_listed_are_blind_and_what_was_seen_counts() -> None:
    notes = judged(units(NGINX, read=False))
    assert fired(notes) == [("nginx.service", Severity.WARNING)]
    assert notes.examined.look(Kind.UNIT_FAILED, NAS, "cron.service") is Look.BLIND
    assert "could not be listed" in notes.examined.blind_reason(Kind.UNIT_FAILED, NAS)


def test_a_unit_that_has_not_failed_or_has_no_name_is_nothing() -> None:
    rows = [UnitRow(name="nginx.service", state="active"), UnitRow(state="failed")]
    assert not judged(units(*rows)).signals


def test_the_models_own_call_clears_nothing() -> None:
    notes = judged(units(NGINX), origin=Origin.MODEL)
    assert fired(notes) == [("nginx.service", Severity.WARNING)]
    assert notes.examined.look(Kind.UNIT_FAILED, NAS, "cron.service") is None


@pytest.mark.parametrize(
    "host",
    [
        HostHealth(id=NAS, units=[NGINX]),
        HostHealth(hostname="nas", units=[NGINX]),
        HostHealth(id="machine-id:1", units=[NGINX]),
    ],
)
def test_a_host_is_found_by_any_of_its_names(host: HostHealth) -> None:
    assert [signal.resource_id for signal in judged(HealthOutput(hosts=[host])).signals.values()] == [NAS]


@pytest.mark.parametrize(
    "output",
    [
        HealthOutput(hosts=[HostHealth(units=[NGINX])]),
        TemperaturesOutput(hosts=[HostTemperatures(sensors=[SensorRow(name="coretemp", celsius=99)])]),
    ],
)
def test_a_host_without_a_name_is_a_problem_of_the_evidence(output: Page) -> None:
    notes = judged(output)
    assert not notes.signals
    assert [(problem.tool_call_id, problem.place) for problem in notes.problems] == [("call-1", "hosts[0]")]


def test_other_pages_say_nothing() -> None:
    assert len(judged(Page()).examined) == 0


# --- temperatures


def package(celsius: float | None, **limits: float) -> SensorRow:
    return SensorRow(name="coretemp", label="Package id 0", celsius=celsius, **limits)


def other(celsius: float | None, **limits: float) -> SensorRow:
    return SensorRow(name="amdgpu", label="edge", celsius=celsius, **limits)


@pytest.mark.parametrize(
    ("sensor", "look", "severity"),
    [
        pytest.param(package(81), Look.PRESENT, Severity.WARNING, id="processor above the limit"),
        pytest.param(package(80), Look.HELD, None, id="exactly on it"),
        pytest.param(package(75), Look.HELD, None, id="not yet clear"),
        pytest.param(package(74), Look.CLEAR, None, id="clear"),
        pytest.param(package(99, critical=100), Look.PRESENT, Severity.WARNING, id="under its own critical limit"),
        pytest.param(package(101, critical=100), Look.PRESENT, Severity.CRITICAL, id="above it"),
        pytest.param(package(72, critical=70), Look.PRESENT, Severity.CRITICAL, id="its own is lower than the limit"),
        pytest.param(package(82, high=70), Look.PRESENT, Severity.WARNING, id="its own warning limit does not count"),
        pytest.param(package(None), Look.BLIND, None, id="unmeasured"),
        pytest.param(package(255), Look.BLIND, None, id="nonsense, hot"),
        pytest.param(package(-128), Look.BLIND, None, id="nonsense, cold"),
        pytest.param(package(0), Look.CLEAR, None, id="cold"),
        pytest.param(other(99), Look.CLEAR, None, id="a sensor without limits is only shown"),
        pytest.param(other(99, high=70), Look.CLEAR, None, id="and one without a critical limit"),
        pytest.param(other(101, critical=100), Look.PRESENT, Severity.CRITICAL, id="above its own critical limit"),
        pytest.param(other(97, critical=100), Look.HELD, None, id="near its own critical limit"),
        pytest.param(other(90, high=85, critical=100), Look.PRESENT, Severity.WARNING, id="above its own high limit"),
        pytest.param(other(60, high=45, critical=100), Look.CLEAR, None, id="a high limit that nobody set"),
        pytest.param(other(90, high=100, critical=100), Look.CLEAR, None, id="a high limit that is no other"),
        pytest.param(other(None, critical=100), Look.BLIND, None, id="unmeasured, with a limit"),
        pytest.param(other(None), Look.CLEAR, None, id="unmeasured, without a limit: nothing to judge"),
    ],
)
def test_the_look_at_one_sensor(sensor: SensorRow, look: Look, severity: Severity | None) -> None:
    notes = judged(sensors(sensor))
    subject = f"{sensor.name}/{sensor.label}"
    assert notes.examined.look(Kind.HIGH_TEMPERATURE, NAS, subject) is look
    assert fired(notes) == ([(subject, severity)] if severity else [])


def test_a_signal_says_value_limit_and_where_the_limit_is_from() -> None:
    (signal,) = judged(sensors(package(85, critical=100))).signals.values()
    assert (signal.value, signal.limit, signal.limit_source) == (85, 80, "built-in; critical: the sensor's own limits")
    assert signal.summary == "coretemp/Package id 0 is at 85 °C (limit 80 °C)"
    (signal,) = judged(sensors(other(105, critical=100))).signals.values()
    assert (signal.limit, signal.limit_source) == (100, "the sensor's own limits")


@pytest.mark.parametrize(
    "name",
    [
        "coretemp",
        "coretemp@coretemp.1",
        "k10temp",
        "zenpower",
        "cpu_thermal",
        "cpu-thermal",
        "cpu0-thermal",
        "soc_thermal",
        "x86_pkg_temp",
    ],
)
def test_processors_go_by_many_names(name: str) -> None:
    assert fired(judged(sensors(SensorRow(name=name, celsius=85)))) == [(name, Severity.WARNING)]


@pytest.mark.parametrize("name", ["acpitz", "iwlwifi_1", "nct6775", "pch_cannonlake", "coretempx", "jc42", ""])
def test_what_is_no_processor_has_no_limit_but_its_own(name: str) -> None:
    assert not judged(sensors(SensorRow(name=name, celsius=110))).signals


def core(number: int, celsius: float | None) -> SensorRow:
    return SensorRow(name="coretemp", label=f"Core {number}", celsius=celsius)


@pytest.mark.parametrize(
    ("rows", "subjects"),
    [
        pytest.param(
            [package(90), core(0, 88), core(1, 90)], ["coretemp/Package id 0"], id="the package for its cores"
        ),
        pytest.param([package(None), core(0, 88), core(1, 60)], ["coretemp/Core 0"], id="cores, if it is unmeasured"),
        pytest.param([core(0, 88), core(1, 60)], ["coretemp/Core 0"], id="cores of a chip without a package"),
        pytest.param(
            [SensorRow(name="k10temp", label="Tctl", celsius=95), SensorRow(name="k10temp", label="Tdie", celsius=68)],
            [],
            id="a control value with an offset does not count beside the real one",
        ),
        pytest.param(
            [SensorRow(name="k10temp", label="Tctl", celsius=95), SensorRow(name="k10temp", label="Tccd1", celsius=96)],
            ["k10temp/Tctl"],
            id="the control value is the real one where there is no other",
        ),
        pytest.param(
            [
                SensorRow(name="coretemp", label="Package id 0", celsius=60),
                SensorRow(name="coretemp", label="Package id 1", celsius=90),
                SensorRow(name="coretemp@coretemp.1", label="Core 0", celsius=90),
            ],
            ["coretemp/Package id 1"],
            id="two sockets",
        ),
    ],
)
def test_one_value_speaks_for_a_chip(rows: list[SensorRow], subjects: list[str]) -> None:
    assert [subject for subject, _ in fired(judged(sensors(*rows)))] == subjects


def test_a_host_without_sensors_is_clear() -> None:
    assert judged(sensors()).examined.look(Kind.HIGH_TEMPERATURE, NAS) is Look.CLEAR


def test_a_check_that_is_off_says_nothing_at_all() -> None:
    notes = judged(sensors(package(99), other(200, critical=100)), temperature=None)
    assert not notes.signals
    assert len(notes.examined) == 0


temperatures = st.none() | st.floats(min_value=-300, max_value=300)
limits = st.none() | st.floats(min_value=40, max_value=130)
sensor_rows = st.builds(
    SensorRow,
    name=st.sampled_from(["coretemp", "k10temp", "acpitz", "amdgpu", "nct6775"]),
    label=st.sampled_from(["", "Package id 0", "Core 0", "Tctl", "Tdie", "edge"]),
    celsius=temperatures,
    high=limits,
    critical=limits,
)


@given(st.lists(sensor_rows, max_size=6))
def test_what_fires_is_plausible_and_above_a_limit_that_says_where_it_is_from(rows: list[SensorRow]) -> None:
    notes = judged(sensors(*rows))
    for signal in notes.signals.values():
        assert signal.value is not None
        assert signal.limit is not None
        assert signal.limit < signal.value <= 150 or signal.limit == signal.value >= 100
        assert signal.limit_source


def test_a_failed_unit_is_one_in_any_spelling() -> None:
    assert fired(judged(units(UnitRow(name="a.service", state="FAILED")))) == [("a.service", Severity.WARNING)]


@pytest.mark.parametrize(
    "row",
    [
        SensorRow(name="nct6775", label="AUXTIN1", celsius=127.0, critical=100),
        SensorRow(name="nct6775", label="SYSTIN", celsius=38, high=0, critical=0),
        SensorRow(name="nct6775", label="SYSTIN", celsius=38, critical=5),
    ],
)
def test_an_unconnected_input_and_a_limit_that_nobody_set_raise_no_alarm(row: SensorRow) -> None:
    assert not fired(judged(sensors(row)))


def test_a_processor_with_a_limit_that_nobody_set_is_judged_by_the_general_one() -> None:
    row = SensorRow(name="coretemp", label="Package id 0", celsius=50, critical=0)
    assert not fired(judged(sensors(row)))
    row.celsius = 90
    assert fired(judged(sensors(row))) == [("coretemp/Package id 0", Severity.WARNING)]
