"""The webhook of Pulse: one alert, under `alert` or by itself, or a list of them.

Names of fields are taken in both ways that its versions write them (`resourceName`, `resource_name`).
"""

import hashlib
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
from patrol.alerts.reading import AlertFormatError, first_text, instant, number, severity_of, table

_OVER = frozenset({"resolved", "recovered", "cleared", "ok", "closed", "alert.resolved"})
_ENDS = ("resolvedTime", "resolved_time", "resolvedAt", "resolved_at", "endTime", "end_time")


def parse_pulse(body: object) -> Iterator[ReportedAlert]:
    """The alerts of a delivery. Raises AlertFormatError."""
    whole = table(body)
    if not isinstance(body, dict | list):
        raise AlertFormatError("the body is no alert of Pulse")
    rows = body if isinstance(body, list) else whole.get("alerts")
    is_alone = rows is None  # a list that is not there is null for some
    if is_alone:
        rows = [whole.get("alert", whole)]
    if not isinstance(rows, list):
        raise AlertFormatError('"alerts" has to be a list')
    found = (_alert(table(row), whole) for row in rows)
    alerts = (each for each in found if each is not None)
    if is_alone:
        # A single alert that cannot be read is a delivery that cannot be read.
        alone = next(alerts, None)
        if alone is None:
            raise AlertFormatError('the body has no "alert" with an "id" or a "type"')
        return iter((alone,))
    return alerts


def _alert(row: Mapping[str, Any], whole: Mapping[str, Any]) -> ReportedAlert | None:
    kind = first_text(row, ("type", "alertType", "alert_type"), NAME_CHARACTERS)
    key = first_text(row, ("id", "alertId", "alert_id", "alertIdentifier"), ID_CHARACTERS)
    if not (key or kind):
        return None
    level = first_text(row, ("level", "severity"), NAME_CHARACTERS)
    resource_id = first_text(row, ("resourceId", "resource_id", "canonicalId"), NAME_CHARACTERS)
    name = first_text(row, ("resourceName", "resource_name", "resource"), NAME_CHARACTERS)
    node = first_text(row, ("node", "nodeName", "node_name", "host"), NAME_CHARACTERS)
    instance = first_text(row, ("instance", "cluster"), NAME_CHARACTERS)
    words = {
        first_text(each, (field,), NAME_CHARACTERS).casefold()
        for each in (row, whole)
        for field in ("event", "status", "state")
    }
    ends_at = next((at for each in _ENDS if (at := instant(row.get(each))) is not None), None)
    return ReportedAlert(
        system=AlertSystem.PULSE,
        key=key or hashlib.sha256(f"{kind}\0{resource_id or name}\0{node}".encode()).hexdigest()[:32],
        type=kind,
        is_firing=ends_at is None and words.isdisjoint(_OVER),
        severity=severity_of(level),
        level=level,
        naming=Naming(
            names=tuple(dict.fromkeys(each for each in (resource_id, name, node) if each)),
            places=tuple(dict.fromkeys(each for each in (node, instance) if each)),
        ),
        resource_name=name or resource_id or node,
        message=first_text(row, ("message", "description"), MESSAGE_CHARACTERS),
        value=number(row.get("value")),
        threshold=number(row.get("threshold")),
        starts_at=next(
            (at for each in ("startTime", "start_time", "start", "startsAt") if (at := instant(row.get(each)))), None
        ),
        ends_at=ends_at,
    )
