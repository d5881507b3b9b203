"""Tokens, users, roles and sessions as they are kept, on every sort of database."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patrol.accounts.hashing import (
    PREFIX_CHARACTERS,
    TOKEN_CHARACTERS,
    derived,
    equal,
    hashed,
    new_token,
    password_hash,
    password_matches,
)
from patrol.accounts.model import Role, Scope, Token, parse_name
from patrol.accounts.presence import has_credential
from patrol.accounts.sessions import LASTING, SessionStore
from patrol.accounts.tokens import TokenStore, TokenWish, UnknownTokenError, parse_scopes
from patrol.accounts.users import UnknownUserError, UserExistsError, UserStore, is_password, keep_password
from patrol.database import Database

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
WISH = TokenWish(name="grafana \u00e4", scopes=frozenset({Scope.METRICS_READ}), bound_to="lab")


@pytest.fixture
def numbers():
    return itertools.count(1)


def create(database: Database, numbers, wish: TokenWish = WISH):
    return database.transact(
        lambda connection: TokenStore(connection).create(
            wish,
            now=NOW,
            author="me",
            ids=lambda: f"{next(numbers):032x}",
            random_bytes=lambda count: next(numbers).to_bytes(count, "big"),
        )
    )


def add(database: Database, name: str, *, administrator: bool = False):
    return database.transact(
        lambda connection: UserStore(connection).add(name, "kept", is_administrator=administrator, now=NOW, author="me")
    )


def test_a_token_is_found_by_its_text_and_kept_without_it(any_database: Database, numbers) -> None:
    made = create(any_database, numbers)
    assert len(made.secret) == TOKEN_CHARACTERS
    assert made.token.prefix == made.secret[:PREFIX_CHARACTERS]
    assert made.secret not in repr(made)
    with any_database.read() as connection:
        store = TokenStore(connection)
        assert store.find_by_secret(made.secret) == made.token
        assert store.find_by_secret(made.secret[:-1] + "?") is None
        assert store.find_by_secret("\ud800\x00\u00e4") is None
        assert store.list_tokens() == [made.token]


def test_a_token_allows_what_it_was_given_and_nothing_without_scopes() -> None:
    def allows(*scopes: Scope, wanted: Scope) -> bool:
        return _token(frozenset(scopes)).allows(frozenset({wanted}))

    assert allows(Scope.AI_EXECUTE, wanted=Scope.AI_EXECUTE)
    assert allows(Scope.ALL, wanted=Scope.SETTINGS_WRITE)
    assert not allows(Scope.AI_EXECUTE, wanted=Scope.SETTINGS_WRITE)
    assert not any(allows(wanted=scope) for scope in Scope)


def _token(scopes: frozenset[Scope]):
    return Token(
        id="1",
        name="t",
        prefix="p",
        scopes=scopes,
        bound_to="default",
        created_at=NOW,
        created_by="me",
        expires_at=None,
    )


def test_a_revoked_token_stays_as_it_was_revoked_first(any_database: Database, numbers) -> None:
    made = create(any_database, numbers)
    for hour, author in ((1, "me"), (2, "you")):
        any_database.transact(
            lambda connection, hour=hour, author=author: TokenStore(connection).revoke(
                TokenStore(connection).get(made.token.id), now=NOW + timedelta(hours=hour), author=author
            )
        )
    with any_database.read() as connection:
        found = TokenStore(connection).get(made.token.id)
    assert (found.revoked_at, found.revoked_by) == (NOW + timedelta(hours=1), "me")
    assert not found.is_valid(NOW + timedelta(hours=1))


def test_a_token_is_meant_by_its_id_its_beginning_or_its_prefix_but_never_by_what_two_share(
    any_database: Database, numbers
) -> None:
    one, other = create(any_database, numbers), create(any_database, numbers)
    with any_database.read() as connection:
        store = TokenStore(connection)
        assert store.get(one.token.id) == one.token
        for text in ("0", "", "zz", "%", other.token.prefix):
            with pytest.raises(UnknownTokenError):
                store.get(text)


def test_a_token_for_a_time_gone_by_is_not_made(any_database: Database, numbers) -> None:
    wish = TokenWish(name="x", scopes=frozenset(), bound_to="default", expires_at=NOW)
    with pytest.raises(ValueError, match="over already"):
        create(any_database, numbers, wish)


def test_unknown_scopes_are_named_with_those_there_are() -> None:
    assert parse_scopes(["ai:execute", "*"]) == {Scope.AI_EXECUTE, Scope.ALL}
    assert parse_scopes([]) == frozenset()
    with pytest.raises(ValueError, match=r"no such scope: ai:run; there are .*ai:execute"):
        parse_scopes(["ai:run", "*"])


def test_users_have_roles_in_organisations(any_database: Database) -> None:
    add(any_database, "Ann")

    def work(connection):
        store = UserStore(connection)
        store.set_role("ann", "default", Role.ADMIN, now=NOW, author="me")
        store.set_role("ann", "default", Role.MEMBER, now=NOW, author="me")
        store.set_role("ann", "lab", Role.OWNER, now=NOW, author="me")
        return store.get("ANN")

    ann = any_database.transact(work)
    assert ann.roles == {"default": Role.MEMBER, "lab": Role.OWNER}
    assert [(ann.enters(org), ann.manages(org)) for org in ("default", "lab", "else")] == [
        (True, False),
        (True, True),
        (False, False),
    ]
    boss = add(any_database, "boss", administrator=True)
    assert (boss.enters("else"), boss.manages("else")) == (True, True)


def test_a_name_is_taken_once_in_letters_of_any_case(any_database: Database) -> None:
    add(any_database, "Ann")
    with pytest.raises(UserExistsError):
        add(any_database, "aNN ")


def test_a_removed_user_is_nobody_and_the_name_is_free_but_brings_nothing_back(any_database: Database) -> None:
    ann = add(any_database, "ann")
    any_database.transact(
        lambda connection: UserStore(connection).set_role("ann", "default", Role.OWNER, now=NOW, author="me")
    )
    secret, _ = any_database.transact(
        lambda connection: SessionStore(connection).begin(ann, now=NOW, random_bytes=bytes)
    )
    any_database.transact(lambda connection: UserStore(connection).remove("ann", now=NOW, author="me"))
    with any_database.read() as connection:
        assert UserStore(connection).find("ann") is None
        assert UserStore(connection).kept_password("ann") == ""
        assert UserStore(connection).list_users() == []
    with pytest.raises(UnknownUserError):
        any_database.transact(lambda connection: UserStore(connection).set_password("ann", "x", now=NOW))
    again = add(any_database, "ann")
    assert again.roles == {}
    with any_database.read() as connection:
        assert SessionStore(connection).find(secret, NOW) is None


def test_a_session_is_found_until_it_is_over(any_database: Database) -> None:
    ann = add(any_database, "ann")
    secret, made = any_database.transact(
        lambda connection: SessionStore(connection).begin(ann, now=NOW, random_bytes=bytes)
    )
    with any_database.read() as connection:
        store = SessionStore(connection)
        assert store.find(secret, NOW + LASTING - timedelta(seconds=1)) == made
        assert store.find(secret, NOW + LASTING) is None
        assert store.find("\ud800", NOW) is None


def test_once_somebody_was_known_there_is_a_credential_for_good(any_database: Database, numbers) -> None:
    def known() -> bool:
        with any_database.read() as connection:
            return has_credential(connection)

    assert not known()
    add(any_database, "ann")
    assert known()
    any_database.transact(lambda connection: UserStore(connection).remove("ann", now=NOW, author="me"))
    assert known()


def test_a_token_counts_as_a_credential_also_when_it_is_over(any_database: Database, numbers) -> None:
    made = create(any_database, numbers)
    any_database.transact(lambda connection: TokenStore(connection).revoke(made.token, now=NOW, author="me"))
    with any_database.read() as connection:
        assert has_credential(connection)


def test_a_password_is_known_again_by_what_is_kept_of_it() -> None:
    kept = keep_password("correct horse battery \u00e4", bytes)
    assert kept.startswith("$scrypt$32768$8$3$")
    assert is_password("correct horse battery \u00e4", kept)
    assert not is_password("correct horse battery", kept)


@pytest.mark.parametrize("password", ["", "short", "x" * 1025])
def test_passwords_too_short_or_too_long_are_not_taken(password) -> None:
    with pytest.raises(ValueError, match="12 to 1024 characters"):
        keep_password(password, bytes)


def test_where_there_is_no_user_no_password_is_right() -> None:
    assert not is_password("", "")
    assert not is_password("x" * 5_000, "")


@given(
    st.text(max_size=60)
    | st.lists(st.sampled_from(["$", "scrypt", "16", "1", "AAAA", "\u00e4", "-1", "0"])).map("$".join)
)
def test_no_kept_text_is_a_crash_or_opens_anything(kept: str) -> None:
    assert not password_matches("x", kept)


@given(st.text(), st.text())
def test_texts_of_any_characters_can_be_compared(one: str, other: str) -> None:
    assert equal(one, one)
    assert equal(one, other) is (one == other)
    assert (hashed(one) == hashed(other)) is (one == other)
    assert derived(one, "a") != derived(one, "b")


def test_tokens_are_marked_so_that_scanners_find_them() -> None:
    assert new_token(bytes).startswith("patrol_")


@pytest.mark.parametrize("name", ["", " ", "-a", "a b", "\u00e4nn", "a" * 65, "a/b", "a\x00"])
def test_names_that_cannot_be(name) -> None:
    with pytest.raises(ValueError, match="a name has"):
        parse_name(name)


def test_a_hash_tells_its_cost_so_that_it_can_be_raised_later() -> None:
    assert password_hash("x", bytes).split("$")[1:5] == ["scrypt", "32768", "8", "3"]
