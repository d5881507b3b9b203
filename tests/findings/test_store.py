from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from sqlmodel import Session

from findings.investigation import InvestigationOutcome, InvestigationStatus
from findings.lifecycle import Advance, Change, advance
from findings.model import (
    Basis,
    Category,
    DismissedReason,
    Finding,
    FindingState,
    Look,
    ResolveReason,
    Severity,
    Transition,
    TransitionReason,
)
from findings.rows import (
    FINDING_COLUMNS,
    TRANSITION_COLUMNS,
    finding_of,
    finding_row,
    storable,
    transition_of,
    transition_row,
)
from findings.store import FindingConflictError, FindingNotFoundError, FindingStore
from findings.tables import FINDINGS, TRANSITIONS, StoredRow
from findings.updates import update_for
from patrol.database import Database
from tests.findings.builders import HOST, NOTHING, NOW, ORG, finding, looked, observation


@pytest.fixture
def connection():
    engine = sa.create_engine("sqlite://")
    StoredRow.metadata.create_all(engine, tables=[FINDINGS, TRANSITIONS])
    with engine.begin() as open_connection:
        yield open_connection
    engine.dispose()


@pytest.fixture
def store(connection):
    return FindingStore(connection, ORG)


def new(*findings: Finding) -> Advance:
    return Advance(changes=tuple(Change(None, each) for each in findings), transitions=(), outcomes={})


def changed(before: Finding, **changes) -> Advance:
    after = replace(before, version=before.version + 1, **changes)
    return Advance(changes=(Change(before, after),), transitions=(), outcomes={})


FULL = finding(
    subject="/var",
    severity=Severity.CRITICAL,
    basis=Basis.OPERATOR,
    state=FindingState.RESOLVED,
    evidence='{"mount":"/var"}',
    limit_source="alerts.json: storageDefault",
    facts={"used_bytes": 5.5},
    tool_call_id="call-7",
    resolved_at=NOW,
    resolve_reason=ResolveReason.LIMIT_CHANGED,
    times_raised=3,
    raise_count=1,
    regression_count=2,
    last_regression_at=NOW - timedelta(microseconds=1),
    clear_streak=1,
    version=7,
    acknowledged_at=NOW,
    acknowledged_facts={"used_bytes": 4.0},
    snoozed_until=NOW,
    dismissed_reason=DismissedReason.WILL_FIX_LATER,
    suppressed=True,
    investigation_status=InvestigationStatus.FAILED,
    investigation_outcome=InvestigationOutcome.TIMED_OUT,
    investigation_attempts=2,
    last_investigated_at=NOW,
    parent_finding="parent",
    lives_on=("node:lab:pve1", "cluster:lab"),
    acknowledged_by="ann",
    silenced_at=NOW,
    silenced_by="ben",
    silence_note="known",
    remind_at=NOW,
    remind_count=2,
    user_note="ask ben",
    confirmed_at=NOW,
    unconfirmed_runs=1,
)


def test_every_field_comes_back_as_it_went_in(store):
    for field in fields(Finding):  # the example must not leave a field at its default
        assert getattr(FULL, field.name) not in (None, "", 0, {}), field.name
    store.apply(new(FULL))
    assert store.get(FULL.id) == FULL
    assert store.load([FULL.key]) == {FULL.key: FULL}


def test_times_are_kept_in_utc_whatever_zone_they_come_in(store):
    local = datetime(2026, 3, 1, 13, tzinfo=timezone(timedelta(hours=1)))
    store.apply(new(finding(first_seen_at=local, last_seen_at=local)))
    [found] = store.list_findings()
    assert found.first_seen_at == NOW
    assert found.first_seen_at.tzinfo is UTC


def test_a_time_without_a_zone_is_refused(store):
    with pytest.raises(ValueError, match="needs its zone"):
        store.apply(new(finding(last_seen_at=datetime(2026, 3, 1))))  # noqa: DTZ001 - the case itself


def test_what_is_not_there_is_none_or_raises(store):
    assert store.find("nothing") is None
    with pytest.raises(FindingNotFoundError):
        store.get("nothing")


def test_a_session_serves_as_well_as_a_connection(connection):
    with Session(connection) as session:
        FindingStore(session, ORG).apply(new(finding()))
        assert FindingStore(session, ORG).list_findings() == [finding()]


def test_lists_are_filtered_and_worst_first(store):
    later = NOW + timedelta(hours=1)
    resolved = finding(
        subject="r", severity=Severity.CRITICAL, state=FindingState.RESOLVED, resolved_at=NOW,
        resolve_reason=ResolveReason.CLEARED,
    )  # fmt: skip
    watch, old, recent = (
        finding(subject="w", severity=Severity.WATCH),
        finding(subject="o"),
        finding(subject="n", last_seen_at=later),
    )
    elsewhere = finding(resource_id="agent:local:db1", severity=Severity.CRITICAL)
    store.apply(new(resolved, watch, old, recent, elsewhere))
    assert store.list_findings() == [elsewhere, recent, old, watch, resolved]
    assert store.list_findings(state=FindingState.RESOLVED) == [resolved]
    assert store.list_findings(severities=[Severity.WATCH, Severity.CRITICAL]) == [elsewhere, watch, resolved]
    assert store.list_findings(resource_id=HOST, state=FindingState.OPEN) == [recent, old, watch]
    assert store.list_findings(severities=[]) == []


def test_what_a_run_needs_to_know_is_all_that_is_open_and_what_it_observed(store):
    closed = {"state": FindingState.RESOLVED, "resolved_at": NOW, "resolve_reason": ResolveReason.CLEARED}
    open_, back, gone = finding(subject="a"), finding(subject="b", **closed), finding(subject="c", **closed)
    store.apply(new(open_, back, gone))
    assert store.load_open_and([back.key, open_.key, "unknown"]) == {open_.key: open_, back.key: back}
    assert store.load_open_and([]) == {open_.key: open_}


def test_many_keys_are_loaded_in_portions(store):
    findings = [finding(subject=str(number)) for number in range(1201)]
    store.apply(new(*findings))
    assert len(store.load([*(each.key for each in findings), findings[0].key, "unknown"])) == 1201


def test_nothing_of_another_organisation_is_seen_or_touched(connection, store):
    theirs = FindingStore(connection, "another")
    other = finding(org_id="another", severity=Severity.CRITICAL)
    store.apply(new(finding()))
    theirs.apply(new(other))
    assert store.list_findings() == [finding()]
    assert store.get(other.id) == finding()  # same id: the same resource may be watched by both
    assert store.load([other.key]) == {other.key: finding()}
    assert store.load_open_and([]) == {other.key: finding()}
    store.apply(changed(finding(), value=99.0))
    assert theirs.get(other.id) == other
    assert theirs.transitions(other.id) == []
    with pytest.raises(ValueError, match="does not belong"):
        store.apply(new(other))


def test_every_statement_names_the_organisation(connection, store):
    statements: list[str] = []
    sa.event.listen(connection, "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))
    test_a_run_is_stored_and_the_next_one_goes_on_from_it(store)
    store.find("x")
    store.list_findings(state=FindingState.OPEN, severities=[Severity.INFO], resource_id=HOST)
    assert len(statements) > 8
    assert all("org_id" in each.partition("WHERE")[2] or each.startswith("INSERT") for each in statements)


# --- compare and swap


def test_a_change_of_a_finding_that_moved_on_is_refused(store):
    store.apply(new(finding(subject="a"), finding(subject="b")))
    read = store.load_open_and([])
    first, second = read.values()
    store.apply(changed(first, acknowledged_at=NOW))  # an operator, meanwhile
    late = Advance(
        changes=(*changed(second, value=1.0).changes, *changed(first, value=1.0).changes), transitions=(), outcomes={}
    )
    with pytest.raises(FindingConflictError) as caught:
        store.apply(late)
    assert set(caught.value.finding_ids) == {first.id, second.id}


def test_a_new_finding_whose_key_is_taken_is_a_conflict(connection, store):
    store.apply(new(finding()))
    with pytest.raises(FindingConflictError), connection.begin_nested():
        store.apply(new(finding(value=1.0)))
    with pytest.raises(FindingConflictError), connection.begin_nested():
        store.apply(new(replace(finding(), id="another")))
    assert store.list_findings() == [finding()]


def test_an_empty_change_writes_nothing(connection, store):
    sa.event.listen(connection, "before_cursor_execute", lambda *arguments: pytest.fail(arguments[2]))
    store.apply(Advance(changes=(), transitions=(), outcomes={}))


# --- with the life of findings


def step(store, number, *observations, looks=NOTHING):
    keys = [finding(each.kind, subject=each.subject).key for each in observations]
    now = NOW + timedelta(hours=number)
    result = advance(store.load_open_and(keys), observations, looks, now, run_id=f"run-{number}", org_id=ORG)
    store.apply(result)
    return result


def test_a_run_is_stored_and_the_next_one_goes_on_from_it(store):
    step(store, 1, observation())
    step(store, 2, observation(severity=Severity.CRITICAL, value=97.0))
    step(store, 3, looks=looked(Look.CLEAR))
    step(store, 4, observation())
    [found] = store.list_findings()
    assert (found.times_raised, found.regression_count, found.severity) == (3, 1, Severity.WARNING)
    assert (found.first_seen_at, found.version) == (NOW + timedelta(hours=1), 4)
    told = store.transitions(found.id)
    assert [each.reason for each in told] == [
        TransitionReason.FILED,
        TransitionReason.RAISED,
        TransitionReason.RESOLVED,
        TransitionReason.REGRESSED,
    ]
    assert told[2].resolve_reason is ResolveReason.CLEARED  # the memory of the resolution outlives the regression
    assert [each.run_id for each in told] == ["run-1", "run-2", "run-3", "run-4"]


# --- rows

instants = st.datetimes(timezones=st.just(UTC))
texts = st.text(max_size=20)
counts = st.dictionaries(st.text("abc", max_size=3), st.floats(allow_nan=False, allow_infinity=False), max_size=3)
findings = st.builds(
    Finding,
    **{
        name: texts.map(storable) for name in ("org_id", "id", "key", "summary", "evidence", "subject", "kind", "title")
    },
    **{name: texts.map(storable) for name in ("resource_id", "resource_name", "resource_type")},
    category=st.sampled_from(Category),
    severity=st.sampled_from(Severity),
    first_seen_at=instants,
    last_seen_at=instants,
    facts=counts,
    investigation_outcome=st.none() | st.sampled_from(InvestigationOutcome),
    resolve_reason=st.none() | st.sampled_from(ResolveReason),
)
transitions = st.builds(
    Transition,
    old_state=st.none() | st.sampled_from(FindingState),
    old_severity=st.none() | st.sampled_from(Severity),
    at=instants,
)


@given(findings)
def test_any_finding_survives_its_row(one):
    row = finding_row(one)
    assert finding_of([row[name] for name in FINDING_COLUMNS]) == one
    assert not any(type(cell).__module__.startswith("findings") for cell in row.values())


@given(transitions)
def test_any_transition_survives_its_row(one):
    row = transition_row(one)
    assert transition_of([row[name] for name in TRANSITION_COLUMNS]) == one


@pytest.mark.parametrize("text", ["nul \0 inside", "half a pair \ud800", "undecodable \udcff byte"])
def test_a_foreign_text_that_no_database_takes_does_not_block_the_run(store, text):
    odd = finding(evidence=text, resource_name=text, summary="line one\nline two")
    store.apply(new(odd))
    [found] = store.list_findings()
    assert found.summary == odd.summary
    assert found.evidence == storable(text)
    assert found.evidence.startswith(text[:4])


def test_a_count_that_is_no_number_is_left_out():
    row = finding_row(finding(facts={"good": 1.0, "bad": float("nan"), "endless": float("inf")}))
    assert row["facts"] == '{"good": 1.0}'


def test_an_outcome_of_another_version_reads_as_unknown(connection, store):
    store.apply(new(finding(investigation_outcome=InvestigationOutcome.FIX_FAILED)))
    connection.execute(FINDINGS.update().values(investigation_outcome="fix_dreamt"))
    assert store.list_findings()[0].investigation_outcome is InvestigationOutcome.UNKNOWN


def test_the_columns_are_the_fields():
    assert tuple(FINDINGS.columns.keys()) == FINDING_COLUMNS
    assert set(TRANSITION_COLUMNS) | {"org_id"} == set(TRANSITIONS.columns.keys())


# --- what a change writes


def test_a_change_writes_what_differs_and_leaves_the_indexes_of_the_rest(any_database: Database):
    """Whatever differs is stored, by however few columns."""
    seen = {"value": 93.5, "summary": "fuller", "times_raised": 2, "last_seen_at": NOW, "last_run_id": "run-2"}
    changes = [
        seen,
        {**seen, "state": FindingState.RESOLVED, "resolved_at": NOW},
        {**seen, "user_note": "mine", "acknowledged_at": NOW, "acknowledged_facts": {"pending_sectors": 3.0}},
        {**seen, "key": "another", "resource_id": "vm:lab:102", "first_seen_at": NOW - timedelta(days=1)},
    ]
    befores = [finding(subject=f"/srv{number}") for number in range(len(changes))]
    afters = [replace(before, **change, version=2) for before, change in zip(befores, changes, strict=True)]
    with any_database.write() as connection:
        store = FindingStore(connection, ORG)
        store.apply(new(*befores))
        pairs = tuple(Change(*pair) for pair in zip(befores, afters, strict=True))
        store.apply(Advance(changes=pairs, transitions=(), outcomes={}))
        assert [store.get(after.id) for after in afters] == afters
    columns = [update_for(*pair)._rows.columns for pair in zip(befores, afters, strict=True)]
    assert [len(each) for each in columns] == sorted(len(each) for each in columns)
    assert {"key", "resource_id", "first_seen_at", "state"}.isdisjoint(columns[0])
    assert {"key", "resource_id"}.isdisjoint(columns[1])


def test_a_finding_never_becomes_another_one():
    one = finding()
    with pytest.raises(ValueError, match="cannot become"):
        update_for(one, replace(one, id="another"))


@given(findings, findings)
def test_every_difference_is_covered_by_the_update_that_is_chosen(before, other):
    after = replace(other, id=before.id, org_id=before.org_id)
    written = set(update_for(before, after)._rows.columns)
    differ = {each.name for each in fields(Finding) if getattr(before, each.name) != getattr(after, each.name)}
    assert differ <= written
