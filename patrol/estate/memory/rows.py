"""Remembered resources and aliases as rows, and back. Pure.

A hundred thousand rows are read in every run, so instants are decoded here: most of them are a few instants again
and again.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from findings.rows import Cell, storable
from patrol.estate.memory.model import Alias, Presence, Remembered, RemovedBy, Strength

RESOURCE_COLUMNS = Remembered.__struct_fields__
ALIAS_COLUMNS = Alias.__struct_fields__

_PRESENCES = {str(each): each for each in Presence}
_STRENGTHS = {str(each): each for each in Strength}


def resource_row(known: Remembered) -> dict[str, Cell]:
    """The columns of a resource."""
    row: dict[str, Any] = {name: getattr(known, name) for name in RESOURCE_COLUMNS}
    row["presence"] = str(known.presence)
    row["removed_by"] = str(known.removed_by) if known.removed_by is not None else None
    for name in ("name", "source", "parent", "place"):
        row[name] = storable(row[name])
    return row


def alias_row(alias: Alias) -> dict[str, Cell]:
    """The columns of an alias."""
    row: dict[str, Any] = {name: getattr(alias, name) for name in ALIAS_COLUMNS}
    row["strength"] = str(alias.strength)
    row["alias"], row["source"] = storable(alias.alias), storable(alias.source)
    return row


def resource_of(cells: Sequence[Any]) -> Remembered:
    """The resource of a row in the order of `RESOURCE_COLUMNS`, its instants as the driver gives them."""
    resource_id, kind, name, source, parent, place, first, last, presence, absent_runs, removed_at, removed_by = cells
    return Remembered(
        id=resource_id,
        type=kind,
        name=name,
        source=source,
        parent=parent,
        place=place,
        first_seen_at=instant(first),
        last_seen_at=instant(last),
        presence=_PRESENCES[presence],
        absent_runs=absent_runs,
        removed_at=instant(removed_at) if removed_at is not None else None,
        removed_by=RemovedBy(removed_by) if removed_by is not None else None,
    )


def alias_of(cells: Sequence[Any]) -> Alias:
    """The alias of a row in the order of `ALIAS_COLUMNS`, its instants as the driver gives them."""
    alias, resource_id, source, strength, first, last = cells
    return Alias(
        alias=alias,
        resource_id=resource_id,
        source=source,
        strength=_STRENGTHS[strength],
        first_seen_at=instant(first),
        last_seen_at=instant(last),
    )


@lru_cache(maxsize=4096)
def instant(stored: str | datetime) -> datetime:
    """A stored instant: the text that SQLite keeps, or what another driver made of it."""
    at = datetime.fromisoformat(stored) if isinstance(stored, str) else stored
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
