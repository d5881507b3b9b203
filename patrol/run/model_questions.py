"""What the second and the third pass of a model are asked: signals and findings as JSON lines, which are data."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from findings.identity import finding_key
from findings.model import Finding
from patrol.run.causes import SignalGroup
from patrol.run.rows import mended
from signals.detector import cut
from signals.model import Origin, Signal, ToolCall

_EVIDENCE = 500


def evaluation_question(groups: Sequence[SignalGroup], findings: Mapping[str, Finding]) -> str:
    """The signals of these groups. `findings`: what they are or will be, by key."""
    lines = ["Signals without a finding, one JSON object a line, grouped by what they have in common:"]
    for group in groups:
        lines.append(_line({"group": group.cause, "signals": len(group.signals)}))
        for signal in group.signals:
            finding = findings[key_of(signal)]
            row = _signal_row(signal)
            lines.append(_line({"finding_id": finding.id, "tool_call_id": signal.tool_call_id, **row}))
    return "\n".join(lines)


def assessment_question(findings: Iterable[Finding]) -> str:
    """These findings, each with what was last known of it."""
    lines = ["Findings without a verdict, one JSON object a line:"]
    for finding in findings:
        row = {
            "finding_id": finding.id,
            "key": str(finding.kind),
            "subject": finding.subject,
            "severity": finding.severity,
            "resource_id": finding.resource_id,
            "resource_name": finding.resource_name,
            "resource_type": finding.resource_type,
            "title": finding.title,
            "last_seen": finding.last_seen_at.isoformat(),
            "last_evidence": cut(finding.evidence, _EVIDENCE),
        }
        lines.append(_line({name: value for name, value in row.items() if value}))
    return "\n".join(lines)


def shown_signals(signals: Iterable[Signal]) -> dict[str, ToolCall]:
    """The signals as the answers of the calls that they rest on, so that they can be cited."""
    rows: dict[str, list[object]] = {}
    for signal in signals:
        rows.setdefault(signal.tool_call_id, []).append(_signal_row(signal))
    return {
        call_id: ToolCall(id=call_id, tool_name="patrol_signals", output={"signals": some}, origin=Origin.PATROL)
        for call_id, some in rows.items()
        if call_id
    }


def key_of(signal: Signal) -> str:
    """The key of the finding that a signal is."""
    return finding_key(signal.resource_id, signal.signal_type, signal.subject)


def _signal_row(signal: Signal) -> dict[str, object]:
    row = {
        "key": str(signal.signal_type),
        "subject": signal.subject,
        "severity": signal.severity,
        "category": signal.category,
        "resource_id": signal.resource_id,
        "resource_name": signal.resource_name,
        "resource_type": signal.resource_type,
        "summary": signal.summary,
        "value": signal.value,
        "limit": signal.limit,
        "evidence": signal.evidence,
    }
    return {name: value for name, value in row.items() if value not in (None, "")}


def _line(row: object) -> str:
    return msgspec.json.encode(mended(row)).decode()
