"""Whether quoted text stands in a row of a tool's output. Pure.

A model sees JSON and quotes it in its own way: with other blanks, without quotation marks, some pieces of it. Both
sides are brought to one plain form, and every piece must stand in some row, never inside of a number.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_LEAST_CHARACTERS = 3
_DEEPEST = 12
_IDENTITY = frozenset(
    {
        *("id", "resource_id", "target_id", "vmid", "name", "resource_name", "vm_name", "hostname", "aliases"),
        *("type", "resource_type", "node", "host", "instance", "source", "parent", "device", "dev_path"),
    }
)
"""Fields that say which thing a row is about. To quote no more than these shows nothing."""

_BETWEEN_PIECES = re.compile(r"\.{3,}|\N{HORIZONTAL ELLIPSIS}|[\r\n]+")
_EDGE = " \t,;.{}[]()`*"
_BULLET = re.compile(r"\s*[-*]\s+")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_BETWEEN_WORDS = re.compile(r"(?<=\w)\s+(?=\w)")
_BLANK = re.compile(r"(?<!\w)\s+|\s+(?!\w)")
_NO_FRACTION = re.compile(r"(?<=\d)\.0+(?!\d)")
_JOINT = "\ue000"  # no letter and no blank; rows do not have it
_DROPPED = str.maketrans({'"': None, "'": None, "\\": None, "=": ":", "`": None})


class Statement(NamedTuple):
    """One value of a row, in plain form. `told`: with the name of its field."""

    told: str
    value: str
    is_text: bool


class PlainRow(NamedTuple):
    """A row of an output in plain form, and what it states beside which thing it is about."""

    text: str
    statements: tuple[Statement, ...]


def plain(text: str) -> str:
    """Without quotation marks, escapes and blanks that mean nothing; letters without their case."""
    text = unicodedata.normalize("NFKC", text).translate(_DROPPED)
    text = _BLANK.sub("", _BETWEEN_WORDS.sub(_JOINT, text)).replace(_JOINT, " ")
    return _NO_FRACTION.sub("", text.strip().casefold())  # 91.0 is 91


def plain_row(row: object) -> PlainRow:
    """The plain form of a row: JSON values, as deep as tools go."""
    return PlainRow(plain(_written(row, 0)), tuple(_statements(row, "", 0)))


def pieces_of(evidence: str) -> list[tuple[str, ...]]:
    """The pieces that a quotation puts together, each in the forms that it may have: escapes read, and as it stands."""
    pieces = []
    for line in _BETWEEN_PIECES.split(evidence):
        bullet = _BULLET.match(line)
        piece = line[bullet.end() :] if bullet else line
        forms = dict.fromkeys(plain(form).strip(_EDGE) for form in (piece, _unescaped(piece)))
        spoken = tuple(form for form in forms if any(map(str.isalnum, form)))
        if spoken:
            pieces.append(spoken)
    return pieces


def is_found(evidence: str, rows: Sequence[PlainRow]) -> bool:
    """Whether every piece stands in some row, and one of them says more than which thing it is about."""
    found = [_found_form(forms, rows) for forms in pieces_of(evidence)]
    return bool(found) and all(found) and any(_says_something(form, rows) for form in found)


def _found_form(forms: tuple[str, ...], rows: Sequence[PlainRow]) -> str:
    """The form of a piece that stands in some row, "" if none does."""
    return next((form for form in forms if any(_stands_in(form, row.text) for row in rows)), "")


def _says_something(form: str, rows: Sequence[PlainRow]) -> bool:
    if sum(map(str.isalnum, form)) < _LEAST_CHARACTERS:
        return False
    return any(
        _stands_in(each.told, form) or (each.is_text and (_stands_in(form, each.value) or _stands_in(each.value, form)))
        for row in rows
        for each in row.statements
    )


def _stands_in(piece: str, text: str) -> bool:
    """Whether it is a part of the text that does not begin or end inside of a number."""
    start = text.find(piece) if piece else -1
    while start >= 0:
        end = start + len(piece)
        if not (_splits_number(text, start) or _splits_number(text, end)):
            return True
        start = text.find(piece, start + 1)
    return False


def _splits_number(text: str, at: int) -> bool:
    before, after = text[at - 1 : at], text[at : at + 1]
    if before.isdigit():
        return after.isdigit() or (after == "." and text[at + 1 : at + 2].isdigit())
    return after.isdigit() and (before == "-" or (before == "." and text[at - 2 : at - 1].isdigit()))


def _unescaped(text: str) -> str:
    def read(match: re.Match[str]) -> str:
        code, letter = match.groups()
        return chr(int(code, 16)) if code else _ESCAPED.get(letter, letter)

    return _ESCAPE.sub(read, text)


def _written(value: object, depth: int) -> str:
    if depth > _DEEPEST:
        return ""
    if isinstance(value, dict):
        return "{" + ",".join(f"{name}:{_written(each, depth + 1)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_written(each, depth + 1) for each in value) + "]"
    return _scalar(value)


def _scalar(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _statements(value: object, name: str, depth: int) -> Iterator[Statement]:
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        for field, each in value.items():
            if field not in _IDENTITY:
                yield from _statements(each, str(field), depth + 1)
    elif isinstance(value, list):
        for each in value:
            yield from _statements(each, name, depth + 1)
    elif value is not None:
        text = plain(_scalar(value))
        is_text = isinstance(value, str) and sum(map(str.isalnum, text)) >= _LEAST_CHARACTERS
        yield Statement(f"{plain(name)}:{text}", text, is_text)
