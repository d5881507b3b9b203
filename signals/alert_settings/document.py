"""Text of `alerts.json` -> `AlertSettings` -> text. Pure."""

import hashlib
import json
import math
from collections.abc import Iterator

from pydantic import ValidationError

from signals.alert_settings.legacy import modernise
from signals.alert_settings.model import AlertSettings
from signals.alert_settings.problem import TOP, AlertSettingsError, from_validation, json_path
from signals.alert_settings.section import Document

FILE_NAME = "alerts.json"
_LARGEST_EXACT = 2**53
_MAX_DIGITS = 300
_MAX_DEPTH = 100
"""The format itself is 6 deep. What is far deeper, even among keys of others, could be read but not written back."""

_TOO_DEEP, _FLATTEN = "it is nested too deeply", "Remove the nesting"


def parse_alert_settings(text: str, *, source: str = FILE_NAME) -> AlertSettings:
    """The settings that a text describes, older forms rewritten and every value normalised.

    Raises AlertSettingsError, and nothing else, for text that is no JSON, values of the wrong type, numbers
    that are not finite and limits that can never be met.
    """
    document, written_as = modernise(_decoded(text.removeprefix("\ufeff"), source))
    try:
        settings = AlertSettings.model_validate(document)
    except ValidationError as error:
        raise from_validation(error, source, written_as) from error
    settings._written_as = written_as  # noqa: SLF001 - where it was read from, not part of what it says
    return settings


def dump_alert_settings(settings: AlertSettings, *, complete: bool = False) -> str:
    """JSON text with today's keys: what the file said, normalised, keys of others included.

    `complete`: every key of the format with the value in force.
    """
    document = _document(settings, complete=complete)
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        text = json.dumps(document, indent=2, allow_nan=False)  # half a character cannot be written as UTF-8
    return text + "\n"


def settings_hash(settings: AlertSettings) -> str:
    """SHA-256 over what the file says, in hex: equal for files that give equal limits from equal places.

    Order of keys, spacing, nulls, old spellings and 80 against 80.0 make no difference.
    """
    text = json.dumps(_document(settings, complete=False), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _document(settings: AlertSettings, *, complete: bool) -> object:
    return _whole_numbers(settings.model_dump(by_alias=True, exclude_unset=not complete))


def _whole_numbers(value: object) -> object:
    """80.0 as 80: readers of this format take no fraction where they want a whole number."""
    if isinstance(value, dict):
        return {key: _whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_EXACT:
        return int(value)
    return value


def _decoded(text: str, source: str) -> Document:
    if not text.strip():
        raise AlertSettingsError(
            source, "the file is empty", "Write {} for the format's defaults, or name no file for built-in limits"
        )

    try:
        document: object = json.loads(text, parse_int=_whole)
    except json.JSONDecodeError as error:
        raise AlertSettingsError(
            source,
            f"this is not JSON: {error.msg}",
            "Correct the text at this place; a missing comma, brace or quote is the usual cause",
            line=error.lineno,
            column=error.colno,
        ) from error
    except RecursionError as error:
        raise AlertSettingsError(source, _TOO_DEEP, _FLATTEN, path=TOP) from error
    if not isinstance(document, dict):
        raise AlertSettingsError(source, "must be an object", "Write the settings inside { and }", path=TOP)
    for path, value in _values(document):
        if isinstance(value, float) and not math.isfinite(value):
            raise AlertSettingsError(
                source, "must be a finite number", "Write a plain number, such as 80", path=json_path(path)
            )
        if len(path) > _MAX_DEPTH:
            raise AlertSettingsError(source, _TOO_DEEP, _FLATTEN, path=json_path(path[:1]))
    return document


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_DIGITS else math.inf


def _values(document: object) -> Iterator[tuple[tuple[int | str, ...], object]]:
    """Every value with its place, outside in."""
    waiting: list[tuple[tuple[int | str, ...], object]] = [((), document)]
    while waiting:
        path, value = waiting.pop()
        yield path, value
        if isinstance(value, dict):
            waiting.extend(((*path, key), item) for key, item in value.items())
        elif isinstance(value, list):
            waiting.extend(((*path, place), item) for place, item in enumerate(value))
