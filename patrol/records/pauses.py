"""The pause: whether there is one, and an operator's word that there is, or is not any more."""

from datetime import datetime

import msgspec

from patrol.records.desk import WRONG, Desk, Question, QuestionRefusedError
from patrol.schedule.pauses import Pause, find_pause, pause, resume


class PauseTold(msgspec.Struct, frozen=True, kw_only=True):
    """The pause in force, or the one that was just ended; None where there is none. `replaced`: by this word."""

    pause: Pause | None
    replaced: Pause | None = None


class ShowPause(Question, frozen=True, kw_only=True):
    """Whether Patrol is paused."""

    def answer(self, desk: Desk, /) -> PauseTold:
        """The pause in force."""
        with desk.database.read() as connection:
            return PauseTold(pause=find_pause(connection, desk.org_id, desk.clock()))


class PauseRuns(Question, frozen=True, kw_only=True):
    """No run starts by itself, until a time or until somebody resumes."""

    until: datetime | None = None
    reason: str = ""

    def answer(self, desk: Desk, /) -> PauseTold:
        """Pauses."""
        with desk.database.read() as connection:
            before = find_pause(connection, desk.org_id, desk.clock())
        try:
            made = pause(
                desk.database,
                desk.org_id,
                now=desk.clock(),
                until=self.until,
                reason=self.reason,
                author=desk.author,
                ids=desk.ids,
            )
        except ValueError as error:
            raise QuestionRefusedError(f"--until: {error}", WRONG) from error
        desk.settings_changed()
        return PauseTold(pause=made, replaced=before)


class ResumeRuns(Question, frozen=True, kw_only=True):
    """The pause is over."""

    def answer(self, desk: Desk, /) -> PauseTold:
        """Ends it."""
        ended = resume(desk.database, desk.org_id, now=desk.clock(), author=desk.author)
        desk.settings_changed()
        return PauseTold(pause=ended)
