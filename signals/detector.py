"""What every family of detectors is given and how it answers.

A family reads pages of the outputs that it names, one at a time and in transcript order, and may keep
what it needs until `finish`. It says `signal`, `held`, `clear` or `blind`; whether a `clear` counts is
decided here: only a complete sweep by Patrol itself (every page, no lost row) may say so.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import chain, repeat
from typing import ClassVar, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from findings.kinds import KINDS, Kind
from findings.model import Look, Severity
from signals.evidence import InventoryRow
from signals.inventory import Inventory
from signals.model import EVIDENCE_LIMIT, Examined, Origin, Problem, Signal
from signals.pages import Page, Row
from signals.thresholds import Limit, Thresholds

Output = TypeVar("Output", bound=Page)


class Context(NamedTuple):
    """What a detection may depend on, beside its transcript."""

    thresholds: Thresholds
    inventory: Inventory
    now: datetime


class Sweep(NamedTuple):
    """Calls that together read one thing: the same tool, selector and filters, whatever the page."""

    tool_name: str
    selector: str
    filters: tuple[tuple[str, str], ...]


class EvidencePage(NamedTuple, Generic[Output]):
    """One decoded page and where it came from."""

    call_id: str
    output: Output
    origin: Origin
    sweep: Sweep
    selector: str  # the `type` or `action` argument, "" where the call gave none
    arguments: Mapping[str, object]
    intact: bool = True  # False: rows or values of the recorded output were lost in reading it
    recorded: bool = False  # its rows were read from a recording, so its values are written as they were read

    def without_rows(self) -> "EvidencePage[Output]":
        """The page as what is kept of it may cite it, without keeping all that was on it."""
        return self._replace(output=type(self.output)(zone=self.output.zone))


class Detector(Protocol):
    """One family of checks. Written as a class with no base, in the order of this protocol."""

    reads: ClassVar[tuple[type[Page], ...]]

    def __init__(self, context: Context, notes: "Notes") -> None: ...

    def read(self, page: EvidencePage[Page]) -> None:
        """Judges, or keeps, the rows of one page."""
        ...

    def finish(self) -> None:
        """Judges what needs all pages."""
        ...


class Notes:
    """Collects what the families say, and lets `clear` through only from complete sweeps."""

    def __init__(self) -> None:
        self.examined = Examined()
        self.problems: list[Problem] = []
        self.checks_off: dict[str, None] = {}  # a set that keeps its order
        self.signals: dict[tuple[Kind, str, str], Signal] = {}
        self._clear: dict[Sweep, list[tuple[Kind, Iterable[str | tuple[str, str]]]]] = {}
        self._clear_subjects: dict[Sweep, list[tuple[Kind, str, str]]] = {}
        self._gaps: dict[Kind, set[str]] = {}

    def signal(
        self,
        page: EvidencePage[Output],
        kind: Kind,
        resource: InventoryRow,
        severity: Severity,
        summary: str,
        *,
        row: Row,
        subject: str = "",
        value: float | None = None,
        limit: Limit | None = None,
        limit_value: float | None = None,
        facts: Mapping[str, float] | None = None,
    ) -> None:
        """States that a condition is present. Of two statements about one condition the worse stays."""
        if limit is not None:
            limit_value = limit.trigger
        new = Signal(
            signal_type=kind,
            resource_id=resource.id,
            resource_name=resource.name or resource.id,
            resource_type=resource.type,
            severity=severity,
            category=KINDS[kind].category,
            summary=summary,
            value=None if value is None else float(value),
            limit=None if limit_value is None else float(limit_value),
            limit_source=limit.provenance if limit is not None else "",
            evidence=evidence_text(row, recorded=page.recorded),
            tool_call_id=page.call_id,
            subject=subject,
            facts={name: float(count) for name, count in (facts or {}).items()},
        )
        key = (kind, resource.id, subject)
        known = self.signals.get(key)
        if known is None or new.severity.rank > known.severity.rank:
            self.signals[key] = new
        self.examined.mark(kind, resource.id, Look.PRESENT, subject)

    def held(self, kind: Kind, resource_id: str, subject: str = "") -> None:
        """States that a value lies between clear and trigger."""
        self.examined.mark(kind, resource_id, Look.HELD, subject)

    def clear(self, page: EvidencePage[Output], kind: Kind, resource_ids: Sequence[str]) -> None:
        """States that these resources were measured and are fine, with all their subjects. The list is kept."""
        if resource_ids and page.origin is Origin.PATROL:
            self._clear.setdefault(page.sweep, []).append((kind, resource_ids))

    def clear_subject(self, page: EvidencePage[Output], kind: Kind, resource_id: str, subject: str) -> None:
        """States that one subject is fine, where the list of subjects is not known to be complete."""
        if page.origin is Origin.PATROL:
            self._clear_subjects.setdefault(page.sweep, []).append((kind, resource_id, subject))

    def clear_subjects(self, page: EvidencePage[Output], kind: Kind, resource_ids: Sequence[str], subject: str) -> None:
        """States that one subject is fine on each of many resources."""
        if resource_ids and page.origin is Origin.PATROL:
            self._clear.setdefault(page.sweep, []).append((kind, zip(resource_ids, repeat(subject))))

    def blind(self, kind: Kind, resource_id: str, reason: str, subject: str = "") -> None:
        """States that a condition could not be seen."""
        self.examined.mark(kind, resource_id, Look.BLIND, subject, reason=reason)

    def gap(self, kind: Kind, resource_id: str, reason: str, subject: str = "") -> None:
        """States that a source could not read what this kind needs: blind, whatever else of it was fine."""
        if not subject:
            self._gaps.setdefault(kind, set()).add(resource_id)
        self.examined.mark(kind, resource_id, Look.BLIND, subject, reason=reason)

    def off(self, why: str) -> None:
        """States that a check cannot be made at all for want of an input."""
        self.checks_off[why] = None

    def problem(self, call_id: str, place: str, message: str) -> None:
        """Notes evidence that could not be used."""
        self.problems.append(Problem(tool_call_id=call_id, place=place, message=message))

    def settle(self, complete_sweeps: Iterable[Sweep]) -> None:
        """Lets the clears of complete sweeps through. The others say nothing."""
        complete = list(complete_sweeps)
        by_kind: dict[Kind, list[Iterable[str | tuple[str, str]]]] = {}
        for sweep in complete:
            for kind, targets in self._clear.get(sweep, ()):
                by_kind.setdefault(kind, []).append(targets)
        for kind, lists in by_kind.items():
            gaps = self._gaps.get(kind)
            all_targets = chain.from_iterable(lists)
            self.examined.mark_clear(kind, (each for each in all_targets if each not in gaps) if gaps else all_targets)
        for sweep in complete:
            for kind, resource_id, subject in self._clear_subjects.get(sweep, ()):
                self.examined.mark(kind, resource_id, Look.CLEAR, subject)


_encoder = msgspec.json.Encoder()


def evidence_text(row: Row, *, recorded: bool = False) -> str:
    """The row as compact JSON, cut to 500 bytes at a character.

    Written as a recording of it would be read: a source's whole number in a field of fractions is 95.0 in both.
    `recorded`: the row was read from one, so that this holds already.
    """
    encoded = _encoder.encode(row)
    if not recorded:
        encoded = _encoder.encode(_decoder(type(row)).decode(encoded))
    return encoded[:EVIDENCE_LIMIT].decode("utf-8", "ignore")


@cache
def _decoder(row_type: type[Row]) -> msgspec.json.Decoder[Row]:
    return msgspec.json.Decoder(row_type)


def cut(text: str, limit: int = EVIDENCE_LIMIT) -> str:
    """The longest beginning of `text` of at most `limit` bytes of UTF-8."""
    if len(text) * 4 <= limit:
        return text
    return text.encode("utf-8", "surrogatepass")[:limit].decode("utf-8", "ignore")
