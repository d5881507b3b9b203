"""What `PATCH /api/settings` takes, as a description made from the settings' own schema. Pure."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from patrol.overrides.model import STORABLE
from patrol.settings.model import Settings

SHORT = {"interval": "patrol.interval", "cron": "patrol.cron", "autonomy": "patrol.autonomy", "model": "model.name"}
"""Names that may stand by themselves."""
SECTIONS = frozenset(key.partition(".")[0] for key in STORABLE)

_NULL = {"type": "null"}
_CHECKS = ("type", "enum", "items", "minimum", "maximum")
_JSON_TYPES: dict[type, tuple[str, ...]] = {
    bool: ("boolean",),
    int: ("integer", "number"),
    float: ("number",),
    str: ("string",),
    list: ("array",),
}


def _described(key: str) -> dict[str, Any]:
    """A setting as its section describes it. Null, which lets go of what is stored, is always taken."""
    section, _, name = key.partition(".")
    model = Settings.model_fields[section].annotation
    assert isinstance(model, type)  # noqa: S101 - sections are models
    assert issubclass(model, BaseModel)  # noqa: S101
    whole = model.model_json_schema()
    found = {word: each for word, each in whole["properties"][name].items() if word not in {"default", "title"}}
    if "$ref" in found:
        enumeration = whole["$defs"][found.pop("$ref").rpartition("/")[2]]
        found |= {"type": enumeration["type"], "enum": enumeration["enum"]}
    forms = found.pop("anyOf", None) or [{word: found.pop(word) for word in _CHECKS if word in found}]
    return {**found, "anyOf": [*(each for each in forms if each != _NULL), _NULL]}


_VALUES = {key: _described(key) for key in STORABLE}
_TYPES = {key: tuple(each["type"] for each in value["anyOf"]) for key, value in _VALUES.items()}


def types_of(key: str) -> tuple[str, ...]:
    """The JSON types that a setting may have."""
    return _TYPES[key]


def is_of_type(key: str, value: object) -> bool:
    """Whether a value is of a type that this setting may have: `"5"` is no number, and 1 is not true."""
    return not {*_JSON_TYPES.get(type(value), ())}.isdisjoint(_TYPES[key])


def _section(name: str) -> dict[str, Any]:
    values = {key.partition(".")[2]: value for key, value in _VALUES.items() if key.partition(".")[0] == name}
    table = {"type": "object", "properties": values, "additionalProperties": False}
    return {"anyOf": [table, *_VALUES[SHORT[name]]["anyOf"]]} if name in SHORT else table


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
_PROPERTIES: Mapping[str, Any] = {
    **_VALUES,
    **{short: _VALUES[key] for short, key in SHORT.items()},
    **{name: _section(name) for name in sorted(SECTIONS)},
    "paused": _PAUSED,
}
PATCH_SCHEMA: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "properties": _PROPERTIES,
                    "additionalProperties": False,
                    "example": {"patrol.interval": "30m", "triggers": {"min_severity": "critical"}},
                }
            }
        },
    }
}
"""Values by dotted key, by short name, or as tables of a section; each key once."""
