"""One envelope for every refusal: `{"error": CODE, "code": CODE, "message": TEXT, "details"?: {...}}`.

`error` and `code` are the same word: of two families of clients one reads the first and one the second.
"""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from patrol.api.fields import fields_told
from patrol.database import DatabaseBusyError, StorageError

_log = logging.getLogger(__name__)

RETRY_SECONDS = 5
"""How soon a client may ask again where the database was busy."""


class ErrorEnvelope(BaseModel):
    """The body of every answer with a status of 400 or more. `details` only where there is more to say."""

    error: str
    code: str
    message: str
    details: dict[str, Any] | None = None


class ApiError(Exception):
    """A refusal: raise it anywhere in a route. `code` is stable, `message` ends with what to do where that helps."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.details = details
        self.headers = dict(headers or {})


def refusal(error: ApiError) -> JSONResponse:
    """The answer of a refusal."""
    body: dict[str, Any] = {"error": error.code, "code": error.code, "message": error.message}
    if error.details:
        body["details"] = dict(error.details)
    return JSONResponse(body, error.status, headers={"Cache-Control": "no-store", **error.headers})


_CODES = {
    HTTPStatus.BAD_REQUEST: ("invalid_json", "The body is not JSON"),  # nested too deeply, of another encoding
    HTTPStatus.NOT_FOUND: ("not_found", "There is nothing under this path"),
    HTTPStatus.METHOD_NOT_ALLOWED: ("method_not_allowed", "This path does not take this method"),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: ("body_too_large", "The body is larger than this path takes"),
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: ("unsupported_media_type", "Send JSON, with Content-Type: application/json"),
}


def from_http(error: HTTPException) -> ApiError:
    """What the framework itself refuses. Its own words are not passed on: they may quote the request."""
    known = _CODES.get(HTTPStatus(error.status_code))
    phrase = HTTPStatus(error.status_code).phrase
    code, message = known or (phrase.lower().replace(" ", "_").replace("-", "_"), phrase)
    return ApiError(error.status_code, code, message, headers=error.headers)


def from_validation(error: RequestValidationError, body: object = None) -> ApiError:
    """What does not fit the fields of a route: which fields, and why; never their values.

    `body`: the model of the body of that route.
    """
    found = error.errors()
    if any(each["type"] == "json_invalid" for each in found):
        return ApiError(HTTPStatus.BAD_REQUEST, "invalid_json", "The body is not JSON")
    fields = fields_told(found, body, skipped=1)
    names = ", ".join(fields)
    return ApiError(
        HTTPStatus.BAD_REQUEST, "invalid_request", f"Not as it should be: {names}", details={"fields": fields}
    )


def from_storage(error: StorageError) -> ApiError:
    """The database does not answer. Where it lies and what it said stays in the log."""
    if isinstance(error, DatabaseBusyError):
        message = f"The database is busy: try again in {RETRY_SECONDS} s"
        headers = {"Retry-After": str(RETRY_SECONDS)}
        return ApiError(HTTPStatus.SERVICE_UNAVAILABLE, "database_busy", message, headers=headers)
    message = "The database cannot be used: see the log of the daemon"
    return ApiError(HTTPStatus.SERVICE_UNAVAILABLE, "database_unavailable", message)


def install(app: FastAPI) -> None:
    """Makes every refusal of an application read alike."""

    async def refused(_request: Request, error: Exception) -> Response:
        assert isinstance(error, ApiError)  # noqa: S101 - what this is registered for, below
        return refusal(error)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)  # noqa: S101
        body = getattr(request.scope.get("route"), "body_field", None)
        return refusal(from_validation(error, body.field_info.annotation if body is not None else None))

    async def storage(request: Request, error: Exception) -> Response:
        assert isinstance(error, StorageError)  # noqa: S101
        _log.error("%s %s: %s", request.method, request.scope["path"], error)
        return refusal(from_storage(error))

    async def gone(_request: Request, _error: Exception) -> Response:
        # Nobody hears it; without it the log would tell of a crash each time that a caller hangs up.
        return refusal(ApiError(HTTPStatus.BAD_REQUEST, "request_cut", "The request has no end"))

    async def crashed(_request: Request, _error: Exception) -> Response:
        # The framework raises it again after this answer, so that the server logs it with its traceback.
        message = "Something went wrong in Patrol: see the log of the daemon"
        return refusal(ApiError(HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", message))

    app.add_exception_handler(ApiError, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(StorageError, storage)
    app.add_exception_handler(ClientDisconnect, gone)
    app.add_exception_handler(Exception, crashed)
