"""The description of the interface: `/api/openapi.json`, made to say what is true of every route."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse

from patrol.api.access import Access
from patrol.api.errors import ErrorEnvelope
from patrol.api.guards import ANYBODY_KNOWN, PUBLIC_PATHS, GuardedRoute

PATH = "/api/openapi.json"

router = APIRouter(route_class=GuardedRoute, tags=["description"])

_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "key": {"type": "apiKey", "in": "header", "name": "X-API-Token"},
    "session": {"type": "apiKey", "in": "cookie", "name": "patrol_session"},
    "password": {"type": "http", "scheme": "basic"},
}
_FRAMEWORKS_OWN = ("HTTPValidationError", "ValidationError")


@router.get(PATH)
async def openapi(request: Request, _access: Annotated[Access, Depends(ANYBODY_KNOWN)]) -> JSONResponse:
    """This description."""
    return JSONResponse(request.app.openapi())


def describe(app: FastAPI) -> dict[str, Any]:
    """The description of an application (OpenAPI 3.1)."""
    document = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name in _FRAMEWORKS_OWN:
        schemas.pop(name, None)
    schemas["ErrorEnvelope"] = ErrorEnvelope.model_json_schema()
    document["components"]["securitySchemes"] = _SCHEMES
    answer = {
        "description": "Refused, or failed: one envelope for every status of 400 and more",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorEnvelope"}}},
    }
    for path, methods in document.get("paths", {}).items():
        for operation in methods.values():
            responses = operation["responses"]
            responses.pop("422", None)  # what does not fit is 400 here
            responses.update({"4XX": answer, "5XX": answer})
            operation["security"] = [] if path in PUBLIC_PATHS else [{name: []} for name in _SCHEMES]
    return document
