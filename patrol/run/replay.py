"""The deterministic half of a recorded run again: the same detectors over the recorded text of its tool calls.

A replay writes nothing. It answers byte-identical signals and looks, or what differs; and where it cannot tell, why.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

import msgspec

from findings.model import DEFAULT_ORG
from patrol.database import Database
from patrol.run.evidence import (
    DetectionStore,
    EvidenceDamagedError,
    EvidenceExpiredError,
    Pages,
    look_lines,
    page_hash,
    recorded_call,
    signal_lines,
)
from patrol.run.limits import LimitOptions
from patrol.run.record_model import DetectionRecord, RunRecord, RunStatus
from patrol.run.store import RunStore
from signals.alert_settings import AlertSettingsError, parse_alert_settings
from signals.detect import detect
from signals.model import Detection, ToolCall
from signals.thresholds import AlertThresholds


class ReplayOutcome(StrEnum):
    """What came of a replay."""

    IDENTICAL = "identical"  # signals and looks, byte for byte
    DIFFERENT = "different"
    UNCOMPARED = "uncompared"  # detected again, but the run ended before it stored what it had detected
    EXPIRED = "evidence_expired"  # pages of this run are not kept any more
    IMPOSSIBLE = "impossible"  # what a replay needs was never recorded, or cannot be read


class ChangedField(msgspec.Struct, frozen=True, kw_only=True):
    """One field of a statement, as it was recorded and as it is now."""

    field: str
    recorded: object
    replayed: object


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One signal or look that is not as recorded. `change`: added (only now), missing (only then) or changed."""

    what: str  # signal | look
    change: str  # added | missing | changed
    kind: str
    resource_id: str
    subject: str
    fields: list[ChangedField] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The answer. `reason`: why there is no comparison, "" where there is one.

    `recorded_version`: of the Patrol that ran. `expired_at`: since when evidence is gone. `signals`: how many there
    are now, and `looks`; None where nothing could be detected.
    """

    run: RunRecord
    outcome: ReplayOutcome
    reason: str = ""
    recorded_version: str = ""
    expired_at: datetime | None = None
    signals: int | None = None
    looks: int | None = None
    differences: Sequence[Difference] = ()


def replay(database: Database, run_id: str, org_id: str = DEFAULT_ORG) -> Replay:
    """Detects again what a run detected. Raises RunNotFoundError, StorageError."""
    runs = RunStore(database, org_id)
    run = runs.get(run_id)
    recorded = DetectionStore(database, org_id).find(run_id)
    if run.status is RunStatus.RUNNING:
        return Replay(run=run, outcome=ReplayOutcome.IMPOSSIBLE, reason="the run is under way")
    if recorded is None:
        reason = "it was not recorded by what this run judged: it ended too early, or an older Patrol made it"
        return Replay(run=run, outcome=ReplayOutcome.IMPOSSIBLE, reason=reason)
    if recorded.evidence_expired_at is not None:
        return _expired(run, recorded)
    try:
        evidence = _load(database, runs, run, recorded, org_id)
    except EvidenceExpiredError:
        return _expired(run, recorded)
    except (EvidenceDamagedError, AlertSettingsError, ValueError) as error:
        return _impossible(run, recorded, error)
    again = detect(evidence.calls, evidence.thresholds, recorded.now)
    return _compared(run, recorded, evidence, again)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """Everything that a detection reads, and what was stored of its answer (None: nothing)."""

    calls: Sequence[ToolCall]
    thresholds: AlertThresholds
    signals: bytes | None
    looks: bytes | None


def _load(database: Database, runs: RunStore, run: RunRecord, recorded: DetectionRecord, org_id: str) -> _Evidence:
    calls = runs.tool_calls(run.id)
    # One snapshot: while pages are being deleted all of them are there, or one is missing.
    with database.read() as connection:
        pages = Pages(connection, org_id)
        return _Evidence(
            calls=[recorded_call(call, pages.get(call.output_sha256)) for call in calls],
            thresholds=recorded_thresholds(pages, recorded),
            signals=pages.get(recorded.signals_sha256) if recorded.signals_sha256 else None,
            looks=pages.get(recorded.looks_sha256) if recorded.looks_sha256 else None,
        )


def recorded_thresholds(pages: Pages, recorded: DetectionRecord) -> AlertThresholds:
    """The limits that a run judged by.

    Raises EvidenceExpiredError, EvidenceDamagedError, AlertSettingsError (text that this version refuses),
    ValueError (options that it cannot read).
    """
    options = msgspec.json.decode(recorded.options, type=LimitOptions)
    if not recorded.alert_settings_sha256:
        return options.thresholds(None)
    text = pages.get(recorded.alert_settings_sha256).decode("utf-8", "surrogatepass")
    return options.thresholds(parse_alert_settings(text, source=options.source))


def _expired(run: RunRecord, recorded: DetectionRecord) -> Replay:
    at = recorded.evidence_expired_at
    since = f" since {at:%Y-%m-%d %H:%M:%S} UTC" if at is not None else ""
    return Replay(
        run=run,
        outcome=ReplayOutcome.EXPIRED,
        reason=f"evidence expired: the pages of this run are not kept any more{since}",
        recorded_version=recorded.version,
        expired_at=at,
    )


def _impossible(run: RunRecord, recorded: DetectionRecord, error: Exception) -> Replay:
    if isinstance(error, EvidenceDamagedError):
        reason = f"the page {error.sha256} is damaged: `patrol db check` looks at the whole database"
    elif isinstance(error, AlertSettingsError):
        reason = f"this version does not take the alert settings of then: {error}"
    else:
        reason = f"what the run recorded cannot be read: {error}"
    return Replay(run=run, outcome=ReplayOutcome.IMPOSSIBLE, reason=reason, recorded_version=recorded.version)


def _compared(run: RunRecord, recorded: DetectionRecord, evidence: _Evidence, again: Detection) -> Replay:
    answer = Replay(
        run=run,
        outcome=ReplayOutcome.UNCOMPARED,
        reason="the run ended before it stored what it had detected: there is nothing to compare with",
        recorded_version=recorded.version,
        signals=len(again.signals),
        looks=len(again.examined),
    )
    if evidence.signals is None or evidence.looks is None:
        return answer
    signals, looks = signal_lines(again), b"".join(look_lines(again))
    same = page_hash(signals) == recorded.signals_sha256 and page_hash(looks) == recorded.looks_sha256
    if same:
        return replace(answer, outcome=ReplayOutcome.IDENTICAL, reason="")
    found = [
        *differences("signal", _signals_by_key(evidence.signals), _signals_by_key(signals)),
        *differences("look", _looks_by_key(evidence.looks), _looks_by_key(looks)),
    ]
    return replace(answer, outcome=ReplayOutcome.DIFFERENT, reason="", differences=found)


Key: TypeAlias = tuple[str, str, str]
"""Kind, resource id, subject: what a signal or a look is about."""

Statements: TypeAlias = Mapping[Key, Mapping[str, object]]


def differences(what: str, recorded: Statements, replayed: Statements) -> Iterable[Difference]:
    """What was added, is missing or has changed, in the order of kind, resource and subject."""
    for key in sorted({*recorded, *replayed}):
        then, now = recorded.get(key), replayed.get(key)
        if then == now:
            continue
        change = "added" if then is None else "missing" if now is None else "changed"
        fields = [
            ChangedField(field=name, recorded=then.get(name), replayed=now.get(name))
            for name in (sorted({*then, *now}) if then is not None and now is not None else ())
            if then is not None and now is not None and then.get(name) != now.get(name)
        ]
        kind, resource_id, subject = key
        yield Difference(what=what, change=change, kind=kind, resource_id=resource_id, subject=subject, fields=fields)


def _signals_by_key(lines: bytes) -> Statements:
    # As plain documents: fields and kinds that only the other version knows are differences too.
    rows = msgspec.json.Decoder(dict[str, object]).decode_lines(lines)
    return {
        (str(row.get("signal_type")), str(row.get("resource_id")), str(row.get("subject", ""))): row for row in rows
    }


def _looks_by_key(lines: bytes) -> Statements:
    rows = msgspec.json.Decoder(tuple[str, str, str, str, str]).decode_lines(lines)
    return {
        (kind, resource, subject): {"look": look, "reason": reason} for kind, resource, subject, look, reason in rows
    }
