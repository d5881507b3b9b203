"""Findings made from their values: a run with a hundred thousand of them makes several hundred thousand.

`Finding(...)` and `dataclasses.replace` on a frozen class of so many fields put in one value after the other past the
class. Here a class with the same fields that is not frozen is filled, at a tenth of the cost, and becomes a finding.
Neither class checks anything when one is made, so that nothing is left out; tests hold that.
"""

from collections.abc import Iterable
from dataclasses import fields, make_dataclass
from operator import attrgetter
from typing import Any

from findings.model import Finding

FINDING_COLUMNS = tuple(field.name for field in fields(Finding))
"""The fields of a finding, in the order of its class and of its row."""

finding_cells = attrgetter(*FINDING_COLUMNS)
"""The values of a finding in that order."""

_PLACE = {name: place for place, name in enumerate(FINDING_COLUMNS)}
_Draft = make_dataclass("_Draft", [(name, object) for name in FINDING_COLUMNS], slots=True)


def assembled(values: Iterable[object]) -> Finding:
    """What `Finding(*values)` would make, were it made by position. Raises TypeError for too few or too many."""
    draft: Any = _Draft(*values)
    # The same slots in the same order: https://docs.python.org/3/reference/datamodel.html#notes-on-using-slots
    draft.__class__ = Finding
    finding: Finding = draft
    return finding


def changed(finding: Finding, **changes: object) -> Finding:
    """What `dataclasses.replace` makes of a finding. Raises TypeError for what is no field."""
    values = list(finding_cells(finding))
    try:
        for name, value in changes.items():
            values[_PLACE[name]] = value
    except KeyError as error:
        raise TypeError(f"not a field of a finding: {error.args[0]}") from None
    return assembled(values)
