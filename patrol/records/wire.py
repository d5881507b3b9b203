"""Questions and answers between a command and a daemon: JSON, of one version at both ends."""

from typing import Any

import msgspec

from patrol.records.desk import Refusal

PATH = "/api/local/command"


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question of a command of this version. Without one: who is there?"""

    version: str
    question: dict[str, Any] | None = None


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What the daemon says, and which one it is. `database`: what `patrol.database.place.called` calls its own.

    Neither answer nor refusal: nothing was asked, or by a command of another version.
    """

    version: str
    database: str
    refusal: Refusal | None = None
    answer: msgspec.Raw = msgspec.Raw(b"null")
