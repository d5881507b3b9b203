"""Findings, transitions and silences as rows, and back. Pure; column order is the order of the dataclass fields."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any, TypeAlias

from findings.assembly import FINDING_COLUMNS, assembled
from findings.investigation import InvestigationOutcome, InvestigationStatus
from findings.model import (
    Basis,
    Category,
    DismissedReason,
    Finding,
    FindingState,
    ResolveReason,
    Severity,
    Transition,
    TransitionReason,
)
from findings.silence import QuietReason, Silence, SilenceKind

Cell: TypeAlias = str | int | float | bool | datetime | None
"""What a column holds."""

FINDING_INSTANTS = tuple(field.name for field in fields(Finding) if field.name.endswith(("_at", "_until")))
TRANSITION_COLUMNS = tuple(field.name for field in fields(Transition))
SILENCE_COLUMNS = tuple(field.name for field in fields(Silence))

FOREIGN_TEXTS = (
    "resource_id",
    "resource_name",
    "resource_type",
    "kind",
    "subject",
    "title",
    "summary",
    "evidence",
    "limit_source",
    "tool_call_id",
    "acknowledged_by",
    "silenced_by",
    "silence_note",
    "user_note",
)
"""Fields whose text comes from devices, guests, models or people."""

_transition_cells = attrgetter(*TRANSITION_COLUMNS)

_FINDING_WORDS: dict[str, type[StrEnum]] = {
    "category": Category,
    "severity": Severity,
    "basis": Basis,
    "state": FindingState,
    "resolve_reason": ResolveReason,
    "dismissed_reason": DismissedReason,
    "investigation_status": InvestigationStatus,
}
_TRANSITION_WORDS: dict[str, type[StrEnum]] = {
    "old_state": FindingState,
    "new_state": FindingState,
    "reason": TransitionReason,
    "resolve_reason": ResolveReason,
    "old_severity": Severity,
    "new_severity": Severity,
    "old_quiet": QuietReason,
    "new_quiet": QuietReason,
    "dismissed_reason": DismissedReason,
}
_FACTS: tuple[str, ...] = ("facts", "acknowledged_facts")
_decode = json.JSONDecoder().raw_decode  # what `finding_row` wrote has no blanks around it


class FindingRows:
    """Makes rows of findings, with some of their columns."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self._cells = attrgetter(*self.columns)
        self._words = tuple(name for name in (*_FINDING_WORDS, "investigation_outcome") if name in self.columns)
        self._facts = tuple(name for name in _FACTS if name in self.columns)
        self._foreign = tuple(name for name in FOREIGN_TEXTS if name in self.columns)
        self._foreign_texts = itemgetter(*self._foreign)

    def row(self, finding: Finding) -> dict[str, Cell]:
        """The columns of a finding. Text that no database takes is mended: one bad name must not block a whole run."""
        row: dict[str, Any] = dict(zip(self.columns, self._cells(finding), strict=True))
        _as_words(row, self._words)
        for name in self._facts:
            row[name] = _facts_text(row[name])
        if "lives_on" in row:
            row["lives_on"] = json.dumps(finding.lives_on) if finding.lives_on else "[]"
        if not "".join(self._foreign_texts(row)).isprintable():
            for name in self._foreign:
                row[name] = storable(row[name])
        return row


finding_row = FindingRows(FINDING_COLUMNS).row


def transition_row(transition: Transition) -> dict[str, Cell]:
    """The columns of a transition."""
    row: dict[str, Any] = dict(zip(TRANSITION_COLUMNS, _transition_cells(transition), strict=True))
    _as_words(row, _TRANSITION_WORDS)
    row["author"], row["note"] = storable(transition.author), storable(transition.note)
    return row


def silence_row(silence: Silence) -> dict[str, Cell]:
    """The columns of a silence."""
    row: dict[str, Any] = {name: getattr(silence, name) for name in SILENCE_COLUMNS}
    row["kind"] = str(silence.kind)
    for name in ("resource_id", "resource_name", "finding_kind", "reason", "author", "ended_by"):
        row[name] = storable(row[name])
    return row


def storable(text: str) -> str:
    """The text without what UTF-8 cannot hold (lone surrogates) or PostgreSQL refuses (NUL)."""
    if text.isascii() and "\0" not in text:  # nearly every text, a million times in a large run
        return text
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def finding_of(cells: Sequence[Cell]) -> Finding:
    """The finding of a row in the order of `FINDING_COLUMNS`; instants as values or as the text of a file's column.

    An outcome that this version does not know reads as `unknown`. Raises ValueError for any other unknown word.
    """
    values: list[Any] = list(cells)
    for position, read in _READERS:
        cell = values[position]
        if cell is not None:
            values[position] = read(cell)
    return assembled(values)


@lru_cache(maxsize=4096)
def places_of(text: str) -> tuple[str, ...]:
    """What a resource lives on, from its column."""
    return tuple(json.loads(text)) if text != "[]" else ()


def transition_of(cells: Sequence[Cell]) -> Transition:
    """The transition of a row in the order of `TRANSITION_COLUMNS`."""
    values: dict[str, Any] = dict(zip(TRANSITION_COLUMNS, cells, strict=True))
    _from_words(values, _TRANSITION_WORDS)
    return Transition(**values)


def silence_of(cells: Sequence[Cell]) -> Silence:
    """The silence of a row in the order of `SILENCE_COLUMNS`."""
    values: dict[str, Any] = dict(zip(SILENCE_COLUMNS, cells, strict=True))
    values["kind"] = SilenceKind(values["kind"])
    return Silence(**values)


def _as_words(row: dict[str, Any], names: Iterable[str]) -> None:
    """Drivers differ in what they make of an enum; of a plain string they make the same."""
    for name in names:
        if row[name] is not None:
            row[name] = str(row[name])


def _from_words(values: dict[str, Any], words: Mapping[str, type[StrEnum]]) -> None:
    for name, word in words.items():
        if values[name] is not None:
            values[name] = word(values[name])


def _facts_text(facts: Mapping[str, float]) -> str:
    if not facts:
        return "{}"
    return json.dumps({name: count for name, count in facts.items() if math.isfinite(count)}, sort_keys=True)


def _facts(text: str) -> dict[str, float]:
    facts: dict[str, float] = _decode(text)[0] if text != "{}" else {}
    return facts


@lru_cache(maxsize=4096)  # what one run saw, it saw at one time
def _instant_of(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _instant(cell: str | datetime) -> datetime:
    return _instant_of(cell) if isinstance(cell, str) else cell


class _Words(dict[str, StrEnum]):
    """Members of an enum by their word: four times as fast as asking the enum."""

    def __init__(self, word: type[StrEnum], unknown: StrEnum | None = None) -> None:
        super().__init__((str(each), each) for each in word)
        self._word = word
        self._unknown = unknown

    def __missing__(self, text: str) -> StrEnum:
        return self._unknown or self._word(text)


_READ: dict[str, Callable[[Any], object]] = {
    **{name: _Words(word).__getitem__ for name, word in _FINDING_WORDS.items()},
    "investigation_outcome": _Words(InvestigationOutcome, InvestigationOutcome.UNKNOWN).__getitem__,
    "facts": _facts,
    "acknowledged_facts": _facts,
    "lives_on": places_of,
    **dict.fromkeys(FINDING_INSTANTS, _instant),
}
_READERS = tuple((FINDING_COLUMNS.index(name), read) for name, read in _READ.items())
