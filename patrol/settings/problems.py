"""What is wrong with the settings, in words that name the key, the place and the way out."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from annotated_types import Ge, Le
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from patrol.settings.durations import say
from patrol.settings.schema import known_keys, nearest_key

_WORDS = {
    "missing": "is missing",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "union_tag_not_found": 'needs a type, e.g. type = "local"',
}
_SECRET_NAME = re.compile(
    r"(?:key|token|secret|password|passwd|pwd|credentials?|signature|sig|cookie|[-_]id)$", re.IGNORECASE
)
_LONGEST_VALUE = 40


class SettingsProblemError(Exception):
    """The settings cannot be used. `problems`: every mistake, a line each."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class Placed(Protocol):
    """Where a value was set."""

    @property
    def place(self) -> str: ...


def variable_name(key: str) -> str:
    """The environment variable that sets a dotted key."""
    return "PATROL_" + key.upper().replace(".", "__")


def said_of(key: str, reason: str) -> str:
    """A problem of a key. Logs take what stands right behind the name of a secret and a colon for the secret itself."""
    is_secret = _SECRET_NAME.search(key.rpartition(".")[2]) is not None
    return f"{key} (value not shown): {reason}" if is_secret else f"{key}: {reason}"


def unknown(key: str) -> str:
    """That a key is not known, with the nearest one that is."""
    nearest = nearest_key(key)
    return f"unknown key; did you mean {nearest}?" if nearest else "unknown key"


def describe(error: ValidationError, origins: Mapping[str, Placed], file: Path | None) -> Iterator[str]:
    """One line for each thing that the schema refused."""
    for detail in error.errors(include_url=False, include_input=False):
        path = _path(detail["loc"])
        known_as = origins.get(_dotted(path))
        if detail["type"] == "extra_forbidden" and known_as and known_as.place == variable_name(_dotted(path)):
            continue  # an unknown variable: said already, by its own name
        origin = known_as or origins.get(".".join(path[:1]))
        place = origin.place if origin is not None else str(file or "")
        reason = _reason(detail, path)
        said = said_of(_spoken(path, detail), reason) if path else reason
        yield f"{place}: {said}" if place else said


def _path(location: tuple[int | str, ...]) -> list[str]:
    """`("sources", 0, "local", "file")` without the tag of the union, which is no key."""
    parts = list(location)
    if len(parts) > 2 and parts[0] == "sources":
        del parts[2]
    return [f"[{part}]" if isinstance(part, int) else part for part in parts]


def _spoken(path: Sequence[str], detail: ErrorDetails) -> str:
    named = [*path, "type"] if detail["type"] == "union_tag_invalid" else path  # the entry is right, its type is not
    return ".".join(named).replace(".[", "[")


def _dotted(path: Sequence[str]) -> str:
    return ".".join(part for part in path if not part.startswith("["))


def _reason(detail: ErrorDetails, path: Sequence[str]) -> str:
    match detail["type"]:
        case "extra_forbidden":
            return unknown(_dotted(path))
        case "greater_than_equal" | "less_than_equal":
            return _bounds(_dotted(path)) or detail["msg"].removeprefix("Input ")
        case "union_tag_invalid":
            given = str(detail["ctx"]["tag"])
            shown = given if len(given) <= _LONGEST_VALUE else f"{given[:_LONGEST_VALUE]}..."
            return f'"{shown}" is none of {detail["ctx"]["expected_tags"]}'
        case other:
            text = _WORDS.get(other) or detail["msg"].removeprefix("Value error, ").removeprefix("Input ")
            return f"{text[:1].lower()}{text[1:]}"


def _bounds(key: str) -> str:
    field = known_keys().get(key)
    lowest = next((part.ge for part in field.metadata if isinstance(part, Ge)), None) if field else None
    highest = next((part.le for part in field.metadata if isinstance(part, Le)), None) if field else None
    if lowest is not None and highest is not None:
        return f"must be between {say(lowest)} and {say(highest)}"
    return f"must be at least {say(lowest)}" if lowest is not None else ""
