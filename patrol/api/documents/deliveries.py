"""What webhooks take, as descriptions: whatever fits one is read by the parser of `patrol.alerts`.

Rows of a list that say nothing are left out when they are read, so that they may be anything.
"""

from typing import Any

from patrol.alerts.model import AlertSystem
from patrol.api.inputs import NOT_BLANK

_SAYS_SOMETHING = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": NOT_BLANK}]}
_LIST: dict[str, Any] = {"type": "array", "description": "one alert each"}
_GRAFANA_ROW = {
    "status": "firing",
    "labels": {"alertname": "DiskFull", "severity": "warning", "instance": "nas:9100"},
    "annotations": {"summary": "The disk is nearly full"},
    "startsAt": "2026-11-29T12:00:00Z",
    "endsAt": "0001-01-01T00:00:00Z",
    "fingerprint": "c4ca4238a0b92382",
}
_PULSE_ROW = {"id": "a1", "type": "disk", "level": "warning", "resourceName": "nas", "value": 91, "threshold": 90}

_GRAFANA = {
    "type": "object",
    "required": ["alerts"],
    "properties": {"alerts": _LIST},
    "example": {"alerts": [_GRAFANA_ROW]},
}
_ALERTMANAGER = {
    "type": "object",
    "required": ["version", "alerts"],
    "properties": {"version": {"enum": ["4", 4]}, "alerts": _LIST},
    "example": {"version": "4", "alerts": [_GRAFANA_ROW]},
}
_PULSE_ALERT: dict[str, Any] = {
    "type": "object",
    "description": "names may also be written in the other ways of its versions: alertId, alert_id, alertType ...",
    "anyOf": [{"required": [name], "properties": {name: _SAYS_SOMETHING}} for name in ("id", "type")],
}
_PULSE = {
    "anyOf": [
        _LIST,
        {"type": "object", "required": ["alerts"], "properties": {"alerts": _LIST}},
        {"type": "object", "required": ["alert"], "properties": {"alert": _PULSE_ALERT, "alerts": {"type": "null"}}},
        {**_PULSE_ALERT, "properties": {"alert": False, "alerts": {"type": "null"}}},
    ],
    "example": {"alert": _PULSE_ROW},
}

_SCHEMAS = {AlertSystem.ALERTMANAGER: _ALERTMANAGER, AlertSystem.GRAFANA: _GRAFANA, AlertSystem.PULSE: _PULSE}


def delivery_schema(system: AlertSystem) -> dict[str, Any]:
    """The description of the body of a system's webhook."""
    content = {"application/json": {"schema": _SCHEMAS[system]}}
    return {"requestBody": {"required": True, "content": content}}
