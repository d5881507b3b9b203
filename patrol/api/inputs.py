"""What a request may say: texts that a database takes, instants that a clock can reach, JSON that is one value."""

import json
import re
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any, TypeVar

from fastapi import Request
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    ValidationError,
)

from findings.rows import storable
from patrol.api.errors import ApiError
from patrol.api.fields import fields_told
from patrol.api.services import Services

NOTE_CHARACTERS = 2_000
ID_CHARACTERS = 300
NOT_BLANK = r"[^\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
"""A character that `str.strip` leaves, in every dialect of patterns: `\\S` means another set in each."""


_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII)


def _written(value: object) -> object:
    """Instants are texts: a bare number would be taken for seconds or milliseconds, by its size."""
    if isinstance(value, str) and _RFC_3339.fullmatch(value):
        return value
    raise ValueError("no instant: write it like 2026-11-29T12:00:00Z")


def _integral(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _utc(at: datetime) -> datetime:
    try:
        return at.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("no such time in UTC") from error


Instant = Annotated[AwareDatetime, BeforeValidator(_written), AfterValidator(_utc)]
"""An instant with its zone (RFC 3339), in UTC."""
Truth = Annotated[bool, Strict()]
"""True or false, and no word or number for it."""
Whole = Annotated[int, Field(strict=True, ge=-(10**9), le=10**9), BeforeValidator(_integral)]
"""A whole number, also one that is written `5.0`: in JSON they are the same."""
Number = Annotated[float, Strict()]
"""A number, and no text that is written like one."""
Note = Annotated[str, Field(max_length=NOTE_CHARACTERS), AfterValidator(storable)]
"""Words of an operator."""
Id = Annotated[
    str,
    Field(min_length=1, max_length=ID_CHARACTERS, pattern=NOT_BLANK),
    AfterValidator(storable),
    AfterValidator(str.strip),
]
"""An id or a name."""


class Body(BaseModel):
    """A body that is taken as it is meant, or not at all: an unknown field is refused."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


def services_of(request: Request) -> Services:
    """What the application was given."""
    services: Services = request.app.state.services
    return services


async def read_json(request: Request, *, empty: object = None) -> Any:
    """The one JSON value of a body, whatever it says its type is; `empty` where there is none. Raises ApiError."""
    body = await request.body()
    if not body.strip():
        return empty
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ApiError(HTTPStatus.BAD_REQUEST, "invalid_json", "The body is not JSON") from error


Model = TypeVar("Model", bound=BaseModel)


def fitted(model: type[Model], value: Any, code: str) -> Model:
    """A value as this model. Raises ApiError with that code, naming each field that is wrong, never its value."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        fields = fields_told(error.errors(include_url=False, include_input=False), model)
        names = ", ".join(fields)
        message = f"Not as it should be: {names}"
        raise ApiError(HTTPStatus.BAD_REQUEST, code, message, details={"fields": fields}) from error


def body_schema(model: type[BaseModel], *, required: bool) -> dict[str, Any]:
    """The description of a body that a route reads by itself."""
    content = {"application/json": {"schema": model.model_json_schema(ref_template="#/components/schemas/{model}")}}
    return {"requestBody": {"required": required, "content": content}}
