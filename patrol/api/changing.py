"""Settings changed over HTTP: checked as a whole, stored as a whole, each change kept."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from sqlalchemy import Connection

from findings.investigation import Autonomy
from patrol.api.access import Access
from patrol.api.documents.settings import SettingsDocument, settings_document
from patrol.api.errors import ApiError
from patrol.api.services import Services
from patrol.overrides.model import STORABLE, Acknowledgement
from patrol.overrides.overlay import UnfitSettingError, overlaid
from patrol.overrides.store import OverrideStore
from patrol.schedule.pauses import find_pause
from patrol.settings.load import LoadedSettings, OriginKind
from patrol.settings.problems import variable_name

AUTONOMY = "patrol.autonomy"
SHORT = {"interval": "patrol.interval", "cron": "patrol.cron", "autonomy": AUTONOMY, "model": "model.name"}
"""Names that may stand by themselves."""
_SECTIONS = frozenset(key.partition(".")[0] for key in STORABLE)


_ANY_VALUE: dict[str, Any] = {"description": "a value as it is written in the file; null lets go of what is stored"}
_PAUSED: dict[str, Any] = {
    "anyOf": [
        {"type": ["boolean", "null"]},
        {
            "type": "object",
            "properties": {
                "until": {"type": ["string", "null"], "format": "date-time"},
                "reason": {"type": "string", "maxLength": 2_000},
            },
            "additionalProperties": False,
        },
    ]
}
PATCH_SCHEMA: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "properties": {
                        **dict.fromkeys((*STORABLE, *SHORT, *sorted(_SECTIONS - set(SHORT))), _ANY_VALUE),
                        "paused": _PAUSED,
                    },
                    "additionalProperties": False,
                    "example": {"patrol.interval": "30m", "triggers": {"min_severity": "critical"}},
                }
            }
        },
    }
}
"""The description of a change: values by dotted key, by short name, or as tables of a section."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """The settings of an organisation now, and what they are made of."""

    given: LoadedSettings
    loaded: LoadedSettings
    stored: Mapping[str, Any]
    acknowledgement: Acknowledgement | None

    @classmethod
    def read(cls, services: Services, connection: Connection, org_id: str) -> "InForce":
        """As things stand in this transaction."""
        store = OverrideStore(connection, org_id)
        given = services.settings()
        return cls(
            given=given,
            loaded=store.in_force(given),
            stored={each.key: json.loads(each.value) for each in store.list_settings()},
            acknowledgement=store.current_acknowledgement(),
        )


def document(services: Services, connection: Connection, org_id: str) -> SettingsDocument:
    """The settings as they are served."""
    found = InForce.read(services, connection, org_id)
    pause = find_pause(connection, org_id, services.clock())
    return settings_document(found.loaded, found.given, dict(found.stored), pause)


def flattened(body: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a body by dotted key: keys as they are, tables of a section, and the short names."""
    found: dict[str, Any] = {}
    for name, value in body.items():
        if name in _SECTIONS and isinstance(value, dict):
            found.update({f"{name}.{key}": each for key, each in value.items()})
        else:
            found[SHORT.get(name, name)] = value
    return found


def store(services: Services, access: Access, connection: Connection, values: Mapping[str, Any]) -> None:
    """Stores values, null to let go of what is stored. Raises ApiError for what cannot be; then nothing is changed."""
    found = InForce.read(services, connection, access.org_id)
    set_ones = {key: value for key, value in values.items() if value is not None}
    unknown = sorted(set(values) - set(STORABLE))
    if unknown:
        raise _invalid({key[:80]: "cannot be changed here" for key in unknown[:20]})
    fixed = [key for key in set_ones if found.given.origin(key).kind is OriginKind.ENVIRONMENT]
    if fixed:
        details = {"fields": {key: f"the environment sets it: {variable_name(key)}" for key in fixed}}
        message = f"The environment goes before what is stored: {', '.join(fixed)}"
        raise ApiError(HTTPStatus.CONFLICT, "setting_fixed", message, details=details)
    for key, value in set_ones.items():
        if not _is_plain(value):
            raise _invalid({key: "a text, a number, true, false, or a list of texts"})
    try:
        overlaid(found.given, {**found.stored, **set_ones}, {})
    except UnfitSettingError as error:
        raise _invalid(dict(line.partition(": ")[::2] for line in error.problems)) from error
    if set_ones.get(AUTONOMY) == Autonomy.FULL and found.acknowledgement is None:
        raise unacknowledged()
    changing = OverrideStore(connection, access.org_id)
    changing.change(values, now=services.clock(), author=access.name, ids=services.ids)


def unacknowledged() -> ApiError:
    """The refusal of autonomy `full` that nobody stands for."""
    message = "Autonomy full needs a current acknowledgement: POST /api/ai/patrol/autonomy/acknowledgement"
    return ApiError(HTTPStatus.CONFLICT, "autonomy_not_acknowledged", message)


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return len(value) <= 200 and all(isinstance(each, str) and len(each) <= 200 for each in value)
    if isinstance(value, str):
        return len(value) <= 500 and _is_writable(value)
    return isinstance(value, bool | int | float)


def _is_writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def _invalid(fields: Mapping[str, str]) -> ApiError:
    names = ", ".join(fields)
    return ApiError(
        HTTPStatus.BAD_REQUEST, "invalid_settings", f"Not as it should be: {names}", details={"fields": dict(fields)}
    )
