"""JSON inside other text, and JSON that was cut off: what can be had of it, in linear time.

A recorded output may have prose around its document, or end in the middle of it. Complete values before
a cut count; what the cut touches is lost. Nothing found here is ever complete.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, cast

_MOST_FAILURES = 256
"""How many places that look like the beginning of a document may turn out to be none, in one text."""
_MOST_DOCUMENTS = 4096
"""How many documents are taken from one text: each `[12.345678]` of a kernel log before the real one is one."""
_SHORT = 256
"""A failure within this many characters is a brace in prose: look on behind it. Any longer is a cut document."""
_LAST_TOKEN = 8
"""A failure this near the end is a cut inside the last token (`tru`, `\\u00`), not a brace in prose."""
_WINDOW = 4096
"""A value is first tried within this many characters, so that a failure costs no more than that.

Rows fit in it. What does not is walked member by member: each character is then scanned a bounded number
of times, wherever the text breaks off.
"""
_DEEPEST = 6
"""Levels of a document that are walked: document, list, row, list of the row, its rows, a list in those."""
_OPENING = re.compile(r'\{\s*["}]|\[\s*[\[\]{"0-9tfn-]')
_SPACE = " \t\r\n"
_REST_OF_NUMBER = re.compile(r"[-+.0-9eE]*\Z")


class Recovered(NamedTuple):
    """One document found in a text. `cut`: it ended before its end, and `value` holds what was complete."""

    value: object
    cut: bool


class _CutError(Exception):
    """The text ends, or stops being JSON, inside a value. `value` holds its complete members, if any."""

    def __init__(self, value: object, position: int) -> None:
        super().__init__(position)
        self.value = value
        self.position = position


def _finite(text: str) -> float | str:
    # Beyond every number: as the text that it is, which no measured value is read from. None would be "not measured".
    number = float(text)
    return number if abs(number) != float("inf") else text


def _integer(text: str) -> int | str:
    return int(text) if len(text) <= 40 else text


_decoder = json.JSONDecoder(parse_float=_finite, parse_int=_integer, parse_constant=lambda _name: None)
_scan_once: Callable[[str, int], tuple[object, int]] = _decoder.scan_once  # type: ignore[attr-defined]  # undocumented: the C scanner of one value


def recover(text: str) -> list[Recovered]:
    """All JSON objects and arrays in `text`, in order, the last of them possibly cut.

    Of a text with more of them than are taken, the last one is empty and cut: it is not read to its end.
    """
    return list(_documents(text))


def _documents(text: str) -> Iterator[Recovered]:
    position = failures = documents = 0
    while failures < _MOST_FAILURES and documents < _MOST_DOCUMENTS:
        opening = _OPENING.search(text, position)
        if opening is None:
            return
        start = opening.start()
        try:
            value, position = _scan(text, start)
        except _CutError as cut:
            failures += 1
            if cut.position - start <= _SHORT and cut.position < len(text) - _LAST_TOKEN:
                position = start + 1
                continue
            position = max(cut.position, start + 1)
            if cut.value:
                documents += 1
                yield Recovered(cut.value, cut=True)
        else:
            documents += 1
            yield Recovered(value, cut=False)
    if documents and _OPENING.search(text, position):
        yield Recovered({}, cut=True)  # what comes behind was not looked at: never all of it


def _scan(text: str, position: int, depth: int = 0) -> tuple[object, int]:
    """One value at `position` and where it ends; raises _CutError."""
    window = text[position : position + _WINDOW]
    try:
        value, end = _scan_once(window, 0)
    except (json.JSONDecodeError, StopIteration, RecursionError) as error:
        where = position + _failure(error, 0)
    else:
        return value, position + end
    if window[:1] in ("{", "[") and depth < _DEEPEST:
        return (_object if window[0] == "{" else _array)(text, position, depth)
    if len(window) < _WINDOW:
        raise _CutError(None, where)
    return _scan_whole(text, position)


def _scan_whole(text: str, position: int) -> tuple[object, int]:
    """One value longer than the window that is not walked: a long string, or one nested very deeply."""
    try:
        return _scan_once(text, position)
    except (json.JSONDecodeError, StopIteration, RecursionError) as error:
        raise _CutError(None, len(text)) from error


def _failure(error: Exception, position: int) -> int:
    if isinstance(error, json.JSONDecodeError):
        return len(error.doc) if error.msg.startswith("Unterminated string") else error.pos
    return error.value if isinstance(error, StopIteration) and isinstance(error.value, int) else position


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position] in _SPACE:
        position += 1
    return position


def _array(text: str, position: int, depth: int) -> tuple[object, int]:
    items: list[object] = []
    position = _skip_space(text, position + 1)
    while True:
        try:
            item, position = _scan(text, position, depth + 1)
        except _CutError as cut:
            raise _CutError(items + ([cut.value] if _holds_rows(cut.value) else []), cut.position) from cut
        if _may_go_on(item, position, text):
            raise _CutError(items, position)
        items.append(item)
        position = _skip_space(text, position)
        if text[position : position + 1] != ",":
            break
        position = _skip_space(text, position + 1)
    if text[position : position + 1] != "]":
        raise _CutError(items, position)
    return items, position + 1


def _object(text: str, position: int, depth: int) -> tuple[object, int]:
    members: dict[str, object] = {}
    position = _skip_space(text, position + 1)
    while True:
        try:
            name, position = _name(text, position)
            item, position = _scan(text, position, depth + 1)
        except _CutError as cut:
            if _holds_rows(cut.value):
                members[name] = cut.value
            raise _CutError(members, cut.position) from cut
        if _may_go_on(item, position, text):
            raise _CutError(members, position)
        members[name] = item
        position = _skip_space(text, position)
        if text[position : position + 1] != ",":
            break
        position = _skip_space(text, position + 1)
    if text[position : position + 1] != "}":
        raise _CutError(members, position)
    return members, position + 1


def _holds_rows(part: object) -> bool:
    """Whether a cut value is worth keeping: a list, or an object around rows. A row that was cut is lost itself."""
    if isinstance(part, dict):
        return any(isinstance(member, (dict, list)) for member in part.values())
    return bool(part)


def _may_go_on(item: object, position: int, text: str) -> bool:
    """Whether a number touches the end of the text: 9 may have been 95, and `9e` was not 9."""
    is_number = isinstance(item, (int, float)) or (isinstance(item, str) and text[position - 1] != '"')
    return is_number and _REST_OF_NUMBER.match(text, position) is not None


def _name(text: str, position: int) -> tuple[str, int]:
    """A member's name and the position of its value."""
    if text[position : position + 1] != '"':
        raise _CutError(None, position)
    name, position = _scan(text, position, _DEEPEST)
    position = _skip_space(text, position)
    if text[position : position + 1] != ":":
        raise _CutError(None, position)
    return cast("str", name), _skip_space(text, position + 1)
