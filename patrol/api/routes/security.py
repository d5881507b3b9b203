"""`GET /api/security/status`: who somebody is here, and what they could do: the guards of the routes, in a dry run."""

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from patrol.api.access import Access, Needs, refusal
from patrol.api.credentials import CSRF_HEADER
from patrol.api.gate import LOCAL
from patrol.api.guards import (
    ANYBODY_KNOWN,
    READ,
    RUN,
    SETTINGS_READ,
    SETTINGS_WRITE,
    GuardedRoute,
    access_of,
    csrf_token,
)

router = APIRouter(route_class=GuardedRoute, tags=["access"])


class _Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class SettingsCapabilities(_Camel):
    """What this caller could do now. Each is the answer of the guard of the routes concerned."""

    patrol_run: bool = Field(description="POST /api/ai/patrol/run")
    pulse_intelligence_read: bool = Field(description="GET /api/ai/patrol/...")
    system_settings_read: bool = Field(description="GET /api/settings")
    system_settings_write: bool = Field(description="PATCH /api/settings, /api/ai/patrol/autonomy")


class SessionCapabilities(_Camel):
    """What a page may offer to this caller."""

    demo_mode: bool = False
    assistant_enabled: bool = Field(description="Whether Investigate may be offered")


class SecurityStatus(_Camel):
    """Who somebody is here. Nothing is told of others, and nothing of why a credential is not valid."""

    requires_auth: bool = Field(description="Whether a credential is needed from where this was asked")
    authenticated: bool
    username: str | None
    organisation: str | None = Field(description="The organisation that the answer is about")
    session_is_admin: bool = Field(description="Whether a session is that of an administrator of all organisations")
    settings_capabilities: SettingsCapabilities
    session_capabilities: SessionCapabilities


@router.get("/api/security/status")
async def security_status(request: Request, response: Response) -> SecurityStatus:
    """What this caller may do. Without a valid credential: nothing."""
    access = await access_of(request.app.state.gate, request)
    if access.session is not None:
        response.headers[CSRF_HEADER] = csrf_token(access.cookie)
    return status_of(access)


def status_of(access: Access) -> SecurityStatus:
    """What the guards say to somebody. Pure."""
    is_known = ANYBODY_KNOWN.refusal(access) is None
    may_run = RUN.refusal(access) is None
    return SecurityStatus(
        requires_auth=access.owner != LOCAL,
        authenticated=is_known,
        username=access.name if is_known else None,
        organisation=access.org_id if refusal(access, Needs()) is None else None,
        session_is_admin=is_known and access.session is not None and access.session.user.is_administrator,
        settings_capabilities=SettingsCapabilities(
            patrol_run=may_run,
            pulse_intelligence_read=READ.refusal(access) is None,
            system_settings_read=SETTINGS_READ.refusal(access) is None,
            system_settings_write=SETTINGS_WRITE.refusal(access) is None,
        ),
        session_capabilities=SessionCapabilities(assistant_enabled=may_run),
    )
