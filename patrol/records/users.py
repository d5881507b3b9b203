"""Users: added, changed, removed, listed. Of a password only what is kept of it is ever sent."""

from collections.abc import Callable

import msgspec

from patrol.accounts.model import Role, User
from patrol.accounts.users import UnknownUserError, UserExistsError, UserStore
from patrol.records.desk import NOT_THERE, WRONG, Desk, Question, QuestionRefusedError


class OneUser(msgspec.Struct, frozen=True, kw_only=True):
    """A user."""

    user: User


class UserList(msgspec.Struct, frozen=True, kw_only=True):
    """Users, by name."""

    users: list[User]


class ListUsers(Question, frozen=True, kw_only=True):
    """All of them."""

    def answer(self, desk: Desk, /) -> UserList:
        """Which there are."""
        with desk.database.read() as connection:
            return UserList(users=UserStore(connection).list_users())


class ShowUser(Question, frozen=True, kw_only=True):
    """One of them."""

    name: str

    def answer(self, desk: Desk, /) -> OneUser:
        """Who it is."""
        with desk.database.read() as connection:
            return _known(lambda: UserStore(connection).get(self.name))


class NameIsFree(msgspec.Struct, frozen=True, kw_only=True):
    """A user of this name may be added."""

    name: str


class AskForName(Question, frozen=True, kw_only=True):
    """Whether a user of this name may be added: asked before somebody types a password."""

    name: str
    org: str

    def answer(self, desk: Desk, /) -> NameIsFree:
        """That it is so."""
        desk.known_org(self.org)
        with desk.database.read() as connection:
            if UserStore(connection).find(self.name) is not None:
                raise QuestionRefusedError(f"there is a user {self.name} already", NOT_THERE)
        return NameIsFree(name=self.name)


class AddUser(Question, frozen=True, kw_only=True):
    """A new one. `kept`: what is kept of the password (`patrol.accounts.users.keep_password`)."""

    name: str
    kept: str
    administrator: bool
    role: Role
    org: str

    def answer(self, desk: Desk, /) -> OneUser:
        """Adds it."""
        organisation, now = desk.known_org(self.org), desk.clock()

        def work(store: UserStore) -> User:
            store.add(self.name, self.kept, is_administrator=self.administrator, now=now, author=desk.author)
            return store.set_role(self.name, organisation, self.role, now=now, author=desk.author)

        try:
            return OneUser(user=desk.database.transact(lambda connection: work(UserStore(connection))))
        except UserExistsError as error:
            raise QuestionRefusedError(str(error), NOT_THERE) from error
        except ValueError as error:
            raise QuestionRefusedError(f"{self.name}: {error}", WRONG) from error


class SetPassword(Question, frozen=True, kw_only=True):
    """Another password; the sessions end."""

    name: str
    kept: str

    def answer(self, desk: Desk, /) -> OneUser:
        """Sets it."""
        now = desk.clock()
        return _known(
            lambda: desk.database.transact(
                lambda connection: UserStore(connection).set_password(self.name, self.kept, now=now)
            )
        )


class SetRole(Question, frozen=True, kw_only=True):
    """What a user is in an organisation; None: nothing any more."""

    name: str
    org: str
    role: Role | None = None

    def answer(self, desk: Desk, /) -> OneUser:
        """Sets it."""
        organisation, now = desk.known_org(self.org), desk.clock()
        return _known(
            lambda: desk.database.transact(
                lambda connection: UserStore(connection).set_role(
                    self.name, organisation, self.role, now=now, author=desk.author
                )
            )
        )


class RemoveUser(Question, frozen=True, kw_only=True):
    """One has no access any more."""

    name: str

    def answer(self, desk: Desk, /) -> OneUser:
        """Takes it away."""
        now = desk.clock()
        return _known(
            lambda: desk.database.transact(
                lambda connection: UserStore(connection).remove(self.name, now=now, author=desk.author)
            )
        )


def _known(act: Callable[[], User]) -> OneUser:
    try:
        return OneUser(user=act())
    except UnknownUserError as error:
        raise QuestionRefusedError(f"{error}; see `patrol user list`", NOT_THERE) from error
