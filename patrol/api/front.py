"""What is settled of a request before any route sees it: where it comes from, what it is called, how large it is."""

from collections.abc import Callable
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from patrol.api.addresses import Caller, is_our_host, parse_networks, who_calls
from patrol.api.credentials import read_credentials
from patrol.api.errors import ApiError, refusal
from patrol.settings.interface import HOST, ApiSection, parse_listen

BODY_BYTES = 1 << 20
DELIVERY_BYTES = 8 << 20
"""A delivery of alerts may be larger: systems do not send again what is refused, and a storm is when they count."""
_DELIVERIES = "/api/alerts/webhook/"
HEADER_BYTES = 32 << 10

HEALTH_PATHS = frozenset({"/healthz", "/readyz"})
"""Asked by machines that know this one by any name, and told nothing."""

_FORWARDING = ("forwarded", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via")
"""Headers beside X-Forwarded-For that show that somebody stands between the caller and us."""

_HARDENING = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


class Front:
    """ASGI middleware. Sets `state.caller` and `state.is_https` of every request; refuses what cannot be for us."""

    def __init__(self, app: ASGIApp, settings: Callable[[], ApiSection]) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hands a request on, or answers it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        settings = self._settings()
        headers = Headers(scope=scope)
        caller = _caller(scope, headers, settings)
        state = scope.setdefault("state", {})
        state["caller"] = caller
        state["is_https"] = _is_https(scope, headers, settings, caller)
        refused = _refused(scope, headers, settings, caller)
        if refused is not None:
            await refusal(refused)(scope, receive, _hardened(send))
        else:
            await self._app(scope, _bounded(receive, _most_bytes(scope)), _hardened(send))


def _caller(scope: Scope, headers: Headers, settings: ApiSection) -> Caller:
    client = scope.get("client")
    peer = client[0] if client else ""
    says_more = any(name in headers for name in _FORWARDING)
    trusted = parse_networks(settings.trusted_proxies)
    return who_calls(peer, headers.getlist("x-forwarded-for"), trusted, says_more=says_more)


def _is_https(scope: Scope, headers: Headers, settings: ApiSection, caller: Caller) -> bool:
    """Whether the caller's own end of the way is encrypted, as far as it can be known."""
    forwarded = headers.get("x-forwarded-proto", "") if caller.is_from_proxy else ""
    return scope.get("scheme") == "https" or forwarded == "https" or settings.public_url.startswith("https:")


def _refused(scope: Scope, headers: Headers, settings: ApiSection, caller: Caller) -> ApiError | None:
    if sum(len(name) + len(value) + 4 for name, value in scope["headers"]) > HEADER_BYTES:
        status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        return ApiError(status, "headers_too_large", f"All headers together may have {HEADER_BYTES} bytes")
    length = headers.get("content-length", "")
    most = _most_bytes(scope)
    if length.isascii() and length.isdigit() and int(length[:20]) > most:
        return ApiError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "body_too_large", f"A body may have {most} bytes here")
    if caller.peer is not None or scope["path"] in HEALTH_PATHS:
        return None
    return _host_refused(headers, settings)


def _host_refused(headers: Headers, settings: ApiSection) -> ApiError | None:
    """A page under a foreign name (DNS rebinding) must not act for the browser that shows it.

    Whoever sends a token is no such page, and may call this machine by any name.
    """
    hosts = headers.getlist("host")
    if len(hosts) != 1 or HOST.match(hosts[0]) is None:
        return ApiError(
            HTTPStatus.BAD_REQUEST, "invalid_host", "Exactly one header Host is needed, with a name or address"
        )
    if read_credentials(headers).token or is_our_host(
        hosts[0], settings.public_url, parse_listen(settings.listen).host
    ):
        return None
    message = "Patrol is not known under this name: set [api] public_url, or use the address"
    return ApiError(HTTPStatus.MISDIRECTED_REQUEST, "unknown_host", message)


def _most_bytes(scope: Scope) -> int:
    """How large a body may be."""
    return DELIVERY_BYTES if scope["path"].startswith(_DELIVERIES) else BODY_BYTES


def _bounded(receive: Receive, most: int) -> Receive:
    """A body that ends with a refusal where it grows too large, for one whose length is not told before."""
    taken = 0

    async def bounded() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > most:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        return message

    return bounded


def _hardened(send: Send) -> Send:
    """Answers with the headers that keep browsers from making more of them, where a route has not set its own."""

    async def hardened(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HARDENING.items():
                headers.setdefault(name, value)
        await send(message)

    return hardened
