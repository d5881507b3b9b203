"""What other systems send, as their documentation shows it: each alert is read, and junk is refused or left out."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.model import Severity
from patrol.alerts.alertmanager import parse_alertmanager, parse_grafana
from patrol.alerts.pulse import parse_pulse
from patrol.alerts.reading import AlertFormatError, severity_of

FIRING = {
    "status": "firing",
    "labels": {"alertname": "HostOutOfMemory", "instance": "web-1:9100", "severity": "page"},
    "annotations": {"summary": "Memory is nearly full", "value": "97.5", "threshold": "90"},
    "startsAt": "2026-03-01T11:50:00.123456789Z",
    "endsAt": "0001-01-01T00:00:00Z",
    "fingerprint": "c4ca4238a0b92382",
}
DELIVERY = {"version": "4", "status": "firing", "receiver": "patrol", "groupKey": "{}", "alerts": [FIRING]}


def test_an_alert_of_alertmanager() -> None:
    [alert] = parse_alertmanager(DELIVERY)
    assert (alert.key, alert.type, alert.is_firing) == ("c4ca4238a0b92382", "HostOutOfMemory", True)
    assert (alert.severity, alert.level) == (Severity.CRITICAL, "page")
    assert (alert.value, alert.threshold, alert.message) == (97.5, 90.0, "Memory is nearly full")
    assert alert.starts_at == datetime(2026, 3, 1, 11, 50, 0, 123456, tzinfo=UTC)
    assert alert.ends_at is None
    assert alert.naming.names == ("web-1",)


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ({"instance": "10.0.0.5:9100"}, ("10.0.0.5",)),
        ({"instance": "[fe80::1]:9100"}, ("fe80::1",)),
        ({"instance": "fe80::1"}, ("fe80::1",)),
        ({"instance": "https://nas.lan:443/login"}, ("nas.lan",)),
        ({"id": "qemu/101", "node": "pve1"}, ("qemu/101", "pve1")),
        ({"vmid": 101, "cluster": "lab", "node": "pve1"}, ("lab/101", "pve1/101", "101", "pve1")),
        ({"name": "web", "host": "docker-1"}, ("web", "docker-1")),
    ],
)
def test_what_names_one_thing_comes_before_its_host(labels: dict[str, object], names: tuple[str, ...]) -> None:
    [alert] = parse_alertmanager({**DELIVERY, "alerts": [{**FIRING, "labels": {"alertname": "X", **labels}}]})
    assert alert.naming.names == names


def test_an_alert_of_grafana_has_the_single_value_that_it_was_judged_by() -> None:
    body = {"version": "1", "orgId": 1, "alerts": [{**FIRING, "values": {"B": 95.2}}]}
    [alert] = parse_grafana(body)
    assert (alert.value, alert.system) == (95.2, "grafana")
    [several] = parse_grafana({"alerts": [{**FIRING, "annotations": {}, "values": {"A": 1, "B": 95.2}}]})
    assert several.value is None


def test_an_alert_of_pulse_fires_and_is_over() -> None:
    row = {
        "id": "lab-pve1-101-cpu",
        "type": "cpu",
        "level": "critical",
        "resourceId": "vm:lab:101",
        "resourceName": "db",
        "node": "pve1",
        "value": 96,
        "threshold": 90,
        "startTime": "2026-03-01T11:50:00+01:00",
        "message": "CPU at 96%",
    }
    [alert] = parse_pulse({"alert": row, "source": "pulse-monitoring"})
    assert (alert.key, alert.type, alert.is_firing, alert.severity) == (
        "lab-pve1-101-cpu",
        "cpu",
        True,
        Severity.CRITICAL,
    )
    assert alert.naming.names == ("vm:lab:101", "db", "pve1")
    assert alert.starts_at == datetime(2026, 3, 1, 10, 50, tzinfo=UTC)
    for over in ({"event": "resolved", "alert": row}, {"alert": {**row, "resolvedTime": "2026-03-01T12:00:00Z"}}):
        [ended] = parse_pulse(over)
        assert not ended.is_firing
    assert len(list(parse_pulse({"alerts": [row, row, 7, {}]}))) == 2
    assert len(list(parse_pulse([row]))) == 1


@pytest.mark.parametrize(
    ("parse", "body"),
    [
        (parse_alertmanager, {**DELIVERY, "version": "3"}),
        (parse_alertmanager, {"version": "4"}),
        (parse_alertmanager, []),
        (parse_grafana, {"alerts": {"a": 1}}),
        (parse_grafana, "text"),
        (parse_pulse, {}),
        (parse_pulse, {"alert": 5}),
        (parse_pulse, 5),
    ],
)
def test_another_format_is_refused(parse, body: object) -> None:
    with pytest.raises(AlertFormatError):
        list(parse(body))


def test_one_alert_that_cannot_be_read_leaves_the_others() -> None:
    rows = [{"status": "firing"}, {"status": "odd", "labels": {"alertname": "X"}}, None, FIRING]
    assert [alert.key for alert in parse_alertmanager({**DELIVERY, "alerts": rows})] == ["c4ca4238a0b92382"]


def test_an_alert_without_a_fingerprint_is_known_by_its_labels() -> None:
    first, again, other = parse_grafana(
        {
            "alerts": [
                {"status": "firing", "labels": {"alertname": "X", "a": "1"}},
                {"status": "resolved", "labels": {"a": "1", "alertname": "X"}},
                {"status": "firing", "labels": {"alertname": "X", "a": "2"}},
            ]
        }
    )
    assert first.key == again.key != other.key


@pytest.mark.parametrize(
    ("level", "severity"),
    [("Critical", Severity.CRITICAL), ("warn", Severity.WARNING), ("none", Severity.INFO), ("P1", None), ("", None)],
)
def test_levels(level: str, severity: Severity | None) -> None:
    assert severity_of(level) is severity


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["alerts", "alert", "status", "labels", "alertname", "startsAt", "id", "type", "version"]),
            inner | st.sampled_from(["firing", "resolved", "4", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00"]),
            max_size=6,
        )
    ),
    max_leaves=30,
)


@pytest.mark.parametrize("parse", [parse_alertmanager, parse_grafana, parse_pulse])
@given(body=JSON)
def test_whatever_is_sent_is_read_or_refused(parse, body: object) -> None:
    try:
        alerts = list(parse(body))
    except AlertFormatError:
        return
    for alert in alerts:
        assert alert.key
        assert all(at is None or at.tzinfo is UTC for at in (alert.starts_at, alert.ends_at))
