"""API tokens in a database."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlalchemy import Connection, Row, select

from findings.rows import storable
from patrol.accounts.hashing import PREFIX_CHARACTERS, RandomBytes, hashed, new_token
from patrol.accounts.model import REALM, Scope, Token
from patrol.accounts.tables import TOKENS


class UnknownTokenError(LookupError):
    """No token has this id, or none that begins so; or several do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token that was just made. `secret` is its text: shown once, kept nowhere."""

    token: Token
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenWish:
    """The token that somebody wants."""

    name: str
    scopes: frozenset[Scope]
    bound_to: str
    expires_at: datetime | None = None


class TokenStore:
    """All tokens, on a connection whose transaction the caller owns."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def create(
        self, wish: TokenWish, *, now: datetime, author: str, ids: Callable[[], str], random_bytes: RandomBytes
    ) -> NewToken:
        """Makes a token. Raises ValueError for one that is over already."""
        if wish.expires_at is not None and wish.expires_at <= now:
            raise ValueError("it would be over already: give a time to come")
        secret = new_token(random_bytes)
        token = Token(
            id=ids(),
            name=storable(wish.name),
            prefix=secret[:PREFIX_CHARACTERS],
            scopes=wish.scopes,
            bound_to=wish.bound_to,
            created_at=now,
            created_by=storable(author),
            expires_at=wish.expires_at,
        )
        self._connection.execute(
            TOKENS.insert().values(
                org_id=REALM,
                id=token.id,
                name=token.name,
                secret_hash=hashed(secret),
                prefix=token.prefix,
                scopes=_written(token.scopes),
                bound_to=token.bound_to,
                created_at=now,
                created_by=token.created_by,
                expires_at=token.expires_at,
                last_used_at=None,
                revoked_at=None,
                revoked_by="",
            )
        )
        return NewToken(token=token, secret=secret)

    def find_by_secret(self, secret: str) -> Token | None:
        """The token with this text, also one that is over; None if there is none.

        The look-up is by its hash, of which nobody can make one that resembles another: its time tells nothing.
        """
        statement = select(TOKENS).where(TOKENS.c.org_id == REALM, TOKENS.c.secret_hash == hashed(secret))
        row = self._connection.execute(statement).first()
        return _token(row) if row is not None else None

    def list_tokens(self) -> list[Token]:
        """All tokens, the oldest first, also those that are over."""
        statement = select(TOKENS).where(TOKENS.c.org_id == REALM).order_by(TOKENS.c.created_at, TOKENS.c.id)
        return [_token(row) for row in self._connection.execute(statement)]

    def get(self, text: str) -> Token:
        """The token with this id or prefix, or with an id that begins so. Raises UnknownTokenError."""
        found = [each for each in self.list_tokens() if text and (each.id.startswith(text) or each.prefix == text)]
        exact = [each for each in found if each.id == text]
        if len(exact or found) != 1:
            known = ", ".join(each.id for each in found)
            raise UnknownTokenError(
                f"several tokens begin with {text}: {known}" if found else f"no token has the id {text}"
            )
        return (exact or found)[0]

    def revoke(self, token: Token, *, now: datetime, author: str) -> Token:
        """Ends a token for good. One that was revoked before stays as it was."""
        if token.revoked_at is not None:
            return token
        ended = replace(token, revoked_at=now, revoked_by=storable(author))
        statement = TOKENS.update().where(TOKENS.c.org_id == REALM, TOKENS.c.id == token.id)
        self._connection.execute(statement.values(revoked_at=now, revoked_by=ended.revoked_by))
        return ended

    def note_use(self, token_id: str, now: datetime) -> None:
        """Writes down when a token was used."""
        statement = TOKENS.update().where(TOKENS.c.org_id == REALM, TOKENS.c.id == token_id)
        self._connection.execute(statement.values(last_used_at=now))


def parse_scopes(words: Iterable[str]) -> frozenset[Scope]:
    """Scopes from their words. Raises ValueError naming those that exist."""
    given = list(words)
    known = {scope.value for scope in Scope}
    unknown = sorted(set(given) - known)
    if unknown:
        raise ValueError(f"no such scope: {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    return frozenset(Scope(word) for word in given)


def _written(scopes: frozenset[Scope]) -> str:
    return " ".join(sorted(scopes))


def _token(row: Row[*tuple[object, ...]]) -> Token:
    cells = row._mapping  # noqa: SLF001 - SQLAlchemy's public name for a row by column
    known = {scope.value for scope in Scope}
    return Token(
        id=cells["id"],
        name=cells["name"],
        prefix=cells["prefix"],
        # A scope that this version does not know opens nothing.
        scopes=frozenset(Scope(word) for word in cells["scopes"].split() if word in known),
        bound_to=cells["bound_to"],
        created_at=cells["created_at"],
        created_by=cells["created_by"],
        expires_at=cells["expires_at"],
        last_used_at=cells["last_used_at"],
        revoked_at=cells["revoked_at"],
        revoked_by=cells["revoked_by"],
    )
