"""A finding explained from what was recorded: the row that shows it, its limit today, what would clear it, its past.

Everything comes from the database and nothing is looked at anew. Where evidence has expired, that is said plainly.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec
from sqlalchemy import Connection, select

from findings.claims import what_ends_it
from findings.kinds import KINDS, Kind
from findings.model import DEFAULT_ORG, Basis, Finding
from patrol.database import Database
from patrol.history.model import HOUR, Measure, SeriesKey
from patrol.history.view import History
from patrol.run.current_limits import metric_of
from patrol.run.evidence import DetectionStore, EvidenceDamagedError, EvidenceExpiredError, Pages
from patrol.run.record_model import DetectionRecord, ToolCallRecord
from patrol.run.replay import recorded_thresholds
from patrol.run.rows import CALL_COLUMNS, call_of
from patrol.run.tables import DETECTIONS, RUNS, TOOL_CALLS
from signals.alert_settings import AlertSettingsError
from signals.detector import cut
from signals.evidence import InventoryOutput, InventoryRow
from signals.inventory import Inventory
from signals.model import Signal
from signals.thresholds import Limit
from signals.usage import MAIN_DISK

PAST = timedelta(days=7)
_RUNS_LOOKED_AT = 100
_CALL = [TOOL_CALLS.c[name] for name in CALL_COLUMNS]


class EvidenceState(StrEnum):
    """What is left of the evidence of a finding."""

    KEPT = "kept"  # the page that shows it is there
    EXPIRED = "evidence_expired"
    DAMAGED = "damaged"  # the page does not hold what was stored
    NONE = "none"  # the finding cites no tool call: an operator, a model or Patrol itself stated it


class LimitToday(msgspec.Struct, frozen=True, kw_only=True):
    """The limit that the newest run judged by. `clear` is None where a value is only told apart at the trigger."""

    trigger: float
    clear: float
    source: str


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """One value of the past."""

    at: datetime
    value: float


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why a finding is there, and what would end it.

    `row`: the whole row that shows it, where the page is kept and the row is found in it; else the finding's own
    excerpt is all there is. `tool`, `arguments`, `run_id`, `read_at`: the call that the row came from.
    `expired_at`: since when evidence of that run is not kept. `check_off`: the newest run found the check off.
    `past_from`: where the values of the past come from, "" where there are none.
    """

    evidence: EvidenceState
    row: dict[str, object] | None = None
    tool: str = ""
    arguments: str = ""
    run_id: str = ""
    read_at: datetime | None = None
    expired_at: datetime | None = None
    limit_today: LimitToday | None = None
    check_off: bool = False
    clears_when: str = ""
    past: Sequence[Value] = ()
    past_from: str = ""


def explain(
    database: Database, finding: Finding, now: datetime, *, unit: str = "", org_id: str = DEFAULT_ORG
) -> Explanation:
    """The explanation of a finding. `unit`: of its value, as people write it. Raises StorageError."""
    with database.read() as connection:
        call = _cited_call(connection, finding, org_id)
        explanation = _evidence(connection, finding, call, org_id)
        limit, check_off = _limit_today(connection, finding, explanation.row or {}, org_id)
        values = _recorded_values(connection, finding, org_id)
    detection = DetectionStore(database, org_id).find(call.run_id) if call is not None else None
    sampled = _sampled_values(History(now=now, database=database, org_id=org_id), finding)
    past, past_from = (sampled, "samples") if len(sampled) > len(values) else (values, "signals of earlier runs")
    return msgspec.structs.replace(
        explanation,
        expired_at=detection.evidence_expired_at if detection is not None else None,
        limit_today=limit,
        check_off=check_off,
        clears_when=_clears_when(finding, limit, unit),
        past=past,
        past_from=past_from if past else "",
    )


def _clears_when(finding: Finding, limit: LimitToday | None, unit: str) -> str:
    kind = _kind(finding)
    if kind is None and finding.basis is Basis.MODEL:
        return what_ends_it(finding)
    if kind is None:
        return "no check of this version knows this kind: an operator resolves it"
    mark = f"{limit.clear:g}{unit}" if limit is not None else "the clear mark of its limit"
    return KINDS[kind].what_clears(finding.facts, mark)


def _kind(finding: Finding) -> Kind | None:
    return Kind(finding.kind) if finding.kind in _KIND_WORDS else None


_KIND_WORDS = frozenset(Kind)


# --- the row ---


def _cited_call(connection: Connection, finding: Finding, org_id: str) -> ToolCallRecord | None:
    """The newest call of the id that the finding cites: a model may number its calls anew in each run."""
    if not finding.tool_call_id:
        return None
    statement = (
        select(*_CALL)
        .where(TOOL_CALLS.c.org_id == org_id, TOOL_CALLS.c.id == finding.tool_call_id)
        .order_by(TOOL_CALLS.c.started_at.desc())
        .limit(1)
    )
    row = connection.execute(statement).first()
    return call_of(row) if row is not None else None


def _evidence(connection: Connection, finding: Finding, call: ToolCallRecord | None, org_id: str) -> Explanation:
    if call is None:
        state = EvidenceState.EXPIRED if finding.tool_call_id else EvidenceState.NONE
        return Explanation(evidence=state)
    state, row = EvidenceState.KEPT, None
    try:
        row = find_row(Pages(connection, org_id).get(call.output_sha256), finding.evidence)
    except EvidenceExpiredError:
        state = EvidenceState.EXPIRED
    except EvidenceDamagedError:
        state = EvidenceState.DAMAGED
    return Explanation(
        evidence=state,
        row=row,
        tool=call.tool_name,
        arguments=call.input,
        run_id=call.run_id,
        read_at=call.started_at,
    )


def find_row(page: bytes, evidence: str) -> dict[str, object] | None:
    """The row of a page whose text begins with a finding's evidence; None where no row does, or no text is given.

    Evidence that a detector put together itself is no row of any page.
    """
    if not evidence:
        return None
    try:
        document: object = msgspec.json.decode(page)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    for row in _rows(document):
        if cut(msgspec.json.encode(row).decode()) == evidence or _same(row, evidence):
            return row
    return None


def _same(row: dict[str, object], evidence: str) -> bool:
    """Whether evidence that is not cut says the same as a row: 81 and 81.0 are one number and two texts."""
    try:
        return bool(msgspec.json.decode(evidence) == row)
    except msgspec.DecodeError:
        return False


def _rows(document: object) -> Iterator[dict[str, object]]:
    """Every object of a document but the document itself, outer ones first."""
    waiting = [document]
    while waiting:
        here = waiting.pop(0)
        for inner in here.values() if isinstance(here, dict) else here if isinstance(here, list) else ():
            if isinstance(inner, dict):
                yield inner
            if isinstance(inner, dict | list):
                waiting.append(inner)


# --- the limit ---


def _limit_today(
    connection: Connection, finding: Finding, row: dict[str, object], org_id: str
) -> tuple[LimitToday | None, bool]:
    """The limit that the newest run judged by, and whether it found the check off."""
    metric = metric_of(finding)
    newest = _newest_detection(connection, org_id)
    if metric is None or newest is None:
        return None, False
    try:
        pages = Pages(connection, org_id)
        inventory = Inventory(_inventory_pages(connection, pages, newest.run_id, org_id))
        thresholds = recorded_thresholds(pages, newest).for_inventory(inventory)
    except (EvidenceExpiredError, EvidenceDamagedError, AlertSettingsError, msgspec.DecodeError):
        return None, False
    resource = inventory.rows.get(finding.resource_id) or InventoryRow(
        id=finding.resource_id, type=finding.resource_type, name=finding.resource_name
    )
    limit = thresholds.limit(resource, metric, disk_type=str(row.get("disk_type") or ""))
    return _shown(limit), limit is None


def _shown(limit: Limit | None) -> LimitToday | None:
    return LimitToday(trigger=limit.trigger, clear=limit.clear, source=limit.provenance) if limit is not None else None


def _newest_detection(connection: Connection, org_id: str) -> DetectionRecord | None:
    statement = (
        select(RUNS.c.id, DETECTIONS.c.now, DETECTIONS.c.options, DETECTIONS.c.alert_settings_sha256)
        .join(DETECTIONS, (DETECTIONS.c.org_id == RUNS.c.org_id) & (DETECTIONS.c.run_id == RUNS.c.id))
        .where(RUNS.c.org_id == org_id, DETECTIONS.c.evidence_expired_at.is_(None))
        .order_by(RUNS.c.started_at.desc(), RUNS.c.id.desc())
        .limit(1)
    )
    row = connection.execute(statement).first()
    if row is None:
        return None
    return DetectionRecord(
        run_id=row.id, now=row.now, options=row.options, alert_settings_sha256=row.alert_settings_sha256
    )


def _inventory_pages(connection: Connection, pages: Pages, run_id: str, org_id: str) -> list[InventoryOutput]:
    statement = select(TOOL_CALLS.c.input, TOOL_CALLS.c.output_sha256).where(
        TOOL_CALLS.c.org_id == org_id, TOOL_CALLS.c.run_id == run_id, TOOL_CALLS.c.tool_name == "pulse_query"
    )
    decode = msgspec.json.Decoder(InventoryOutput).decode
    return [
        decode(pages.get(sha256)) for arguments, sha256 in connection.execute(statement) if '"inventory"' in arguments
    ]


# --- the past ---

_MEASURES = {
    Kind.HIGH_CPU: Measure.CPU,
    Kind.HIGH_MEMORY: Measure.MEMORY,
    Kind.HIGH_SWAP: Measure.SWAP,
    Kind.HIGH_DISK: Measure.DISK,
    Kind.HIGH_INODES: Measure.INODES,
}


def _sampled_values(history: History, finding: Finding) -> list[Value]:
    """What was sampled of a finding's value, an hour apart."""
    kind = _kind(finding)
    measure = _MEASURES.get(kind) if kind is not None else None
    if measure is None:
        return []
    if measure is Measure.DISK and finding.resource_type == "storage":
        measure = Measure.USAGE
    subject = "" if finding.subject == MAIN_DISK else finding.subject
    points = history.points([finding.resource_id], [measure], PAST, step=HOUR)
    found = points.get(SeriesKey(finding.resource_id, measure, subject), [])
    zone = history.now.tzinfo
    return [Value(at=datetime.fromtimestamp(point.at_seconds, zone), value=point.value) for point in found]


def _recorded_values(connection: Connection, finding: Finding, org_id: str) -> list[Value]:
    """What earlier runs stated of it, oldest first: only while it was beyond its limit, as long as evidence is kept."""
    statement = (
        select(RUNS.c.started_at, DETECTIONS.c.signals_sha256)
        .join(DETECTIONS, (DETECTIONS.c.org_id == RUNS.c.org_id) & (DETECTIONS.c.run_id == RUNS.c.id))
        .where(RUNS.c.org_id == org_id, DETECTIONS.c.signals_sha256 != "", DETECTIONS.c.evidence_expired_at.is_(None))
        .order_by(RUNS.c.started_at.desc())
        .limit(_RUNS_LOOKED_AT)
    )
    pages = Pages(connection, org_id)
    decode = msgspec.json.Decoder(Signal).decode_lines
    values: list[Value] = []
    known: dict[str, float | None] = {}
    for at, sha256 in connection.execute(statement).all():
        if sha256 not in known:
            try:
                known[sha256] = _value_among(decode(pages.get(sha256)), finding)
            except (EvidenceExpiredError, EvidenceDamagedError, msgspec.DecodeError):
                known[sha256] = None  # of another version: its values are not these
        value = known[sha256]
        if value is not None:
            values.append(Value(at=at, value=value))
    return values[::-1]


def _value_among(signals: Sequence[Signal], finding: Finding) -> float | None:
    about = (finding.kind, finding.resource_id, finding.subject)
    return next((each.value for each in signals if (each.signal_type, each.resource_id, each.subject) == about), None)
