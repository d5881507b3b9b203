"""The estate document, checked: unknown keys are refused at every depth, and its JSON schema.

The structs of an estate ignore keys that they do not know, for recorded evidence must stay readable. A
document that a person or program writes for Patrol must not be misread in silence, so it is decoded into
twins of those structs first, made here, that refuse such keys.
"""

import dataclasses
import types
import typing
from functools import cache
from typing import Any

import msgspec

from patrol.estate.model import Estate

_UNIONS = (typing.Union, types.UnionType)

_SMARTCTL_DOCUMENT = {
    "type": "object",
    "description": "What `smartctl --json -x DEVICE` printed, as it is.",
    "required": ["smartctl"],
    "properties": {"smartctl": {"type": "object"}},
}


@dataclasses.dataclass(frozen=True, slots=True)
class KeyField:
    """One key of an object: its JSON name, its type, and whether it must be there."""

    key: str
    type: object
    required: bool


@cache
def fields_of(kind: type) -> tuple[KeyField, ...]:
    """The keys that an object of this struct or dataclass has in JSON."""
    if issubclass(kind, msgspec.Struct):
        return tuple(KeyField(item.encode_name, item.type, item.required) for item in msgspec.structs.fields(kind))
    hints = typing.get_type_hints(kind)
    return tuple(
        KeyField(item.name, hints[item.name], required=item.default is item.default_factory is dataclasses.MISSING)
        for item in dataclasses.fields(kind)  # type: ignore[arg-type]  # the caller passes structs and dataclasses
    )


def is_object_type(kind: object) -> typing.TypeGuard[type]:
    """Whether a type is a JSON object with known keys."""
    return isinstance(kind, type) and (issubclass(kind, msgspec.Struct) or dataclasses.is_dataclass(kind))


def alternatives_of(kind: object) -> tuple[object, ...]:
    """The types that a union allows; the type itself where it is none."""
    return typing.get_args(kind) if typing.get_origin(kind) in _UNIONS else (kind,)


@cache
def strict_type(kind: type) -> type[msgspec.Struct]:
    """The twin of a struct or dataclass that refuses unknown keys, all the way down."""
    fields: list[tuple[str, Any] | tuple[str, Any, None]] = []
    names: dict[str, str] = {}
    for position, item in enumerate(fields_of(kind)):
        name, field_type = f"f_{position}", _strictly(item.type)
        names[name] = item.key
        # Defaults are never read from a twin: what counts is only whether a key may be absent.
        fields.append((name, field_type) if item.required else (name, field_type, None))
    return msgspec.defstruct(
        kind.__name__,
        fields,
        namespace={"__doc__": kind.__doc__},
        rename=names.get,
        kw_only=True,
        forbid_unknown_fields=True,
        gc=False,
    )


def _strictly(kind: object) -> Any:
    if is_object_type(kind):
        return strict_type(kind)
    arguments = typing.get_args(kind)
    if not arguments:
        return kind
    strict = tuple(_strictly(argument) for argument in arguments)
    origin: Any = typing.get_origin(kind)
    if origin in _UNIONS:
        return typing.Union[strict]  # noqa: UP007 - made of a tuple
    return origin[strict]  # list, dict


def estate_schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of an estate document, every object closed to unknown keys."""
    (reference,), components = msgspec.json.schema_components([strict_type(Estate)], ref_template="#/$defs/{name}")
    disk = components["Resource"]["properties"]["disk"]
    disk["anyOf"] = [*disk["anyOf"], _SMARTCTL_DOCUMENT]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Estate",
        **reference,
        "$defs": {name: _without_absent_defaults(part) for name, part in components.items()},
    }


def _without_absent_defaults(component: dict[str, Any]) -> dict[str, Any]:
    """The twins' own default stands for an absent key, which is no value to show."""
    for part in component.get("properties", {}).values():
        if part.get("default", ...) is None:
            del part["default"]
    return component
