"""Which open findings are explained by another one: what cannot be reached is one trouble, not fifty. Pure.

Only a finding that says why nothing can be known of others stands above them: a host that is offline, a source that
cannot be read. A full disk does not explain a failing one, however near they are to each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from findings.kinds import Kind
from findings.lifecycle import Advance, Change
from findings.model import Finding, ResourceId


class Places(Protocol):
    """Where the resources of findings are, as far as anybody knows: today, or when they were last seen."""

    def line_of(self, finding: Finding) -> Sequence[ResourceId]:
        """What the resource of this finding lives on or in, nearest first."""
        ...

    def source_of(self, finding: Finding) -> ResourceId:
        """Id of the source that reports the resource of this finding, "" if that is not known."""
        ...


class Explained(NamedTuple):
    """An open finding and, where there is one, the finding above it."""

    finding: Finding
    parent: Finding | None


def parents(findings: Iterable[Finding], places: Places) -> dict[str, str]:
    """For each open finding that another one explains, the id of that one.

    Parents are never explained themselves, so there is one level and no circle: what lives on a host that is offline
    because its source is blind belongs under the source. Of several the blind source comes first, then the outermost
    host. Silenced findings explain as others do: to silence the cause must not let its consequences loose.
    """
    known = [finding for finding in findings if finding.is_open]
    offline = {finding.resource_id: finding for finding in known if finding.kind == Kind.NODE_OFFLINE}
    blind = {finding.resource_id: finding for finding in known if finding.kind == Kind.SOURCE_BLIND}
    if not offline and not blind:
        return {}
    above = {finding.id: _explanations(finding, places, offline, blind) for finding in known}
    found = {}
    for finding in known:
        roots = [each.id for each in above[finding.id] if not above[each.id]]
        if roots:
            found[finding.id] = roots[0]
    return found


def _explanations(
    finding: Finding, places: Places, offline: Mapping[ResourceId, Finding], blind: Mapping[ResourceId, Finding]
) -> list[Finding]:
    """All findings that explain this one, the best first."""
    if finding.kind == Kind.SOURCE_BLIND:
        return []
    source = blind.get(places.source_of(finding))
    hosts = dict.fromkeys((*reversed(places.line_of(finding)), finding.resource_id))
    found = [*((source,) if source is not None else ()), *(offline[each] for each in hosts if each in offline)]
    return [each for each in found if each.id != finding.id]


def grouped(known: Mapping[str, Finding], step: Advance, places: Places, run_id: str) -> Advance:
    """The changes of a run, with the parent that each finding has after it.

    `known`, by key: what was handed to `advance`, so all open findings are among them. A finding that changed anyway
    keeps its one change; one of which only the parent changed gets one, without a transition.
    """
    changes = {change.after.key: change for change in step.changes}
    after = {**known, **{key: change.after for key, change in changes.items()}}
    parent_of = parents(after.values(), places)
    for key, finding in after.items():
        parent = parent_of.get(finding.id, "")
        if parent == finding.parent_finding:
            continue
        change = changes.get(key)
        if change is None:
            regrouped = replace(finding, parent_finding=parent, last_run_id=run_id, version=finding.version + 1)
            changes[key] = Change(finding, regrouped)
        else:
            changes[key] = Change(change.before, replace(change.after, parent_finding=parent))
    return replace(step, changes=tuple(changes.values()))


def under_their_parents(findings: Iterable[Finding]) -> list[Explained]:
    """The same findings in their order, but each explained one right after the one that explains it.

    A group stands where the first of it stood: a bad one is not hidden far below under a harmless cause. One whose
    parent is not among them, or not open any more, stands by itself.
    """
    listed = list(findings)
    by_id = {finding.id: finding for finding in listed}
    groups: dict[str, list[Explained]] = {}
    for finding in listed:
        parent = by_id.get(finding.parent_finding) if finding.is_open else None
        if parent is not None and (not parent.is_open or parent.parent_finding):
            parent = None
        head = parent if parent is not None else finding
        group = groups.setdefault(head.id, [Explained(head, None)])
        if parent is not None:
            group.append(Explained(finding, parent))
    return [row for group in groups.values() for row in group]
