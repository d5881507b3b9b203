"""What a request carries to say who sends it, read from its headers. Pure."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.datastructures import Headers

from patrol.accounts.hashing import PASSWORD_CHARACTERS, TOKEN_CHARACTERS, TOKEN_MARK
from patrol.accounts.model import NAME_CHARACTERS
from patrol.settings.interface import parse_organisation

SESSION_COOKIE = "patrol_session"
CSRF_COOKIE = "patrol_csrf"
CSRF_HEADER = "X-CSRF-Token"
ORG_HEADERS = ("X-Patrol-Org-ID", "X-Pulse-Org-ID")
ORG_COOKIES = ("patrol_org_id", "pulse_org_id")
"""The second ones: clients of the monitoring system name an organisation so."""

_BASIC_CHARACTERS = 2 * (NAME_CHARACTERS + PASSWORD_CHARACTERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """Credentials as they were sent; nothing of them is checked yet but their form.

    `token`, `basic` (name and password): "" and None where there are none. `is_malformed`: something was sent that
    cannot be right, so that it is refused and not overlooked. `sent_token`: a token was sent, right or wrong.
    """

    token: str = ""
    basic: tuple[str, str] | None = None
    is_malformed: bool = False
    sent_token: bool = False


MALFORMED = Sent(is_malformed=True)
_MALFORMED_TOKEN = Sent(is_malformed=True, sent_token=True)


def read_credentials(headers: Headers) -> Sent:
    """The token or password of a request: `X-API-Token`, `Authorization: Bearer`, `Authorization: Basic`."""
    keys, authorizations = headers.getlist("x-api-token"), headers.getlist("authorization")
    bearers = [line for line in authorizations if line.partition(" ")[0].lower() == "bearer"]
    tokens = [*keys, *(line.partition(" ")[2] for line in bearers)]
    if tokens:
        return _token(tokens, authorizations)
    if not authorizations:
        return Sent()
    scheme, _, rest = authorizations[0].partition(" ")
    if len(authorizations) > 1 or scheme.lower() != "basic":
        return MALFORMED
    return _basic(rest)


def _token(tokens: Sequence[str], authorizations: Sequence[str]) -> Sent:
    """One token, however often it was sent. Two different ones leave open who is meant."""
    token = tokens[0]
    others = len(authorizations) > 1 or any(each != token for each in tokens)
    if others or len(token) != TOKEN_CHARACTERS or not token.startswith(TOKEN_MARK) or not token.isascii():
        return _MALFORMED_TOKEN
    return Sent(token=token, sent_token=True)


def _basic(text: str) -> Sent:
    if len(text) > _BASIC_CHARACTERS:
        return MALFORMED
    try:
        name, colon, password = base64.b64decode(text, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return MALFORMED
    return Sent(basic=(name, password)) if colon and name else MALFORMED


def read_cookies(headers: Headers) -> dict[str, str]:
    """The cookies of a request. Of two with one name the first counts, as browsers send the more specific one first."""
    cookies: dict[str, str] = {}
    for line in headers.getlist("cookie"):
        for piece in line.split(";"):
            name, equals, value = piece.strip().partition("=")
            if equals:
                cookies.setdefault(name, value)
    return cookies


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedOrg:
    """The organisation that a request names; "" for none. `is_valid`: whether it can be the id of one."""

    org_id: str = ""
    is_valid: bool = True


def read_org(headers: Headers, cookies: dict[str, str]) -> WantedOrg:
    """The organisation that a request names, in a header or else in a cookie."""
    named = [value for header in ORG_HEADERS for value in headers.getlist(header)]
    if not named:
        named = [cookies[cookie] for cookie in ORG_COOKIES if cookies.get(cookie)][:1]
    if not named:
        return WantedOrg()
    if len(set(named)) > 1:
        return WantedOrg(is_valid=False)
    try:
        return WantedOrg(org_id=parse_organisation(named[0]))
    except ValueError:
        return WantedOrg(is_valid=False)
