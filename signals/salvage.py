"""Rows that do not quite fit: what each of them still says.

A value of the wrong type costs that value; a wrong identity costs the row, since a reading on the wrong
resource is worse than none. A number where an identity is text is its digits; "97 %" is 97. Each of these is
told, and a page with one is never complete.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeVar, get_args, get_origin

import msgspec

from signals.evidence import InventoryRow
from signals.pages import Page, Row

PageType = TypeVar("PageType", bound=Page)
Tell = Callable[[str, str], None]
"""Told of each loss: its place ("pools[3].usage_percent") and what was wrong there."""

_OWN_ID = ("resource_id", "id")
_PERCENT = re.compile(r"\s*([-+]?\d{1,9}(?:\.\d{1,9})?)\s*%?\s*", re.ASCII)
_IDENTITY = frozenset(
    {
        *("id", "resource_id", "vmid", "node", "instance", "hostname", "device", "dev_path", "serial"),
        *("guest_id", "target_id", "snapshot_name"),
    }
)


def salvage_page(document: Mapping[str, object], page_type: type[PageType], tell: Tell) -> PageType:
    """The page with everything of `document` that fits it; `tell` hears of the rest."""
    page = page_type()
    for field in _fields(page_type):
        if field.encode_name in document:
            kept = _value(document[field.encode_name], field.type, field.encode_name, tell)
            if kept is not _LOST:
                setattr(page, field.name, kept)
    return page


class _Lost:
    """Marks a value that could not be kept."""


_LOST = _Lost()


@cache
def _fields(struct: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(struct)


def _value(value: object, wanted: object, place: str, tell: Tell) -> object:
    """`value` as `wanted`, or what of it fits; `_LOST` if nothing does."""
    row_type, container = _row_type(wanted)
    if row_type is not None and container is list and isinstance(value, list):
        rows = [_row(item, row_type, f"{place}[{index}]", tell) for index, item in enumerate(value)]
        return [row for row in rows if row is not _LOST]
    if row_type is not None and container is dict and isinstance(value, dict):
        named = {str(name): _row(item, row_type, f"{place}.{name}", tell) for name, item in value.items()}
        return {name: row for name, row in named.items() if row is not _LOST}
    if row_type is not None and container is None and value is not None:
        return _row(value, row_type, place, tell)
    try:
        return msgspec.convert(value, wanted, strict=False)
    except msgspec.ValidationError as error:
        tell(place, _said(error))
        return _in_other_words(value, wanted)


def _in_other_words(value: object, wanted: object) -> object:
    """The number that a text holds beside its sign of percent; `_LOST` if there is none."""
    is_number = float in (get_args(wanted) or (wanted,))
    found = _PERCENT.fullmatch(value) if isinstance(value, str) and is_number else None
    return float(found[1]) if found else _LOST


def _row(value: object, row_type: type[Row], place: str, tell: Tell) -> object:
    """One row, with what of it fits; `_LOST` if it is no object or does not say whose it is."""
    if not isinstance(value, dict):
        tell(place, f"expected an object, got {type(value).__name__}")
        return _LOST
    try:
        return msgspec.convert(value, row_type)
    except msgspec.ValidationError:
        kept: dict[str, object] = {}
    has_id = any(isinstance(value.get(name), (str, int)) and value[name] for name in _OWN_ID)
    for field in _fields(row_type):
        if field.encode_name not in value:
            continue
        part = _value(value[field.encode_name], field.type, f"{place}.{field.encode_name}", tell)
        if part is _LOST and field.name in _IDENTITY and type(value[field.encode_name]) is int:
            part = str(value[field.encode_name])  # only a text was wanted: a number that was lost has digits
        if part is not _LOST:
            kept[field.name] = part
        elif (field.name in _IDENTITY and (field.name in _OWN_ID or not has_id)) or issubclass(row_type, InventoryRow):
            return _LOST
    try:
        return row_type(**kept)
    except TypeError:
        tell(place, "a required field is missing")
        return _LOST


@cache
def _row_type(wanted: object) -> tuple[type[Row] | None, type | None]:
    """The row inside `Row`, `Row | None`, `list[Row]` or `dict[str, Row]`, and what holds it."""
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin is list or origin is dict:
        inner = arguments[-1]
        return (inner, origin) if isinstance(inner, type) and issubclass(inner, Row) else (None, None)
    rows = [part for part in (arguments or (wanted,)) if isinstance(part, type) and issubclass(part, Row)]
    return (rows[0], None) if rows else (None, None)


def _said(error: msgspec.ValidationError) -> str:
    return str(error).split(" - at ")[0].replace("`", "")
