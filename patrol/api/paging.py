"""Lists by pages: how many, from where on, and what a client sends to go on. Pure."""

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

import msgspec
from fastapi import Response

from patrol.api.errors import ApiError

NEXT = "X-Next-Cursor"
"""Header of an answer that is not the end of its list: `cursor` of the next request."""

CURSOR_CHARACTERS = 512


def parse_limit(text: str, *, default: int, most: int) -> int:
    """How many are wanted. What is no number, or none above zero, counts as not said: clients rely on it."""
    wanted = text.strip()
    if not (wanted.isascii() and wanted.isdigit()):
        return default
    count = int(wanted[:9])
    return min(count, most) if count else default


def encode_cursor(place: Sequence[object]) -> str:
    """A place in a list as a text that nobody needs to understand."""
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def decode_cursor(text: str) -> list[Any]:
    """The place of a cursor. Raises ApiError for a text that is none."""
    try:
        if len(text) > CURSOR_CHARACTERS:
            raise invalid_cursor()
        found = json.loads(base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4)))
    except (ValueError, binascii.Error, RecursionError) as error:
        raise invalid_cursor() from error
    if not isinstance(found, list):
        raise invalid_cursor()
    return found


def invalid_cursor() -> ApiError:
    """The refusal of a cursor that is none of this list."""
    return ApiError(HTTPStatus.BAD_REQUEST, "invalid_cursor", f"cursor is not one of this list: send the one of {NEXT}")


def json_list(rows: Sequence[object], path: str, query: Mapping[str, str], cursor: str) -> Response:
    """A list as JSON, with where it goes on, if it does. `query`: the parameters of this request."""
    headers = {}
    if cursor:
        following = urlencode({**{name: value for name, value in query.items() if name != "cursor"}, "cursor": cursor})
        headers = {NEXT: cursor, "Link": f'<{path}?{following}>; rel="next"'}
    return Response(msgspec.json.encode(rows), media_type="application/json", headers=headers)


def json_one(document: object, status: int = HTTPStatus.OK) -> Response:
    """One document as JSON."""
    return Response(msgspec.json.encode(document), status, media_type="application/json")
