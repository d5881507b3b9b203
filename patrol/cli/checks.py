"""One thing that a run needs, and whether it is there: what `patrol doctor` is made of."""

from enum import StrEnum

import msgspec


class Health(StrEnum):
    """The answer of one check."""

    OK = "ok"
    PROBLEM = "problem"


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a run needs. `detail` says what was found, and for a problem what mends it."""

    name: str
    health: Health
    detail: str
