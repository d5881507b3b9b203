"""Findings made field by field: a run with a hundred thousand of them makes several hundred thousand.

`Finding(...)` and `dataclasses.replace` on a frozen class of so many fields take three to six times as long. The
class checks nothing when one is made, so that nothing is left out here; a test holds that.
"""

from collections.abc import Sequence
from dataclasses import fields

from findings.model import Finding

FINDING_COLUMNS = tuple(field.name for field in fields(Finding))
"""The fields of a finding, in the order of its class and of its row."""

_SLOTS = tuple((name, getattr(Finding, name)) for name in FINDING_COLUMNS)
_PUT = tuple(slot.__set__ for _, slot in _SLOTS)
_COPY = tuple((name, slot.__get__, slot.__set__) for name, slot in _SLOTS)
_NAMES = frozenset(FINDING_COLUMNS)


def assembled(values: Sequence[object]) -> Finding:
    """What `Finding(*values)` would make, were it made by position. Raises ValueError for too few or too many."""
    finding = object.__new__(Finding)
    for put, value in zip(_PUT, values, strict=True):
        put(finding, value)
    return finding


def changed(finding: Finding, **changes: object) -> Finding:
    """What `dataclasses.replace` makes of a finding. Raises TypeError for what is no field."""
    if not _NAMES.issuperset(changes):
        raise TypeError(f"not a field of a finding: {', '.join(sorted(changes.keys() - _NAMES))}")
    after = object.__new__(Finding)
    for name, get, put in _COPY:
        put(after, changes[name] if name in changes else get(finding))
    return after
