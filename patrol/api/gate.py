"""Finds out who asks, from what a request carries. What that opens is decided in `patrol.api.access`."""

import logging
import pwd
import threading
from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import Request

from findings.model import DEFAULT_ORG
from findings.rows import storable
from patrol.accounts.model import User
from patrol.accounts.presence import has_credential
from patrol.accounts.sessions import SessionStore
from patrol.accounts.tokens import TokenStore
from patrol.accounts.users import UserStore, is_password
from patrol.api.access import Access, ProxyIdentity
from patrol.api.addresses import Caller
from patrol.api.credentials import SESSION_COOKIE, read_cookies, read_credentials, read_org
from patrol.api.log_lines import RefusalLines
from patrol.api.rates import Limiter, Rate
from patrol.api.recent import RecentPasswords
from patrol.api.services import Services
from patrol.api.uses import Uses
from patrol.database import DatabaseBusyError, StorageError
from patrol.settings.interface import ApiSection

FAILED_LOGINS = Rate(name="failed logins", count=10, per=timedelta(minutes=15))
"""Wrong passwords of one address."""

CHECKS_AT_ONCE = 2
CHECKS_IN_LINE = 8
CHECK_WAIT = timedelta(seconds=5)
"""A check takes a core for a good part of a second, and 32 MiB. So few are made at once and so few wait, that strangers
who send many keep neither cores nor threads from others; the rest is told to come back after this time."""

LOCAL = "local"
"""Who a process of this machine is, as long as nobody has made a token or a user."""

_log = logging.getLogger(__name__)


class Gate:
    """One for an application: it remembers how often who failed, and when a token was last noted as used."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.limiter = Limiter()
        self.refusals = RefusalLines()
        self._uses = Uses()
        self._recent = RecentPasswords(services.random_bytes(32))
        self._checks = threading.BoundedSemaphore(CHECKS_AT_ONCE)
        self._line = threading.BoundedSemaphore(CHECKS_IN_LINE)
        self._is_closed = False

    async def access_of(self, request: Request) -> Access:
        """Who sends this request; looked up once for each."""
        known = getattr(request.state, "access", None)
        if isinstance(known, Access):
            return known
        found = await run_in_threadpool(self.look_up, request.headers, request.state.caller)
        request.state.access = found
        return found

    def look_up(self, headers: Headers, caller: Caller) -> Access:
        """Who sends a request with these headers. Raises StorageError."""
        now = self.services.clock()
        sent = read_credentials(headers)
        cookies = read_cookies(headers)
        cookie = cookies.get(SESSION_COOKIE, "")
        settings = self.services.settings().settings.api
        proxy = proxy_identity(headers, caller, settings)
        basic = self.check_password(*sent.basic, caller, now) if sent.basic is not None else None
        token, session = None, None
        if sent.token or cookie or proxy is not None or not self._is_closed:  # else there is nothing to look up
            with self.services.database.read() as connection:
                self._is_closed = self._is_closed or has_credential(connection)
                token = TokenStore(connection).find_by_secret(sent.token) if sent.token else None
                session = SessionStore(connection).find(cookie, now) if cookie else None
                proxy = _with_user(proxy, connection)
        if token is not None and not token.is_valid(now):
            token = None
        is_rejected = sent.is_malformed or bool(sent.token and token is None) or bool(sent.basic and basic is None)
        wanted = read_org(headers, cookies)
        org_id = wanted.org_id or (token.bound_to if token is not None else DEFAULT_ORG)
        access = Access(
            caller=caller,
            org_id=org_id,
            is_org_valid=wanted.is_valid,
            is_org_known=org_id == DEFAULT_ORG or org_id in settings.organisations,
            owner=self._owner(caller),
            is_owner=self._is_owner(caller),
            proxy=proxy,
            token=token,
            basic=basic,
            session=session,
            is_rejected=is_rejected,
            sent_token=sent.sent_token,
            cookie=cookie,
        )
        self._note_use(access, now)
        return access

    def check_password(self, name: str, password: str, caller: Caller, now: datetime) -> User | None:
        """The user of this name and password, or None. Takes as long for an unknown name as for a wrong password, and
        no time for one that was right a few minutes ago.

        Raises TooManyError after too many wrong ones from one address, also for a right one; and where so many are
        being checked at this moment that this one would have to wait.
        """
        # Counted before it is known to be wrong: many at the same time are no way around the limit.
        waited = self.limiter.take(FAILED_LOGINS, caller.key, now)
        if waited is not None:
            raise TooManyError(waited)
        with self.services.database.read() as connection:
            store = UserStore(connection)
            kept, user = store.kept_password(name), store.find(name)
        if self._recent.was_right(name, password, kept, now):
            self.limiter.give_back(FAILED_LOGINS, caller.key)
            return user
        if not self._line.acquire(blocking=False):
            self.limiter.give_back(FAILED_LOGINS, caller.key)
            raise TooManyError(CHECK_WAIT)
        try:
            with self._checks:
                is_right = is_password(password, kept)
        finally:
            self._line.release()
        if is_right:
            self.limiter.give_back(FAILED_LOGINS, caller.key)
            self._recent.note(name, password, kept, now)
            return user
        _log.warning("a wrong name or password from %s", caller.key)  # never the name: people type passwords there
        return None

    def _is_owner(self, caller: Caller) -> bool:
        return caller.peer is not None and caller.peer in {0, self.services.user_id}

    def _owner(self, caller: Caller) -> str:
        if caller.peer is not None and self._is_owner(caller):
            return user_name(caller.peer)
        return LOCAL if caller.is_this_machine and not self._is_closed else ""

    def _note_use(self, access: Access, now: datetime) -> None:
        """Notes at times that a token or a session is in use. Nobody is kept out where that cannot be written."""
        token, session = access.token, access.session
        try:
            if token is not None and self._uses.is_news(token.id, now):
                self.services.database.transact(lambda connection: TokenStore(connection).note_use(token.id, now))
            if session is not None and self._uses.is_news(session.secret_hash, now):
                hashed = session.secret_hash
                self.services.database.transact(lambda connection: SessionStore(connection).note_use(hashed, now))
        except DatabaseBusyError as error:
            _log.warning("the use of a credential was not noted: %s", error)
        except StorageError as error:
            _log.error("the use of a credential was not noted: %s", error)


class TooManyError(Exception):
    """Too many wrong passwords. `wait`: how long until the next one is looked at."""

    def __init__(self, wait: timedelta) -> None:
        super().__init__("too many wrong passwords")
        self.wait = wait


def proxy_identity(headers: Headers, caller: Caller, settings: ApiSection) -> ProxyIdentity | None:
    """For whom a trusted proxy vouches. From anybody else these headers mean nothing."""
    names = headers.getlist(settings.proxy_user_header) if settings.proxy_user_header else []
    if not caller.is_from_proxy or len(names) != 1 or not names[0].strip():
        return None
    roles = headers.get(settings.proxy_role_header, "") if settings.proxy_role_header else ""
    words = {word.strip() for word in roles.replace(";", ",").replace("|", ",").split(",")}
    return ProxyIdentity(name=storable(names[0].strip()[:200]), is_admin=settings.proxy_admin_role in words)


def _with_user(proxy: ProxyIdentity | None, connection: Connection) -> ProxyIdentity | None:
    return None if proxy is None else replace(proxy, user=UserStore(connection).find(proxy.name))


def user_name(user_id: int) -> str:
    """The name of a user of this machine."""
    try:
        return pwd.getpwuid(user_id).pw_name
    except KeyError:  # a container may run as a user without a name
        return f"user {user_id}"
