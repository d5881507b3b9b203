"""Tokens: made, listed, revoked."""

from datetime import datetime

import msgspec

from patrol.accounts.model import Scope, Token
from patrol.accounts.tokens import TokenStore, TokenWish, UnknownTokenError
from patrol.records.desk import NOT_THERE, WRONG, Desk, Question, QuestionRefusedError


class TokenMade(msgspec.Struct, frozen=True, kw_only=True):
    """A new token and its secret, which is told once and kept nowhere."""

    token: Token
    secret: str
    at: datetime


class CreateToken(Question, frozen=True, kw_only=True):
    """A new one, for one organisation."""

    name: str
    scopes: frozenset[Scope]
    org: str
    expires_at: datetime | None = None

    def answer(self, desk: Desk, /) -> TokenMade:
        """Makes it."""
        now = desk.clock()
        wish = TokenWish(
            name=self.name, scopes=self.scopes, bound_to=desk.known_org(self.org), expires_at=self.expires_at
        )
        try:
            made = desk.database.transact(
                lambda connection: TokenStore(connection).create(
                    wish, now=now, author=desk.author, ids=desk.ids, random_bytes=desk.random_bytes
                )
            )
        except ValueError as error:
            raise QuestionRefusedError(f"--until: {error}", WRONG) from error
        return TokenMade(token=made.token, secret=made.secret, at=now)


class TokenList(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens, as they were at that moment."""

    tokens: list[Token]
    at: datetime


class ListTokens(Question, frozen=True, kw_only=True):
    """Those that open anything, or `everything`."""

    everything: bool = False

    def answer(self, desk: Desk, /) -> TokenList:
        """Which there are."""
        now = desk.clock()
        with desk.database.read() as connection:
            found = TokenStore(connection).list_tokens()
        return TokenList(tokens=[each for each in found if self.everything or each.is_valid(now)], at=now)


class OneToken(msgspec.Struct, frozen=True, kw_only=True):
    """A token as it was at that moment."""

    token: Token
    at: datetime


class RevokeToken(Question, frozen=True, kw_only=True):
    """One opens nothing any more: its id, the beginning of it, or how the token begins."""

    token_id: str

    def answer(self, desk: Desk, /) -> OneToken:
        """Revokes it."""
        now = desk.clock()
        try:
            ended = desk.database.transact(
                lambda connection: TokenStore(connection).revoke(
                    TokenStore(connection).get(self.token_id), now=now, author=desk.author
                )
            )
        except UnknownTokenError as error:
            raise QuestionRefusedError(f"{error}; see `patrol token list --all`", NOT_THERE) from error
        return OneToken(token=ended, at=now)
