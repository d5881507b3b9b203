"""The webhook of Prometheus Alertmanager (version 4), and Grafana's, which is the same with a few fields more.

Formats: https://prometheus.io/docs/alerting/latest/configuration/#webhook_config and
https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from patrol.alerts.model import (
    ID_CHARACTERS,
    MESSAGE_CHARACTERS,
    NAME_CHARACTERS,
    AlertSystem,
    Naming,
    ReportedAlert,
)
from patrol.alerts.reading import AlertFormatError, first_text, instant, number, severity_of, table, text

VERSION = "4"

_EXACT = ("resource_id", "serial", "serial_number", "wwn", "uuid", "machine_id")
_GUESTS = ("vmid", "guest", "vm", "lxc", "container", "container_name", "pod", "storage", "datastore", "pool", "name")
_HOSTS = ("node", "host", "hostname", "nodename", "server", "instance")
_PLACES = ("cluster", *_HOSTS)
_GUEST_IDS = ("id", "resource")
_MESSAGES = ("summary", "message", "description")


def parse_alertmanager(body: object) -> Iterator[ReportedAlert]:
    """The alerts of a delivery of Alertmanager. Raises AlertFormatError."""
    whole = table(body)
    if text(whole.get("version"), 8) != VERSION:
        raise AlertFormatError(f'the body is no webhook of Alertmanager: "version" has to be "{VERSION}"')
    return _alerts(whole, AlertSystem.ALERTMANAGER)


def parse_grafana(body: object) -> Iterator[ReportedAlert]:
    """The alerts of a delivery of Grafana. Raises AlertFormatError."""
    return _alerts(table(body), AlertSystem.GRAFANA)


def _alerts(whole: Mapping[str, Any], system: AlertSystem) -> Iterator[ReportedAlert]:
    rows = whole.get("alerts")
    if not isinstance(rows, list):
        raise AlertFormatError('the body has no list "alerts"')
    return (found for row in rows if (found := _alert(table(row), system)) is not None)


def _alert(row: Mapping[str, Any], system: AlertSystem) -> ReportedAlert | None:
    """One alert; None for one that says neither what it is nor whether it is there."""
    labels, annotations = table(row.get("labels")), table(row.get("annotations"))
    status, name = row.get("status"), text(labels.get("alertname"), NAME_CHARACTERS)
    if status not in {"firing", "resolved"} or not name:
        return None
    level = first_text(labels, ("severity", "level", "priority"), NAME_CHARACTERS)
    naming = naming_of(labels)
    called = first_text(labels, ("name", "node", "host", "instance"), NAME_CHARACTERS)
    return ReportedAlert(
        system=system,
        key=text(row.get("fingerprint"), ID_CHARACTERS) or _fingerprint(labels),
        type=name,
        is_firing=status == "firing",
        severity=severity_of(level),
        level=level,
        naming=naming,
        resource_name=called or next(iter(naming.names), ""),
        message=first_text(annotations, _MESSAGES, MESSAGE_CHARACTERS),
        value=_value(row, annotations),
        threshold=number(annotations.get("threshold")),
        starts_at=instant(row.get("startsAt")),
        ends_at=instant(row.get("endsAt")),
    )


def naming_of(labels: Mapping[str, Any]) -> Naming:
    """Where labels say that an alert is: what names one thing comes before what names the host that it is on."""
    exact = _texts(labels, (*_EXACT, *_GUEST_IDS))
    hosts = [_without_port(each) for each in _texts(labels, _HOSTS)]
    guests = _texts(labels, _GUESTS)
    both = [
        f"{host}/{guest}" for guest in _texts(labels, ("vmid",)) for host in (*_texts(labels, ("cluster",)), *hosts)
    ]
    places = dict.fromkeys([*_texts(labels, _PLACES), *hosts])
    return Naming(names=tuple(dict.fromkeys([*exact, *both, *guests, *hosts])), places=tuple(places))


def _texts(labels: Mapping[str, Any], names: tuple[str, ...]) -> list[str]:
    return [found for name in names if (found := text(labels.get(name), NAME_CHARACTERS))]


def _without_port(instance: str) -> str:
    """`web-1:9100` -> `web-1`, `[fe80::1]:9100` -> `fe80::1`, `https://nas.lan/x` -> `nas.lan`; else as it is."""
    if "://" in instance:
        instance = instance.partition("://")[2].partition("/")[0]
    host, colon, port = instance.rpartition(":")
    if not colon or not port.isdigit() or (":" in host and not host.endswith("]")):
        return instance
    return host.strip("[]")


def _value(row: Mapping[str, Any], annotations: Mapping[str, Any]) -> float | None:
    """What was measured: Grafana sends the values of all queries, of which only a single one says which it is."""
    values = [found for each in table(row.get("values")).values() if (found := number(each)) is not None]
    return values[0] if len(values) == 1 else number(annotations.get("value"))


def _fingerprint(labels: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(labels, sort_keys=True, default=str).encode()).hexdigest()[:32]
