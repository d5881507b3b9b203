"""Silences: made, listed, ended."""

from datetime import datetime

import msgspec

from findings.silence import Silence, SilenceError
from findings.silence_store import SilenceEndedError, SilenceStore
from findings.store import FindingStore
from patrol.operators.ids import AmbiguousIdError, UnknownIdError
from patrol.operators.silences import Spoken, Wish, add_silence, end_silence, spoken
from patrol.records.desk import NOT_THERE, WRONG, Desk, Question, QuestionRefusedError


class OneSilence(msgspec.Struct, frozen=True, kw_only=True):
    """A silence as it was at that moment."""

    silence: Silence
    at: datetime


class AddSilence(Question, frozen=True, kw_only=True):
    """A new one."""

    wish: Wish

    def answer(self, desk: Desk, /) -> OneSilence:
        """Makes it."""
        now = desk.clock()
        try:
            made = add_silence(desk.database, desk.org_id, self.wish, now=now, author=desk.author, ids=desk.ids)
        except SilenceError as error:
            raise QuestionRefusedError(f"--{error.field}: {error}", WRONG) from error
        return OneSilence(silence=made, at=now)


class SilenceList(msgspec.Struct, frozen=True, kw_only=True):
    """Silences, and the findings that an operator keeps quiet one by one."""

    silences: list[Silence]
    spoken: list[Spoken]
    at: datetime


class ListSilences(Question, frozen=True, kw_only=True):
    """Those that are not over, or `everything`."""

    everything: bool = False

    def answer(self, desk: Desk, /) -> SilenceList:
        """Which there are."""
        now = desk.clock()
        with desk.database.read() as connection:
            store = SilenceStore(connection, desk.org_id)
            found = store.list_silences(not_over_at=None if self.everything else now)
            words = spoken(FindingStore(connection, desk.org_id), now)
        return SilenceList(silences=found, spoken=words, at=now)


class EndSilence(Question, frozen=True, kw_only=True):
    """One is over now, by its id or the beginning of it."""

    silence_id: str

    def answer(self, desk: Desk, /) -> OneSilence:
        """Ends it."""
        now = desk.clock()
        try:
            ended = end_silence(desk.database, desk.org_id, self.silence_id, now=now, author=desk.author)
        except UnknownIdError as error:
            hint = "`patrol silence list --all`; a finding's own silence ends with `patrol findings undo`"
            raise QuestionRefusedError(f"{error}; {hint}", NOT_THERE) from error
        except AmbiguousIdError as error:
            raise QuestionRefusedError(str(error), WRONG) from error
        except SilenceEndedError as error:
            text = f"the silence {error} is over already: nothing to end"
            raise QuestionRefusedError(text, NOT_THERE) from error
        return OneSilence(silence=ended, at=now)
