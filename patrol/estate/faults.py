"""What is wrong with a document, and exactly where: found by walking it beside its types."""

import difflib
import json
import re
from dataclasses import dataclass
from enum import Enum
from typing import get_args, get_origin

import msgspec

from patrol.estate.schema import alternatives_of, fields_of, is_object_type

_PLACE = re.compile(r" - at `[^`]*`\Z")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SHOWN = 80  # characters of a foreign key or value that a message repeats


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a document. `place` is a JSON path: `$.resources[3].disk.health`."""

    place: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" + (f" ({self.remedy})" if self.remedy else "")


class EstateDocumentError(ValueError):
    """A document that is no estate document of this version. The message says where and what would be right."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


def find_fault(value: object, kind: object, place: str = "$") -> Fault | None:
    """The first fault of a decoded JSON value, or None if it fits its type and has no unknown key."""
    options = [option for option in alternatives_of(kind) if option is not type(None)]
    if value is None and type(None) in alternatives_of(kind):
        return None
    if len(options) == 1:
        option = options[0]
        if is_object_type(option) and isinstance(value, dict):
            return _fault_of_object(value, option, place)
        if get_origin(option) is list and isinstance(value, list):
            (item_type,) = get_args(option)
            inner = (find_fault(item, item_type, f"{place}[{number}]") for number, item in enumerate(value))
            return next((fault for fault in inner if fault), None)
        if get_origin(option) is dict and isinstance(value, dict):
            return _fault_of_map(value, option, place)
        if isinstance(option, type) and issubclass(option, Enum) and isinstance(value, str):
            return _fault_of_word(value, option, place)
    return _own_fault(value, kind, place)


def _fault_of_object(value: dict[str, object], kind: type, place: str) -> Fault | None:
    known = {item.key: item for item in fields_of(kind)}
    for key in value:
        if key not in known:
            return Fault(place, f"unknown key {_shown(key)}", _choice(key, list(known)))
    for key, inner in value.items():
        fault = find_fault(inner, known[key].type, place + _step(key))
        if fault:
            return fault
    missing = [item.key for item in known.values() if item.required and item.key not in value]
    return Fault(place, f"the key {missing[0]!r} is missing") if missing else None


def _fault_of_map(value: dict[str, object], kind: object, place: str) -> Fault | None:
    key_type, item_type = get_args(kind)
    for key, inner in value.items():
        if isinstance(key_type, type) and issubclass(key_type, Enum):
            fault = _fault_of_word(key, key_type, place)
            if fault:
                return fault
        fault = find_fault(inner, item_type, place + _step(key))
        if fault:
            return fault
    return None


def _fault_of_word(value: str, kind: type[Enum], place: str) -> Fault | None:
    words = [str(member.value) for member in kind]
    return None if value in words else Fault(place, f"unknown value {_shown(value)}", _choice(value, words))


def _own_fault(value: object, kind: object, place: str) -> Fault | None:
    try:
        msgspec.convert(value, type=kind)
    except (msgspec.ValidationError, RecursionError) as error:
        message = _PLACE.sub("", str(error))
        return Fault(place, message[:1].lower() + message[1:].replace("`", "'"))
    return None


def _choice(word: str, words: list[str]) -> str:
    near = difflib.get_close_matches(word[:_SHOWN], words, n=1)
    allowed = ", ".join(words)
    return f"did you mean {near[0]!r}? allowed: {allowed}" if near else f"allowed: {allowed}"


def _step(key: str) -> str:
    return f".{key}" if _PLAIN_KEY.match(key) else f"[{_shown(key)}]"


def _shown(text: str) -> str:
    return json.dumps(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
