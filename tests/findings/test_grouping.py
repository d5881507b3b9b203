"""What cannot be reached is one trouble: findings stand under the one that explains them, and only while it is open."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.grouping import grouped, parents, under_their_parents
from findings.kinds import Kind
from findings.lifecycle import Advance, advance
from findings.model import Finding, FindingState, Look, Observation, ResolveReason, ResourceId, Severity
from tests.findings.builders import NOTHING, NOW, ORG, Looks, applied, by_key, finding, observation

NODE, OTHER, GUEST, DISK, STORE = "node:lab:n1", "node:lab:n2", "vm:lab:101", "disk:serial:S1", "storage:lab:tank"
LAB, LOCAL = "source:patrol:lab", "source:patrol:local"


@dataclass
class Placed:
    """What each resource lives on, nearest first, and which source reports it."""

    lines: Mapping[ResourceId, Sequence[ResourceId]] = field(default_factory=dict)
    sources: Mapping[ResourceId, ResourceId] = field(default_factory=dict)

    def line_of(self, finding: Finding) -> Sequence[ResourceId]:
        return self.lines.get(finding.resource_id, ())

    def source_of(self, finding: Finding) -> ResourceId:
        return self.sources.get(finding.resource_id, "")


PLACES = Placed(
    lines={GUEST: [NODE], DISK: [NODE], STORE: [NODE]},
    sources={NODE: LAB, OTHER: LAB, GUEST: LAB, DISK: LAB, STORE: LOCAL},
)


def on(
    resource_id: str, kind: str = Kind.HIGH_DISK, severity: Severity = Severity.WARNING, **changes: object
) -> Finding:
    return finding(kind, severity, resource_id=resource_id, **changes)


OFFLINE = on(NODE, Kind.NODE_OFFLINE, Severity.CRITICAL)
BLIND = on(LAB, Kind.SOURCE_BLIND)


@pytest.mark.parametrize(
    ("child", "cause"),
    [
        (on(GUEST, Kind.GUEST_UNREACHABLE), OFFLINE),
        (on(DISK, Kind.SMART_FAILURE, Severity.CRITICAL), OFFLINE),
        (on(NODE, Kind.UNIT_FAILED), OFFLINE),
        (on(GUEST, Kind.BACKUP_STALE), BLIND),
        (OFFLINE, BLIND),
    ],
    ids=["a guest of it", "a disk of it, though worse", "itself", "of the blind source", "a host of the blind source"],
)
def test_a_host_that_is_offline_and_a_source_that_is_blind_explain_what_is_theirs(
    child: Finding, cause: Finding
) -> None:
    assert parents([child, cause], PLACES) == {child.id: cause.id}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (on(DISK, Kind.SMART_FAILURE), on(NODE, Kind.HIGH_DISK, Severity.CRITICAL)),
        (on(GUEST, Kind.HIGH_CPU), on(NODE, Kind.HIGH_CPU, Severity.CRITICAL)),
        (on(STORE, Kind.POOL_DEGRADED), BLIND),
        (on(OTHER, Kind.UNIT_FAILED), OFFLINE),
        (on(GUEST), replace(OFFLINE, state=FindingState.RESOLVED)),
        (on(LOCAL, Kind.SOURCE_BLIND), BLIND),
        (on("vm:lab:unknown"), BLIND),
    ],
    ids=[
        "a full disk does not explain a failing one",
        "a busy host does not explain a busy guest",
        "another source",
        "another host",
        "a cause that is over",
        "two blind sources",
        "nobody knows whose it is",
    ],
)
def test_nothing_else_explains_anything(one: Finding, other: Finding) -> None:
    assert parents([one, other], PLACES) == {}


def test_there_is_one_level_and_its_top_is_the_cause_of_the_cause() -> None:
    child = on(GUEST, Kind.GUEST_UNREACHABLE)
    assert parents([child, OFFLINE, BLIND], PLACES) == {child.id: BLIND.id, OFFLINE.id: BLIND.id}


def test_of_nested_hosts_the_outermost_explains_all() -> None:
    inner = on(GUEST, Kind.NODE_OFFLINE)
    app = on("app-container:lab:web")
    places = Placed(lines={GUEST: [NODE], app.resource_id: [GUEST, NODE]})
    assert parents([app, inner, OFFLINE], places) == {app.id: OFFLINE.id, inner.id: OFFLINE.id}


def test_hosts_that_are_said_to_live_on_each_other_stand_by_themselves() -> None:
    circle = Placed(lines={NODE: [OTHER], OTHER: [NODE], GUEST: [NODE, OTHER]})
    both = [OFFLINE, on(OTHER, Kind.NODE_OFFLINE), on(GUEST)]
    assert parents(both, circle) == {}


RESOURCES = (NODE, OTHER, GUEST, DISK, STORE, LAB, LOCAL)
ids = st.sampled_from(RESOURCES)
kinds = st.sampled_from([Kind.NODE_OFFLINE, Kind.SOURCE_BLIND, Kind.HIGH_DISK, Kind.SMART_FAILURE])
any_places = st.builds(
    Placed,
    lines=st.dictionaries(ids, st.lists(ids, max_size=3)),
    sources=st.dictionaries(ids, st.sampled_from([LAB, LOCAL])),
)
any_findings = st.lists(
    st.builds(
        on,
        ids,
        kinds,
        st.sampled_from(Severity),
        state=st.sampled_from(FindingState),
    ),
    unique_by=lambda each: each.id,
)


@given(any_findings, any_places)
def test_whatever_the_places_are_parents_are_open_explain_and_have_no_parent(
    findings: list[Finding], places: Placed
) -> None:
    found = parents(findings, places)
    by_id = {each.id: each for each in findings}
    for child, parent in found.items():
        assert child != parent
        assert parent not in found
        assert by_id[child].is_open
        assert by_id[parent].is_open
        assert by_id[parent].kind in {Kind.NODE_OFFLINE, Kind.SOURCE_BLIND}


@given(st.data(), any_findings, any_places)
def test_the_order_of_findings_does_not_matter(data: st.DataObject, findings: list[Finding], places: Placed) -> None:
    shuffled = data.draw(st.permutations(findings))
    assert parents(findings, places) == parents(shuffled, places)


def run(
    known: Mapping[str, Finding], *observed: Observation, examined: Looks = NOTHING, run_id: str = "run-1"
) -> Advance:
    step = advance(known, observed, examined, NOW, run_id=run_id, org_id=ORG)
    return grouped(known, step, PLACES, run_id)


def seen(one: Finding) -> Observation:
    return observation(one.kind, one.severity, resource_id=one.resource_id)


def test_a_finding_and_its_cause_filed_by_one_run_are_grouped_by_it() -> None:
    child = on(GUEST, Kind.GUEST_UNREACHABLE)
    step = run({}, seen(child), seen(OFFLINE))
    after = applied({}, step)
    assert after[child.key].parent_finding == OFFLINE.id
    assert after[child.key].version == 1
    assert [len(step.changes), len(step.transitions)] == [2, 2]


def test_one_that_was_open_before_gets_its_parent_without_a_transition() -> None:
    child = on(GUEST, Kind.HIGH_CPU)
    step = run(by_key(child), seen(OFFLINE))
    after = applied(by_key(child), step)[child.key]
    assert (after.parent_finding, after.version, after.last_run_id) == (OFFLINE.id, 2, "run-1")
    assert after.last_seen_at == child.last_seen_at
    assert [each.finding_id for each in step.transitions] == [OFFLINE.id]


def test_when_the_cause_closes_what_it_explained_stands_by_itself_in_the_same_run() -> None:
    child = on(GUEST, Kind.HIGH_CPU, parent_finding=OFFLINE.id)
    step = run(by_key(child, OFFLINE), examined=Looks({(Kind.NODE_OFFLINE, NODE, ""): Look.CLEAR}))
    after = applied(by_key(child, OFFLINE), step)
    assert after[OFFLINE.key].resolve_reason is ResolveReason.CLEARED
    assert after[child.key].parent_finding == ""
    assert after[child.key].is_open


def test_a_child_goes_on_with_its_own_life() -> None:
    child = on(GUEST, Kind.HIGH_CPU, parent_finding=OFFLINE.id)
    known = by_key(child, OFFLINE)
    raised = applied(known, run(known, seen(replace(child, severity=Severity.CRITICAL))))[child.key]
    assert (raised.severity, raised.raise_count, raised.parent_finding) == (Severity.CRITICAL, 1, OFFLINE.id)
    gone = applied(known, run(known, examined=Looks({(Kind.HIGH_CPU, GUEST, ""): Look.CLEAR})))[child.key]
    assert (gone.state, gone.parent_finding) == (FindingState.RESOLVED, "")


def test_a_silenced_cause_keeps_what_it_explains() -> None:
    child = on(GUEST, Kind.GUEST_UNREACHABLE)
    assert parents([child, replace(OFFLINE, suppressed=True)], PLACES) == {child.id: OFFLINE.id}


def test_grouping_twice_changes_nothing_more() -> None:
    child = on(GUEST, Kind.HIGH_CPU)
    known = by_key(child)
    after = applied(known, run(known, seen(OFFLINE)))
    again = run(after, seen(OFFLINE))
    assert not again.changes
    assert not again.transitions


def test_a_list_shows_each_explained_finding_right_under_its_cause() -> None:
    full, child = on(OTHER), on(GUEST, Kind.GUEST_UNREACHABLE, parent_finding=OFFLINE.id)
    assert under_their_parents([full, OFFLINE, child]) == [(full, None), (OFFLINE, None), (child, OFFLINE)]
    assert under_their_parents([child, full, OFFLINE]) == [(OFFLINE, None), (child, OFFLINE), (full, None)]


@pytest.mark.parametrize(
    "known",
    [
        [on(GUEST, parent_finding=OFFLINE.id)],
        [on(GUEST, parent_finding=OFFLINE.id), replace(OFFLINE, state=FindingState.RESOLVED)],
        [on(GUEST, parent_finding=OFFLINE.id, state=FindingState.RESOLVED), OFFLINE],
        [on(GUEST, parent_finding=OFFLINE.id), replace(OFFLINE, parent_finding=BLIND.id)],
    ],
    ids=["filtered out", "resolved since", "itself resolved", "moved under another"],
)
def test_without_its_open_cause_in_the_list_it_stands_by_itself(known: list[Finding]) -> None:
    assert under_their_parents(known) == [(each, None) for each in known]
