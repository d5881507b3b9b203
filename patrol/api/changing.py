"""Settings changed over HTTP: checked as a whole, stored as a whole, each change kept."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from sqlalchemy import Connection

from findings.investigation import Autonomy
from findings.rows import storable
from patrol.api.access import Access
from patrol.api.documents.changes import SECTIONS, SHORT, is_of_type, types_of
from patrol.api.documents.settings import SettingsDocument, settings_document
from patrol.api.errors import ApiError
from patrol.api.fields import FIELDS_TOLD
from patrol.api.services import Services
from patrol.overrides.model import STORABLE, Acknowledgement
from patrol.overrides.overlay import UnfitSettingError, overlaid
from patrol.overrides.store import OverrideStore
from patrol.schedule.pauses import find_pause
from patrol.settings.load import LoadedSettings, OriginKind
from patrol.settings.problems import variable_name
from patrol.settings.schema import known_keys, nearest_key

AUTONOMY = "patrol.autonomy"


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
    """The values of a body by dotted key: keys as they are, tables of a section, and the short names. Raises ApiError
    for a key that is there twice.
    """
    found: dict[str, Any] = {}
    for name, value in body.items():
        is_table = name in SECTIONS and isinstance(value, dict)
        named = {f"{name}.{key}": each for key, each in value.items()} if is_table else {SHORT.get(name, name): value}
        twice = found.keys() & named.keys()
        if twice:
            raise _invalid(dict.fromkeys(sorted(twice), "it is there twice"))
        found |= named
    return found


def store(services: Services, access: Access, connection: Connection, values: Mapping[str, Any]) -> None:
    """Stores values, null to let go of what is stored. Raises ApiError for what cannot be; then nothing is changed."""
    found = InForce.read(services, connection, access.org_id)
    set_ones = {key: value for key, value in values.items() if value is not None}
    unknown = sorted(set(values) - set(STORABLE))
    if unknown:
        raise _invalid({key[:80]: _why_not(key[:80]) for key in unknown[:FIELDS_TOLD]})
    fixed = [key for key in set_ones if found.given.origin(key).kind is OriginKind.ENVIRONMENT]
    if fixed:
        details = {"fields": {key: f"the environment sets it: {variable_name(key)}" for key in fixed}}
        message = f"The environment goes before what is stored: {', '.join(fixed)}"
        raise ApiError(HTTPStatus.CONFLICT, "setting_fixed", message, details=details)
    for key, value in set_ones.items():
        if not is_of_type(key, value) or not _is_writable(value):
            raise _invalid({key: f"has to be of the type {' or '.join(types_of(key))}, and no longer than it needs"})
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


def _why_not(key: str) -> str:
    """Why there is nothing to store under a key."""
    if key in known_keys():
        return "cannot be changed here: it is set on the machine alone, in the settings file or the environment"
    near = nearest_key(key)
    return f"unknown key; nearest: {near}" if near else "unknown key; GET /api/settings lists those that can be changed"


def _is_writable(value: object) -> bool:
    """Whether it can be stored as it is: texts of a bounded length that every database takes."""
    if isinstance(value, list):
        return len(value) <= 200 and all(isinstance(each, str) and _is_writable(each) for each in value)
    return not isinstance(value, str) or (len(value) <= 500 and storable(value) == value)


def _invalid(fields: Mapping[str, str]) -> ApiError:
    names = ", ".join(fields)
    return ApiError(
        HTTPStatus.BAD_REQUEST, "invalid_settings", f"Not as it should be: {names}", details={"fields": dict(fields)}
    )
