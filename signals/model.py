"""What a detection is made of: tool calls in; signals, and what was examined, out."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from enum import StrEnum
from itertools import repeat
from typing import NamedTuple

import msgspec

from findings.kinds import Kind
from findings.model import Category, Look, ResourceId, Severity

SignalType = Kind
"""A signal's type and the kind of the finding it becomes are the same word."""

EVIDENCE_LIMIT = 500
"""Longest evidence of a signal, in bytes of UTF-8."""


class Origin(StrEnum):
    """Who made a tool call."""

    MODEL = "model"
    PATROL = "patrol"  # Patrol's own sweep: the only calls that may say clear
    LATER = "later"  # the model, after the detectors had judged: no part of what they read


class ToolCall(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One recorded call of a read tool.

    `input` is an object or JSON text. `output` is a page (see `signals.pages`; inside a run),
    or what was recorded of it: JSON text, text around JSON, or the raw bytes of a JSON object.
    """

    id: str
    tool_name: str
    input: dict[str, object] | str | None = None
    output: object = None
    success: bool = True
    origin: Origin = Origin.MODEL


class Signal(msgspec.Struct, frozen=True, kw_only=True):
    """A detector's statement about one condition of one resource.

    `value` and `limit` carry the unit of the signal type (percent, hours, degrees Celsius, a count), null
    where there is no number. `evidence` is the offending row as compact JSON, at most 500 bytes, never cut
    inside a character. `facts` holds the named counts behind the statement.
    """

    signal_type: SignalType
    resource_id: ResourceId
    resource_name: str
    resource_type: str
    severity: Severity
    category: Category
    summary: str
    value: float | None = None
    limit: float | None = None
    limit_source: str = ""
    evidence: str = ""
    tool_call_id: str = ""
    subject: str = ""
    facts: dict[str, float] = {}


class ExaminedLook(NamedTuple):
    """One entry of `Examined`, for records and output."""

    kind: Kind
    resource_id: ResourceId
    subject: str
    look: Look
    reason: str  # why it was blind, else ""


_STRONGEST = {Look.PRESENT: 3, Look.HELD: 2, Look.CLEAR: 1, Look.BLIND: 0}


class Examined:
    """For each (kind, resource, subject): what a look at it said.

    A `clear` look at a resource as a whole (subject "") means that the complete list of its subjects was
    read: every subject without a look of its own is clear as well. Where two looks at the same thing
    differ, the stronger stays: present > held > clear > blind, so that an access error of one observer
    never hides another's real verdict. Absent means not examined, which closes nothing.
    """

    __slots__ = ("_looks", "_reasons")

    def __init__(self) -> None:
        # The target is the resource id, or (resource id, subject): bulk marks stay one dict update.
        self._looks: dict[Kind, dict[str | tuple[str, str], Look]] = {}
        self._reasons: dict[tuple[Kind, str | tuple[str, str]], str] = {}

    def mark(self, kind: Kind, resource_id: ResourceId, look: Look, subject: str = "", *, reason: str = "") -> None:
        """Notes one look; a weaker look than the one already noted changes nothing."""
        target: str | tuple[str, str] = (resource_id, subject) if subject else resource_id
        looks = self._looks.setdefault(kind, {})
        known = looks.get(target)
        if known is not None and _STRONGEST[known] >= _STRONGEST[look]:
            return
        looks[target] = look
        if look is Look.BLIND:
            self._reasons[kind, target] = reason
        elif known is Look.BLIND:
            self._reasons.pop((kind, target), None)

    def mark_clear(self, kind: Kind, targets: Iterable[ResourceId | tuple[ResourceId, str]]) -> None:
        """Notes `clear` for many resources, or subjects (id, subject), at once; a stronger look already noted stays."""
        clear = dict.fromkeys(targets, Look.CLEAR)
        # Nearly everything is clear: what was noted before is put upon it, not the other way round.
        for target, look in self._looks.get(kind, {}).items():
            if look is not Look.BLIND:
                clear[target] = look
            elif clear.setdefault(target, look) is Look.CLEAR:
                self._reasons.pop((kind, target), None)
        self._looks[kind] = clear

    def look(self, kind: str, resource_id: ResourceId, subject: str = "") -> Look | None:
        """What was seen of one condition; None if it was not examined."""
        looks = self._looks.get(Kind(kind)) if kind in _KIND_VALUES else None
        if not looks:
            return None
        if not subject:
            return looks.get(resource_id)
        own = looks.get((resource_id, subject))
        if own is not None:
            return own
        whole = looks.get(resource_id)
        return whole if whole in (Look.CLEAR, Look.BLIND) else None

    def blind_reason(self, kind: Kind, resource_id: ResourceId, subject: str = "") -> str:
        """Why a look was blind; "" where it was not."""
        return self._reasons.get((kind, (resource_id, subject) if subject else resource_id), "")

    def __iter__(self) -> Iterator[ExaminedLook]:
        """All looks in a stable order: kind, resource, subject."""
        for kind in Kind:
            looks = self._looks.get(kind, {})
            wholes: list[str] = []
            parts: list[tuple[str, str]] = []
            for target in looks:
                if isinstance(target, str):
                    wholes.append(target)
                else:
                    parts.append(target)
            if not parts:  # texts sort several times as fast as pairs
                targets: Iterable[tuple[str, str]] = zip(sorted(wholes), repeat(""))
            else:
                targets = sorted([*parts, *zip(wholes, repeat(""))])
            for resource_id, subject in targets:
                look = looks[(resource_id, subject) if subject else resource_id]
                reason = self.blind_reason(kind, resource_id, subject) if look is Look.BLIND else ""
                yield ExaminedLook(kind, resource_id, subject, look, reason)

    def counts(self, resource_ids: Container[str]) -> Counter[Look]:
        """How often each answer was given about these resources and their subjects."""
        found: Counter[Look] = Counter()
        for looks in self._looks.values():
            found.update(
                look
                for target, look in looks.items()
                if (target if isinstance(target, str) else target[0]) in resource_ids
            )
        return found

    def __len__(self) -> int:
        return sum(map(len, self._looks.values()))


_KIND_VALUES = frozenset(Kind)


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Something in the evidence that could not be used: it cost a row or a check, and says so."""

    tool_call_id: str
    place: str  # "pools[3]", "output"
    message: str


class Detection(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one pass of the detectors over a transcript.

    `signals` in the fixed order severity (critical first), type, resource, subject. `problems`: rows that
    could not be read. `checks_off`: checks that could not be made for want of an input, in plain words.
    """

    signals: tuple[Signal, ...]
    examined: Examined
    problems: tuple[Problem, ...] = ()
    checks_off: tuple[str, ...] = ()
