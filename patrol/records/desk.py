"""Where questions are answered: what an answer may use, what every question is, and how one is turned down."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from findings.model import DEFAULT_ORG
from findings.rows import storable
from patrol.accounts.hashing import RandomBytes
from patrol.database import Database

Answer_co = TypeVar("Answer_co", covariant=True)


def _nobody() -> None:
    """Nobody in this process waits to hear of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """All that an answer may use. `author`: who asks, as the author of what is changed.

    `organisations`: those that the settings name besides the default one. `settings_changed`: says to whoever goes by
    it that an operator has paused or resumed; from any thread.
    """

    database: Database
    org_id: str
    author: str
    clock: Callable[[], datetime]
    ids: Callable[[], str]
    random_bytes: RandomBytes
    organisations: Sequence[str] = ()
    settings_changed: Callable[[], None] = _nobody

    def known_org(self, org: str) -> str:
        """The organisation that was named. Raises QuestionRefusedError where there is none of this id."""
        known = (DEFAULT_ORG, *self.organisations)
        if org not in known:
            listed = ", ".join(known)
            raise QuestionRefusedError(
                f"--org: there is no organisation {org} ([api] organisations); there is {listed}", WRONG
            )
        return org


class Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag=True):
    """A question as it may be sent: its class is its name, its fields are options that were read and checked.

    Invariant: its texts are such that every database takes them, whatever was typed or sent.
    """

    def __post_init__(self) -> None:
        """Keeps the invariant."""
        for name in self.__struct_fields__:
            msgspec.structs.force_setattr(self, name, _with_storable_texts(getattr(self, name)))


def _with_storable_texts(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [storable(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{each.name: _with_storable_texts(getattr(value, each.name)) for each in fields(value)})
    return value


class Answerable(Protocol[Answer_co]):
    """A question that is answered with a struct which may be sent back."""

    def answer(self, desk: Desk, /) -> Answer_co:
        """Reads and writes what is asked for, and shows nothing. Raises QuestionRefusedError, StorageError."""
        ...


ExitCode = Literal[1, 2]
NOT_THERE: ExitCode = 1
"""The command was right, and what it asks for is not there."""
WRONG: ExitCode = 2
"""The command cannot mean this."""


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why a question is not answered: the code with which its command ends, and its words for the terminal."""

    code: ExitCode
    text: str


class QuestionRefusedError(Exception):
    """A question is not answered, and nothing was changed."""

    def __init__(self, text: str, code: ExitCode) -> None:
        super().__init__(text)
        self.refusal = Refusal(code=code, text=text)
