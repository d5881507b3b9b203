"""What is known of whoever asks, and whether that opens a route. Pure: `patrol.api.gate` finds it out."""

from dataclasses import dataclass
from http import HTTPStatus

from findings.model import DEFAULT_ORG
from patrol.accounts.model import Scope, Session, Token, User
from patrol.api.addresses import Caller
from patrol.api.errors import ApiError


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyIdentity:
    """Somebody for whom a trusted proxy vouches. `user`: the user of that name, where Patrol knows one."""

    name: str
    is_admin: bool
    user: User | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Who asks, and for which organisation. Nothing but facts: `refusal` draws the conclusions.

    `owner`: the name of the user that a process on the unix socket belongs to, or "local" on this machine as long as
    there is no credential at all. `is_owner`: it is the former, by the word of the kernel. `is_rejected`: a token or
    password was sent that is not valid. `sent_token`: a token was sent, which no browser does by itself. `cookie`: the
    secret of the session cookie, valid or not.
    """

    caller: Caller
    org_id: str = DEFAULT_ORG
    is_org_valid: bool = True
    is_org_known: bool = True
    owner: str = ""
    is_owner: bool = False
    proxy: ProxyIdentity | None = None
    token: Token | None = None
    basic: User | None = None
    session: Session | None = None
    is_rejected: bool = False
    sent_token: bool = False
    cookie: str = ""

    @property
    def name(self) -> str:
        """Who it is, as the author of what is said; "" for nobody."""
        if self.proxy is not None:
            return self.proxy.name
        if self.token is not None:
            return f"token {self.token.name}"
        user = self.user
        return user.name if user is not None else self.owner

    @property
    def user(self) -> User | None:
        """The user who has given a password, now or when logging in."""
        if self.basic is not None:
            return self.basic
        return self.session.user if self.session is not None else None

    @property
    def key(self) -> str:
        """What a limit counts by: the principal, for nobody the address."""
        if self.token is not None and self.proxy is None:
            return f"token {self.token.id}"
        return f"user {self.name}" if self.name else f"address {self.caller.key}"

    @property
    def enters(self) -> bool:
        """Whether the organisation is open to whoever asks."""
        if not self.is_org_known:
            return False
        if self.proxy is not None:
            known = (self.proxy.user, self.user)
            return self.org_id == DEFAULT_ORG or any(user is not None and user.enters(self.org_id) for user in known)
        if self.token is not None:
            return self.token.bound_to == self.org_id
        user = self.user
        return user.enters(self.org_id) if user is not None else bool(self.owner)

    @property
    def manages(self) -> bool:
        """Whether the organisation is managed by whoever asks. A cookie beside anything else must say so too.

        A token alone manages: what it may do is in its scopes.
        """
        if self.proxy is not None and not self.proxy.is_admin:
            return False
        of_session = self.session.user if self.session is not None else None
        users = [user for user in (self.basic, of_session) if user is not None]
        return bool(self.name) and all(user.manages(self.org_id) for user in users)


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a route needs. `scopes`: a token needs one of them. `on_this_machine`: open to this machine.

    `owner`: root or the daemon's own user on the unix socket, by that alone and by no credential.
    """

    admin: bool = False
    scopes: frozenset[Scope] = frozenset()
    on_this_machine: bool = False
    owner: bool = False


def refusal(access: Access, needs: Needs) -> ApiError | None:
    """Why this access does not open a route with these needs, the first reason; None where it does."""
    unproven = _unproven(access)
    if unproven is None:
        return _not_allowed(access, needs)
    is_open = needs.on_this_machine and access.caller.is_this_machine
    return None if is_open and not access.is_rejected else unproven


def _unproven(access: Access) -> ApiError | None:
    """Why it is not known who asks."""
    if access.is_rejected:
        return _unauthorized("invalid_credentials", "The token or password is not valid, or not any more")
    if not access.name:
        return _unauthorized(
            "authentication_required", "Send a token in the header Authorization (Bearer ...), or log in"
        )
    return None


def _not_allowed(access: Access, needs: Needs) -> ApiError | None:
    """Why somebody who is known may not do this."""
    if needs.owner and not _is_owner_alone(access):
        message = "Only root and the daemon's own user may do this, by its unix socket and without a credential"
        return ApiError(HTTPStatus.FORBIDDEN, "owner_required", message)
    if not access.is_org_valid:
        return ApiError(HTTPStatus.BAD_REQUEST, "invalid_org", "That is no id of an organisation")
    if not access.enters:
        return ApiError(HTTPStatus.FORBIDDEN, "access_denied", "This organisation is not open to you")
    if needs.admin and not access.manages:
        return ApiError(HTTPStatus.FORBIDDEN, "admin_required", "Only who manages this organisation may do this")
    # A proxy's word stands for the whole person: a token beside it takes nothing away.
    token = access.token if access.proxy is None else None
    if token is not None and needs.scopes and not token.allows(needs.scopes):
        words = sorted(needs.scopes)
        details = {"requiredScope": words[0], "requiredScopes": words}
        message = f"The token lacks the scope {' or '.join(words)}"
        return ApiError(HTTPStatus.FORBIDDEN, "missing_scope", message, details=details)
    return None


def _is_owner_alone(access: Access) -> bool:
    """Whether nobody else's word is part of it: the author is whom the kernel names."""
    return access.is_owner and access.proxy is None and access.token is None and access.user is None


def _unauthorized(code: str, message: str) -> ApiError:
    headers = {"WWW-Authenticate": 'Bearer realm="patrol"'}
    return ApiError(HTTPStatus.UNAUTHORIZED, code, message, headers=headers)
