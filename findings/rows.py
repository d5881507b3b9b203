"""Findings, transitions and silences as rows, and back. Pure; column order is the order of the dataclass fields."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import Any, TypeAlias

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

FINDING_COLUMNS = tuple(field.name for field in fields(Finding))
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

_finding_cells = attrgetter(*FINDING_COLUMNS)
_transition_cells = attrgetter(*TRANSITION_COLUMNS)
_foreign_texts = attrgetter(*FOREIGN_TEXTS)

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
_OUTCOMES = frozenset(InvestigationOutcome)


def finding_row(finding: Finding) -> dict[str, Cell]:
    """The columns of a finding. Text that no database takes is mended: one bad name must not block a whole run."""
    row: dict[str, Any] = dict(zip(FINDING_COLUMNS, _finding_cells(finding), strict=True))
    _as_words(row, _FINDING_WORDS)
    _as_words(row, ("investigation_outcome",))
    row["facts"] = _facts_text(finding.facts)
    row["acknowledged_facts"] = _facts_text(finding.acknowledged_facts)
    row["lives_on"] = json.dumps(finding.lives_on) if finding.lives_on else "[]"
    if not "".join(_foreign_texts(finding)).isprintable():
        for name in FOREIGN_TEXTS:
            row[name] = storable(row[name])
    return row


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
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def finding_of(cells: Sequence[Cell]) -> Finding:
    """The finding of a row in the order of `FINDING_COLUMNS`.

    An outcome that this version does not know reads as `unknown`. Raises ValueError for any other unknown word.
    """
    values: dict[str, Any] = dict(zip(FINDING_COLUMNS, cells, strict=True))
    _from_words(values, _FINDING_WORDS)
    outcome = values["investigation_outcome"]
    if outcome is not None:
        known = outcome in _OUTCOMES
        values["investigation_outcome"] = InvestigationOutcome(outcome) if known else InvestigationOutcome.UNKNOWN
    values["facts"] = _facts(values["facts"])
    values["acknowledged_facts"] = _facts(values["acknowledged_facts"])
    values["lives_on"] = places_of(values["lives_on"])
    return Finding(**values)


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
    facts: dict[str, float] = json.loads(text) if text != "{}" else {}
    return facts
