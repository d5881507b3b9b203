"""The memory in a database: what is kept is what is read, on every sort of it."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Table, select

from findings.lifecycle import Advance, Change
from findings.model import DEFAULT_ORG, Topic
from findings.rows import storable
from findings.store import FindingStore
from patrol.database import Database, open_database
from patrol.database.schema import all_tables
from patrol.estate.memory.model import (
    Alias,
    Changed,
    Memory,
    Merge,
    Presence,
    Recognition,
    Remembered,
    RemovedBy,
    Strength,
)
from patrol.estate.memory.recognise import recognise
from patrol.estate.memory.rows import alias_of, alias_row, instant, resource_of, resource_row
from patrol.estate.memory.store import ResourceMemory
from patrol.estate.sources.model import Counter
from patrol.run.memory import RunMemory
from patrol.run.record_model import RunRecord
from patrol.run.store import RunStore
from tests.estate.memory.builders import NOW, disk, estate, guest, host
from tests.findings.builders import finding

LATER = NOW + timedelta(hours=1)


def remembered(resource_id: str = "disk:serial:S1X", **more) -> Remembered:
    values = {"type": "disk", "name": "sda", "source": "local", "first_seen_at": NOW, "last_seen_at": NOW} | more
    return Remembered(id=resource_id, **values)


def alias(text: str, resource_id: str = "disk:serial:S1X", strength: Strength = Strength.STRONG) -> Alias:
    return Alias(
        alias=text, resource_id=resource_id, source="local", strength=strength, first_seen_at=NOW, last_seen_at=NOW
    )


def keep(database: Database, now: datetime = NOW, org: str = DEFAULT_ORG, **what) -> None:
    with database.write() as connection:
        ResourceMemory(connection, org).keep(Recognition(**what), now, run_id="run-1")


def load(database: Database, org: str = DEFAULT_ORG) -> Memory:
    with database.read() as connection:
        return ResourceMemory(connection, org).load()


def test_what_is_kept_is_what_is_read(any_database: Database):
    gone = remembered(
        "disk:hosta:sda",
        parent="agent:local:hosta",
        place="sda",
        presence=Presence.REMOVED,
        absent_runs=2,
        removed_at=LATER,
        removed_by=RemovedBy.ABSENCE,
    )
    given = [remembered(), gone], [alias("disk:wwn:5000c500"), alias("x", strength=Strength.WEAK)]
    keep(any_database, new=given[0], aliases=given[1])
    found = load(any_database)
    assert sorted(found.resources.values(), key=lambda each: each.id) == sorted(given[0], key=lambda each: each.id)
    assert sorted(found.aliases["disk:serial:S1X"]) == ["disk:wwn:5000c500", "x"]
    assert found.aliases_of("disk:serial:S1X")["x"] == given[1][1]


def test_organisations_know_nothing_of_each_other(any_database: Database):
    keep(any_database, new=[remembered()], aliases=[alias("x")])
    keep(any_database, org="other", new=[remembered(name="other")])
    assert load(any_database).resources["disk:serial:S1X"].name == "sda"
    assert load(any_database, "other").resources["disk:serial:S1X"].name == "other"
    assert load(any_database, "other").aliases == {}


def test_a_change_meets_only_what_it_was_decided_on(any_database: Database):
    keep(any_database, new=[remembered()])
    with any_database.write() as connection:
        memory = ResourceMemory(connection)
        assert memory.remove("disk:serial:S1X", LATER)
        assert not memory.remove("disk:serial:S1X", LATER), "it is so already"
        assert not memory.remove("disk:serial:unknown", LATER)
    keep(any_database, changed=[Changed(remembered(), remembered(presence=Presence.UNSEEN, absent_runs=1))])
    after = load(any_database).resources["disk:serial:S1X"]
    assert (after.presence, after.removed_by, after.removed_at) == (Presence.REMOVED, RemovedBy.OPERATOR, LATER)


def test_the_time_of_all_that_is_present_is_written_at_once(any_database: Database):
    keep(any_database, new=[remembered(), remembered("disk:serial:S2X", presence=Presence.UNSEEN)])
    keep(any_database, LATER, saw_all=True)
    times = {each.id: each.last_seen_at for each in load(any_database).resources.values()}
    assert times == {"disk:serial:S1X": LATER, "disk:serial:S2X": NOW}


def test_a_merge_moves_counters_and_sights_and_keeps_those_that_are_there(any_database: Database):
    kept, retired = "disk:serial:S1X", "disk:hosta:sda"
    child = remembered("storage:hosta:tank", parent=retired, type="storage")
    keep(any_database, new=[remembered(kept), remembered(retired), child], aliases=[alias("y", retired)])
    with any_database.write() as connection:
        memory = RunMemory(connection)
        mine, theirs = Counter(at=NOW, values={"a": 1}), Counter(at=NOW, values={"a": 2})
        memory.keep_counters({(kept, "both"): mine, (retired, "both"): theirs, (retired, "one"): theirs})
        memory.note_read({("local", Topic.SMART): [kept]}, NOW)
        memory.note_read({("local", Topic.SMART): [retired], ("local", Topic.UNITS): [retired]}, LATER)
    keep(any_database, merges=[Merge(kept=kept, retired=retired)], aliases=[alias(retired, kept)])
    with any_database.read() as connection:
        memory = RunMemory(connection)
        assert memory.counters() == {(kept, "both"): mine, (kept, "one"): theirs}
        wanted = [("local", topic, each) for topic in (Topic.SMART, Topic.UNITS) for each in (kept, retired)]
        assert set(memory.last_read(wanted)) == {("local", Topic.SMART, kept), ("local", Topic.UNITS, kept)}
    found = load(any_database)
    assert found.resources.keys() == {kept, "storage:hosta:tank"}
    assert found.resources["storage:hosta:tank"].parent == kept
    assert found.find_id(retired) == kept
    assert set(found.aliases_of(kept)) == {"y", retired}


def test_runs_keep_what_recognition_says(any_database: Database):
    for number in range(3):
        now = NOW + timedelta(hours=number)
        recognition = recognise(estate(host("hosta", "m1"), disk(serial="S1X"), guest()), load(any_database), now)
        with any_database.write() as connection:
            ResourceMemory(connection).keep(recognition, now, run_id=f"run-{number}")
        assert (len(recognition.new), len(recognition.changed)) == ((3, 0) if number == 0 else (0, 0))
    assert {each.last_seen_at for each in load(any_database).resources.values()} == {now}


foreign = st.text(max_size=8)
moments = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - see timezones


@given(foreign, foreign, foreign, moments, moments, st.sampled_from(Presence), st.integers(0, 9))
def test_any_text_of_a_device_can_be_stored(name, source, place, first, last, presence, absent_runs):
    removed = presence is Presence.REMOVED
    given_one = remembered(
        name=name,
        source=source,
        place=place,
        first_seen_at=first,
        last_seen_at=last,
        presence=presence,
        absent_runs=absent_runs,
        removed_at=last if removed else None,
        removed_by=RemovedBy.OPERATOR if removed else None,
    )
    back = resource_of(list(resource_row(given_one).values()))
    assert back == remembered(
        name=storable(name),
        source=storable(source),
        place=storable(place),
        **{each: getattr(given_one, each) for each in ("first_seen_at", "last_seen_at", "presence", "absent_runs")},
        removed_at=given_one.removed_at,
        removed_by=given_one.removed_by,
    )
    assert alias_of(list(alias_row(alias(name)).values())) == alias(storable(name))


@pytest.mark.parametrize(
    "stored",
    [
        "2026-11-29 21:00:00.000000",
        datetime(2026, 11, 29, 21),  # noqa: DTZ001 - what a driver without time zones gives
        datetime(2026, 11, 29, 22, tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_an_instant_is_utc_whatever_the_driver_makes_of_it(stored):
    assert instant(stored) == NOW
    assert instant(stored).tzinfo is UTC


def test_a_file_keeps_it(tmp_path):
    url = f"sqlite:///{tmp_path / 'patrol.db'}"
    first = open_database(url)
    keep(first, new=[remembered()], aliases=[alias("x")])
    first.close()
    second = open_database(url)
    assert load(second).find_id("disk:serial:S1X") == "disk:serial:S1X"
    second.close()


def test_a_merge_carries_along_whatever_refers_to_the_retired_resource_or_to_an_absorbed_finding(
    any_database: Database,
):
    kept, retired = "agent:local:hosta", "agent:local:hostb"
    keep(any_database, new=[remembered(kept, type="agent"), remembered(retired, type="agent")])
    twins = [
        finding(resource_id=each, first_seen_at=NOW - timedelta(days=age), last_seen_at=NOW)
        for each, age in ((kept, 9), (retired, 1))
    ]
    explained = finding(
        resource_id="vm:pve:101", parent_finding=twins[1].id, lives_on=("docker-host:a:b", retired), last_seen_at=NOW
    )
    with any_database.write() as connection:
        new = tuple(Change(None, each) for each in (*twins, explained))
        FindingStore(connection, DEFAULT_ORG).apply(Advance(changes=new, transitions=(), outcomes={}))
    keep(any_database, LATER, merges=[Merge(kept=kept, retired=retired)])
    with any_database.read() as connection:
        found = {each.resource_id: each for each in FindingStore(connection, DEFAULT_ORG).list_findings()}
    assert found.keys() == {kept, "vm:pve:101"}
    assert found["vm:pve:101"].parent_finding == found[kept].id == twins[0].id
    assert found["vm:pve:101"].lives_on == ("docker-host:a:b", kept)


REFERRING = [table for table in all_tables().sorted_tables if "finding_id" in table.c and table.name != "transition"]
SAMPLES = {str: "x", int: 1, float: 1.0, bool: False, bytes: b""}


@pytest.mark.parametrize("table", REFERRING, ids=lambda table: table.name)
def test_whatever_names_a_finding_names_the_one_that_took_it_in(any_database: Database, table: Table):
    """Of two rows that would then have one key, the kept finding's stays; one that only moves keeps its id."""
    kept, retired = "agent:local:hosta", "agent:local:hostb"
    keep(any_database, new=[remembered(kept, type="agent"), remembered(retired, type="agent")])
    twins = [
        finding(resource_id=each, first_seen_at=NOW - timedelta(days=age), last_seen_at=NOW)
        for each, age in ((kept, 9), (retired, 1))
    ]
    alone = finding(resource_id=retired, subject="/alone", last_seen_at=NOW)
    RunStore(any_database).begin(RunRecord(org_id=DEFAULT_ORG, id="run-1", trigger_reason="manual", started_at=NOW))
    fixed = {"org_id": DEFAULT_ORG, "run_id": "run-1"}
    rows = []
    for number, each in enumerate((twins[1], alone)):
        named = {"finding_id": each.id, "finding_key": each.key, "id": f"e{number}", "seq": number}
        values = {
            name: SAMPLES.get(column.type.python_type, NOW) for name, column in table.c.items() if not column.nullable
        }
        rows.append({**values, **{name: value for name, value in (named | fixed).items() if name in table.c}})
    with any_database.write() as connection:
        new = tuple(Change(None, each) for each in (*twins, alone))
        FindingStore(connection, DEFAULT_ORG).apply(Advance(changes=new, transitions=(), outcomes={}))
        connection.execute(table.insert(), rows)
    keep(any_database, LATER, merges=[Merge(kept=kept, retired=retired)])
    with any_database.read() as connection:
        found = {each.id: each.key for each in FindingStore(connection, DEFAULT_ORG).list_findings()}
        stored = connection.execute(select(table)).mappings().all()
    assert found.keys() == {twins[0].id, alone.id}
    assert {each["finding_id"] for each in stored} - {""} == found.keys()  # a run may be about none
    assert all(each["finding_key"] == found[each["finding_id"]] for each in stored if "finding_key" in each)
