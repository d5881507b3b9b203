"""What the log tells of what comes by the interface: what was delivered, who changed what, who was refused.

Never a value of a setting, a token, or anything that a caller could write at any length: keys, names, counts.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from http import HTTPStatus

import structlog
from starlette.types import Scope as AsgiScope

from patrol.alerts.model import AlertSystem
from patrol.alerts.receiving import Received
from patrol.api.access import Access
from patrol.api.errors import ApiError
from patrol.api.rates import Limiter, Rate
from patrol.records.desk import Question
from patrol.records.pauses import PauseRuns, ResumeRuns
from patrol.records.tokens import CreateToken, OneToken, RevokeToken, TokenMade

_log = structlog.stdlib.get_logger("patrol.api")

REFUSALS = Rate(name="refusals told", count=1, per=timedelta(minutes=1))
"""Lines about one address at one route: a program with an old token asks every few seconds, for months."""


def tell_delivery(system: AlertSystem, received: Received) -> None:
    """A delivery of alerts was taken in; where some were left out, somebody has to do something about it."""
    tell = _log.warning if received.left_out else _log.info
    tell(
        "alerts delivered",
        system=str(system),
        alerts=received.alerts,
        changes={str(change): count for change, count in received.changes.items()},
        unplaced=received.unplaced,
        left_out=received.left_out,
        runs=dict(received.triggers),
    )


def tell_stored(settings: Iterable[str], author: str) -> None:
    """Settings of these keys were stored, or let go of."""
    _log.info("settings stored", settings=sorted(settings), author=author)


def tell_paused(until: datetime | None, author: str) -> None:
    """Patrol starts no run by itself; `until` None: until somebody resumes."""
    _log.info("paused", until=until.isoformat() if until is not None else "somebody resumes", author=author)


def tell_resumed(author: str) -> None:
    """A pause, if there was one, is over."""
    _log.info("resumed", author=author)


def tell_command(question: Question, answer: object, author: str) -> None:
    """A command of this machine has changed who may do what, or whether runs start; of others nothing is told."""
    if isinstance(question, PauseRuns):
        tell_paused(question.until, author)
    elif isinstance(question, ResumeRuns):
        tell_resumed(author)
    elif isinstance(question, CreateToken) and isinstance(answer, TokenMade):
        scopes = sorted(str(each) for each in answer.token.scopes)
        _log.info("token made", id=answer.token.id, name=answer.token.name, scopes=scopes, author=author)
    elif isinstance(question, RevokeToken) and isinstance(answer, OneToken):
        _log.info("token revoked", id=answer.token.id, name=answer.token.name, author=author)


class RefusalLines:
    """Tells of credentials that opened nothing, so often as somebody can read."""

    def __init__(self) -> None:
        self._limiter = Limiter()  # of its own: what is told must push out nothing that limits

    def tell(self, access: Access, refused: ApiError, scope: AsgiScope, now: datetime) -> None:
        """A request was refused. Who sent no credential is not told of: that is what strangers do all day."""
        is_wrong = refused.status == HTTPStatus.UNAUTHORIZED and access.is_rejected
        if not is_wrong and refused.code != "missing_scope":
            return
        # That of the route: what stands in the path itself is up to the caller, and has no end.
        path = getattr(scope.get("route"), "path", "unknown")
        address = access.caller.key
        if self._limiter.take(REFUSALS, f"{address} {path}", now) is not None:
            return
        who = "" if is_wrong else access.name
        _log.warning("credential refused", code=refused.code, path=path, address=address, principal=who)
