"""The part of a seed about what is different since the run before. Pure."""

from collections.abc import Iterator

from findings.model import Finding
from patrol.estate.memory.model import Remembered
from patrol.run.seed.model import Section, SeedFacts
from patrol.run.seed.text import cell, instant, row

_LONGEST_TITLE = 120


def changes_section(facts: SeedFacts) -> Iterator[Section]:
    """What appeared, went, was renamed, and which findings began and ended."""
    changes = facts.changes
    if changes.since is None:
        return
    groups = {
        "findings opened": [_finding_row("opened", each) for each in changes.opened if each.resource_id in facts.scope],
        "findings closed": [_finding_row("closed", each) for each in changes.closed if each.resource_id in facts.scope],
        "gone": [_resource_row("gone", each) for each in changes.gone if each.id in facts.scope],
        "not seen": [_resource_row("not seen", each) for each in changes.unseen if each.id in facts.scope],
        "in another state": [
            row("state", cell(each.resource_id), cell(each.name), f"{cell(each.before, 40)} -> {cell(each.after, 40)}")
            for each in changes.states
            if each.resource_id in facts.scope
        ],
        "renamed": [
            row("renamed", cell(each.resource_id), cell(each.after), f"was {cell(each.before)}")
            for each in changes.renamed
            if each.resource_id in facts.scope
        ],
        "new": [_resource_row("new", each) for each in changes.new if each.id in facts.scope],
    }
    rows = tuple(each for group in groups.values() for each in group)
    counts = ", ".join(f"{len(group)} {name}" for name, group in groups.items() if group) or "nothing"
    yield Section(
        name="changes",
        title="Changes since the run before",
        priority=2,
        lead=f"Since {instant(changes.since)}: {counts}.",
        head="change | resource id | name | detail" if rows else "",
        rows=rows,
        summary=f"Since {instant(changes.since)}: {counts}.",
    )


def _finding_row(change: str, finding: Finding) -> str:
    detail = cell(f"{finding.severity} {finding.kind} {finding.subject}", _LONGEST_TITLE)
    if finding.resolve_reason is not None:
        detail = f"{detail}, {finding.resolve_reason}"
    return row(change, cell(finding.resource_id), cell(finding.resource_name), detail)


def _resource_row(change: str, resource: Remembered) -> str:
    return row(change, cell(resource.id), cell(resource.name), f"last seen {instant(resource.last_seen_at)}")
