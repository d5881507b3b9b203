"""Which columns of a finding a change writes: few of them in most cases.

What is not written costs nothing, and a column that stands in an index costs most: SQLite writes the index anew for
each column that is set, whether its value is another one or not.
"""

from collections.abc import Iterable
from operator import attrgetter

from sqlalchemy import Update, bindparam

from findings.assembly import FINDING_COLUMNS
from findings.model import Finding
from findings.rows import Cell, FindingRows
from findings.tables import FINDINGS


class FindingUpdate:
    """A statement that writes all columns but some, as compare-and-swap on the version."""

    def __init__(self, *, leaves: Iterable[str]) -> None:
        left = frozenset(leaves)
        self._rows = FindingRows([name for name in FINDING_COLUMNS if name not in left])
        self._left = attrgetter(*[name for name in FINDING_COLUMNS if name in left])
        self.statement: Update = (
            FINDINGS.update()
            .where(
                FINDINGS.c.org_id == bindparam("at_org"),
                FINDINGS.c.id == bindparam("at_id"),
                FINDINGS.c.version == bindparam("at_version"),
            )
            .values({name: bindparam(name) for name in self._rows.columns})
        )

    def covers(self, before: Finding, after: Finding) -> bool:
        """Whether the columns that it leaves stay as they are."""
        return bool(self._left(before) == self._left(after))

    def row(self, before: Finding, after: Finding) -> dict[str, Cell]:
        """The values of the statement for one change."""
        row = self._rows.row(after)
        row["at_org"], row["at_id"], row["at_version"] = before.org_id, before.id, before.version
        return row


_IDENTITY = ("org_id", "id")
_BELONGING = ("key", "resource_id")
"""These change only where two resources turn out to be one, and stand in an index each."""
_SEEN = frozenset(
    {
        "resource_name",
        "resource_type",
        "category",
        "severity",
        "basis",
        "summary",
        "evidence",
        "value",
        "limit",
        "limit_source",
        "facts",
        "tool_call_id",
        "last_seen_at",
        "times_raised",
        "raise_count",
        "clear_streak",
        "last_run_id",
        "version",
        "parent_finding",
        "lives_on",
    }
)
"""What is another one where a finding was only seen again, or not."""

_UPDATES = (
    FindingUpdate(leaves=(name for name in FINDING_COLUMNS if name not in _SEEN)),
    FindingUpdate(leaves=(*_IDENTITY, *_BELONGING)),
    FindingUpdate(leaves=_IDENTITY),
)


def update_for(before: Finding, after: Finding) -> FindingUpdate:
    """The update that writes this change with the fewest columns. Raises ValueError where the identity is another."""
    for update in _UPDATES:
        if update.covers(before, after):
            return update
    raise ValueError(f"{before.id} of {before.org_id} cannot become {after.id} of {after.org_id}")
