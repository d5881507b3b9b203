"""Findings and observations for tests: everything has a default, a test names what it is about."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from findings.identity import finding_key
from findings.kinds import KINDS, Kind
from findings.lifecycle import Advance
from findings.model import Basis, Category, Finding, Look, Observation, Severity

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOST = "agent:local:web1"
ORG = "default"


@dataclass
class Looks:
    """What was examined, by kind, resource and subject."""

    answers: Mapping[tuple[str, str, str], Look] = field(default_factory=dict)

    def look(self, kind: str, resource_id: str, subject: str) -> Look | None:
        return self.answers.get((kind, resource_id, subject))


NOTHING = Looks()


def looked(look: Look, kind: str = Kind.HIGH_DISK, subject: str = "", resource_id: str = HOST) -> Looks:
    return Looks({(kind, resource_id, subject): look})


def observation(kind: str = Kind.HIGH_DISK, severity: Severity = Severity.WARNING, **changes: Any) -> Observation:
    category = KINDS[Kind(kind)].category if kind in list(Kind) else Category.GENERAL
    base = Observation(
        resource_id=HOST,
        resource_name="web1",
        resource_type="agent",
        kind=kind,
        severity=severity,
        category=category,
        summary="it is bad",
        value=91.0,
        limit=90.0,
        limit_source="built-in",
        evidence='{"usage":91}',
        tool_call_id="call-1",
    )
    return replace(base, **changes)


def finding(kind: str = Kind.HIGH_DISK, severity: Severity = Severity.WARNING, **changes: Any) -> Finding:
    subject = changes.get("subject", "")
    key = finding_key(changes.get("resource_id", HOST), kind, subject)
    base = Finding(
        org_id=ORG,
        id=key,
        key=key,
        resource_id=HOST,
        resource_name="web1",
        resource_type="agent",
        kind=kind,
        category=KINDS[Kind(kind)].category if kind in list(Kind) else Category.GENERAL,
        severity=severity,
        basis=Basis.DETECTOR,
        title="Space is running out",
        summary="it is bad",
        value=91.0,
        limit=90.0,
        first_seen_at=NOW,
        last_seen_at=NOW,
        last_run_id="run-0",
    )
    return replace(base, **changes)


def by_key(*findings: Finding) -> dict[str, Finding]:
    return {each.key: each for each in findings}


def applied(known: Mapping[str, Finding], result: Advance) -> dict[str, Finding]:
    """The findings as a store would hold them afterwards."""
    return {**known, **{change.after.key: change.after for change in result.changes}}
