"""`pulse_alerts` action `findings`: what Patrol holds open, and what operators keep quiet."""

from collections.abc import Iterator
from typing import NamedTuple

from findings.kinds import KINDS
from findings.model import Finding, Severity
from findings.silence import Quiet, quiet
from patrol.tools.answers import FindingRow, FindingsOutput
from patrol.tools.filters import one_resource, resource_tests
from patrol.tools.model import Call, ErrorCode, ToolError
from patrol.tools.paging import finished, part_of
from patrol.tools.view import EstateView


class _Held(NamedTuple):
    """An open finding, and why nobody is told of it (None: it is active)."""

    finding: Finding
    quiet: Quiet | None


def findings(view: EstateView, call: Call) -> FindingsOutput:
    """Open findings, worst first: the active ones, then those that are kept quiet. One paging runs through both."""
    chosen = list(_chosen(view, call))
    chosen.sort(key=lambda held: (held.quiet is not None, -held.finding.severity.rank, held.finding.id))
    part = part_of(call, chosen)
    page = FindingsOutput()
    for held in part.rows:
        (page.active if held.quiet is None else page.dismissed).append(finding_row(held.finding, held.quiet))
    active = sum(held.quiet is None for held in chosen)
    page.counts = {"active": active, "dismissed": len(chosen) - active}
    return finished(view, call, page, part, [])


def _chosen(view: EstateView, call: Call) -> Iterator[_Held]:
    severity = _severity(call.text("severity"))
    # What a finding is about may not be in this estate any more: it is then found by its own words.
    named = call.text("resource_id")
    wanted = {named}
    if named and not any(named == each.resource_id for each in _open(view)):
        wanted.add(one_resource(view, named).id)
    tests = resource_tests(view, call, skip=frozenset({"resource_id"}))
    silences = view.known.silences() if view.known is not None else ()
    for each in _open(view):
        if severity is not None and each.severity is not severity:
            continue
        if named and not wanted & {each.resource_id, *each.lives_on}:
            continue
        resource = view.names.find(each.resource_id) if tests else None
        if tests and (resource is None or not all(test(resource) for test in tests)):
            continue
        yield _Held(each, quiet(each, silences, view.known.now) if view.known is not None else None)


def _open(view: EstateView) -> list[Finding]:
    known = view.known
    return view.kept("open findings", lambda: list(known.open_findings()) if known is not None else [])


def _severity(word: str) -> Severity | None:
    if not word:
        return None
    try:
        return Severity(word.casefold())
    except ValueError:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT, f"severity: {word!r} is no severity", allowed=tuple(Severity)
        ) from None


_RECORDS = {kind.value: record for kind, record in KINDS.items()}


def finding_row(each: Finding, why: Quiet | None) -> FindingRow:
    """A finding as it is shown. `why`: why nobody is told of it, if so."""
    record = _RECORDS.get(each.kind)
    return FindingRow(
        id=each.id,
        key=each.key,
        kind=each.kind,
        subject=each.subject,
        severity=each.severity.value,
        category=each.category.value,
        resource_id=each.resource_id,
        resource_name=each.resource_name,
        resource_type=each.resource_type,
        title=each.title,
        description=each.summary,
        evidence=each.evidence,
        detected_at=each.first_seen_at,
        last_seen_at=each.last_seen_at,
        times_raised=each.times_raised,
        regression_count=each.regression_count,
        basis=each.basis.value,
        unconfirmed=each.is_unconfirmed,
        value=each.value,
        limit=each.limit,
        limit_source=each.limit_source,
        clears_when=record.what_clears(each.facts, "the clear mark of its limit") if record is not None else "",
        quiet=why.reason.value if why is not None else "",
        quiet_until=why.until if why is not None else None,
        note=each.user_note,
    )
