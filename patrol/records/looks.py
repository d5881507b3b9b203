"""The last full look: when it was, what came of it, and what it could not see."""

from datetime import datetime

import msgspec

from patrol.records.desk import Desk, Question
from patrol.run.listing import newest, saw_everything_at
from patrol.run.record_model import RunRecord, RunType


class LastLook(msgspec.Struct, frozen=True, kw_only=True):
    """The newest full run that has ended, None where there was none; and when one last saw everything."""

    run: RunRecord | None
    complete_at: datetime | None
    at: datetime


class ShowLastLook(Question, frozen=True, kw_only=True):
    """How current a list of findings is: one that is empty says nothing where nobody has looked."""

    def answer(self, desk: Desk, /) -> LastLook:
        """When it was."""
        with desk.database.read() as connection:
            return LastLook(
                run=newest(connection, desk.org_id, run_type=RunType.FULL),
                complete_at=saw_everything_at(connection, desk.org_id),
                at=desk.clock(),
            )
