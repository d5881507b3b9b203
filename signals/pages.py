"""What every page of an output and every row on it has, and the kinds of values that stand in them.

Field names of all pages are the documented ones (JSON, snake_case unless the wire says otherwise); percentages are
0-100, `_gb` is 2^30 bytes. Fields marked "Patrol adds" travel beside the documented ones, so that a detection is a
function of its transcript alone. None means "not measured", never zero.

Every output of Patrol's own tools carries `complete` (everything asked for was read and understood) and
`gaps` (what was not). A recorded output without `complete` never clears anything.
"""

from typing import Annotated, TypeVar

import msgspec

from findings.model import Gap

Id = str | int | None
"""An id as it comes: text or a number (VMIDs come as either)."""

Time = str | int | float | None
"""An instant as it comes: RFC 3339, the same with a space or without a zone, or epoch seconds."""


Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""A whole number that a counter can hold. One without end is no reading: it costs its row."""

Value = TypeVar("Value")


def always(value: Value) -> Value:
    """The default of a field that is written also where it holds just this, as the documents promise it."""
    return msgspec.field(default_factory=lambda: value)


def always_list() -> list[Value]:
    """Likewise an empty list: of what was looked for, there is nothing."""
    return msgspec.field(default_factory=_new_list)


def always_map() -> dict[str, Value]:
    """Likewise an empty object."""
    return msgspec.field(default_factory=_new_map)


def _new_list() -> list[Value]:
    # Not `list` itself: an empty one of those is left out.
    return []


def _new_map() -> dict[str, Value]:
    return {}


class Row(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """One row of a page."""


class Pagination(Row, omit_defaults=False):
    total: Whole = 0
    limit: Whole = 0
    offset: Whole = 0


class Page(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """What every output has beside its rows. `zone`: IANA name that naive times of this page are in."""

    pagination: Pagination | None = None
    complete: bool = always(False)  # noqa: FBT003
    gaps: list[Gap] = always_list()
    zone: str = ""
