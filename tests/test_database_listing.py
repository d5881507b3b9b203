"""Long lists of findings: page by page, and read fast without being read wrong."""

from dataclasses import FrozenInstanceError, fields, replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.assembly import FINDING_COLUMNS, assembled, changed
from findings.lifecycle import Advance, Change
from findings.model import DEFAULT_ORG, Finding, FindingState, ResolveReason, Severity
from findings.rows import FINDING_INSTANTS, finding_of, finding_row
from findings.store import FindingStore, ListPlace
from patrol.database import Database
from tests.findings.builders import NOW, finding


def new(*findings: Finding) -> Advance:
    return Advance(changes=tuple(Change(None, each) for each in findings), transitions=(), outcomes={})


def mixed(count: int) -> list[Finding]:
    """Findings in every state and severity; several share each instant."""
    made = []
    for number in range(count):
        each = finding(
            subject=f"s{number}",
            severity=list(Severity)[number % 4],
            last_seen_at=NOW - timedelta(minutes=number % 3),
            first_seen_at=NOW - timedelta(days=1),
        )
        if number % 5 == 0:
            each = replace(each, state=FindingState.RESOLVED, resolved_at=NOW, resolve_reason=ResolveReason.CLEARED)
        made.append(each)
    return made


def pages(store: FindingStore, size: int, **filters) -> list[list[Finding]]:
    found: list[list[Finding]] = []
    after = None
    while page := store.list_page(size, after=after, **filters):
        found.append(page)
        after = ListPlace.of(page[-1])
    return found


@pytest.mark.parametrize("size", [1, 3, 7, 100])
@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"state": FindingState.RESOLVED},
        {"severities": [Severity.WATCH, Severity.CRITICAL]},
        {"resource_id": "agent:local:web1", "state": FindingState.OPEN},
        {"severities": []},
    ],
)
def test_pages_one_after_the_other_are_the_whole_list_in_its_order(any_database: Database, size, filters):
    with any_database.write() as connection:
        store = FindingStore(connection, DEFAULT_ORG)
        store.apply(new(*mixed(40), finding(resource_id="agent:local:db1")))
        found = pages(store, size, **filters)
        assert [each for page in found for each in page] == store.list_findings(**filters)
        assert all(len(page) == size for page in found[:-1])


def test_another_organisation_has_its_own_pages(any_database: Database):
    with any_database.write() as connection:
        FindingStore(connection, DEFAULT_ORG).apply(new(finding()))
        assert FindingStore(connection, "another").list_page(10) == []


def test_what_changes_between_two_pages_hides_nothing_else(any_database: Database):
    with any_database.write() as connection:
        store = FindingStore(connection, DEFAULT_ORG)
        store.apply(new(*mixed(30)))
        whole = store.list_findings()
        first = store.list_page(10)
        moved = replace(whole[15], last_seen_at=NOW + timedelta(hours=1), severity=Severity.CRITICAL, version=2)
        store.apply(Advance(changes=(Change(whole[15], moved),), transitions=(), outcomes={}))
        rest = store.list_page(100, after=ListPlace.of(first[-1]))
        assert [*first, *rest] == [each for each in whole if each.id != moved.id]


def test_a_page_reads_no_more_than_it_shows(tmp_path, any_database: Database):
    if any_database.engine.dialect.name != "sqlite":
        return
    with any_database.read() as connection:
        plan = connection.exec_driver_sql(
            "EXPLAIN QUERY PLAN SELECT id FROM finding WHERE org_id = 'o' AND state = 'open' AND severity = 'warning' "
            "AND last_seen_at <= '2026' AND (last_seen_at < '2026' OR (last_seen_at = '2026' AND id < 'x')) "
            "ORDER BY last_seen_at DESC, id DESC LIMIT 50"
        ).fetchall()
    assert "last_seen_at<?" in str(plan)
    assert "TEMP B-TREE" not in str(plan)


# --- reading rows


def test_a_finding_is_made_of_its_cells_as_its_class_would_make_it():
    whole = finding(facts={"used_bytes": 5.5}, lives_on=("node:lab:pve1",), resolved_at=NOW, suppressed=True)
    row = finding_row(whole)
    assert finding_of([row[name] for name in FINDING_COLUMNS]) == whole
    assert not hasattr(Finding, "__post_init__"), "then a finding read from a row would miss it"


def test_a_finding_is_made_of_all_its_values_and_is_frozen_like_any_other():
    values = [getattr(finding(), name) for name in FINDING_COLUMNS]
    made = assembled(values)
    assert type(made) is Finding
    assert made == finding()
    assert hash(replace(made, facts=(), acknowledged_facts=())) == hash(
        replace(finding(), facts=(), acknowledged_facts=())
    )
    with pytest.raises(FrozenInstanceError):
        made.value = 1.0
    for wrong in (values[:-1], [*values, 0]):
        with pytest.raises(TypeError):
            assembled(wrong)


@given(st.datetimes(min_value=NOW.replace(tzinfo=None), timezones=st.just(NOW.tzinfo)))
def test_instants_are_read_from_the_text_of_a_file(instant):
    row = finding_row(finding(last_seen_at=instant))
    row |= {name: row[name].strftime("%Y-%m-%d %H:%M:%S.%f") for name in FINDING_INSTANTS if row[name] is not None}
    found = finding_of([row[name] for name in FINDING_COLUMNS])
    assert found.last_seen_at == instant
    assert found.last_seen_at.utcoffset() == timedelta(0)


def test_every_instant_of_a_finding_is_known_by_its_name():
    assert set(FINDING_INSTANTS) == {each.name for each in fields(Finding) if "datetime" in str(each.type)}


@pytest.mark.parametrize("name", ["severity", "state", "category", "basis", "resolve_reason", "dismissed_reason"])
def test_a_word_that_no_version_knows_is_refused(name):
    row = {**finding_row(finding()), name: "unheard of"}
    with pytest.raises(ValueError, match="unheard of"):
        finding_of([row[each] for each in FINDING_COLUMNS])


def test_a_changed_finding_is_what_replacing_makes():
    before = finding(facts={"used_bytes": 5.5}, lives_on=("node:lab:pve1",))
    changes = {"severity": Severity.CRITICAL, "version": 2, "facts": {}}
    assert changed(before, **changes) == replace(before, **changes)
    assert before == finding(facts={"used_bytes": 5.5}, lives_on=("node:lab:pve1",))
    with pytest.raises(TypeError, match="colour"):
        changed(before, colour="red")


def test_an_instant_without_its_zone_is_not_stored(any_database: Database):
    with any_database.write() as connection:
        store = FindingStore(connection, DEFAULT_ORG)
        with pytest.raises(ValueError, match="needs its zone"):
            store.apply(new(finding(last_seen_at=NOW.replace(tzinfo=None))))
